"""Replay: start every job at its recorded date on its recorded hosts.

The schedule is a ``jobs.csv`` of Batsim 3 or later or of ours (columns ``job_id``, ``workload_name``,
``final_state``, ``starting_time`` in seconds, ``allocated_resources``); older Batsims' names are accepted.
"""

from __future__ import annotations

import csv
import heapq
import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from batpy.base.dates import MAX_SECONDS
from batpy.base.errors import InputError
from batpy.base.files import read_text
from batpy.protocol import hostset
from batpy.protocol.hostset import HostSet
from batpy.schedulers.api import Job, Plan, View

_ALLOCATED = ("allocated_resources", "allocated_processors")


@dataclass(frozen=True, slots=True)
class Recorded:
    """One row: date of the start in seconds and the hosts, or neither if the job never started.

    Attributes:
        line: of the file.
        column: that the hosts stand in.
    """

    state: str
    start: float | None
    hosts: HostSet
    line: int
    column: str


@dataclass(frozen=True)
class ReplayOptions:
    """Options of ``replay``.

    Attributes:
        schedule: the recorded ``jobs.csv``, plain or ``.gz``.
    """

    schedule: Path


class Replay:
    """Starts jobs as a recorded schedule says.

    A job is started at once if its date is past, and as soon as its hosts are free if they are not at that
    date. A job whose row says REJECTED is rejected. What cannot be replayed stops the run: a row with hosts
    that the platform does not have, at the beginning; a job that has no row, that never started for another
    reason, or that asks for another number of hosts than its row has, when it is submitted.
    """

    Options = ReplayOptions

    def __init__(self, options: ReplayOptions) -> None:
        self._source = str(options.schedule)
        self._rows = read_schedule(options.schedule)
        self._later: list[tuple[int, int, Job, HostSet]] = []
        self._due: list[tuple[int, int, Job, HostSet]] = []

    def begin(self, view: View) -> Plan | None:
        """Compare the recorded hosts with the platform's.

        Raises:
            InputError: a row names a host that does not exist.
        """
        for job_id, row in self._rows.items():
            if unknown := hostset.difference(row.hosts, view.hosts):
                problem = (
                    f"{job_id} ran on {hostset.to_text(unknown)}, but the hosts here are "
                    f"{hostset.to_text(view.hosts)}; replay needs every recorded host"
                )
                raise InputError(problem, source=self._source, line=row.line, path=row.column)
        return None

    def decide(self, view: View) -> Plan | None:
        """Start what is due."""
        plan = Plan(view)
        for job in view.arrived:
            row = self._row(job)
            if row.start is None:
                plan.reject(job, "rejected in the recorded schedule")
                continue
            entry = (round(row.start * view.ticks_per_second), job.serial, job, row.hosts)
            heapq.heappush(self._later, entry)
        while self._later and self._later[0][0] <= view.now:
            self._due.append(heapq.heappop(self._later))
        waiting = []
        for entry in self._due:
            _, _, job, hosts = entry
            if hostset.difference(hosts, plan.free):
                waiting.append(entry)
                continue
            plan.free = hostset.difference(plan.free, hosts)
            plan.free_count -= hostset.size(hosts)
            plan.starts.append((job, hosts))
        self._due = waiting
        if self._later:
            plan.wake(self._later[0][0])
        return plan

    def _row(self, job: Job) -> Recorded:
        row = self._rows.get(job.id)
        if row is None:
            problem = (
                f"no row for {job.id} ({len(self._rows)} rows were read); replay needs one for every job"
            )
            raise InputError(problem, source=self._source)
        if row.start is None and row.state != "REJECTED":
            raise InputError(
                f"{job.id} has no starting_time and is not REJECTED", source=self._source, line=row.line
            )
        if row.start is not None and (count := hostset.size(row.hosts)) != job.res:
            problem = f"{job.id} asks for {job.res} hosts, not the {count} of its row"
            raise InputError(problem, source=self._source, line=row.line, path=row.column)
        return row


def read_schedule(file: Path) -> dict[str, Recorded]:
    """Read a recorded ``jobs.csv``: full job id to its row.

    Raises:
        InputError: with file, line and column.
    """
    source = str(file)
    reader = csv.DictReader(io.StringIO(read_text(file)))
    rows: dict[str, Recorded] = {}
    try:
        columns = reader.fieldnames or []
        allocated = next((name for name in _ALLOCATED if name in columns), _ALLOCATED[0])
        for name in ("job_id", "workload_name", "starting_time", allocated):
            if name not in columns:
                raise InputError(f"has no column {name}", source=source, line=1)
        for full_id, row in _rows(reader, allocated, source):
            if full_id in rows:
                raise InputError(f"{full_id} has two rows", source=source, line=row.line)
            rows[full_id] = row
    except csv.Error as why:
        raise InputError(f"not a CSV table: {why}", source=source, line=reader.line_num + 1) from None
    return rows


def _rows(reader: csv.DictReader[str], allocated: str, source: str) -> Iterator[tuple[str, Recorded]]:
    for row in reader:
        line = reader.line_num
        name = row["job_id"]
        full_id = name if "!" in name else f"{row['workload_name']}!{name}"
        state, start_text, hosts_text = row.get("final_state") or "", row["starting_time"], row[allocated]
        if start_text is None or hosts_text is None:
            raise InputError("the row is too short", source=source, line=line)
        if not start_text or state == "REJECTED":
            yield full_id, Recorded(state, None, hostset.EMPTY, line, allocated)
            continue
        try:
            start = float(start_text)
        except ValueError:
            start = math.nan
        if not 0 <= start <= MAX_SECONDS:
            raise InputError(f"{start_text!r} is not a date", source=source, line=line, path="starting_time")
        try:
            hosts = hostset.parse(hosts_text)
        except ValueError as why:
            raise InputError(str(why), source=source, line=line, path=allocated) from None
        if not hosts:
            raise InputError("a started job has no hosts", source=source, line=line, path=allocated)
        yield full_id, Recorded(state, start, hosts, line, allocated)
