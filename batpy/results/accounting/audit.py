"""The audit of a shared run: journals against laws, accounts against journals, tables against accounts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

import msgspec

from batpy.base.errors import InputError
from batpy.protocol.records import AnyRecord, RunBegins, Started
from batpy.protocol.sharing_records import AnySharingRecord, SharingBegins, SharingEnds
from batpy.results.accounting.account import Account
from batpy.results.accounting.fold import AccountFold, check_same_park
from batpy.results.accounting.joined import joined
from batpy.results.accounting.laws import SharingLaws
from batpy.results.accounting.tables import sharing_tables
from batpy.results.accounting.work_laws import WorkLaws
from batpy.results.container import BUNCH
from batpy.results.decimals import fixed_text, shortened
from batpy.results.journal import JOURNAL, JournalReader
from batpy.results.laws import Finding
from batpy.results.sharing_journal import SHARING_JOURNAL, SharingJournalReader


class SharedRun:
    """The audit of one run that a broker took part in.

    Args:
        folder: the run's, with both journals.
    """

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)
        self._ours = JournalReader(self._folder / JOURNAL)
        self._theirs = SharingJournalReader(self._folder / SHARING_JOURNAL)
        self._horizon = 0
        self._began = True
        self._laws, self._work = SharingLaws(), WorkLaws()
        self._account: Account | None = None

    def findings(self, *, tables: bool = True) -> Iterator[Finding]:
        """Every broken law.

        Args:
            tables: compare the tables of the accounts that are there.

        Raises:
            InputError: a journal cannot be read.
        """
        theirs = iter(self._theirs)
        first = next(theirs, None)
        if type(first) is SharingEnds and first.outcome != "done":
            yield from self._never_began()
            return
        records = joined(self._simulator(), theirs if first is None else chain((first,), theirs))
        begins, run = next(records, None), next(records, None)
        if type(begins) is not SharingBegins or type(run) is not RunBegins:
            text = "the broker's must begin with 'sharing_begins', the simulator's with 'begins'"
            yield Finding("journals-disagree", "beginning", text)
            return
        try:
            check_same_park(run, begins)
        except InputError as error:
            yield Finding("journals-disagree", "park", error.problem)
            return
        text_of = fixed_text(begins.ticks_per_second)
        for finding in self._broken(begins, run, records):
            yield msgspec.structs.replace(finding, date=shortened(text_of(finding.tick)))
        if tables and self._account is not None:
            yield from _tables(self._folder, sharing_tables(self._account), complete=self._complete)

    def _never_began(self) -> Iterator[Finding]:
        """The broker refused the greeting, or was never greeted: then no job can have started."""
        self._began = False
        for record in self._simulator():
            if type(record) is Started:
                text = f"job {record.job} starts, but the broker ended before it had begun"
                yield Finding("journals-disagree", "beginning", text)
                return

    def remarks(self) -> Iterator[str]:
        """What the reader should know and no law forbids."""
        if not self._began:
            yield "the broker ended before the run began: there is nothing to account for"
        elif not self._complete:
            yield "incomplete run: the laws about its end are not checked on the broker's journal"

    @property
    def _complete(self) -> bool:
        return self._ours.complete and self._theirs.complete

    def _simulator(self) -> Iterator[AnyRecord]:
        for record in self._ours:
            self._horizon = record.time
            yield record

    def _broken(
        self, begins: SharingBegins, run: RunBegins, records: Iterator[AnyRecord | AnySharingRecord]
    ) -> Iterator[Finding]:
        fold: AccountFold | None = AccountFold(begins, shared=run.compute_sharing)
        bunch: list[AnyRecord | AnySharingRecord] = [begins, run]
        while bunch:
            for record in bunch:
                yield from self._laws.check(record)
                yield from self._work.check(record)
            if fold is not None:
                try:
                    fold.take(bunch)
                except InputError as error:
                    fold = None
                    yield Finding("accounts-underivable", "journals", error.problem)
            bunch = list(islice(records, BUNCH))
        if self._complete:
            yield from self._laws.finish(self._horizon)
        if fold is not None:
            self._account = fold.result(self._horizon)
            yield from self._work.finish(self._account)


def _tables(folder: Path, made: dict[str, str], *, complete: bool) -> Iterator[Finding]:
    there = [name for name in made if (folder / name).exists()]
    for name in there:
        kept = (folder / name).read_bytes().decode(errors="replace")
        if kept == made[name]:
            continue
        theirs, ours = kept.splitlines(), made[name].splitlines()
        length = max(len(theirs), len(ours))
        pairs = zip(theirs + [""] * (length - len(theirs)), ours + [""] * (length - len(ours)), strict=True)
        line, (held, told) = next((i, pair) for i, pair in enumerate(pairs, 1) if pair[0] != pair[1])
        yield Finding("table-differs", f"{name}:{line}", f"holds {held!r}, the journals say {told!r}")
    if complete and there and len(there) < len(made):
        missing = next(name for name in made if name not in there)
        yield Finding("table-missing", missing, "the run is complete and the table is not there")
