"""Small parts for tests of the simulator: jobs in a list, a scripted scheduler, a journal in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from batpy.platforms.platform import Host, Platform
from batpy.protocol import hostset
from batpy.protocol import messages as m
from batpy.protocol import records as r
from batpy.schedulers.hosts import first_fit
from batpy.simulator.config import SimulatorConfig
from batpy.simulator.core import Simulator, run
from batpy.workloads.job import Job
from batpy.workloads.job_object import parse_job
from batpy.workloads.profile import Profile, parse_profile

SECOND = 1_000_000


class JobList:
    """A workload in memory."""

    source = "memory"
    nb_res = None
    streamed = False
    taken_names: frozenset[str] = frozenset()
    preceding: Mapping[str, tuple[str, int]] = {}
    max_procs = None

    def __init__(
        self, jobs: Sequence[Mapping[str, Any]], profiles: Mapping[str, Any], id_: str = "w0"
    ) -> None:
        self.id = id_
        self._jobs = [
            parse_job(job, workload=id_, ticks_per_second=SECOND, path=f"jobs[{i}]")
            for i, job in enumerate(jobs)
        ]
        self.profiles: dict[str, Profile] = {name: parse_profile(name, raw) for name, raw in profiles.items()}

    def __len__(self) -> int:
        return len(self._jobs)

    def jobs(self) -> Iterator[Job]:
        return iter(sorted(self._jobs, key=lambda job: (job.submit, job.id)))

    def wider_than(self, hosts: int) -> int:
        return sum(job.res > hosts for job in self._jobs)

    def report(self) -> list[str]:
        return []


class Journal:
    """Keeps records in a list."""

    def __init__(self) -> None:
        self.records: list[Any] = []

    def write(self, record: Any) -> None:
        self.records.append(record)

    def of(self, kind: type) -> list[Any]:
        return [record for record in self.records if type(record) is kind]

    def spans(self) -> dict[str, tuple[float, float, str]]:
        """Job to (start, end, state), dates in seconds."""
        starts = {record.job: record.time for record in self.of(r.Started)}
        return {e.job: (starts[e.job] / SECOND, e.time / SECOND, e.state) for e in self.of(r.Ended)}


def hosts(count: int) -> Platform:
    return Platform(f"hosts={count}", tuple(Host(i, f"host{i}") for i in range(count)))


Ask = Callable[[m.Message], m.Message]


class Greedy:
    """Starts waiting jobs in order on the lowest free hosts; rejects what is larger than the platform.

    ``script`` maps a date in ticks to decisions made at that call, before the usual ones; ``heard`` keeps
    every request.
    """

    def __init__(
        self, script: Mapping[int, Callable[[int], list[m.Event]]] | None = None, delay: int = 0
    ) -> None:
        self.script = dict(script or {})
        self.delay = delay
        self.heard: list[m.Message] = []
        self._free: hostset.HostSet = ()
        self._away: hostset.HostSet = ()
        self._queue: list[tuple[str, int]] = []
        self._size = 0

    def __call__(self, request: m.Message) -> m.Message:
        self.heard.append(request)
        now = request.now + self.delay
        for event in request.events:
            self._fold(event)
        decisions: list[m.Event] = []
        for date in sorted(date for date in self.script if date <= request.now):
            decisions += self.script.pop(date)(now)
        if not isinstance(request.events[0], m.SimulationEnds):
            decisions += self._starts(now)
        return m.Message(now, decisions)

    def _fold(self, event: m.Event) -> None:
        if isinstance(event, m.SimulationBegins):
            self._size = event.nb_compute_resources
            self._free = ((0, self._size - 1),)
        elif isinstance(event, m.JobSubmitted):
            self._queue.append((event.job_id, event.job["res"]))
        elif isinstance(event, m.JobCompleted):
            self._free = hostset.union(self._free, hostset.difference(event.alloc, self._away))
        elif isinstance(event, m.Notify) and event.resources is not None:
            if event.type == "event_machine_available":
                self._away = hostset.difference(self._away, event.resources)
                self._free = hostset.union(self._free, event.resources)
            else:
                self._away = hostset.union(self._away, event.resources)
                self._free = hostset.difference(self._free, event.resources)

    def _starts(self, now: int) -> list[m.Event]:
        out: list[m.Event] = []
        while self._queue:
            job, count = self._queue[0]
            if count > self._size:
                out.append(m.RejectJob(now, job))
            else:
                picked = first_fit(self._free, count)
                if picked is None:
                    break
                alloc, self._free = picked
                out.append(m.ExecuteJob(now, job, alloc))
            self._queue.pop(0)
        return out

    def events(self, kind: type) -> list[Any]:
        return [event for message in self.heard for event in message.events if type(event) is kind]


def play(
    jobs: Sequence[Mapping[str, Any]],
    profiles: Mapping[str, Any],
    ask: Ask | None = None,
    *,
    nb_hosts: int = 4,
    events: Sequence[Any] = (),
    **options: Any,
) -> tuple[Simulator, Journal]:
    """Run a simulation of these jobs to its end."""
    journal = Journal()
    workloads = [JobList(jobs, profiles)] if profiles or jobs else []
    simulator = Simulator(hosts(nb_hosts), workloads, journal, SimulatorConfig(**options), events)
    answer = ask or Greedy()

    def and_check(request: m.Message) -> m.Message:
        simulator.check()
        return answer(request)

    run(simulator, and_check)
    simulator.check()
    return simulator, journal


def job(name: object, subtime: float = 0, res: int = 1, profile: str = "d10", **more: Any) -> dict[str, Any]:
    return {"id": name, "subtime": subtime, "res": res, "profile": profile, **more}


DELAYS: dict[str, Any] = {
    "d10": {"type": "delay", "delay": 10},
    "d5": {"type": "delay", "delay": 5},
    "d0": {"type": "delay", "delay": 0},
    "fail": {"type": "delay", "delay": 3, "ret": 7},
}
