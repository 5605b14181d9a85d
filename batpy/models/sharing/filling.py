"""Progressive filling: rates of tasks that share several resources, computed anew for one component.

Every round gives each element on a resource an equal share of what the resource has left; a task grows by the
least that its elements allow and freezes at its own limit, or when one of its resources is used up.

SimGrid 3.32's fair bottleneck differs from that text in two places, and recorded runs follow it, so this is
the default here (``textbook`` gives the plain algorithm):

- a frozen task is charged its last increment again in every further round, so a resource may be called used
  up while some of it is left;
- on a FATPIPE link the least, not the largest, increment of a round is charged, and a task that only this
  link holds back gets the rest again in the next round, more than the link has in all. Where that would go on
  for very many rounds (SimGrid goes on) such a task is frozen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from batpy.models.sharing.resources import Resources
from batpy.models.sharing.task import Task

# A rate this close to a limit, relative to it, is at the limit.
CLOSE = 1e-12
# A resource with less left than this (flops or bytes a second) is used up (SimGrid: precision/work-amount),
USED_UP = 1e-5
# or with less than this share of its capacity, which is float noise.
NOISE = 4e-15
# A FATPIPE link of which a round takes a smaller share than this will not be used up by going on.
ENDLESS = 1e-3
# From so many tasks on, numpy is faster.
MANY = 48


class _Pool:
    """One resource during the filling."""

    __slots__ = (
        "again",
        "capacity",
        "charge",
        "fat",
        "least",
        "left",
        "live",
        "members",
        "share",
        "threshold",
    )

    def __init__(self, capacity: float, fat: bool, textbook: bool) -> None:
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
    return capacity * CLOSE if textbook else max(USED_UP, capacity * NOISE)


def fill(tasks: Sequence[Task], resources: Resources, textbook: bool) -> list[float]:
    """Rates of the tasks of one component, in the order given.

    Args:
        tasks: all tasks that use the resources in their ``coupled`` elements.
        resources: capacities.
        textbook: leave out what SimGrid 3.32 does otherwise.
    """
    if len(tasks) >= MANY:
        from batpy.models.sharing.filling_many import fill_many

        return fill_many(tasks, resources, textbook)
    pools: dict[int, _Pool] = {}
    growers = []
    for task in tasks:
        grower = _Grower(task)
        for resource, largest, total, count in task.coupled.values():
            pool = pools.get(resource)
            if pool is None:
                pool = pools[resource] = _Pool(
                    resources.capacity[resource], bool(resources.fat[resource]), textbook
                )
            pool.members.append(grower)
            pool.live += count
            grower.elements.append((pool, largest, total, count))
        growers.append(grower)
    open_pools = list(pools.values())
    live = growers
    while live:
        open_pools = [pool for pool in open_pools if pool.live]
        for pool in open_pools:
            pool.share = pool.left if pool.fat else pool.left / pool.live
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
            for grower in pool.members:
                grower.growing = False
    for grower in live:
        if not grower.growing:
            for pool, _, total, count in grower.elements:
                pool.freeze(total * grower.grown, count)
    return still_open
