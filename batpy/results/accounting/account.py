"""The accounts of a run: what the tables, the summary and the audit read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from batpy.protocol.sharing_records import SharingBegins
from batpy.results.accounting.attempts import Attempt
from batpy.results.accounting.charges import LENT, LOST, REEXECUTED, UNFINISHED, USEFUL, Charges
from batpy.results.accounting.clock import (
    BLOCKED,
    BUSY,
    DOWN,
    EPILOG,
    IDLE,
    PROLOG,
    UNLENT,
    HostClock,
)
from batpy.results.accounting.loans import LoanPiece


class JobAccount(NamedTuple):
    """One original job; amounts in core-ticks, dates in ticks (-1: never).

    Attributes:
        tenant: rank, -1 if no tenant owns it.
        attempts: the original and its resubmissions.
        disruptions: attempts killed in an instant at which a host of theirs was being taken from the tenant.
        submitted, started: of the original, not of a later attempt.
        ended: end of the last attempt that ended.
        state: how it ended; "" if it is not over.
        useful, lost, reexecuted, unfinished: see the package.
    """

    job: str
    tenant: int
    attempts: int
    disruptions: int
    submitted: int
    started: int
    ended: int
    state: str
    useful: int
    lost: int
    reexecuted: int
    unfinished: int

    @property
    def executed(self) -> int:
        """Core-ticks that all attempts ran."""
        return self.useful + self.lost + self.unfinished


class HostRow(NamedTuple):
    """One tenant on one host, in ticks; ``tenant`` -1 has what belongs to nobody."""

    tenant: int
    host: int
    lent: int
    useful: int
    lost: int
    reexecuted: int
    unfinished: int
    overlap: int
    busy: int
    idle: int
    prolog: int
    blocked: int
    epilog: int
    down: int
    unlent: int


AMOUNTS = HostRow._fields[2:]
STATE_COLUMNS = ("busy", "idle", "prolog", "blocked", "epilog", "down", "unlent")
"""Columns that add up, over all tenants, to cores times horizon."""


@dataclass(slots=True)
class TenantCounts:
    """What is counted per tenant; times in ticks.

    Attributes:
        jobs: originals that were submitted.
        attempts: attempts that really started.
        disruptions: of those, killed while a host of theirs was being revoked.
        restarts: killed without that and followed by another attempt: the scheduler's own choice.
        first_starts: originals whose first attempt started; the sums below are over them.
        waiting: submission to real start.
        blocked: start asked for to prolog (or real start): hosts being vacated or cleaned.
        prolog: prolog to real start.
        held_starts: of ``first_starts``, those whose real start was later than asked for.
        dropped_starts: starts that were asked for and never passed on.
    """

    jobs: int = 0
    attempts: int = 0
    disruptions: int = 0
    restarts: int = 0
    first_starts: int = 0
    waiting: int = 0
    blocked: int = 0
    prolog: int = 0
    held_starts: int = 0
    dropped_starts: int = 0

    def settled(self, job: JobAccount, attempts: Sequence[Attempt]) -> None:
        """All is known of an original."""
        self.jobs += 1
        self.attempts += sum(a.start >= 0 for a in attempts)
        self.disruptions += job.disruptions
        if len(attempts) > 1:
            self.restarts += sum(a.killed and not a.revoked for a in attempts[:-1])
        first = attempts[0]
        if first.start < 0:
            return
        self.first_starts += 1
        self.waiting += first.start - first.subtime
        if first.asked < 0:
            return
        clear = first.clear if first.clear >= 0 else first.start
        self.blocked += clear - first.asked
        self.prolog += first.start - clear
        self.held_starts += first.start > first.asked


@dataclass(frozen=True, slots=True)
class Account:
    """The accounts of a run.

    Attributes:
        begins: tenants, hosts and cores.
        horizon: last tick.
        jobs: every original job, those that were done first, in the order of their ends.
        loans: every piece of a loan, in the order of their return, then what is lent at the end.
        counts: by tenant.
        job_of_start: job of each start's serial.
    """

    begins: SharingBegins
    horizon: int
    clock: HostClock
    charges: Charges
    jobs: Sequence[JobAccount]
    loans: Sequence[LoanPiece]
    counts: Sequence[TenantCounts]
    job_of_start: Mapping[int, str]
    _rows: list[HostRow] = field(default_factory=list)

    def rows(self) -> Sequence[HostRow]:
        """Every tenant on every host, nobody (-1) last, hosts ascending."""
        if not self._rows:
            for rank in range(len(self.begins.tenants)):
                self._rows.extend(self._tenant_rows(rank))
            down, unlent = self.clock.of_nobody(DOWN), self.clock.of_nobody(UNLENT)
            none = (0,) * (len(AMOUNTS) - 2)
            for host, pair in enumerate(zip(down, unlent, strict=True)):
                self._rows.append(HostRow._make((-1, host, *none, *pair)))
        return self._rows

    def _tenant_rows(self, rank: int) -> Iterator[HostRow]:
        charged = [self.charges.of(rank, kind) for kind in (LENT, USEFUL, LOST, REEXECUTED, UNFINISHED)]
        states = [self.clock.of_tenant(rank, state) for state in (BUSY, IDLE, PROLOG, BLOCKED, EPILOG)]
        columns = zip(*charged, *states, strict=True)
        for host, (lent, useful, lost, again, unfinished, busy, *others) in enumerate(columns):
            overlap = useful + lost + unfinished - busy
            own = (lent, useful, lost, again, unfinished, overlap, busy, *others)
            yield HostRow._make((rank, host, *own, 0, 0))

    def totals(self, tenant: int) -> dict[str, int]:
        """Core-ticks of a tenant (-1: nobody) on all hosts, by column."""
        cores = self.begins.cores
        sums = [0] * len(AMOUNTS)
        for row in self.rows():
            if row.tenant == tenant:
                weight = cores[row.host]
                for place, ticks in enumerate(row[2:]):
                    sums[place] += ticks * weight
        return dict(zip(AMOUNTS, sums, strict=True))
