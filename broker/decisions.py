"""What tenants say: each decision is checked against what its author owns, translated and passed on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from batpy.broker.tenants import SHARING, Tenant
from batpy.protocol import extensions as x
from batpy.protocol import hostset
from batpy.protocol import messages as m
from batpy.protocol.hostset import HostSet
from batpy.protocol.vocabulary import NAME_OF

if TYPE_CHECKING:
    from batpy.broker.core import BrokerCore


class TenantDecisions:
    """Applies the decisions of tenants.

    A decision that breaks a rule makes its author fail, with the decision and the rule told.
    """

    def __init__(self, core: BrokerCore) -> None:
        self._core = core
        self._graced: list[tuple[Tenant, list[str]]] = []  # kills held back, by number
        self._apply: dict[type[m.Event], Callable[[Tenant, Any], str | None]] = {
            m.ExecuteJob: self._execute,
            m.KillJob: self._kill,
            m.RejectJob: self._reject,
            m.CallMeLater: self._call,
            m.RegisterJob: self._register_job,
            m.RegisterProfile: self._register_profile,
            m.SetResourceState: self._switch,
            m.SetJobMetadata: self._annotate,
            m.ChangeJobState: self._relabel,
            m.ToJobMsg: self._tell_job,
            m.Notify: self._notify,
            m.Query: self._query,
            m.Answer: self._pass,
            x.CreateContainer: self._pass,
            x.SuspendContainer: self._pass,
            m.Hello: self._hello,
            m.ResourcesRemoved: self._removed,
            m.ResourcesAdded: self._added,
        }

    def apply(self, tenant: Tenant, decision: m.Event) -> None:
        """Carry out one decision."""
        kind = type(decision)
        handler = self._apply.get(kind)
        reason = (
            handler(tenant, decision) if handler is not None else "the broker knows nobody who would hear it"
        )
        if reason is not None:
            job = getattr(decision, "job_id", None)
            about = f"{NAME_OF[kind]} {job}" if job else NAME_OF[kind]
            self._core.fail(tenant, f"{about}: {reason}")

    # ------------------------------------------------------------------ jobs

    def _own(self, tenant: Tenant, job: str) -> str | None:
        """Why the job is not the tenant's to decide on, or None."""
        owner = self._core.owners.of_job(job)
        if owner is None or (owner == tenant.rank and not self._core.owners.is_known(job)):
            return f"there is no job {job}"
        if owner != tenant.rank:
            return f"job {job} belongs to scheduler {self._core.tenants[owner].name}"
        return None

    def _park(self, tenant: Tenant, hosts: HostSet) -> HostSet | str:
        try:
            return tenant.hosts.to_park(hosts)
        except ValueError as why:
            return str(why)

    def _execute(self, tenant: Tenant, decision: m.ExecuteJob) -> str | None:
        core = self._core
        owned = core.owners.job(decision.job_id)
        if owned is None or owned.rank != tenant.rank:
            return self._own(tenant, decision.job_id) or f"job {decision.job_id} is already over"
        if owned.started:
            return f"job {decision.job_id} was started before"
        hosts = self._park(tenant, decision.alloc)
        if isinstance(hosts, str):
            return hosts
        if not hosts:
            return "alloc is empty; a job needs at least one host"
        nb_compute = hostset.size(core.park.hosts)
        compute = hosts if hosts[-1][1] < nb_compute else hostset.intersection(hosts, core.park.hosts)
        translated = decision
        if hosts != decision.alloc or decision.storage_mapping or decision.additional_io_job is not None:
            elsewhere = self._elsewhere(tenant, decision, hosts)
            if isinstance(elsewhere, str):
                return elsewhere
            translated = elsewhere
        else:
            # The tenant may go on using its own object.
            translated = m.ExecuteJob(
                decision.timestamp, decision.job_id, hosts, decision.mapping, decision.storage_mapping
            )
        owned.started = core.starts.ask(tenant, translated, compute)
        return None

    def _elsewhere(self, tenant: Tenant, decision: m.ExecuteJob, hosts: HostSet) -> m.ExecuteJob | str:
        """The decision with every host id translated."""
        io_job, storages = decision.additional_io_job, decision.storage_mapping
        try:
            if storages:
                storages = {label: tenant.hosts.one_to_park(host) for label, host in storages.items()}
            if io_job is not None:
                io_job = msgspec.structs.replace(io_job, alloc=tenant.hosts.to_park(io_job.alloc))
        except ValueError as why:
            return str(why)
        return msgspec.structs.replace(
            decision, alloc=hosts, storage_mapping=storages, additional_io_job=io_job
        )

    def _kill(self, tenant: Tenant, decision: m.KillJob) -> str | None:
        core = self._core
        if not decision.job_ids:
            return "job_ids is empty"
        running: list[str] = []
        for job in dict.fromkeys(decision.job_ids):
            reason = self._own(tenant, job)
            if reason is not None:
                return reason
            owned = core.owners.job(job)
            if owned is not None and not owned.started:
                if core.is_refusal_untold(tenant, job):
                    continue
                return f"job {job} is not running"
            if core.starts.is_held(job):
                core.starts.drop(job, "killed by its scheduler before its start")
            else:
                running.append(job)
        dates: dict[int, list[str]] = {}
        for job in running:
            until = core.starts.grace_until(job)
            dates.setdefault(until if until > core.now else core.now, []).append(job)
        for until, jobs in dates.items():
            if until > core.now:
                self._graced.append((tenant, jobs))
                core.wake(until, "kill", len(self._graced) - 1)
            else:
                core.owners.kill(jobs)
                core.forward(tenant.rank, m.KillJob(decision.timestamp, jobs))
        return None

    def kill_after_grace(self, number: int) -> None:
        """The victims of a held kill have had their time; those that are over by now are left alone."""
        core, (tenant, jobs) = self._core, self._graced[number]
        left: list[str] = []
        for job in jobs if tenant.gone is None else ():
            owned = core.owners.job(job)
            if owned is None or not owned.started:
                continue
            if core.starts.is_held(job):
                core.starts.drop(job, "killed by its scheduler before its start")
            else:
                left.append(job)
        if left:
            core.owners.kill(left)
            core.forward(tenant.rank, m.KillJob(core.now, left))

    def _reject(self, tenant: Tenant, decision: m.RejectJob) -> str | None:
        core = self._core
        owned = core.owners.job(decision.job_id)
        reason = self._own(tenant, decision.job_id)
        if reason is not None:
            return reason
        if owned is None:
            return f"job {decision.job_id} is already over"
        if owned.started:
            return f"job {decision.job_id} was started before"
        core.owners.forget(decision.job_id)
        core.forward(tenant.rank, decision)
        return None

    def _annotate(self, tenant: Tenant, decision: m.SetJobMetadata) -> str | None:
        reason = self._own(tenant, decision.job_id)
        if reason is None:
            self._core.forward(tenant.rank, decision)
        return reason

    def _tell_job(self, tenant: Tenant, decision: m.ToJobMsg) -> str | None:
        job = decision.job_id
        reason = self._own(tenant, job)
        # The simulator refuses texts to jobs that are over: not passed on if their author cannot know that.
        over = self._core.owners.is_dying(job) or self._core.is_end_untold(tenant, job)
        if reason is None and not over:
            self._core.forward(tenant.rank, decision)
        return reason

    def _relabel(self, tenant: Tenant, decision: m.ChangeJobState) -> str | None:
        reason = self._own(tenant, decision.job_id)
        if reason is None and self._core.starts.knows(decision.job_id):
            reason = f"job {decision.job_id} was started on hosts; only KILL_JOB ends it"
        if reason is None:
            if self._core.owners.job(decision.job_id) is not None:
                over = decision.job_state.startswith("COMPLETED") or decision.job_state == m.REJECTED
                self._core.owners.relabel(decision.job_id, over=over)
            self._core.forward(tenant.rank, decision)
        return reason

    # ------------------------------------------------------------------ registration

    def _closed(self, tenant: Tenant) -> str | None:
        if not tenant.config.dynamic_jobs:
            return f"dynamic registration is off for it; it needs dynamic_jobs (scheduler.{tenant.name})"
        if not tenant.registering:
            return "it declared its registration finished; NOTIFY continue_registration opens it again"
        return None

    def _workload(self, tenant: Tenant, workload: str) -> str | None:
        owner = self._core.owners.workload_owner(workload)
        if owner is not None and owner != tenant.rank:
            return f"workload {workload!r} belongs to scheduler {self._core.tenants[owner].name}"
        return None

    def _register_job(self, tenant: Tenant, decision: m.RegisterJob) -> str | None:
        core = self._core
        workload = decision.job_id.partition("!")[0]
        reason = self._closed(tenant) or self._workload(tenant, workload)
        if reason is None and core.owners.is_known(decision.job_id):
            reason = f"job {decision.job_id} already exists"
        if reason is not None:
            return reason
        core.owners.claim(workload, tenant.rank)
        core.owners.register(decision.job_id)
        core.owned(tenant, decision.job_id, decision.job)
        core.forward(tenant.rank, decision)
        return None

    def _register_profile(self, tenant: Tenant, decision: m.RegisterProfile) -> str | None:
        core = self._core
        reason = self._closed(tenant) or self._workload(tenant, decision.workload_name)
        if reason is not None:
            return reason
        core.owners.claim(decision.workload_name, tenant.rank)
        core.owners.add_profile(decision.workload_name, decision.profile_name, decision.profile)
        core.owners.say("REGISTER_PROFILE", tenant.rank)
        core.forward(tenant.rank, decision)
        return None

    def _notify(self, tenant: Tenant, decision: m.Notify) -> str | None:
        if decision.type not in ("registration_finished", "continue_registration"):
            return f"type {decision.type!r} is not known; want registration_finished or continue_registration"
        self._core.registration(tenant, decision.type == "continue_registration")
        return None

    # ------------------------------------------------------------------ the rest

    def _call(self, tenant: Tenant, decision: m.CallMeLater) -> str | None:
        core = self._core
        if decision.timestamp < decision.at <= core.now:
            # It was legal when it was said; it could not be passed on in time.
            core.tell(tenant, m.RequestedCall(decision.at))
            return None
        if decision.at <= core.now:
            return f"the wanted date ({core.date(decision.at)}) is not after the present one"
        core.owners.call(decision.at, tenant.rank)
        core.owners.say("CALL_ME_LATER", tenant.rank, decision.at)
        core.forward(tenant.rank, decision)
        return None

    def _query(self, tenant: Tenant, decision: m.Query) -> str | None:
        self._core.owners.ask(tenant.rank)
        self._core.owners.say("QUERY", tenant.rank)
        self._core.forward(tenant.rank, decision)
        return None

    def _pass(self, tenant: Tenant, decision: m.Event) -> str | None:
        self._core.forward(tenant.rank, decision)
        return None

    def _switch(self, tenant: Tenant, decision: m.SetResourceState) -> str | None:
        core = self._core
        hosts = self._park(tenant, decision.resources)
        if isinstance(hosts, str):
            return hosts
        ledger = core.starts.ledger
        if strange := hostset.difference(hosts, ledger.lent[tenant.rank]):
            return f"its hosts {hostset.to_text(tenant.hosts.to_own(strange))} are not lent to it"
        for other in core.tenants:
            rank = other.rank
            theirs = hostset.union(hostset.union(ledger.lent[rank], ledger.leaving[rank]), ledger.busy[rank])
            shared = hostset.intersection(hosts, theirs)
            if other is not tenant and shared:
                own = hostset.to_text(tenant.hosts.to_own(shared))
                return (
                    f"its hosts {own} may be used by scheduler {other.name} too; "
                    "power states need hosts of its own, as with the policy static"
                )
        core.owners.switch(hosts, decision.state, tenant.rank)
        core.forward(tenant.rank, m.SetResourceState(decision.timestamp, hosts, decision.state))
        return None

    def _hello(self, tenant: Tenant, decision: m.Hello) -> str | None:
        if self._core.step:
            return "it must be the first decision of the first reply"
        tenant.wants |= set(decision.wants)
        return None

    def _removed(self, tenant: Tenant, decision: m.ResourcesRemoved) -> str | None:
        if not tenant.speaks(SHARING):
            return f"it did not ask for sharing; name it in wants (scheduler.{tenant.name})"
        hosts = self._park(tenant, decision.resources)
        if isinstance(hosts, str):
            return hosts
        self._core.starts.revoking.acknowledged(tenant, hosts)
        return None

    def _added(self, tenant: Tenant, decision: m.ResourcesAdded) -> str | None:
        """Nothing waits for it."""
        del decision
        return None if tenant.speaks(SHARING) else "it did not ask for sharing"
