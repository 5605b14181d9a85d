"""What the types of a ``stage_dag`` do not say: its parts must fit together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

from batpy.base.intervals import Intervals, parse_intervals
from batpy.workloads.stages.graph import QUANTILES, ranks

if TYPE_CHECKING:
    from batpy.workloads.stages.dag import Dag, DagStage

Broken = tuple[str, str]
"""Path of a field, and the rule that it breaks."""


def check_dag(dag: Dag) -> Broken | None:
    """The first rule that an application breaks, or None."""
    return next(_broken(dag), None)


def _broken(dag: Dag) -> Iterator[Broken]:
    yield from _twice("stages", [stage.id for stage in dag.stages])
    yield from _twice("jobs", [job.id for job in dag.jobs])
    yield from _twice("resources", [profile.id for profile in dag.resources])
    yield from _jobs(dag)
    for index, stage in enumerate(dag.stages):
        for field, problem in _stage(dag, stage):
            yield f"stages[{index}].{field}", problem
    circle = ranks({stage.id: stage.parents for stage in dag.stages})
    if isinstance(circle, int):
        yield "stages", f"stage {circle} leads back to itself; stages must form a directed acyclic graph"
    else:
        yield from _waits(dag)
    yield from _seats(dag)
    delay = dag.delay
    if delay is not None and (delay.skips is None) == (delay.wait is None):
        yield "delay", "needs exactly one of skips and wait"


def _twice(path: str, ids: list[int]) -> Iterator[Broken]:
    seen: set[int] = set()
    for index, id in enumerate(ids):
        if id in seen:
            yield f"{path}[{index}].id", f"{id} is there twice"
        seen.add(id)


def _jobs(dag: Dag) -> Iterator[Broken]:
    known = {job.id for job in dag.jobs}
    for index, job in enumerate(dag.jobs):
        if job.after is not None and job.after not in known:
            yield f"jobs[{index}].after", f"{job.after} is no job of this application"
    circle = ranks({job.id: () if job.after is None else (job.after,) for job in dag.jobs})
    if isinstance(circle, int):
        yield "jobs", f"job {circle} comes after itself"
    for index, stage in enumerate(dag.stages):
        if stage.job not in known:
            yield f"stages[{index}].job", f"{stage.job} is not among the jobs"
    ids = {stage.id for stage in dag.stages}
    for index, stage in enumerate(dag.stages):
        if unknown := sorted(set(stage.parents) - ids):
            yield f"stages[{index}].parents", f"{unknown[0]} is no stage of this application"


def _waits(dag: Dag) -> Iterator[Broken]:
    """A stage waits for its parents and for its job, and that for all stages of the job before."""
    stages = {stage.id: index for index, stage in enumerate(dag.stages)}
    jobs = {job.id: len(stages) + index for index, job in enumerate(dag.jobs)}
    ends = {job.id: len(stages) + len(jobs) + index for index, job in enumerate(dag.jobs)}
    above: dict[int, list[int]] = {}
    for job in dag.jobs:
        above[jobs[job.id]] = [] if job.after is None else [ends[job.after]]
        above[ends[job.id]] = [jobs[job.id]]
    for index, stage in enumerate(dag.stages):
        above[index] = [jobs[stage.job], *(stages[parent] for parent in stage.parents)]
        above[ends[stage.job]].append(index)
    circle = ranks(above)
    if isinstance(circle, int):
        assert circle < len(stages), "no circle of jobs alone is left"
        yield f"stages[{circle}].parents", "it would never begin: what it waits for comes after its own job"


def _stage(dag: Dag, stage: DagStage) -> Iterator[Broken]:
    tasks = stage.tasks
    if tasks and bool(stage.times) == bool(stage.durations):
        yield "times", "needs exactly one of times and durations"
    if stage.times and (len(stage.times) != QUANTILES + 1 or list(stage.times) != sorted(stage.times)):
        yield "times", f"must be {QUANTILES + 1} values in ascending order"
    if stage.durations and len(stage.durations) != tasks:
        yield "durations", f"must hold {tasks} times, as tasks says, got {len(stage.durations)}"
    if stage.durations and stage.total is not None:
        yield "total", "goes with times; durations tell it"
    if stage.near and len(stage.near) != tasks:
        yield "near", f"must hold {tasks} lists, one for each task, got {len(stage.near)}"
    for index, places in enumerate(stage.near):
        if places and max(places) >= len(dag.hosts):
            yield f"near[{index}]", f"{max(places)} is beyond the {len(dag.hosts)} hosts"
    yield from _what_is_left(stage)


def _what_is_left(stage: DagStage) -> Iterator[Broken]:
    if stage.left is None and stage.outputs:
        yield "outputs", "goes with left: no task is over"
    texts = {"left": stage.left or "", **{f"outputs.{host}": text for host, text in stage.outputs.items()}}
    claimed: list[tuple[int, int, str]] = []
    for field, text in texts.items():
        found = _tasks(text, stage.tasks)
        if found is None:
            yield field, f"must be intervals of tasks, 0 to {stage.tasks - 1}, got {text!r}"
            return
        claimed += ((first, last, field) for first, last in found)
    claimed.sort()
    for (_, last, field), (first, _, other) in pairwise(claimed):
        if first <= last:
            where = max(field, other)  # an output rather than what is left
            yield where, f"task {first} is not over, or lies on another host"
    to_do = stage.to_do
    for task in stage.resumed:
        number = _tasks(task, stage.tasks)
        if number is None or len(number) != 1 or task != str(number[0][0]) or not _holds(to_do, number[0][0]):
            yield f"resumed.{task}", "is no task that is to do"


def _tasks(text: str, count: int) -> Intervals | None:
    try:
        found = parse_intervals(text)
    except ValueError:
        return None
    return found if not found or found[-1][1] < count else None


def _holds(intervals: Iterable[tuple[int, int]], number: int) -> bool:
    return any(first <= number <= last for first, last in intervals)


def _seats(dag: Dag) -> Iterator[Broken]:
    for id, counts in dag.slots.items():
        if not any(counts):
            yield f"slots.{id}", "must give at least one slot"
    for index, executor in enumerate(dag.executors):
        if executor.end is not None and executor.end <= executor.start:
            yield f"executors[{index}].end", f"must be after start ({executor.start:g}), got {executor.end:g}"
    if dag.executors:
        there = {executor.profile for executor in dag.executors}
        yield from _unseated(dag, there, "no executor is of resource profile {}")
        return
    known: Mapping[int, object] = {profile.id: profile for profile in dag.resources}
    if known or dag.slots:
        yield from _unseated(dag, {*known, *dag.slots}, "{} is neither among slots nor among resources")


def _unseated(dag: Dag, there: set[int], problem: str) -> Iterator[Broken]:
    for index, stage in enumerate(dag.stages):
        if stage.profile not in there:
            yield f"stages[{index}].profile", problem.format(stage.profile)
