"""Slow twin of the sharing engine: raw tasks, every rate filled anew, all work re-integrated at every event.

It shares nothing with the engine but the wording of the rules: each executor with flops is an element of its
host, all bytes of a task over a link are one element of it, the largest flow if the link is FATPIPE.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

WINDOW = 4194304
CLOSE = 1e-12

Resource = tuple[str, int]
"""Kind (``host`` or ``link``) and index."""


@dataclass
class TwinLink:
    bandwidth: float
    latency: float
    shared: bool = True


@dataclass(eq=False)
class TwinTask:
    start: float
    hosts: list[int]
    cpu: list[float]
    flows: list[tuple[int, int, float]]
    cancel: float | None = None
    executor_cores: float = 1.0
    left: float = 1.0
    latency: float = 0.0
    elements: list[tuple[Resource, float]] = field(default_factory=list)
    rate: float = 0.0
    grown: float = 0.0
    growing: bool = False
    end: float | None = None
    cancelled_with: float | None = None


@dataclass
class Twin:
    """Hosts as [speed, cores], links, and routes as lists of links per pair of hosts."""

    hosts: list[list[float]]
    links: list[TwinLink]
    routes: dict[tuple[int, int], list[int]]
    textbook: bool = False

    def prepare(self, task: TwinTask) -> None:
        for host, flops in zip(task.hosts, task.cpu, strict=True):
            if flops > 0:
                task.elements.append((("host", host), flops))
        over: dict[int, list[float]] = {}
        if len(task.hosts) > 1:
            for sender, receiver, amount in task.flows:
                if amount > 0:
                    route = self.routes[task.hosts[sender], task.hosts[receiver]]
                    task.latency = max(task.latency, self.latency(route))
                    for link in route:
                        over.setdefault(link, []).append(amount)
        for link, amounts in over.items():
            task.elements.append((("link", link), sum(amounts) if self.links[link].shared else max(amounts)))

    def latency(self, route: list[int]) -> float:
        return sum(self.links[link].latency for link in route)

    def bound(self, task: TwinTask) -> float:
        bound = math.inf
        for host, flops in zip(task.hosts, task.cpu, strict=True):
            if flops > 0:
                bound = min(bound, self.hosts[host][0] * task.executor_cores / flops)
        if len(task.hosts) > 1:
            for sender, receiver, amount in task.flows:
                lag = self.latency(self.routes[task.hosts[sender], task.hosts[receiver]]) * amount
                if lag > 0:
                    bound = min(bound, WINDOW / (2 * lag))
        return bound

    def capacity(self, resource: Resource) -> float:
        kind, index = resource
        if kind == "host":
            return self.hosts[index][0] * self.hosts[index][1]
        return self.links[index].bandwidth

    def fat(self, resource: Resource) -> bool:
        kind, index = resource
        return kind == "link" and not self.links[index].shared

    def fill(self, tasks: list[TwinTask]) -> None:
        """Progressive filling of everything at once."""
        users: dict[Resource, list[tuple[TwinTask, float]]] = {}
        for task in tasks:
            task.rate, task.grown = (0.0 if task.elements else math.inf), 0.0
            task.growing = bool(task.elements)
            for resource, weight in task.elements:
                users.setdefault(resource, []).append((task, weight))
        left = {resource: self.capacity(resource) for resource in users}
        while any(task.growing for task in tasks):
            share = {}
            for resource, rest in left.items():
                live = sum(task.growing for task, _ in users[resource])
                if live:
                    share[resource] = rest / (1 if self.fat(resource) else live)
            for task in tasks:
                self.grow(task, share)
            left = {r: left[r] - self.charge(r, users[r], left[r]) for r in share}
            for resource, part in share.items():
                for task in self.stopped(resource, users[resource], part, left[resource]):
                    task.growing = False
            left = {r: rest for r, rest in left.items() if rest > self.used_up(r)}

    def grow(self, task: TwinTask, share: dict[Resource, float]) -> None:
        if not task.growing:
            if self.textbook:
                task.grown = 0.0
            return
        step = min(share[resource] / weight for resource, weight in task.elements)
        bound = self.bound(task)
        if task.rate + step >= bound * (1 - CLOSE):
            step, task.growing = bound - task.rate, False
        task.grown = step
        task.rate += step

    def charge(self, resource: Resource, users: list[tuple[TwinTask, float]], left: float) -> float:
        charges = [weight * task.grown for task, weight in users]
        if not self.fat(resource):
            return sum(charges)
        return max(charges) if self.textbook else min([*charges, left])

    def used_up(self, resource: Resource) -> float:
        capacity = self.capacity(resource)
        return CLOSE * capacity if self.textbook else max(1e-5, 4e-15 * capacity)

    def stopped(
        self, resource: Resource, users: list[tuple[TwinTask, float]], share: float, left: float
    ) -> list[TwinTask]:
        """Tasks that this resource freezes after a round."""
        if left <= self.used_up(resource):
            return [task for task, _ in users]
        if self.fat(resource) and not self.textbook:
            charge = self.charge(resource, users, share)
            if charge < 1e-3 * self.capacity(resource):
                return [task for task, weight in users if weight * task.grown >= share * (1 - CLOSE)]
        return []

    def run(self, tasks: list[TwinTask], speeds: list[tuple[float, int, float]]) -> None:
        """Run to the end; *speeds* are (date, host, new speed)."""
        for task in tasks:
            self.prepare(task)
        waiting = sorted(tasks, key=lambda task: task.start + task.latency)
        changes = sorted(speeds)
        cancels = sorted((task for task in tasks if task.cancel is not None), key=lambda task: task.cancel)
        working: list[TwinTask] = []
        now = 0.0
        while waiting or working or changes:
            self.fill(working)
            dates = [(now + (task.left / task.rate if task.rate else math.inf), 0, task) for task in working]
            dates += [(task.start + task.latency, 1, task) for task in waiting[:1]]
            dates += [(task.cancel, 2, task) for task in cancels[:1]]
            dates += [(change[0], 3, change) for change in changes[:1]]
            date, kind, what = min(dates, key=lambda entry: entry[:2])
            if date == math.inf:
                break
            for task in working:
                if date > now:
                    task.left = max(0.0, task.left - task.rate * (date - now))
            now = max(now, date)
            if kind == 0:
                what.left, what.end = 0.0, now
                working.remove(what)
            elif kind == 1:
                working.append(waiting.pop(0))
            elif kind == 2:
                cancels.pop(0)
                if what.end is None:
                    what.cancelled_with = what.left
                    (working if what in working else waiting).remove(what)
            else:
                changes.pop(0)
                self.hosts[what[1]][0] = what[2]
