"""Composed profiles whose repetitions take no time: they end at once, however many there are."""

from __future__ import annotations

from typing import Any

import pytest
from playback import job, play

PROFILES: dict[str, Any] = {
    "none": {"type": "delay", "delay": 0},
    "second": {"type": "delay", "delay": 1},
    "fails": {"type": "delay", "delay": 0, "ret": 3},
    "for_ever": {"type": "composed", "seq": ["none", "none"], "repeat": 10**15},
    "nested": {"type": "composed", "seq": ["for_ever", "second", "for_ever"], "repeat": 3},
    "fails_at_last": {"type": "composed", "seq": ["for_ever", "fails"], "repeat": 10**15},
    "ret": {"type": "composed", "seq": ["none"], "repeat": 10**15, "ret": 2},
}


@pytest.mark.parametrize(
    ("profile", "end", "state"),
    [
        ("for_ever", 0, "COMPLETED_SUCCESSFULLY"),
        ("nested", 3, "COMPLETED_SUCCESSFULLY"),
        ("fails_at_last", 0, "COMPLETED_FAILED"),
        ("ret", 0, "COMPLETED_FAILED"),
    ],
)
def test_repetitions_without_length_are_not_walked_one_by_one(profile: str, end: int, state: str) -> None:
    _, journal = play([job("a", profile=profile, walltime=50)], PROFILES)
    assert journal.spans()["w0!a"] == (0, end, state)


def test_repetitions_shorter_than_a_tick_do_add_up() -> None:
    profiles = {
        "short": {"type": "delay", "delay": 1e-7},
        "many": {"type": "composed", "seq": ["short"], "repeat": 1000},
    }
    _, journal = play([job("a", profile="many")], profiles)
    assert journal.spans()["w0!a"] == (0, 1e-4, "COMPLETED_SUCCESSFULLY")
