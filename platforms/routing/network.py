"""Routes across zones: through the zone around both ends, along its gateways (SimGrid manual, "Routing")."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence

from batpy.base.errors import InputError
from batpy.platforms.network import Fan, Link, Route
from batpy.platforms.routing.links import LinkTable
from batpy.platforms.routing.topologies import CabledZone
from batpy.platforms.routing.zones import EmptyZone, Segment, StarZone, TableZone, Zone

# Routes kept; all are forgotten when there are more, so memory stays bounded and results do not depend on it.
CACHED_ROUTES = 50_000
# Far above any real route; nested gateways can double it with every level.
MAX_LINKS = 100_000


Legs = dict[tuple[int, int], tuple[tuple[int, ...], tuple[float, ...]]]
"""Links, and latencies beside theirs, of parts of routes between two nodes."""

# Kinds of zones in which every node reaches every other.
_CONNECTED = (StarZone, TableZone, EmptyZone, CabledZone)


class ZoneNetwork:
    """Links and routes of a platform made of zones.

    Args:
        table: all links.
        zones: all zones, by index; the nodes of later zones have higher numbers.
        find: node of a host or router name, or None.
        hosts: names of the numbered hosts, in id order.
        source: the file as the user named it.
        bypass_nodes, bypass_zones: ways taken instead, between nodes, and between inner zones (by index).
    """

    def __init__(
        self,
        table: LinkTable,
        zones: Sequence[Zone],
        find: Callable[[str], int | None],
        hosts: Sequence[str],
        source: str,
        bypass_nodes: Mapping[tuple[int, int], Segment],
        bypass_zones: Mapping[tuple[int, int], Segment],
    ) -> None:
        self._table = table
        self._zones = zones
        self._firsts = [zone.first for zone in zones]
        self._find = find
        self._hosts = hosts
        self._source = source
        self._bypass_nodes = bypass_nodes
        self._bypass_zones = bypass_zones
        self._nodes = array("q")
        self._cache: dict[tuple[int, int], Route] = {}
        self._legs: Legs = {}

    @property
    def links(self) -> tuple[Link, ...]:
        """All links; their position is their index."""
        return self._table.make()

    def route(self, source: int, target: int) -> Route:
        """The route between two numbered hosts, from a host to itself included.

        Raises:
            InputError: the platform has no route between them.
        """
        known = self._cache.get((source, target))
        if known is not None:
            return known
        nodes = self._numbered()
        found = self._route(nodes[source], nodes[target], self._hosts[source], self._hosts[target])
        if len(self._cache) >= CACHED_ROUTES:
            self._cache.clear()
        self._cache[source, target] = found
        return found

    def route_by_name(self, source: str, target: str) -> Route:
        """The route between two hosts by name; the master, which has no number, is a host too.

        Raises:
            InputError: there is no such host, or no route between them.
        """
        return self._route(self._node(source), self._node(target), source, target)

    @property
    def has_every_route(self) -> bool:
        """True if there surely is a route between any two hosts."""
        return len(self._zones) == 1 and isinstance(self._zones[0], _CONNECTED)

    def fan(self, host: int) -> Fan | None:
        """How numbered *host* is attached to its star, or None if it is in none."""
        node = self._numbered()[host]
        zone = self._zones[bisect_right(self._firsts, node) - 1]
        if not isinstance(zone, StarZone) or self._bypass_nodes or self._bypass_zones:
            return None
        arms = zone.arms(node)
        if arms is None:
            return None
        links = self.links
        up, middle, down = (sum([links[link].latency for link in arm]) for arm in arms)
        return Fan(zone.index, *arms, up, middle, down)

    def _numbered(self) -> array[int]:
        if not self._nodes:
            self._nodes = array("q", [self._node(name) for name in self._hosts])
        return self._nodes

    def _node(self, name: str) -> int:
        node = self._find(name)
        if node is None:
            raise InputError(f"there is no host {name!r}", source=self._source)
        return node

    def _route(self, source: int, target: int, source_name: str, target_name: str) -> Route:
        if len(self._legs) >= CACHED_ROUTES:
            self._legs.clear()
        walk = _Walk(self._zones, self._firsts, self._bypass_nodes, self._bypass_zones, self._legs)
        missing = walk.go(source, target)
        if missing is not None:
            problem = f"no route from {source_name!r} to {target_name!r}"
            raise InputError(problem, source=self._source, line=missing.line, path=missing.title)
        links = self.links
        latency = sum(walk.latencies, 0.0)
        for link in walk.links:
            latency += links[link].latency
        return Route(tuple(walk.links), latency)


class _Walk:
    """One route under way.

    Attributes:
        links: crossed so far.
        latencies: seconds beside those of the links, in order.
    """

    def __init__(
        self,
        zones: Sequence[Zone],
        firsts: Sequence[int],
        bypass_nodes: Mapping[tuple[int, int], Segment],
        bypass_zones: Mapping[tuple[int, int], Segment],
        legs: Legs,
    ) -> None:
        self.zones = zones
        self.firsts = firsts
        self.bypass_nodes = bypass_nodes
        self.bypass_zones = bypass_zones
        self.legs = legs
        self.links: list[int] = []
        self.latencies: list[float] = []

    def go(self, source: int, target: int) -> Zone | None:
        """Walk from node to node; the zone that knows no way on, if any."""
        direct = self.bypass_nodes.get((source, target)) if self.bypass_nodes else None
        if direct is not None:
            self.links += direct.links
            return None
        here, there = self._zone(source), self._zone(target)
        common, inner, outer = _meet(here, there)
        way: Sequence[Segment] | None = None
        if self.bypass_zones and here is not there:
            way = self._bypass(common, here, there)
        if way is None:
            way = common.way(
                source if inner is None else ~inner.index, target if outer is None else ~outer.index
            )
        if way is None or len(self.links) > MAX_LINKS:
            return common
        at = source
        for segment in way:
            if segment.entry >= 0 and segment.entry != at:
                missing = self._leg(at, segment.entry)
                if missing is not None:
                    return missing
            self.links += segment.links
            if segment.latency:
                self.latencies.append(segment.latency)
            at = segment.exit
        return self._leg(at, target) if at >= 0 and at != target else None

    def _leg(self, source: int, target: int) -> Zone | None:
        """Walk a part that many routes have in common, such as from a host to the gateway of its zone."""
        leg = self.legs.get((source, target))
        if leg is None:
            inner = _Walk(self.zones, self.firsts, self.bypass_nodes, self.bypass_zones, self.legs)
            missing = inner.go(source, target)
            if missing is not None:
                return missing
            leg = self.legs[source, target] = tuple(inner.links), tuple(inner.latencies)
        self.links += leg[0]
        self.latencies += leg[1]
        return None if len(self.links) <= MAX_LINKS else self._zone(target)

    def _zone(self, node: int) -> Zone:
        return self.zones[bisect_right(self.firsts, node) - 1]

    def _bypass(self, common: Zone, here: Zone, there: Zone) -> Sequence[Segment] | None:
        """The way given instead between zones around the two ends, innermost first (SimGrid 3.32)."""
        left, right = _chain(here, common), _chain(there, common)
        pairs = sorted(
            ((i, j) for i in range(len(left)) for j in range(len(right))),
            key=lambda pair: (max(pair), min(pair), pair),
        )
        for i, j in pairs:
            segment = self.bypass_zones.get((left[i].index, right[j].index))
            if segment is not None:
                return (segment,)
        return None


def _meet(here: Zone, there: Zone) -> tuple[Zone, Zone | None, Zone | None]:
    """The zone around both, and its inner zones that hold each of them; None for a zone that is itself."""
    inner: Zone | None = None
    outer: Zone | None = None
    while here is not there:
        depth = max(here.depth, there.depth)
        if here.depth == depth:
            inner, here = here, _parent(here)
        if there.depth == depth:
            outer, there = there, _parent(there)
    return here, inner, outer


def _parent(zone: Zone) -> Zone:
    parent = zone.parent
    assert parent is not None  # only the outermost zone has none, and it is around all others
    return parent


def _chain(zone: Zone, common: Zone) -> list[Zone]:
    chain = []
    while zone is not common:
        chain.append(zone)
        zone = _parent(zone)
    return chain
