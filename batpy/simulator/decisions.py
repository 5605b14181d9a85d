"""Applies decisions: each one is checked by the gate, then changes the simulation, or is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from batpy.base.errors import InputError, RemoteProtocolError
from batpy.models.execution import Run
from batpy.protocol import messages as m
from batpy.protocol import records as r
from batpy.protocol.vocabulary import NAME_OF
from batpy.simulator.gate import NOWHERE, RANKS, Ignored, Reason, energy_is_off
from batpy.simulator.io_jobs import join_io_job
from batpy.simulator.jobs import RUNNING, Home
from batpy.workloads.job_object import parse_job
from batpy.workloads.profile import Parallel, Smpi, UsageTrace, parse_profile

if TYPE_CHECKING:
    from batpy.simulator.core import Simulator


class Decisions:
    """One method per kind of decision; each returns the rule that was broken, or None."""

    def __init__(self, simulator: Simulator) -> None:
        self._sim = simulator
        self._appliers: dict[type[m.Event], Callable[[Any], Reason]] = {
            m.ExecuteJob: self._execute,
            m.RejectJob: self._reject,
            m.KillJob: self._kill,
            m.CallMeLater: self._call,
            m.RegisterJob: self._register_job,
            m.RegisterProfile: self._register_profile,
            m.SetJobMetadata: self._metadata,
            m.ChangeJobState: self._relabel,
            m.ToJobMsg: self._to_job,
            m.Notify: self._notify,
            m.Query: self._query,
            m.SetResourceState: self._pstate,
            m.Answer: self._answer,
            m.Hello: self._hello,
        }
        self._index = 0

    def apply(self, index: int, decision: m.Event) -> None:
        """Apply one decision of a reply.

        Raises:
            RemoteProtocolError: in strict mode, if it is refused.
        """
        self._index = index
        applier = self._appliers.get(type(decision))
        if applier is None:
            reason: Reason = "a simulator does not take this; it belongs between a broker and its tenants"
        else:
            reason = applier(decision)
        if reason is not None:
            self._refuse(index, decision, reason)

    def _refuse(self, index: int, decision: m.Event, reason: str) -> None:
        sim = self._sim
        name, job = NAME_OF[type(decision)], getattr(decision, "job_id", "")
        sim.write(r.Refused(sim.now, index, name, job, reason))
        if sim.config.strict and not isinstance(reason, Ignored):
            about = f"{name} {job}" if job else name
            raise RemoteProtocolError(f"events[{index}] {about} at {sim.date(sim.now)}: {reason}")
        if "refusals" in sim.wants:
            sim.outbox.append(m.DecisionRefused(sim.now, name, reason, job or None))

    # ------------------------------------------------------------------ jobs

    def _execute(self, decision: m.ExecuteJob) -> Reason:
        sim = self._sim
        gate = sim.gate
        entry = gate.waiting_job(decision.job_id)
        if isinstance(entry, str):
            return entry
        tree = gate.profile_of(entry)
        if isinstance(tree, str):
            return tree
        reason = gate.execute(decision, entry, tree)
        if reason is not None:
            return reason
        hosts, storage = NOWHERE
        ranks: Sequence[int] = ()
        if not tree.sleeps:
            placement = gate.placement(decision, entry, tree)
            if isinstance(placement, str):
                return placement
            hosts, storage = placement
            ranks = entry.job.raw.get(RANKS, ())
        io_hosts: tuple[int, ...] = ()
        if decision.additional_io_job is not None:
            joint = join_io_job(gate, decision, entry, tree, storage)
            if isinstance(joint, str):
                return joint
            tree, io_hosts, storage = joint.tree, joint.hosts, joint.storage
            if joint.registered is not None:
                entry.home.add_profile(joint.registered)
        now, alloc, walltime = sim.agenda.now, decision.alloc, entry.job.walltime
        entry.phase = RUNNING
        entry.alloc = alloc
        deadline = None if walltime is None else now + walltime
        entry.run = run = Run(entry, tree, deadline, hosts, storage, io_hosts, ranks, entry.inbox)
        sim.park.occupy(alloc)
        sim.write(r.Started(now, entry.id, alloc))
        sim.execution.start(run)
        return None

    def _reject(self, decision: m.RejectJob) -> Reason:
        sim = self._sim
        entry = sim.gate.waiting_job(decision.job_id)
        if isinstance(entry, str):
            return entry
        sim.write(r.Rejected(sim.now, entry.id))
        sim.forget(entry)
        return None

    def _kill(self, decision: m.KillJob) -> Reason:
        sim = self._sim
        # A job that ends at this very instant has ended by itself: completion wins (Batsim 4.2.1).
        sim.agenda.finish_instant()
        reason = sim.gate.kill(decision)
        if reason is not None:
            return reason
        jobs = sim.jobs
        named = [id_ for id_ in dict.fromkeys(decision.job_ids) if id_ not in jobs.killed]
        victims = [jobs.alive[id_] for id_ in named if id_ in jobs.alive]
        progress: dict[str, m.Json] = {}
        codes: list[int] = []
        for entry in victims:
            assert entry.run is not None
            progress[entry.id], code = sim.execution.stop(entry.run)
            codes.append(code)
            jobs.killed.add(entry.id)
        if victims:
            sim.write(r.KillAsked(sim.now, tuple(entry.id for entry in victims), progress))
        for entry, code in zip(victims, codes, strict=True):
            sim.end(entry, "COMPLETED_KILLED", code)
        self._acknowledge_kill(named, progress)
        return None

    def _acknowledge_kill(self, named: list[str], progress: dict[str, m.Json]) -> None:
        sim = self._sim
        if sim.config.split_kill_ack:
            named = list(progress)
        if named:
            sim.outbox.append(m.JobKilled(sim.now, named, progress))

    def _metadata(self, decision: m.SetJobMetadata) -> Reason:
        reason = self._sim.gate.metadata(decision)
        if reason is None:
            self._sim.write(r.Annotated(self._sim.now, decision.job_id, decision.metadata))
        return reason

    def _relabel(self, decision: m.ChangeJobState) -> Reason:
        sim = self._sim
        entry = sim.gate.relabel(decision)
        if isinstance(entry, str):
            return entry
        sim.write(r.Relabelled(sim.now, entry.id, decision.job_state))
        entry.phase = decision.job_state
        if decision.job_state != RUNNING:
            sim.forget(entry)
        return None

    def _to_job(self, decision: m.ToJobMsg) -> Reason:
        entry = self._sim.jobs.alive.get(decision.job_id)
        if entry is None:
            over = decision.job_id in self._sim.jobs.ended
            return f"job {decision.job_id} {'is already over' if over else 'was not submitted'}"
        entry.inbox.append(decision.msg)
        hear = self._sim.execution.on_text
        if hear is not None and entry.run is not None:
            hear(entry.run)
        return None

    # ------------------------------------------------------------------ dynamic registration

    def _closed(self) -> Reason:
        if not self._sim.config.dynamic_jobs:
            return "dynamic registration is off; it needs dynamic_jobs (--enable-dynamic-jobs)"
        if not self._sim.registering:
            return "registration was declared finished; NOTIFY continue_registration opens it again"
        return None

    def _register_profile(self, decision: m.RegisterProfile) -> Reason:
        sim = self._sim
        home = sim.homes.get(decision.workload_name)
        reason = self._closed() or sim.gate.register_profile(decision, home)
        if reason is not None:
            return reason
        try:
            profile = parse_profile(decision.profile_name, decision.profile, path="data.profile")
        except InputError as why:
            return str(why)
        if isinstance(profile, (Smpi, UsageTrace)):
            return "profiles that replay trace files cannot be registered by a scheduler"
        if home is None:
            home = sim.homes[decision.workload_name] = Home(decision.workload_name, None)
        home.add_profile(profile)
        return None

    def _register_job(self, decision: m.RegisterJob) -> Reason:
        sim = self._sim
        workload, _, name = decision.job_id.partition("!")
        home = sim.homes.get(workload)
        reason = self._closed() or sim.gate.register_job(decision, home)
        if reason is not None:
            return reason
        assert home is not None
        try:
            job = parse_job(
                decision.job,
                workload=workload,
                ticks_per_second=sim.config.ticks_per_second,
                path="data.job",
            )
        except InputError as why:
            return str(why)
        if job.id != name:
            return f"data.job.id {job.id!r} is not the job {decision.job_id}"
        profile = home.profile(job.profile)
        if profile is None:
            return f"profile {job.profile!r} of workload {workload} is not known"
        if job.profile in home.dropped:
            return f"profile {job.profile!r} went with the jobs that used it; profile_reuse keeps profiles"
        if isinstance(profile, Parallel) and len(profile.cpu) != job.res:
            return f"profile {job.profile!r} is for {len(profile.cpu)} hosts, the job asks for {job.res}"
        sim.jobs_total += 1
        sim.submit(home, job, True)
        return None

    def _notify(self, decision: m.Notify) -> Reason:
        word = decision.type
        if word not in ("registration_finished", "continue_registration"):
            return (
                f"type {word!r} is not known; a scheduler says registration_finished or continue_registration"
            )
        if self._sim.config.dynamic_jobs:
            self._sim.registering = word == "continue_registration"
        return None

    # ------------------------------------------------------------------ the rest

    def _call(self, decision: m.CallMeLater) -> Reason:
        sim = self._sim
        if not sim.gate.call(decision, sim.now):
            wanted, now = sim.date(decision.at), sim.date(sim.now)
            return f"the wanted date ({wanted}) is not after the present one ({now})"
        sim.pending_calls += 1
        sim.agenda.at(decision.at, self._called)
        return None

    def _called(self, _: None) -> None:
        self._sim.pending_calls -= 1
        self._sim.outbox.append(m.RequestedCall(self._sim.now))

    def _query(self, decision: m.Query) -> Reason:
        unknown = [name for name in decision.requests if name != "consumed_energy"]
        if unknown or not decision.requests:
            return f"requests must hold exactly consumed_energy, got {sorted(decision.requests)}"
        power = self._sim.power
        if power is None:
            return energy_is_off("QUERY consumed_energy")
        self._sim.outbox.append(m.Answer(self._sim.now, power.consumed()))
        return None

    def _pstate(self, decision: m.SetResourceState) -> Reason:
        power = self._sim.power
        return energy_is_off("SET_RESOURCE_STATE") if power is None else power.request(decision)

    def _answer(self, decision: m.Answer) -> Reason:
        if decision.estimate_waiting_time is None:
            return "the simulator asked no such question"
        return None

    def _hello(self, decision: m.Hello) -> Reason:
        if self._index or self._sim.replies != 1:
            return "HELLO must be the first decision of the first reply"
        self._sim.wants |= set(decision.wants)
        return None
