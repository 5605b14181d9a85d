"""From the ``topology`` and ``topo_parameters`` of a cluster to the zone that numbers and routes it."""

from __future__ import annotations

import math

from batpy.platforms.network import Link
from batpy.platforms.routing.topologies import CabledZone, Cabling, DragonflyZone, FatTreeZone, TorusZone
from batpy.platforms.routing.zones import Zone
from batpy.platforms.simgrid import wires
from batpy.platforms.simgrid.zones import ClusterDescription, Radical

# Far above any real machine; a slip in the parameters must not fill the memory.
MAX_CABLES = 50_000_000


def build_topology(
    index: int,
    parent: Zone | None,
    title: str,
    line: int,
    cluster: ClusterDescription,
    serial: int,
    shift: int,
) -> CabledZone:
    """The zone of a cluster that is not flat.

    Args:
        index, parent, title, line: as for every zone.
        serial: number of its first cable in names.
        shift: hosts of clusters of this topology before it.

    Raises:
        ValueError: parameters that are malformed or make another number of hosts than the radical.
    """
    network = cluster.network
    text = network.parameters
    count = sum(map(len, cluster.numbers))
    private, back = network.private, network.loopback
    cabling = Cabling(
        *(
            cluster.host.name,
            count,
            Radical("", cluster.numbers, ""),
            Link("", private.bandwidth, private.latency, private.shared),
        ),
        *(network.duplex, network.limiter),
        None if back is None else Link("", back.bandwidth, back.latency, back.shared),
        *(serial, shift),
    )
    place = (index, parent, title, line, cabling)
    zone: CabledZone
    if network.topology == wires.TORUS:
        (sizes,) = _fields(text, (0,), "3,2,2 (hosts along each dimension)")
        _check(text, math.prod(sizes), count)
        zone = TorusZone(*place, sizes)
    elif network.topology == wires.FAT_TREE:
        form = "2;4,4;1,2;1,2 (levels; children; parents; cables to a parent)"
        (levels,), *lists = _fields(text, (1, 0, 0, 0), form)
        if any(len(numbers) != levels for numbers in lists):
            raise ValueError(f"{text!r} has {levels} level(s), so needs as many numbers in each list")
        children, parents, ports = lists
        _check(text, math.prod(children), count)
        zone = FatTreeZone(*place, children, parents, ports)
    else:
        form = "3,4;4,3;5,1;2 (groups, chassis and routers, each with its cables; hosts of a router)"
        (groups, blue), (chassis, black), (routers, green), (nodes,) = _fields(text, (2, 2, 2, 1), form)
        _check(text, groups * chassis * routers * nodes, count)
        # SimGrid 3.32 crashes; group n is joined to router n of the first chassis.
        if groups > routers:
            raise ValueError(f"{text!r} has more groups than a chassis has routers to join them")
        zone = DragonflyZone(*place, (groups, chassis, routers, nodes), (blue, black, green))
    if zone.cables > MAX_CABLES:
        raise ValueError(f"{text!r} makes more than {MAX_CABLES} cables")
    return zone


def _fields(text: str, lengths: tuple[int, ...], form: str) -> list[list[int]]:
    """Lists of numbers of at least 1, separated by ``;``; a length of 0 stands for any."""
    fields = [[part.strip() for part in field.split(",")] for field in text.split(";")]
    well_formed = len(fields) == len(lengths) and all(
        (not length or len(field) == length)
        and all(part.isascii() and part.isdigit() and 0 < len(part) < 8 and int(part) for part in field)
        for field, length in zip(fields, lengths, strict=False)
    )
    if not well_formed:
        raise ValueError(f"{text!r} is not of the form {form}")
    return [[int(part) for part in field] for field in fields]


def _check(text: str, hosts: int, count: int) -> None:
    if hosts != count:
        raise ValueError(f"{text!r} makes {hosts} hosts, but the radical names {count}")
