"""Applies decisions: each one is checked by the gate, then changes the simulation, or is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from batpy.base.errors import RemoteProtocolError
from batpy.models.execution import Run
from batpy.models.work import work_done
from batpy.protocol import messages as m
from batpy.protocol import records as r
from batpy.protocol.vocabulary import BY_KIND, NAME_OF
from batpy.simulator.gate import NOWHERE, RANKS, Ignored, Reason, energy_is_off
from batpy.simulator.io_jobs import join_io_job
from batpy.simulator.jobs import RUNNING, Home
from batpy.workloads.profile import Profile

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
        if simulator.serving is not None:
            self._appliers.update(simulator.serving.appliers())
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
            if BY_KIND[type(decision)].extension == "serving":
                reason = "this simulation has no requests (a workload of kind requests)"
        else:
            reason = applier(decision)
        if reason is not None:
            self._refuse(index, decision, reason)

    def _refuse(self, index: int, decision: m.Event, reason: str) -> None:
        sim = self._sim
        name, job = NAME_OF[type(decision)], getattr(decision, "job_id", "")
        ignored = isinstance(reason, Ignored)
        reason = str(reason)  # what is written and said is a plain text: no codec knows a kind of our own
        sim.write(r.Refused(sim.now, index, name, job, reason))
        if sim.config.strict and not ignored:
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
        registered: Profile | None = None
        if decision.additional_io_job is not None:
            joint = join_io_job(gate, decision, entry, tree, storage)
            if isinstance(joint, str):
                return joint
            tree, io_hosts, storage, registered = joint.tree, joint.hosts, joint.storage, joint.registered
        now, alloc, walltime = sim.agenda.now, decision.alloc, entry.job.walltime
        deadline = None if walltime is None else now + walltime
        run = Run(entry, tree, deadline, hosts, storage, io_hosts, ranks, entry.inbox)
        if not tree.sleeps and (reason := sim.execution.prepare(run)) is not None:
            return reason
        if registered is not None:
            entry.home.add_profile(registered)
        entry.phase, entry.alloc, entry.run = RUNNING, alloc, run
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
        since: list[int] = []
        work: list[tuple[float, ...]] = []
        for entry in victims:
            assert entry.run is not None
            since.append(entry.run.since)
            progress[entry.id], code = sim.execution.stop(entry.run)
            work.append(work_done(entry.run, progress[entry.id], sim.config.seed))
            codes.append(code)
            jobs.killed.add(entry.id)
        if victims:
            killed = tuple(entry.id for entry in victims)
            sim.write(r.KillAsked(sim.now, killed, progress, tuple(since), tuple(work)))
        for entry, code in zip(victims, codes, strict=True):
            sim.end(entry, m.COMPLETED_KILLED, code)
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
        entry = self._sim.gate.live_job(decision.job_id)
        if isinstance(entry, str):
            return entry
        entry.inbox.append(decision.msg)
        hear = self._sim.execution.on_text
        if hear is not None and entry.run is not None:
            hear(entry.run)
        return None

    # ------------------------------------------------------------------ dynamic registration

    def _closed(self) -> Reason:
        sim = self._sim
        return sim.gate.registration(dynamic_jobs=sim.config.dynamic_jobs, is_open=sim.registering)

    def _register_profile(self, decision: m.RegisterProfile) -> Reason:
        sim = self._sim
        home = sim.homes.get(decision.workload_name)
        profile = self._closed() or sim.gate.new_profile(decision, home)
        if isinstance(profile, str):
            return profile
        if home is None:
            home = sim.homes[decision.workload_name] = Home(decision.workload_name, None)
        home.add_profile(profile)
        return None

    def _register_job(self, decision: m.RegisterJob) -> Reason:
        sim = self._sim
        home = sim.homes.get(decision.job_id.partition("!")[0])
        job = self._closed() or sim.gate.new_job(decision, home, sim.config.ticks_per_second)
        if isinstance(job, str):
            return job
        assert home is not None  # the gate refuses jobs of unknown workloads
        sim.jobs_total += 1
        sim.submit(home, job, True)
        return None

    def _notify(self, decision: m.Notify) -> Reason:
        reason = self._sim.gate.notice(decision)
        if reason is None and self._sim.config.dynamic_jobs:
            self._sim.registering = decision.type == "continue_registration"
        return reason

    # ------------------------------------------------------------------ the rest

    def _call(self, decision: m.CallMeLater) -> Reason:
        sim = self._sim
        # The latency is the simulation's: it makes no wish illegal that was legal when it was said.
        if not sim.gate.call(decision, decision.timestamp if sim.config.latency else sim.now):
            wanted, now = sim.date(decision.at), sim.date(sim.now)
            return f"the wanted date ({wanted}) is not after the present one ({now})"
        sim.pending_calls += 1
        sim.agenda.at(max(decision.at, sim.now + 1), self._called)
        return None

    def _called(self, _: None) -> None:
        self._sim.pending_calls -= 1
        self._sim.outbox.append(m.RequestedCall(self._sim.now))

    def _query(self, decision: m.Query) -> Reason:
        power = self._sim.power
        reason = self._sim.gate.query(decision, energy=power is not None)
        if reason is None and power is not None:
            self._sim.outbox.append(m.Answer(self._sim.now, power.consumed()))
        return reason

    def _pstate(self, decision: m.SetResourceState) -> Reason:
        power = self._sim.power
        return energy_is_off("SET_RESOURCE_STATE") if power is None else power.request(decision)

    def _answer(self, decision: m.Answer) -> Reason:
        return self._sim.gate.answer(decision)

    def _hello(self, decision: m.Hello) -> Reason:
        reason = self._sim.gate.hello(first=not self._index and self._sim.replies == 1)
        if reason is None:
            self._sim.wants |= set(decision.wants)
        return reason
