"""What the simulator says: each event goes to whom it belongs, in the tenant's own numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from batpy.base.errors import RemoteProtocolError
from batpy.broker.owners import BROKER
from batpy.broker.tenants import MACHINE_EVENTS, REFUSALS, SHARING, Tenant
from batpy.protocol import extensions as x
from batpy.protocol import messages as m
from batpy.protocol import sharing_records as r
from batpy.protocol.hostset import HostSet
from batpy.protocol.vocabulary import NAME_OF

if TYPE_CHECKING:
    from batpy.broker.core import BrokerCore


class SimulatorEvents:
    """Routes events by the tables of owners; an event that nobody owns is an error."""

    def __init__(self, core: BrokerCore) -> None:
        self._core = core
        # Jobs in a blocking epilog: what their tenants hear after it.
        self._untold: dict[str, list[m.JobCompleted | m.JobKilled]] = {}
        self._breaches: list[tuple[Tenant, str]] = []  # of this request, in the order they were refused
        self._start_was_refused = False  # in this request
        self._routes: dict[type[m.Event], Callable[[Any], None]] = {
            m.JobSubmitted: self._submitted,
            m.JobCompleted: self._completed,
            m.JobKilled: self._killed,
            m.RequestedCall: self._called,
            m.Notify: self._notice,
            m.FromJobMsg: self._said_by_job,
            m.ResourceStateChanged: self._switched,
            m.Answer: self._answered,
            m.DecisionRefused: self._refused,
            m.SimulationEnds: self._over,
            m.SimulationBegins: self._begun_twice,
            m.RemoveResources: self._recalled,
            m.AddResources: self._returned,
            x.PipelineSubmitted: self._about_pipelines,
            x.ContainerCompleted: self._about_pipelines,
            x.ContainerFailed: self._about_pipelines,
            x.ContainerSuspended: self._about_pipelines,
        }

    def route(self, event: m.Event) -> None:
        """Give an event to whom it belongs."""
        handler = self._routes.get(type(event))
        if handler is None:
            raise self._ownerless(type(event).__name__, "no rule says whose it is")
        handler(event)

    def _called(self, event: m.RequestedCall) -> None:
        owner = self._core.owners.called(event.timestamp)
        if owner is None:
            raise self._ownerless("REQUESTED_CALL", "nobody asked to be called")
        if owner != BROKER:
            self._core.tell(self._core.tenants[owner], event)

    def _over(self, event: m.SimulationEnds) -> None:
        self._core.ended = True
        for tenant in self._core.tenants:
            tenant.busy_until = -1
            tenant.mailbox = [event]
        self._core.finish("done")

    def _about_pipelines(self, event: m.Event) -> None:
        """A run has one scheduler for its pipelines: the first that asked for them."""
        for tenant in self._core.tenants:
            if tenant.speaks("pipelines"):
                self._core.tell(tenant, event)
                return
        raise self._ownerless(NAME_OF[type(event)], "no scheduler asked for pipelines")

    def _said_by_job(self, event: m.FromJobMsg) -> None:
        self._core.tell(self._owner_of(event.job_id, "FROM_JOB_MSG"), event)

    def _switched(self, event: m.ResourceStateChanged) -> None:
        owner = self._core.owners.switched(event)
        if owner is None:
            raise self._ownerless("RESOURCE_STATE_CHANGED", "nobody asked for it")
        tenant = self._core.tenants[owner]
        self._core.tell(
            tenant, msgspec.structs.replace(event, resources=tenant.hosts.to_own(event.resources))
        )

    def _answered(self, event: m.Answer) -> None:
        owner = self._core.owners.answered()
        if owner is None:
            raise self._ownerless("ANSWER", "nobody asked")
        self._core.tell(self._core.tenants[owner], event)

    def _recalled(self, event: m.RemoveResources) -> None:
        self._core.starts.away.recall(event.resources)

    def _returned(self, event: m.AddResources) -> None:
        self._core.starts.away.returned(event.resources)

    def _begun_twice(self, event: m.SimulationBegins) -> None:
        raise RemoteProtocolError(f"SIMULATION_BEGINS came twice, at {self._core.date(event.timestamp)}")

    def _ownerless(self, name: str, why: str) -> RemoteProtocolError:
        return RemoteProtocolError(
            f"{name} at {self._core.date(self._core.now)} belongs to no scheduler: {why}"
        )

    def _owner_of(self, job: str, name: str) -> Tenant:
        rank = self._core.owners.of_job(job)
        if rank is None:
            raise self._ownerless(f"{name} of {job}", "its workload has no scheduler; add a route for it")
        return self._core.tenants[rank]

    def _submitted(self, event: m.JobSubmitted) -> None:
        tenant = self._owner_of(event.job_id, "JOB_SUBMITTED")
        own = self._core.owners.registered(event.job_id)
        if not own:
            self._core.owned(tenant, event.job_id, event.job)
        if tenant.gone is not None:
            if self._core.owners.job(event.job_id) is not None:  # else it was rejected when it was dropped
                self._core.forward(tenant.rank, m.RejectJob(self._core.now, event.job_id))
                self._core.owners.forget(event.job_id)
            return
        if own and not tenant.config.acknowledge_dynamic_jobs:
            return
        if event.profile is not None and not tenant.config.forward_profiles:
            event = msgspec.structs.replace(event, profile=None)
        self._core.tell(tenant, event)

    def _completed(self, event: m.JobCompleted) -> None:
        tenant = self._owner_of(event.job_id, "JOB_COMPLETED")
        if self._core.starts.is_held(event.job_id):
            raise RemoteProtocolError(
                f"JOB_COMPLETED of {event.job_id} at {self._core.date(self._core.now)}: "
                "it was not passed on to the simulator yet"
            )
        blocked = self._core.starts.over(event.job_id)
        self._core.owners.forget(event.job_id)
        own = tenant.hosts.to_own(event.alloc)
        if own != event.alloc:
            event = msgspec.structs.replace(event, alloc=own)
        if blocked:
            self._untold[event.job_id] = [event]
        else:
            self._tell_end(event, tenant)

    def _tell_end(self, event: m.JobCompleted, tenant: Tenant) -> None:
        self._core.write(r.EndTold(self._core.now, self._core.step, event.job_id))
        self._core.tell(tenant, event)

    def _killed(self, event: m.JobKilled) -> None:
        """Split a kill by owner; a part whose jobs are not told over yet waits for that."""
        parts: dict[int, list[str]] = {}
        for job in event.job_ids:
            tenant = self._owner_of(job, "JOB_KILLED")
            # Who does not speak sharing never asked for the broker's kills.
            if not self._core.owners.killed_by_broker(job) or tenant.speaks(SHARING):
                parts.setdefault(tenant.rank, []).append(job)
        for rank, jobs in parts.items():
            tenant = self._core.tenants[rank]
            progress = {job: event.job_progress[job] for job in jobs if job in event.job_progress}
            named = list(progress) if tenant.config.split_kill_ack else jobs
            if not named:
                continue
            self._tell_kill(m.JobKilled(event.timestamp, named, progress), tenant)

    def _tell_kill(self, event: m.JobKilled, tenant: Tenant) -> None:
        """Tell a tenant of a kill, once it knows of the end of each job in it."""
        untold = next((job for job in event.job_ids if job in self._untold), None)
        if untold is None:
            self._core.tell(tenant, event)
        else:
            self._untold[untold].append(event)

    def _notice(self, event: m.Notify) -> None:
        machines = event.type in ("event_machine_available", "event_machine_unavailable")
        if not machines:
            for tenant in self._core.tenants:
                self._core.tell(tenant, event)
            return
        hosts: HostSet = event.resources or ()
        for tenant in self._core.tenants:
            own = tenant.hosts.to_own(hosts)
            if own and tenant.speaks(MACHINE_EVENTS):
                self._core.tell(tenant, msgspec.structs.replace(event, resources=own))
        if event.type == "event_machine_available":
            self._core.starts.away.hosts_returned(hosts)
        else:
            self._core.starts.away.hosts_left(hosts)

    def _refused(self, event: m.DecisionRefused) -> None:
        core, job = self._core, event.job_id
        owner = core.owners.of_job(job) if job is not None else None
        if job is not None:
            self._undo(event.decision, job)
        if owner is None:
            owner = core.owners.last_said(event.decision)
        tenant = core.tenants[owner] if owner is not None and owner != BROKER else None
        if tenant is not None and tenant.gone is not None:
            self._refused_to_the_gone(tenant, event)
        # How hosts change their power state is the simulator's to know: being late with that is no breach.
        elif core.strict and event.decision != NAME_OF[m.SetResourceState]:
            about = f"{event.decision} {job}" if job else event.decision
            if tenant is not None:
                self._breaches.append((tenant, f"{about}: {event.reason}"))
            elif event.decision != NAME_OF[m.KillJob] or not self._start_was_refused:
                raise RemoteProtocolError(f"{about} at {core.date(core.now)}: {event.reason}")
            # else: a kill of what was not started, after all; the start is the breach
        elif tenant is not None and tenant.speaks(REFUSALS):
            core.tell(tenant, event)

    def _undo(self, decision: str, job: str) -> None:
        """Nothing came of a decision about a job."""
        core = self._core
        if decision == "EXECUTE_JOB":
            self._start_was_refused = True
            core.starts.refused(job)
            core.owners.start_refused(job)
        elif decision == "REGISTER_JOB":
            core.owners.unregister(job)
        elif decision == "CHANGE_JOB_STATE":
            core.owners.relabel_refused(job)

    def _refused_to_the_gone(self, tenant: Tenant, event: m.DecisionRefused) -> None:
        """A tenant was dropped in the reply in which it said this: its job waits, and nobody wants it."""
        job, keeps = event.job_id, event.decision in ("EXECUTE_JOB", "CHANGE_JOB_STATE")
        if keeps and job is not None and self._core.owners.job(job) is not None:
            self._core.forward(tenant.rank, m.RejectJob(self._core.now, job))
            self._core.owners.forget(job)

    def settle_refusals(self) -> None:
        """Fail the tenants whose decisions were refused, once all that was refused is known."""
        breaches, self._breaches = self._breaches, []
        self._start_was_refused = False
        for tenant, problem in breaches:
            if tenant.gone is None:
                self._core.fail(tenant, problem)

    def keeps_back(self, job: str) -> bool:
        """Is a job over, and its tenant is told after the epilog only?"""
        return job in self._untold

    def epilog_over(self, job: str) -> None:
        """Tell what was kept back while a job's hosts were cleaned."""
        tenant = self._owner_of(job, "JOB_COMPLETED")
        for event in self._untold.pop(job, ()):
            if isinstance(event, m.JobCompleted):
                self._tell_end(event, tenant)
            else:
                self._tell_kill(event, tenant)
