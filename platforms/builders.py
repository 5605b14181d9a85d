"""Platforms without a file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict, Unpack

import msgspec

from batpy.platforms.platform import MAX_HOSTS, Host, Platform

if TYPE_CHECKING:
    from batpy.platforms.routing.links import LinkTable
    from batpy.platforms.routing.topologies import Cabling
    from batpy.platforms.routing.zones import Zone

DEFAULT_SPEED = 1e9
# Of a link, in bytes per second and seconds: gigabit Ethernet, as in the cluster files of Batsim.
DEFAULT_BANDWIDTH = 125e6
DEFAULT_LATENCY = 50e-6


class Quantities(TypedDict, total=False):
    """What each host has, as for ``hosts``."""

    cores: int
    memory: int | None
    gpus: int
    speed: float


def hosts(
    count: int, *, cores: int = 1, memory: int | None = None, gpus: int = 0, speed: float = DEFAULT_SPEED
) -> Platform:
    """*count* hosts that are all alike.

    Names are padded with zeros (``host007``) so that their lexicographic order, which numbers the hosts of
    a file, is the order of their ids. What schedulers cannot learn otherwise is told as properties.

    Args:
        count: number of compute hosts.
        cores: per host.
        memory: bytes per host, or None if it does not matter.
        gpus: per host.
        speed: flops per second and core.

    Raises:
        ValueError: a count below 1, or a quantity that is negative.
    """
    if count > MAX_HOSTS:
        raise ValueError(f"more than {MAX_HOSTS} hosts")
    if count < 1 or cores < 1:
        raise ValueError("a platform has at least one host, and a host at least one core")
    if gpus < 0 or (memory is not None and memory < 0) or not speed > 0:
        raise ValueError("memory and gpus must be at least 0, speed above 0")
    properties = {"role": ""}
    if memory is not None:
        properties["memory"] = str(memory)
    if gpus:
        properties["gpus"] = str(gpus)
    digits = len(str(count - 1))
    zone: dict[str, str] = {}
    compute = [
        Host(i, f"host{i:0{digits}}", "", (speed,), cores, 0, memory, gpus, properties, zone)
        for i in range(count)
    ]
    return Platform(f"hosts={count}", tuple(compute))


def cluster(
    count: int,
    *,
    bandwidth: float = DEFAULT_BANDWIDTH,
    latency: float = DEFAULT_LATENCY,
    backbone: tuple[float, float] | None = None,
    **quantities: Unpack[Quantities],
) -> Platform:
    """*count* hosts around a switch, each with a link for either direction; ``<cluster>`` of a file.

    Args:
        bandwidth: of a host's links, bytes per second.
        latency: of a host's links, seconds.
        backbone: bandwidth and latency of a link that all routes cross, or None for a perfect switch.
        quantities: of each host.

    Raises:
        ValueError: a quantity that is out of range.
    """
    _check_links([(bandwidth, latency), *([] if backbone is None else [backbone])])
    platform = hosts(count, **quantities)
    # A park without a network must not load what routes need.
    from batpy.platforms.network import Link
    from batpy.platforms.routing.links import LinkTable, PrivateLinks
    from batpy.platforms.routing.zones import StarZone

    names = [host.name for host in platform.compute]
    kinds = [Link(f"{{}}_{way}", bandwidth, latency) for way in ("UP", "DOWN")]
    table = LinkTable()
    common = [] if backbone is None else [Link("backbone", *backbone)]
    table.add(PrivateLinks(names, kinds, common))
    zone = StarZone(0, None, "cluster", 1)
    zone.extend(count, range(0, 2 * count, 2), range(1, 2 * count, 2))
    if common:
        zone.backbone = 2 * count
    return _joined(platform, f"cluster={count}", table, zone)


def fat_tree(
    children: Sequence[int],
    parents: Sequence[int],
    ports: Sequence[int],
    *,
    bandwidth: float = DEFAULT_BANDWIDTH,
    latency: float = DEFAULT_LATENCY,
    **quantities: Unpack[Quantities],
) -> Platform:
    """Hosts under levels of switches, routed as SimGrid routes ``FAT_TREE`` clusters (3.32).

    Args:
        children: nodes below a switch, one number for each level of switches, from the hosts up.
        parents: switches above a node, from the hosts up.
        ports: parallel cables to each of those.
        bandwidth: of a cable in either direction, bytes per second.
        latency: of a cable, seconds.
        quantities: of each host.

    Raises:
        ValueError: lists of different lengths, or a quantity that is out of range.
    """
    if not len(children) == len(parents) == len(ports) > 0:
        raise ValueError("children, parents and ports need one number for each level of switches")
    if any(number < 1 for number in (*children, *parents, *ports)):
        raise ValueError("children, parents and ports must be at least 1")
    _check_links([(bandwidth, latency)])
    platform = hosts(math.prod(children), **quantities)
    from batpy.platforms.routing.links import LinkTable
    from batpy.platforms.routing.topologies import FatTreeZone

    text = ";".join(",".join(map(str, numbers)) for numbers in (children, parents, ports))
    source = f"fat_tree={len(children)};{text}"
    cabling = _cabling(source, len(platform.compute), bandwidth, latency)
    zone = FatTreeZone(0, None, "fat tree", 1, cabling, children, parents, ports)
    table = LinkTable()
    table.add(zone)
    return _joined(platform, source, table, zone)


def racks(
    count: int,
    size: int,
    *,
    bandwidth: float = DEFAULT_BANDWIDTH,
    latency: float = DEFAULT_LATENCY,
    uplink: float | None = None,
    **quantities: Unpack[Quantities],
) -> Platform:
    """*count* racks of *size* hosts, each rack with a switch, all switches on one above them.

    Args:
        bandwidth: of a host's links, bytes per second.
        latency: of every link, seconds.
        uplink: bandwidth of a rack's links, or None for as much as all its hosts together.
        quantities: of each host.

    Raises:
        ValueError: a quantity that is out of range.
    """
    if count < 1 or size < 1:
        raise ValueError("there must be at least one rack, and one host in a rack")
    uplink = size * bandwidth if uplink is None else uplink
    _check_links([(bandwidth, latency), (uplink, latency)])
    platform = hosts(count * size, **quantities)
    from batpy.platforms.routing.links import LinkTable
    from batpy.platforms.routing.topologies import RackZone

    source = f"racks={count}x{size}"
    zone = RackZone(0, None, "racks", 1, _cabling(source, count * size, bandwidth, latency), size, uplink)
    table = LinkTable()
    table.add(zone)
    return _joined(platform, source, table, zone)


def _check_links(links: Sequence[tuple[float, float]]) -> None:
    for bandwidth, latency in links:
        if not (0 < bandwidth < math.inf and 0 <= latency < math.inf):
            raise ValueError("bandwidths must be above 0 and latencies at least 0, both finite")


def _cabling(name: str, count: int, bandwidth: float, latency: float) -> Cabling:
    from batpy.platforms.network import Link
    from batpy.platforms.routing.topologies import Cabling

    return Cabling(name, count, (), Link("", bandwidth, latency), True, None, None)


def _joined(platform: Platform, source: str, table: LinkTable, zone: Zone) -> Platform:
    """*platform* with the network of the one *zone* that all its hosts are in."""
    from batpy.platforms.routing.network import ZoneNetwork

    names = [host.name for host in platform.compute]
    zone.count = len(names)
    find = dict(zip(names, range(len(names)), strict=True)).get
    network = ZoneNetwork(table, [zone], find, names, source, {}, {})
    return msgspec.structs.replace(platform, source=source, network=network)
