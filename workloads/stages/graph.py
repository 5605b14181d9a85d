"""The stage graph: what every importer of Big Data logs makes, and every job model is made from.

Plain frozen data. Durations and dates are integer microseconds, amounts of data bytes. Dates inside an
application count from its own submission; that of an application counts from the graph's origin.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec

from batpy.base.quantiles import quantile

FORMAT = "batpy-stage-graph"
VERSION = 1
QUANTILES = 16
"""Steps of a table of task times; 16 keep the makespan of recorded applications within 3 %."""

Count = Annotated[int, msgspec.Meta(ge=0)]
MOST_TASKS = 10_000_000
"""Of one stage; more are a mistake."""
Tasks = Annotated[int, msgspec.Meta(ge=0, le=MOST_TASKS)]
Amount = Annotated[float, msgspec.Meta(ge=0)]
Table = tuple[Count, ...]
"""Empty, or 17 values: the minimum, the inner 16-quantiles, the exact maximum."""
Framework = Literal["spark", "mapreduce", "workflow", "stages"]
Source = Literal["spark", "jhist", "rumen", "sls", "swim", "wfcommons", "stages", "mixed"]


class Data(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Common settings of the parts of a graph: unknown fields are refused, defaults are not written."""


class ResourceProfile(Data, frozen=True):
    """What an executor has and what a task takes of it (Spark's resource profiles).

    Attributes:
        executor: amounts by resource, such as ``cores``, ``memory`` (MiB) or ``gpu``.
        task: amounts by resource, such as ``cpus`` or ``gpu``.
    """

    id: int
    executor: dict[str, Amount] = {}
    task: dict[str, Amount] = {}


class Executor(Data, frozen=True):
    """A process that runs tasks, from when it joined until it left (None: it stayed to the end)."""

    id: str
    host: str
    cores: Tasks
    profile: int = 0
    joined_us: int = 0
    left_us: int | None = None
    reason: str = ""


class AppJob(Data, frozen=True):
    """A job inside an application (a Spark action).

    Attributes:
        stages: ids of its stages, those that were skipped included.
        think_us: from the end of the last job that had ended (or the application's submission) to this
            job's submission: time in which the driver, or its user, was busy with something else.
    """

    id: int
    submitted_us: int
    completed_us: int | None = None
    stages: tuple[int, ...] = ()
    result: str = ""
    think_us: Count = 0


class Part(Data, frozen=True):
    """Tasks of one kind in a stage whose tasks are given as Batsim profiles."""

    name: str
    tasks: Tasks
    profile: dict[str, Any]


class Stage(Data, frozen=True):
    """One attempt of one stage. Sums are over the tasks that ended well.

    Attributes:
        tasks: tasks the stage has; ``done`` of them ended well in this attempt (0 if nothing was recorded).
        parents: ids of stages whose output it reads, those that did the work.
        skipped_parents: ids under which a Spark log names parents that were skipped, since an earlier stage,
            which is among ``parents`` if the log tells, had done their work.
        job: the job that ran it.
        profile: id of its resource profile.
        lost, lost_us: attempts of tasks that failed, were killed, or came second, and the time they took.
        wall_us: launch to finish; ``run_us`` without overheads; ``cpu_us`` processor time.
        delay_us: between scheduler and executor; ``blocked_us``: running, but on none of processor, garbage
            collection, fetches and writes of shuffled data: in the main, input, output and spills.
        fetch_wait_us: waiting for shuffled data; in MapReduce the whole shuffle phase of the reduces.
        durations_us: wall times of the tasks that ended well, by launch; empty unless they were asked for.
        times_us, cpus_us: tables of the tasks' wall and processor times.
        shuffle_local_bytes, shuffle_remote_bytes: shuffled data read here, from the reader's own or other
            executors; all of it remote where a log does not tell.
        locality: number of tasks by level, as the log names them.
        flops: work, where the source states it instead of times.
        parts: tasks by kind, where the source states profiles.
    """

    id: int
    tasks: Tasks
    attempt: Count = 0
    name: str = ""
    parents: tuple[int, ...] = ()
    skipped_parents: tuple[int, ...] = ()
    job: int | None = None
    profile: int = 0
    barrier: bool = False
    failure: str = ""
    submitted_us: int | None = None
    completed_us: int | None = None
    done: Tasks = 0
    lost: Count = 0
    lost_us: Count = 0
    wall_us: Count = 0
    run_us: Count = 0
    cpu_us: Count = 0
    gc_us: Count = 0
    deserialize_us: Count = 0
    serialize_us: Count = 0
    fetch_wait_us: Count = 0
    shuffle_write_us: Count = 0
    delay_us: Count = 0
    blocked_us: Count = 0
    times_us: Table = ()
    cpus_us: Table = ()
    durations_us: tuple[Count, ...] = ()
    input_bytes: Count = 0
    output_bytes: Count = 0
    shuffle_local_bytes: Count = 0
    shuffle_remote_bytes: Count = 0
    shuffle_write_bytes: Count = 0
    spill_memory_bytes: Count = 0
    spill_disk_bytes: Count = 0
    result_bytes: Count = 0
    peak_memory_bytes: Count = 0
    locality: dict[str, Count] = {}
    flops: Amount = 0.0
    parts: tuple[Part, ...] = ()


class Application(Data, frozen=True):
    """One application: a Spark application, a MapReduce job, a workflow.

    Attributes:
        id: unique in its graph.
        attempt: of the application itself, as its manager numbers it.
        submitted_us: after the graph's origin.
        finished_us: after its own submission; None if the log does not say.
        complete: False if the log breaks off.
        hosts: most hosts it had at one time; 0 if unknown.
        slots: most tasks it could run at one time (or did run, where that is all a log tells); 0 if unknown.
        properties: settings that bear on scheduling.
    """

    id: str
    framework: Framework
    name: str = ""
    attempt: str = ""
    user: str = ""
    queue: str = ""
    submitted_us: int = 0
    finished_us: int | None = None
    complete: bool = True
    hosts: Count = 0
    slots: Count = 0
    properties: dict[str, str] = {}
    profiles: tuple[ResourceProfile, ...] = ()
    executors: tuple[Executor, ...] = ()
    jobs: tuple[AppJob, ...] = ()
    stages: tuple[Stage, ...] = ()


class StageGraph(Data, frozen=True):
    """Applications of one or more logs, by (submission, id).

    Attributes:
        origin_ms: milliseconds since 1970 at date 0, or 0 where a trace has a clock of its own.
    """

    source: Source
    origin_ms: int = 0
    applications: tuple[Application, ...] = ()


def table_of(values: Iterable[int]) -> Table:
    """The 16-quantile table of some times; empty for none."""
    ordered = sorted(values)
    if not ordered:
        return ()
    return tuple(round(quantile(ordered, step, QUANTILES)) for step in range(QUANTILES + 1))


def times_from(table: Sequence[int], tasks: int, total: int | None = None) -> list[int]:
    """So many task times, in ascending order, that have this table; a single one is the median.

    Args:
        total: what they add up to, as nearly as the table allows. Straight lines between quantiles make too
            much of long tails: the last step of a table reaches up to the maximum, few tasks do. The times
            inside a step are drawn towards its lower end, all in one proportion; none leaves its step.
    """
    if not table or tasks < 1:
        return []
    steps = len(table) - 1
    if tasks == 1 or steps == 0:
        return [table[steps // 2] if total is None else min(max(total, table[0]), table[-1])] * tasks
    places = [divmod(rank * steps, tasks - 1) for rank in range(tasks)]
    lows = [table[step] for step, _ in places]
    rises = [(table[step + 1] - table[step]) * rest / (tasks - 1) if rest else 0.0 for step, rest in places]
    share = 1.0
    if total is not None and sum(rises) > 0:
        share = min(1.0, max(0.0, (total - sum(lows)) / sum(rises)))
    return [round(low + rise * share) for low, rise in zip(lows, rises, strict=True)]


def slots_per_executor(profile: ResourceProfile | None, cores: int) -> int:
    """Tasks that an executor runs at one time: the scarcest resource that a task asks for decides.

    Args:
        cores: of the executor itself, which may differ from those its profile asked for.
    """
    if profile is None:
        return cores
    shares = [cores // max(profile.task.get("cpus", 1.0), 1e-9)]
    for name, amount in profile.task.items():
        if name != "cpus" and amount > 0 and name in profile.executor:
            shares.append((profile.executor[name] + 1e-9) // amount)
    return max(0, int(min(shares)))


def peak(spans: Iterable[tuple[int, int | None, int]]) -> int:
    """Largest sum of weights at one time; spans (from, to or None, weight) are half-open."""
    moves: list[tuple[int, int]] = []
    for begin, end, weight in spans:
        if end is not None and end <= begin:
            continue
        moves.append((begin, weight))
        if end is not None:
            moves.append((end, -weight))
    top = level = 0
    for _, change in sorted(moves):  # at one instant, those who leave come first
        level += change
        top = max(top, level)
    return top


def peak_hosts(spans: Iterable[tuple[int, int | None, str]]) -> int:
    """Most different hosts at one time."""
    by_host: dict[str, list[tuple[int, int | None]]] = {}
    for begin, end, host in spans:
        by_host.setdefault(host, []).append((begin, end))
    merged = (span for spans_of in by_host.values() for span in _union(spans_of))
    return peak((begin, end, 1) for begin, end in merged)


def _union(spans: list[tuple[int, int | None]]) -> Iterator[tuple[int, int | None]]:
    spans.sort(key=lambda span: span[0])
    begin, end = spans[0]
    for first, last in spans[1:]:
        if end is None:
            break
        if first <= end:
            end = None if last is None else max(end, last)
        else:
            yield begin, end
            begin, end = first, last
    yield begin, end


def depths(stages: Iterable[Stage]) -> dict[int, int] | int:
    """Longest way from a stage without parents to each stage id, or the id of a stage in a circle."""
    parents: dict[int, set[int]] = {}
    for stage in stages:
        parents.setdefault(stage.id, set()).update(stage.parents)
    return ranks(parents)


def ranks(parents: Mapping[int, Iterable[int]]) -> dict[int, int] | int:
    """As :func:`depths`, from the parents of each id; parents that are no keys are passed over."""
    children: dict[int, list[int]] = {id: [] for id in parents}
    missing = dict.fromkeys(parents, 0)
    for id, above in parents.items():
        for parent in set(above):
            if parent in children:
                children[parent].append(id)
                missing[id] += 1
    ready = sorted(id for id, count in missing.items() if not count)
    rank = dict.fromkeys(ready, 0)
    for id in ready:  # grows while it is walked
        for child in children[id]:
            rank[child] = max(rank.get(child, 0), rank[id] + 1)
            missing[child] -= 1
            if not missing[child]:
                ready.append(child)
    if len(ready) < len(missing):
        return min(id for id, count in missing.items() if count)
    return rank
