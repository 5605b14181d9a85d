"""Batsim's tables: ``jobs.csv``, ``schedule.csv`` and ``machine_states.csv``, columns as in Batsim 4.2.1.

They are made while the run goes on, or from its journal afterwards, with the same bytes. What differs from
Batsim on purpose: dates are exact decimals (Batsim prints machine states with six significant digits); and
in a run with energy, ``jobs.csv`` has one column more, the last, ``fair_share_energy``. Batsim's own
``consumed_energy`` is all that the hosts of a job draw while it has them, so that hosts shared by several
jobs count for each; the fair share counts every joule once (``batpy.models.energy_shares`` has the rule).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TextIO, TypeVar

from batpy.base.files import unwritable
from batpy.protocol.hostset import to_text
from batpy.protocol.messages import COMPLETED_SUCCESSFULLY
from batpy.protocol.records import AnyRecord, RunBegins, Submitted
from batpy.results.decimals import ToText, fixed_text, shortened
from batpy.results.energy import (
    CONSUMED_ENERGY,
    CONSUMED_ENERGY_HEADER,
    PSTATE_CHANGES,
    PSTATE_CHANGES_HEADER,
    EnergyFold,
)
from batpy.results.fold import JobFold, Occupation, Over, SleepStep, fold_journal
from batpy.results.journal import JOURNAL, JournalReader
from batpy.results.schedule import SCHEDULE_HEADER, Totals, schedule_row
from batpy.results.timing import Timing, read_timing

JOBS = "jobs.csv"
SCHEDULE = "schedule.csv"
MACHINE_STATES = "machine_states.csv"
TABLES = (JOBS, MACHINE_STATES, SCHEDULE)

JOBS_HEADER = (
    "job_id,workload_name,profile,submission_time,requested_number_of_resources,requested_time,success,"
    "final_state,starting_time,execution_time,finish_time,waiting_time,turnaround_time,stretch,"
    "allocated_resources,consumed_energy,metadata\n"
)
JOBS_HEADER_WITH_ENERGY = JOBS_HEADER.replace("metadata\n", "metadata,fair_share_energy\n")
MACHINE_STATES_HEADER = "time,nb_sleeping,nb_switching_on,nb_switching_off,nb_idle,nb_computing\n"

# Batsim 4.2.1 replaces a run time of zero by this many seconds, so that the stretch stays finite: the row of
# such a job has an execution, finish and turnaround time that are longer by it (where it is whole ticks).
SHORTEST_RUN_SECONDS = 1e-5
NO_WALLTIME = "-1.000000"
# What Batsim prints without an energy model.
NO_ENERGY = "-1.000000"

# Hosts that sleep, are switched on and are switched off where nothing of the kind happens.
_AWAKE = "0,0,0"

# Marks that break a cell unless it is quoted (RFC 4180).
SPECIAL = ',"\n\r'
# Texts of durations and of intervals of hosts that are kept, since many jobs have equal ones.
_TEXTS_KEPT = 4096

_Key = TypeVar("_Key")


class TableWriter:
    """Writes the tables while records come in, those of energy too where there are some. It is a sink.

    Rows of ``jobs.csv`` are written when a job is over or rejected, in that order; rows of
    ``machine_states.csv`` after each start and each end; ``schedule.csv`` when the writer is closed.

    Args:
        folder: where the files go; it must exist.
        fold: what the records are folded into, if somebody else feeds it; then ``write`` is not called.

    Raises:
        InputError: a file cannot be written, or a record cannot follow the earlier ones.
    """

    def __init__(self, folder: str | Path, fold: JobFold | None = None) -> None:
        self._folder = Path(folder)
        self._fold = fold = fold or JobFold()
        # Its header depends on the second record.
        self._jobs = _RowFile(self._folder / JOBS, "")
        self._has_header = False
        self._machines = _RowFile(self._folder / MACHINE_STATES, MACHINE_STATES_HEADER)
        self._totals = Totals()
        self._fixed: ToText = fixed_text(1)
        self._second = 1
        self._tiny = SHORTEST_RUN_SECONDS
        self._durations = _Texts(self._duration)
        self._interval = _Texts(_interval_text).__getitem__
        self._closed = False
        fold.on_begun.append(self._begun)
        fold.on_over.append(self._over)
        fold.on_occupied.append(self._occupied)
        fold.on_energy.append(self._measured)
        # The tables of energy, made with its first record; cells of hosts that sleep or are being switched.
        self._energy: tuple[_RowFile, _RowFile] | None = None
        self._asleep = _AWAKE

    def write(self, record: AnyRecord) -> None:
        """Take the next record."""
        self._fold.write(record)

    def flush(self) -> None:
        """Hand all rows so far to the system."""
        if self._fold.records > 1:
            self._head()
        self._jobs.flush()
        self._machines.flush()
        for file in self._energy or ():
            file.flush()

    def close(self, timing: Timing | None = None) -> None:
        """Finish the tables; harmless when called again.

        Args:
            timing: the wall-clock columns of ``schedule.csv``; read from ``timing.json`` when left out.
        """
        if self._closed:
            return
        self._closed = True
        self._head()
        self._jobs.close()
        self._machines.close()
        for file in self._energy or ():
            file.close()
        if self._fold.begins is not None:
            timing = timing or read_timing(self._folder)
            schedule = _RowFile(self._folder / SCHEDULE, SCHEDULE_HEADER)
            schedule.write([schedule_row(self._fold.begins, self._fold, self._totals, timing)])
            schedule.close()

    def _head(self) -> None:
        """Write the header of ``jobs.csv`` unless it is there."""
        if not self._has_header:
            self._has_header = True
            self._jobs.write([JOBS_HEADER if self._fold.energy is None else JOBS_HEADER_WITH_ENERGY])

    def _duration(self, ticks: int) -> str:
        """Text of a run time or a walltime (-1: none)."""
        return self._fixed(ticks) if ticks >= 0 else NO_WALLTIME

    def _begun(self, record: RunBegins) -> None:
        self._fixed = fixed_text(record.ticks_per_second)
        self._second = record.ticks_per_second
        self._tiny = SHORTEST_RUN_SECONDS * record.ticks_per_second

    def _occupied(self, occupations: list[Occupation]) -> None:
        second, instant, text = self._second, -1, ""
        rows = []
        steps = self._fold.sleep_steps
        if steps or self._asleep != _AWAKE:
            self._occupied_beside_sleepers(occupations, steps)
            return
        for time, idle, computing in occupations:
            if time != instant:
                instant = time
                text = shortened(self._fixed(time)) if time % second else str(time // second)
            rows.append(f"{text},0,0,0,{idle},{computing}\n")
        self._machines.write(rows)

    def _occupied_beside_sleepers(self, occupations: list[Occupation], steps: list[SleepStep]) -> None:
        rows, left = [], list(reversed(steps))
        for place, (time, idle, computing) in enumerate(occupations):
            while left and left[-1][0] <= place:
                self._asleep = ",".join(map(str, left.pop()[1]))
            rows.append(f"{shortened(self._fixed(time))},{self._asleep},{idle},{computing}\n")
        for _, asleep in reversed(left):
            self._asleep = ",".join(map(str, asleep))
        self._machines.write(rows)

    def _measured(self, energy: EnergyFold) -> None:
        if self._energy is None:
            self._energy = (
                _RowFile(self._folder / CONSUMED_ENERGY, CONSUMED_ENERGY_HEADER),
                _RowFile(self._folder / PSTATE_CHANGES, PSTATE_CHANGES_HEADER),
            )
        consumed, changes = self._energy
        consumed.write(energy.energy_rows)
        changes.write(energy.pstate_rows)

    def _over(self, jobs: list[Over]) -> None:
        """One row a job; a single loop on purpose, since this is where the tables' time goes."""
        fixed, second, tiny = self._fixed, self._second, self._tiny
        shortest = round(tiny) if tiny.is_integer() else 0
        durations, interval = self._durations, self._interval
        zero, plain = fixed(0), _are_plain(jobs)
        zeros = zero[1:]
        rows: list[str] = []
        waits: list[int] = []
        turnarounds: list[int] = []
        slowdowns: list[float] = []
        successes = rejections = 0
        joules, spent, fair = None if self._fold.energy is None else self._fold.energy.of_job, NO_ENERGY, ""
        missing = "" if joules is None else ","
        for job, start, end, alloc, _, state, note in jobs:
            submission, limit = job.subtime, durations[job.walltime]
            if submission % second or end % second:
                sent, ended = fixed(submission), fixed(end)
            else:  # the same without two calls, since logs count in whole seconds
                sent, ended = f"{submission // second}{zeros}", f"{end // second}{zeros}"
            names = _names(job, plain)
            if note:
                note = note.replace('"', '""')  # noqa: PLW2901 - a copy fit for the cell
            if start < 0:
                rejections += 1
                rows.append(f'{names},{sent},{job.res},{limit},0,{state},,,,,,,,,"{note}"{missing}\n')
                continue
            run, wait = end - start, start - submission
            if not run and shortest:
                run, end = shortest, end + shortest  # noqa: PLW2901 - Batsim's row, not the journal's date
                ended = fixed(end)
            ran = durations[run]
            if wait == 0 and run > 0:
                began, waited, turned, slowed = sent, zero, ran, "1.000000"
                turnarounds.append(run)
                slowdowns.append(1.0)
            else:
                turnaround = end - submission
                slowdown = turnaround / run if run > 0 else (turnaround + tiny) / tiny
                began, waited, turned = fixed(start), fixed(wait), fixed(turnaround)
                slowed = f"{slowdown:.6f}"
                waits.append(wait)
                turnarounds.append(turnaround)
                slowdowns.append(slowdown)
            success = "0"
            if state == COMPLETED_SUCCESSFULLY:
                successes += 1
                success = "1"
            if joules is not None:
                spent, fair = _joule_cells(*joules.get(job.job, (0.0, 0.0)))
            hosts = interval(alloc[0]) if len(alloc) == 1 else " ".join(map(interval, alloc))
            rows.append(
                f"{names},{sent},{job.res},{limit},{success},{state},{began},{ran},{ended},"
                f'{waited},{turned},{slowed},{hosts},{spent},"{note}"{fair}\n'
            )
        self._head()
        self._jobs.write(rows)
        self._totals.add(waits, turnarounds, slowdowns, successes, rejections)


def _joule_cells(consumed: float, fair: float) -> tuple[str, str]:
    """Batsim's cell, and what follows the last one of its row."""
    return f"{consumed:.6f}", f",{fair:.6f}"


def _interval_text(interval: tuple[int, int]) -> str:
    return to_text((interval,))


def _are_plain(jobs: list[Over]) -> bool:
    """True if no name of these jobs and their profiles needs quotes."""
    names = "".join([over[0].job for over in jobs]) + "".join([over[0].profile for over in jobs])
    return not any(mark in names for mark in SPECIAL)


def _names(job: Submitted, plain: bool) -> str:
    """The first three cells. A full id splits at its first ``!``; a name may hold further ones."""
    workload, mark, name = job.job.partition("!")
    if not mark:
        workload, name = "", workload
    if plain:
        return f"{name},{workload},{job.profile}"
    return f"{_cell(name)},{_cell(workload)},{_cell(job.profile)}"


def _cell(text: str) -> str:
    """Quote a cell that would otherwise break its row (RFC 4180); Batsim would write it as it is."""
    if any(mark in text for mark in SPECIAL):
        return '"' + text.replace('"', '""') + '"'
    return text


class _Texts(dict[_Key, str]):
    """Texts of the keys met lately, each worked out once."""

    def __init__(self, make: Callable[[_Key], str]) -> None:
        self._make = make

    def __missing__(self, key: _Key) -> str:
        if len(self) >= _TEXTS_KEPT:
            self.clear()
        text = self[key] = self._make(key)
        return text


class _RowFile:
    """A CSV file with ``\\n`` ends on every system."""

    def __init__(self, path: Path, header: str) -> None:
        self._path = path
        try:
            self._file: TextIO = open(path, "w", encoding="utf-8", newline="\n")  # noqa: SIM115
        except OSError as error:
            raise unwritable(self._path, error) from None
        self.write([header])

    def write(self, rows: list[str]) -> None:
        try:
            self._file.write("".join(rows))
        except OSError as error:
            raise unwritable(self._path, error) from None

    def flush(self) -> None:
        try:
            self._file.flush()
        except OSError as error:
            raise unwritable(self._path, error) from None

    def close(self) -> None:
        try:
            self._file.close()
        except OSError as error:
            raise unwritable(self._path, error) from None


def rebuild_tables(folder: str | Path, into: str | Path | None = None) -> None:
    """Make the tables of a run again from its journal.

    Args:
        folder: the run's folder, with ``journal.msgpack`` and, for the wall-clock columns, ``timing.json``.
        into: where the tables go if not beside the journal.

    Raises:
        InputError: the journal cannot be read, or its records contradict one another.
    """
    reader = JournalReader(Path(folder) / JOURNAL)
    reader.check()
    timing = read_timing(folder)
    fold = JobFold()
    writer = TableWriter(into if into is not None else folder, fold)
    try:
        fold_journal(reader, fold)
    finally:
        writer.close(timing)
