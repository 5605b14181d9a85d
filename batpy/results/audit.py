"""Re-checks a finished, crashed or replayed run from its journal, without a simulator.

The checks share no code with the simulator or with the fold behind the tables: they recompute who holds which
host from the records alone. Memory: the id of every job, since no job may come twice.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from batpy.base.errors import InputError
from batpy.protocol.records import AnyRecord, RunBegins, RunEnds
from batpy.results.decimals import fixed_text, shortened
from batpy.results.journal import JOURNAL, JournalReader
from batpy.results.laws import Finding, Laws
from batpy.results.schedule import SCHEDULE_COLUMNS, WALL_CLOCK_COLUMNS
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
        result = "no law broken" if self.passed else f"{len(self.findings) + self.more} findings"
        yield f"{result}: {self.records} records, {self.jobs} jobs, run {self.outcome}"

    def to_json(self) -> bytes:
        """The whole report as indented JSON."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n"


def audit(folder: str | Path, *, tables: bool = True) -> AuditReport:
    """Check a run's journal against the laws of a machine park, and its tables against the journal.

    Args:
        folder: the run's output folder.
        tables: compare the tables that are there; a run may have been told to write none.

    Raises:
        InputError: there is no readable journal, or it is damaged.
    """
    reader = JournalReader(Path(folder) / JOURNAL)
    laws = Laws()
    listed: list[Finding] = []
    count = 0
    begins: RunBegins | None = None
    last: AnyRecord | None = None
    for record in reader:
        if begins is None and type(record) is RunBegins:
            begins = record
        last = record
        for finding in laws.check(record):
            count += 1
            if len(listed) < MOST_FINDINGS:
                listed.append(finding)
    remarks = list(laws.remarks())
    outcome = "incomplete"
    if isinstance(last, RunEnds):
        outcome = last.outcome
    elif reader.truncated:
        remarks.append(
            f"incomplete run: the journal is cut inside record {reader.records + 1}, at byte {reader.offset}"
        )
    else:
        remarks.append("incomplete run: the closing marker is missing")
    if begins is not None:
        text = fixed_text(begins.ticks_per_second)
        listed = [msgspec.structs.replace(f, date=shortened(text(f.tick))) for f in listed]
    if tables and begins is not None:
        # A run that was stopped, perhaps by a full disk, may lack the end of its tables.
        for finding in _check_tables(Path(folder), complete=outcome == "done", remarks=remarks):
            listed.append(finding)
            count += 1
    return AuditReport(
        records=reader.records,
        jobs=laws.submitted,
        complete=reader.complete,
        outcome=outcome,
        findings=tuple(listed),
        more=count - len(listed),
        remarks=tuple(remarks),
    )


def _check_tables(folder: Path, *, complete: bool, remarks: list[str]) -> Iterator[Finding]:
    there = [name for name in TABLES if (folder / name).exists()]
    if not there:
        remarks.append("no tables to compare")
        return
    if complete and len(there) < 3:
        missing = next(name for name in TABLES if name not in there)
        yield Finding("table-missing", missing, "the run is complete and the table is not there")
    with tempfile.TemporaryDirectory(prefix="batpy-audit-") as scratch:
        try:
            rebuild_tables(folder, into=scratch)
        except InputError as error:
            yield Finding("tables-underivable", "journal", error.problem)
            return
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
                line, theirs, ours = _first_difference(kept, made)
                yield Finding(
                    "table-differs", f"{name}:{line}", f"holds {theirs!r}, the journal says {ours!r}"
                )


def _without_wall_clock(table: bytes) -> bytes:
    drop = {SCHEDULE_COLUMNS.index(name) for name in WALL_CLOCK_COLUMNS}
    lines = table.split(b"\n")
    return b"\n".join(
        b",".join(cell for i, cell in enumerate(line.split(b",")) if i not in drop) for line in lines
    )


def _first_difference(kept: bytes, made: bytes) -> tuple[int, str, str]:
    theirs, ours = kept.splitlines(keepends=True), made.splitlines(keepends=True)
    for i in range(max(len(theirs), len(ours))):
        a = theirs[i] if i < len(theirs) else b""
        b = ours[i] if i < len(ours) else b""
        if a != b:
            if a.rstrip(b"\n") != b.rstrip(b"\n"):
                a, b = a.rstrip(b"\n"), b.rstrip(b"\n")
            return i + 1, a.decode(errors="replace"), b.decode(errors="replace")
    raise AssertionError("equal tables have no first difference")
