"""The laws of a shared park, checked on both journals at once, in the order of ``joined``.

They share no code with the fold behind the accounts: who may use which host is worked out again from the
records alone. What concerns one job at a time is in ``batpy.results.accounting.work_laws``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from batpy.protocol import hostset
from batpy.protocol.hostset import HostSet
from batpy.protocol.records import AnyRecord, Ended, Record, Refused, RunBegins, RunEnds, Started, Submitted
from batpy.protocol.sharing_records import (
    ACKNOWLEDGED,
    AnySharingRecord,
    EndTold,
    EpilogBegins,
    HostsCleared,
    JobOwned,
    Lent,
    PrologBegins,
    RevokeAsked,
    SharingBegins,
    SharingEnds,
    SharingRecord,
    StartAsked,
    StartDropped,
    StartReleased,
    TenantDropped,
    Vacated,
)
from batpy.results.laws import Finding

ASKED, PREPARED, RELEASED, REFUSED = "asked for", "in its prolog", "released", "refused by the simulator"
RUNNING, OVER, GONE = "running", "over", "gone"

_AboutStart = PrologBegins | StartReleased | StartDropped | EpilogBegins | HostsCleared


class _Start(msgspec.Struct):
    job: str
    tenant: int
    hosts: HostSet
    state: str = ASKED
    until: int = -1
    clear_of: tuple[int, ...] = ()


class SharingLaws:
    """Checks records in their order; ``check`` yields what is wrong with each."""

    def __init__(self) -> None:
        self._tenants: tuple[str, ...] = ()
        self._visible: tuple[HostSet, ...] = ()
        self._hosts = 0
        self._shared = False
        self._last = (0, 0)
        # Tenants that each host is lent to, as bits; jobs that run there.
        self._lent: list[int] = []
        self._jobs_on: list[tuple[str, ...]] = []
        self._open: dict[int, tuple[int, HostSet, int]] = {}
        self._revocations: set[int] = set()
        self._owner: dict[str, int] = {}
        self._submitted: set[str] = set()
        self._unregistered: set[str] = set()  # the simulator refused to register them
        self._starts: dict[int, _Start] = {}
        self._start_of: dict[str, _Start] = {}
        self._running: dict[str, HostSet] = {}
        self._began: dict[str, int] = {}
        self._vacated_now: list[tuple[Vacated, int]] = []
        self._untold: set[str] = set()
        self._told: set[str] = set()
        self._dropped: set[int] = set()
        self._outcomes: list[tuple[str, str]] = []
        self._checks = self._checkers()

    def _checkers(self) -> dict[type[Record], Callable[[Any], Iterator[Finding]]]:
        return {
            SharingBegins: self._begin,
            RunBegins: self._run_begins,
            Submitted: self._submission,
            Started: self._start,
            Ended: self._end,
            Refused: self._refusal,
            RunEnds: self._closing,
            JobOwned: self._ownership,
            StartAsked: self._asking,
            RevokeAsked: self._revocation,
            Vacated: self._vacation,
            PrologBegins: self._prolog,
            StartReleased: self._release,
            StartDropped: self._drop,
            EpilogBegins: self._epilog,
            HostsCleared: self._clearing,
            EndTold: self._telling,
            Lent: self._loan,
            TenantDropped: self._tenant_drop,
            SharingEnds: self._closing,
        }

    def check(self, record: AnyRecord | AnySharingRecord) -> Iterator[Finding]:
        """Every law the next record breaks."""
        if self._vacated_now and record.time > self._vacated_now[0][0].time:
            yield from self._still_there()
        if isinstance(record, SharingRecord):
            here = (record.time, record.step)
            if here[0] < self._last[0] or here[1] < self._last[1]:
                was = f"the one before is of tick {self._last[0]}, step {self._last[1]}"
                yield _finding("time-goes-back", "sharing journal", record, f"step {record.step}: {was}")
            self._last = here
        checker = self._checks.get(type(record))
        if checker is not None:
            yield from checker(record)

    def finish(self, horizon: int) -> Iterator[Finding]:
        """What is missing at the end of two whole journals."""
        yield from self._still_there()
        if any(outcome != "done" for _, outcome in self._outcomes):
            return
        for serial, start in self._starts.items():
            if start.tenant in self._dropped or start.state in (RUNNING, REFUSED):
                continue
            wanted = {
                OVER: "its hosts are never cleared",
                RELEASED: "the simulator never started it",
            }.get(start.state, "it is neither released nor dropped")
            text = f"start {serial} is {start.state} and the run is done: {wanted}"
            yield Finding("start-left-over", start.job, text, horizon)
        for job in sorted(self._untold):
            if self._owner.get(job) not in self._dropped:
                yield Finding("end-untold", job, "it is over and its tenant is never told", horizon)
        for job in sorted(self._owner.keys() - self._submitted - self._unregistered):
            text = "the broker says who owns it, the simulator never saw it"
            yield Finding("journals-disagree", job, text, horizon)

    # ------------------------------------------------------------------ beginnings and ends

    def _begin(self, record: SharingBegins) -> Iterator[Finding]:
        self._tenants, self._visible = record.tenants, record.visible
        self._hosts = record.nb_compute
        self._lent = [0] * record.nb_compute
        self._jobs_on = [()] * record.nb_compute
        yield from ()

    def _run_begins(self, record: RunBegins) -> Iterator[Finding]:
        self._shared = record.compute_sharing
        yield from ()

    def _closing(self, record: RunEnds | SharingEnds) -> Iterator[Finding]:
        who = "simulator" if type(record) is RunEnds else "broker"
        self._outcomes.append((who, record.outcome))
        if len(self._outcomes) == 2:
            (first, said), (second, other) = self._outcomes
            if (said == "done") != (other == "done"):
                text = f"the {first} says that the run is {said}, the {second} says {other}"
                yield _finding("journals-disagree", "outcome", record, text)

    # ------------------------------------------------------------------ jobs

    def _ownership(self, record: JobOwned) -> Iterator[Finding]:
        job = record.job
        if job in self._owner:
            owner = self._name(self._owner[job])
            yield _finding("owned-twice", job, record, f"it is {owner}'s already")
            return
        self._owner[job] = self._rank(record.tenant)
        if record.parent and record.parent not in self._owner:
            yield _finding("attempt-of-nothing", job, record, f"nobody owns {record.parent}, its origin")
        elif record.parent and self._owner[record.parent] != self._owner[job]:
            text = f"its origin {record.parent} is {self._name(self._owner[record.parent])}'s"
            yield _finding("attempt-of-nothing", job, record, text)

    def _submission(self, record: Submitted) -> Iterator[Finding]:
        self._submitted.add(record.job)
        yield from ()

    def _refusal(self, record: Refused) -> Iterator[Finding]:
        if record.decision == "REGISTER_JOB" and record.job not in self._submitted:
            self._unregistered.add(record.job)  # the broker's word on whose it is may come after this
            self._owner.pop(record.job, None)
        start = self._start_of.get(record.job)
        if record.decision == "EXECUTE_JOB" and start is not None and start.state == RELEASED:
            start.state = REFUSED
        yield from ()

    def _start(self, record: Started) -> Iterator[Finding]:
        job, alloc = record.job, self._part(record.alloc)
        owner = self._owner.get(job, -1)
        if owner < 0:
            yield _finding("job-of-nobody", job, record, "the broker never said whose it is")
        start = self._start_of.get(job)
        if start is None or start.state != RELEASED:
            state = "was never asked for" if start is None else f"is {start.state}"
            yield _finding("start-not-released", job, record, f"its start {state} at the broker")
        elif self._part(start.hosts) != alloc:
            text = f"it starts on {_text(alloc)}, the broker released it on {_text(start.hosts)}"
            yield _finding("journals-disagree", job, record, text)
        if start is not None:
            start.state = RUNNING
        yield from self._exclusion(record, owner, alloc)
        self._running[job] = alloc
        self._began[job] = record.time
        for host in hostset.ids(alloc):
            self._jobs_on[host] += (job,)

    def _exclusion(self, record: Started, owner: int, alloc: HostSet) -> Iterator[Finding]:
        """No host with jobs of two tenants at a time."""
        if self._shared:
            return
        seen = set()
        for host in hostset.ids(alloc):
            for other in self._jobs_on[host]:
                theirs = self._owner.get(other, -1)
                if other not in seen and theirs != owner:
                    seen.add(other)
                    text = f"{self._name(owner)}'s on host {host}, where {self._name(theirs)}'s {other} runs"
                    yield _finding("two-tenants", record.job, record, text)

    def _end(self, record: Ended) -> Iterator[Finding]:
        job = record.job
        self._began.pop(job, None)
        for host in hostset.ids(self._running.pop(job, ())):
            self._jobs_on[host] = tuple(other for other in self._jobs_on[host] if other != job)
        start = self._start_of.get(job)
        if start is not None and start.state == RUNNING:
            start.state = OVER
        if job in self._owner and job not in self._told:
            self._untold.add(job)
        yield from ()

    def _telling(self, record: EndTold) -> Iterator[Finding]:
        job = record.job
        if job in self._running:
            yield _finding(
                "told-too-early", job, record, "its tenant hears that it is over and it still runs"
            )
        if job in self._told:
            yield _finding("told-twice", job, record, "its tenant was told before that it is over")
        self._told.add(job)
        self._untold.discard(job)

    # ------------------------------------------------------------------ starts

    def _asking(self, record: StartAsked) -> Iterator[Finding]:
        job, rank = record.job, self._rank(record.tenant)
        if rank < 0:
            yield _finding("no-such-tenant", job, record, f"there is no tenant {record.tenant!r}")
        if record.start in self._starts:
            yield _finding("start-asked-twice", job, record, f"start {record.start} was asked for before")
        start = _Start(job, rank, record.hosts)
        self._starts[record.start] = start
        before = self._start_of.get(job)
        if before is None or before.state in (GONE, OVER, REFUSED):
            self._start_of[job] = start

    def _known(self, record: _AboutStart, *states: str) -> Iterator[Finding]:
        """A record about a start that is in no state for it."""
        start = self._starts.get(record.start)
        state = "was never asked for" if start is None else f"is {start.state}"
        if start is None or start.state not in states:
            subject = f"start {record.start}" if start is None else start.job
            tag = record.__struct_config__.tag
            yield _finding("start-out-of-order", subject, record, f"{tag!r} and start {record.start} {state}")

    def _prolog(self, record: PrologBegins) -> Iterator[Finding]:
        # Twice for a start whose hosts were taken from it in its prolog.
        yield from self._known(record, ASKED, PREPARED)
        start = self._starts.get(record.start)
        if start is not None:
            yield from self._all_vacated(record, start, "prolog-before-vacated", "its prolog begins")
            start.state, start.until = PREPARED, record.until
            start.clear_of = tuple(self._rank(tenant) for tenant in record.clear_of)
            yield from self._clear(record, start, start.clear_of, "its prolog begins")

    def _release(self, record: StartReleased) -> Iterator[Finding]:
        yield from self._known(record, ASKED, PREPARED)
        start = self._starts.get(record.start)
        if start is None:
            return
        yield from self._all_vacated(record, start, "released-before-vacated", "it is released")
        if record.time < start.until:
            text = f"released while its prolog lasts until tick {start.until}"
            yield _finding("released-in-prolog", start.job, record, text)
        if start.tenant >= 0:
            yield from self._lent_to(record, start)
            # A policy may lend them to a higher rank during the prolog: it uses them when this start is over.
            lower = [rank for rank in start.clear_of if rank > start.tenant]
            yield from self._clear(record, start, lower, "released")
        start.state = RELEASED

    def _all_vacated(self, record: _AboutStart, start: _Start, rule: str, what: str) -> Iterator[Finding]:
        """Hosts that were asked for by the start of another are the business of ``_lent_to``."""
        for revocation, (tenant, hosts, wanted_by) in self._open.items():
            mine = hostset.intersection(hosts, start.hosts) if wanted_by == record.start else ()
            if mine:
                left = f"{self._name(tenant)} has not vacated {_text(mine)} (revocation {revocation})"
                yield _finding(rule, start.job, record, f"{what} and {left}")

    def _lent_to(self, record: StartReleased, start: _Start) -> Iterator[Finding]:
        """Its hosts are lent to its tenant."""
        bit = 1 << start.tenant
        missing = [host for host in hostset.ids(self._part(start.hosts)) if not self._lent[host] & bit]
        if missing:
            text = f"released on {_text(hostset.from_ids(missing))}, not lent to {self._name(start.tenant)}"
            yield _finding("start-not-lent", start.job, record, text)

    def _clear(
        self, record: _AboutStart, start: _Start, clear_of: Iterable[int], what: str
    ) -> Iterator[Finding]:
        """Its hosts are not lent to those that it had to be clear of.

        Whose hosts a start takes is up to the policy: one that only grants takes none from anybody.
        """
        bits = sum(1 << rank for rank in set(clear_of) if rank >= 0)
        others = [host for host in hostset.ids(self._part(start.hosts)) if self._lent[host] & bits]
        if others:
            holder = self._name((self._lent[others[0]] & bits).bit_length() - 1)
            text = f"{what} on {_text(hostset.from_ids(others))}, still lent to {holder}"
            yield _finding("start-still-lent", start.job, record, text)

    def _drop(self, record: StartDropped) -> Iterator[Finding]:
        yield from self._known(record, ASKED, PREPARED, REFUSED)
        start = self._starts.pop(record.start, None)
        if start is not None:
            start.state = GONE

    def _epilog(self, record: EpilogBegins) -> Iterator[Finding]:
        yield from self._known(record, OVER)
        start = self._starts.get(record.start)
        if start is not None:
            start.until = record.until

    def _clearing(self, record: HostsCleared) -> Iterator[Finding]:
        yield from self._known(record, OVER)
        start = self._starts.get(record.start)
        if start is None:
            return
        if start.state == OVER and record.time < start.until:
            text = f"cleared while its epilog lasts until tick {start.until}"
            yield _finding("cleared-in-epilog", start.job, record, text)
        start.state = GONE
        del self._starts[record.start]

    # ------------------------------------------------------------------ loans

    def _loan(self, record: Lent) -> Iterator[Finding]:
        tenant, subject = self._rank(record.tenant), f"loan {record.loan}"
        if tenant < 0:
            yield _finding("no-such-tenant", subject, record, f"there is no tenant {record.tenant!r}")
            return
        if unseen := hostset.difference(record.hosts, self._visible[tenant]):
            text = f"lends {_text(unseen)} to {record.tenant}, which may never use them"
            yield _finding("lent-unseen", subject, record, text)
        bit = 1 << tenant
        again = [host for host in hostset.ids(self._part(record.hosts)) if self._lent[host] & bit]
        if again:
            text = f"lends {_text(hostset.from_ids(again))} to {record.tenant}, which has them"
            yield _finding("lent-twice", subject, record, text)
        for host in hostset.ids(self._part(record.hosts)):
            self._lent[host] |= bit

    def _revocation(self, record: RevokeAsked) -> Iterator[Finding]:
        tenant, subject = self._rank(record.tenant), f"revocation {record.revocation}"
        if record.revocation in self._revocations:
            yield _finding("revoked-twice", subject, record, "this revocation was asked for before")
        self._revocations.add(record.revocation)
        bit = 1 << tenant if tenant >= 0 else 0
        hosts = self._part(record.hosts)
        if other := [host for host in hostset.ids(hosts) if not self._lent[host] & bit]:
            text = f"takes {_text(hostset.from_ids(other))} from {record.tenant}, which has them not"
            yield _finding("revoked-not-lent", subject, record, text)
        self._open[record.revocation] = (tenant, record.hosts, record.start)

    def _vacation(self, record: Vacated) -> Iterator[Finding]:
        subject, tenant = f"revocation {record.revocation}", self._rank(record.tenant)
        known = self._open.pop(record.revocation, None)
        if known is None:
            asked = record.revocation in self._revocations
            text = "all its hosts were vacated before" if asked else "it was never asked for"
            yield _finding("vacated-twice" if asked else "vacated-unasked", subject, record, text)
            return
        owed, left, start = known
        if owed != tenant:
            text = f"{record.tenant} vacates what {self._name(owed)} was asked for"
            yield _finding("vacated-unasked", subject, record, text)
        if more := hostset.difference(record.hosts, left):
            text = f"{record.tenant} vacates {_text(more)}, which it was not asked for or has vacated before"
            yield _finding("vacated-twice", subject, record, text)
        if left := hostset.difference(left, record.hosts):
            self._open[record.revocation] = (owed, left, start)
        if tenant < 0:
            return
        keep = ~(1 << tenant)
        for host in hostset.ids(self._part(record.hosts)):
            self._lent[host] &= keep
        if record.how == ACKNOWLEDGED:
            self._vacated_now.append((record, tenant))

    def _still_there(self) -> Iterator[Finding]:
        """Jobs of a tenant on hosts that it said it had vacated in the tick that is over."""
        for record, tenant in self._vacated_now:
            for host in hostset.ids(self._part(record.hosts)):
                for job in self._jobs_on[host]:
                    if self._owner.get(job) == tenant and self._began[job] < record.time:
                        text = f"{record.tenant} says that it has vacated host {host}, where its {job} runs"
                        yield _finding("vacated-in-use", f"revocation {record.revocation}", record, text)
        self._vacated_now.clear()

    def _tenant_drop(self, record: TenantDropped) -> Iterator[Finding]:
        """What it had is taken from it by the records that follow."""
        self._dropped.add(self._rank(record.tenant))
        yield from ()

    # ------------------------------------------------------------------ small helpers

    def _rank(self, tenant: str) -> int:
        return self._tenants.index(tenant) if tenant in self._tenants else -1

    def _name(self, rank: int) -> str:
        return self._tenants[rank] if rank >= 0 else "nobody"

    def _part(self, hosts: HostSet) -> HostSet:
        if hosts and hosts[-1][1] >= self._hosts:
            return hostset.intersection(hosts, ((0, self._hosts - 1),)) if self._hosts else ()
        return hosts


def _text(hosts: HostSet) -> str:
    return f"host{'s' if hostset.size(hosts) > 1 else ''} {hostset.to_text(hosts)}"


def _finding(rule: str, subject: str, record: Record, text: str) -> Finding:
    return Finding(rule, subject, text, record.time)
