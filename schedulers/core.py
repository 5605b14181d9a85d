"""The core of a scheduler process: messages in, messages out, a policy in the middle.

It knows no socket and no wall clock. It says nothing that the real Batsim would not understand unless the
simulator showed its ``batpy`` key.

A start that is refused (DECISION_REFUSED) leaves the job where it was, and the job is not shown to the policy
again in the same instant: it is held for 1 s, then 2 s, 4 s, ... of simulated time, and rejected after the
sixth refusal, with the reason in its metadata. So a run ends whatever the gate thinks of a policy.

Hosts that a broker takes back (REMOVE_RESOURCES) are not free from then on. RESOURCES_REMOVED follows once,
with the same hosts, as soon as no job runs any more that ran on one of them then, however those jobs end;
killing them is the policy's business. An answer never overtakes an older one about the same hosts.
RESOURCES_ADDED follows at once.
"""

from __future__ import annotations

import heapq
import sys
from collections.abc import Callable
from typing import NoReturn, cast

from batpy._version import __version__
from batpy.base.blame import FAILURES, blame
from batpy.base.errors import InputError, RemoteProtocolError
from batpy.protocol import hostset
from batpy.protocol.hostset import HostSet
from batpy.protocol.messages import (
    REJECTED,
    AddResources,
    CallMeLater,
    DecisionRefused,
    Event,
    ExecuteJob,
    Hello,
    JobCompleted,
    JobSubmitted,
    KillJob,
    Message,
    Notify,
    RegisterJob,
    RejectJob,
    RemoveResources,
    RequestedCall,
    ResourcesAdded,
    ResourcesRemoved,
    ResourceStateChanged,
    SetJobMetadata,
    SetResourceState,
    SimulationBegins,
    SimulationEnds,
)
from batpy.protocol.vocabulary import WANTS as KNOWN_WANTS
from batpy.schedulers.api import FOREVER, Job, Plan, Policy, View
from batpy.schedulers.mirror import Mirror

WANTS = ("machine_events", "refusals")
MAX_REFUSALS = 5


class SchedulerCore:
    """Answers a simulator (or a broker) with what a policy decides.

    Args:
        policy: the decisions.
        name: what the scheduler calls itself in its HELLO and in messages to the user.
    """

    def __init__(self, policy: Policy, name: str) -> None:
        self.name = name
        self._policy = policy
        self._decide: Callable[[View], Plan | None] = policy.decide
        self._mirror: Mirror | None = None
        self._calls: list[int] = []  # dates of the calls asked for and not yet answered
        self._refusals: dict[str, int] = {}
        self._held: list[tuple[int, int, Job]] = []  # (date, serial, job)
        self._revocations: list[tuple[HostSet, set[str]]] = []  # not acknowledged: hosts, victims
        self._max_res = 0
        self._acknowledged = True  # the simulator says JOB_SUBMITTED for registered jobs

    @property
    def registers(self) -> bool:
        """Does its policy register jobs? Then it needs dynamic registration, and profiles that stay."""
        return bool(getattr(self._policy, "registers", False))

    def handle(self, message: Message, /) -> Message:
        """Fold one message into the mirror, ask the policy, say its plan.

        Raises:
            RemoteProtocolError: the peer said something that cannot be.
            InputError: a user's policy failed or planned something impossible.
        """
        mirror = self._mirror
        now = message.now
        if mirror is None:
            return Message(now, self._greet(message))
        view = mirror.view
        view.now = now
        decisions: list[Event] = []
        view.arrived = arrived = []
        view.ended = ended = []
        view.disturbed = False
        for event in message.events:
            kind = type(event)
            if kind is JobCompleted:
                ended.append(mirror.completed(event))
            elif kind is JobSubmitted:
                job = mirror.submitted(event)
                if 0 < job.res <= self._max_res:
                    mirror.queue[job.id] = job
                    arrived.append(job)
                else:
                    self._reject(job, _why_never(job, view.nb_hosts), decisions)
            elif kind is SimulationEnds:
                return Message(now, [])
            else:
                self._fold(event, decisions)
        if self._held:
            self._show_again(mirror)
        if self._revocations:
            self._acknowledge(mirror, decisions)
        try:
            plan = self._decide(view)
        except FAILURES as why:
            self._raise(why, "decide()")
        if plan is not None:
            self._take("decide()", plan, mirror, decisions)
        return Message(now, decisions)

    # ------------------------------------------------------------------ beginning

    def _greet(self, message: Message) -> list[Event]:
        begins = message.events[0] if len(message.events) == 1 else None
        if not isinstance(begins, SimulationBegins):
            raise RemoteProtocolError("the first message must hold SIMULATION_BEGINS and nothing else")
        self._mirror = mirror = Mirror(begins)
        now = mirror.view.now = message.now
        self._max_res = sys.maxsize if getattr(self._policy, "elastic", False) else mirror.view.nb_hosts
        self._acknowledged = bool(begins.config.get("dynamic-jobs-acknowledged"))
        decisions: list[Event] = []
        if begins.batpy is not None:
            decisions.append(Hello(now, self.name, __version__, self._wants()))
        if begins.config.get("dynamic-jobs-enabled") and not getattr(self._policy, "registers", False):
            # Without it the simulator would wait for registrations for ever.
            decisions.append(Notify(now, "registration_finished"))
        begin = getattr(self._policy, "begin", None)
        if begin is not None:
            try:
                plan = begin(mirror.view)
            except FAILURES as why:
                self._raise(why, "begin()")
            if plan is not None:
                self._take("begin()", plan, mirror, decisions)
        return decisions

    def _wants(self) -> tuple[str, ...]:
        wants = getattr(self._policy, "wants", WANTS)
        if not isinstance(wants, (tuple, list)) or not all(want in KNOWN_WANTS for want in wants):
            problem = f"its wants must be a tuple of {', '.join(KNOWN_WANTS)}; got {wants!r}"
            raise InputError(problem, source=self.name)
        return tuple(wants)

    # ------------------------------------------------------------------ less common events

    def _fold(self, event: Event, decisions: list[Event]) -> None:
        mirror = cast(Mirror, self._mirror)
        match event:
            case RequestedCall():
                while self._calls and self._calls[0] <= mirror.view.now:
                    heapq.heappop(self._calls)
            case Notify(type="event_machine_unavailable"):
                mirror.hosts_left(event.resources or ())
                mirror.view.disturbed = True
            case Notify(type="event_machine_available"):
                mirror.hosts_returned(event.resources or ())
                mirror.view.disturbed = True
            case RemoveResources(resources=hosts):
                victims = mirror.hosts_revoked(hosts)
                self._revocations.append((hosts, {job.id for job in victims}))
                mirror.view.disturbed = True
            case AddResources(resources=hosts):
                mirror.hosts_granted(hosts)
                mirror.view.disturbed = True
                decisions.append(ResourcesAdded(mirror.view.now, hosts))
            case DecisionRefused(decision="EXECUTE_JOB"):
                self._refused(event, mirror, decisions)
            case DecisionRefused(decision="SET_RESOURCE_STATE"):
                raise InputError(f"SET_RESOURCE_STATE was refused: {event.reason}", source=self.name)
            case SimulationBegins():
                raise RemoteProtocolError("SIMULATION_BEGINS came twice")
            case ResourceStateChanged():
                mirror.state_reached(event.resources)
                self._hear(event)
            case _:
                self._hear(event)

    def _hear(self, event: Event) -> None:
        hear = getattr(self._policy, "hear", None)
        if hear is not None:
            try:
                hear(event)
            except FAILURES as why:
                self._raise(why, "hear()")

    def _refused(self, event: DecisionRefused, mirror: Mirror, decisions: list[Event]) -> None:
        view = mirror.view
        job = mirror.take_back(event.job_id) if event.job_id is not None else None
        if job is None:
            return
        view.ended.append(job)
        view.disturbed = True
        count = self._refusals[job.id] = self._refusals.get(job.id, 0) + 1
        if count > MAX_REFUSALS:
            del self._refusals[job.id]
            job.state = REJECTED
            self._reject(job, f"start refused {count} times: {event.reason}", decisions)
            return
        date = view.now + view.ticks_per_second * 2 ** (count - 1)
        heapq.heappush(self._held, (date, job.serial, job))
        self._call(date, view.now, decisions)

    def _acknowledge(self, mirror: Mirror, decisions: list[Event]) -> None:
        """Answer the revocations whose victims are gone; show the policy those that are not."""
        view, running = mirror.view, mirror.running
        still: list[tuple[HostSet, set[str]]] = []
        victims: set[str] = set()
        for hosts, jobs in self._revocations:
            jobs.intersection_update(running)
            if jobs or any(hostset.intersection(hosts, older) for older, _ in still):
                still.append((hosts, jobs))
                victims |= jobs
            else:
                decisions.append(ResourcesRemoved(view.now, hosts))
        self._revocations = still
        view.evicted = [job for job_id, job in running.items() if job_id in victims]

    def _show_again(self, mirror: Mirror) -> None:
        """Give held jobs whose time has come back to the policy."""
        view = mirror.view
        while self._held and self._held[0][0] <= view.now:
            job = heapq.heappop(self._held)[2]
            mirror.enqueue_again(job)
            view.arrived.append(job)
            view.disturbed = True
        view.arrived.sort(key=lambda job: job.serial)

    # ------------------------------------------------------------------ plan to decisions

    def _take(self, method: str, plan: Plan, mirror: Mirror, decisions: list[Event]) -> None:
        """Say what a method of the policy returned."""
        if not isinstance(plan, Plan):
            what = f"returned {_shown(plan)}; want a Plan, or None for an empty one"
            raise InputError(f"{method} {what}", source=self.name)
        try:
            self._apply(plan, mirror, decisions)
        except FAILURES as why:
            self._raise(why, f"the plan of {method}")

    def _raise(self, why: BaseException, what: str) -> NoReturn:
        """Tell that the policy failed: one line for the user, unless it is a bug of ours."""
        blamed = blame(why, what, type(self._policy).__module__, self.name)
        if blamed is why:
            raise why
        raise blamed from why

    def _apply(self, plan: Plan, mirror: Mirror, decisions: list[Event]) -> None:
        view = mirror.view
        now = view.now
        if plan.more and plan.registrations:
            self._register(plan, mirror, decisions)
        if plan.starts:
            queue, running, started = mirror.queue, mirror.running, view.started
            for job, hosts in plan.starts:
                job_id = job.id
                if job_id not in queue:
                    raise InputError(f"planned to start {job_id}, which does not wait", source=self.name)
                del queue[job_id]
                job.start = now
                job.hosts = hosts
                length = job.length
                job.end = now + length if length < FOREVER else FOREVER + started
                started += 1
                running[job_id] = job
                decisions.append(ExecuteJob(now, job_id, hosts))
            view.free = plan.free
            view.free_count = plan.free_count
            view.started = started
        if plan.more:
            self._apply_more(plan, mirror, decisions)

    def _apply_more(self, plan: Plan, mirror: Mirror, decisions: list[Event]) -> None:
        now = mirror.view.now
        for job, reason in plan.rejects:
            if mirror.queue.pop(job.id, None) is None:
                raise InputError(f"planned to reject {job.id}, which does not wait", source=self.name)
            self._reject(job, reason, decisions)
        if plan.kills:
            decisions.append(KillJob(now, [job.id for job in plan.kills]))
        mirror.elastic |= plan.elastic
        if plan.io_jobs:
            for decision in decisions:
                if isinstance(decision, ExecuteJob) and decision.additional_io_job is None:
                    decision.additional_io_job = plan.io_jobs.get(decision.job_id)
        for decision in plan.also:
            if type(decision) is SetResourceState:
                mirror.switched(decision)
            decisions.append(decision)
        if plan.wake_at is not None:
            self._call(plan.wake_at, now, decisions)
        if plan.registrations and not self._acknowledged:
            self._show_registered(plan, mirror, decisions)

    def _register(self, plan: Plan, mirror: Mirror, decisions: list[Event]) -> None:
        """Say the registrations of a plan."""
        for decision in plan.registrations:
            decision.timestamp = mirror.view.now
            decisions.append(decision)

    def _show_registered(self, plan: Plan, mirror: Mirror, decisions: list[Event]) -> None:
        """Nobody will say that registered jobs are submitted: they are at once, so ask the policy again."""
        view, now = mirror.view, mirror.view.now
        view.arrived, view.ended, view.disturbed = [], [], False
        for decision in plan.registrations:
            if isinstance(decision, RegisterJob):
                job = mirror.submitted(JobSubmitted(now, decision.job_id, decision.job))
                mirror.queue[job.id] = job
                view.arrived.append(job)
        if not view.arrived:
            return
        try:
            again = self._decide(view)
        except FAILURES as why:
            self._raise(why, "decide()")
        if again is not None:
            self._take("decide()", again, mirror, decisions)

    def _call(self, date: int, now: int, decisions: list[Event]) -> None:
        """Ask for a call at *date*, once."""
        if date <= now:
            scale = cast(Mirror, self._mirror).ticks_per_second
            told = f"asked to be called at {date / scale:.15g} s; it is already {now / scale:.15g} s"
            raise InputError(told, source=self.name)
        if date not in self._calls:
            heapq.heappush(self._calls, date)
            decisions.append(CallMeLater(now, date))

    def _reject(self, job: Job, reason: str, decisions: list[Event]) -> None:
        now = cast(Mirror, self._mirror).view.now
        # Batsim forgets a rejected job at once, and takes no double quotes in a metadata.
        decisions.append(
            SetJobMetadata(now, job.id, " ".join(f"rejected: {reason}".replace('"', "'").split()))
        )
        decisions.append(RejectJob(now, job.id))


def _why_never(job: Job, nb_hosts: int) -> str:
    if job.res < 1:
        return f"asks for {job.res} hosts"
    return f"asks for {job.res} hosts, the platform has {nb_hosts}"


def _shown(value: object) -> str:
    text = repr(value)
    return f"{text if len(text) <= 60 else f'{text[:57]}...'} (a {type(value).__name__})"
