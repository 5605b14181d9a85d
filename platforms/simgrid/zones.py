"""From XML elements to typed descriptions of zones, hosts, clusters, cabinets and peers, with their wires.

Nothing is numbered or expanded here, and nothing is inherited: a description says what one element says.
Elements and their meaning: SimGrid 3.32 (platform versions 4 and 4.1) and its older spellings (version 3).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field

from batpy.platforms.disks import Disk
from batpy.platforms.platform import MAX_HOSTS
from batpy.platforms.simgrid import disks, wires
from batpy.platforms.simgrid.disks import OlderDisks, PlacedDisk
from batpy.platforms.simgrid.elements import ElementReader
from batpy.platforms.simgrid.xml_tree import Element
from batpy.platforms.units import speeds

VERSIONS = ("3", "4", "4.1")
_INTERVAL = re.compile(r"\s*([0-9]{1,15})\s*(?:-\s*([0-9]{1,15})\s*)?")

# Routing of a zone: SimGrid 3.32, and RuleBased of version 3.
ROUTINGS = ("Full", "Floyd", "Dijkstra", "DijkstraCache", "None", "Cluster", "Vivaldi", "RuleBased")

# Elements that say nothing about hosts and their network.
_SILENT = frozenset(("config", "random", "trace", "trace_connect"))
_DEPLOYMENT = frozenset(("actor", "process"))
# Files of changing speeds and outages, which the hosts are read without.
_PROFILES = ("availability_file", "state_file", "speed_file")


@dataclass(frozen=True, slots=True)
class HostDescription:
    """A ``host`` or ``peer`` element.

    Attributes:
        speeds: flops per second and core, one per pstate.
        cores: None if the element does not say it.
        coordinates: in a Vivaldi zone; None if the element does not say it.
        peer: private links of a ``peer``.
        disks: those inside the element.
        line: of its start tag.
    """

    name: str
    speeds: tuple[float, ...]
    cores: int | None
    pstate: int
    properties: dict[str, str]
    line: int
    title: str
    coordinates: tuple[float, float, float] | None = None
    peer: wires.PeerWires | None = None
    disks: tuple[Disk, ...] = ()


class Radical(Collection[str]):
    """The texts that tell the hosts of a cluster apart, made when they are needed."""

    def __init__(self, prefix: str, numbers: tuple[range, ...], suffix: str) -> None:
        self._prefix = prefix
        self._numbers = numbers
        self._suffix = suffix

    def __len__(self) -> int:
        return sum(map(len, self._numbers))

    def __iter__(self) -> Iterator[str]:
        return (f"{self._prefix}{number}{self._suffix}" for numbers in self._numbers for number in numbers)

    def __contains__(self, label: object) -> bool:
        return label in list(self)


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    """A ``cluster`` or ``cabinet`` element: one host per number of its radical, all alike.

    Attributes:
        numbers: the radical ``0-3,7`` as ranges, in the order written.
        forms_zone: a cluster is a zone of its own, a cabinet belongs to the zone around it.
        host: what each of its hosts is like; its name is the cluster's id.
        network: the links it makes.
    """

    prefix: str
    suffix: str
    numbers: tuple[range, ...]
    forms_zone: bool
    host: HostDescription
    network: wires.ClusterWires

    def names(self) -> list[str]:
        """Names of its hosts, in the order of the radical."""
        return list(Radical(self.prefix, self.numbers, self.suffix))


@dataclass(slots=True)
class ZoneDescription:
    """A ``zone`` (older: ``AS``) element, or the whole platform.

    Attributes:
        members: hosts, clusters and inner zones, in the order written.
        links: with backbones, which are ordinary links that cluster zones cross.
        backbone: name of the backbone link of a cluster zone, or empty.
        disks: those that are described outside of their hosts; only on the whole platform.
    """

    id: str
    routing: str
    line: int
    properties: dict[str, str] = field(default_factory=dict)
    members: list[Member] = field(default_factory=list)
    links: list[wires.LinkDescription] = field(default_factory=list)
    routes: list[wires.RouteDescription] = field(default_factory=list)
    host_links: list[wires.HostLink] = field(default_factory=list)
    backbone: str = ""
    disks: list[PlacedDisk] = field(default_factory=list)

    @property
    def title(self) -> str:
        """How complaints name it."""
        return f"zone {self.id!r}"


Member = HostDescription | ClusterDescription | ZoneDescription | wires.RouterDescription


class ZoneReader(ElementReader):
    """Describes the elements of one file.

    Args:
        source: the file as the user named it.
        notice: told, once per kind, what was left out.
    """

    def __init__(self, source: str, notice: Callable[[str], None]) -> None:
        super().__init__(source, notice)
        self._hosts = 0
        self._older_disks = OlderDisks(self)

    def platform(self, root: Element) -> ZoneDescription:
        """Describe a whole file.

        Raises:
            InputError: not a platform, a version that is not known, or a malformed element.
        """
        if root.tag != "platform":
            raise self.fail(root, f"the root of a platform file is <platform>, not <{root.tag}>")
        version = root.attributes.get("version", "")
        if version not in VERSIONS:
            told = f"version {version!r} is not known" if version else "has no version"
            raise self.fail(root, f"{told}; known: {', '.join(VERSIONS)}")
        if root.children and all(child.tag in _DEPLOYMENT for child in root.children):
            raise self.fail(root, "a deployment file (it has only actors), not a platform")
        whole = ZoneDescription("", "", root.line)
        self._fill(whole, root)
        if not self._hosts:
            raise self.fail(root, "has no host")
        whole.disks.extend(self._older_disks.placed())
        return whole

    def _fill(self, zone: ZoneDescription, element: Element) -> None:
        for child in element.children:
            if child.tag == "prop":
                self._property(child, zone.properties)
            elif child.tag in ("zone", "AS"):
                routing = self.choice(child, "routing", ROUTINGS, "None")
                inner = ZoneDescription(self.text(child, "id"), routing, child.line)
                self._fill(inner, child)
                zone.members.append(inner)
            elif child.tag in ("cluster", "cabinet"):
                zone.members.append(self._cluster(child))
            elif child.tag in ("host", "peer"):
                self._count(child, 1)
                zone.members.append(self._host(child))
            else:
                self._wire(zone, child)

    def _wire(self, zone: ZoneDescription, element: Element) -> None:
        if element.tag in ("link", "backbone"):
            zone.links.append(wires.read_link(self, element))
            if element.tag == "backbone":
                if zone.backbone:
                    raise self.fail(element, f"the zone already has the backbone {zone.backbone!r}")
                zone.backbone = zone.links[-1].name
        elif element.tag == "router":
            zone.members.append(wires.read_router(self, element))
        elif element.tag in wires.ROUTES or element.tag in wires.ZONE_ROUTES:
            zone.routes.append(wires.read_route(self, element))
        elif element.tag == "host_link":
            zone.host_links.append(wires.read_host_link(self, element))
        elif element.tag in disks.OLDER:
            self._older_disks.add(element)
        else:
            self._other(element)

    def _other(self, element: Element) -> None:
        if element.tag == "include":
            raise self.fail(element, "<include> is not supported; paste the included file in its place")
        if element.tag in _DEPLOYMENT:
            self.once(element, f"<{element.tag}> belongs to a deployment file and is ignored")
        elif element.tag not in _SILENT:
            self.once(element, f"unknown element <{element.tag}> is ignored")

    def _cluster(self, element: Element) -> ClusterDescription:
        numbers = self._radical(element)
        prefix, suffix = (element.attributes.get(key, "") for key in ("prefix", "suffix"))
        host, forms_zone = self._host(element), element.tag == "cluster"
        network = (wires.read_cluster if forms_zone else wires.read_cabinet)(self, element)
        return ClusterDescription(prefix, suffix, numbers, forms_zone, host, network)

    def _radical(self, element: Element) -> tuple[range, ...]:
        ranges = []
        text = self.text(element, "radical")
        for part in text.split(","):
            match = _INTERVAL.fullmatch(part)
            if match is None:
                raise self.fail(
                    element, f"radical {text!r}: {part!r} is neither a number nor an interval a-b"
                )
            first = int(match[1])
            last = int(match[2]) if match[2] is not None else first
            if last < first:
                raise self.fail(element, f"radical {text!r}: {part!r} ends before it begins")
            self._count(element, last - first + 1)
            ranges.append(range(first, last + 1))
        return tuple(ranges)

    def _count(self, element: Element, more: int) -> None:
        self._hosts += more
        if self._hosts > MAX_HOSTS:
            raise self.fail(element, f"more than {MAX_HOSTS} hosts")

    def _host(self, element: Element) -> HostDescription:
        properties: dict[str, str] = {}
        for child in element.children:
            if child.tag == "prop":
                self._property(child, properties)
            elif child.tag == "mount" and element.tag == "host":
                self._older_disks.mount(self.text(element, "id"), child)
            elif child.tag != "disk":
                self._other(child)
        for key in _PROFILES:
            if key in element.attributes:
                self.once(element, f"{key} is ignored: hosts keep their speed and are always on")
        values = self._speeds(element)
        cores = self.integer(element, "core", 1)
        pstate = self.integer(element, "pstate", 0)
        if pstate is not None and pstate >= len(values):
            raise self.fail(element, f"pstate {pstate} is beyond its {len(values)} speed(s)")
        return HostDescription(
            *(self.text(element, "id"), values, cores, pstate or 0, properties, element.line, str(element)),
            wires.read_coordinates(self, element),
            wires.read_peer(self, element) if element.tag == "peer" else None,
            self._disks(element),
        )

    def _disks(self, element: Element) -> tuple[Disk, ...]:
        found: tuple[Disk, ...] = ()
        for child in element.children:
            if child.tag == "disk":
                more = disks.add_disk(found, disks.read_disk(self, child))
                if more is None:
                    raise self.fail(child, f"{element} already has a disk of this name")
                found = more
        return found

    def _speeds(self, element: Element) -> tuple[float, ...]:
        # ``power`` is the name of ``speed`` up to version 3.
        written = element.attributes.get("speed", element.attributes.get("power"))
        if written is None:
            raise self.fail(element, 'needs a speed, such as speed="1Gf"')
        try:
            return speeds(written)
        except ValueError as why:
            raise self.fail(element, f"speed {why}") from None

    def _property(self, element: Element, into: dict[str, str]) -> None:
        into[self.text(element, "id")] = element.attributes.get("value", "")
