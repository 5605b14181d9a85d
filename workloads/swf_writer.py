"""Writer of Standard Workload Format logs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from batpy.base.errors import InputError
from batpy.workloads.columns import ColumnWorkload
from batpy.workloads.files import write_bytes
from batpy.workloads.job import Job, Workload
from batpy.workloads.profile import Delay
from batpy.workloads.seconds import DEFAULT_TICKS_PER_SECOND, text_of
from batpy.workloads.sequences import run_times

RunTime = Literal["exact", "walltime"]
# Header keys that speak of the rows of another file.
_RECOMPUTED = frozenset(
    ("Version", "MaxJobs", "MaxRecords", "MaxProcs", "MaxNodes", "UnixStartTime", "StartTime", "EndTime")
)


def swf_text(
    workload: Workload,
    *,
    ticks_per_second: int = DEFAULT_TICKS_PER_SECOND,
    run_time: RunTime = "exact",
    note: str = "",
) -> str:
    """A workload as the text of an SWF log.

    Job ids that are not all plain numbers are replaced by 1, 2, ... in the order of submission. Users and
    queues that are not are numbered in the order of their first job; header notes give the names. What SWF
    has no place for (profiles, fields of the user's own) is lost.

    Args:
        workload: delay jobs and sequences of them have a run time; others have not.
        ticks_per_second: resolution of its dates.
        run_time: for jobs without a run time of their own: ``exact`` refuses, ``walltime`` takes that.
        note: a line for the header.

    Raises:
        InputError: a job whose run time is not known.
    """
    writer = _Writer(workload, ticks_per_second, run_time)
    rows = [writer.row(number, job) for number, job in enumerate(workload.jobs(), start=1)]
    return "\n".join([*_header(workload, len(rows), writer, note), *rows]) + "\n"


def write_swf(
    workload: Workload,
    path: str | Path,
    *,
    ticks_per_second: int = DEFAULT_TICKS_PER_SECOND,
    run_time: RunTime = "exact",
    note: str = "",
) -> None:
    """Write a workload as an SWF log; a name that ends in ``.gz`` is packed.

    Raises:
        InputError: as :func:`swf_text`, or the file cannot be written.
    """
    text = swf_text(workload, ticks_per_second=ticks_per_second, run_time=run_time, note=note)
    write_bytes(path, text.encode())


class _Writer:
    def __init__(self, workload: Workload, ticks_per_second: int, run_time: RunTime) -> None:
        self.source = workload.source
        self.scale = ticks_per_second
        self.run_time = run_time
        self.known = run_times(workload.profiles, workload.profiles)
        self.keep_ids = all(job.id.isascii() and job.id.isdecimal() for job in workload.jobs())
        self.numbers: dict[str, _Numbers] = {key: _Numbers(workload, key) for key in ("user", "queue")}
        self.preceding = workload.preceding
        self.ids: dict[str, str] = {}

    def row(self, number: int, job: Job) -> str:
        name = job.id if self.keep_ids else str(number)
        self.ids[job.id] = name
        run, code = self._run_time(job)
        walltime = "-1" if job.walltime is None else text_of(job.walltime / self.scale)
        first, think = self.preceding.get(job.id, ("", 0))
        fields = (
            name,
            text_of(job.submit / self.scale),
            "-1",
            text_of(run),
            "-1",
            "-1",
            "-1",
            str(job.res),
            walltime,
            "-1",
            "1" if code == 0 else "0",
            self.numbers["user"].of(job.user),
            _number(job.raw.get("group")),
            _number(job.raw.get("application")),
            self.numbers["queue"].of(job.queue),
            _number(job.raw.get("partition")),
            self.ids.get(first, "-1"),
            text_of(think / self.scale) if first else "-1",
        )
        return " ".join(fields)

    def _run_time(self, job: Job) -> tuple[float, int]:
        if isinstance(job.behaviour, Delay):
            return job.behaviour.delay, job.behaviour.ret
        known = self.known.get(job.profile)
        if known is not None:
            return known
        if self.run_time == "walltime" and job.walltime is not None:
            return job.walltime / self.scale, 0
        remedy = (
            "give it a walltime"
            if self.run_time == "walltime"
            else "take its walltime instead (run_time=walltime)"
        )
        raise InputError(
            f"profile {job.profile!r} has no run time, only delays and sequences of them have; {remedy}",
            source=self.source,
            path=f"job {job.id}",
        )


class _Numbers:
    """Users or queues as SWF wants them: kept if all are numbers, numbered from 1 otherwise."""

    def __init__(self, workload: Workload, key: str) -> None:
        names = dict.fromkeys(getattr(job, key) for job in workload.jobs())
        names.pop("", None)
        self.renamed = not all(name.isascii() and name.isdecimal() for name in names)
        self.table = {name: str(index) if self.renamed else name for index, name in enumerate(names, start=1)}

    def of(self, name: str) -> str:
        return self.table.get(name, "-1")


def _number(value: object) -> str:
    text = str(value)
    return text if text.isascii() and text.isdecimal() else "-1"


def _header(workload: Workload, count: int, writer: _Writer, note: str) -> list[str]:
    lines = ["; Version: 2.2"]
    if isinstance(workload, ColumnWorkload):
        fields: Mapping[str, tuple[str, ...]] = getattr(workload, "header", {})
        for key, values in fields.items():
            if key not in _RECOMPUTED:
                lines += [line for value in values for line in _comment(key, value)]
        started = getattr(workload, "unix_start_time", None)
        if started is not None:
            lines.append(f"; UnixStartTime: {started}")
    lines += [f"; MaxJobs: {count}", f"; MaxRecords: {count}"]
    if workload.nb_res:
        lines.append(f"; MaxProcs: {workload.nb_res}")
    if note:
        lines += _comment("Note", note)
    if not writer.keep_ids:
        lines.append("; Note: jobs are numbered in the order of submission, their ids were not numbers")
    for key, numbers in writer.numbers.items():
        if numbers.renamed:
            lines += [f"; Note: {key} {number} is {name}" for name, number in numbers.table.items()]
    return lines


def _comment(key: str, value: str) -> list[str]:
    first, *more = value.split("\n")
    return [f"; {key}: {first}".rstrip(), *(f";   {line}" for line in more)]
