"""Slow twins of the shipped policies: plain lists, everything computed anew at every call.

They share with the originals the choice of hosts and the keys of the orders (tested on their own), and
nothing of the ways to find a job, a date or a host.
"""

from __future__ import annotations

from collections.abc import Iterable

from batpy.protocol import hostset
from batpy.schedulers.api import FOREVER, Job, Plan, View
from batpy.schedulers.hosts import CHOOSERS
from batpy.schedulers.hpc.orders import parse_order

INFINITY = FOREVER * 1000
Window = tuple[int, int, frozenset[int]]
"""Hosts that are taken from a start to an end, which is not included."""


def ids(hosts: hostset.HostSet) -> frozenset[int]:
    return frozenset(hostset.ids(hosts))


def reach(job: Job) -> int:
    """How long a plan keeps hosts for a job; jobs without walltime go past FOREVER, in order of arrival."""
    return 4 * FOREVER + job.serial if job.length >= FOREVER else max(job.length, 1)


class Twin:
    def __init__(
        self,
        order: str = "fcfs",
        hosts: str = "first_fit",
        closures: Iterable[Window] = (),
        backfill: str = "fcfs",
    ) -> None:
        self.order = parse_order(order, 1)
        self.backfill = parse_order(backfill, 1)
        self.choose = CHOOSERS[hosts]
        self.consecutive = hosts == "contiguous"
        self.closures = list(closures)
        self.promises: dict[str, int] = {}  # first date each head was promised

    def sorted(self, view: View, backfill: bool = False) -> list[Job]:
        order = self.backfill if backfill else self.order
        return sorted(view.queue, key=lambda job: (order.key(job, view.now), job.serial))

    def pick(self, hosts: Iterable[int], count: int) -> frozenset[int] | None:
        free = hostset.from_ids(hosts)
        taken = self.choose(free, count) if hostset.size(free) >= count else None
        return None if taken is None else ids(taken[0])

    def busy(self, view: View) -> list[Window]:
        """What is taken when, as known now."""
        now = view.now
        windows = [(job.start, max(job.end, now + 1), ids(job.hosts)) for job in view.running]
        windows += self.closures
        for host in ids(view.down):
            planned = [end for start, end, hosts in self.closures if host in hosts and start <= now < end]
            # Where planned closures touch or overlap, the machine is expected at the first end.
            windows.append((0, min(planned, default=INFINITY), frozenset([host])))
        return windows

    def open_during(self, view: View, busy: list[Window], start: int, end: int) -> frozenset[int]:
        taken: set[int] = set()
        for begin, finish, hosts in busy:
            if begin < end and start < finish:
                taken |= hosts
        return ids(view.hosts) - taken

    def earliest(
        self, view: View, busy: list[Window], job: Job, before: int | None = None
    ) -> tuple[int, frozenset[int]] | None:
        dates = sorted({view.now, *(end for _, end, _ in busy if view.now < end < INFINITY)})
        for date in dates:
            if before is not None and date >= before:
                return None
            hosts = self.pick(self.open_during(view, busy, date, date + reach(job)), job.res)
            if hosts is not None:
                return date, hosts
        return None

    def start(self, view: View, plan: Plan, busy: list[Window], job: Job) -> bool:
        hosts = self.pick(self.open_during(view, busy, view.now, view.now + reach(job)), job.res)
        if hosts is None:
            return False
        plan.start(job, hostset.from_ids(hosts))
        busy.append((view.now, view.now + reach(job), hosts))
        return True

    def wake(self, view: View, plan: Plan) -> Plan:
        later = [end for _, end, _ in self.closures if end > view.now]
        if later and len(plan.starts) < len(view.queue):
            plan.wake(min(later))
        return plan


class SlowFcfs(Twin):
    def decide(self, view: View) -> Plan:
        plan, busy = Plan(view), self.busy(view)
        for job in view.queue:
            if not self.start(view, plan, busy, job):
                break
        return self.wake(view, plan)


class SlowFiller(Twin):
    def decide(self, view: View) -> Plan:
        plan, busy = Plan(view), self.busy(view)
        for job in self.sorted(view):
            self.start(view, plan, busy, job)
        return self.wake(view, plan)


class SlowEasy(Twin):
    def decide(self, view: View) -> Plan:
        if self.closures or self.consecutive:
            return self.decide_on_hosts(view)
        now, plan = view.now, Plan(view)
        queue = self.sorted(view)
        ends = [(job.end, len(ids(job.hosts) - ids(view.down))) for job in view.running]
        while queue and queue[0].res <= plan.free_count:
            job = queue.pop(0)
            plan.start(job, choose=self.choose)
            ends.append(
                (now + job.length if job.length < FOREVER else FOREVER + view.started + len(ends), job.res)
            )
        if not queue:
            return plan
        head = queue[0]
        shadow, extra = FOREVER, 0
        for date in sorted({end for end, _ in ends}):
            count = plan.free_count + sum(count for end, count in ends if end <= date)
            if count >= head.res:
                shadow, extra = date, count - head.res
                break
        self.promises.setdefault(head.id, shadow)
        for job in self.sorted(view, backfill=True):
            if job not in queue[1:] or job.res > plan.free_count:
                continue
            if job.length < FOREVER and now + job.length <= shadow:
                plan.start(job, choose=self.choose)
            elif job.res <= extra:
                plan.start(job, choose=self.choose)
                extra -= job.res
        return plan

    def decide_on_hosts(self, view: View) -> Plan:
        plan, busy = Plan(view), self.busy(view)
        queue = self.sorted(view)
        while queue and self.start(view, plan, busy, queue[0]):
            queue.pop(0)
        if queue:
            head = queue[0]
            found = self.earliest(view, busy, head)
            if found is not None:
                busy.append((found[0], found[0] + reach(head), found[1]))
                self.promises.setdefault(head.id, found[0])
            for job in self.sorted(view, backfill=True):
                if job in queue[1:]:
                    self.start(view, plan, busy, job)
        return self.wake(view, plan)


class SlowConservative(Twin):
    """Every job has a slot. Hosts are counted unless closures or consecutive hosts are asked for."""

    def __init__(
        self, order: str = "fcfs", hosts: str = "first_fit", closures: Iterable[Window] = ()
    ) -> None:
        super().__init__(order, hosts, closures)
        self.slots: dict[str, tuple[int, frozenset[int]]] = {}
        self.named = bool(self.closures) or self.consecutive

    def decide(self, view: View) -> Plan:
        plan, queue = Plan(view), {job.id: job for job in view.queue}
        self.slots = {name: slot for name, slot in self.slots.items() if name in queue}
        overrun = any(job.start + reach(job) <= view.now for job in view.running)
        late = [name for name, slot in self.slots.items() if slot[0] < view.now and not self.named]
        self.slots |= {name: (view.now, self.slots[name][1]) for name in late}
        if (late or overrun or view.disturbed or self.named) and not self.feasible(view, queue):
            self.slots = {}
        elif view.ended or view.disturbed or overrun:
            for name, job in queue.items():
                if name in self.slots:
                    old = self.slots.pop(name)
                    self.slots[name] = self.find(view, queue, job, before=old[0]) or old
        for name, job in queue.items():
            if name not in self.slots:
                slot = self.find(view, queue, job)
                if slot is not None:
                    self.slots[name] = slot
                    self.promises.setdefault(name, slot[0])
        for name, job in queue.items():
            if name in self.slots and self.slots[name][0] == view.now:
                if self.named:
                    plan.start(job, hostset.from_ids(self.slots[name][1]))
                else:
                    assert plan.start(job, choose=self.choose)
        return self.wake(view, plan)

    def windows(self, queue: dict[str, Job]) -> list[Window]:
        return [(slot[0], slot[0] + reach(queue[name]), slot[1]) for name, slot in self.slots.items()]

    def find(
        self, view: View, queue: dict[str, Job], job: Job, before: int | None = None
    ) -> tuple[int, frozenset[int]] | None:
        if self.named:
            return self.earliest(view, self.busy(view) + self.windows(queue), job, before)
        levels = self.levels(view, queue)
        for date in levels:
            if before is not None and date >= before:
                return None
            inside = [count for at, count in levels.items() if date <= at < date + reach(job)]
            if min(inside) >= job.res:
                return date, frozenset()
        return None

    def levels(self, view: View, queue: dict[str, Job]) -> dict[int, int]:
        """Free hosts from each date on at which their number may change."""
        up = ids(view.hosts) - ids(view.down)
        taken = [
            (job.start, max(job.start + reach(job), view.now + 1), len(ids(job.hosts) & up))
            for job in view.running
        ]
        taken += [(start, end, queue[name].res) for name, (start, end) in self.edges(queue).items()]
        dates = sorted(
            {view.now, *(date for start, end, _ in taken for date in (start, end) if date > view.now)}
        )
        return {date: len(up) - sum(c for start, end, c in taken if start <= date < end) for date in dates}

    def edges(self, queue: dict[str, Job]) -> dict[str, tuple[int, int]]:
        return {name: (slot[0], slot[0] + reach(queue[name])) for name, slot in self.slots.items()}

    def feasible(self, view: View, queue: dict[str, Job]) -> bool:
        if any(slot[0] < view.now for slot in self.slots.values()):
            return False
        if not self.named:
            return min(self.levels(view, queue).values()) >= 0
        busy = self.busy(view)
        return all(
            hosts <= self.open_during(view, busy, start, start + reach(queue[name]))
            for name, (start, hosts) in self.slots.items()
        )
