"""The way between two members of one zone where no search is needed: tables, coordinates, stars, nothing.

A member is a node (a number of its own) or an inner zone (``~index`` of that zone, below 0). The rules are
those of SimGrid 3.32, which Batsim 4.2.1 is used with.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence

import msgspec


class Segment(msgspec.Struct, frozen=True):
    """A part of a route.

    Attributes:
        links: numbers of the links crossed.
        entry: node where an inner source zone is left, or -1.
        exit: node where an inner target zone is entered, or -1.
        latency: seconds beside those of the links.
    """

    links: tuple[int, ...]
    entry: int = -1
    exit: int = -1
    latency: float = 0.0


Way = Sequence[Segment]
NOTHING: Way = (Segment(()),)


class Zone:
    """A zone; this one knows no way between its members (SimGrid's ``None`` around other zones).

    Args:
        index: its number; inner zones have higher numbers.
        parent: the zone around it, or None.
        title, line: how complaints name it.

    Attributes:
        first, count: the numbers of its own nodes, in the order written.
    """

    def __init__(self, index: int, parent: Zone | None, title: str, line: int) -> None:
        self.index = index
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.title = title
        self.line = line
        self.first = 0
        self.count = 0

    def way(self, source: int, target: int) -> Way | None:
        """The segments from member *source* to member *target*, or None if there are none.

        Where a segment ends in a node of an inner zone and the next one begins in another, the caller finds
        the way between the two.
        """
        del source, target
        return None


class EmptyZone(Zone):
    """Routing ``None``: its own nodes exchange bytes in no time (zones inside it are not connected)."""

    def way(self, source: int, target: int) -> Way | None:
        return NOTHING if source >= 0 and target >= 0 else None


class TableZone(Zone):
    """Routing ``Full``: every way is written down; a node reaches itself through the loopback.

    SimGrid 3.32 takes a way between nodes that is not written as one without links, so what parallel tasks
    send there costs nothing. Platforms without any route live on it (batsim-py's ``hosts_2``), and Batsim's
    ``properties_example`` does between a router and its zone; ``first_gap`` is for telling the user. Between
    inner zones a way must be written.

    Attributes:
        table: (source, target) to the segment.
        open: routers that no route mentions; they stand for the zone itself and all nodes are at them.
    """

    def __init__(self, index: int, parent: Zone | None, title: str, line: int, loopback: int) -> None:
        super().__init__(index, parent, title, line)
        self.table: dict[tuple[int, int], Segment] = {}
        self.open: set[int] = set()
        self._itself: Way = (Segment((loopback,)),)

    def way(self, source: int, target: int) -> Way | None:
        segment = self.table.get((source, target))
        if segment is not None:
            return (segment,)
        if source == target and source >= 0:
            return self._itself
        nodes = source >= 0 and target >= 0
        return NOTHING if nodes or source in self.open or target in self.open else None

    def first_gap(self, hosts: Sequence[int]) -> tuple[int, int, int] | None:
        """The first two of its *hosts* without a written way, and how many such pairs there are, or None."""
        own = set(hosts)
        written = sum(1 for source, target in self.table if source != target and {source, target} <= own)
        gaps = len(hosts) * (len(hosts) - 1) - written
        if not gaps:
            return None
        pairs = ((a, b) for a in hosts for b in hosts if a != b and (a, b) not in self.table)
        return *next(pairs), gaps


class VivaldiZone(Zone):
    """Routing ``Vivaldi``: latency follows from coordinates, peers have private links.

    Latency in milliseconds: distance in the plane plus both heights (SimGrid manual, "Vivaldi"); from a node
    to itself twice its height (SimGrid 3.32).

    Attributes:
        coordinates: node to x, y, height.
        private: node to its links out and in.
    """

    def __init__(self, index: int, parent: Zone | None, title: str, line: int) -> None:
        super().__init__(index, parent, title, line)
        self.coordinates: dict[int, tuple[float, float, float]] = {}
        self.private: dict[int, tuple[int, int]] = {}

    def way(self, source: int, target: int) -> Way | None:
        here, there = self.coordinates.get(source), self.coordinates.get(target)
        if here is None or there is None:
            return None
        distance = math.sqrt((here[0] - there[0]) ** 2 + (here[1] - there[1]) ** 2) + here[2] + there[2]
        links = []
        if source in self.private:
            links.append(self.private[source][0])
        if target in self.private:
            links.append(self.private[target][1])
        return (Segment(tuple(links), latency=distance / 1000.0),)


class StarZone(Zone):
    """A cluster around one middle: out through the links of the source, in through those of the target.

    A link that would be crossed twice is crossed once (SimGrid 3.32), so a backbone counts once. Where there
    is no loopback a node reaches itself out and in again.

    Attributes:
        up, down, limiter, loopback: link of each node in the order written, -1 for none.
        backbone: of all nodes that have a link, -1 for none.
    """

    def __init__(self, index: int, parent: Zone | None, title: str, line: int) -> None:
        super().__init__(index, parent, title, line)
        self.up = array("q")
        self.down = array("q")
        self.limiter = array("q")
        self.loopback = array("q")
        self.backbone = -1
        self._apart: bool | None = None

    def extend(
        self,
        count: int,
        up: Sequence[int] = (),
        down: Sequence[int] = (),
        limiter: Sequence[int] = (),
        loopback: Sequence[int] = (),
    ) -> None:
        """Add *count* nodes; what is left out they do not have."""
        self._apart = None
        for mine, given in (
            (self.up, up),
            (self.down, down),
            (self.limiter, limiter),
            (self.loopback, loopback),
        ):
            mine.extend(given or [-1] * count)

    def way(self, source: int, target: int) -> Way | None:
        if source < 0 or target < 0:
            return None
        here, there = source - self.first, target - self.first
        if here == there and self.loopback[here] >= 0:
            return (Segment((self.loopback[here],)),)
        out, into = self.up[here], self.down[there]
        links = [self.limiter[here], out, self.backbone if out >= 0 or into >= 0 else -1]
        links += [into, self.limiter[there]]
        return (Segment(tuple(dict.fromkeys(link for link in links if link >= 0))),)

    def arms(self, node: int) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]] | None:
        """Links that every way of *node* crosses: out, in the middle, in. None if ways are no such sums.

        They are not where a node has no links of its own, or where nodes share links, which are crossed once.
        """
        at = node - self.first
        if self.up[at] < 0 or self.down[at] < 0 or not self._stand_apart():
            return None
        limiter = (self.limiter[at],) if self.limiter[at] >= 0 else ()
        middle = (self.backbone,) if self.backbone >= 0 else ()
        return (*limiter, self.up[at]), middle, (self.down[at], *limiter)

    def _stand_apart(self) -> bool:
        if self._apart is None:
            owned = [
                link
                for up, down, limiter in zip(self.up, self.down, self.limiter, strict=True)
                for link in {up, down, limiter}
                if link >= 0
            ]
            self._apart = len(owned) == len(set(owned)) and self.backbone not in owned
        return self._apart
