"""Folds both journals of a shared run into its accounts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import accumulate
from typing import Any

from batpy.base.errors import InputError
from batpy.protocol import hostset
from batpy.protocol.hostset import HostSet
from batpy.protocol.messages import COMPLETED_SUCCESSFULLY, REJECTED
from batpy.protocol.records import (
    AnyRecord,
    Ended,
    HostsChanged,
    KillAsked,
    Record,
    Refused,
    Rejected,
    Relabelled,
    RunBegins,
    Started,
    Submitted,
)
from batpy.protocol.sharing_records import (
    AnySharingRecord,
    HostsCleared,
    JobOwned,
    Lent,
    PrologBegins,
    RevokeAsked,
    SharingBegins,
    StartAsked,
    StartDropped,
    StartReleased,
    Vacated,
)
from batpy.results.accounting.account import Account, JobAccount, TenantCounts
from batpy.results.accounting.attempts import NO_TENANT, Attempt
from batpy.results.accounting.charges import LENT, LOST, REEXECUTED, UNFINISHED, USEFUL, Charges
from batpy.results.accounting.clock import BLOCKED, EPILOG, PROLOG, HostClock, compute_part
from batpy.results.accounting.joined import joined
from batpy.results.accounting.keeping import divide
from batpy.results.accounting.loans import LoanBook, LoanPiece


class AccountFold:
    """Takes the records of ``joined`` in order; ``result`` closes the accounts.

    It believes the journals: what contradicts them is the audit's business. What no account can hold (an
    unknown tenant, a park of another size) raises InputError.
    """

    def __init__(self, begins: SharingBegins, *, shared: bool) -> None:
        self.begins = begins
        hosts, tenants = begins.nb_compute, len(begins.tenants)
        self._ranks = {name: rank for rank, name in enumerate(begins.tenants)}
        self._before = [0, *accumulate(begins.cores)]
        self._clock = HostClock(hosts, tenants, shared=shared)
        self._charges = Charges(hosts, tenants)
        self._loans = LoanBook(hosts, tenants, self._returned)
        self._counts = [TenantCounts() for _ in range(tenants)]
        self._pieces: list[LoanPiece] = []
        self._jobs: list[JobAccount] = []
        # Attempts at originals that are not settled, in order of submission.
        self._attempts: dict[str, Attempt] = {}
        # Starts that are not cleared: job, tenant, compute hosts.
        self._starts: dict[int, tuple[str, int, HostSet]] = {}
        self._job_of_start: dict[int, str] = {}
        self._start_of_job: dict[str, int] = {}
        self._revoked: dict[int, tuple[int, HostSet]] = {}
        self._killed_now: list[Attempt] = []
        self._horizon = 0
        self._handlers: dict[type[Record], Callable[[Any], None]] = {
            Submitted: self._submitted,
            Started: self._started,
            Ended: self._ended,
            Rejected: self._rejected,
            Relabelled: self._relabelled,
            KillAsked: self._killed,
            Refused: self._refused,
            HostsChanged: self._hosts_changed,
            JobOwned: self._owned,
            StartAsked: self._asked,
            RevokeAsked: self._revoke,
            Vacated: self._vacated,
            PrologBegins: self._prolog,
            StartReleased: self._released,
            StartDropped: self._dropped,
            HostsCleared: self._cleared,
            Lent: self._lent,
        }

    def take(self, records: Iterable[AnyRecord | AnySharingRecord]) -> None:
        """Take the next records.

        Raises:
            InputError: a record names a tenant that the first record does not.
        """
        handlers, clock = self._handlers, self._clock
        for record in records:
            time = record.time
            if time > clock.now:
                clock.advance(time)
                self._killed_now.clear()
            handler = handlers.get(type(record))
            if handler is not None:
                handler(record)

    def result(self, horizon: int) -> Account:
        """The accounts up to *horizon*, a tick; nothing may follow."""
        self._horizon = horizon
        self._clock.finish(max(horizon, self._clock.now))
        self._loans.finish()
        seen: set[int] = set()
        for attempt in list(self._attempts.values()):
            if id(attempt.original) not in seen:
                seen.add(id(attempt.original))
                self._settle(attempt)
        return Account(
            self.begins, self._clock.now, self._clock, self._charges, self._jobs, self._pieces,
            self._counts, self._job_of_start,
        )  # fmt: skip

    def _rank(self, tenant: str) -> int:
        rank = self._ranks.get(tenant)
        if rank is None:
            raise InputError(f"tenant {tenant!r} is not one of {', '.join(self._ranks)}")
        return rank

    def _part(self, hosts: HostSet) -> HostSet:
        return compute_part(hosts, self._clock.hosts)

    def _attempt(self, job: str) -> Attempt:
        found = self._attempts.get(job)
        if found is None:
            found = self._attempts[job] = Attempt(job)
        return found

    # ------------------------------------------------------------------ what the simulator says

    def _submitted(self, record: Submitted) -> None:
        attempt = self._attempt(record.job)
        attempt.profile, attempt.subtime = record.profile, record.subtime
        if record.work:
            attempt.whole = record.work

    def _started(self, record: Started) -> None:
        attempt, alloc = self._attempts.get(record.job), self._part(record.alloc)
        if attempt is None:
            return
        attempt.start, attempt.alloc = record.time, alloc
        before = self._before
        attempt.cores = sum([before[last + 1] - before[first] for first, last in alloc])
        start = self._start_of_job.get(record.job)
        if start is not None:
            self._clock.drop_claim(start)
        if attempt.tenant != NO_TENANT:
            self._clock.occupy(alloc, attempt.tenant)

    def _ended(self, record: Ended) -> None:
        attempt = self._attempts.get(record.job)
        if attempt is None or attempt.start < 0 or attempt.end >= 0:
            return
        attempt.end = record.time
        attempt.state = record.state
        if attempt.tenant == NO_TENANT:
            return
        self._clock.leave(attempt.alloc, attempt.tenant)
        start = self._start_of_job.get(record.job)
        if start in self._starts:
            self._clock.claim(start, attempt.alloc, EPILOG, attempt.tenant)
        self._settle_if_done(attempt)

    def _settle_if_done(self, attempt: Attempt) -> None:
        if attempt.state == COMPLETED_SUCCESSFULLY and all(a.state for a in attempt.original.attempts):
            self._horizon = self._clock.now
            self._settle(attempt)

    def _rejected(self, record: Rejected) -> None:
        attempt = self._attempts.get(record.job)
        if attempt is not None:
            attempt.state = REJECTED

    def _relabelled(self, record: Relabelled) -> None:
        """CHANGE_JOB_STATE: a job on no host counts for nothing; one that really runs ends later."""
        attempt = self._attempts.get(record.job)
        if attempt is not None and attempt.start < 0 and record.state != "RUNNING":
            attempt.state = record.state

    def _killed(self, record: KillAsked) -> None:
        for place, job in enumerate(record.jobs):
            attempt = self._attempts.get(job)
            if attempt is None:
                continue
            attempt.killed = True
            if place < len(record.leaf_since):
                attempt.leaf_since = record.leaf_since[place]
            if place < len(record.work) and len(record.work[place]) == 9:
                work = record.work[place]
                attempt.whole, attempt.finished, attempt.done = work[:3], work[3:6], work[6:]
            self._killed_now.append(attempt)
            for tenant, hosts in self._revoked.values():
                self._mark_revoked(attempt, tenant, hosts)

    def _mark_revoked(self, attempt: Attempt, tenant: int, hosts: HostSet) -> None:
        if tenant == attempt.tenant and hostset.intersection(hosts, attempt.alloc):
            attempt.revoked = True

    def _refused(self, record: Refused) -> None:
        """A start that the simulator did not take keeps nothing."""
        start = self._start_of_job.get(record.job)
        attempt = self._attempts.get(record.job)
        if record.decision == "EXECUTE_JOB" and start is not None and attempt and attempt.start < 0:
            self._clock.drop_claim(start)

    def _hosts_changed(self, record: HostsChanged) -> None:
        self._clock.change(self._part(record.hosts), available=record.available)

    # ------------------------------------------------------------------ what the broker says

    def _owned(self, record: JobOwned) -> None:
        attempt = self._attempt(record.job)
        late = attempt.tenant == NO_TENANT and attempt.start >= 0
        tenant = self._rank(record.tenant)
        if attempt.tenant == NO_TENANT:
            attempt.tenant = tenant
        parent = self._attempts.get(record.parent) if record.parent else None
        if parent is not None and parent.original is not attempt.original:
            parent.original.join(attempt.original)
        if late and attempt.end < 0:
            self._clock.occupy(attempt.alloc, attempt.tenant)

    def _asked(self, record: StartAsked) -> None:
        tenant, hosts = self._rank(record.tenant), self._part(record.hosts)
        self._starts[record.start] = (record.job, tenant, hosts)
        self._job_of_start[record.start] = record.job
        self._start_of_job[record.job] = record.start
        attempt = self._attempts.get(record.job)
        if attempt is not None and attempt.start < 0:
            attempt.asked, attempt.clear = record.time, -1
            self._clock.claim(record.start, hosts, BLOCKED, tenant)

    def _revoke(self, record: RevokeAsked) -> None:
        tenant, hosts = self._rank(record.tenant), self._part(record.hosts)
        self._loans.ask_back(record)
        self._revoked[record.revocation] = (tenant, hosts)
        for attempt in self._killed_now:
            self._mark_revoked(attempt, tenant, hosts)

    def _vacated(self, record: Vacated) -> None:
        tenant, hosts = self._rank(record.tenant), self._part(record.hosts)
        self._loans.take_back(tenant, record, hosts)
        self._clock.take_back(hosts, tenant)
        if record.revocation in self._revoked:
            left = hostset.difference(self._revoked.pop(record.revocation)[1], hosts)
            if left:
                self._revoked[record.revocation] = (tenant, left)

    def _prolog(self, record: PrologBegins) -> None:
        known = self._starts.get(record.start)
        if known is not None:
            job, tenant, hosts = known
            attempt = self._attempts.get(job)
            if attempt is not None:
                attempt.clear = record.time
            self._clock.claim(record.start, hosts, PROLOG, tenant)

    def _released(self, record: StartReleased) -> None:
        known = self._starts.get(record.start)
        if known is not None:
            job, tenant, hosts = known
            attempt = self._attempts.get(job)
            if attempt is not None and attempt.start < 0:
                attempt.released = record.time
                self._clock.claim(record.start, hosts, BLOCKED, tenant)

    def _dropped(self, record: StartDropped) -> None:
        known = self._starts.pop(record.start, None)
        self._clock.drop_claim(record.start)
        if known is not None:
            job, tenant, _ = known
            self._counts[tenant].dropped_starts += 1
            attempt = self._attempts.get(job)
            if attempt is not None:
                attempt.asked = attempt.clear = -1
            if self._start_of_job.get(job) == record.start:
                del self._start_of_job[job]

    def _cleared(self, record: HostsCleared) -> None:
        self._clock.drop_claim(record.start)
        known = self._starts.pop(record.start, None)
        if known is not None and self._start_of_job.get(known[0]) == record.start:
            del self._start_of_job[known[0]]

    def _lent(self, record: Lent) -> None:
        tenant = self._rank(record.tenant)
        hosts = self._part(record.hosts)
        self._loans.lend(tenant, record, hosts)
        self._clock.lend(hosts, tenant)

    def _returned(self, piece: LoanPiece) -> None:
        self._pieces.append(piece)
        end = piece.vacated_at if piece.vacated_at >= 0 else self._clock.now
        self._charges.add(piece.tenant, LENT, piece.hosts, end - piece.lent_at)

    # ------------------------------------------------------------------ settling

    def _settle(self, attempt: Attempt) -> None:
        """Charge what all attempts at a job executed, and forget them."""
        attempts = [one for one in attempt.original.attempts if one.subtime >= 0]
        for one in attempt.original.attempts:
            del self._attempts[one.job]
        if not attempts:
            return  # the simulator refused the registration
        first, last = attempts[0], attempts[-1]
        useful = lost = again = unfinished = disruptions = 0
        tenant = first.tenant
        divisions = divide(attempts, self._horizon)
        for one, ticks in zip(attempts, divisions, strict=True):
            if one.tenant == NO_TENANT:
                continue
            charge, hosts, cores = self._charges.add, one.alloc, one.cores
            charge(one.tenant, USEFUL, hosts, ticks.useful)
            charge(one.tenant, LOST, hosts, ticks.lost)
            charge(one.tenant, REEXECUTED, hosts, ticks.reexecuted)
            charge(one.tenant, UNFINISHED, hosts, ticks.unfinished)
            useful += ticks.useful * cores
            lost += ticks.lost * cores
            again += ticks.reexecuted * cores
            unfinished += ticks.unfinished * cores
            disruptions += one.revoked
        done = any(one.state == COMPLETED_SUCCESSFULLY for one in attempts)
        state = COMPLETED_SUCCESSFULLY if done else last.state
        job = JobAccount(
            first.job, tenant, len(attempts), disruptions, first.subtime, first.start,
            max(one.end for one in attempts), state, useful, lost, again, unfinished,
        )  # fmt: skip
        self._jobs.append(job)
        if tenant != NO_TENANT:
            self._counts[tenant].settled(job, attempts)


def account_records(simulator: Iterable[AnyRecord], broker: Iterable[AnySharingRecord]) -> Account:
    """The accounts of a run.

    Raises:
        InputError: the journals cannot be of one run.
    """
    horizon = 0

    def watched() -> Iterable[AnyRecord]:
        nonlocal horizon
        for record in simulator:
            horizon = record.time
            yield record

    records = joined(watched(), broker)
    begins, run = next(records, None), next(records, None)
    if type(begins) is not SharingBegins or type(run) is not RunBegins:
        raise InputError("the journals must begin with a record sharing_begins and a record begins")
    check_same_park(run, begins)
    fold = AccountFold(begins, shared=run.compute_sharing)
    fold.take(records)
    return fold.result(horizon)


def check_same_park(run: RunBegins, sharing: SharingBegins) -> None:
    """Both journals tell of one park.

    Raises:
        InputError: they do not.
    """
    for name in ("nb_compute", "ticks_per_second"):
        ours, theirs = getattr(run, name), getattr(sharing, name)
        if ours != theirs:
            raise InputError(
                f"the journals are not of one run: {name} is {ours} here, {theirs} at the broker"
            )
