"""Progressive filling: rates of tasks that share several resources, computed anew for one component.

Every round gives each element on a resource an equal share of what the resource has left; a task grows by the
least that its elements allow and freezes at its own limit, or when one of its resources is used up.

SimGrid 3.32's fair bottleneck differs from that text in two places, and Batsim's results follow it, so this
is the default here (``textbook`` gives the plain algorithm). Runs recorded with Batsim show the first; in
none of them do several tasks meet on a FATPIPE link, so the second rests on SimGrid alone:

- a frozen task is charged its last increment again in every further round, so a resource may be called used
  up while some of it is left;
- on a FATPIPE link the least, not the largest, increment of a round is charged, and a task that only this
  link holds back gets the rest again in the next round, more than the link has in all. Where that would go on
  for very many rounds (SimGrid goes on) such a task is frozen.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence

from batpy.models.sharing.resources import Resources
from batpy.models.sharing.task import Task

# A rate this close to a limit, relative to it, is at the limit.
CLOSE = 1e-12
# A resource with less left than this (flops or bytes a second) is used up (SimGrid: precision/work-amount),
USED_UP = 1e-5
# or with less than this share of its capacity, which is float noise.
ROUNDING = 4e-15
# A FATPIPE link of which a round takes a smaller share than this will not be used up by going on.
ENDLESS = 1e-3
# From so many elements on, numpy is faster.
MANY = 150


class Crowd:
    """Many tasks that share one link and nothing else, during the filling.

    All that still grow have received the same bytes a second.

    Args:
        demands: bytes a second of each task at its own limit, ascending.

    Attributes:
        live: number of tasks that still grow.
        again: growth of those that reached their limit, in the round in which they did.
    """

    __slots__ = ("_demands", "_done", "_level", "again", "live")

    def __init__(self, demands: Sequence[float]) -> None:
        self._demands = demands
        self._done = 0
        self._level = 0.0
        self.live = len(demands)
        self.again = 0.0

    def grow(self, share: float, textbook: bool) -> float:
        """Let all that are live grow by *share*, or up to their limits; what the link is charged for it."""
        demands, done, level = self._demands, self._done, self._level
        upto = bisect_right(demands, (level + share) * (1.0 + CLOSE), done)
        grown = sum(demands[done:upto]) - level * (upto - done)
        self.live = len(demands) - upto
        charge = grown + share * self.live
        if not textbook:
            charge += self.again
            self.again += grown
        self._level += share
        self._done = upto
        return charge

    def outcome(self) -> tuple[float, float]:
        """Bytes a second of those that did not reach their limit, and the largest demand met in full."""
        if self._done == len(self._demands):
            return 0.0, math.inf
        return self._level, self._level * (1.0 + CLOSE)


class _Pool:
    """One resource during the filling."""

    __slots__ = (
        "again",
        "capacity",
        "charge",
        "crowd",
        "fat",
        "least",
        "left",
        "live",
        "members",
        "share",
        "threshold",
    )

    def __init__(self, capacity: float, fat: bool, textbook: bool, crowd: Crowd | None) -> None:
        self.crowd = crowd
        self.capacity = capacity
        self.left = capacity
        self.threshold = used_up(capacity, textbook)
        self.fat = fat
        self.live = 0  # elements of tasks that still grow
        self.share = 0.0
        self.charge = 0.0  # of the present round
        self.members: list[_Grower] = []
        self.again = 0.0  # charged in every round for tasks that are frozen
        self.least = math.inf  # least such charge, which is what counts on a FATPIPE link

    def start_round(self, textbook: bool) -> None:
        if textbook:
            self.charge = 0.0
        else:
            self.charge = min(self.share, self.least) if self.fat else self.again
        if self.crowd is not None:
            self.charge += self.crowd.grow(self.share, textbook)

    def users(self) -> int:
        """Elements of all tasks that still grow."""
        return self.live if self.crowd is None else self.live + self.crowd.live

    def close(self) -> None:
        """The resource is used up."""
        for grower in self.members:
            grower.growing = False
        if self.crowd is not None:
            self.crowd.live = 0

    def freeze(self, charge: float, count: int) -> None:
        """A task with *count* elements here stops growing; its growth in this round was *charge*."""
        self.live -= count
        self.again += charge
        self.least = min(self.least, charge)

    def freeze_held_back(self) -> None:
        """Freeze the tasks whose growth in this round was set by this link."""
        for grower in self.members:
            for pool, largest, _, _ in grower.elements:
                if pool is self and grower.grown * largest >= self.share * (1.0 - CLOSE):
                    grower.growing = False


class _Grower:
    """One task during the filling."""

    __slots__ = ("elements", "growing", "grown", "limit", "rate", "task")

    def __init__(self, task: Task) -> None:
        self.task = task
        self.rate = 0.0
        self.grown = 0.0
        self.growing = True
        self.limit = task.limit
        self.elements: list[tuple[_Pool, float, float, int]] = []


def used_up(capacity: float, textbook: bool) -> float:
    """A resource is used up when no more than this is left of its capacity."""
    return capacity * CLOSE if textbook else max(USED_UP, capacity * ROUNDING)


def fill(
    tasks: Sequence[Task], resources: Resources, textbook: bool, crowds: Mapping[int, Crowd]
) -> list[float]:
    """Rates of the tasks of one component, in the order given.

    Args:
        tasks: all tasks that use the resources in their ``coupled`` elements, those in crowds excepted.
        resources: capacities.
        textbook: leave out what SimGrid 3.32 does otherwise.
        crowds: the other tasks on some of these resources; their ``outcome`` is told by each.
    """
    if sum([len(task.coupled) for task in tasks]) >= MANY:
        from batpy.models.sharing.filling_many import fill_many

        return fill_many(tasks, resources, textbook, crowds)
    pools: dict[int, _Pool] = {}
    growers = []
    for task in tasks:
        grower = _Grower(task)
        for resource, largest, total, count in task.coupled.values():
            pool = pools.get(resource)
            if pool is None:
                pool = pools[resource] = _Pool(
                    resources.capacity[resource],
                    bool(resources.fat[resource]),
                    textbook,
                    crowds.get(resource),
                )
            pool.members.append(grower)
            pool.live += count
            grower.elements.append((pool, largest, total, count))
        growers.append(grower)
    open_pools = list(pools.values())
    live = growers
    while live or any(crowd.live for crowd in crowds.values()):
        open_pools = [pool for pool in open_pools if pool.users()]
        for pool in open_pools:
            pool.share = pool.left if pool.fat else pool.left / pool.users()
        _grow(live)
        open_pools = _charge(open_pools, live, textbook)
        live = [grower for grower in live if grower.growing]
    return [grower.rate for grower in growers]


def _grow(live: Sequence[_Grower]) -> None:
    for grower in live:
        step = min([pool.share / largest for pool, largest, _, _ in grower.elements])
        limit = grower.limit
        if grower.rate + step >= limit * (1.0 - CLOSE):
            grower.grown = limit - grower.rate
            grower.rate = limit
            grower.growing = False
        else:
            grower.grown = step
            grower.rate += step


def _charge(open_pools: Sequence[_Pool], live: Sequence[_Grower], textbook: bool) -> list[_Pool]:
    """Charge this round's growth, freeze who stands on used up resources; returns what is still open."""
    for pool in open_pools:
        pool.start_round(textbook)
    for grower in live:
        grown = grower.grown
        for pool, _, total, _ in grower.elements:
            if not pool.fat:
                pool.charge += total * grown
            else:
                pool.charge = (max if textbook else min)(pool.charge, total * grown)
    still_open = []
    for pool in open_pools:
        pool.left -= pool.charge
        if pool.left > pool.threshold:
            still_open.append(pool)
            if pool.fat and not textbook and pool.charge < ENDLESS * pool.capacity:
                pool.freeze_held_back()
        else:
            pool.close()
    for grower in live:
        if not grower.growing:
            for pool, _, total, count in grower.elements:
                pool.freeze(total * grower.grown, count)
    return still_open
