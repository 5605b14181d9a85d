"""The laws of a machine park, checked on records one by one.

Intervals are half-open: hosts released by an earlier record of the same tick may be given out again. The
order of the records is the order in which things happened, so a job of zero length holds its hosts between
its two records and needs no special case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from batpy.protocol import hostset
from batpy.protocol.hostset import HostSet
from batpy.protocol.messages import (
    COMPLETED_SUCCESSFULLY,
    COMPLETED_WALLTIME_REACHED,
    FINAL_STATES,
    REJECTED,
)
from batpy.protocol.records import (
    Annotated,
    AnyRecord,
    Ended,
    HostsChanged,
    KillAsked,
    PstateAsked,
    Record,
    Rejected,
    Relabelled,
    RunBegins,
    RunEnds,
    Started,
    Submitted,
)


class Finding(msgspec.Struct, frozen=True):
    """One broken law.

    Attributes:
        rule: short name of the law.
        subject: the job, host or table.
        text: what was seen.
        tick: when.
        date: the same in seconds, as text.
    """

    rule: str
    subject: str
    text: str
    tick: int = 0
    date: str = ""

    def __str__(self) -> str:
        when = f" at {self.date}" if self.date else ""
        return f"{self.rule}: {self.subject}{when}: {self.text}"


class _Job(msgspec.Struct):
    """A job that is not over: its submission, and its start once it runs."""

    submitted: Submitted
    start: int = -1
    alloc: HostSet = hostset.EMPTY


class Laws:
    """Checks records in their order; ``check`` yields what is wrong with each.

    Attributes:
        submitted: number of jobs submitted so far.
    """

    def __init__(self) -> None:
        self.submitted = 0
        self._begins: RunBegins | None = None
        self._closed = False
        self._now = 0
        self._waiting: dict[str, _Job] = {}
        self._running: dict[str, _Job] = {}
        self._over: set[str] = set()
        # Jobs whose state was set by CHANGE_JOB_STATE while they really ran: their end is still to come.
        self._declared_over: dict[str, _Job] = {}
        self._held = bytearray()
        # Hosts that only one job may use at a time.
        self._exclusive: HostSet = hostset.EMPTY
        self._away: HostSet = hostset.EMPTY
        self._resized: list[str] = []
        self._checks: dict[type[Record], Callable[[Any], Iterator[Finding]]] = {
            Submitted: self._submission,
            Started: self._start,
            Ended: self._end,
            Rejected: self._rejection,
            Relabelled: self._relabelling,
            KillAsked: self._kill,
            Annotated: self._annotation,
            HostsChanged: self._hosts,
            PstateAsked: self._pstate,
        }

    def check(self, record: AnyRecord) -> Iterator[Finding]:
        """Every law the next record breaks."""
        if record.time < self._now:
            yield _finding("time-goes-back", "journal", record, f"the record before is of tick {self._now}")
        self._now = max(self._now, record.time)
        if type(record) is RunBegins:
            yield from self._beginning(record)
            return
        if self._begins is None:
            self._begins = RunBegins(0, "", 1, 0, 0, False, {})
            yield _finding("no-beginning", "journal", record, "the first record does not begin the run")
        if type(record) is RunEnds:
            yield from self._closing(record)
        elif checker := self._checks.get(type(record)):
            yield from checker(record)

    def remarks(self) -> Iterator[str]:
        """What no law forbids and a reader may want to know."""
        if self._resized:
            yield (
                f"{len(self._resized)} jobs got another number of hosts than they asked for, first "
                f"{self._resized[0]}: legal only with a mapping or a profile that may be reshaped"
            )

    def _beginning(self, record: RunBegins) -> Iterator[Finding]:
        if self._begins is not None:
            yield _finding("begins-twice", "journal", record, "the run has already begun")
            return
        self._begins = record
        self._held = bytearray(record.nb_compute + record.nb_storage)
        first = record.nb_compute if record.compute_sharing else 0
        last = record.nb_compute + (0 if record.storage_sharing else record.nb_storage) - 1
        self._exclusive = ((first, last),) if first <= last else hostset.EMPTY

    def _submission(self, record: Submitted) -> Iterator[Finding]:
        job = record.job
        if job in self._over or job in self._waiting or job in self._running:
            yield _finding("submitted-twice", job, record, "a job of this id was submitted before")
        self.submitted += 1
        self._waiting[job] = _Job(record)

    def _start(self, record: Started) -> Iterator[Finding]:
        job, alloc = record.job, record.alloc
        life = self._waiting.pop(job, None)
        if life is None:
            yield _finding("start-without-submission", job, record, self._where(job))
            if job not in self._running:
                life = _Job(Submitted(record.time, job, "", record.time, hostset.size(alloc), -1))
        elif record.time < life.submitted.time or (
            not life.submitted.dynamic and record.time < life.submitted.subtime
        ):
            # A scheduler may give a dynamic job any submission date; for static ones it is a promise.
            early = max(life.submitted.time, life.submitted.subtime)
            yield _finding("start-before-submission", job, record, f"submitted at tick {early}")
        yield from self._allocation(record)
        if life is None:
            return
        if not hostset.is_canonical(alloc):
            alloc = hostset.normalise(alloc)
        life.start, life.alloc = record.time, alloc
        self._running[job] = life
        if hostset.size(alloc) != life.submitted.res:
            self._resized.append(job)
        self._hold(alloc)

    def _allocation(self, record: Started) -> Iterator[Finding]:
        """The hosts of a start: they exist, nobody has them, and they are available."""
        job, alloc = record.job, record.alloc
        begins = self._begins
        assert begins is not None  # set by check()
        if not alloc:
            yield _finding("allocation-empty", job, record, "it starts on no host")
        if not hostset.is_canonical(alloc):
            text = "its hosts are not ascending maximal intervals"
            yield _finding("allocation-malformed", job, record, text)
            alloc = hostset.normalise(alloc)
        if alloc and alloc[-1][1] >= (hosts := begins.nb_compute + begins.nb_storage):
            yield _finding("no-such-host", job, record, f"host {alloc[-1][1]}, there are {hosts}")
        if self._is_held(alloc):
            for other, life in self._running.items():
                if both := hostset.intersection(self._alone(life.alloc), alloc):
                    shown = hostset.to_text(both)
                    yield _finding("host-held-twice", job, record, f"{other} holds host {shown}")
        if self._away and (gone := hostset.intersection(alloc, self._away)):
            yield _finding("start-on-unavailable-host", job, record, f"host {hostset.to_text(gone)} is away")

    def _end(self, record: Ended) -> Iterator[Finding]:
        job = record.job
        if job in self._declared_over:
            self._release(self._declared_over.pop(job))
            return
        life = self._running.pop(job, None)
        if life is None:
            yield _finding("end-without-start", job, record, self._where(job))
            return
        self._over.add(job)
        self._release(life)
        yield from self._final_state(record)
        run, walltime = record.time - life.start, life.submitted.walltime
        if 0 <= walltime < run:
            yield _finding("walltime-exceeded", job, record, f"ran {run} ticks, its walltime is {walltime}")
        if record.state == COMPLETED_WALLTIME_REACHED and walltime < 0:
            yield _finding("state-impossible", job, record, "it reached a walltime and has none")

    def _final_state(self, record: Ended) -> Iterator[Finding]:
        if record.state not in FINAL_STATES:
            yield _finding("state-impossible", record.job, record, f"a job cannot end as {record.state}")
        elif (record.state == COMPLETED_SUCCESSFULLY) != (record.return_code == 0):
            text = f"{record.state} with return code {record.return_code}"
            yield _finding("state-impossible", record.job, record, text)

    def _rejection(self, record: Rejected | Relabelled) -> Iterator[Finding]:
        if self._waiting.pop(record.job, None) is None:
            yield _finding("rejection-impossible", record.job, record, self._where(record.job))
            return
        self._over.add(record.job)

    def _relabelling(self, record: Relabelled) -> Iterator[Finding]:
        job, state = record.job, record.state
        if state == REJECTED:
            yield from self._rejection(record)
        elif state == "RUNNING" and job in self._waiting:
            life = self._waiting.pop(job)
            life.start = record.time
            self._running[job] = life
        elif state in FINAL_STATES and job in self._running:
            life = self._running.pop(job)
            self._over.add(job)
            if life.alloc:
                self._declared_over[job] = life
        else:
            yield _finding("change-of-state-impossible", job, record, f"to {state}: {self._where(job)}")

    def _kill(self, record: KillAsked) -> Iterator[Finding]:
        for job in record.jobs:
            if job not in self._running and job not in self._over:
                yield _finding("kill-impossible", job, record, self._where(job))

    def _annotation(self, record: Annotated) -> Iterator[Finding]:
        job = record.job
        if job not in self._waiting and job not in self._running and job not in self._over:
            yield _finding("metadata-of-nothing", job, record, self._where(job))

    def _pstate(self, record: PstateAsked) -> Iterator[Finding]:
        yield from self._existence(record, record.hosts)

    def _hosts(self, record: HostsChanged) -> Iterator[Finding]:
        hosts = record.hosts
        yield from self._existence(record, hosts)
        if record.available:
            if stay := hostset.difference(hosts, self._away):
                text = "it returns and was never away"
                yield _finding("availability", f"host {hostset.to_text(stay)}", record, text)
            self._away = hostset.difference(self._away, hosts)
        else:
            if gone := hostset.intersection(hosts, self._away):
                text = "it leaves and was already away"
                yield _finding("availability", f"host {hostset.to_text(gone)}", record, text)
            self._away = hostset.union(self._away, hosts)

    def _existence(self, record: AnyRecord, hosts: HostSet) -> Iterator[Finding]:
        begins = self._begins
        assert begins is not None  # set by check()
        if hosts and hosts[-1][1] >= (count := begins.nb_compute + begins.nb_storage):
            yield _finding("no-such-host", f"host {hosts[-1][1]}", record, f"there are {count}")

    def _closing(self, record: RunEnds) -> Iterator[Finding]:
        self._closed = True
        if record.outcome != "done":
            return
        for job, life in (*self._running.items(), *self._declared_over.items()):
            yield _finding("never-ended", job, record, f"started at tick {life.start}, the run is done")
        for job, life in self._waiting.items():
            text = f"submitted at tick {life.submitted.time}, the run is done"
            yield _finding("never-started", job, record, text)

    def _hold(self, alloc: HostSet) -> None:
        for first, last in self._alone(alloc):
            self._held[first : last + 1] = b"\1" * (last + 1 - first)

    def _release(self, life: _Job) -> None:
        for first, last in self._alone(life.alloc):
            self._held[first : last + 1] = bytes(last + 1 - first)

    def _is_held(self, alloc: HostSet) -> bool:
        return any(self._held.find(1, first, last + 1) >= 0 for first, last in self._alone(alloc))

    def _alone(self, alloc: HostSet) -> HostSet:
        """Those of a job's hosts that it may not share."""
        exclusive = self._exclusive
        if not exclusive:
            return hostset.EMPTY
        [(first, last)] = exclusive
        return (
            alloc
            if alloc and first <= alloc[0][0] and alloc[-1][1] <= last
            else hostset.intersection(alloc, exclusive)
        )

    def _where(self, job: str) -> str:
        if job in self._running:
            return f"it runs since tick {self._running[job].start}"
        if job in self._waiting:
            return "it waits"
        return "it is over" if job in self._over else "it was never submitted"


def _finding(rule: str, subject: str, record: AnyRecord, text: str) -> Finding:
    return Finding(rule, subject, text, record.time)
