"""Levels ``stage_dag`` and ``task`` of the job model: an application becomes one ``stage_dag`` profile.

At level ``stage_dag`` a stage keeps the table of its task times and their sum, at level ``task`` the time of
each task. A source that tells no times is helped where it tells flops, or bytes and ``cpu_per_gb``; then all
tasks of a stage are alike. Where it tells neither, the application is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from batpy.workloads.profile import Parallel, ParallelHomogeneous, ParallelHomogeneousTotal, parse_profile
from batpy.workloads.seconds import plain
from batpy.workloads.stages.dag import TYPE
from batpy.workloads.stages.graph import (
    QUANTILES,
    Application,
    Part,
    Stage,
    peak,
    slots_per_executor,
    table_of,
)
from batpy.workloads.stages.job_options import JobOptions
from batpy.workloads.stages.job_order import OrderedStage, jobs_before, jobs_of, ordered_stages
from batpy.workloads.stages.tally import Tally

NO_TIMES = "application with a stage of which neither times nor flops are told (see cpu_per_gb)"
NO_TIME = "application whose stages take no time"
NOT_KEPT = "application whose tasks were not kept when it was imported (level stage_dag needs only tables)"
ALIKE = "stage without recorded times: its tasks are all alike"
_MICRO = 1e6


def dag_object(
    application: Application, hosts: int, options: JobOptions, tally: Tally, source: str
) -> dict[str, Any] | None:
    """The profile object of an application on so many hosts; None if it cannot be made, which is counted."""
    jobs = jobs_of(application)
    ordered = ordered_stages(application, jobs)
    slots = _slots(application, hosts, options)
    times = _all_times(application, ordered, hosts, slots, options, tally, source)
    if times is None:
        return None
    keeps = options.keeps_think
    before = jobs_before(jobs)
    raw: dict[str, Any] = {"type": TYPE, "framework": application.framework}
    shuffle = options.shuffle or ("pfs" if application.framework == "workflow" else "local")
    raw["shuffle"] = shuffle
    if options.checkpoint:
        raw["checkpoint"] = plain(options.checkpoint)
    if options.order != "fifo":
        raw["order"] = options.order
    if options.executors == "recorded" and application.executors:
        raw["executors"] = _executors(application, hosts)
    else:
        raw["slots"] = slots
    raw["jobs"] = [
        _job(job.id, before[job.id], job.think_us * options.scale if keeps else 0.0) for job in jobs
    ]
    ids = _ids(ordered)
    raw["stages"] = [
        _stage(application, one, id, [ids[i] for i in one.parents], jobs[one.job].id, durations, options)
        for one, id, durations in zip(ordered, ids, times, strict=True)
    ]
    return raw


def _job(id: int, after: int | None, think: float) -> dict[str, Any]:
    job: dict[str, Any] = {"id": id}
    if after is not None:
        job["after"] = after
    if think:
        job["think"] = plain(think / _MICRO)
    return job


def _ids(ordered: Sequence[OrderedStage]) -> list[int]:
    """Ids of the stage attempts: the first keeps its own, further ones get what is free above all of them."""
    taken: set[int] = set()
    free = max(one.stage.id for one in ordered) + 1
    ids = []
    for one in ordered:
        id = one.stage.id
        if id in taken:
            id, free = free, free + 1
        taken.add(id)
        ids.append(id)
    return ids


# ---------------------------------------------------------------------- where tasks run


def _slots(application: Application, hosts: int, options: JobOptions) -> dict[str, Any]:
    """Tasks that a host runs at one time, by resource profile, spread evenly where they do not divide."""
    used = sorted({stage.profile for stage in application.stages})
    if options.cores is not None:
        return {str(id): options.cores for id in used}
    profiles = {profile.id: profile for profile in application.profiles}
    there = {
        id: peak(
            (e.joined_us, e.left_us, slots_per_executor(profiles.get(id), e.cores))
            for e in application.executors
            if e.profile == id
        )
        for id in used
    }
    found: dict[str, Any] = {}
    recorded = application.hosts or hosts
    for id in used:
        total = there[id] or application.slots or recorded
        # On another number of hosts than recorded each one has as many slots as there.
        total = max(hosts, round(total * hosts / recorded)) if hosts != recorded else max(1, total)
        each, more = divmod(total, hosts)
        found[str(id)] = [each + 1] * more + [each] * (hosts - more) if more else each
    return found


def _executors(application: Application, hosts: int) -> list[dict[str, Any]]:
    """The recorded executors, on hosts numbered as they came."""
    profiles = {profile.id: profile for profile in application.profiles}
    places = {name: place for place, name in enumerate(dict.fromkeys(e.host for e in application.executors))}
    found = []
    for executor in application.executors:
        slots = slots_per_executor(profiles.get(executor.profile), executor.cores)
        start = max(0, executor.joined_us)
        if not slots or (executor.left_us is not None and executor.left_us <= start):
            continue
        raw: dict[str, Any] = {"host": places[executor.host] % hosts, "slots": slots}
        if executor.profile:
            raw["profile"] = executor.profile
        if start:
            raw["start"] = plain(start / _MICRO)
        if executor.left_us is not None:
            raw["end"] = plain(executor.left_us / _MICRO)
        found.append(raw)
    return found


# ---------------------------------------------------------------------- how long tasks take


def _all_times(
    application: Application,
    ordered: Sequence[OrderedStage],
    hosts: int,
    slots: Mapping[str, Any],
    options: JobOptions,
    tally: Tally,
    source: str,
) -> list[Sequence[int] | None] | None:
    """Microseconds of the tasks of each stage that does not tell a table; None if they are not known."""
    times: list[Sequence[int] | None] = []
    for one in ordered:
        stage = one.stage
        if not stage.parts and (stage.done or stage.times_us or not stage.tasks):
            if options.level == "task" and len(stage.durations_us) != stage.done:
                tally.skip(NOT_KEPT, source, path=application.id)
                return None
            times.append(stage.durations_us if options.level == "task" else None)
            continue
        given = slots[str(stage.profile)]
        width = sum(given) if isinstance(given, list) else given * hosts
        found = _told_otherwise(stage, width, options)
        if found is None and application.framework == "spark":
            found = []  # an attempt of which no task ended
        if found is None:
            tally.skip(NO_TIMES, source, path=f"{application.id} stage {stage.id}")
            return None
        if found and not stage.parts:
            tally.note(ALIKE, source, path=f"{application.id} stage {stage.id}")
        times.append(found)
    if all(found is not None and not any(found) for found in times):
        tally.skip(NO_TIME, source, path=application.id)
        return None
    return times


def _told_otherwise(stage: Stage, width: int, options: JobOptions) -> list[int] | None:
    """Microseconds of tasks from flops, or from bytes; None if neither is told."""
    if stage.parts:
        return [time for part in stage.parts for time in _part_times(part, options)]
    if not stage.tasks:
        return []
    moved = stage.input_bytes + stage.shuffle_local_bytes + stage.shuffle_remote_bytes
    seconds = stage.flops / options.speed + (0.0 if stage.flops else options.cpu_per_gb * moved / 1e9)
    if options.io == "bandwidth":
        # All slots share the storage: each has its part of the bandwidth.
        read, written = (
            stage.input_bytes / options.read_bandwidth,
            stage.output_bytes / options.write_bandwidth,
        )
        seconds += (read + written) * min(width, stage.tasks)
    if not stage.flops and not options.cpu_per_gb and options.io != "bandwidth":
        return None
    time = max(round(seconds / stage.tasks * _MICRO), 1 if seconds else 0)  # a little is more than nothing
    return [time] * stage.tasks


def _part_times(part: Part, options: JobOptions) -> Iterator[int]:
    """A kind of tasks, each on one slot: what several executors compute, one does."""
    profile = parse_profile(part.name, part.profile)
    seconds = float(part.profile.get("delay", 0.0))
    if isinstance(profile, Parallel):
        seconds = sum(profile.cpu) / options.speed
    elif isinstance(profile, (ParallelHomogeneous, ParallelHomogeneousTotal)):
        seconds = profile.cpu / options.speed
    return iter([round(seconds * _MICRO)] * part.tasks)


# ---------------------------------------------------------------------- stages


def _stage(
    application: Application,
    one: OrderedStage,
    id: int,
    parents: Sequence[int],
    job: int,
    durations: Sequence[int] | None,
    options: JobOptions,
) -> dict[str, Any]:
    stage, scale = one.stage, options.scale
    raw: dict[str, Any] = {"id": id}
    if stage.name:
        raw["name"] = stage.name
    if job:
        raw["job"] = job
    if stage.profile:
        raw["profile"] = stage.profile
    if parents:
        raw["parents"] = list(parents)
    raw.update(_times(stage, durations, options))
    amounts: dict[str, float] = {
        "input": stage.input_bytes,
        "output": stage.output_bytes,
        "shuffle_read": stage.shuffle_local_bytes + stage.shuffle_remote_bytes,
    }
    raw.update((key, plain(amount * scale)) for key, amount in amounts.items() if amount)
    written = _shuffle_write(application, stage)
    if written is not None:
        raw["shuffle_write"] = plain(written * scale)
    return raw


def _times(stage: Stage, durations: Sequence[int] | None, options: JobOptions) -> dict[str, Any]:
    scale = options.scale / _MICRO
    total = stage.wall_us
    if durations is None and len(stage.times_us) != QUANTILES + 1:
        durations = [round(stage.wall_us / stage.done)] * stage.done if stage.done else []
    if durations is None:
        table, tasks = stage.times_us, stage.done or stage.tasks
    elif options.level == "task" or not durations:
        found: dict[str, Any] = {"tasks": len(durations)}
        if durations:
            found["durations"] = [plain(time * scale) for time in durations]
        return found
    else:
        table, tasks, total = table_of(durations), len(durations), sum(durations)
    raw: dict[str, Any] = {"tasks": tasks, "times": [plain(time * scale) for time in table]}
    if total:
        raw["total"] = plain(total * scale)
    return raw


def _shuffle_write(application: Application, stage: Stage) -> int | None:
    """Bytes that the stage writes for others to read, None where the source does not tell.

    In MapReduce only maps write any: what the others write goes to the file system.
    """
    if application.framework == "spark" or stage.shuffle_write_bytes:
        return stage.shuffle_write_bytes
    return 0 if application.framework == "mapreduce" and stage.name != "map" else None
