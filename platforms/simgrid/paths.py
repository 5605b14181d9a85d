"""From routes as written to segments between numbered members of their zone.

A route belongs to the zone it is written in. Rules of SimGrid 3.32; what it dies of is refused here, with the
place, before anything runs (Batsim issue 57: swapped gateways were a crash).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from batpy.base.errors import InputError
from batpy.platforms.routing.shortest import ShortestZone
from batpy.platforms.routing.zones import Segment, TableZone, Zone
from batpy.platforms.simgrid import wires
from batpy.platforms.simgrid.names import Names
from batpy.platforms.simgrid.rules import expand_rules
from batpy.platforms.simgrid.wires import RouteDescription
from batpy.platforms.simgrid.zones import ZoneDescription

_OPPOSITE = {wires.UP: wires.DOWN, wires.DOWN: wires.UP}


class PathReader:
    """Puts the routes of one file into its zones.

    Attributes:
        bypass_nodes: (source, target) node to the segment taken instead of the ordinary way.
        bypass_zones: the same for zones, by index.
    """

    def __init__(self, names: Names, zones: Sequence[Zone]) -> None:
        self._names = names
        self._zones = zones
        self._firsts = [zone.first for zone in zones]
        self.bypass_nodes: dict[tuple[int, int], Segment] = {}
        self.bypass_zones: dict[tuple[int, int], Segment] = {}

    def read(self, zone: Zone, described: ZoneDescription) -> None:
        """Check the routes of one zone and give them to it.

        Raises:
            InputError: with the line of the route.
        """
        routes: Sequence[RouteDescription] = described.routes
        if described.routing == "RuleBased":
            inner = [name for name, index in self._names.zones.items() if self._zones[index].parent is zone]
            routes = expand_rules(routes, inner, self._names)
        # Which lines have said the way between two members.
        said: dict[tuple[int, int], int] = {}
        for route in routes:
            if route.bypass:
                self._bypass(zone, route)
            else:
                self._ordinary(zone, described, route, said)
        if isinstance(zone, TableZone):
            zone.open.difference_update(*zone.table)
        if isinstance(zone, ShortestZone) and described.routing != "Floyd":
            zone.members = list(dict.fromkeys(member for pair in zone.hops for member in pair))

    def _ordinary(
        self,
        zone: Zone,
        described: ZoneDescription,
        route: RouteDescription,
        said: dict[tuple[int, int], int],
    ) -> None:
        if isinstance(zone, TableZone):
            into = zone.table
        elif isinstance(zone, ShortestZone):
            into = zone.hops
        else:
            raise self._fail(route, f"{zone.title} has routing {described.routing}, which takes no routes")
        pair = self._zone_pair(zone, route) if route.between_zones else self._node_pair(zone, route)
        forward, backward = self._segments(route)
        for (source, target), segment in ((pair, forward), (pair[::-1], backward)):
            if segment is None or (segment is backward and source == target):
                continue
            if (source, target) in said:
                back = " back" if segment is backward else ""
                hint = " (a route is symmetrical unless it says NO)" if route.symmetrical else ""
                first = said[source, target]
                raise self._fail(route, f"there is already a route{back}, of line {first}{hint}")
            said[source, target] = route.line
            into[source, target] = segment

    def _bypass(self, zone: Zone, route: RouteDescription) -> None:
        into = self.bypass_zones if route.between_zones else self.bypass_nodes
        if route.between_zones:
            source, target = (self._zone_of(route, key) for key in (route.source, route.target))
            for name, inner in ((route.source, source), (route.target, target)):
                if not self._within(inner, zone):
                    raise self._fail(route, f"zone {name!r} is not inside {zone.title}")
            self._check_gateways(route, source, target)
            pair = (source.index, target.index)
        else:
            pair = (self._node_of(route, "src", route.source), self._node_of(route, "dst", route.target))
        forward, backward = self._segments(route)
        for key, segment in ((pair, forward), (pair[::-1], backward)):
            if segment is None or (segment is backward and pair[0] == pair[1]):
                continue
            if key in into:
                raise self._fail(route, "there is already such a bypass")
            into[key] = segment

    def _node_pair(self, zone: Zone, route: RouteDescription) -> tuple[int, int]:
        source = self._node_of(route, "src", route.source)
        target = self._node_of(route, "dst", route.target)
        for key, name, node in (("src", route.source, source), ("dst", route.target, target)):
            if not zone.first <= node < zone.first + zone.count:
                problem = (
                    f"{key} {name!r} is not directly in {zone.title}; routes between zones are zoneRoutes"
                )
                raise self._fail(route, problem)
        return source, target

    def _zone_pair(self, zone: Zone, route: RouteDescription) -> tuple[int, int]:
        source, target = self._zone_of(route, route.source), self._zone_of(route, route.target)
        for key, name, inner in (("src", route.source, source), ("dst", route.target, target)):
            if inner.parent is not zone:
                raise self._fail(route, f"{key} {name!r} is not directly in {zone.title}")
        if source is target:
            raise self._fail(route, "leads from a zone to itself")
        self._check_gateways(route, source, target)
        return ~source.index, ~target.index

    def _check_gateways(self, route: RouteDescription, source: Zone, target: Zone) -> None:
        entry, end = self._node_of(route, "gw_src", route.entry), self._node_of(route, "gw_dst", route.exit)
        if self._holds(source, entry) and self._holds(target, end):
            return
        if self._holds(target, entry) and self._holds(source, end):
            problem = f"the gateways are swapped: gw_src {route.entry!r} is in {target.title}"
            raise self._fail(route, f"{problem}, gw_dst {route.exit!r} in {source.title}")
        for key, name, node, zone in (
            ("gw_src", route.entry, entry, source),
            ("gw_dst", route.exit, end, target),
        ):
            if not self._holds(zone, node):
                raise self._fail(route, f"{key} {name!r} is not in {zone.title}")

    def _holds(self, zone: Zone, node: int) -> bool:
        return self._within(self._zones[bisect_right(self._firsts, node) - 1], zone)

    def _within(self, inner: Zone, outer: Zone) -> bool:
        around: Zone | None = inner
        while around is not None and around is not outer:
            around = around.parent
        return around is outer

    def _node_of(self, route: RouteDescription, key: str, name: str) -> int:
        node = self._names.find_node(name)
        if node is None:
            raise self._fail(route, f"{key}: there is no host or router {name!r}")
        return node

    def _zone_of(self, route: RouteDescription, name: str) -> Zone:
        index = self._names.zones.get(name)
        if index is None:
            raise self._fail(route, f"there is no zone {name!r}")
        return self._zones[index]

    def _segments(self, route: RouteDescription) -> tuple[Segment, Segment | None]:
        """The way there, and the way back if it is the same one."""
        if not route.crossings:
            raise self._fail(route, "needs at least one link_ctn")
        entry = exit_ = -1
        if route.between_zones:
            entry, exit_ = (self._node_of(route, "", name) for name in (route.entry, route.exit))
        there = [self._link(crossing, crossing.direction) for crossing in route.crossings]
        forward = Segment(tuple(there), entry, exit_)
        if not route.symmetrical:
            return forward, None
        back = [self._link(cross, _OPPOSITE.get(cross.direction, "")) for cross in reversed(route.crossings)]
        return forward, Segment(tuple(back), exit_, entry)

    def _link(self, crossing: wires.Crossing, direction: str) -> int:
        title = f"link_ctn {crossing.link!r}"
        if direction and crossing.link not in self._names.duplex:
            if self._names.find_link(crossing.link) is None:
                problem = self._names.no_link(crossing.link)
            else:
                problem = f"link {crossing.link!r} has no direction: it is not SPLITDUPLEX"
            raise self._names.fail(crossing.line, title, problem)
        name = f"{crossing.link}_{direction}" if direction else crossing.link
        number = self._names.find_link(name)
        if number is None:
            raise self._names.fail(crossing.line, title, self._names.no_link(crossing.link))
        return number

    def _fail(self, route: RouteDescription, problem: str) -> InputError:
        return self._names.fail(route.line, route.title, problem)
