"""How applications become jobs that Batsim can run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from batpy.base.dates import MAX_SECONDS
from batpy.base.errors import InputError
from batpy.workloads.seconds import MAX_INTEGER
from batpy.workloads.settings import build

Level = Literal["delay", "job", "stage_dag", "task"]


@dataclass(frozen=True, slots=True)
class JobOptions:
    """Options of :func:`batpy.workloads.stages.jobs.to_workload`. Every one may be left out.

    Attributes:
        level: ``stage_dag`` draws tasks from tables and places them on slots, ``task`` places recorded
            tasks (both for our simulator only); ``delay`` replays recorded stage times on whatever hosts;
            ``job`` computes, moves and stores.
        hosts: of every job; without it as many as the log shows at one time, or else as many as the widest
            stage fills.
        max_hosts: no job asks for more.
        cores: tasks that a host runs at one time; without it as in the log, or 1.
        speed: flops per second that an executor gets on a host of the platform (in Batsim ``speed`` of its
            file, one core). It stands for all tasks of the job on that host: a second of processor time in
            the log becomes ``speed / cores`` flops.
        io: ``pfs`` reads and writes the storage host in parts of their own (any Batsim; the number of
            hosts is then fixed); ``beside`` writes down how much (``io_reads``, ``io_writes``), for
            schedulers that add it to the computation, such as ``bebida[variant=pfs]``; ``bandwidth`` takes
            the time that the two bandwidths ask for; ``none`` leaves it out.
        storage: label of the storage host.
        read_bandwidth, write_bandwidth: bytes per second of the whole storage, for ``io=bandwidth``; at
            levels ``stage_dag`` and ``task`` they count only where a source tells no times.
        cpu_per_gb: seconds of processor time for each 10^9 bytes read or shuffled, for stages of which the
            log tells neither times nor flops (SWIM).
        think: what happens between the jobs of an application: ``keep`` waits as recorded, holding the
            hosts, ``drop`` goes on at once. Without it ``drop`` at level ``job``, where a job of nothing but
            computations may run on any number of hosts, and ``keep`` at the others.
        executors: at levels ``stage_dag`` and ``task``, slots for the whole run (``slots``), or executors
            that come and go as ``recorded``.
        shuffle: at these levels, where shuffled data lie (``local``, ``external``, ``pfs``); without it
            ``pfs`` for workflows and ``local`` for others.
        checkpoint: at these levels, seconds after which running tasks save their state; 0 for never.
        order: at these levels, of stages: ``fifo`` or ``critical_path``.
        overlap: at level ``job``, share of a stage's computing and shuffling (and with ``io=beside`` of
            reading and writing) that goes on at once, 0 to 1; the rest of each comes one after the other.
        task_overhead, stage_overhead: at level ``job``, seconds that each task, on its slot, and each stage
            take besides; with ``io=beside`` as computing on all hosts at *speed*.
        scale: all work, data and times are multiplied by it (at level ``job`` not think times).
        submit: ``recorded`` dates, or all ``together`` at date 0.
        every: seconds between submissions, in the recorded order; instead of recorded dates.
        interarrival_factor: recorded dates are multiplied by it.
        walltime_factor: walltime as a multiple of the recorded duration; 0 for none.
        max_jobs: only the first so many applications.
    """

    level: Level = "stage_dag"
    hosts: int | None = None
    max_hosts: int | None = None
    cores: int | None = None
    speed: float = 1e9
    io: Literal["pfs", "beside", "bandwidth", "none"] = "pfs"
    storage: str = "pfs"
    read_bandwidth: float = 1e9
    write_bandwidth: float = 1e9
    cpu_per_gb: float = 0.0
    think: Literal["keep", "drop"] | None = None
    executors: Literal["slots", "recorded"] = "slots"
    shuffle: Literal["local", "external", "pfs"] | None = None
    checkpoint: float = 0.0
    order: Literal["fifo", "critical_path"] = "fifo"
    overlap: float = 1.0
    task_overhead: float = 0.0
    stage_overhead: float = 0.0
    scale: float = 1.0
    submit: Literal["recorded", "together"] = "recorded"
    every: float | None = None
    interarrival_factor: float = 1.0
    walltime_factor: float = 0.0
    max_jobs: int | None = None

    def __post_init__(self) -> None:
        for name in ("hosts", "max_hosts", "cores", "max_jobs"):
            value = getattr(self, name)
            if value is not None and not 1 <= value <= MAX_INTEGER:
                raise InputError(f"must be at least 1, got {value}", path=name)
        for name in ("speed", "read_bandwidth", "write_bandwidth", "scale"):
            _finite(name, getattr(self, name))
            if getattr(self, name) <= 0:
                raise InputError(f"must be above 0, got {getattr(self, name):g}", path=name)
        for name in ("cpu_per_gb", "every", "interarrival_factor", "walltime_factor", "checkpoint"):
            value = getattr(self, name)
            if value is not None:
                _finite(name, value)
                if not 0 <= value <= MAX_SECONDS:
                    raise InputError(f"must be at least 0, got {value:g}", path=name)
        for name in ("overlap", "task_overhead", "stage_overhead"):
            value, most = getattr(self, name), 1 if name == "overlap" else MAX_SECONDS
            if not 0 <= value <= most:  # not true of nan either
                raise InputError(f"must be between 0 and {most:g}, got {value:g}", path=name)
        if self.every is not None and (self.submit != "recorded" or self.interarrival_factor != 1):
            raise InputError("cannot be given together with submit or interarrival_factor", path="every")

    @property
    def keeps_think(self) -> bool:
        """True if jobs wait as the application did."""
        return self.think == "keep" or (self.think is None and self.level != "job")

    @property
    def is_dag(self) -> bool:
        """True if jobs are made that only our simulator runs."""
        return self.level in ("stage_dag", "task")

    @classmethod
    def from_mapping(cls, tree: Mapping[str, Any], path: str) -> JobOptions:
        """Options from texts, or from a table of an experiment file.

        Raises:
            InputError: unknown key or wrong value, with its path.
        """
        return build(cls, tree, path)


def _finite(name: str, value: float) -> None:
    if not math.isfinite(value):
        raise InputError(f"must be a finite number, got {value}", path=name)
