"""A simulator of a few dozen lines for tests of schedulers: rigid delays, machines that go and return.

Events of one instant travel in one message in the order in which the waits for them began (Batsim's order).
With a time step they wait for its next multiple, and so does what they free.
Its gate asserts, so that a scheduler that oversubscribes fails the test.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field

from batpy.protocol import hostset
from batpy.protocol.hostset import HostSet
from batpy.protocol.messages import (
    COMPLETED_KILLED,
    COMPLETED_SUCCESSFULLY,
    COMPLETED_WALLTIME_REACHED,
    CallMeLater,
    Event,
    ExecuteJob,
    Hello,
    JobCompleted,
    JobKilled,
    JobSubmitted,
    KillJob,
    Message,
    Notify,
    Offer,
    RejectJob,
    RequestedCall,
    SetJobMetadata,
    SimulationBegins,
    SimulationEnds,
)
from batpy.schedulers.core import SchedulerCore
from batpy.transport.link import Core


@dataclass(frozen=True)
class Work:
    """A job: ``run`` is how long it would run, ``walltime`` when it is stopped (None: never); ticks."""

    id: str
    submit: int
    res: int
    run: int
    walltime: int | None = None


@dataclass
class Outcome:
    """What happened: job id to start, end and hosts; who was rejected and why; the last date."""

    starts: dict[str, int] = field(default_factory=dict)
    ends: dict[str, int] = field(default_factory=dict)
    hosts: dict[str, HostSet] = field(default_factory=dict)
    rejected: dict[str, str] = field(default_factory=dict)
    waiting: set[str] = field(default_factory=set)
    makespan: int = 0
    messages: int = 0


def begins(nb_hosts: int, ticks_per_second: int | None = 1, **config: object) -> Message:
    """A first message; without ``ticks_per_second`` as the real Batsim says it."""
    offer = None if ticks_per_second is None else Offer("0", ticks_per_second)
    hosts = [{"id": i, "name": f"h{i}", "state": "idle", "properties": {}} for i in range(nb_hosts)]
    event = SimulationBegins(
        0, nb_hosts, nb_hosts, 0, False, True, dict(config), hosts, [], {"w0": "w.json"}, {}, offer
    )
    return Message(0, [event])


def submission(now: int, job: Work) -> JobSubmitted:
    """The JOB_SUBMITTED of a job, at one tick a second."""
    raw: dict[str, object] = {"id": job.id, "subtime": job.submit, "res": job.res, "profile": "p"}
    if job.walltime is not None:
        raw["walltime"] = job.walltime
    return JobSubmitted(now, job.id, raw)


class MiniSimulator:
    """Plays jobs and machine events (date, available, hosts) against a scheduler's core."""

    def __init__(
        self,
        core: Core,
        nb_hosts: int,
        jobs: Sequence[Work],
        machines: Sequence[tuple[int, bool, HostSet]] = (),
        time_step: int = 1,
    ) -> None:
        self._core = core
        self._nb_hosts = nb_hosts
        self._time_step = time_step
        self._jobs = {job.id: job for job in jobs}
        self._submissions = sorted(jobs, key=lambda job: (job.submit, job.id))
        self._machines = sorted(machines, key=lambda event: event[0])
        self._agenda: list[tuple[int, int, str, object]] = []
        self._serial = 0
        self._owner: dict[int, str] = {}
        self._down: set[int] = set()
        self._running: set[str] = set()
        self.now = 0
        self.outcome = Outcome()
        self._metadata: dict[str, str] = {}

    def run(self, max_messages: int = 100_000) -> Outcome:
        """Run until nothing more can happen."""
        self._decisions(self._core.handle(begins(self._nb_hosts)))
        self._next_submission()
        self._next_machine()
        while self._agenda:
            self.now = -(-self._agenda[0][0] // self._time_step) * self._time_step
            events: list[Event] = []
            while self._agenda and self._agenda[0][0] <= self.now:
                _, _, kind, subject = heapq.heappop(self._agenda)
                getattr(self, f"_on_{kind}")(subject, events)
            if events:
                self.outcome.messages += 1
                assert self.outcome.messages < max_messages, "the scheduler does not come to an end"
                self._decisions(self._core.handle(Message(self.now, events)))
                self._check()
        assert not self._core.handle(Message(self.now, [SimulationEnds(self.now)])).events
        self.outcome.makespan = max(self.outcome.ends.values(), default=0)
        return self.outcome

    def _check(self) -> None:
        if isinstance(self._core, SchedulerCore) and self._core._mirror is not None:
            self._core._mirror.check()

    # ------------------------------------------------------------------ what happens

    def _at(self, date: int, kind: str, subject: object) -> None:
        assert date >= self.now
        self._serial += 1
        heapq.heappush(self._agenda, (date, self._serial, kind, subject))

    def _next_submission(self) -> None:
        if self._submissions:
            date = self._submissions[0].submit
            batch = [job for job in self._submissions if job.submit == date]
            del self._submissions[: len(batch)]
            self._at(max(date, self.now), "submit", batch)

    def _next_machine(self) -> None:
        if self._machines:
            self._at(max(self._machines[0][0], self.now), "machine", self._machines.pop(0))

    def _on_submit(self, batch: list[Work], events: list[Event]) -> None:
        for job in batch:
            self.outcome.waiting.add(job.id)
            events.append(submission(self.now, job))
        self._next_submission()

    def _on_machine(self, event: tuple[int, bool, HostSet], events: list[Event]) -> None:
        _, available, hosts = event
        for host in hostset.ids(hosts):
            (self._down.discard if available else self._down.add)(host)
        word = "event_machine_available" if available else "event_machine_unavailable"
        events.append(Notify(self.now, word, hosts))
        self._next_machine()

    def _on_end(self, job_id: str, events: list[Event], state: str | None = None) -> None:
        if job_id not in self._running:
            return  # killed before
        job = self._jobs[job_id]
        if state is None:
            stopped = job.walltime is not None and job.run > job.walltime
            state = COMPLETED_WALLTIME_REACHED if stopped else COMPLETED_SUCCESSFULLY
        self._running.remove(job_id)
        hosts = self.outcome.hosts[job_id]
        for host in hostset.ids(hosts):
            del self._owner[host]
        self.outcome.ends[job_id] = self.now
        events.append(JobCompleted(self.now, job_id, state, 0, hosts))  # type: ignore[arg-type]

    def _on_call(self, _: object, events: list[Event]) -> None:
        events.append(RequestedCall(self.now))

    def _on_kill(self, ids: list[str], events: list[Event]) -> None:
        for job_id in ids:
            self._on_end(job_id, events, COMPLETED_KILLED)
        events.append(JobKilled(self.now, ids, {}))

    # ------------------------------------------------------------------ what the scheduler says

    def _decisions(self, reply: Message) -> None:
        assert reply.now == self.now
        for position, decision in enumerate(reply.events):
            assert decision.timestamp == self.now
            match decision:
                case ExecuteJob():
                    self._execute(decision)
                case RejectJob(job_id=job_id):
                    self.outcome.waiting.remove(job_id)
                    self.outcome.rejected[job_id] = self._metadata[job_id]
                case CallMeLater(at=at):
                    assert at > self.now
                    self._at(at, "call", None)
                case KillJob(job_ids=ids):
                    self._at(self.now, "kill", ids)
                case SetJobMetadata(job_id=job_id, metadata=metadata):
                    assert '"' not in metadata
                    self._metadata[job_id] = metadata
                case Hello():
                    assert position == 0
                    assert self.now == 0
                case _:
                    raise AssertionError(f"unexpected decision {decision}")

    def _execute(self, decision: ExecuteJob) -> None:
        job = self._jobs[decision.job_id]
        assert job.id in self.outcome.waiting, f"{job.id} does not wait"
        assert hostset.is_canonical(decision.alloc)
        hosts = list(hostset.ids(decision.alloc))
        assert len(hosts) == job.res
        for host in hosts:
            assert 0 <= host < self._nb_hosts
            assert host not in self._owner, f"host {host} runs {self._owner.get(host)}, wanted by {job.id}"
            assert host not in self._down, f"host {host} is away, wanted by {job.id}"
            self._owner[host] = job.id
        self.outcome.waiting.remove(job.id)
        self.outcome.starts[job.id] = self.now
        self.outcome.hosts[job.id] = decision.alloc
        self._running.add(job.id)
        run = job.run if job.walltime is None else min(job.run, job.walltime)
        self._at(self.now + run, "end", job.id)
