"""Many tasks on one shared link, none of them coupled to others by anything else.

Other tasks may cross the link that are coupled elsewhere too; then ``filling`` finds the level.

The rounds of progressive filling need only the tasks' largest demands in order, so a change costs one
insertion and a few sums of slices. Tasks that the link holds back all receive the same bytes a second (the
*level*): each stores the bytes of the level at which it ends, and a change of the level touches none of them.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left, bisect_right

from batpy.models.sharing.filling import CLOSE, Crowd, used_up
from batpy.models.sharing.task import Date, Task, between

# The level's counter starts anew once a task's bytes are so much smaller, since the sum of both is a float.
COARSE = 1e4


class Star:
    """The tasks of one shared link.

    Attributes:
        resource: the link.
        level: bytes a second of each task that is held back; 0 if none is.
        served: bytes of the level since its counter started, at ``date``.
        entry: number of its valid entry in the engine's heap, 0 if none.
    """

    __slots__ = (
        "_cut",
        "_demands",
        "_due",
        "_ends",
        "_fresh",
        "_tasks",
        "date",
        "entry",
        "level",
        "resource",
        "served",
    )

    def __init__(self, resource: int, date: Date) -> None:
        self.resource = resource
        self.date = date
        self.level = 0.0
        self.served = 0.0
        self.entry = 0
        self._demands: list[float] = []  # bytes a second of each task at its own limit, ascending
        self._tasks: list[Task] = []  # in the same order
        self._ends: list[tuple[float, int, Task]] = []  # heap of (served at the end, serial, task)
        self._due = 0.0  # level_end of the task whose end is planned
        self._fresh: list[Task] = []  # inserted since the last solution, not held back yet
        self._cut = math.inf  # tasks whose demand is larger are held back, fresh ones excepted

    def __len__(self) -> int:
        return len(self._tasks)

    def any(self) -> Task | None:
        """One of the tasks, or None if there is none."""
        return self._tasks[0] if self._tasks else None

    def crowd(self) -> Crowd:
        """The tasks for a filling together with others."""
        return Crowd(self._demands)

    def weight(self, task: Task) -> float:
        """Bytes of *task* on the link."""
        return task.coupled[self.resource][1]

    def insert(self, task: Task) -> None:
        """Take in a task that has a rate of its own, or none yet; a solution must follow."""
        demand = task.limit * self.weight(task)
        place = bisect_right(self._demands, demand)
        self._demands.insert(place, demand)
        self._tasks.insert(place, task)
        task.star = self
        self._fresh.append(task)

    def remove(self, task: Task) -> None:
        """Let a task go, with a rate of its own; the star must stand at the present, and be solved next."""
        place = self._tasks.index(task, bisect_left(self._demands, task.limit * self.weight(task)))
        del self._demands[place], self._tasks[place]
        if task.level_end >= 0:
            self.release(task)
        elif task in self._fresh:
            self._fresh.remove(task)
        task.star = None

    def advance(self, date: Date, scale: float) -> None:
        """Serve until *date*, at the present level."""
        if self.level:
            self.served += self.level * between(self.date, date) / scale
        self.date = date

    def left(self, task: Task, date: Date, scale: float) -> float:
        """Share of a held back task that is left at a date."""
        served = self.served + self.level * between(self.date, date) / scale
        return max(0.0, (task.level_end - served) / self.weight(task))

    def release(self, task: Task) -> None:
        """Turn a held back task into one with a rate of its own; the star must stand at the present."""
        weight = self.weight(task)
        task.left = max(0.0, (task.level_end - self.served) / weight)
        task.rate = self.level / weight
        task.tick, task.frac = self.date
        task.level_end = -1.0

    def hold(self, task: Task, lag: float) -> None:
        """Hold a task back from now on; it has worked at this level for the last *lag* seconds already."""
        rest = task.left * self.weight(task)
        if self.served > COARSE * rest or len(self._ends) > 3 * len(self._tasks) + 100:
            self._restart()
        task.level_end = max(0.0, self.served + rest - self.level * lag)
        task.rate = 0.0
        heapq.heappush(self._ends, (task.level_end, task.serial, task))

    def _restart(self) -> None:
        """Count the level's bytes from 0 again, and forget who is no longer held back."""
        served, self.served = self.served, 0.0
        moved = []
        for end, serial, task in self._ends:
            if task.star is self and task.level_end == end:
                task.level_end = max(0.0, end - served)
                moved.append((task.level_end, serial, task))
        heapq.heapify(moved)
        self._ends = moved

    def next_end(self) -> tuple[float, Task] | None:
        """Seconds from the star's date to the next end of a held back task, and which, or None."""
        ends = self._ends
        while ends:
            end, _, task = ends[0]
            if task.star is self and task.level_end == end:
                self._due = end
                return (max(0.0, end - self.served) / self.level, task) if self.level else None
            heapq.heappop(ends)
        self.served = 0.0
        return None

    def first_ending(self) -> Task:
        """The held back task that ends first, at the star's entry in the engine's heap."""
        return self._ends[0][2]

    def take_ends(self) -> list[Task]:
        """The held back tasks that end now, in order of arrival; they stay in the star."""
        taken = []
        while self._ends and self._ends[0][0] <= self._due:
            end, _, task = heapq.heappop(self._ends)
            if task.star is self and task.level_end == end:
                taken.append(task)
        return taken

    def held(self) -> list[Task]:
        """The tasks that are held back."""
        return [task for task in self._tasks if task.level_end >= 0]

    def move(self, level: float, cut: float) -> tuple[list[Task], list[Task]]:
        """Take a new level, and move the tasks that cross it.

        The star must stand at the present.

        Args:
            level: bytes a second of each task that is held back.
            cut: largest demand that is met in full.

        Returns:
            tasks that run at their own limit from now on and did not before, and tasks that are to be held
            back from now on (``hold`` is left to the caller, who knows what they did until now).
        """
        demands, tasks, old = self._demands, self._tasks, self._cut
        low, high = bisect_right(demands, min(old, cut)), bisect_right(demands, max(old, cut))
        free = []
        caught = []
        if cut > old:
            free = [task for task in tasks[low:high] if task.level_end >= 0]
            for task in free:
                self.release(task)
        elif cut < old:
            caught = tasks[low:high]
        for task in self._fresh:
            demand = task.limit * self.weight(task)
            if demand <= cut:
                free.append(task)
            elif not cut < demand <= old:
                caught.append(task)
        self._fresh.clear()
        self.level = level
        self._cut = cut
        return free, caught

    def fill(self, capacity: float, textbook: bool) -> tuple[float, float]:
        """Level and cut where nobody else crosses the link; see ``filling`` for the rules."""
        demands = self._demands
        total = len(demands)
        left, level, done, again = capacity, 0.0, 0, 0.0
        threshold = used_up(capacity, textbook)
        while done < total:
            share = left / (total - done)
            upto = bisect_right(demands, (level + share) * (1.0 + CLOSE), done)
            grown = sum(demands[done:upto]) - level * (upto - done)
            left -= again + grown + share * (total - upto)
            if not textbook:
                again += grown
            level += share
            done = upto
            if left <= threshold:
                break
        return (level, level * (1.0 + CLOSE)) if done < total else (0.0, math.inf)
