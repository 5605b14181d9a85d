"""What the simulator's journal tells about the work of a killed job and of what was registered after it."""

from __future__ import annotations

import pytest
from playback import SECOND, Greedy, job, play

from batpy.protocol import messages as m
from batpy.protocol import records as r

PROFILES = {
    "d2": {"type": "delay", "delay": 2},
    "d3": {"type": "delay", "delay": 3},
    "calc": {"type": "parallel_homogeneous_total", "cpu": 4e9, "com": 0},
    "moved": {"type": "parallel_homogeneous_total", "cpu": 4e9, "com": 6e3},
    "pair": {"type": "composed", "seq": ["d2", "d3"], "repeat": 2},
    "nest": {"type": "composed", "seq": ["d3", "pair", "d2"]},
    "mixed": {"type": "composed", "seq": ["d2", "calc"]},
}


def killed(profile: str, at: float) -> r.KillAsked:
    """The record of a kill of a job on one host (1e9 flops a second), started at 0."""
    date = round(at * SECOND)
    ask = Greedy({0: lambda t: [m.CallMeLater(t, date)], date: lambda t: [m.KillJob(t, ["w0!a"])]})
    _, journal = play([job("a", profile=profile)], PROFILES, ask)
    [record] = journal.of(r.KillAsked)
    assert isinstance(record, r.KillAsked)
    return record


@pytest.mark.parametrize(
    ("profile", "at", "since", "whole", "finished", "done"),
    [
        ("d3", 1, 0, 3, 0, 1),
        ("pair", 1, 0, 10, 0, 1),
        ("pair", 4, 2, 10, 2, 4),
        ("pair", 8.5, 7, 10, 7, 8.5),
        ("nest", 4, 3, 15, 3, 4),
        ("nest", 11.5, 10, 15, 10, 11.5),
        ("nest", 14, 13, 15, 13, 14),
    ],
)
def test_a_kill_tells_since_when_its_part_ran_and_how_much_was_done(
    profile: str, at: float, since: float, whole: float, finished: float, done: float
) -> None:
    record = killed(profile, at)
    assert record.leaf_since == (since * SECOND,)
    assert record.work[0] == pytest.approx((0, 0, whole, 0, 0, finished, 0, 0, done))


def test_flops_and_sleep_are_told_apart() -> None:
    record = killed("mixed", 3)
    assert record.leaf_since == (2 * SECOND,)
    assert record.work[0] == pytest.approx((4e9, 0, 2, 0, 0, 2, 1e9, 0, 2))


def test_a_registered_job_tells_its_work_and_a_static_one_does_not() -> None:
    def script(now: int) -> list[m.Event]:
        return [
            m.RegisterProfile(now, "w0", "rest", {"type": "composed", "seq": ["moved", "d3"]}),
            m.RegisterJob(now, "w0!x", job("x", profile="rest")),
            m.Notify(now, "registration_finished"),
        ]

    _, journal = play(
        [job("a", profile="moved")],
        PROFILES,
        Greedy({0: script}),
        dynamic_jobs=True,
        acknowledge_dynamic_jobs=True,
    )
    told = {record.job: record.work for record in journal.of(r.Submitted) if isinstance(record, r.Submitted)}
    assert told == {"w0!a": (), "w0!x": (4e9, 6e3, 3.0)}


def test_work_is_not_told_as_long_as_a_part_is_missing() -> None:
    def script(now: int) -> list[m.Event]:
        return [
            m.RegisterProfile(now, "w0", "seq", {"type": "composed", "seq": ["late"]}),
            m.RegisterJob(now, "w0!x", job("x", profile="seq")),
            m.RegisterProfile(now, "w0", "late", {"type": "delay", "delay": 1}),
            m.Notify(now, "registration_finished"),
        ]

    _, journal = play(
        [job("a", profile="d2")],
        PROFILES,
        Greedy({0: script}),
        dynamic_jobs=True,
        acknowledge_dynamic_jobs=True,
    )
    assert all(record.work == () for record in journal.of(r.Submitted) if isinstance(record, r.Submitted))
