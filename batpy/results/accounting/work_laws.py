"""The laws of work: no attempt does what was done, and nothing of a job is left out."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from batpy.protocol import hostset
from batpy.protocol.messages import COMPLETED_SUCCESSFULLY
from batpy.protocol.records import AnyRecord, Ended, KillAsked, Started, Submitted
from batpy.protocol.sharing_records import AnySharingRecord, JobOwned, SharingBegins
from batpy.results.accounting.account import STATE_COLUMNS, Account
from batpy.results.accounting.clock import compute_part
from batpy.results.laws import Finding

TOLERANCE = 1e-6
"""Share of a job's work that may be lost or gained by printing amounts."""

FIGURES = ("flops", "bytes", "seconds of sleep or tasks")
NINE = 3 * len(FIGURES)


class _Work(msgspec.Struct):
    """What the attempts at one job have come to.

    Attributes:
        running: the attempt that runs, or "".
        succeeded: the attempt that did, or "".
        whole: work of the original; ``left``: what its last attempt that was killed left at least.
        executed: core-ticks.
    """

    running: str = ""
    succeeded: str = ""
    whole: tuple[float, ...] = ()
    left: tuple[float, ...] = ()
    executed: int = 0


class WorkLaws:
    """Checks the records of ``joined``; ``check`` yields what is wrong with each."""

    def __init__(self) -> None:
        self._cores: tuple[int, ...] = ()
        self._origin: dict[str, str] = {}
        self._of: dict[str, _Work] = {}
        self._told: dict[str, tuple[float, ...]] = {}
        self._running: dict[str, Started] = {}
        self._executed: list[int] = []

    def check(self, record: AnyRecord | AnySharingRecord) -> Iterator[Finding]:
        """Every law the next record breaks."""
        if type(record) is Started:
            yield from self._start(record)
        elif type(record) is Ended:
            self._end(record)
        elif type(record) is KillAsked:
            yield from self._kill(record)
        elif type(record) is Submitted:
            if record.work:
                self._told[record.job] = record.work
        elif type(record) is JobOwned:
            if record.parent:
                self._origin[record.job] = self._root(record.parent)
        elif type(record) is SharingBegins:
            self._cores = record.cores
            self._executed = [0] * len(self._cores)

    def finish(self, account: Account) -> Iterator[Finding]:
        """Compare what was executed with the accounts, whose states must add up to cores times horizon."""
        horizon = account.horizon
        for job, began in self._running.items():
            self._charge(job, began, horizon)
        for told in account.jobs:
            seen = self._of[told.job].executed if told.job in self._of else 0
            if told.tenant >= 0 and told.executed != seen:
                text = (
                    f"useful {told.useful} + lost {told.lost} + unfinished {told.unfinished} core-ticks are "
                    f"not the executed {seen}"
                )
                yield Finding("work-does-not-add-up", told.job, text, horizon)
        spent = [0] * len(self._cores)
        overlap = [0] * len(self._cores)
        for row in account.rows():
            spent[row.host] += sum(getattr(row, name) for name in STATE_COLUMNS) - row.busy
            overlap[row.host] += row.overlap
        for host, executed in enumerate(self._executed):
            busy = executed - (overlap[host] if account.clock.shared else 0)
            if spent[host] + busy != horizon:
                total = spent[host] + busy
                text = f"its states last {total} ticks, {busy} of them busy; the run lasts {horizon}"
                yield Finding("states-do-not-add-up", f"host {host}", text, horizon)

    def _root(self, job: str) -> str:
        return self._origin.get(job, job)

    def _work(self, job: str) -> _Work:
        root = self._root(job)
        found = self._of.get(root)
        if found is None:
            found = self._of[root] = _Work()
        return found

    def _start(self, record: Started) -> Iterator[Finding]:
        job, work = record.job, self._work(record.job)
        self._running[job] = record
        if work.running:
            text = f"it starts while {work.running} runs, an attempt at the same job"
            yield Finding("attempts-overlap", job, text, record.time)
        elif work.succeeded:
            text = f"it starts and {work.succeeded}, an attempt at the same job, has succeeded"
            yield Finding("work-done-twice", job, text, record.time)
        work.running = job
        told = self._told.pop(job, ())
        for name, has, least, most in zip(FIGURES, told, work.left, work.whole, strict=False):
            slack = TOLERANCE * most
            if has < least - slack:
                text = f"it has {has:.9g} {name} to do, {least:.9g} were left: work has vanished"
                yield Finding("work-not-conserved", job, text, record.time)
            elif has > most + slack:
                text = f"it has {has:.9g} {name} to do, the whole job {most:.9g}: work has appeared"
                yield Finding("work-not-conserved", job, text, record.time)
        work.left = ()

    def _end(self, record: Ended) -> None:
        job = record.job
        began = self._running.pop(job, None)
        if began is None:
            return
        self._charge(job, began, record.time)
        work = self._work(job)
        if work.running == job:
            work.running = ""
        if record.state == COMPLETED_SUCCESSFULLY:
            work.succeeded = job

    def _charge(self, job: str, began: Started, end: int) -> None:
        ticks = end - began.time
        cores, executed = self._cores, self._executed
        amount = 0
        for host in hostset.ids(compute_part(began.alloc, len(cores))):
            executed[host] += ticks
            amount += ticks * cores[host]
        self._work(job).executed += amount

    def _kill(self, record: KillAsked) -> Iterator[Finding]:
        for place, job in enumerate(record.jobs):
            began = self._running.get(job)
            since = record.leaf_since[place] if place < len(record.leaf_since) else record.time
            if began is not None and not began.time <= since <= record.time:
                text = f"its part began at tick {since}, it runs from tick {began.time} to {record.time}"
                yield Finding("progress-impossible", job, text, record.time)
            figures = record.work[place] if place < len(record.work) else ()
            if len(figures) != NINE:
                continue
            whole, finished, done = figures[:3], figures[3:6], figures[6:]
            for name, total, over, all_done in zip(FIGURES, whole, finished, done, strict=True):
                slack = TOLERANCE * total
                if not (-slack <= over <= all_done + slack and all_done <= total + slack):
                    text = (
                        f"of {total:.9g} {name}, {all_done:.9g} were done, {over:.9g} in parts that were over"
                    )
                    yield Finding("progress-impossible", job, text, record.time)
            work = self._work(job)
            work.whole = work.whole or whole
            work.left = tuple(total - some for total, some in zip(whole, done, strict=True))
