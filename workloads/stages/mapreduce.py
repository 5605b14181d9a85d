"""Attempts of map and reduce tasks into one application; shared by the importers of Hadoop's formats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from batpy.workloads.stages.builder import StageBuilder
from batpy.workloads.stages.graph import MOST_TASKS, Application, Stage, peak, peak_hosts
from batpy.workloads.stages.texts import FieldError, integer

MS = 1000
ORDER = ("setup", "map", "reduce", "cleanup")
"""Kinds of stages in the order in which they depend on each other; any other kind stands alone."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt of one task; times in milliseconds.

    Attributes:
        kind: ``map``, ``reduce``, ``setup``, ``cleanup``, or a name of the user's.
        sums: amounts and times by field of ``Stage``.
    """

    task: str
    kind: str
    start_ms: int
    finish_ms: int
    good: bool
    host: str = ""
    locality: str = ""
    cpu_ms: int | None = None
    peak_memory: int = 0
    sums: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JobFacts:
    """What a job is, apart from its tasks; dates in milliseconds."""

    id: str
    submitted_ms: int
    finished_ms: int | None
    name: str = ""
    user: str = ""
    queue: str = ""
    totals: Mapping[str, int] = field(default_factory=dict)
    """Tasks by kind, where the log says how many there are."""
    properties: Mapping[str, str] = field(default_factory=dict)
    complete: bool = True
    dated: bool = True
    """False if the attempts' times are durations only."""


def application(job: JobFacts, attempts: Iterable[Attempt]) -> Application:
    """The job as an application: one stage for each kind of task, in Hadoop's order.

    Of several attempts of a task that went well, the last counts: the output of the others was lost.
    """
    by_kind: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        by_kind.setdefault(attempt.kind, []).append(attempt)
    kinds = [kind for kind in ORDER if kind in by_kind]
    kinds += sorted(kind for kind in by_kind if kind not in ORDER)
    origin = job.submitted_ms
    stages: list[Stage] = []
    before: int | None = None
    for index, kind in enumerate(kinds):
        builder = StageBuilder(index)
        builder.name = kind
        builder.tasks = job.totals.get(kind, 0)
        if kind in ORDER:
            builder.parents = () if before is None else (before,)
            before = index
        _fill(builder, by_kind[kind], job.dated)
        stages.append(builder.build(origin * MS, keep_tasks=True))
    every = [attempt for group in by_kind.values() for attempt in group]
    spans = [(a.start_ms, a.finish_ms) for a in every] if job.dated else []
    return Application(
        id=job.id,
        framework="mapreduce",
        name=job.name,
        user=job.user,
        queue=job.queue,
        submitted_us=origin * MS,
        finished_us=None if job.finished_ms is None else (job.finished_ms - origin) * MS,
        complete=job.complete,
        hosts=peak_hosts((*span, a.host) for span, a in zip(spans, every, strict=False) if a.host),
        slots=peak((*span, 1) for span in spans),
        properties=dict(job.properties),
        stages=tuple(stages),
    )


def _fill(builder: StageBuilder, attempts: list[Attempt], dated: bool) -> None:
    counting = {a.task: index for index, a in enumerate(attempts) if a.good}
    sums: Counter[str] = builder.sums
    for index, attempt in enumerate(attempts):
        wall = max(0, attempt.finish_ms - attempt.start_ms) * MS
        if counting.get(attempt.task) != index:
            builder.lose(wall)
            continue
        cpu = None if attempt.cpu_ms is None else attempt.cpu_ms * MS
        builder.task(wall, cpu, attempt.locality, attempt.start_ms)
        sums["run_us"] += wall
        for name, value in attempt.sums.items():
            if value > 0:
                sums[name] += value
        if cpu is not None:
            known = sum(attempt.sums.get(name, 0) for name in ("gc_us", "fetch_wait_us", "shuffle_write_us"))
            sums["blocked_us"] += max(0, wall - cpu - known)
        builder.peak_memory = max(builder.peak_memory, attempt.peak_memory)
    builder.tasks = max(builder.tasks, len({a.task for a in attempts}))
    if dated:
        builder.submitted_us = min(a.start_ms for a in attempts) * MS
        builder.completed_us = max(max(a.finish_ms, a.start_ms) for a in attempts) * MS


def totals_of(raw: Mapping[str, Any]) -> dict[str, int]:
    """How many tasks a job says it has, by kind; -1 and nothing are 0.

    Raises:
        FieldError: more than a stage may have, or not a number.
    """
    totals = {}
    for kind, key in (("map", "totalMaps"), ("reduce", "totalReduces")):
        totals[kind] = max(0, integer(raw, key, 0))
        if totals[kind] > MOST_TASKS:
            raise FieldError(key, f"must be at most {MOST_TASKS}, got {totals[kind]}")
    return totals


def locality_of(place: tuple[str, str], preferred: Iterable[tuple[str, str]]) -> str:
    """Hadoop's level for a task at (rack, host) whose input lies at these places."""
    wanted = list(preferred)
    if not wanted:
        return ""
    if any(host == place[1] for _, host in wanted):
        return "NODE_LOCAL"
    return "RACK_LOCAL" if any(rack == place[0] for rack, _ in wanted) else "OFF_SWITCH"
