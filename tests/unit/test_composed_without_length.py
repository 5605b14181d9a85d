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


@pytest.mark.parametrize(
    "nothing",
    [
        {"type": "delay", "delay": 0},
        {"type": "parallel_homogeneous", "cpu": 0, "com": 0},
        {"type": "parallel_homogeneous_total", "cpu": 0, "com": 0},
        {"type": "parallel", "cpu": [0], "com": [0]},
    ],
)
def test_nested_sequences_without_length_are_not_walked_leaf_by_leaf(nothing: dict[str, Any]) -> None:
    profiles: dict[str, Any] = {f"p{n}": {"type": "composed", "seq": [f"p{n - 1}"] * 2} for n in range(1, 41)}
    profiles |= {"p0": nothing, "second": {"type": "delay", "delay": 1}}
    profiles["all"] = {"type": "composed", "seq": ["p40", "second", "p40"]}
    _, journal = play([job("a", profile="all")], profiles)
    assert journal.spans()["w0!a"] == (0, 1, "COMPLETED_SUCCESSFULLY")


def test_repetitions_shorter_than_a_tick_do_add_up() -> None:
    profiles = {
        "short": {"type": "delay", "delay": 1e-7},
        "many": {"type": "composed", "seq": ["short"], "repeat": 1000},
    }
    _, journal = play([job("a", profile="many")], profiles)
    assert journal.spans()["w0!a"] == (0, 1e-4, "COMPLETED_SUCCESSFULLY")
