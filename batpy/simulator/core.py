"""The simulator: a pure core that asks a scheduler what to do and lets simulated time pass.

``begin()`` gives the first request; ``handle(reply)`` applies a reply and gives the next request, or None
when the simulation is over. One step and its order are those of Batsim 4.2.1: all events of an instant in
one message, in the order in which the waits for them began; a reply's decisions in list order, each at its
own date; the scheduler is asked again no earlier than its reply's ``now``. Knows no socket, file or clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from batpy._version import __version__
from batpy.base.errors import BatpyError, InputError, RemoteProtocolError
from batpy.kernel.agenda import Agenda
from batpy.kernel.ticks import seconds_text
from batpy.models.delay import DelayModel
from batpy.models.execution import WALLTIME_REACHED, Execution, LeafModel, Run, Tree, resolve
from batpy.models.work import work_of
from batpy.platforms.platform import Platform
from batpy.protocol import messages as m
from batpy.protocol import records as r
from batpy.simulator.arrivals import EventSource, JobSource
from batpy.simulator.config import SimulatorConfig
from batpy.simulator.decisions import Decisions
from batpy.simulator.gate import Gate
from batpy.simulator.greeting import greeting
from batpy.simulator.jobs import Entry, Home, JobTable
from batpy.simulator.park import Park
from batpy.workloads.external_events import UNAVAILABLE, ExternalEvent
from batpy.workloads.job import Job, Workload
from batpy.workloads.profile import PARALLEL_TASKS, Delay, Profile, Recv, Send, StageDag, UsageTrace

if TYPE_CHECKING:
    from batpy.simulator.power import Power
    from batpy.simulator.serving import Serving, ServingSetup
    from batpy.workloads.serving.requests import RequestWorkload

_STATE_OF_CODE: dict[int, m.JobState] = {
    0: m.COMPLETED_SUCCESSFULLY,
    WALLTIME_REACHED: m.COMPLETED_WALLTIME_REACHED,
}


class Simulator:
    """One simulation.

    Args:
        platform: hosts.
        workloads: in the order their first submissions are waited for.
        sink: takes the journal's records.
        config: options.
        events: files of external events, each already read.
        serving: requests and workers of ML serving, if there are any.

    Attributes:
        now: the clock, in ticks.
        jobs_total: jobs of the workloads, plus those registered so far.
        replies: replies handled so far.
        power: energy and pstates, or None in a run without energy.
        serving: requests and workers, or None in a run without requests.
        outbox: events of the next request.
    """

    def __init__(
        self,
        platform: Platform,
        workloads: Sequence[Workload],
        sink: r.Sink,
        config: SimulatorConfig | None = None,
        events: Sequence[list[ExternalEvent]] = (),
        serving: ServingSetup | None = None,
    ) -> None:
        config = config or SimulatorConfig()
        self.config = config
        self.platform = platform
        self.workloads = workloads
        self.agenda = Agenda()
        self.jobs = JobTable()
        self.park = Park(
            platform, compute_sharing=config.compute_sharing, storage_sharing=config.storage_sharing
        )
        self.execution = Execution(self.agenda, self._run_over)
        self.execution.add_model(Delay, DelayModel(self.execution, config.ticks_per_second))
        self.execution.add_maker((*PARALLEL_TASKS, UsageTrace), self._parallel_models)
        self.execution.add_maker((Send, Recv), self._talking_models)
        self.execution.add_maker((StageDag,), self._dag_models)
        self.gate = Gate(self.jobs, self.park, self.execution)
        self.homes = {w.id: Home(w.id, w) for w in workloads}
        self.power: Power | None = None
        if config.energy:
            # Runs without energy do without it.
            from batpy.simulator.power import Power

            sink = self.power = Power(self, sink)
        self.write = sink.write
        self.serving: Serving | None = None
        if serving is not None:
            from batpy.simulator.serving import Serving

            self.serving = Serving(self, serving, self._workload_exhausted)
        self.outbox: list[m.Event] = []
        self.pending_calls = 0
        self.registering = config.dynamic_jobs
        self.wants = frozenset(config.wants)
        self._drops_profiles = config.dynamic_jobs and not config.profile_reuse
        self.forward_profiles = config.forward_profiles or any(w.streamed for w in workloads)
        self.jobs_total = sum(len(w) for w in workloads)
        self._decisions = Decisions(self)
        self._notices: list[m.Event] = []
        self._sources = {w.id: self._source(w) for w in workloads}
        self._event_sources = [
            EventSource(list(batch), self.agenda, self._external, self._events_exhausted) for batch in events
        ]
        self._open_sources = len(self._sources) + (len(serving.workloads) if serving is not None else 0)
        self._open_event_sources = len(self._event_sources)
        self._started = False
        self._ending = False
        self._finished = False
        self._reached = True
        self._asked_at = 0
        self._waits_to_consult = bool(config.latency or config.time_step)
        self.replies = 0

    def _parallel_models(self) -> dict[type[Profile], LeafModel]:
        # Runs of jobs that only sleep do without it.
        from batpy.models.parallel import ParallelModel
        from batpy.models.usage import UsageModel

        power = self.power
        told = () if power is None else (power.model.set_load, power.model.visit)
        model = ParallelModel(self.execution, self.platform, self.config.ticks_per_second, *told)
        if power is not None:
            power.watch(model)
        usage = UsageModel(self.execution, model, self.platform)
        return {**dict.fromkeys(PARALLEL_TASKS, model), UsageTrace: usage}

    def _talking_models(self) -> dict[type[Profile], LeafModel]:
        # Few workloads hold jobs that talk.
        from batpy.models.messaging import RecvModel, SendModel

        scale = self.config.ticks_per_second
        return {
            Send: SendModel(self.execution, scale, self._job_says),
            Recv: RecvModel(self.execution, scale),
        }

    def _dag_models(self) -> dict[type[Profile], LeafModel]:
        # Few workloads hold applications of stages.
        from batpy.models.dag.model import DagModel

        config = self.config
        return {StageDag: DagModel(self.execution, self.platform, config.ticks_per_second, config.seed)}

    def _job_says(self, run: Run, message: Mapping[str, Any]) -> None:
        self.outbox.append(m.FromJobMsg(self.agenda.now, run.owner.id, dict(message)))

    def _source(self, workload: Workload) -> JobSource:
        home = self.homes[workload.id]
        source = JobSource(
            workload,
            self.agenda,
            partial(self.submit, home),
            self._workload_exhausted,
            self.config.ticks_per_second,
        )
        if source.has_followers:
            home.on_over = source.job_over
        return source

    def all_workloads(self) -> Iterator[Workload | RequestWorkload]:
        """Those of jobs, then those of requests."""
        yield from self.workloads
        if self.serving is not None:
            yield from self.serving.setup.workloads

    @property
    def now(self) -> int:
        """The clock, in ticks."""
        return self.agenda.now

    def date(self, ticks: int) -> str:
        """A date as people read it, in seconds."""
        return seconds_text(ticks, self.config.ticks_per_second)

    # ------------------------------------------------------------------ conversation

    def begin(self) -> m.Message:
        """The first request: SIMULATION_BEGINS, alone."""
        assert not self._started
        self._started = True
        self.write(
            r.RunBegins(
                time=0,
                version=__version__,
                ticks_per_second=self.config.ticks_per_second,
                nb_compute=len(self.platform.compute),
                nb_storage=len(self.platform.storage),
                compute_sharing=self.config.compute_sharing,
                workloads={w.id: _without_place(w.source) for w in self.all_workloads()},
                hosts=() if self.platform.source.startswith("hosts=") else self._names(),
                seed=self.config.seed,
                storage_sharing=self.config.storage_sharing,
            )
        )
        for source in self._sources.values():
            source.begin()
        if self.serving is not None:
            self.serving.begin()
        for events in self._event_sources:
            events.begin()
        return m.Message(0, [greeting(self)])

    def handle(self, reply: m.Message) -> m.Message | None:
        """Apply a reply; the next request, or None when the simulation is over.

        Raises:
            RemoteProtocolError: the reply, or in strict mode one of its decisions, broke a rule.
            InputError: an external event cannot happen.
        """
        agenda = self.agenda
        decisions = reply.events
        if self._ending:
            if decisions:
                raise RemoteProtocolError("the reply to SIMULATION_ENDS must hold no decision")
            self.finish("done")
            return None
        self.replies += 1
        if reply.now < self._asked_at:
            now, asked = self.date(reply.now), self.date(self._asked_at)
            raise RemoteProtocolError(f"the reply's now ({now}) is before the request's ({asked})")
        if decisions:
            self._apply(decisions, reply.now)
        if reply.now > agenda.now:
            self._run_until(reply.now)
        return self._next_request()

    def _apply(self, decisions: list[m.Event], now: int) -> None:
        """Apply the decisions of a reply in list order, each at its own date."""
        agenda, apply, latency = self.agenda, self._decisions.apply, self.config.latency
        for index, decision in enumerate(decisions):
            due = decision.timestamp
            if due > now:
                said, limit = self.date(due), self.date(now)
                raise RemoteProtocolError(
                    f"events[{index}]: timestamp ({said}) is after the reply's now ({limit})"
                )
            if latency:
                due += latency
            if due > agenda.now:
                self._run_until(due)
            apply(index, decision)

    def finish(self, outcome: str, reason: str = "") -> None:
        """Write the closing marker, once."""
        if not self._finished:
            self._finished = True
            self.write(r.RunEnds(self.agenda.now, outcome, reason))

    def _next_request(self) -> m.Message:
        agenda, heap, alive, outbox = self.agenda, self.agenda.heap, self.jobs.alive, self.outbox
        step = agenda.step
        while True:
            now = agenda.now
            while heap and heap[0][0] == now:
                step()
            if outbox or self._notices:
                break
            if not alive and self._is_over():
                self._ending = True
                self._asked_at = now
                return m.Message(now, [m.SimulationEnds(now)])
            if not heap:
                if self.serving is not None and self.serving.give_up():
                    continue
                raise RemoteProtocolError(self._deadlock())
            step()
        if self._waits_to_consult:
            now = self._wait_to_consult()
        events = outbox.copy()
        outbox.clear()
        if self._notices:
            events += self._notices
            self._notices = []
        self._asked_at = now
        return m.Message(now, events)

    def _wait_to_consult(self) -> int:
        """Let the latency pass, then what is left until a multiple of the time step; the date reached."""
        due = self.agenda.now + self.config.latency
        step = self.config.time_step
        if step:
            due = -(-due // step) * step
        if due > self.agenda.now:
            self._run_until(due)
            self.agenda.finish_instant()
        return due

    def _run_until(self, time: int) -> None:
        """Let time pass until *time*; what else happens then keeps the order in which its wait began."""
        self._reached = False
        self.agenda.at(time, self._reach)
        while not self._reached:
            self.agenda.step()

    def _reach(self, _: None) -> None:
        self._reached = True

    def _is_over(self) -> bool:
        """Batsim's end-of-simulation rule (4.2.1)."""
        return not (
            self.jobs.alive
            or self._open_sources
            or self._open_event_sources
            or self.pending_calls
            or self.registering
            or (self.power is not None and self.power.switching)
            or (self.serving is not None and self.serving.busy)
        )

    def _deadlock(self) -> str:
        waiting = [id_ for id_, entry in self.jobs.alive.items()]
        if waiting:
            some = ", ".join(waiting[:3]) + (", ..." if len(waiting) > 3 else "")
            what = (
                f"{len(waiting)} jobs are not over ({some}) and the scheduler neither starts nor rejects them"
            )
            if any(entry.run is not None for entry in self.jobs.alive.values()):
                what += ", or does not send the text that they wait for"
        elif self.registering:
            what = "the scheduler never said registration_finished"
        else:
            what = "jobs wait for jobs that will never end"
        return f"deadlock at {self.date(self.agenda.now)}: nothing will happen any more, but {what}"

    # ------------------------------------------------------------------ what happens

    def submit(self, home: Home, job: Job, dynamic: bool = False) -> None:
        """A job enters the queue now; the scheduler is told unless it registered the job itself and did not
        ask to be told."""
        now = self.agenda.now
        id_ = f"{home.id}!{job.id}"
        self.jobs.alive[id_] = Entry(id_, home, job)
        if self.config.dynamic_jobs and job.behaviour is not None:
            home.remember(job.behaviour)
        self.write(
            r.Submitted(
                now,
                id_,
                job.profile,
                job.submit,
                job.res,
                -1 if job.walltime is None else job.walltime,
                job.user,
                job.queue,
                dynamic,
                _work(home, job, self.config.seed) if dynamic else (),
            )
        )
        if not dynamic or self.config.acknowledge_dynamic_jobs:
            raw = job.raw.copy()
            raw["id"] = id_
            profile = (job.behaviour or home.profile(job.profile)) if self.forward_profiles else None
            forwarded = None if profile is None else dict(profile.raw)
            self.outbox.append(m.JobSubmitted(now, id_, raw, forwarded))

    def _run_over(self, run: Run, code: int) -> None:
        """A job ended by itself."""
        self.end(run.owner, _STATE_OF_CODE.get(code, m.COMPLETED_FAILED), code)

    def end(self, entry: Entry, state: m.JobState, code: int) -> None:
        """A started job leaves its hosts, however it ended."""
        now, id_, alloc = self.agenda.now, entry.id, entry.alloc
        self.park.leave(alloc)
        self.write(r.Ended(now, id_, state, code))
        self.outbox.append(m.JobCompleted(now, id_, state, code, alloc))
        entry.run = None
        self.forget(entry)

    def forget(self, entry: Entry) -> None:
        """A job is over: only its name stays, and jobs that follow it may be submitted."""
        del self.jobs.alive[entry.id]
        self.jobs.ended.add(entry.id)
        if self._drops_profiles:
            entry.home.drop(entry.job.profile)
        if entry.home.on_over is not None:
            entry.home.on_over(entry.job.id)

    def _workload_exhausted(self) -> None:
        self._open_sources -= 1
        if not self._open_sources:
            self._notices.append(m.Notify(self.agenda.now, "no_more_static_job_to_submit"))

    def _events_exhausted(self) -> None:
        self._open_event_sources -= 1
        if not self._open_event_sources:
            self._notices.append(m.Notify(self.agenda.now, "no_more_external_event_to_occur"))

    def _external(self, event: ExternalEvent) -> None:
        now = self.agenda.now
        if not event.hosts:
            self.outbox.append(m.Notify(now, event.kind, content=dict(event.raw)))
            return
        available = event.kind != UNAVAILABLE
        reason = self.park.why_not_change(event.hosts, available)
        if reason is not None:
            raise InputError(reason, source=event.source, line=event.line, path="resources")
        self.park.change(event.hosts, available)
        self.write(r.HostsChanged(now, event.hosts, available))
        self.outbox.append(m.Notify(now, f"event_{event.kind}", event.hosts))

    def _names(self) -> tuple[str, ...]:
        return tuple(host.name for host in self.platform.hosts)

    def check(self) -> None:
        """Recompute what is redundant and compare; for tests."""
        self.park.check(entry.alloc for entry in self.jobs.alive.values() if entry.run is not None)
        if self.power is not None:
            self.power.model.check()


def _work(home: Home, job: Job, seed: int) -> tuple[float, ...]:
    """Work of a registered job; unknown if its profile names one that is not there yet."""
    profile = home.profile(job.profile)
    tree = None if profile is None else resolve(profile, home.profile, home.trees)
    return work_of(tree, seed) if isinstance(tree, Tree) else ()


def _without_place(source: str) -> str:
    """A file as the user wrote it, less the folders of this machine: equal runs, equal journals anywhere."""
    return source.rpartition("/")[2] if source.startswith("/") else source


def run(simulator: Simulator, ask: Callable[[m.Message], m.Message]) -> None:
    """Drive *simulator* with ``ask`` to its end; the closing marker is always written.

    Raises:
        BatpyError: after the marker was written with the reason.
    """
    try:
        request: m.Message | None = simulator.begin()
        while request is not None:
            request = simulator.handle(ask(request))
    except BatpyError as why:
        outcome = "peer_lost" if why.exit_code == 3 else "refused"
        simulator.finish(outcome, str(why))
        raise
    except KeyboardInterrupt:
        simulator.finish("interrupted")
        raise
