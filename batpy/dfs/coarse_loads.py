"""Loads of the coarse model: every node of a kind has the same share, but for a skew."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from batpy.base.errors import InputError
from batpy.dfs.topology import Topology
from batpy.dfs.traffic import Floats, Loads

NODE_KINDS = ("disk_read", "disk_write", "node_in", "node_out")
RACK_KINDS = ("rack_in", "rack_out")


@dataclass(frozen=True)
class Fractions:
    """Shares of the bytes read, which add up to 1: from the own disk, from the job's others, from outside."""

    node: float
    in_job: float
    out_of_job: float

    def __post_init__(self) -> None:
        values = (self.node, self.in_job, self.out_of_job)
        if not (min(values) >= 0 and abs(sum(values) - 1) < 1e-6):
            raise InputError(f"fractions must be at least 0 and add up to 1, got {values}")

    def possible(self, job: int, cluster: int) -> Fractions:
        """The same, with shares that cannot be given to others: a job of one node has no other, and so on."""
        node, inside, outside = self.node, self.in_job, self.out_of_job
        if job <= 1:
            inside, outside = 0.0, outside + inside
        if job >= cluster:
            inside, outside = inside + outside, 0.0
        if job <= 1 and job >= cluster:
            node, inside = node + inside, 0.0
        return Fractions(node, inside, outside)


@dataclass(frozen=True)
class Skew:
    """The most loaded resource of a kind over its even share; 1 is even.

    Attributes:
        job: kind of load to factor, for nodes of the job; kinds that are not in it are even.
        outside: likewise, for the other nodes.
        racks: for racks, of the mean over all racks: that depends little on how a job lies in them.
    """

    job: Mapping[str, float] = field(default_factory=dict)
    outside: Mapping[str, float] = field(default_factory=dict)
    racks: Mapping[str, float] = field(default_factory=dict)


def read_loads(
    topology: Topology, job: Sequence[int], volume: float, shares: Fractions, skew: Skew | None = None
) -> Loads:
    """What resources have to move when a job reads, each alike but for the skew.

    Data comes from data nodes: from those of the job's other nodes, and from those outside of the job.
    """
    inside, data = mask(topology, job), topology.capacity > 0
    shares = shares.possible(len(job), topology.nodes)
    readers = np.where(inside, volume / len(job), 0.0)
    near = _spread(topology, readers * shares.in_job, inside & data)
    far = _spread(topology, readers * shares.out_of_job, ~inside & data)
    served = near.spread + far.spread
    loads = Loads(
        readers * shares.node + served,
        np.zeros(topology.nodes),
        readers * (shares.in_job + shares.out_of_job),
        served,
        near.origin_racks + far.origin_racks,
        near.spread_racks + far.spread_racks,
    )
    return loads if skew is None else skewed(loads, inside, skew)


def write_loads(
    topology: Topology, job: Sequence[int], volume: float, replication: int, skew: Skew | None = None
) -> Loads:
    """What resources have to move when a job writes: its own disks, then a chain of replicas.

    The second replica is on any node of another rack, the third in that rack, more are anywhere (HDFS). The
    block of a writer that is no data node goes to a node of its rack first.
    """
    inside, data = mask(topology, job), topology.capacity > 0
    copies = min(replication, int(data.sum()))
    writers = np.where(inside, volume / len(job), 0.0)
    kept = np.where(data, writers, 0.0)
    first = _spread(topology, writers - kept, data, "same")
    hops = [first]
    holder = kept + first.spread
    for place in range(1, copies):
        hops.append(_spread(topology, holder, data, ("other", "same", "any")[min(place, 3) - 1]))
        holder = hops[-1].spread
    entering = _sum(hop.spread for hop in hops)
    loads = Loads(
        np.zeros(topology.nodes),
        kept + entering,
        entering,
        _sum(hop.origin for hop in hops),
        _sum(hop.spread_racks for hop in hops),
        _sum(hop.origin_racks for hop in hops),
    )
    return loads if skew is None else skewed(loads, inside, skew)


def skewed(loads: Loads, job: NDArray[np.bool_], skew: Skew) -> Loads:
    """Loads with the skew of each kind.

    Args:
        job: which nodes are of the job.
    """
    values = {
        kind: getattr(loads, kind) * np.where(job, skew.job.get(kind, 1.0), skew.outside.get(kind, 1.0))
        for kind in NODE_KINDS
    }
    for kind in RACK_KINDS:
        even = getattr(loads, kind)
        values[kind] = np.full_like(even, even.mean() * skew.racks[kind]) if kind in skew.racks else even
    return Loads(**values)


def mask(topology: Topology, nodes: Iterable[int]) -> NDArray[np.bool_]:
    """Which nodes are among these."""
    inside = np.zeros(topology.nodes, dtype=np.bool_)
    inside[np.fromiter(nodes, dtype=np.int64)] = True
    return inside


@dataclass(frozen=True, eq=False)
class _Spread:
    """Bytes between nodes and others, each of which has the same share.

    Attributes:
        origin: of each node, what it has with others; ``spread``: of each of those others.
        origin_racks, spread_racks: of these, by rack, what is between two racks.
    """

    origin: Floats
    spread: Floats
    origin_racks: Floats
    spread_racks: Floats


def _spread(
    topology: Topology,
    origin: Floats,
    among: NDArray[np.bool_],
    where: Literal["any", "other", "same"] = "any",
) -> _Spread:
    """Spread each node's bytes evenly over other nodes: any of them, of other racks, or of its own.

    What finds no such node goes to any; what finds none at all stays where it is and is left out.
    """
    rack, racks = topology.rack, topology.racks
    beside = np.bincount(rack[among], minlength=racks).astype(np.float64)
    total = beside.sum()
    partners = {"any": total - among, "other": total - beside[rack], "same": beside[rack] - among}[where]
    found = partners > 0
    unit = np.divide(origin, partners, out=np.zeros(topology.nodes), where=found)
    by_rack = np.bincount(rack, weights=unit, minlength=racks)
    whole = by_rack.sum()
    if where == "same":
        spread = among * (by_rack[rack] - unit)
        out_of, into = np.zeros(racks), np.zeros(racks)
    else:
        spread = among * (whole - (unit if where == "any" else by_rack[rack]))
        out_of, into = by_rack * (total - beside), beside * (whole - by_rack)
    part = _Spread(origin * found, spread, out_of, into)
    left = origin * ~found
    if where == "any" or not left.any():
        return part
    rest = _spread(topology, left, among)
    return _Spread(
        part.origin + rest.origin,
        part.spread + rest.spread,
        part.origin_racks + rest.origin_racks,
        part.spread_racks + rest.spread_racks,
    )


def _sum(parts: Iterable[Floats]) -> Floats:
    first, *rest = parts
    return sum(rest, start=first)
