from __future__ import annotations

import pytest

from batpy.results.decimals import divide_to_even, fixed_text, ratio_text, shortened


@pytest.mark.parametrize(
    ("ticks", "text"),
    [
        (0, "0.000000"),
        (1, "0.000001"),
        (999_999, "0.999999"),
        (1_000_000, "1.000000"),
        (417_421_815, "417.421815"),
        (-5, "-0.000005"),
        (-12_500_000, "-12.500000"),
        (10**23 + 16_000_000, "100000000000000016.000000"),
    ],
)
def test_microseconds_have_six_exact_decimals_however_large(ticks: int, text: str) -> None:
    assert fixed_text(1_000_000)(ticks) == text


@pytest.mark.parametrize(
    ("resolution", "ticks", "text"),
    [
        (1, 3, "3.000000"),
        (1000, 1, "0.001000"),
        (8, 1, "0.125000"),
        (10**9, 1, "0.000000001"),
        (1024, 1, "0.0009765625"),
        (7, 1, "0.142857"),
        (7, 2, "0.285714"),
        (30, 1, "0.033333"),
        (30, 2, "0.066667"),
        (30, -2, "-0.066667"),
    ],
)
def test_other_resolutions_get_the_digits_they_need_or_are_rounded(
    resolution: int, ticks: int, text: str
) -> None:
    assert fixed_text(resolution)(ticks) == text


@pytest.mark.parametrize(
    ("fixed", "short"),
    [("1451.000000", "1451"), ("417.421815", "417.421815"), ("0.000000", "0"), ("0.50", "0.5")],
)
def test_zeros_that_say_nothing_are_dropped(fixed: str, short: str) -> None:
    assert shortened(fixed) == short


def test_halves_go_to_the_even_neighbour_on_both_sides_of_zero() -> None:
    assert [divide_to_even(n, 2) for n in (1, 3, 5, -1, -3)] == [0, 2, 2, 0, -2]


def test_a_mean_over_nothing_is_written_as_c_does() -> None:
    assert ratio_text(0, 0) == "nan"
    assert ratio_text(2, 3) == "0.666667"
