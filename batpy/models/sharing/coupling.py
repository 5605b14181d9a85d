"""Who uses what: which tasks are coupled by which resources, and what a change makes to be looked at again.

A task is coupled by a resource that it shares. What it uses alone only bounds its rate (its *limit*). Tasks
that one link couples and nothing else does are kept in the ``Star`` of that link.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from batpy.models.sharing.resources import Resources
from batpy.models.sharing.star import Star
from batpy.models.sharing.task import WORKING, Date, Task
from batpy.models.sharing.work import Element


class Coupling:
    """The part of the engine that knows who uses what.

    Args:
        resources: capacities.
        ticks_per_second: resolution of the dates.

    Attributes:
        now: the present; stars are brought up to it before they change.
    """

    def __init__(self, resources: Resources, ticks_per_second: float) -> None:
        self.now: Date = (0, 0.0)
        self.resources = resources
        self._scale = ticks_per_second
        self._users: list[dict[Task, Element]] = [{} for _ in range(len(resources))]
        # Tasks on a resource that are coupled by another one as well, in order of coupling.
        self._joints: dict[int, dict[Task, None]] = {}
        self._stars: dict[int, Star] = {}
        self._dirty: dict[Task, None] = {}  # tasks whose group must be looked at again
        self._stale: dict[Task, None] = {}  # tasks whose limit must be computed anew
        self._shared_link = bytearray(
            at >= resources.n_hosts and not fat for at, fat in enumerate(resources.fat)
        )

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
        if len(coupled) > 1:
            for each in coupled if len(coupled) == 2 else (resource,):
                self._joints.setdefault(each, {})[task] = None

    def _uncouple(self, task: Task, resource: int) -> None:
        coupled = task.coupled
        if len(coupled) > 1:
            for each in coupled if len(coupled) == 2 else (resource,):
                del self._joints[each][task]
        del coupled[resource]

    def _give_up(self, task: Task) -> None:
        """Give up all resources."""
        users, dirty = self._users, self._dirty
        dirty.pop(task, None)
        self._stale.pop(task, None)
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
        """Have a task's limit computed anew: a resource that it uses alone, or a speed, has changed."""
        if task.star is not None:
            self._detach(task)
        self._stale[task] = None
        self._dirty[task] = None

    def _limit(self, task: Task) -> float:
        """Largest rate that a task's own bounds and the resources that only it uses allow."""
        resources, coupled, work = self.resources, task.coupled, task.work
        limit = work.window_rate
        for host, largest, total, _ in work.hosts:
            limit = min(limit, resources.speed[host] * work.executor_cores / largest)
            if host not in coupled:
                limit = min(limit, resources.capacity[host] / total)
        for link, _, total, _ in work.links:
            if link not in coupled:
                limit = min(limit, resources.capacity[link] / total)
        return limit

    def _can_be_star(self, resource: int) -> bool:
        return bool(self._shared_link[resource])

    def _star(self, resource: int) -> Star:
        """The star of a link; a new one has all tasks that only this link couples."""
        star = self._stars.get(resource)
        if star is None:
            star = self._stars[resource] = Star(resource, self.now)
            for user in self._users[resource]:
                if len(user.coupled) == 1:
                    star.insert(user)
        return star

    def _component(self, task: Task, reached: set[int]) -> tuple[list[Task], list[Star]]:
        """What shared resources join to *task*: tasks in no star, in order of arrival, and stars."""
        found: set[Task] = set()
        stars = []
        stack = list(task.coupled)
        shared_link = self._shared_link
        while stack:
            resource = stack.pop()
            if resource in reached:
                continue
            reached.add(resource)
            members: Iterable[Task] = self._users[resource]
            if shared_link[resource]:
                joints = self._joints.get(resource, {})
                if len(joints) < len(self._users[resource]):
                    stars.append(self._star(resource))
                elif (star := self._stars.pop(resource, None)) is not None:
                    star.entry = 0
                members = joints
            for other in members:
                if other not in found:
                    found.add(other)
                    stack += [each for each in other.coupled if each not in reached]
        return sorted(found, key=_serial), stars

    def _detach(self, task: Task) -> None:
        """Take a task out of its star; the star is solved anew later."""
        star = task.star
        assert star is not None
        star.advance(self.now, self._scale)
        star.remove(task)
        other = star.any()
        if other is not None:
            self._dirty[other] = None


def _serial(task: Task) -> int:
    return task.serial
