"""From XML elements to typed descriptions of links, routes and the network inside a cluster.

Elements, defaults and units: SimGrid 3.32 (platform versions 4 and 4.1), and older spellings of version 3.
Nothing is looked up here: names are checked by ``wiring``, once all of them are known.
"""

from __future__ import annotations

from dataclasses import dataclass

from batpy.platforms.simgrid.elements import ElementReader
from batpy.platforms.simgrid.xml_tree import Element
from batpy.platforms.units import BANDWIDTHS, TIMES

SHARED = "SHARED"
FATPIPE = "FATPIPE"
SPLITDUPLEX = "SPLITDUPLEX"
# Old spelling (up to SimGrid 3.18).
_FULLDUPLEX = "FULLDUPLEX"
_POLICIES = (SHARED, FATPIPE, SPLITDUPLEX, _FULLDUPLEX)
UP, DOWN, _NONE = "UP", "DOWN", "NONE"

FLAT, FAT_TREE, TORUS, DRAGONFLY = "FLAT", "FAT_TREE", "TORUS", "DRAGONFLY"
TOPOLOGIES = (FLAT, FAT_TREE, TORUS, DRAGONFLY)

ROUTES = ("route", "bypassRoute")
ZONE_ROUTES = ("zoneRoute", "ASroute", "bypassZoneRoute", "bypassASroute")

# Files of changing bandwidths and outages, which links are read without.
_PROFILES = ("bandwidth_file", "latency_file", "state_file")


@dataclass(frozen=True, slots=True)
class LinkDescription:
    """A ``link`` or ``backbone`` element.

    Attributes:
        bandwidth: bytes per second.
        latency: seconds.
        policy: SHARED, FATPIPE or SPLITDUPLEX.
    """

    name: str
    bandwidth: float
    latency: float
    policy: str
    line: int
    title: str


@dataclass(frozen=True, slots=True)
class Crossing:
    """A ``link_ctn`` element: a link on a route.

    Attributes:
        direction: UP or DOWN for a SPLITDUPLEX link, empty for others.
    """

    link: str
    direction: str
    line: int


@dataclass(frozen=True, slots=True)
class RouteDescription:
    """A ``route`` between nodes or a ``zoneRoute`` between zones, or one that bypasses the ordinary way.

    Attributes:
        entry: gateway where the source zone is left; empty for routes between nodes.
        exit: gateway where the target zone is entered.
        symmetrical: the way back is the same one reversed.
    """

    source: str
    target: str
    entry: str
    exit: str
    between_zones: bool
    bypass: bool
    symmetrical: bool
    crossings: tuple[Crossing, ...]
    line: int
    title: str


@dataclass(frozen=True, slots=True)
class Wire:
    """Bandwidth (bytes per second) and latency (seconds) of links made by another element."""

    bandwidth: float
    latency: float
    shared: bool = True


@dataclass(frozen=True, slots=True)
class ClusterWires:
    """The network of a ``cluster`` or ``cabinet``.

    Attributes:
        private: of the link of each host.
        duplex: that link is one for each direction.
        backbone: crossed by all that leaves a host, or None.
        limiter: bandwidth that both directions of a host share, or None.
        loopback: from a host to itself, or None for out and in again.
        router: name of the node where the cluster is left, empty for a cabinet.
        parameters: of the topology, as written.
    """

    private: Wire
    duplex: bool
    backbone: Wire | None = None
    limiter: float | None = None
    loopback: Wire | None = None
    router: str = ""
    topology: str = FLAT
    parameters: str = ""


@dataclass(frozen=True, slots=True)
class PeerWires:
    """Private links of a ``peer``; bytes per second."""

    bandwidth_in: float
    bandwidth_out: float


@dataclass(frozen=True, slots=True)
class HostLink:
    """A ``host_link`` element: the links that connect a host to the middle of its cluster zone."""

    host: str
    up: str
    down: str
    line: int
    title: str


@dataclass(frozen=True, slots=True)
class RouterDescription:
    """A ``router`` element: a node that no job runs on."""

    name: str
    coordinates: tuple[float, float, float] | None
    line: int
    title: str


def read_link(reader: ElementReader, element: Element) -> LinkDescription:
    """Describe a ``link`` or ``backbone``; the latter may say ``bw`` and ``lat``."""
    for key in _PROFILES:
        if key in element.attributes:
            reader.once(element, f"{key} is ignored: links keep their bandwidth and latency")
    short = element.tag == "backbone" and "bandwidth" not in element.attributes
    policy = reader.choice(element, "sharing_policy", _POLICIES, SHARED)
    return LinkDescription(
        reader.text(element, "id"),
        _bandwidth(reader, element, "bw" if short else "bandwidth"),
        _latency(reader, element, "lat" if short else "latency"),
        SPLITDUPLEX if policy == _FULLDUPLEX else policy,
        element.line,
        str(element),
    )


def read_route(reader: ElementReader, element: Element) -> RouteDescription:
    """Describe a route of any kind; its title names both ends, since routes have no id."""
    source, target = reader.text(element, "src"), reader.text(element, "dst")
    between_zones = element.tag in ZONE_ROUTES
    entry, end = ("", "")
    if between_zones:
        entry, end = reader.text(element, "gw_src"), reader.text(element, "gw_dst")
    bypass = element.tag.startswith("bypass")
    symmetrical = reader.choice(element, "symmetrical", ("YES", "NO", "yes", "no"), "NO" if bypass else "YES")
    crossings = []
    for child in element.children:
        # ``link:ctn`` is the spelling of version 2, which some files of version 3 kept.
        if child.tag in ("link_ctn", "link:ctn"):
            direction = reader.choice(child, "direction", (UP, DOWN, _NONE), _NONE)
            link = reader.text(child, "id")
            crossings.append(Crossing(link, "" if direction == _NONE else direction, child.line))
        else:
            reader.once(child, f"unknown element <{child.tag}> is ignored")
    title = f"{element.tag} {source!r} -> {target!r}"
    return RouteDescription(
        *(source, target, entry, end, between_zones, bypass),
        *(symmetrical.upper() == "YES", tuple(crossings), element.line, title),
    )


def read_cluster(reader: ElementReader, element: Element) -> ClusterWires:
    """Describe the network of a ``cluster``."""
    policy = reader.choice(element, "sharing_policy", _POLICIES, SPLITDUPLEX)
    prefix, suffix = (element.attributes.get(key, "") for key in ("prefix", "suffix"))
    name = reader.text(element, "id")
    return ClusterWires(
        Wire(_bandwidth(reader, element, "bw"), _latency(reader, element, "lat"), policy != FATPIPE),
        policy in (SPLITDUPLEX, _FULLDUPLEX),
        _backbone(reader, element),
        reader.amount(element, "limiter_link", BANDWIDTHS, "150MBps"),
        _loopback(reader, element),
        element.attributes.get("router_id") or f"{prefix}{name}_router{suffix}",
        reader.choice(element, "topology", TOPOLOGIES, FLAT),
        element.attributes.get("topo_parameters", ""),
    )


def read_cabinet(reader: ElementReader, element: Element) -> ClusterWires:
    """Describe the network of a ``cabinet``: one link for each direction and host, nothing between."""
    private = Wire(_bandwidth(reader, element, "bw"), _latency(reader, element, "lat"))
    return ClusterWires(private, duplex=True)


def read_peer(reader: ElementReader, element: Element) -> PeerWires:
    """Describe the private links of a ``peer``; as in SimGrid 3.32 they have no latency of their own."""
    if element.attributes.get("lat", "0").strip(" 0s."):
        reader.once(element, "lat of a peer is ignored; use the third coordinate (SimGrid 3.32)")
    return PeerWires(_bandwidth(reader, element, "bw_in"), _bandwidth(reader, element, "bw_out"))


def read_host_link(reader: ElementReader, element: Element) -> HostLink:
    """Describe a ``host_link``."""
    host, up, down = (reader.text(element, key) for key in ("id", "up", "down"))
    return HostLink(host, up, down, element.line, str(element))


def read_router(reader: ElementReader, element: Element) -> RouterDescription:
    """Describe a ``router``."""
    name = reader.text(element, "id")
    return RouterDescription(name, read_coordinates(reader, element), element.line, str(element))


def read_coordinates(reader: ElementReader, element: Element) -> tuple[float, float, float] | None:
    """Coordinates of a Vivaldi zone: x, y and height in milliseconds; None if not told.

    Raises:
        InputError: they are not three numbers.
    """
    written = element.attributes.get("coordinates", "").split()
    if not written:
        return None
    try:
        x, y, height = map(float, written)
    except ValueError:
        problem = f"coordinates must be three numbers x y height, got {' '.join(written)!r}"
        raise reader.fail(element, problem) from None
    if not abs(x) + abs(y) + abs(height) < float("inf"):
        raise reader.fail(element, "coordinates must be finite")
    return x, y, height


def _bandwidth(reader: ElementReader, element: Element, key: str) -> float:
    reader.text(element, key)
    value = reader.amount(element, key, BANDWIDTHS, "125MBps")
    if not value:
        raise reader.fail(element, f"{key} must be above 0, got {element.attributes[key]!r}")
    return value


def _latency(reader: ElementReader, element: Element, key: str) -> float:
    return reader.amount(element, key, TIMES, "50us") or 0.0


def _backbone(reader: ElementReader, element: Element) -> Wire | None:
    policy = reader.choice(element, "bb_sharing_policy", (SHARED, FATPIPE), SHARED)
    if not element.attributes.get("bb_bw", "").strip():
        if element.attributes.get("bb_lat", "").strip():
            raise reader.fail(element, "bb_lat without bb_bw: a backbone needs a bandwidth")
        return None
    return Wire(_bandwidth(reader, element, "bb_bw"), _latency(reader, element, "bb_lat"), policy != FATPIPE)


def _loopback(reader: ElementReader, element: Element) -> Wire | None:
    if not element.attributes.get("loopback_bw", "").strip():
        if element.attributes.get("loopback_lat", "").strip():
            raise reader.fail(element, "loopback_lat without loopback_bw: a loopback needs a bandwidth")
        return None
    bandwidth, latency = _bandwidth(reader, element, "loopback_bw"), _latency(reader, element, "loopback_lat")
    return Wire(bandwidth, latency, shared=False)
