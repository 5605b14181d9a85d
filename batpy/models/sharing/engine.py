"""Moves parallel tasks that share hosts and links, from event to event.

Only what a change touches is computed anew: a task alone on its resources runs at its limit; tasks that
share one link and nothing else are a ``Star``; other groups of tasks joined by shared resources are filled
anew together, the stars of their links with them.
Work done is updated when a rate changes, never in between. Must never round a date: that is the caller's
business.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from typing import Any

from batpy.kernel.ticks import NOISE
from batpy.models.sharing.coupling import Coupling
from batpy.models.sharing.filling import fill
from batpy.models.sharing.resources import Resources
from batpy.models.sharing.star import Star
from batpy.models.sharing.task import LATENT, OVER, WORKING, Date, Task, between, later
from batpy.models.sharing.work import TaskWork

OnLoad = Callable[[Date, int, float], None]
"""Called with (date, host, load) when the load of a host changes, or its parts if several tasks are there.

A load is a share of all cores.
"""

OnLeave = Callable[[Date, Task], None]
"""Called with (date, task) when a task that had begun to work leaves, before loads change."""

# Rate of a task that was never given one.
NO_RATE = -1.0


class SharingEngine(Coupling):
    """Parallel tasks on shared resources.

    Dates given by the caller may lie up to the last event in the past (ends are rounded up to ticks, and what
    follows an end starts at its exact date): a task added then is taken to have had its present rate since.

    Args:
        resources: capacities; the engine owns them from now on.
        ticks_per_second: resolution of the dates.
        textbook: share as the plain algorithm does, not as SimGrid 3.32 (see ``filling``).
        on_load: told of each change of a host's load; costs time, leave it out where nobody looks.
        on_leave: told of each task that leaves its hosts.
    """

    def __init__(
        self,
        resources: Resources,
        ticks_per_second: float,
        *,
        textbook: bool = False,
        on_load: OnLoad | None = None,
        on_leave: OnLeave | None = None,
    ) -> None:
        super().__init__(resources, ticks_per_second)
        self._textbook = textbook
        self._on_load = on_load
        self._on_leave = on_leave
        self._heap: list[tuple[int, float, int, int, Task | Star]] = []
        self._entries = 0
        self._crowded = 1000
        self._serial = 0
        self._ended: list[Task] = []
        self._touched: set[int] = set()
        self._loads: dict[int, float] = {}
        # Hosts that had several tasks when their load was told.
        self._several: set[int] = set()

    # What callers use

    def add(self, date: Date, work: TaskWork, owner: Any = None) -> Task:
        """Start a task; one without any work ends at once, which ``step`` reports."""
        date = later(date, 0.0)
        self.advance(date)
        self._serial += 1
        task = Task(work, owner, self._serial, date)
        task.rate = NO_RATE
        if work.latency > 0:
            self._plan(later(date, work.latency * self._scale), task.serial, task)
        else:
            self._begin(task, date)
            self._settle()
        return task

    def cancel(self, date: Date, task: Task) -> float:
        """Take a task away.

        Returns:
            the share of its work that was left, in [0, 1]. It is 0 if the task has ended by then, float noise
            of 1e-9 of its duration included; such a task is reported by ``step`` as ended (a tie of end and
            walltime counts as completed, Batsim 4.2.1).
        """
        self.advance(later(date, 0.0))
        left = self.remaining(date, task)
        if task.phase == OVER:
            return 0.0
        rate = self.rate(task)
        ran = between(task.began, self.now)
        if rate > 0 and left / rate * self._scale <= NOISE * max(1.0, ran):
            self._finish(task, self.now)
            left = 0.0
        else:
            self._leave(task)
            task.ended = self.now
            task.left = left
        self._settle()
        return left

    def remaining(self, date: Date, task: Task) -> float:
        """Share of a task's work that is left at a date; 1 during its latency, 0 once it has ended."""
        self.advance(later(date, 0.0))
        if task.phase == WORKING:
            if task.star is not None and task.level_end >= 0:
                return task.star.left(task, self.now, self._scale)
            if task.rate > 0:
                done = task.rate * between((task.tick, task.frac), self.now) / self._scale
                return max(0.0, task.left - done)
        return task.left

    def rate(self, task: Task) -> float:
        """Share of the task's work done a second, now."""
        if task.phase != WORKING:
            return 0.0
        if task.star is not None and task.level_end >= 0:
            return task.star.level / task.star.weight(task)
        return max(0.0, task.rate)

    def set_speed(self, date: Date, host: int, speed: float) -> None:
        """Change the speed of the cores of a host, in flops per second; tasks go on at the new speed."""
        if not 0 <= speed < math.inf:
            raise AssertionError(f"the speed of host {host} must be finite and at least 0, got {speed}")
        self.advance(later(date, 0.0))
        self.resources.set_speed(host, speed)
        for task in self._users[host]:
            self._refresh(task)
        self._touched.add(host)
        self._settle()

    def load(self, host: int) -> float:
        """Flops done a second over what all cores of the host could do, at most 1."""
        used = sum(self.rate(task) * element[2] for task, element in self._users[host].items())
        return min(1.0, used / self.resources.capacity[host]) if used > 0 else 0.0

    def users(self, host: int) -> list[tuple[Task, float]]:
        """Each task on a host, and the flops a second that it does there."""
        return [(task, self.rate(task) * element[2]) for task, element in self._users[host].items()]

    def next_event(self) -> Date | None:
        """Exact date of the next thing that happens by itself (an end, or the end of a latency)."""
        if self._ended:
            return self._ended[0].ended
        heap = self._heap
        while heap:
            tick, frac, _, entry, subject = heap[0]
            if subject.entry == entry:
                return tick, frac
            heapq.heappop(heap)
        return None

    def next_tick(self) -> int | None:
        """First tick at or after the next event, less float noise of 1e-9 of the task's duration."""
        date = self.next_event()
        if date is None:
            return None
        tick, frac = date
        if not frac:
            return tick
        subject = self._ended[0] if self._ended else self._heap[0][4]
        began = subject.began if isinstance(subject, Task) else subject.first_ending().began
        return tick + (frac > min(0.5, NOISE * max(1.0, between(began, date))))

    def step(self) -> list[Task]:
        """Let the next event happen.

        Returns:
            the tasks that have ended since the last call, with their exact dates in ``ended``, in the order
            of these dates and of arrival; none if the event was the end of a latency.
        """
        if not self._ended and self.next_event() is not None:
            self._happen()
        ended, self._ended = self._ended, []
        return ended

    def advance(self, date: Date) -> None:
        """Let everything happen that is due by *date*; ends are kept for ``step``."""
        while self._heap and self._heap[0][:2] <= date:
            if self._heap[0][4].entry == self._heap[0][3]:
                self._happen()
            else:
                heapq.heappop(self._heap)
        self.now = max(self.now, date)

    # Events

    def _plan(self, date: Date, serial: int, subject: Task | Star) -> None:
        self._entries += 1
        subject.entry = self._entries
        heap = self._heap
        if len(heap) > self._crowded:
            # Most entries were replaced by later ones: a change may move the ends of many tasks.
            heap[:] = [entry for entry in heap if entry[4].entry == entry[3]]
            heapq.heapify(heap)
            self._crowded = 3 * len(heap) + 1000
        heapq.heappush(heap, (*date, serial, self._entries, subject))

    def _happen(self) -> None:
        """The valid first entry of the heap, and all others of the same exact date."""
        heap = self._heap
        date = heap[0][:2]
        self.now = max(self.now, date)
        while heap and heap[0][:2] == date:
            _, _, _, entry, subject = heapq.heappop(heap)
            if subject.entry != entry:
                continue
            subject.entry = 0
            if isinstance(subject, Star):
                subject.advance(self.now, self._scale)
                for task in subject.take_ends():
                    self._finish(task, date)
            elif subject.phase == LATENT:
                self._begin(subject, date)
            else:
                self._finish(subject, date)
        self._settle()

    def _finish(self, task: Task, date: Date) -> None:
        self._leave(task)
        task.left = 0.0
        task.ended = date
        self._ended.append(task)

    def _leave(self, task: Task) -> None:
        """The task is over, whatever it was doing."""
        working = task.phase == WORKING
        task.phase = OVER
        task.entry = 0
        if not working:
            return
        if task.star is not None:
            self._detach(task)
        if self._on_load is not None:
            self._touched.update(element[0] for element in task.work.hosts)
        if self._on_leave is not None:
            self._on_leave(self.now, task)
        self._give_up(task)

    # Rates

    def _settle(self) -> None:
        """Find the rates of all that was touched, and plan its next events."""
        if self._dirty:
            for task in self._stale:
                task.limit = self._limit(task)
            self._stale.clear()
            stars: dict[int, Star] = {}
            tangled = [task for task in self._dirty if not self._settle_task(task, stars)]
            self._dirty.clear()
            if tangled:
                self._settle_tangled(tangled)
            for star in stars.values():
                star.advance(self.now, self._scale)
                level, cut = star.fill(self.resources.capacity[star.resource], self._textbook)
                self._move_star(star, level, cut)
        if self._on_load is not None and self._touched:
            self._tell_loads(self._on_load)
        self._touched.clear()

    def _settle_task(self, task: Task, stars: dict[int, Star]) -> bool:
        """Give a task its rate, or note its star to be solved; False if others must be looked at first."""
        coupled = task.coupled
        if not coupled:
            self._run_at(task, task.limit)
            return True
        if len(coupled) > 1:
            return False
        ((resource, element),) = coupled.items()
        if len(self._users[resource]) == 1:
            self._run_at(task, min(task.limit, self.resources.capacity[resource] / element[2]))
            return True
        if not self._can_be_star(resource):
            return False
        star = self._star(resource)
        if task.star is None:
            star.insert(task)
        if self._joints.get(resource):
            return False
        stars[resource] = star
        return True

    def _settle_tangled(self, tasks: list[Task]) -> None:
        """Fill the groups of these tasks anew; all that can be in a star is in one."""
        reached: set[int] = set()
        for task in tasks:
            if next(iter(task.coupled)) in reached:
                continue
            group, stars = self._component(task, reached)
            crowds = {}
            for star in stars:
                star.advance(self.now, self._scale)
                crowds[star.resource] = star.crowd()
            rates = fill(group, self.resources, self._textbook, crowds)
            self._run_group(group, rates)
            for star in stars:
                self._move_star(star, *crowds[star.resource].outcome())

    def _move_star(self, star: Star, level: float, cut: float) -> None:
        """Give a star its new level; it must stand at the present."""
        free, caught = star.move(level, cut)
        for task in free:
            self._run_at(task, task.limit)
        for task in caught:
            lag = 0.0
            if task.rate == NO_RATE:
                lag = between((task.tick, task.frac), self.now) / self._scale
            else:
                self._catch_up(task)
            task.entry = 0
            star.hold(task, lag)
        if self._on_load is not None:
            self._touched.update(element[0] for task in star.held() for element in task.work.hosts)
        coming = star.next_end()
        if coming is None:
            star.entry = 0
        else:
            seconds, task = coming
            self._plan(later(self.now, seconds * self._scale), task.serial, star)

    def _catch_up(self, task: Task) -> None:
        if task.rate > 0:
            done = task.rate * between((task.tick, task.frac), self.now) / self._scale
            task.left = max(0.0, task.left - done)
        task.tick, task.frac = self.now

    def _run_at(self, task: Task, rate: float) -> None:
        """Give a task a rate of its own from now on (from its beginning, if it has none yet)."""
        if task.rate == rate and task.entry:
            return
        if task.rate != NO_RATE:
            self._catch_up(task)
        task.rate = rate
        if self._on_load is not None:
            self._touched.update(element[0] for element in task.work.hosts)
        if rate > 0:
            self._plan(later((task.tick, task.frac), task.left / rate * self._scale), task.serial, task)
        else:
            task.entry = 0

    def _run_group(self, tasks: list[Task], rates: list[float]) -> None:
        """Give the tasks of a whole group their rates.

        Only the first end is planned: every change in a group, and an end is one, leads to all its tasks.
        """
        scale = self._scale
        first: Date | None = None
        coming: list[Task] = []
        for task, rate in zip(tasks, rates, strict=True):
            task.entry = 0
            if task.rate != rate:
                if task.rate != NO_RATE:
                    self._catch_up(task)
                task.rate = rate
                if self._on_load is not None:
                    self._touched.update(element[0] for element in task.work.hosts)
            if rate > 0:
                date = later((task.tick, task.frac), task.left / rate * scale)
                if first is None or date < first:
                    first, coming = date, [task]
                elif date == first:
                    coming.append(task)
        if first is not None:
            for task in coming:
                self._plan(first, task.serial, task)

    def _tell_loads(self, tell: OnLoad) -> None:
        for host in sorted(self._touched):
            load, several = self.load(host), len(self._users[host]) > 1
            # Of several tasks each may have another part of the same load.
            if several or host in self._several or load != self._loads.get(host, 0.0):
                self._loads[host] = load
                (self._several.add if several else self._several.discard)(host)
                tell(self.now, host, load)
