"""Re-checks a finished, crashed or replayed run from its journal, without a simulator.

The checks share no code with the simulator or with the fold behind the tables: they recompute who holds which
host from the records alone. Memory: the id of every job, since no job may come twice.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from batpy.base.errors import InputError
from batpy.protocol.records import AnyRecord, RunBegins, RunEnds
from batpy.results.accounting.audit import SharedRun
from batpy.results.accounting.run import is_shared
from batpy.results.audit_files import check_summary, table_difference
from batpy.results.decimals import fixed_text, shortened
from batpy.results.energy import ENERGY_TABLES
from batpy.results.journal import JOURNAL, JournalReader
from batpy.results.laws import Finding, Laws
from batpy.results.laws_energy import EnergyLaws
from batpy.results.laws_serving import ServingLaws
from batpy.results.schedule import SCHEDULE_COLUMNS, WALL_CLOCK_COLUMNS
from batpy.results.serving import SERVING_TABLES, write_serving_tables
from batpy.results.tables import SCHEDULE, TABLES, rebuild_tables

# A journal that breaks a law breaks it often: the rest is counted, not listed.
MOST_FINDINGS = 1000


class AuditReport(msgspec.Struct, frozen=True):
    """What the audit of one run saw.

    Attributes:
        records: number of records in the journal.
        jobs: number of jobs submitted.
        complete: the closing marker is there.
        outcome: as the closing marker says, or ``incomplete``.
        findings: broken laws, in the order of the journal, at most 1000.
        more: further findings that are not listed.
        remarks: what the reader should know and no law forbids.
    """

    records: int
    jobs: int
    complete: bool
    outcome: str
    findings: tuple[Finding, ...]
    more: int
    remarks: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """True if no law is broken; an incomplete run can pass."""
        return not self.findings

    def lines(self) -> Iterator[str]:
        """One line for each finding and remark, then one with the result."""
        for finding in self.findings:
            yield str(finding)
        if self.more:
            yield f"and {self.more} more findings"
        for remark in self.remarks:
            yield f"remark: {remark}"
        count = len(self.findings) + self.more
        result = "no law broken" if self.passed else f"{count} finding{'s' if count > 1 else ''}"
        yield f"{result}: {self.records} records, {self.jobs} jobs, run {self.outcome}"

    def to_json(self) -> bytes:
        """The whole report as indented JSON."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n"


def audit(folder: str | Path, *, tables: bool = True) -> AuditReport:
    """Check a run's journal against the laws of a machine park, and its tables and its summary against it.

    Args:
        folder: the run's output folder.
        tables: compare the tables and the summary that are there; a run may have been told to write none.

    Raises:
        InputError: there is no readable journal, or it is damaged.
    """
    folder = Path(folder)
    reader = JournalReader(folder / JOURNAL)
    laws, energy, serving, found = Laws(), EnergyLaws(), ServingLaws(), _Findings()
    begins: RunBegins | None = None
    last: AnyRecord | None = None
    for record in reader:
        if begins is None and type(record) is RunBegins:
            begins = record
        last = record
        found.add((*laws.check(record), *energy.check(record), *serving.check(record)))
    remarks = [*laws.remarks(), *serving.remarks(), *_why_incomplete(reader, last)]
    if begins is not None:
        found.tell_dates(begins.ticks_per_second)
    outcome = last.outcome if isinstance(last, RunEnds) else "incomplete"
    found.add(_shared(folder, tables, remarks))
    if tables and begins is not None:
        # A run that was stopped, perhaps by a full disk, may lack the end of its tables.
        found.add(_check_tables(folder, complete=outcome == "done", remarks=remarks))
    if tables and isinstance(last, RunEnds):
        found.add(check_summary(folder, remarks))
    return AuditReport(
        records=reader.records,
        jobs=laws.submitted,
        complete=reader.complete,
        outcome=outcome,
        findings=tuple(found.listed),
        more=found.count - len(found.listed),
        remarks=tuple(remarks),
    )


class _Findings:
    """The first findings, and how many there are."""

    def __init__(self) -> None:
        self.listed: list[Finding] = []
        self.count = 0

    def add(self, findings: Iterable[Finding]) -> None:
        for finding in findings:
            self.count += 1
            if len(self.listed) < MOST_FINDINGS:
                self.listed.append(finding)

    def tell_dates(self, ticks_per_second: int) -> None:
        """Give those so far their dates in seconds."""
        text = fixed_text(ticks_per_second)
        self.listed = [msgspec.structs.replace(f, date=shortened(text(f.tick))) for f in self.listed]


def _why_incomplete(reader: JournalReader, last: AnyRecord | None) -> Iterator[str]:
    if isinstance(last, RunEnds):
        return
    if reader.truncated:
        where = f"inside record {reader.records + 1}, at byte {reader.offset}"
        yield f"incomplete run: the journal is cut {where}"
    else:
        yield "incomplete run: the closing marker is missing"


def _shared(folder: Path, tables: bool, remarks: list[str]) -> Iterator[Finding]:
    """What is wrong with a run that a broker took part in, between it and the simulator."""
    if is_shared(folder):
        shared = SharedRun(folder)
        yield from shared.findings(tables=tables)
        remarks += shared.remarks()


def _check_tables(folder: Path, *, complete: bool, remarks: list[str]) -> Iterator[Finding]:
    there = [name for name in TABLES if (folder / name).exists()]
    missing = next((name for name in TABLES if name not in there), None)
    if not there:
        remarks.append("no tables to compare")
        return
    if complete and missing is not None:
        yield Finding("table-missing", missing, "the run is complete and the table is not there")
    with tempfile.TemporaryDirectory(prefix="batpy-audit-") as scratch:
        try:
            rebuild_tables(folder, into=scratch)
            write_serving_tables(folder, into=scratch)
        except InputError as error:
            if error.source is not None and Path(error.source).is_relative_to(scratch):
                raise  # nothing is wrong with the run: this machine has no room for the comparison
            yield Finding("tables-underivable", "journal", error.problem)
            return
        # A run without energy, or without requests, makes none of these.
        there += [
            name
            for name in (*ENERGY_TABLES, *SERVING_TABLES)
            if (folder / name).exists() and (Path(scratch) / name).exists()
        ]
        for name in there:
            kept, made = (folder / name).read_bytes(), (Path(scratch) / name).read_bytes()
            if name == SCHEDULE:
                kept, made = _without_wall_clock(kept), _without_wall_clock(made)
            if not complete and kept != made:
                # Journal and tables are flushed at different moments: the shorter must begin the longer.
                whole = kept.rfind(b"\n") + 1
                shared = min(whole, len(made))
                if shared < len(made):
                    remarks.append(f"{name} ends before the journal does")
                kept, made = kept[:shared], made[:shared]
            if kept != made:
                line, what = table_difference(kept, made)
                yield Finding("table-differs", f"{name}:{line}", what)


def _without_wall_clock(table: bytes) -> bytes:
    drop = {SCHEDULE_COLUMNS.index(name) for name in WALL_CLOCK_COLUMNS}
    lines = table.split(b"\n")
    return b"\n".join(
        b",".join(cell for i, cell in enumerate(line.split(b",")) if i not in drop) for line in lines
    )
