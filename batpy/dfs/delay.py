"""Delay scheduling: a set of tasks turns down offers of nodes that are far from its data, for a while.

Sources: Zaharia et al., "Delay scheduling", EuroSys 2010 (the rule and the formula); YARN's capacity
scheduler (``RegularContainerAllocator``, 3.x) for the form that counts offers; Spark's ``TaskSetManager``
for the form that waits: until 3.0 every launch starts the wait anew, so tasks shorter than the wait keep all
nodes without data idle (SPARK-18886); from 3.1 on only a round in which no offer was turned down does.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, Literal, NamedTuple, TypeVar

from batpy.base.errors import InputError
from batpy.dfs.locality import Locality

Task = TypeVar("Task", bound=Hashable)
_NODE, _RACK, _FAR = Locality.NODE, Locality.RACK, Locality.OFF_RACK


class Taken(NamedTuple, Generic[Task]):
    """An offer that was taken.

    Attributes:
        level: how near the node is to the task's data; None if the task has no preference.
    """

    node: int
    task: Task
    level: Locality | None


@dataclass(frozen=True)
class SkipCount:
    """Offers that are turned down before a level further away is accepted (YARN's capacity scheduler).

    An offer counts as it comes, if tasks are pending; a task is taken at level RACK if more than *node_delay*
    offers have been counted, and off the rack if more than *node_delay* + *rack_delay* have. Both limits are
    at most the number of nodes. A task on its node sets the count to 0, one off its rack leaves it alone.

    Attributes:
        node_delay: YARN's default is 40 (``node-locality-delay``).
        rack_delay: YARN's ``rack-locality-additional-delay``; -1, its default: instead, off-rack tasks wait
            for as many offers as tasks are pending, times the number of places (nodes and racks) that they
            ask for over the number of nodes, if that is below 1.
        rack_full_reset: a task in its rack sets the count to 0 as well.
    """

    node_delay: int = 40
    rack_delay: int = -1
    rack_full_reset: bool = True

    def __post_init__(self) -> None:
        if self.node_delay < 0 or self.rack_delay < -1:
            raise InputError(f"delays must be at least 0, got {self.node_delay} and {self.rack_delay}")

    @staticmethod
    def fair(nodes: int, node_fraction: float, rack_fraction: float) -> SkipCount:
        """The fair scheduler's form: delays as fractions of the cluster, each from 0 to 1."""
        if not (0 <= node_fraction <= 1 and 0 <= rack_fraction <= 1):
            raise InputError("fractions of the cluster must be from 0 to 1")
        return SkipCount(math.floor(nodes * node_fraction), math.floor(nodes * rack_fraction))


@dataclass(frozen=True)
class Waits:
    """Time that passes before a level further away is accepted (Spark), in the caller's unit.

    Attributes:
        process, node, rack: wait at each level; Spark's default is 3 s for all (``spark.locality.wait``).
        reset: what starts the wait anew: each ``launch`` (Spark before 3.1, or
            ``spark.locality.wait.legacyResetOnTaskLaunch``), or rounds that were ``filled``: none of the
            nodes offered was turned down (3.1 and later).
    """

    process: int = 3_000_000
    node: int = 3_000_000
    rack: int = 3_000_000
    reset: Literal["launch", "filled"] = "filled"

    def __post_init__(self) -> None:
        if min(self.process, self.node, self.rack) < 0:
            raise InputError("waits must be at least 0")

    def at(self, level: Locality) -> int:
        """The wait at a level short of the last."""
        return (self.process, self.node, self.rack)[level]


class DelayScheduling(Generic[Task]):
    """The pending tasks of one job (or stage), and which of them takes an offered node.

    Usage: ``add`` each task with the nodes that hold its data; ``offer`` one free slot of a node, or a
    ``round`` of them. What is taken is no longer pending. Tasks of one level are taken in the order added.
    Tasks without a preference are taken at any offer, after those that are on their node. With ``Waits``, ask
    ``wakes_at`` when to offer the same nodes again if nothing else happens; the wait begins with the object,
    so let there be one for each stage.

    >>> queue = DelayScheduling({0: "a", 1: "a", 2: "b"}, SkipCount(node_delay=1, rack_delay=1))
    >>> queue.add("map 0", nodes=[0])
    >>> queue.offer(2)  # turned down: the data is elsewhere
    >>> queue.offer(1)  # the second offer may be in the rack
    Taken(node=1, task='map 0', level=<Locality.RACK: 2>)

    Args:
        racks: the rack of each node of the cluster; nodes that are not in it are in no rack.
        rule: ``SkipCount`` or ``Waits``.
        now: when the tasks became pending; only ``Waits`` reads it.
    """

    def __init__(self, racks: Mapping[int, Hashable], rule: SkipCount | Waits, now: int = 0) -> None:
        self.rule = rule
        self.missed = 0
        """Offers since the count was last set to 0 (``SkipCount``)."""
        self._racks = racks
        self._since = now
        self._level = Locality.PROCESS
        self._no_rejects = True
        self._homes: dict[Task, tuple[frozenset[int], frozenset[int], frozenset[Hashable]]] = {}
        # Insertion-ordered sets of tasks by place, for each level; off the rack any place does.
        self._by_place: tuple[dict[Hashable, dict[Task, None]], ...] = ({}, {}, {})
        self._choosy: dict[Task, None] = {}
        self._easy: dict[Task, None] = {}

    def __len__(self) -> int:
        """Pending tasks."""
        return len(self._choosy) + len(self._easy)

    def __contains__(self, task: object) -> bool:
        return task in self._choosy or task in self._easy

    def add(self, task: Task, nodes: Iterable[int] = (), cached: Iterable[int] = ()) -> None:
        """A task becomes pending.

        Args:
            nodes: that hold its data; none, and none cached, means no preference.
            cached: nodes whose process holds it in memory.
        """
        assert task not in self, f"task {task!r} is pending already"
        near = frozenset(cached)
        home = near | frozenset(nodes)
        if not home:
            self._easy[task] = None
            return
        racks = frozenset(self._racks[node] for node in home if node in self._racks)
        self._homes[task] = near, home, racks
        self._choosy[task] = None
        for level, places in enumerate((near, home, racks)):
            for place in places:
                self._by_place[level].setdefault(place, {})[task] = None

    def remove(self, task: Task) -> None:
        """A task is no longer pending; nothing happens if it was not."""
        self._easy.pop(task, None)
        if self._choosy.pop(task, self) is self:
            return
        for level, places in enumerate(self._homes.pop(task)):
            for place in places:
                tasks = self._by_place[level][place]
                del tasks[task]
                if not tasks:
                    del self._by_place[level][place]

    def offer(self, node: int, now: int = 0) -> Taken[Task] | None:
        """One free slot of a node: the task that takes it, or None if it is turned down."""
        found = self.round((node,), now, all_free=False)
        return found[0] if found else None

    def round(self, nodes: Collection[int], now: int = 0, *, all_free: bool = True) -> list[Taken[Task]]:
        """Free slots, one of the node at each place of *nodes*; those that are taken, in order of the offers.

        With ``Waits`` the nearest tasks go first over all offers, as in Spark; with ``SkipCount`` the
        offers come one by one.

        Args:
            all_free: these are all the slots that are free now, not only one that just became so.
        """
        if isinstance(self.rule, SkipCount):
            found = (self._count_offer(self.rule, node) for node in nodes if len(self))
            return [taken for taken in found if taken is not None]
        return self._timed_round(self.rule, tuple(nodes), now, all_free)

    def allowed(self, now: int = 0) -> Locality:
        """The level furthest away that is accepted: now (``Waits``), or at the next offer (``SkipCount``)."""
        if isinstance(self.rule, Waits):
            return self._timed_level(self.rule, now)
        return self._counted_level(self.rule, self.missed + 1)

    def wakes_at(self, now: int) -> int | None:
        """When a level further away becomes acceptable although nothing happens; None if never."""
        if isinstance(self.rule, SkipCount) or not self._choosy:
            return None
        level = self._timed_level(self.rule, now)
        return None if level is _FAR else self._since + self.rule.at(level)

    # ----------------------------------------------------------------------- what lies where

    def _nearest(self, node: int, furthest: Locality, easy: bool = True) -> Taken[Task] | None:
        cached, held, beside = self._by_place
        if tasks := cached.get(node):
            return Taken(node, next(iter(tasks)), Locality.PROCESS)
        if furthest >= _NODE and (tasks := held.get(node)):
            return Taken(node, next(iter(tasks)), _NODE)
        if easy and self._easy:
            return Taken(node, next(iter(self._easy)), None)
        if furthest >= _RACK and (tasks := beside.get(self._racks.get(node, self))):
            return Taken(node, next(iter(tasks)), _RACK)
        if furthest >= _FAR and self._choosy:
            return Taken(node, next(iter(self._choosy)), _FAR)
        return None

    # ----------------------------------------------------------------------- counted offers

    def _count_offer(self, rule: SkipCount, node: int) -> Taken[Task] | None:
        self.missed += 1
        taken = self._nearest(node, self._counted_level(rule, self.missed))
        if taken is None:
            return None
        # What is near by chance, when only tasks from off the rack may come, is one of those to YARN.
        reset = taken.level is _RACK and rule.rack_full_reset
        reset = reset and self.missed > min(len(self._racks), rule.node_delay)
        self.remove(taken.task)
        if taken.level is None:
            self.missed -= 1
        elif taken.level <= _NODE or reset:
            self.missed = 0
        return taken

    def _counted_level(self, rule: SkipCount, count: int) -> Locality:
        """The level furthest away that an offer may have, with so many counted."""
        cluster = len(self._racks)
        limit: float = rule.node_delay + rule.rack_delay
        if rule.rack_delay < 0:
            asked = len(self._by_place[_NODE]) + len(self._by_place[_RACK])
            limit = len(self) * min(1.0, asked / cluster) if cluster else 0.0
        if count > min(cluster, limit):
            return _FAR
        return _RACK if count > min(cluster, rule.node_delay) else _NODE

    # ----------------------------------------------------------------------- waits

    def _timed_level(self, rule: Waits, now: int) -> Locality:
        while self._level < _FAR and self._choosy:
            if not self._by_place[self._level]:
                self._since = now  # Spark: a level without tasks is passed over, and the next waits from now
            elif now - self._since >= rule.at(self._level):
                self._since += rule.at(self._level)
            else:
                break
            self._level = Locality(self._level + 1)
        return self._level

    def _timed_round(
        self, rule: Waits, nodes: tuple[int, ...], now: int, all_free: bool
    ) -> list[Taken[Task]]:
        found: dict[int, Taken[Task]] = {}
        for level in Locality:
            for place, node in enumerate(nodes):
                if place in found or not len(self):
                    continue
                furthest = min(level, self._timed_level(rule, now))
                taken = self._nearest(node, furthest, easy=level > Locality.PROCESS)
                if taken is None:
                    continue
                found[place] = taken
                self.remove(taken.task)
                if rule.reset == "launch" and taken.level is not None:
                    self._restart(taken.level, now)
        if rule.reset == "filled":
            rejected = len(found) < len(nodes) and len(self) > 0
            self._after_round(found, rejected=rejected, all_free=all_free, now=now)
        return [found[place] for place in sorted(found)]

    def _after_round(
        self, found: Mapping[int, Taken[Task]], *, rejected: bool, all_free: bool, now: int
    ) -> None:
        if rejected:
            self._no_rejects = False
        elif found and (all_free or self._no_rejects):
            levels = [taken.level for taken in found.values() if taken.level is not None]
            if levels:
                self._restart(min(levels), now)
            self._no_rejects = True

    def _restart(self, level: Locality, now: int) -> None:
        self._level, self._since = level, now


def skips_for_locality(locality: float, tasks: int, replicas: int, nodes: int) -> float:
    """Offers to turn down for an expected share of local tasks (EuroSys 2010, section 3.4.1).

    D >= -(M / R) ln((1 - l) N / (1 + (1 - l) N)) for N tasks left, R replicas of each block and M nodes, if
    offers come from all nodes alike.

    Args:
        locality: the share wanted, from 0 to less than 1.
    """
    if not 0 <= locality < 1 or min(tasks, replicas, nodes) < 1:
        raise InputError("want a locality from 0 to below 1, and at least one task, replica and node")
    left = (1 - locality) * tasks
    return -nodes / replicas * math.log(left / (1 + left))


def expected_locality(skips: float, tasks: int, replicas: int, nodes: int) -> float:
    """Share of tasks that find their data at one of skips + 1 offers, of nodes drawn alike.

    The mean over K = tasks ... 1 tasks left of 1 - (1 - p)**(skips + 1), where a node has data of one of them
    with p = 1 - (1 - K / M)**R (EuroSys 2010, section 3.4.1, before its approximations).
    """
    total = 0.0
    for left in range(1, tasks + 1):
        without = (1 - min(left, nodes) / nodes) ** replicas
        total += 1 - without ** (skips + 1)
    return total / tasks
