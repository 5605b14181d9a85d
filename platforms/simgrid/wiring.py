"""From descriptions to the network: nodes and links get numbers, and every name that is used is looked up.

What can be wrong with names is found here, when the platform is loaded; routes are searched when asked for.
Rules: SimGrid 3.32, which looks names up in the whole platform, wherever they are written.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Sequence

from batpy.base.errors import InputError
from batpy.platforms.network import Link
from batpy.platforms.routing.links import LOOPBACK, LinkTable, ListedLinks, PrivateLinks
from batpy.platforms.routing.network import ZoneNetwork
from batpy.platforms.routing.shortest import ShortestZone
from batpy.platforms.routing.zones import EmptyZone, StarZone, TableZone, VivaldiZone, Zone
from batpy.platforms.simgrid import wires
from batpy.platforms.simgrid.names import Names
from batpy.platforms.simgrid.paths import PathReader
from batpy.platforms.simgrid.topologies import build_topology
from batpy.platforms.simgrid.zones import ClusterDescription, HostDescription, Radical, ZoneDescription


def wire(
    whole: ZoneDescription,
    source: str,
    hosts: Sequence[str],
    others: Collection[str] = (),
    notice: Callable[[str], None] = lambda _line: None,
) -> ZoneNetwork:
    """The network of a described file.

    Args:
        whole: the file.
        source: the file as the user named it.
        hosts: names of the numbered hosts, in id order.
        others: names of hosts without a number.
        notice: told of hosts of a zone between which no route is written.

    Raises:
        InputError: a name that is not defined or defined twice, a gateway outside its zone, two routes for
            one pair, a route that its zone cannot have, or malformed parameters of a topology.
    """
    return _Wiring(source, {*hosts, *others}, notice).network(whole, hosts)


class _Wiring:
    def __init__(self, source: str, hosts: Collection[str], notice: Callable[[str], None]) -> None:
        self.source = source
        self.notice = notice
        self.table = LinkTable()
        self.names = Names(source, hosts)
        self.zones: list[Zone] = []
        self.nodes = 0
        # Cables and hosts of each topology so far: SimGrid 3.32 counts them from cluster to cluster.
        self.counted: dict[str, tuple[int, int]] = {}
        # Zones with the description of their routes, in the order of their numbers.
        self.described: list[tuple[Zone, ZoneDescription]] = []

    def network(self, whole: ZoneDescription, hosts: Sequence[str]) -> ZoneNetwork:
        listed = ListedLinks()
        self.names.loopback = listed.append(LOOPBACK)
        self._list_links(whole, listed)
        self.table.add(listed)
        self._zone(whole, None)
        self.names.check_links(self.table)
        paths = PathReader(self.names, self.zones)
        for zone, described in self.described:
            paths.read(zone, described)
        self._tell_gaps(hosts)
        return ZoneNetwork(
            *(self.table, self.zones, self.names.find_node, hosts, self.source),
            *(paths.bypass_nodes, paths.bypass_zones),
        )

    def _tell_gaps(self, hosts: Sequence[str]) -> None:
        """What SimGrid takes for a way without links is often one that was forgotten."""
        numbered: set[str] | None = None
        for zone, described in self.described:
            if not isinstance(zone, TableZone):
                continue
            numbered = set(hosts) if numbered is None else numbered
            own = {
                node: member.name
                for member in described.members
                if isinstance(member, HostDescription) and member.name in numbered
                if (node := self.names.find_node(member.name)) is not None
            }
            gap = zone.first_gap(list(own))
            if gap is None:
                continue
            source, target, count = gap
            self.notice(
                f"{self.source}:{zone.line}: {zone.title}: no route is written from {own[source]!r} to "
                f"{own[target]!r}{f' and between {count - 1} more pairs of hosts' if count > 1 else ''}; "
                "bytes take no time there (as in SimGrid 3.32)"
            )

    def _list_links(self, zone: ZoneDescription, listed: ListedLinks) -> None:
        for described in zone.links:
            if described.policy == wires.SPLITDUPLEX:
                for direction in (wires.UP, wires.DOWN):
                    name = f"{described.name}_{direction}"
                    number = listed.append(Link(name, described.bandwidth, described.latency))
                    self.names.add_link(name, number, described.line, described.title)
                self.names.duplex.add(described.name)
            else:
                shared = described.policy != wires.FATPIPE
                number = listed.append(Link(described.name, described.bandwidth, described.latency, shared))
                self.names.add_link(described.name, number, described.line, described.title)
        for member in zone.members:
            if isinstance(member, ZoneDescription):
                self._list_links(member, listed)
            elif isinstance(member, HostDescription) and member.peer is not None:
                peer = member.peer
                for direction, bandwidth in ((wires.UP, peer.bandwidth_out), (wires.DOWN, peer.bandwidth_in)):
                    name = f"link_{member.name}_{direction}"
                    number = listed.append(Link(name, bandwidth, 0.0))
                    self.names.add_link(name, number, member.line, member.title)

    def _zone(self, described: ZoneDescription, parent: Zone | None) -> Zone:
        zone = self._empty_zone(described, parent)
        if described.id:
            self.names.add_zone(described.id, zone.index, described.line, described.title)
        own = {id(member): member for member in described.members}
        order: dict[int, int] = {}
        for key, member in own.items():
            if isinstance(member, HostDescription | wires.RouterDescription):
                order[key] = self._node(zone, member)
            elif isinstance(member, ClusterDescription) and not member.forms_zone:
                self._cabinet(zone, member)
        zone.count = self.nodes - zone.first
        if isinstance(zone, StarZone):
            self._connect(zone, described)
        for key, member in own.items():
            if isinstance(member, ZoneDescription):
                order[key] = ~self._zone(member, zone).index
            elif isinstance(member, ClusterDescription) and member.forms_zone:
                order[key] = ~self._cluster(member, zone).index
        if isinstance(zone, ShortestZone):
            zone.members = [order[key] for key in own]
        self.described.append((zone, described))
        return zone

    def _empty_zone(self, described: ZoneDescription, parent: Zone | None) -> Zone:
        place = (len(self.zones), parent, described.title if described.id else "platform", described.line)
        zone: Zone
        match described.routing:
            case "Full" | "RuleBased":
                zone = TableZone(*place, self.names.loopback)
            case "Floyd":
                zone = ShortestZone(*place, self.names.loopback, cubic=True)
            case "Dijkstra" | "DijkstraCache":
                zone = ShortestZone(*place, self.names.loopback, cubic=False)
            case "Vivaldi":
                zone = VivaldiZone(*place)
            case "Cluster":
                zone = StarZone(*place)
            case "None":
                zone = EmptyZone(*place)
            case _:
                zone = Zone(*place)
        return self._join(zone)

    def _join(self, zone: Zone) -> Zone:
        zone.first = self.nodes
        self.zones.append(zone)
        return zone

    def _node(self, zone: Zone, member: HostDescription | wires.RouterDescription) -> int:
        node = self.nodes
        self.nodes += 1
        is_host = isinstance(member, HostDescription)
        self.names.add_node(member.name, node, member.line, member.title, is_host=is_host)
        if isinstance(zone, StarZone):
            zone.extend(1)
        elif isinstance(zone, VivaldiZone):
            if member.coordinates is not None:
                zone.coordinates[node] = member.coordinates
            if isinstance(member, HostDescription) and member.peer is not None:
                up, down = (self.names.links[f"link_{member.name}_{way}"] for way in (wires.UP, wires.DOWN))
                zone.private[node] = (up, down)
        elif isinstance(zone, TableZone) and not is_host:
            zone.open.add(node)
        return node

    def _cabinet(self, zone: Zone, cabinet: ClusterDescription) -> None:
        if not isinstance(zone, StarZone):
            problem = f"a cabinet needs a zone with routing Cluster, but it is in {zone.title}"
            raise self._fail(cabinet.host.line, cabinet.host.title, problem)
        labels = Radical(cabinet.prefix, cabinet.numbers, cabinet.suffix)
        private = cabinet.network.private
        kinds = [
            Link(f"link_{{}}_{way}", private.bandwidth, private.latency) for way in (wires.UP, wires.DOWN)
        ]
        first = self.table.add(PrivateLinks(labels, kinds))
        count, self.nodes = len(labels), self.nodes + len(labels)
        self.names.add_batch(self.nodes - count, cabinet)
        end = first + 2 * count
        zone.extend(count, range(first, end, 2), range(first + 1, end, 2))

    def _connect(self, zone: StarZone, described: ZoneDescription) -> None:
        """Give a zone with routing Cluster its backbone, and its hosts the links written one by one."""
        if described.backbone:
            zone.backbone = self.names.links[described.backbone]
        for host_link in described.host_links:
            place = (host_link.line, host_link.title)
            node = self.names.find_node(host_link.host)
            if node is None or not zone.first <= node < self.nodes:
                raise self._fail(*place, f"there is no host {host_link.host!r} in {zone.title}")
            if zone.up[node - zone.first] >= 0:
                raise self._fail(*place, f"{host_link.host!r} has links already")
            for key, name, links in (("up", host_link.up, zone.up), ("down", host_link.down, zone.down)):
                number = self.names.links.get(name)
                if number is None:
                    raise self._fail(*place, f"{key}: {self.names.no_link(name)}")
                links[node - zone.first] = number

    def _cluster(self, cluster: ClusterDescription, parent: Zone) -> Zone:
        host, network = cluster.host, cluster.network
        place = (len(self.zones), parent, host.title, host.line)
        count = sum(map(len, cluster.numbers))
        zone: Zone
        if network.topology == wires.FLAT:
            zone = star = StarZone(*place)
            self._join(zone)
            self._flat(star, cluster, count)
        else:
            try:
                before = self.counted.get(network.topology, (0, 0))
                zone = cabled = build_topology(*place, cluster, *before)
            except ValueError as why:
                raise self._fail(host.line, host.title, f"topo_parameters {why}") from None
            self._join(zone)
            cabled.base = self.table.add(cabled)
            self.counted[network.topology] = (before[0] + cabled.cables, before[1] + count)
        self.names.add_zone(host.name, zone.index, host.line, host.title)
        self.names.add_batch(self.nodes, cluster)
        self.nodes += count
        if network.topology == wires.FLAT:
            self.names.add_node(network.router, self.nodes, host.line, host.title, is_host=False)
            self.nodes += 1
        zone.count = self.nodes - zone.first
        return zone

    def _flat(self, zone: StarZone, cluster: ClusterDescription, count: int) -> None:
        network, name = cluster.network, cluster.host.name.replace("{}", "")
        private = network.private
        ends = ("_UP", "_DOWN") if network.duplex else ("",)
        kinds = [
            Link(f"{name}_link_{{}}{end}", private.bandwidth, private.latency, private.shared) for end in ends
        ]
        if network.limiter is not None:
            kinds.append(Link(f"{name}_link_{{}}_limiter", network.limiter, 0.0))
        loopback = network.loopback
        if loopback is not None:
            kinds.append(
                Link(f"{name}_link_{{}}_loopback", loopback.bandwidth, loopback.latency, loopback.shared)
            )
        backbone = network.backbone
        common = []
        if backbone is not None:
            common = [Link(f"{name}_backbone", backbone.bandwidth, backbone.latency, backbone.shared)]
        step = len(kinds)
        first = self.table.add(PrivateLinks(Radical("", cluster.numbers, ""), kinds, common))
        end = first + step * count
        columns = {
            kind.name.rpartition("}")[2]: array("q", range(first + at, end, step))
            for at, kind in enumerate(kinds)
        }
        up = columns[ends[0]]
        zone.extend(count, up, columns[ends[-1]], columns.get("_limiter", ()), columns.get("_loopback", ()))
        zone.extend(1)
        zone.backbone = end if common else -1

    def _fail(self, line: int, title: str, problem: str) -> InputError:
        return InputError(problem, source=self.source, line=line, path=title)
