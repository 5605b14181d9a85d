"""The slow, obvious twin of ``batpy.models.dag.engine``: lists of everything, looked through at each step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from batpy.dfs.delay import SkipCount
from batpy.models.dag.load import Load


class NeverError(Exception):
    """Tasks wait for slots that never come."""


@dataclass
class Told:
    """As ``Schedule``; for each stage its tasks in the order of their start: (task, begin, host, far)."""

    jobs: dict[int, tuple[int, int]] = field(default_factory=dict)
    stages: dict[int, tuple[int, int]] = field(default_factory=dict)
    tasks: dict[int, list[tuple[int, int, int, bool]]] = field(default_factory=dict)


class Twin:
    """Runs a load to its end."""

    def __init__(self, load: Load) -> None:
        self.load = load
        self.now = 0
        # (date, rank of its kind, number, host, what): sorted anew at each step.
        self.events: list[tuple[int, int, int, int, str]] = []
        self.told = Told(tasks={index: [] for index in range(len(load.stages))})
        self.over_stages: set[int] = set()
        self.over_jobs: set[int] = set()
        self.submitted: set[int] = set()
        self.ready: list[int] = []
        self.pending = {index: list(range(len(stage.times))) for index, stage in enumerate(load.stages)}
        self.running = dict.fromkeys(range(len(load.stages)), 0)
        self.free: list[tuple[int, int]] = []  # (profile, host), longest free first
        self.owed = dict.fromkeys(range(load.profiles), 0)
        self.nominal = dict.fromkeys(range(load.profiles), 0)
        self.missed: dict[int, int] = {}
        self.wakes: dict[int, int] = {}

    def run(self) -> Told:
        load = self.load
        for index, job in enumerate(load.jobs):
            if job.after < 0:
                self.events.append((job.think, 1, index, 0, "submit"))
        for index, (date, _, _) in enumerate(load.comings()):
            self.events.append((date, 2, index, 0, "come"))
        for index, (date, _, _) in enumerate(load.goings()):
            self.events.append((date, 3, index, 0, "go"))
        while len(self.over_jobs) < len(load.jobs):
            if not self.events:
                raise NeverError
            self.now = min(self.events)[0]
            while self.events and min(self.events)[0] == self.now:
                event = min(self.events)
                self.events.remove(event)
                _, _, number, host, what = event
                getattr(self, what)(number, host)
            for profile in range(load.profiles):
                self.give(profile)
        return self.told

    # what happens

    def end(self, stage: int, host: int) -> None:
        profile = self.load.stages[stage].profile
        if self.owed[profile]:
            self.owed[profile] -= 1
        else:
            self.free.append((profile, host))
        self.running[stage] -= 1
        if not self.running[stage] and not self.pending[stage]:
            self.finish(stage)

    def submit(self, job: int, _: int) -> None:
        self.submitted.add(job)
        self.told.jobs[job] = self.now, self.now
        mine = [index for index, stage in enumerate(self.load.stages) if stage.job == job]
        if not mine:
            self.finish_job(job)
        for stage in mine:
            self.consider(stage)

    def come(self, group: int, _: int) -> None:
        _, profile, hosts = self.load.comings()[group]
        self.nominal[profile] += len(hosts)
        for host in hosts:
            if self.owed[profile]:
                self.owed[profile] -= 1
            else:
                self.free.append((profile, host))

    def go(self, executor: int, _: int) -> None:
        _, profile, hosts = self.load.goings()[executor]
        busy = any(
            self.running[index] or index in self.ready
            for index, stage in enumerate(self.load.stages)
            if stage.profile == profile
        )
        if busy and self.nominal[profile] - len(hosts) <= 0:
            return
        self.nominal[profile] -= len(hosts)
        for host in hosts:
            mine = [slot for slot in self.free if slot[0] == profile]
            if (profile, host) in mine:
                self.free.remove((profile, host))
            elif mine:
                self.free.remove(mine[0])
            else:
                self.owed[profile] += 1

    def wake(self, stage: int, _: int) -> None:
        self.wakes.pop(stage, None)

    def consider(self, stage: int) -> None:
        load = self.load.stages[stage]
        if load.job not in self.submitted or stage in self.told.stages:
            return
        if all(parent in self.over_stages for parent in load.parents):
            self.told.stages[stage] = self.now, self.now
            if not load.times:
                self.finish(stage)
            else:
                self.ready.append(stage)
                self.missed[stage] = 0

    def finish(self, stage: int) -> None:
        begins = [begin for _, begin, _, _ in self.told.tasks[stage]]
        self.told.stages[stage] = begins[0] if begins else self.now, self.now
        self.over_stages.add(stage)
        for index, other in enumerate(self.load.stages):
            if stage in other.parents:
                self.consider(index)
        job = self.load.stages[stage].job
        if all(i in self.over_stages for i, other in enumerate(self.load.stages) if other.job == job):
            self.finish_job(job)

    def finish_job(self, job: int) -> None:
        if job in self.over_jobs:
            return
        self.over_jobs.add(job)
        self.told.jobs[job] = self.told.jobs[job][0], self.now
        for index, other in enumerate(self.load.jobs):
            if other.after == job:
                self.events.append((self.now + other.think, 1, index, 0, "submit"))

    # who gets slots

    def give(self, profile: int) -> None:
        slots = [slot for slot in self.free if slot[0] == profile]
        for stage in sorted(self.ready, key=lambda index: self.load.stages[index].order):
            load = self.load.stages[stage]
            if load.profile != profile:
                continue
            if load.near is not None and self.load.delay is None:
                self.match(stage, load.near, slots)
                slots = []
            for slot in slots:
                if slot in self.free and self.pending[stage]:
                    task, far = self.choose(stage, slot[1])
                    if task >= 0:
                        self.start(stage, task, slot, far)
            slots = [slot for slot in self.free if slot[0] == profile]
        for stage in list(self.ready):
            if not self.pending[stage]:
                self.ready.remove(stage)
            elif (
                slots
                and self.load.stages[stage].profile == profile
                and self.load.stages[stage].near is not None
            ):
                date = self.now + self.load.heartbeat
                if stage not in self.wakes:
                    self.wakes[stage] = date
                    self.events.append((date, 4, stage, 0, "wake"))

    def start(self, stage: int, task: int, slot: tuple[int, int], far: bool) -> None:
        load = self.load.stages[stage]
        self.free.remove(slot)
        self.pending[stage].remove(task)
        self.running[stage] += 1
        self.told.tasks[stage].append((task, self.now, slot[1], far))
        length = load.times[task] + (load.remote if far else 0)
        self.events.append((self.now + length, 0, stage, slot[1], "end"))

    def match(self, stage: int, near: Sequence[Sequence[int]], slots: list[tuple[int, int]]) -> None:
        """Without a delay: the nearest tasks first over all free slots."""
        found: dict[int, tuple[int, bool]] = {}
        waiting = list(self.pending[stage])
        here = range(self.load.hosts)
        for level in ("node", "here", "any"):
            for place, (_, host) in enumerate(slots):
                if place in found:
                    continue
                close = [task for task in waiting if host in near[task]]
                easy = [task for task in waiting if not near[task]]
                inside = [task for task in waiting if level != "node" and set(near[task]) & set(here)]
                others = [task for task in waiting if level == "any"]
                for tasks, far in ((close, False), (easy, False), (inside, True), (others, True)):
                    if tasks:
                        found[place] = tasks[0], far
                        waiting.remove(tasks[0])
                        break
        for place in sorted(found):
            self.start(stage, found[place][0], slots[place], found[place][1])

    def choose(self, stage: int, host: int) -> tuple[int, bool]:
        """The task that takes a slot there, and whether it runs far from its input; -1 for none."""
        near, waiting = self.load.stages[stage].near, self.pending[stage]
        if near is None:
            return waiting[0], False
        rule = self.load.delay
        assert isinstance(rule, SkipCount)
        self.missed[stage] += 1
        for task in waiting:
            if host in near[task]:
                self.missed[stage] = 0
                return task, False
        for task in waiting:
            if not near[task]:
                self.missed[stage] -= 1
                return task, False
        if self.missed[stage] <= min(self.load.hosts, rule.node_delay):
            return -1, False
        for task in waiting:
            if any(0 <= place < self.load.hosts for place in near[task]):
                self.missed[stage] = 0
                return task, True
        return waiting[0], True
