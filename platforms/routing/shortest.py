"""Zones whose ways are searched: Floyd and Dijkstra, which both look for the fewest links.

SimGrid's manual says that Dijkstra counts latency; SimGrid 3.32 counts links, and is what is compared with.

One search from a source answers all its targets; a bounded number of these trees is kept as plain arrays, so
memory stays linear in the zone. Among equal paths the choice is that of SimGrid 3.32: it is part of what a
user's file means there, since the links differ.
"""

from __future__ import annotations

from array import array
from typing import Any

from batpy.platforms.routing.zones import Segment, Way, Zone

# Numbers kept in all trees of one zone.
CACHED_NUMBERS = 2_000_000
# Up to so many members the cubic algorithm itself is run; above, ties may be broken in another order.
MAX_CUBIC = 300
UNREACHED = -1


class ShortestZone(Zone):
    """A zone of which single hops are given.

    Args:
        loopback: link from a node to itself.
        cubic: break ties as Floyd's algorithm does, else as Dijkstra's.

    Attributes:
        hops: (source, target) to the segment.
        members: in the order that breaks ties: as written (Floyd), or as hops name them first (Dijkstra).
    """

    def __init__(
        self,
        index: int,
        parent: Zone | None,
        title: str,
        line: int,
        loopback: int,
        *,
        cubic: bool,
    ) -> None:
        super().__init__(index, parent, title, line)
        self.hops: dict[tuple[int, int], Segment] = {}
        self.members: list[int] = []
        self._itself: Way = (Segment((loopback,)),)
        self._cubically = cubic
        self._ranks: dict[int, int] = {}
        self._graph: Any = None
        self._trees: dict[int, array[int]] = {}

    def way(self, source: int, target: int) -> Way | None:
        if source == target:
            written = self.hops.get((source, target))
            if written is not None:
                return (written,)
            return self._itself if source >= 0 else None
        if not self._ranks:
            self._ranks = {member: rank for rank, member in enumerate(self.members)}
        begin, end = self._ranks.get(source), self._ranks.get(target)
        if begin is None or end is None:
            return None
        tree = self._trees.get(begin)
        if tree is None:
            tree = self._search(begin)
        path = []
        while end != begin:
            before = tree[end]
            if before == UNREACHED:
                return None
            path.append(self.hops[self.members[before], self.members[end]])
            end = before
        return path[::-1]

    def _search(self, begin: int) -> array[int]:
        if self._cubically and len(self.members) <= MAX_CUBIC:
            self._trees = dict(enumerate(self._cubic()))
            return self._trees[begin]
        tree = self._tree(begin)
        if (len(self._trees) + 1) * len(tree) > CACHED_NUMBERS:
            self._trees.clear()
        self._trees[begin] = tree
        return tree

    def _tree(self, begin: int) -> array[int]:
        """Rank of the member before each member on its path from *begin*."""
        import networkx  # type: ignore[import-untyped,unused-ignore]

        if self._graph is None:
            self._graph = networkx.DiGraph()
            self._graph.add_nodes_from(range(len(self.members)))
            self._graph.add_weighted_edges_from(
                (self._ranks[source], self._ranks[target], len(segment.links))
                for (source, target), segment in self.hops.items()
                if source != target
            )
        befores, distances = networkx.dijkstra_predecessor_and_distance(self._graph, begin)
        tree = array("q", [UNREACHED]) * len(self.members)
        settled: set[int] = set()
        for member in distances:
            # Of the members that could come before, the one that a queue ordered by (distance, rank) serves
            # first. Only what it served earlier counts.
            choices = [before for before in befores[member] if before in settled]
            if choices:
                tree[member] = min(choices, key=lambda before: (distances[before], before))
            settled.add(member)
        return tree

    def _cubic(self) -> list[array[int]]:
        """Trees of all members by Floyd's algorithm: an equal path never replaces the one found before."""
        import numpy

        count = len(self.members)
        cost = numpy.full((count, count), numpy.inf)
        before = numpy.full((count, count), UNREACHED, dtype=numpy.int64)
        for (source, target), segment in self.hops.items():
            here, there = self._ranks[source], self._ranks[target]
            cost[here, there] = len(segment.links)
            before[here, there] = here
        for middle in range(count):
            through = cost[:, middle, None] + cost[None, middle, :]
            better = through < cost
            cost = numpy.where(better, through, cost)
            before = numpy.where(better, before[middle][None, :], before)
        return [array("q", row.tolist()) for row in before]
