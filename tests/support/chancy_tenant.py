"""A scheduler that does anything legal at random: for scenarios no reasonable scheduler would think of.

It speaks the sharing extension or not, starts jobs on any of its hosts, kills, lets time pass, asks for
calls, stamps decisions later, acknowledges at once or late, in parts or never, and resubmits what was killed
if it may.
"""

from __future__ import annotations

import random

from batpy.protocol import hostset
from batpy.protocol import messages as m


class ChancyTenant:
    """A core; all chance comes from its own seed.

    Args:
        sharing: speaks the sharing extension.
        resubmits: it may register jobs, and registers those that were killed again, so many times in all.
        silent: chance that it never acknowledges a REMOVE_RESOURCES.
    """

    def __init__(
        self,
        name: str,
        seed: int,
        *,
        sharing: bool,
        resubmits: int = 0,
        silent: float = 0.0,
        haste: float = 0.7,
    ) -> None:
        self.name = name
        self._random = random.Random(seed)
        self._sharing = sharing
        self._resubmits = resubmits
        self._registers = resubmits > 0
        self._silent = silent
        self._haste = haste
        self._mine: set[int] = set()
        self._down: set[int] = set()
        self._busy: dict[str, set[int]] = {}
        self._jobs: dict[str, m.Json] = {}
        self._queue: list[str] = []
        self._killing: set[str] = set()
        self._leaving: list[tuple[set[int], set[str]]] = []
        self._calls = 0
        self._serial = 0
        self._static_over = False
        self._registering = self._registers
        self.starts = 0

    def handle(self, message: m.Message, /) -> m.Message:
        """See ``Core``."""
        now, chance = message.now, self._random.random
        out: list[m.Event] = []
        for event in message.events:
            self._hear(event, now, out)
        if any(isinstance(event, m.SimulationEnds) for event in message.events):
            return m.Message(now, [])
        self._acknowledge(now, out)
        then = now
        if chance() < 0.1:
            then = now + self._random.randrange(1, 4) * 500_000
        stamp = now if chance() < 0.7 else then
        self._start(stamp, out)
        if self._busy and chance() < 0.05:
            victim = self._random.choice(sorted(self._busy))
            if victim not in self._killing:
                self._killing.add(victim)
                out.append(m.KillJob(stamp, [victim]))
        if (self._queue and not self._calls) or chance() < 0.1:
            self._calls += 1
            out.append(m.CallMeLater(stamp, then + self._random.randrange(1, 5) * 1_000_000))
        out.sort(key=lambda decision: decision.timestamp)
        if self._registering and self._static_over and self._is_done():
            self._registering = False
            out.append(m.Notify(then, "registration_finished"))
        return m.Message(then, out)

    def _is_done(self) -> bool:
        return not self._queue and not self._busy and not self._killing

    def _hear(self, event: m.Event, now: int, out: list[m.Event]) -> None:  # noqa: C901 - a flat list
        match event:
            case m.SimulationBegins():
                self._mine = {r["id"] for r in event.compute_resources if r.get("state") != "unavailable"}
                wants = ("sharing", "machine_events") if self._sharing else ("machine_events",)
                out.append(m.Hello(now, self.name, "1", (*wants, "refusals")))
            case m.JobSubmitted():
                self._jobs[event.job_id] = event.job
                self._queue.append(event.job_id)
            case m.JobCompleted():
                assert set(hostset.ids(event.alloc)) == self._busy.pop(event.job_id)
                self._killing.discard(event.job_id)
                for _, victims in self._leaving:
                    victims.discard(event.job_id)
                again = event.job_state == m.COMPLETED_KILLED and self._resubmits and self._registering
                if again:
                    self._register_again(event.job_id, now, out)
            case m.RequestedCall():
                self._calls -= 1
            case m.RemoveResources():
                self._vacate(set(hostset.ids(event.resources)), now, out)
            case m.AddResources():
                self._mine |= set(hostset.ids(event.resources))
                if self._random.random() < 0.5:
                    out.append(m.ResourcesAdded(now, event.resources))
            case m.DecisionRefused():
                if event.job_id is not None and event.job_id in self._busy:
                    self._busy.pop(event.job_id)
                    self._queue.append(event.job_id)
            case m.Notify():
                self._notice(event)

    def _notice(self, event: m.Notify) -> None:
        hosts = set(hostset.ids(event.resources or ()))
        if event.type == "no_more_static_job_to_submit":
            self._static_over = True
        elif event.type == "event_machine_unavailable":
            self._down |= hosts
        elif event.type == "event_machine_available":
            self._down -= hosts

    def _register_again(self, job: str, now: int, out: list[m.Event]) -> None:
        self._resubmits -= 1
        self._serial += 1
        origin = job.partition("#")[0]
        name = f"{origin}#{self._serial}"
        raw = {**self._jobs[job], "id": name.partition("!")[2], "parent_job": origin}
        self._jobs[name] = raw
        self._queue.append(name)
        out.append(m.RegisterJob(now, name, raw))

    def _vacate(self, hosts: set[int], now: int, out: list[m.Event]) -> None:
        self._mine -= hosts
        victims = {job for job, held in self._busy.items() if held & hosts}
        fresh = sorted(victims - self._killing)
        if fresh and self._random.random() < 0.9:
            self._killing |= set(fresh)
            out.append(m.KillJob(now, fresh))
        if self._random.random() >= self._silent:
            self._leaving.append((hosts, victims))

    def _acknowledge(self, now: int, out: list[m.Event]) -> None:
        still: list[tuple[set[int], set[str]]] = []
        for hosts, victims in self._leaving:
            if victims:
                still.append((hosts, victims))
                continue
            if len(hosts) > 1 and self._random.random() < 0.2:
                part = set(sorted(hosts)[: len(hosts) // 2])
                out.append(m.ResourcesRemoved(now, hostset.from_ids(part)))
                still.append((hosts - part, victims))
                self._calls += 1
                out.append(m.CallMeLater(now, now + 700_000))
                continue
            out.append(m.ResourcesRemoved(now, hostset.from_ids(hosts)))
        self._leaving = still

    def _start(self, stamp: int, out: list[m.Event]) -> None:
        taken = set().union(*self._busy.values()) if self._busy else set()
        leaving = set().union(*(hosts for hosts, _ in self._leaving)) if self._leaving else set()
        free = sorted(self._mine - taken - leaving - self._down)
        for job in list(self._queue):
            res = self._jobs[job]["res"]
            if res <= len(free) and self._random.random() < self._haste:
                hosts = sorted(self._random.sample(free, res))
                free = [host for host in free if host not in hosts]
                self._queue.remove(job)
                self._busy[job] = set(hosts)
                self.starts += 1
                out.append(m.ExecuteJob(stamp, job, hostset.from_ids(hosts)))
