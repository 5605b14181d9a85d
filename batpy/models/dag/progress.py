"""How far an application is at a date: the part of a progress tree that tells of a ``stage_dag``.

Its form is described in ``batpy.workloads.stages.dag``. A task that ends at the date has ended; one that
starts at it has not started.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from batpy.base.intervals import merge_intervals
from batpy.models.dag.draws import US, done_before, tasks_to_do
from batpy.models.dag.load import Load, Schedule
from batpy.workloads.stages.dag import Dag, DagStage


def progress_of(dag: Dag, load: Load, schedule: Schedule, elapsed: int) -> dict[str, Any]:
    """The tree's fields of an application that has run for so many microseconds."""
    parents = {parent for stage in dag.stages for parent in stage.parents}
    total = done = 0
    stages: list[dict[str, Any]] = []
    for index, stage in enumerate(dag.stages):
        total += sum(load.stages[index].times)
        told, seconds = _stage(stage, index, load, schedule, elapsed, loses=may_lose(dag, stage, parents))
        done += seconds
        if told:
            stages.append({"id": stage.id, **told})
    jobs: dict[str, Any] = {}
    over = [job.id for job, (_, end) in zip(dag.jobs, schedule.jobs, strict=True) if end <= elapsed]
    think = _thinking(dag, schedule, elapsed)
    if over:
        jobs["over"] = over
    if think:
        jobs["think"] = think
    return {
        "progress": done / total if total else 1.0,
        "elapsed": elapsed / US,
        "jobs": jobs,
        "stages": stages,
    }


def may_lose(dag: Dag, stage: DagStage, parents: set[int]) -> bool:
    """May output of the stage be lost with hosts before somebody has read it?"""
    return dag.shuffle == "local" and stage.id in parents and stage.shuffle_write != 0


def _stage(
    stage: DagStage, index: int, load: Load, schedule: Schedule, elapsed: int, *, loses: bool
) -> tuple[dict[str, Any], int]:
    """What is told of a stage ({} if it has not begun), and the microseconds of its tasks that are done."""
    begins, hosts = schedule.begins[index], schedule.hosts[index]
    loads = load.stages[index]
    order: Sequence[int] = schedule.started.get(index, range(len(begins)))
    far: Iterable[int] = schedule.far.get(index, ())
    numbers, before = tasks_to_do(stage), done_before(stage)
    seconds = 0
    over: list[int] = []
    outputs: dict[int, list[int]] = {}
    running: list[list[Any]] = []
    for place, begin in enumerate(begins):
        if begin > elapsed:
            break
        item = order[place]
        task, time = numbers[item], loads.times[item]
        length = time + (loads.remote if item in far else 0)
        if begin + length <= elapsed:
            over.append(task)
            outputs.setdefault(hosts[place], []).append(task)
            seconds += time
        elif begin < elapsed:
            made = time * (elapsed - begin) // length
            seconds += made
            running.append([task, hosts[place], (made + before.get(task, 0)) / US])
    told: dict[str, Any] = {}
    if over:
        told["done"] = _text(over)
        if loses:
            told["outputs"] = {str(host): _text(outputs[host]) for host in sorted(outputs)}
    if running:
        told["running"] = sorted(running)
    return told, seconds


def _text(tasks: Iterable[int]) -> str:
    merged = merge_intervals((task, task) for task in tasks)
    return " ".join(f"{first}-{last}" if last > first else str(first) for first, last in merged)


def _thinking(dag: Dag, schedule: Schedule, elapsed: int) -> Mapping[str, float]:
    """Seconds that jobs have still to think which wait for nothing else."""
    places = {job.id: index for index, job in enumerate(dag.jobs)}
    found = {}
    for index, job in enumerate(dag.jobs):
        submitted = schedule.jobs[index][0]
        free = 0 if job.after is None else schedule.jobs[places[job.after]][1]
        if free <= elapsed < submitted:
            found[str(job.id)] = (submitted - elapsed) / US
    return found
