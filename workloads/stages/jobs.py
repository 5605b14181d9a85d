"""Job models made from a stage graph: one job for each application.

Levels ``stage_dag`` and ``task`` make profiles of a type of our own (``dag_jobs``, beside this module), the
other two rigid jobs in Batsim's own profiles. Level ``delay`` is a sequence of recorded stage times, for
regression. Level ``job`` is the model of the notes on Bebida: stage after stage reads, computes and shuffles,
writes, its work spread evenly over the hosts. That spreading is biased where stages have stragglers or few
tasks (-41 % to +12 % of the makespan on nine real logs); the levels that draw tasks exist for that reason.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from batpy.base.errors import InputError
from batpy.workloads.batsim_json import BatsimWorkload, parse_batsim_json
from batpy.workloads.seconds import plain
from batpy.workloads.stages.calibration_form import Calibration
from batpy.workloads.stages.calibration_jobs import calibrated, calibrated_options, far
from batpy.workloads.stages.dag_jobs import dag_object
from batpy.workloads.stages.graph import Application, Stage, StageGraph, depths, times_from
from batpy.workloads.stages.job_options import JobOptions
from batpy.workloads.stages.roofline import busy_slots, times_of
from batpy.workloads.stages.tally import Tally

NO_STAGE = "application of which no stage ran"
NO_WORK = "application whose stages neither compute nor move anything"
NO_CPU = "stage without recorded processor times: its tasks' times are taken for them"
NO_AMOUNT = "stage without times or flops: it moves data only (see cpu_per_gb)"
UNDATED = "stage without recorded dates: its time is that of its tasks on the job's hosts"
BEYOND = "application after the first max_jobs"
FAR = "application that is more than twice outside the calibrated range"

Parts = Iterator[tuple[str, dict[str, Any]]]
"""Names and objects of the profiles that a job runs one after another."""


@dataclass(frozen=True, slots=True)
class Emitted:
    """A workload, and what was left out of it or assumed for it."""

    workload: BatsimWorkload
    tally: Tally


@dataclass(frozen=True, slots=True)
class _Seat:
    """Where a job runs."""

    hosts: int
    cores: int


def to_workload(
    graph: StageGraph,
    options: JobOptions,
    id: str = "w0",
    source: str = "stage graph",
    calibration: Calibration | None = None,
) -> Emitted:
    """Turn applications into jobs, numbered from 0 by submission; field ``application`` names the original.

    Args:
        source: name of the graph's file, for complaints and the account.
        calibration: for level ``job``; its overlap and overheads take the place of those of the options.

    Raises:
        InputError: a calibration for another level, nothing to run is left, or a date or amount is beyond
            what a workload can hold.
    """
    tally = Tally()
    if calibration is not None:
        options = calibrated_options(options, calibration)
    jobs: list[dict[str, Any]] = []
    profiles: dict[str, dict[str, Any]] = {}
    ordered = sorted(graph.applications, key=lambda a: (a.submitted_us, a.id))
    for index, recorded in enumerate(ordered):
        application = recorded
        if options.max_jobs is not None and len(jobs) >= options.max_jobs:
            for _ in ordered[index:]:
                tally.skip(BEYOND, source, path=application.id)
            break
        seat = _seat(application, options)
        name = f"app{len(jobs)}"
        if calibration is not None:
            slots = seat.hosts * seat.cores
            if far(application, slots, calibration):
                tally.note(FAR, source, path=application.id)
            application = calibrated(application, slots, calibration)
        made = _profiles(application, name, seat, options, tally, source)
        if not made:
            continue
        profiles.update(made)
        jobs.append(_job(application, len(jobs), name, seat, options))
    if not jobs:
        raise InputError(f"no job left of {len(ordered)} applications: {tally.reasons()}", source=source)
    tree = {
        "description": _description(graph, options, len(jobs)),
        "nb_res": max(job["res"] for job in jobs),
        "jobs": jobs,
        "profiles": profiles,
    }
    return Emitted(parse_batsim_json(msgspec.json.encode(tree), id, source=source), tally)


def _profiles(
    application: Application, name: str, seat: _Seat, options: JobOptions, tally: Tally, source: str
) -> dict[str, dict[str, Any]]:
    """Profile objects by name, *name* itself among them; none if the application cannot run."""
    if not application.stages:
        tally.skip(NO_STAGE, source, path=application.id)
        return {}
    if options.is_dag:
        raw = dag_object(application, seat.hosts, options, tally, source)
        return {} if raw is None else {name: raw}
    named = {f"{name}_{part}": raw for part, raw in _parts(application, seat, options, tally, source)}
    if not named:
        tally.skip(NO_WORK, source, path=application.id)
        return {}
    return {**named, name: {"type": "composed", "repeat": 1, "seq": list(named)}}


def _description(graph: StageGraph, options: JobOptions, count: int) -> str:
    how = f"level {options.level}"
    if options.level == "job":
        how += f", {options.speed:g} flops/s a host, io {options.io}"
    return f"{count} applications ({graph.source}), {how}"


def _seat(application: Application, options: JobOptions) -> _Seat:
    cores = options.cores
    if cores is None:
        hosts, slots = application.hosts, application.slots
        cores = max(1, round(slots / hosts)) if hosts and slots else 1
    hosts = options.hosts or application.hosts
    if not hosts:
        widest = max((stage.tasks for stage in application.stages), default=1)
        hosts = max(1, -(-widest // cores))
    return _Seat(min(hosts, options.max_hosts or hosts), cores)


def _job(
    application: Application, index: int, profile: str, seat: _Seat, options: JobOptions
) -> dict[str, Any]:
    if options.every is not None:
        submit = index * options.every
    elif options.submit == "together":
        submit = 0.0
    else:
        submit = application.submitted_us * options.interarrival_factor / 1e6
    job: dict[str, Any] = {"id": str(index), "subtime": plain(submit), "res": seat.hosts, "profile": profile}
    duration = _duration(application)
    if options.walltime_factor and duration:
        job["walltime"] = plain(options.walltime_factor * options.scale * duration / 1e6)
    labels = {"application": application.id, "user": application.user, "queue": application.queue}
    job.update({key: text for key, text in labels.items() if text})
    return job


def _duration(application: Application) -> int:
    ends = [stage.completed_us for stage in application.stages if stage.completed_us is not None]
    return max(application.finished_us or 0, max(ends, default=0))


def _parts(application: Application, seat: _Seat, options: JobOptions, tally: Tally, source: str) -> Parts:
    maker = _delays if options.level == "delay" else _stages
    return maker(application, seat, options, tally, source)


def in_order(application: Application) -> list[Stage]:
    """Stages as they began; where no dates are recorded, those without parents first."""
    stages = application.stages
    if all(stage.submitted_us is not None for stage in stages):
        return sorted(stages, key=lambda s: (s.submitted_us or 0, s.id, s.attempt))
    depth = depths(stages)
    if isinstance(depth, int):
        raise InputError(f"stage {depth} leads back to itself", path=f"application {application.id}")
    return sorted(stages, key=lambda s: depth[s.id])


def _name(stage: Stage) -> str:
    return f"s{stage.id}" + (f"r{stage.attempt}" if stage.attempt else "")


def _delays(application: Application, seat: _Seat, options: JobOptions, tally: Tally, source: str) -> Parts:
    """Recorded stage times, each as far as the stages before have not covered it."""
    cursor: int | None = None
    for stage in in_order(application):
        begin, end = stage.submitted_us, stage.completed_us
        name = _name(stage)
        if begin is None or end is None:
            wall = _waves(stage, seat, options)
            if wall:
                tally.note(UNDATED, source, path=f"{application.id} stage {stage.id}")
                yield name, _delay(wall)
            continue
        if cursor is None:
            cursor = 0 if options.keeps_think and begin >= 0 else begin
        if begin > cursor:
            if options.keeps_think:
                yield f"{name}_think", _delay((begin - cursor) * options.scale)
            cursor = begin
        if end > cursor:
            yield name, _delay((end - cursor) * options.scale)
            cursor = end


def _delay(microseconds: float) -> dict[str, Any]:
    return {"type": "delay", "delay": plain(microseconds / 1e6)}


def _waves(stage: Stage, seat: _Seat, options: JobOptions) -> float:
    """Microseconds that the stage's tasks take on the job's hosts, the longest first."""
    done = stage.done or (stage.tasks if stage.times_us else 0)
    times: list[float] = [time * options.scale for time in times_from(stage.times_us, done)]
    rest = stage.tasks - len(times)
    if rest > 0 and stage.flops:
        times += [stage.flops / rest / options.speed * seat.cores * 1e6 * options.scale] * rest
    slots = seat.hosts * seat.cores
    if len(times) <= slots:
        return max(times, default=0.0)
    free = [0.0] * slots
    for time in sorted(times, reverse=True):
        heapq.heapreplace(free, free[0] + time)
    return max(free)


def _stages(application: Application, seat: _Seat, options: JobOptions, tally: Tally, source: str) -> Parts:
    """Stage after stage: read, compute and shuffle, write."""
    think = {job.id: job.think_us for job in application.jobs} if options.keeps_think else {}
    for stage in in_order(application):
        name = _name(stage)
        pause = think.pop(stage.job, 0) if stage.job is not None else 0
        if pause:
            yield f"{name}_think", _delay(pause)
        read, written = stage.input_bytes * options.scale, stage.output_bytes * options.scale
        flops = _flops(application, stage, seat, options, tally, source)
        com = _com(application, stage, seat.hosts) * options.scale
        work: dict[str, Any] = {"type": "parallel_homogeneous_total", "cpu": plain(flops), "com": plain(com)}
        overhead = _overhead(stage, seat, options)
        if overhead and options.io == "beside":  # no data move beside a job of which one part is a delay
            flops_of_it = overhead * options.speed * seat.hosts
            yield f"{name}_overhead", {"type": work["type"], "cpu": plain(flops_of_it), "com": 0}
        elif overhead:
            yield f"{name}_overhead", _delay(overhead * 1e6)
        if options.io == "beside":
            amounts = {"io_reads": plain(read), "io_writes": plain(written)}
            work.update({key: amount for key, amount in amounts.items() if amount})
        if options.io in ("pfs", "bandwidth") and read:
            yield f"{name}_read", _transfer("read", read, seat, options)
        if flops or com or len(work) > 3:
            yield from _overlapping(name, work, options.overlap)
        if options.io in ("pfs", "bandwidth") and written:
            yield f"{name}_write", _transfer("write", written, seat, options)


def _overhead(stage: Stage, seat: _Seat, options: JobOptions) -> float:
    """Seconds that a stage takes besides its work."""
    if not options.task_overhead:
        return options.stage_overhead
    tasks = stage.done or stage.tasks
    busy = busy_slots(times_of(stage), tasks, seat.hosts * seat.cores)
    return options.stage_overhead + options.task_overhead * tasks / busy


def _overlapping(name: str, work: dict[str, Any], overlap: float) -> Parts:
    """The share of a stage's work that goes on at once, and then the rest of each resource."""
    amounts = {key: amount for key, amount in work.items() if key != "type" and amount}
    if overlap == 1 or len(amounts) < 2:
        yield name, work
        return
    nothing = {"type": work["type"], "cpu": 0, "com": 0}
    if overlap:
        yield name, nothing | {key: plain(amount * overlap) for key, amount in amounts.items()}
    for key, amount in amounts.items():
        yield f"{name}_{key}", nothing | {key: plain(amount * (1 - overlap))}


def _transfer(way: str, amount: float, seat: _Seat, options: JobOptions) -> dict[str, Any]:
    if options.io == "bandwidth":
        rate = options.read_bandwidth if way == "read" else options.write_bandwidth
        return _delay(amount / rate * 1e6)
    # Batsim's amounts are those of one host.
    return {
        "type": "parallel_homogeneous_pfs",
        "bytes_to_read": plain(amount / seat.hosts) if way == "read" else 0,
        "bytes_to_write": plain(amount / seat.hosts) if way == "write" else 0,
        "storage": options.storage,
    }


def _flops(
    application: Application, stage: Stage, seat: _Seat, options: JobOptions, tally: Tally, source: str
) -> float:
    """Work of all hosts together: Batsim has a host compute on one core, so that core does it for all."""
    place = f"{application.id} stage {stage.id}"
    seconds = stage.cpu_us / 1e6
    if not seconds and stage.wall_us:
        if application.framework != "stages":  # there it is what the form says
            tally.note(NO_CPU, source, path=place)
        seconds = (stage.run_us or stage.wall_us) / 1e6
    if not seconds and not stage.flops:
        seconds = options.cpu_per_gb * (stage.input_bytes + _shuffled(stage)) / 1e9
        if not options.cpu_per_gb:
            tally.note(NO_AMOUNT, source, path=place)
    return (seconds * options.speed + stage.flops) * options.scale / seat.cores


def _shuffled(stage: Stage) -> int:
    return stage.shuffle_local_bytes + stage.shuffle_remote_bytes


def _com(application: Application, stage: Stage, hosts: int) -> float:
    """What ``com`` must be so that the right amount crosses the network.

    Batsim 4.2.1 sends ``com / n`` bytes between each ordered pair of n hosts, so ``com * (n - 1)`` in all.
    The amount is the recorded one if the log tells it for this number of hosts; else shuffled data spreads
    evenly, and 1/n of it is read where it was written.
    """
    if hosts == 1:
        return 0.0
    recorded = application.framework == "spark" and hosts == application.hosts
    if recorded or application.framework in ("stages", "workflow"):
        return stage.shuffle_remote_bytes / (hosts - 1)
    return _shuffled(stage) / hosts
