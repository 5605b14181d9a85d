"""The broker: a pure core between a simulator and any number of schedulers.

``steps(request)`` is a generator: it yields what to ask which tenants, all at once, is sent their replies,
and returns the reply to the simulator. A step goes on in rounds, at one instant of simulated time, until no
tenant has news. Knows no socket, no file, no wall clock; replies are merged by (date, rank, order said),
never by arrival.
"""

from __future__ import annotations

import heapq
from collections.abc import Generator, Iterable, Sequence
from operator import itemgetter

from batpy._version import __version__
from batpy.base.errors import BatpyError, PeerError, RemoteProtocolError
from batpy.broker.actions import Action
from batpy.broker.decisions import TenantDecisions
from batpy.broker.events import SimulatorEvents
from batpy.broker.guard import guarded
from batpy.broker.ledger import Ledger
from batpy.broker.owners import BROKER, Owners
from batpy.broker.policy import ParkView, SharingPolicy
from batpy.broker.starts import Starts
from batpy.broker.tenants import (
    MACHINE_EVENTS,
    REFUSALS,
    SHARING,
    Tenant,
    TenantConfig,
    check_offered,
    greeting,
    zero_progress,
)
from batpy.protocol import hostset
from batpy.protocol import messages as m
from batpy.protocol import sharing_records as r
from batpy.protocol.hostset import HostSet

_FINISHED, _LAST = "registration_finished", 1 << 80
_ORDER = itemgetter(0, 1, 2)  # of decisions: date, rank, serial
MAX_ROUNDS = 1000
"""Rounds of one instant after which tenants count as answering each other for ever."""

Asks = list[tuple[int, m.Message]]
Reply = m.Message | BatpyError
Steps = Generator[Asks, list[Reply], m.Message]


class TenantError(PeerError):
    """A scheduler behind the broker broke a rule, died or went silent."""


class BrokerCore:
    """One conversation with a simulator (or an outer broker).

    Args:
        policy: decides on starts and loans.
        policy_text: as the user wrote it.
        tenants: by rank.
        sink: takes the journal's records.
        check: check every invariant after each step (slow, for tests).
        strict: a tenant fails whose decision the simulator refuses. The simulator must be lenient then: it
            sees one scheduler, and would end the run where one tenant could be dropped.

    Attributes:
        now: the clock, in ticks.
        step: number of the simulator's request, from 0.
        tenants: the schedulers by rank.
        notices: one line about each thing a user should know.
        ended: SIMULATION_ENDS has come.
    """

    def __init__(
        self,
        policy: SharingPolicy,
        policy_text: str,
        tenants: Sequence[TenantConfig],
        sink: r.SharingSink,
        *,
        check: bool = False,
        strict: bool = False,
    ) -> None:
        self.now = 0
        self.step = -1
        self.write = sink.write
        self.tenants = [Tenant(rank, config) for rank, config in enumerate(tenants)]
        self.notices: list[str] = []
        self.owners = Owners(self.tenants)
        self._policy = guarded(policy, policy_text)
        self._policy_text = policy_text
        self._check = check
        self.strict = strict
        self.starts: Starts
        self._decide = TenantDecisions(self)
        self._events = SimulatorEvents(self)
        self._out: list[tuple[int, int, int, m.Event]] = []
        self._said_at: dict[int, int] = {}
        self._late: list[tuple[int, int, int, m.Event]] = []  # decisions stamped after the present
        self._timers: list[tuple[int, int, str, int | str]] = []
        self._later: list[Iterable[Action]] = []
        self._serial = 0
        self.ended = False
        self._finished = False
        self._registration_said = False
        self._scale = 1_000_000

    # ------------------------------------------------------------------ one step

    def steps(self, request: m.Message) -> Steps:
        """Answer one request of the simulator.

        Raises:
            TenantError: a tenant failed that the run cannot do without.
            RemoteProtocolError: the simulator said something that cannot be.
        """
        self.now = max(self.now, request.now)
        self.step += 1
        self._out.clear()
        self._said_at.clear()
        if not self.step:
            yield from self._greet(request)
        else:
            self.park.now = self.now
            self.starts.away.note_machines(request.events)
            for event in request.events:
                self._events.route(event)
            self._events.settle_refusals()
            self.owners.new_reply()
            self._due()
            yield from self._rounds()
            for hosts in self.starts.away.vacated():
                self.forward(-1, m.ResourcesRemoved(self.now, hosts))
        if self._check and not self.ended:
            self.starts.check()
        self._out.sort(key=_ORDER)
        return m.Message(self.now, [event for _, _, _, event in self._out])

    def _rounds(self) -> Generator[Asks, list[Reply], None]:
        rounds = 0
        while True:
            asks = self._asks()
            if not asks:
                if not self._later:
                    break
                for actions in self._take_later():
                    self.starts.carry_out(actions)
                continue
            rounds += 1
            if rounds > MAX_ROUNDS:
                names = " and ".join(self.tenants[rank].name for rank, _ in asks)
                raise RemoteProtocolError(
                    f"schedulers {names} answer each other without end at {self.date(self.now)}"
                )
            self._take(asks, (yield asks))

    def _asks(self) -> Asks:
        asks: Asks = []
        for tenant in self.tenants:
            if tenant.mailbox and tenant.busy_until <= self.now and tenant.gone is None:
                asks.append((tenant.rank, m.Message(self.now, tenant.take_mail())))
                self.starts.revoking.told(tenant)
        return asks

    def _take(self, asks: Asks, replies: list[Reply]) -> None:
        """Apply the decisions of a round in order; those stamped later when they are due."""
        due: list[tuple[int, int, int, m.Event]] = []
        for (rank, _), reply in zip(asks, replies, strict=True):
            tenant = self.tenants[rank]
            if isinstance(reply, BatpyError):
                self.fail(tenant, str(reply), reply)
                continue
            if reply.now < self.now:
                self.fail(tenant, f"its reply's now ({self.date(reply.now)}) is before {self.date(self.now)}")
                continue
            stamp = 0
            for decision in reply.events:
                stamp = max(stamp, decision.timestamp)  # list order counts, as in the simulator
                if stamp > reply.now:
                    late = f"({self.date(stamp)}) is after its reply's now ({self.date(reply.now)})"
                    self.fail(tenant, f"the timestamp of a decision {late}")
                    break
                self._serial += 1
                if stamp <= self.now:
                    due.append((stamp, rank, self._serial, decision))
                else:
                    self.hold(stamp, rank, decision)
            if reply.now > self.now:
                tenant.busy_until = reply.now
                self.wake(reply.now, "free", rank)
        due.sort(key=_ORDER)
        if not self.step:
            # Who hears of what must be known before a start of this round takes hosts from anybody.
            due.sort(key=lambda said: type(said[3]) is not m.Hello)
        for _, rank, _, decision in due:
            if self.tenants[rank].gone is None:
                self._decide.apply(self.tenants[rank], decision)

    def hold(self, until: int, rank: int, decision: m.Event) -> None:
        """Apply a tenant's decision at a later date."""
        self._serial += 1
        heapq.heappush(self._late, (until, rank, self._serial, decision))
        self.wake(until, "late", 0)

    def _due(self) -> None:
        """Fire timers and apply held decisions whose date has come, in order of their dates."""
        now, timers, late = self.now, self._timers, self._late
        while (timers and timers[0][0] <= now) or (late and late[0][0] <= now):
            if late and late[0][0] <= now and not (timers and timers[0][0] < late[0][0]):
                _, rank, _, decision = heapq.heappop(late)
                if self.tenants[rank].gone is None:
                    self._decide.apply(self.tenants[rank], decision)
                continue
            _, _, kind, key = heapq.heappop(timers)
            if kind in ("late", "free"):
                continue  # only there to be woken
            if kind == "kill":
                self._decide.kill_after_grace(int(key))
                continue
            job = self.starts.timer(kind, key)
            if job is not None:
                self._events.epilog_over(job)

    def _take_later(self) -> list[Iterable[Action]]:
        later, self._later = self._later, []
        return later

    # ------------------------------------------------------------------ beginning and end

    def _greet(self, request: m.Message) -> Generator[Asks, list[Reply], None]:
        begins = request.events[0] if len(request.events) == 1 else None
        if not isinstance(begins, m.SimulationBegins):
            raise RemoteProtocolError("the first message must hold SIMULATION_BEGINS and nothing else")
        self._scale = begins.batpy.ticks_per_second if begins.batpy is not None else 1_000_000
        hosts = hostset.from_ids(record["id"] for record in begins.compute_resources)
        self.owners.workloads(begins)
        check_offered(begins, self.tenants)
        if begins.config.get("dynamic-jobs-enabled"):
            self._registration_over()
        park = ParkView([t.name for t in self.tenants], hosts, hostset.size(hosts), self._scale)
        self._policy.begin(park)
        visible = [self._policy.visible(t.rank) for t in self.tenants]
        ledger = Ledger(begins.compute_resources, visible, shared=begins.allow_compute_sharing)
        self.starts = Starts(self, self._policy, ledger, self.tenants)
        park.watch(ledger, self.starts.claims)
        self.park = park
        self.write(
            r.SharingBegins(
                self.now,
                self.step,
                __version__,
                self._scale,
                self._policy_text,
                tuple(t.name for t in self.tenants),
                tuple(visible),
                hostset.size(hosts),
                ledger.cores(),
            )
        )
        first_storage = begins.nb_compute_resources
        storages = ((first_storage, first_storage + begins.nb_storage_resources - 1),)
        for tenant, mine in zip(self.tenants, visible, strict=True):
            tenant.hosts = type(tenant.hosts)(
                hostset.union(mine, storages if begins.nb_storage_resources else ())
            )
            loan = ledger.lend(tenant.rank, mine)
            tenant.believed = mine
            self.write(r.Lent(self.now, self.step, loan, tenant.name, mine))
            tenant.mailbox.append(greeting(begins, tenant, mine))
        yield from self._rounds()
        if begins.batpy is not None:
            # A start or a question that is refused and not told would stay in the books for ever.
            wants = {want for t in self.tenants for want in t.wants} | {SHARING, REFUSALS}
            name = f"broker of {', '.join(t.name for t in self.tenants)}"
            known = (REFUSALS, MACHINE_EVENTS, *begins.batpy.extensions)
            ours = dict.fromkeys(want for want in known if want in wants)
            hello = m.Hello(self.now, name, __version__, tuple(ours))
            self._out.append((-1, -1, -1, hello))

    def finish(self, outcome: str, reason: str = "") -> None:
        """Write the closing marker, once."""
        if not self._finished:
            self._finished = True
            self.write(r.SharingEnds(self.now, max(self.step, 0), outcome, reason))

    # ------------------------------------------------------------------ a desk for starts and decisions

    def tell(self, tenant: Tenant, event: m.Event) -> None:
        """See ``starts.Desk``."""
        if tenant.gone is None:
            tenant.mailbox.append(event)

    def forward(self, rank: int, decision: m.Event) -> None:
        """See ``starts.Desk``."""
        self._serial += 1
        # Nothing overtakes what the same tenant said, or had held back, before.
        date = self._said_at[rank] = max(decision.timestamp, self._said_at.get(rank, 0))
        self._out.append((date, rank, self._serial, decision))

    def wake(self, at: int, kind: str, key: int | str) -> None:
        """See ``starts.Desk``."""
        self._serial += 1
        heapq.heappush(self._timers, (at, self._serial, kind, key))
        if at > self.now and self.owners.call(at, BROKER):
            self.forward(-1, m.CallMeLater(self.now, at))

    def kill(self, rank: int, jobs: list[str]) -> None:
        """See ``starts.Desk``."""
        self.owners.kill(jobs, by_broker=True)
        # A start that the simulator refuses would take the kill of everybody else with it.
        fresh = [job for job in jobs if self.starts.is_fresh(job)]
        for victims in ([job for job in jobs if job not in fresh], *([job] for job in fresh)):
            if victims:
                self.forward(rank, m.KillJob(self.now, victims))

    def later(self, action: Iterable[Action]) -> None:
        """See ``starts.Desk``."""
        self._later.append(action)

    def cancelled(self, tenant: Tenant, job: str, hosts: HostSet) -> None:
        """See ``starts.Desk``."""
        profile, known = self.owners.profile_of(job)
        self.owners.forget(job)
        own = tenant.hosts.to_own(hosts)
        self.tell(tenant, m.JobCompleted(self.now, job, m.COMPLETED_KILLED, -1, own))
        self.write(r.EndTold(self.now, self.step, job))
        if tenant.speaks(SHARING):
            self.tell(tenant, m.JobKilled(self.now, [job], {job: zero_progress(profile, known)}))

    def fail(self, tenant: Tenant, problem: str, why: BatpyError | None = None) -> None:
        """See ``starts.Desk``."""
        told = problem if why is not None else f"at {self.date(self.now)}: {problem}"
        name = f"scheduler {tenant.name}"
        text = told if told.startswith(name) else f"{name}: {told}"
        if not tenant.config.droppable or tenant.gone is not None:
            raise TenantError(text)
        tenant.gone = problem
        tenant.mailbox.clear()
        self.notices.append(f"{text}; the run went on without it")
        self.write(r.TenantDropped(self.now, self.step, tenant.name, problem))
        self.starts.drop_tenant(tenant)
        for job in self.owners.waiting(tenant.rank):
            self.forward(tenant.rank, m.RejectJob(self.now, job))
            self.owners.forget(job)
        for job in self.owners.of_rank(tenant.rank):
            if not self.starts.knows(job):  # one that it called running without a host
                self.forward(tenant.rank, m.ChangeJobState(self.now, job, m.COMPLETED_KILLED))
                self.owners.forget(job)
        if tenant.registering:
            tenant.registering = False
            self._registration_over()

    def is_end_untold(self, tenant: Tenant, job: str) -> bool:
        """Is a job over, and its tenant has not heard of it yet?"""
        return self._events.keeps_back(job) or any(
            isinstance(news, m.JobCompleted) and news.job_id == job for news in tenant.mailbox
        )

    @staticmethod
    def is_refusal_untold(tenant: Tenant, job: str) -> bool:
        """Was the start of a job refused, and its tenant has not heard of it yet?"""
        return any(isinstance(news, m.DecisionRefused) and news.job_id == job for news in tenant.mailbox)

    def owned(self, tenant: Tenant, job_id: str, job: m.Json) -> None:
        """A job belongs to a tenant from now on."""
        self.owners.add_job(job_id, tenant.rank, str(job.get("profile", "")))
        parent = self.owners.parent_of(job_id, job)
        self.write(r.JobOwned(self.now, self.step, job_id, tenant.name, parent))

    def _registration_over(self) -> None:
        """Say that no job will be registered any more, once every tenant that may has said so."""
        if not any(t.registering for t in self.tenants) and not self._registration_said:
            self._registration_said = True
            # After everything else of this reply: a job may be registered in it.
            self._serial += 1
            self._out.append((_LAST, len(self.tenants), self._serial, m.Notify(self.now, _FINISHED)))

    def registration(self, tenant: Tenant, goes_on: bool) -> None:
        """A tenant said that it is done with registering jobs, or that it goes on."""
        if not tenant.config.dynamic_jobs:
            return
        tenant.registering = goes_on
        if goes_on and self._registration_said:
            self._registration_said = False
            said, self._out = self._out, [item for item in self._out if item[0] != _LAST]
            if len(said) == len(self._out):
                self.forward(-1, m.Notify(self.now, "continue_registration"))
        elif not goes_on:
            self._registration_over()

    def date(self, ticks: int) -> str:
        """A date as people read it."""
        return f"{ticks / self._scale:.15g} s"
