"""Between the simulator and one tenant: a broker that takes hosts and gives them back at dates it was told.

It checks what a tenant owes: no start on hosts it does not hold, one answer to each request after the jobs on
those hosts are gone, and nothing of the four sharing words reaches the simulator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from batpy.protocol import hostset
from batpy.protocol import messages as m
from batpy.protocol.hostset import HostSet
from batpy.transport.link import Core


@dataclass(frozen=True)
class Move:
    """At tick ``at`` hosts are taken from the tenant (``take``), or given to it."""

    at: int
    take: bool
    hosts: HostSet


class ScriptedBroker:
    """A scheduler to the simulator, a simulator to the tenant.

    Attributes:
        log: what was said to the tenant and by it, in order.
        why: kill asked for to job id: True if the broker had asked for its hosts.
        profiles: every profile that exists, by name.
        trees: job id to name of its profile.
        answers: hosts of each RESOURCES_REMOVED with its date.
    """

    def __init__(self, core: Core, moves: Sequence[Move], profiles: Mapping[str, Any]) -> None:
        self._core = core
        self._moves = sorted(moves, key=lambda move: move.at)
        self._dates = [move.at for move in self._moves]
        self._calls: list[int] = []
        self._taken: HostSet = ()
        self._open: list[tuple[HostSet, set[str]]] = []
        self._running: dict[str, HostSet] = {}
        self.log: list[m.Event] = []
        self.why: dict[str, bool] = {}
        self.kills: dict[str, Any] = {}
        self.states: dict[str, str] = {}
        self.profiles = dict(profiles)
        self.jobs: dict[str, Any] = {}
        self.answers: list[tuple[int, HostSet]] = []
        self.starts: list[tuple[int, str, HostSet]] = []
        self.finished = 0

    def __call__(self, request: m.Message) -> m.Message:
        now = request.now
        events = [event for event in request.events if not self._is_mine(now, event)]
        for event in events:
            self._hear(event)
        while (
            self._moves and self._moves[0].at <= now and not isinstance(request.events[0], m.SimulationEnds)
        ):
            events.append(self._move(now, self._moves.pop(0)))
        self.log += events
        reply = self._core.handle(m.Message(now, events)) if events else m.Message(now, [])
        self.log += reply.events
        assert reply.now == now
        kept = [decision for decision in reply.events if self._say(now, decision)]
        if isinstance(request.events[0], m.SimulationBegins):
            assert not reply.events or isinstance(reply.events[0], m.Hello)
            kept += [m.CallMeLater(now, date) for date in sorted({d for d in self._dates if d > now})]
        return m.Message(now, kept)

    def check_end(self) -> None:
        """When the simulation is over."""
        assert not self._open, "a request was never answered"
        assert not self._running
        assert self.finished == 1

    def _is_mine(self, now: int, event: m.Event) -> bool:
        """A call that the tenant did not ask for."""
        if not isinstance(event, m.RequestedCall):
            return False
        due = next((date for date in self._calls if date <= now), None)
        if due is not None:
            self._calls.remove(due)
        return due is None

    def _move(self, now: int, move: Move) -> m.Event:
        if move.take:
            victims = {id_ for id_, hosts in self._running.items() if hostset.intersection(hosts, move.hosts)}
            self._taken = hostset.union(self._taken, move.hosts)
            self._open.append((move.hosts, victims))
            for victim in victims:
                self.why.setdefault(victim, True)
            return m.RemoveResources(now, move.hosts)
        self._taken = hostset.difference(self._taken, move.hosts)
        return m.AddResources(now, move.hosts)

    def _hear(self, event: m.Event) -> None:
        match event:
            case m.JobSubmitted(job_id=id_, job=job):
                self.jobs[id_] = job
            case m.JobCompleted(job_id=id_):
                del self._running[id_]
                self.states[id_] = event.job_state
            case m.JobKilled(job_progress=progress):
                self.kills.update(progress)

    def _say(self, now: int, decision: m.Event) -> bool:
        assert decision.timestamp == now
        match decision:
            case m.ResourcesRemoved(resources=hosts):
                waiting = next(i for i, (asked, _) in enumerate(self._open) if asked == hosts)
                _, victims = self._open.pop(waiting)
                assert not victims & self._running.keys(), "answered before the jobs were gone"
                self.answers.append((now, hosts))
                return False
            case m.ResourcesAdded():
                return False
            case m.ExecuteJob(job_id=id_, alloc=hosts):
                assert not hostset.intersection(hosts, self._taken), f"{id_} starts on hosts that were taken"
                for other in self._running.values():
                    assert not hostset.intersection(hosts, other)
                self._running[id_] = hosts
                self.starts.append((now, id_, hosts))
            case m.KillJob(job_ids=ids):
                for id_ in ids:
                    assert id_ in self._running
                    self.why.setdefault(id_, False)
            case m.CallMeLater(at=at):
                self._calls.append(at)
            case m.RegisterJob(job_id=id_, job=job):
                assert id_ not in self.jobs, f"job {id_} exists"
                self.jobs[id_] = job
            case m.RegisterProfile(profile_name=name, profile=profile):
                assert name not in self.profiles, f"profile {name} exists"
                self.profiles[name] = profile
            case m.Notify(type="registration_finished"):
                self.finished += 1
        return True


# ------------------------------------------------------------------ slow twin of what is left


def unrolled(name: str, profiles: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every part of a profile that is not composed, in the order in which they run."""
    raw = profiles[name]
    if raw["type"] != "composed":
        return [raw]
    parts = raw["seq"] * raw.get("repeat", 1)
    return [leaf for part in parts for leaf in unrolled(part, profiles)]


def place(name: str, profiles: Mapping[str, Any], progress: Mapping[str, Any]) -> tuple[int, float]:
    """How many parts are over, and how much of the running one is done."""
    raw = profiles[name]
    assert progress["profile_name"] == name
    if raw["type"] != "composed":
        return 0, progress.get("progress", 0.0)
    index = progress["current_task_index"]
    seq = raw["seq"]
    over = sum(len(unrolled(seq[i % len(seq)], profiles)) for i in range(index))
    inside, share = place(seq[index % len(seq)], profiles, progress["current_task"])
    return over + inside, share
