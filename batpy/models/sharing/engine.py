"""Moves parallel tasks that share hosts and links, from event to event.

Only what a change touches is computed anew: a task alone on its resources runs at its limit; tasks that
share one link are a ``Star``; any other group of tasks joined by shared resources is filled anew as a whole.
Work done is updated when a rate changes, never in between. Must never round a date: that is the caller's
business.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from typing import Any

from batpy.kernel.ticks import NOISE
from batpy.models.sharing.filling import fill
from batpy.models.sharing.resources import Resources
from batpy.models.sharing.star import Star
from batpy.models.sharing.task import LATENT, OVER, WORKING, Date, Task, between, later
from batpy.models.sharing.work import Element, TaskWork

OnLoad = Callable[[Date, int, float], None]
"""Called with (date, host, load) when the load of a host changes; a load is a share of all its cores."""

OnLeave = Callable[[Date, Task], None]
"""Called with (date, task) when a task that had begun to work leaves, before loads change."""

# Rate of a task that was never given one.
NO_RATE = -1.0


class SharingEngine:
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
        self.now: Date = (0, 0.0)
        self.resources = resources
        self._scale = ticks_per_second
        self._textbook = textbook
        self._on_load = on_load
        self._on_leave = on_leave
        self._users: list[dict[Task, Element]] = [{} for _ in range(len(resources))]
        # Number of tasks on a resource that are coupled by another one as well.
        self._tangled = [0] * len(resources)
        self._stars: dict[int, Star] = {}
        self._heap: list[tuple[int, float, int, int, Task | Star]] = []
        self._entries = 0
        self._crowded = 1000
        self._serial = 0
        self._ended: list[Task] = []
        self._dirty: dict[Task, None] = {}
        self._touched: set[int] = set()
        self._loads: dict[int, float] = {}

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

    # Who uses what

    def _begin(self, task: Task, date: Date) -> None:
        """The latency is paid: take up resources."""
        task.phase = WORKING
        task.tick, task.frac = date
        work = task.work
        capacity, users, speed = self.resources.capacity, self._users, self.resources.speed
        limit = work.window_rate
        for element in work.hosts:
            host, largest, total, count = element
            bound = speed[host] * work.executor_cores / largest
            if bound < limit:  # noqa: PLR1730 (twice as fast here)
                limit = bound
            present = users[host]
            if present or largest * count != total:
                self._join(host, present, task, element)
            else:
                bound = capacity[host] / total
                if bound < limit:  # noqa: PLR1730
                    limit = bound
            present[task] = element
        for element in work.links:
            link = element[0]
            present = users[link]
            if present:
                self._join(link, present, task, element)
            else:
                bound = capacity[link] / element[1]
                if bound < limit:  # noqa: PLR1730
                    limit = bound
            present[task] = element
        task.limit = limit
        self._dirty[task] = None

    def _join(self, resource: int, present: dict[Task, Element], task: Task, element: Element) -> None:
        """*task* comes to a resource that others use, or that its own unequal executors must share."""
        if self.resources.capacity[resource] == math.inf:
            return
        if len(present) == 1:
            for other, others in present.items():
                if resource not in other.coupled:
                    self._couple(other, resource, others)
                    self._refresh(other)
        self._couple(task, resource, element)

    def _couple(self, task: Task, resource: int, element: Element) -> None:
        if task.star is not None:
            self._detach(task)
        coupled = task.coupled
        coupled[resource] = element
        tangled = self._tangled
        if len(coupled) == 2:
            for each in coupled:
                tangled[each] += 1
        elif len(coupled) > 2:
            tangled[resource] += 1

    def _uncouple(self, task: Task, resource: int) -> None:
        coupled = task.coupled
        tangled = self._tangled
        if len(coupled) == 2:
            for each in coupled:
                tangled[each] -= 1
        elif len(coupled) > 2:
            tangled[resource] -= 1
        del coupled[resource]

    def _leave(self, task: Task) -> None:
        """Give up all resources; the task is over."""
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
        users, dirty = self._users, self._dirty
        dirty.pop(task, None)
        for elements in (task.work.hosts, task.work.links):
            for element in elements:
                present = users[element[0]]
                del present[task]
                if present and element[0] in task.coupled:
                    first = next(iter(present))
                    if len(present) == 1:
                        self._alone(first, element[0])
                    dirty[first] = None
        for resource in list(task.coupled):
            self._uncouple(task, resource)

    def _alone(self, task: Task, resource: int) -> None:
        """*task* is the last one on a resource."""
        _, largest, total, count = task.coupled[resource]
        if task.star is not None:
            self._detach(task)
        star = self._stars.pop(resource, None)
        if star is not None:
            star.entry = 0
        if largest * count == total:
            self._uncouple(task, resource)
            self._refresh(task)

    def _refresh(self, task: Task) -> None:
        """Compute a task's limit anew: a resource that it uses alone, or a speed, has changed."""
        if task.star is not None:
            self._detach(task)
        resources, coupled, work = self.resources, task.coupled, task.work
        limit = work.window_rate
        for host, largest, total, _ in work.hosts:
            limit = min(limit, resources.speed[host] * work.executor_cores / largest)
            if host not in coupled:
                limit = min(limit, resources.capacity[host] / total)
        for link, _, total, _ in work.links:
            if link not in coupled:
                limit = min(limit, resources.capacity[link] / total)
        task.limit = limit
        self._dirty[task] = None

    # Rates

    def _settle(self) -> None:
        """Find the rates of all that was touched, and plan its next events."""
        if self._dirty:
            seen: set[Task] = set()
            stars: dict[int, Star] = {}
            for task in self._dirty:
                if task not in seen:
                    self._settle_task(task, seen, stars)
            self._dirty.clear()
            for star in stars.values():
                self._solve_star(star)
        if self._on_load is not None and self._touched:
            self._tell_loads(self._on_load)
        self._touched.clear()

    def _settle_task(self, task: Task, seen: set[Task], stars: dict[int, Star]) -> None:
        coupled = task.coupled
        if not coupled:
            self._run_at(task, task.limit)
            return
        if len(coupled) == 1:
            ((resource, element),) = coupled.items()
            present = self._users[resource]
            if len(present) == 1:
                self._run_at(task, min(task.limit, self.resources.capacity[resource] / element[2]))
                return
            if (
                resource >= self.resources.n_hosts
                and not self._tangled[resource]
                and not self.resources.fat[resource]
            ):
                star = self._stars.get(resource)
                if star is None:
                    star = self._stars[resource] = Star(resource, self.now)
                    for user in present:
                        star.insert(user)
                elif task.star is None:
                    star.insert(task)
                stars[resource] = star
                return
        group = self._component(task)
        seen.update(group)
        for member, rate in zip(group, fill(group, self.resources, self._textbook), strict=True):
            self._run_at(member, rate)

    def _component(self, task: Task) -> list[Task]:
        """All tasks joined to *task* by shared resources, in order of arrival."""
        found = {task}
        stack = [task]
        resources: set[int] = set()
        while stack:
            for resource in stack.pop().coupled:
                if resource in resources:
                    continue
                resources.add(resource)
                star = self._stars.pop(resource, None)
                if star is not None:
                    star.advance(self.now, self._scale)
                    star.dissolve()
                for other in self._users[resource]:
                    if other not in found:
                        found.add(other)
                        stack.append(other)
        return sorted(found, key=_serial)

    def _solve_star(self, star: Star) -> None:
        star.advance(self.now, self._scale)
        free, caught = star.solve(self.resources.capacity[star.resource], self._textbook)
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

    def _detach(self, task: Task) -> None:
        """Take a task out of its star; the star is solved anew later."""
        star = task.star
        assert star is not None
        star.advance(self.now, self._scale)
        star.remove(task)
        for other in self._users[star.resource]:
            if other is not task and other.star is star:
                self._dirty[other] = None
                break

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

    def _tell_loads(self, tell: OnLoad) -> None:
        for host in sorted(self._touched):
            load = self.load(host)
            if load != self._loads.get(host, 0.0):
                self._loads[host] = load
                tell(self.now, host, load)


def _serial(task: Task) -> int:
    return task.serial
