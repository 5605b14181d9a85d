"""Clusters whose hosts are joined by cables in a regular pattern: torus, fat tree, dragonfly.

Ways are computed from the numbers of the hosts, never searched or stored. They are those of SimGrid 3.32 link
by link, found by asking it: where several ways are equally long, the choice decides which flows meet.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence

import msgspec

from batpy.platforms.network import Link
from batpy.platforms.routing.zones import Segment, Way, Zone


class Cabling(msgspec.Struct, frozen=True):
    """What all cables of a cluster are like.

    Attributes:
        name: of the cluster.
        hosts: how many there are.
        labels: what tells the hosts apart in the names of loopbacks; limiters count them (SimGrid 3.32).
        cable: bandwidth and latency of one.
        duplex: a cable is one link for each direction.
        limiter: bandwidth that all traffic of a host or switch shares, or None.
        loopback: from a host to itself, or None.
        serial: number of the first cable in names.
        shift: place of the first host where places decide between equal ways; hosts of all fat trees of a
            platform are counted together (SimGrid 3.32).
    """

    name: str
    hosts: int
    labels: Collection[str]
    cable: Link
    duplex: bool
    limiter: float | None
    loopback: Link | None
    serial: int = 0
    shift: int = 0


class CabledZone(Zone):
    """A cluster of hosts, switches and cables; also the block of its links.

    Links are numbered cables first (up, then down), then limiters of hosts and switches, then loopbacks.

    Attributes:
        base: number of its first link.
        cables, switches: how many there are; a subclass sets them.
    """

    def __init__(self, index: int, parent: Zone | None, title: str, line: int, cabling: Cabling) -> None:
        super().__init__(index, parent, title, line)
        self.cabling = cabling
        self.base = 0
        self.cables = 0
        self.switches = 0

    def __len__(self) -> int:
        cabling = self.cabling
        limited = 0 if cabling.limiter is None else cabling.hosts + self.switches
        return self._ends() + limited + (0 if cabling.loopback is None else cabling.hosts)

    def make(self) -> Sequence[Link]:
        """All links in the order of their numbers."""
        cabling = self.cabling
        cable, made = cabling.cable, []
        for name, parallel in self.named():
            for end in ("_UP", "_DOWN") if cabling.duplex else ("",):
                made.append(Link(name + end, cable.bandwidth * parallel, cable.latency, cable.shared))
        if cabling.limiter is not None:
            for node in range(cabling.hosts + self.switches):
                made.append(Link(self._limiter_name(node), cabling.limiter, 0.0))
        if cabling.loopback is not None:
            back = cabling.loopback
            for label in cabling.labels:
                name = f"{cabling.name}_link_{label}_loopback"
                made.append(Link(name, back.bandwidth, back.latency, back.shared))
        return made

    def way(self, source: int, target: int) -> Way | None:
        if source < 0 or target < 0:
            return None
        if source == target and self.cabling.loopback is not None:
            return (Segment((self.base + len(self) - self.cabling.hosts + source - self.first,)),)
        return (Segment(tuple(self.path(source - self.first, target - self.first))),)

    def named(self) -> Iterator[tuple[str, float]]:
        """Name of each cable in the order of their numbers, and how many times the bandwidth it has."""
        raise NotImplementedError

    def path(self, source: int, target: int) -> list[int]:
        """Links from host to host, by their place in the radical."""
        raise NotImplementedError

    def up(self, cable: int) -> int:
        """The link of *cable* away from the node it is named after first."""
        return self.base + (2 * cable if self.cabling.duplex else cable)

    def down(self, cable: int) -> int:
        """The link of *cable* the other way."""
        return self.base + (2 * cable + 1 if self.cabling.duplex else cable)

    def limiters(self, node: int) -> tuple[int, ...]:
        """The limiter of a host, or of switch ``node - hosts``; empty without limiters."""
        return () if self.cabling.limiter is None else (self.base + self._ends() + node,)

    def switch_id(self, switch: int) -> int:
        """The number of a switch in names: they count down from twice the hosts (SimGrid 3.32)."""
        return 2 * self.cabling.hosts - 1 - switch

    def _ends(self) -> int:
        return self.cables * (2 if self.cabling.duplex else 1)

    def _limiter_name(self, node: int) -> str:
        cabling = self.cabling
        if node < cabling.hosts:
            return f"{cabling.name}_link_{node}_limiter"
        number = self.switch_id(node - cabling.hosts)
        # SimGrid refuses more switches than hosts here, since names meet.
        kind = "link" if number >= cabling.hosts else "switch"
        return f"{cabling.name}_{kind}_{number}_limiter"


class TorusZone(CabledZone):
    """Hosts in a grid of any dimension whose lines are rings; ways go along one dimension after the other."""

    def __init__(
        self, index: int, parent: Zone | None, title: str, line: int, cabling: Cabling, sizes: Sequence[int]
    ) -> None:
        super().__init__(index, parent, title, line, cabling)
        self.sizes = tuple(sizes)
        self.strides = tuple(math.prod(self.sizes[:at]) for at in range(len(self.sizes)))
        self.cables = cabling.hosts * len(self.sizes)

    def named(self) -> Iterator[tuple[str, float]]:
        for host in range(self.cabling.hosts):
            for size, stride in zip(self.sizes, self.strides, strict=True):
                yield f"{self.cabling.name}_link_from_{host}_to_{self._next(host, size, stride)}", 1

    def path(self, source: int, target: int) -> list[int]:
        links = [*self.limiters(source)]
        dimensions = len(self.sizes)
        for axis, (size, stride) in enumerate(zip(self.sizes, self.strides, strict=True)):
            at, end = source // stride % size, target // stride % size
            ahead = (end - at) % size
            # Half way round both directions are as long: ahead, but back to 0 (SimGrid 3.32).
            forward = 2 * ahead <= size and not (2 * ahead == size and end == 0)
            for _ in range(ahead if forward else size - ahead if ahead else 0):
                if forward:
                    links.append(self.up(source * dimensions + axis))
                    source = self._next(source, size, stride)
                else:
                    source = self._before(source, size, stride)
                    links.append(self.down(source * dimensions + axis))
                links += self.limiters(source)
        return links

    @staticmethod
    def _next(host: int, size: int, stride: int) -> int:
        return host + stride if host // stride % size < size - 1 else host - stride * (size - 1)

    @staticmethod
    def _before(host: int, size: int, stride: int) -> int:
        return host - stride if host // stride % size else host + stride * (size - 1)


class FatTreeZone(CabledZone):
    """Levels of switches: a node has *parents* above it, *children* below, *ports* cables to each parent.

    Upwards the parent and port follow from the target ("D-Mod-K", Zahavi 2010); downwards the port follows
    from the source.
    """

    def __init__(
        self,
        index: int,
        parent: Zone | None,
        title: str,
        line: int,
        cabling: Cabling,
        children: Sequence[int],
        parents: Sequence[int],
        ports: Sequence[int],
    ) -> None:
        super().__init__(index, parent, title, line, cabling)
        self.levels = len(children)
        self.children, self.parents, self.ports = tuple(children), tuple(parents), tuple(ports)
        # Hosts below a switch of each level, and switches of each level that have the same hosts below.
        self.below = tuple(math.prod(children[:level]) for level in range(self.levels + 1))
        self.twins = tuple(math.prod(parents[:level]) for level in range(self.levels + 1))
        counts = [cabling.hosts // below * twins for below, twins in zip(self.below, self.twins, strict=True)]
        self.counts = counts
        # First cable towards the level above, and first switch of a level (hosts are level 0).
        self.offsets, self.starts = [0], [0, 0]
        for level in range(self.levels):
            self.offsets.append(self.offsets[-1] + counts[level] * parents[level] * ports[level])
            self.starts.append(self.starts[-1] + counts[level + 1])
        self.cables, self.switches = self.offsets[-1], self.starts[-1]

    def named(self) -> Iterator[tuple[str, float]]:
        serial = self.cabling.serial
        for level in range(self.levels):
            for node in range(self.counts[level]):
                for above in range(self.parents[level]):
                    top = self._name(level + 1, self._parent(level, node, above))
                    for _ in range(self.ports[level]):
                        yield f"link_from_{self._name(level, node)}_{top}_{serial}", 1
                        serial += 1

    def path(self, source: int, target: int) -> list[int]:
        links, node, level, shift = list[int](), source, 0, self.cabling.shift
        while not level or source // self.below[level] != target // self.below[level]:
            choice = (target + shift) // self.twins[level]
            above, port = choice % self.parents[level], choice // self.parents[level] % self.ports[level]
            links += self.limiters(self._limited(level, node))
            links.append(self.up(self._cable(level, node, above, port)))
            node, level = self._parent(level, node, above), level + 1
        place = -1
        while level:
            size, ports = self.children[level - 1], self.ports[level - 1]
            child = target // self.below[level - 1] % size
            # The place among the cables below goes on from the switch before, and starts anew past the end.
            found = place + 1 + (child - place - 1) % size
            if place < 0 or found >= size * ports:
                found = (source + shift) % ports * size + child
            lower = self._child(level, node, child)
            above = node // self.twins[level - 1] % self.parents[level - 1]
            links.append(self.down(self._cable(level - 1, lower, above, found // size)))
            links += self.limiters(self._limited(level, node))
            node, level, place = lower, level - 1, found
        return [*links, *self.limiters(target)]

    def _cable(self, level: int, node: int, above: int, port: int) -> int:
        return self.offsets[level] + (node * self.parents[level] + above) * self.ports[level] + port

    def _parent(self, level: int, node: int, above: int) -> int:
        group, twin = divmod(node, self.twins[level])
        return group // self.children[level] * self.twins[level + 1] + above * self.twins[level] + twin

    def _child(self, level: int, node: int, child: int) -> int:
        group, twin = divmod(node, self.twins[level])
        return (group * self.children[level - 1] + child) * self.twins[level - 1] + twin % self.twins[
            level - 1
        ]

    def _limited(self, level: int, node: int) -> int:
        return node if not level else self.cabling.hosts + self.starts[level] + node

    def _name(self, level: int, node: int) -> int:
        return node if not level else self.switch_id(self.starts[level] + node)


class RackZone(FatTreeZone):
    """Racks of *size* hosts, each with one switch, which has one cable of bandwidth *uplink* to one above."""

    def __init__(
        self,
        index: int,
        parent: Zone | None,
        title: str,
        line: int,
        cabling: Cabling,
        size: int,
        uplink: float,
    ) -> None:
        count = cabling.hosts // size
        super().__init__(index, parent, title, line, cabling, (size, count), (1, 1), (1, 1))
        self.ratio = uplink / cabling.cable.bandwidth

    def named(self) -> Iterator[tuple[str, float]]:
        for host in range(self.cabling.hosts):
            yield f"host_{host}", 1
        for rack in range(self.counts[1]):
            yield f"rack_{rack}", self.ratio


class DragonflyZone(CabledZone):
    """Groups of chassis of routers of hosts (Cray Cascade, Faanes 2012); ways are minimal.

    Routers of a chassis are joined by green cables, those of one place in all chassis of a group by black
    ones, groups by blue ones; router *n* of the first chassis of a group is joined to group *n*. Green is
    crossed before black.

    Args:
        groups, chassis, routers, nodes: of the whole, in a group, in a chassis, at a router.
        blue, black, green: parallel cables of each colour, which are one of so many times the bandwidth.
    """

    def __init__(
        self,
        index: int,
        parent: Zone | None,
        title: str,
        line: int,
        cabling: Cabling,
        sizes: tuple[int, int, int, int],
        parallels: tuple[int, int, int],
    ) -> None:
        super().__init__(index, parent, title, line, cabling)
        self.groups, self.chassis, self.routers, self.nodes = sizes
        self.blue, self.black, self.green = parallels
        self.per_group = self.chassis * self.routers
        self.switches = self.groups * self.per_group
        self.first_green = cabling.hosts
        self.first_black = self.first_green + self.groups * self.chassis * _pairs(self.routers)
        self.first_blue = self.first_black + self.groups * _pairs(self.chassis) * self.routers
        self.cables = self.first_blue + _pairs(self.groups)

    def named(self) -> Iterator[tuple[str, float]]:
        for serial, (name, parallel) in enumerate(self._named(), self.cabling.serial):
            yield f"{name}_{serial}", parallel

    def _named(self) -> Iterator[tuple[str, float]]:
        for router in range(self.switches):
            for node in range(self.nodes):
                yield f"local_link_from_router_{router}_to_node_{node}", 1
        for _group in range(self.groups):
            for chassis in range(self.chassis):
                for a, b in _all_pairs(self.routers):
                    yield f"green_link_in_chassis_{chassis}_between_routers_{a}_and_{b}", self.green
        for group in range(self.groups):
            for a, b in _all_pairs(self.chassis):
                for blade in range(self.routers):
                    yield f"black_link_in_group_{group}_between_chassis_{a}_and_{b}_blade_{blade}", self.black
        for a, b in _all_pairs(self.groups):
            ends = f"{a * self.per_group + b}_and_{b * self.per_group + a}"
            yield f"blue_link_between_group_{a}_and_{b}_routers_{ends}", self.blue

    def path(self, source: int, target: int) -> list[int]:
        here, there = source // self.nodes, target // self.nodes
        links = [*self.limiters(source), self.up(source)]
        group, end = here // self.per_group, there // self.per_group
        if group != end:
            gate, entry = group * self.per_group + end, end * self.per_group + group
            links += self._leave(here, gate)
            links.append(self._between(self.first_blue, group, end, self.groups))
            links += [*self._limit(gate), *self._limit(entry)]
            here = entry
        else:
            links += self._limit(here)
        links += self._inside(here, there)
        return [*links, self.down(target), *self.limiters(target)]

    def _leave(self, here: int, gate: int) -> list[int]:
        """Links to the router where the group is left, whose own limiter the caller adds."""
        links = list[int]()
        shelf, blade, goal = here // self.routers, here % self.routers, gate % self.routers
        if here != gate:
            links += self._limit(here)
        if blade != goal:
            links.append(self._green(shelf, blade, goal))
            here = shelf * self.routers + goal
            links += () if here == gate else self._limit(here)
        if shelf != gate // self.routers:
            links.append(self._black(shelf, gate // self.routers, goal))
        return links

    def _inside(self, here: int, there: int) -> list[int]:
        """Links from router to router of one group."""
        links = list[int]()
        shelf, blade, goal = here // self.routers, here % self.routers, there % self.routers
        if blade != goal:
            links.append(self._green(shelf, blade, goal))
            # After a green cable SimGrid 3.32 goes on as if from the first chassis of the group.
            shelf -= shelf % self.chassis
            links += self._limit(shelf * self.routers + goal)
        if shelf != there // self.routers:
            links.append(self._black(shelf, there // self.routers, goal))
            links += self._limit(there)
        return links

    def _green(self, shelf: int, blade: int, goal: int) -> int:
        return self._between(self.first_green + shelf * _pairs(self.routers), blade, goal, self.routers)

    def _black(self, shelf: int, aim: int, blade: int) -> int:
        group, step = shelf // self.chassis, self.routers
        first = self.first_black + group * _pairs(self.chassis) * step + blade
        return self._between(first, shelf % self.chassis, aim % self.chassis, self.chassis, step)

    def _between(self, first: int, here: int, there: int, count: int, step: int = 1) -> int:
        """The link from *here* to *there* of cables between all pairs of *count*, from number *first* on."""
        cable = first + _pair(min(here, there), max(here, there), count) * step
        return self.up(cable) if here < there else self.down(cable)

    def _limit(self, router: int) -> tuple[int, ...]:
        return self.limiters(self.cabling.hosts + router)


def _pairs(count: int) -> int:
    return count * (count - 1) // 2


def _all_pairs(count: int) -> Iterator[tuple[int, int]]:
    return ((a, b) for a in range(count) for b in range(a + 1, count))


def _pair(low: int, high: int, count: int) -> int:
    """Place of the pair in the order of ``_all_pairs``."""
    return low * (2 * count - low - 1) // 2 + high - low - 1
