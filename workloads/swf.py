"""Reader of Standard Workload Format logs, in every dialect seen in the field.

The file is read once, line by line, into compact columns and is fully checked by then; ``jobs()`` makes jobs
from the columns. Nothing here keeps a line of text.
"""

from __future__ import annotations

from array import array
from collections import Counter
from pathlib import Path

from batpy.base.errors import InputError
from batpy.workloads import swf_fields as swf
from batpy.workloads.columns import Columns, ColumnWorkload
from batpy.workloads.files import open_text
from batpy.workloads.seconds import to_ticks
from batpy.workloads.swf_options import SwfOptions
from batpy.workloads.swf_rows import RowReader, Tally


class SwfWorkload(ColumnWorkload):
    """The jobs of an SWF log.

    ``columns.hidden`` has the recorded ``wait`` in seconds (-1 unknown), ``allocated`` processors and
    ``status``: results of the past, which no scheduler gets to see.

    Attributes:
        header: key to values of the comment lines at the top, such as ``Acknowledge`` or ``Note``.
        acknowledge: who asks to be acknowledged, as the header says; empty if nobody.
        max_procs: processors of the machine, or None if the header does not say.
        unix_start_time: seconds since 1970 at date 0 of the workload, or None if the header does not say.
        rows: rows read, kept or not.
        skipped: rows left out, by reason, in a fixed order.
        noted: oddities that were accepted or repaired, by kind, in a fixed order.
        first_line: line at which a reason or a kind was first met.
        preceding: job id to (id of the job it waits for, think time in ticks); empty unless asked for.
    """

    def __init__(
        self,
        id: str,
        source: str,
        columns: Columns,
        options: SwfOptions,
        header: swf.SwfHeader,
        tally: Tally,
        preceding: dict[str, tuple[str, int]],
        origin: float,
    ) -> None:
        procs = header.max_procs
        nb_res = -(-procs // options.procs_per_host) if procs else None
        super().__init__(id, source, nb_res, columns, options.ticks_per_second, header.text("Computer"))
        self.options = options
        self.header = header.fields
        self.acknowledge = header.text("Acknowledge")
        self.max_procs = procs
        started = header.integer("UnixStartTime")
        self.unix_start_time = None if started is None else started + round(origin)
        self.rows = tally.rows
        self.skipped = _ordered(tally.skipped, swf.SKIPPED)
        self.noted = _ordered(tally.noted, swf.REPAIRED + swf.OBSERVED)
        self.first_line = dict(tally.first_line)
        self.preceding = preceding

    def report(self) -> list[str]:
        """One line for each reason to leave rows out and each oddity accepted, with its first line."""
        lines = []
        for word, counter in (("left out", self.skipped), ("accepted", self.noted)):
            for reason, count in counter.items():
                at = f" (first at line {self.first_line[reason]})" if reason in self.first_line else ""
                lines.append(f"{word}: {count} x {reason}{at}")
        return lines


def read_swf(
    path: str | Path, id: str = "w0", options: SwfOptions | None = None, *, source: str | None = None
) -> SwfWorkload:
    """Read an SWF log, plain, gzipped or zipped.

    Args:
        path: the file.
        id: workload id.
        options: which jobs, and how; the defaults keep everything that can run.
        source: the file's name as the user wrote it.

    Raises:
        InputError: unreadable file; a file whose columns cannot be those of SWF; no usable job; in strict
            mode the first row that breaks the format, with line and field.
    """
    options = options or SwfOptions()
    source = source if source is not None else str(path)
    tally = Tally(source, options.strict)
    reader = RowReader(options, tally)
    with open_text(path, source) as stream:
        reader.read(stream)
    _refuse_shifted_columns(reader, tally)
    if not reader.dates:
        raise InputError(_nothing_left(tally), source=source)
    return _finish(reader, tally, id, source, options)


def _refuse_shifted_columns(reader: RowReader, tally: Tally) -> None:
    """Status codes are few: many others mean that the columns are not where the format puts them."""
    odd = reader.odd_status
    if odd > 5 and odd > 0.02 * tally.rows:
        raise InputError(
            f"corrupt: {odd} of {tally.rows} rows have a status (field 11) outside -1..5, "
            f"first {reader.odd_status_value:g}; the columns are not those of SWF, they look shifted",
            source=tally.source,
            line=tally.first_line.get(swf.ODD_STATUS),
            path="status",
        )


def _nothing_left(tally: Tally) -> str:
    if not tally.rows:
        return "holds no job: no row of numbers found (SWF: 18 fields a row, comments begin with ';')"
    reasons = ", ".join(f"{count} {reason}" for reason, count in _ordered(tally.skipped, swf.SKIPPED).items())
    return f"no job left of {tally.rows} rows: {reasons}"


def _finish(reader: RowReader, tally: Tally, id: str, source: str, options: SwfOptions) -> SwfWorkload:
    columns = reader.columns
    dates, scale, factor = reader.dates, options.ticks_per_second, options.interarrival_factor
    first = min(dates) if options.rebase else 0.0
    if (max(dates) - first) * factor * scale >= 2.0**62:
        raise InputError(
            f"submit times reach {max(dates):g} s, too far for {scale} ticks a second", source=source
        )
    span = scale * factor
    columns.submit = array("q", [round((date - first) * span) for date in dates])
    columns.hidden = {"wait": reader.wait, "allocated": reader.allocated, "status": reader.status}
    columns.sort()
    if options.max_jobs is not None and len(columns) > options.max_jobs:
        tally.skipped[swf.BEYOND] += len(columns) - options.max_jobs
        columns.take(range(options.max_jobs))
    preceding = _dependencies(reader, tally, options) if options.preceding else {}
    return SwfWorkload(id, source, columns, options, reader.header, tally, preceding, first)


def _dependencies(reader: RowReader, tally: Tally, options: SwfOptions) -> dict[str, tuple[str, int]]:
    """Who waits for whom, among the jobs kept; loops are cut, since nothing in them could ever start."""
    kept = set(reader.columns.ids)
    waits = {job: first for job, (first, _) in reader.preceding.items() if job in kept and first in kept}
    missing = sum(job in kept for job in reader.preceding) - len(waits)
    if missing:
        tally.note(swf.NO_PRECEDING, 0, count=missing)
    safe: set[int] = set()
    for start in list(waits):
        path: list[int] = []
        seen: set[int] = set()
        job = start
        while job in waits and job not in safe and job not in seen:
            seen.add(job)
            path.append(job)
            job = waits[job]
        if job in seen:
            loop = path[path.index(job) :]
            tally.repair(swf.PRECEDING_LOOP, 0, swf.PRECEDING, count=len(loop))
            for member in loop:
                del waits[member]
        safe.update(path)
    scale = options.ticks_per_second
    return {
        str(job): (str(first), to_ticks(max(0.0, reader.preceding[job][1]), scale))
        for job, first in waits.items()
    }


def _ordered(counter: Counter[str], order: tuple[str, ...]) -> Counter[str]:
    return Counter({reason: counter[reason] for reason in order if counter[reason]})
