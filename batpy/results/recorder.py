"""Everything a run leaves behind, as one sink for the simulator."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from batpy.base.errors import InputError
from batpy.protocol.records import AnyRecord, KillAsked
from batpy.results.accounting import SHARING_TABLES
from batpy.results.energy import ENERGY_TABLES
from batpy.results.fold import JobFold
from batpy.results.journal import BUNCH, JOURNAL, JournalWriter
from batpy.results.serving import SERVING_TABLES
from batpy.results.summary import SUMMARY, Summary, SummaryBuilder, Trim, summarise
from batpy.results.tables import TABLES, TableWriter, rebuild_tables
from batpy.results.timing import TIMING, Timing, write_timing

if TYPE_CHECKING:
    from batpy.results.aside import TableProcess


class RunRecorder:
    """Writes the journal and, unless turned off, the tables and the summary of a run.

    Args:
        folder: where the files go; made if it is not there.
        tables: write Batsim's tables too.
        summary: compute the metrics and write ``summary.json``.
        aside: make tables and summary in a process beside this one, where that is possible.
        trim: what the metrics leave out at both ends.

    Raises:
        InputError: a file cannot be written (here and in every method).
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        tables: bool = True,
        summary: bool = True,
        trim: Trim | None = None,
        aside: bool = False,
    ) -> None:
        self._folder = Path(folder)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            for name in (*TABLES, *ENERGY_TABLES, *SHARING_TABLES, *SERVING_TABLES, SUMMARY, TIMING):
                # What an earlier run left here must not pass for a result of this one if it is interrupted.
                (self._folder / name).unlink(missing_ok=True)
        except OSError as error:
            why = error.strerror or str(error)
            raise InputError(f"cannot prepare the output folder: {why}", source=str(folder)) from None
        self._journal = JournalWriter(self._folder / JOURNAL)
        self._trim = trim = trim or Trim()
        self._aside = self._process(trim) if aside and tables and summary else None
        here = self._aside is None
        fold = JobFold(keep_busy_steps=not trim.is_nothing)
        self._fold = fold if here and (tables or summary) else None
        self._tables = TableWriter(self._folder, fold) if here and tables else None
        self._summary = SummaryBuilder(fold, trim) if here and summary else None
        self._pending: list[AnyRecord] = []
        self._result: Summary | None = None
        self._closed = False

    def _process(self, trim: Trim) -> TableProcess | None:
        from batpy.results.aside import TableProcess, is_possible

        return TableProcess(self._folder, trim) if is_possible() else None

    def write(self, record: AnyRecord) -> None:
        """Take the next record; bunches of 1,024 go on to the files, into the journal first.

        A kill goes on at once: its progress tree also goes to the scheduler, which may change it.
        """
        pending = self._pending
        pending.append(record)
        if len(pending) >= BUNCH or type(record) is KillAsked:
            self._pass_on()

    def flush(self) -> None:
        """Hand everything so far to the system, the journal first."""
        self._pass_on()
        if self._tables is not None:
            self._tables.flush()

    def _pass_on(self) -> None:
        pending, self._pending = self._pending, []
        try:
            data = self._journal.write_many(pending)
        except TypeError:
            # A record no journal can hold: a defect, but the tables are then made from all the others.
            if self._aside is not None:
                self._aside.send(None)
            raise
        if self._aside is not None:
            self._aside.send(data)
        if self._fold is not None:
            self._fold.write_many(pending)

    def close(self, timing: Timing | None = None) -> None:
        """Finish all files; harmless when called again.

        Args:
            timing: wall-clock figures; kept in ``timing.json`` and shown in ``schedule.csv``.
        """
        if self._closed:
            return
        self._closed = True
        try:
            self._pass_on()
            self._journal.close()
        finally:
            made = self._aside is not None and self._aside.finish(timing)
        if timing is not None:
            write_timing(self._folder, timing)
        if self._aside is not None:
            self._result = self._made(made)
        if self._tables is not None:
            self._tables.close(timing or Timing())
        if self._summary is not None and self._fold is not None and self._fold.begins is not None:
            self._result = self._summary.result()
            self._result.write(self._folder / SUMMARY)

    def _made(self, made: bool) -> Summary | None:
        """The summary that the process beside this one has written; its work is done here if it failed."""
        try:
            if made:
                return msgspec.json.decode((self._folder / SUMMARY).read_bytes(), type=Summary)
        except (OSError, msgspec.MsgspecError):
            pass
        rebuild_tables(self._folder)
        summary = summarise(self._folder, self._trim)
        summary.write(self._folder / SUMMARY)
        return summary

    @property
    def summary(self) -> Summary | None:
        """The metrics, once closed; None if they were turned off or nothing was recorded."""
        return self._result
