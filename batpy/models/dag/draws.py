"""Times of the tasks of a ``stage_dag``: as its profile tells them, or drawn from its table."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain

from batpy.kernel.streams import stream
from batpy.workloads.profile import StageDag
from batpy.workloads.stages.dag import DagStage
from batpy.workloads.stages.graph import times_from

US = 1_000_000
"""Microseconds of a second."""
StageTimes = tuple[tuple[int, ...], ...]


def to_us(seconds: float) -> int:
    """A duration of a profile in whole microseconds."""
    return round(seconds * US)


@lru_cache(maxsize=16)
def task_times(profile: StageDag, seed: int) -> StageTimes:
    """Microseconds of every task of every stage, whether it is still to do or not.

    Times from a table come in a random order. It is that of the stream which the profile names, so that what
    is left of a killed application finds the tasks it knows.

    Args:
        seed: of the run.
    """
    name = profile.dag.stream or profile.name
    return tuple(_times(stage, seed, name) for stage in profile.dag.stages)


def _times(stage: DagStage, seed: int, name: str) -> tuple[int, ...]:
    if not stage.times:
        return tuple(map(to_us, stage.durations))
    total = None if stage.total is None else to_us(stage.total)
    times = times_from([to_us(time) for time in stage.times], stage.tasks, total)
    stream(seed, "stage_dag", name, stage.id).shuffle(times)
    return tuple(times)


def tasks_to_do(stage: DagStage) -> list[int]:
    """Numbers of the tasks that are still to do, ascending."""
    return list(chain.from_iterable(range(first, last + 1) for first, last in stage.to_do))


def done_before(stage: DagStage) -> dict[int, int]:
    """Microseconds that tasks which are to do have done already."""
    return {int(task): to_us(seconds) for task, seconds in stage.resumed.items()}


@lru_cache(maxsize=16)
def loads_of(profile: StageDag, seed: int) -> StageTimes:
    """Microseconds that the tasks which are still to do have still to run, by stage."""
    found = []
    for stage, times in zip(profile.dag.stages, task_times(profile, seed), strict=True):
        if stage.left is None and not stage.resumed:
            found.append(times)
            continue
        done = done_before(stage)
        found.append(tuple(max(0, times[task] - done.get(task, 0)) for task in tasks_to_do(stage)))
    return tuple(found)


def work_us(profile: StageDag, seed: int) -> int:
    """All that is still to do, in microseconds of tasks."""
    return sum(map(sum, loads_of(profile, seed)))
