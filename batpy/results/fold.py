"""Folds records into the lives of jobs: what the tables and the metrics have in common.

A job that is over is told once to those who watch, then forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from batpy.base.errors import InputError
from batpy.protocol.hostset import EMPTY, HostSet
from batpy.protocol.messages import REJECTED
from batpy.protocol.records import (
    ActionAsked,
    ActionEnded,
    Annotated,
    AnyRecord,
    Ended,
    EnergyBegins,
    EnergyEnds,
    EnergyMeasured,
    HostsChanged,
    HostsSwitched,
    KillAsked,
    PstateAsked,
    Record,
    Refused,
    Rejected,
    Relabelled,
    RequestArrived,
    RequestEnded,
    RunBegins,
    RunEnds,
    Started,
    Submitted,
)
from batpy.results.energy import EnergyFold
from batpy.results.journal import BUNCH, JournalReader
from batpy.results.states import ASLEEP, SLEEPING, SWITCHING_OFF, SWITCHING_ON, HostStates

# Submission, start tick, allocation, how many of its hosts are compute hosts.
Life = tuple[Submitted, int, HostSet, int]
# A job that is over: submission, start tick (-1: rejected), end tick, allocation, compute hosts of it, final
# state, metadata.
Over = tuple[Submitted, int, int, HostSet, int, str, str]
# Tick, idle and computing hosts after a start or an end.
Occupation = tuple[int, int, int]
WhenBegun = Callable[[RunBegins], None]
WhenOver = Callable[[list[Over]], None]
WhenOccupied = Callable[[list[Occupation]], None]
WhenMeasured = Callable[[EnergyFold], None]
# Place among the occupations of a bunch from which on so many hosts sleep, are switched on, are switched off.
SleepStep = tuple[int, tuple[int, ...]]
Handler = Callable[[Any], None]


class JobFold:
    """A sink that keeps the jobs that wait or run, and tells watchers about those that are over.

    Watchers add themselves to ``on_begun`` (the first record), ``on_over``, ``on_occupied`` and ``on_energy``
    (runs with energy). All but the first are told once a bunch of records, in order: telling one job
    at a time costs more than the work itself.

    A record that cannot follow the earlier ones raises InputError: it can only come from a damaged journal.

    Attributes:
        waiting: submission of each job that has not started.
        running: each job that has started and is not over.
        metadata: last SET_JOB_METADATA of each job of the two.
        states: occupation of the compute hosts.
        begins, ends: first and closing record, None until seen.
        records: number of records taken.
        submitted: number of jobs submitted so far.
        first_submission: submission date of the first job, in ticks.
        last_end: latest end of a job, in ticks.
        refused: number of decisions that broke a rule and changed nothing.
        energy: what is known of energy, None in a run without.
        sleep_steps: changes in the number of hosts that sleep or are being switched, of the present bunch.
        pstate_requests, pstate_changes: number of SET_RESOURCE_STATE, and of hosts they named.
    """

    def __init__(self, *, keep_busy_steps: bool = False) -> None:
        self.waiting: dict[str, Submitted] = {}
        self.running: dict[str, Life] = {}
        self.metadata: dict[str, str] = {}
        self.states = HostStates(0, sharing=False)
        self.begins: RunBegins | None = None
        self.ends: RunEnds | None = None
        self.records = 0
        self.submitted = 0
        self.first_submission: int | None = None
        self.last_end: int | None = None
        self.refused = 0
        self.pstate_requests = 0
        self.pstate_changes = 0
        self.on_begun: list[WhenBegun] = []
        self.on_over: list[WhenOver] = []
        self.on_occupied: list[WhenOccupied] = []
        self.on_energy: list[WhenMeasured] = []
        self.energy: EnergyFold | None = None
        self.sleep_steps: list[SleepStep] = []
        self._keep_busy_steps = keep_busy_steps
        # Since the last record of a request: what is complete without any switching has no row of its own.
        self._has_switched = False
        self._over: list[Over] = []
        self._occupied: list[Occupation] = []
        # Jobs declared over while they still hold their hosts (CHANGE_JOB_STATE on a job that was executed).
        self._leaving: dict[str, Life] = {}
        self._handlers: dict[type[Record], Handler] = {
            RunBegins: self._begun,
            Rejected: self._rejected,
            Relabelled: self._relabelled,
            Annotated: self._annotated,
            HostsChanged: self._hosts_changed,
            PstateAsked: self._pstate_asked,
            HostsSwitched: self._hosts_switched,
            EnergyBegins: self._energy_begun,
            EnergyMeasured: self._measured,
            EnergyEnds: self._energy_ended,
            KillAsked: _nothing,
            # Serving has tables of its own.
            **dict.fromkeys((RequestArrived, RequestEnded, ActionAsked, ActionEnded), _nothing),
            Refused: self._refused,
            RunEnds: self._ended_run,
        }

    def write(self, record: AnyRecord) -> None:
        """Take the next record.

        Raises:
            InputError: the record cannot follow the earlier ones.
        """
        self.write_many((record,))

    def write_many(self, records: Sequence[AnyRecord]) -> None:
        """Take the next records. What came before a record that is refused has been told.

        Raises:
            InputError: a record cannot follow the earlier ones.
        """
        left = iter(records)
        try:
            self._take(left)
        except InputError:
            self.records += len(records) - len(tuple(left)) - 1
            raise
        else:
            self.records += len(records)
        finally:
            self._tell()

    def _take(self, records: Iterator[AnyRecord]) -> None:
        """A single loop on purpose for the three kinds of which there are many: the fold's time goes here."""
        if self.begins is None:
            for record in islice(records, 1):
                self._begun(record)
        waiting, running, states, handlers = self.waiting, self.running, self.states, self._handlers
        start, end, over, occupied = states.start, states.end, self._over.append, self._occupied.append
        for record in records:
            if type(record) is Started:
                job, time, alloc = record.job, record.time, record.alloc
                submitted = waiting.pop(job, None)
                if submitted is None:
                    raise _misplaced(record, f"{job} does not wait")
                running[job] = (submitted, time, alloc, start(time, alloc))
                occupied((time, states.idle, states.computing))
            elif type(record) is Ended:
                job, time = record.job, record.time
                life = running.pop(job, None)
                if life is None:
                    self._left(record)
                else:
                    submitted, began, alloc, size = life
                    end(time, alloc, size)
                    self.last_end = time
                    note = self.metadata.pop(job, "") if self.metadata else ""
                    over((submitted, began, time, alloc, size, record.state, note))
                occupied((time, states.idle, states.computing))
            elif type(record) is Submitted:
                job = record.job
                if job in waiting or job in running:
                    raise _misplaced(record, f"{job} is already there")
                waiting[job] = record
                if not self.submitted:
                    self.first_submission = record.subtime
                self.submitted += 1
            else:
                handlers[type(record)](record)

    def _tell(self) -> None:
        if self._over:
            for over in self.on_over:
                over(self._over)
            if self.energy is not None:
                for job in self._over:
                    self.energy.of_job.pop(job[0].job, None)
            self._over.clear()
        if self._occupied:
            for occupied in self.on_occupied:
                occupied(self._occupied)
            self._occupied.clear()
            self.sleep_steps.clear()
        if self.energy is not None:
            for energy in self.on_energy:
                energy(self.energy)
            self.energy.energy_rows.clear()
            self.energy.pstate_rows.clear()

    def _begun(self, record: AnyRecord) -> None:
        if self.begins is not None:
            raise _misplaced(record, "the run has already begun")
        if type(record) is not RunBegins:
            raise _misplaced(record, "the run has not begun")
        self.begins = record
        self.states = HostStates(
            record.nb_compute, sharing=record.compute_sharing, keep_busy_steps=self._keep_busy_steps
        )
        for told in self.on_begun:
            told(record)

    def _left(self, record: Ended) -> None:
        """A job that was declared over before leaves its hosts."""
        life = self._leaving.pop(record.job, None)
        if life is None:
            raise _misplaced(record, f"{record.job} does not run")
        self.states.end(record.time, life[2], life[3])
        if self.energy is not None:
            self.energy.of_job.pop(record.job, None)

    def _rejected(self, record: Rejected | Relabelled) -> None:
        job = record.job
        submitted = self.waiting.pop(job, None)
        if submitted is None:
            raise _misplaced(record, f"{job} does not wait")
        self._over.append((submitted, -1, record.time, EMPTY, 0, REJECTED, self.metadata.pop(job, "")))

    def _relabelled(self, record: Relabelled) -> None:
        """CHANGE_JOB_STATE (Batsim 4.2.1): RUNNING sets the start, COMPLETED_* the end; no host is used."""
        job, state, time = record.job, record.state, record.time
        if state == REJECTED:
            self._rejected(record)
        elif state == "RUNNING":
            submitted = self.waiting.pop(job, None)
            if submitted is None:
                raise _misplaced(record, f"{job} does not wait")
            self.running[job] = (submitted, time, EMPTY, 0)
        elif state.startswith("COMPLETED"):
            life = self.running.pop(job, None)
            if life is None:
                raise _misplaced(record, f"{job} does not run")
            submitted, start, alloc, size = life
            if alloc:
                self._leaving[job] = life
            self.last_end = time
            self._over.append((submitted, start, time, alloc, size, state, self.metadata.pop(job, "")))

    def _annotated(self, record: Annotated) -> None:
        if record.job in self.waiting or record.job in self.running:
            self.metadata[record.job] = record.metadata

    def _hosts_changed(self, record: HostsChanged) -> None:
        lives = (*self.running.values(), *self._leaving.values())
        self.states.change(record.time, record.hosts, record.available, [life[2] for life in lives])
        if self.energy is not None:
            self._note_asleep()

    def _pstate_asked(self, record: PstateAsked) -> None:
        if record.done:
            changed = self._has_switched
        else:
            changed = True
            self.pstate_requests += 1
            self.pstate_changes += sum(last - first + 1 for first, last in record.hosts)
            if self.energy is not None:
                self.states.set_asleep(record.time, record.off, SWITCHING_OFF)
                self.states.set_asleep(record.time, record.on, SWITCHING_ON)
                self._note_asleep()
        if self.energy is not None:
            self.energy.asked(record)
            if changed:
                self._occupied.append((record.time, self.states.idle, self.states.computing))
        self._has_switched = False

    def _hosts_switched(self, record: HostsSwitched) -> None:
        self.states.set_asleep(record.time, record.hosts, SLEEPING if record.sleep else None)
        self._note_asleep()
        self._has_switched = True

    def _energy_begun(self, record: EnergyBegins) -> None:
        if self.begins is None or self.energy is not None:
            raise _misplaced(record, "energy begins once, after the run")
        self.energy = EnergyFold(record, self.begins.ticks_per_second)
        self.states.set_asleep(record.time, record.sleeping, SLEEPING)
        self._note_asleep()

    def _note_asleep(self) -> None:
        self.sleep_steps.append((len(self._occupied), tuple(self.states.nb_asleep[kind] for kind in ASLEEP)))

    def _measured(self, record: EnergyMeasured) -> None:
        if self.energy is None:
            raise _misplaced(record, "the run has no energy")
        self.energy.measured(record)

    def _energy_ended(self, record: EnergyEnds) -> None:
        if self.energy is None:
            raise _misplaced(record, "the run has no energy")
        self.energy.ended(record)

    def _refused(self, _record: Refused) -> None:
        self.refused += 1

    def _ended_run(self, record: RunEnds) -> None:
        self.ends = record
        self.states.advance(record.time)


def _nothing(_record: KillAsked) -> None:
    """A kill's effect comes as the end of its jobs; a refused decision has none."""


def fold_journal(reader: JournalReader, fold: JobFold) -> None:
    """Fold a whole journal.

    Raises:
        InputError: the journal cannot be read, or a record cannot follow the earlier ones; names the record.
    """
    records = iter(reader)
    try:
        while bunch := list(islice(records, BUNCH)):
            fold.write_many(bunch)
    except InputError as error:
        if error.source is not None:
            raise
        raise InputError(error.problem, source=reader.path, path=f"record {fold.records + 1}") from None


def _misplaced(record: AnyRecord, why: str) -> InputError:
    tag = record.__struct_config__.tag
    return InputError(f"a record {tag!r} at tick {record.time} cannot stand here: {why}")
