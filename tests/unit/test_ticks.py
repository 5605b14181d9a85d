"""Ticks: rounding, and how people read them."""

from __future__ import annotations

import pytest

from batpy.kernel.ticks import round_up, seconds_text


@pytest.mark.parametrize(
    ("ticks", "per_second", "text"),
    [
        (0, 1_000_000, "0 s"),
        (12_500_000, 1_000_000, "12.5 s"),
        (999_999, 1_000_000, "0.999999 s"),
        (10, 7, "1.428571429 s"),
        (6_069_708_000_000, 1_000_000, "6069708 s"),
    ],
)
def test_dates_are_told_in_seconds(ticks: int, per_second: int, text: str) -> None:
    assert seconds_text(ticks, per_second) == text


@pytest.mark.parametrize(
    ("exact", "tick"),
    [(3.0, 3), (2.2, 3), (3.0000000001, 3), (2.9999999999, 3), (3.1, 4), (1e15 + 0.25, 10**15), (0.0, 0)],
)
def test_a_duration_ends_at_the_next_tick_with_float_noise_taken_off(exact: float, tick: int) -> None:
    assert round_up(exact) == tick
