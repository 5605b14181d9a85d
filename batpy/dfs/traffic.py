"""What a phase moves between nodes and disks, and how long that takes.

The formula: all transfers of a phase begin together and share fairly, so the phase lasts as long as its most
loaded resource. A node's disk reads and writes one after the other: bytes read / read bandwidth + bytes
written / write bandwidth. A node's link carries both directions at once: bytes that leave / outgoing
bandwidth, bytes that enter / incoming bandwidth; data that stays on its node takes no link. A rack's uplink
likewise, for what leaves or enters the rack.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from batpy.base.errors import InputError
from batpy.dfs.reading import ReadPlan
from batpy.dfs.topology import Ints, Nodes, Topology

Floats = NDArray[np.float64]


class DiskLike(Protocol):
    """A disk of a platform, in bytes per second."""

    @property
    def read_bandwidth(self) -> float:
        """Of reads."""

    @property
    def write_bandwidth(self) -> float:
        """Of writes."""


@dataclass(frozen=True, eq=False)
class Rates:
    """Bandwidths in bytes per second: one for all, or one for each node (or rack); infinite: no limit."""

    disk_read: float | Floats
    disk_write: float | Floats
    node_in: float | Floats = math.inf
    node_out: float | Floats = math.inf
    rack_in: float | Floats = math.inf
    rack_out: float | Floats = math.inf

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not np.all(np.asarray(value) > 0):
                raise InputError(f"{name}: bandwidths must be above 0")

    @staticmethod
    def of_disks(
        disks: Sequence[Iterable[DiskLike]], node_in: float | Floats, node_out: float | Floats
    ) -> Rates:
        """Rates of nodes with these disks each, which share the work; a node without one has no data."""
        read = [sum(disk.read_bandwidth for disk in each) for each in map(tuple, disks)]
        write = [sum(disk.write_bandwidth for disk in each) for each in map(tuple, disks)]
        # A node without disk holds nothing, so its rate is never asked for; it must only not be 0.
        return Rates(
            np.array([rate or math.inf for rate in read]),
            np.array([rate or math.inf for rate in write]),
            node_in,
            node_out,
        )


@dataclass(frozen=True, eq=False)
class Loads:
    """Bytes that each node's disk and link, and each rack's uplink, have to move."""

    disk_read: Floats
    disk_write: Floats
    node_in: Floats
    node_out: Floats
    rack_in: Floats
    rack_out: Floats


@dataclass(frozen=True)
class PhaseTime:
    """How long a phase lasts.

    Attributes:
        bottleneck: ``disk``, ``node_in``, ``node_out``, ``rack_in``, ``rack_out``, ``pfs`` or, if there is
            nothing to move, ``none``.
        where: number of the node or rack; -1 if it is none of them.
    """

    seconds: float
    bottleneck: str
    where: int = -1


def phase_time(loads: Loads, rates: Rates) -> PhaseTime:
    """The time of the most loaded resource; of equal ones the first, in the order of ``bottleneck``."""
    times = {
        "disk": loads.disk_read / rates.disk_read + loads.disk_write / rates.disk_write,
        "node_in": loads.node_in / rates.node_in,
        "node_out": loads.node_out / rates.node_out,
        "rack_in": loads.rack_in / rates.rack_in,
        "rack_out": loads.rack_out / rates.rack_out,
    }
    longest = PhaseTime(0.0, "none")
    for name, values in times.items():
        where = int(values.argmax())
        if values[where] > longest.seconds:
            longest = PhaseTime(float(values[where]), name, where)
    return longest


@dataclass(frozen=True, eq=False)
class Flows:
    """Bytes from a node to a node, one pair a row, by (source, target); -1 is a client that is on no node."""

    source: Ints
    target: Ints
    bytes: Ints

    @staticmethod
    def of(source: NDArray[np.integer], target: NDArray[np.integer], amount: Ints, nodes: int) -> Flows:
        """Sums by pair; pairs without bytes are left out."""
        key = (source.astype(np.int64) + 1) * (nodes + 1) + target + 1
        pairs, place = np.unique(key, return_inverse=True)
        total = np.zeros(len(pairs), dtype=np.int64)
        np.add.at(total, place, amount)
        some = total > 0
        sources, targets = np.divmod(pairs[some], nodes + 1)
        return Flows(sources - 1, targets - 1, total[some])


@dataclass(frozen=True, eq=False)
class Traffic:
    """What a phase moves, in whole bytes.

    Attributes:
        reads: from the disk of a node to a node.
        writes: from a node to the disk of a node.
    """

    topology: Topology
    reads: Flows
    writes: Flows

    @staticmethod
    def of_reads(topology: Topology, plan: ReadPlan) -> Traffic:
        """The reads of a plan; lost ones are left out."""
        found = plan.source >= 0
        reads = Flows.of(plan.source[found], plan.reader[found], plan.bytes[found], topology.nodes)
        return Traffic(topology, reads, _none())

    @staticmethod
    def of_writes(topology: Topology, replicas: Nodes, amounts: Ints, writer: Nodes) -> Traffic:
        """The write pipeline: each block goes from its writer to the first replica, from there to the next.

        With the writer on the first, and HDFS's placement, that is: its own disk, another rack, again that
        rack; replicas - 1 copies cross the network.
        """
        chain = np.concatenate([writer[:, None].astype(np.int64), replicas], axis=1)
        sources, targets = chain[:, :-1].copy(), chain[:, 1:]
        there = targets >= 0
        blocks = np.broadcast_to(amounts[:, None], targets.shape)
        flows = Flows.of(sources[there], targets[there], blocks[there], topology.nodes)
        return Traffic(topology, _none(), flows)

    def __add__(self, other: Traffic) -> Traffic:
        """Both together."""
        nodes = self.topology.nodes
        return Traffic(
            self.topology,
            _joined(self.reads, other.reads, nodes),
            _joined(self.writes, other.writes, nodes),
        )

    @property
    def bytes_read(self) -> int:
        """All bytes read."""
        return int(self.reads.bytes.sum())

    @property
    def bytes_written(self) -> int:
        """All bytes written to disks, each replica counted."""
        return int(self.writes.bytes.sum())

    def read_matrix(self, job: Sequence[int]) -> Ints:
        """Bytes that each node of a job (rows, in this order) reads from the disk of each node (columns)."""
        return self._matrix(self.reads.target, self.reads.source, self.reads.bytes, job)

    def write_matrix(self, job: Sequence[int]) -> Ints:
        """Bytes that each node of a job (rows) sends itself to the disk of each node (columns)."""
        return self._matrix(self.writes.source, self.writes.target, self.writes.bytes, job)

    def _matrix(self, row: Ints, column: Ints, amount: Ints, job: Sequence[int]) -> Ints:
        place = np.full(self.topology.nodes + 1, -1, dtype=np.int64)
        place[np.asarray(job)] = np.arange(len(job))
        out = np.zeros((len(job), self.topology.nodes), dtype=np.int64)
        inside = (place[row] >= 0) & (row >= 0)
        np.add.at(out, (place[row[inside]], column[inside]), amount[inside])
        return out

    def nodes_touched(self) -> list[int]:
        """Nodes that send or receive anything, or whose disk does."""
        ends = [end for flows in (self.reads, self.writes) for end in (flows.source, flows.target)]
        return [node for node in np.unique(np.concatenate(ends)).tolist() if node >= 0]

    def loads(self) -> Loads:
        """What each resource has to move."""
        nodes, racks, rack = self.topology.nodes, self.topology.racks, self.topology.rack
        source = np.concatenate([self.reads.source, self.writes.source])
        target = np.concatenate([self.reads.target, self.writes.target])
        amount = np.concatenate([self.reads.bytes, self.writes.bytes])
        from_rack = np.where(source >= 0, rack[source], -1)
        moves, crosses = source != target, from_rack != rack[target]
        return Loads(
            _sums(self.reads.source, self.reads.bytes, nodes),
            _sums(self.writes.target, self.writes.bytes, nodes),
            _sums(target[moves], amount[moves], nodes),
            _sums(source[moves], amount[moves], nodes),
            _sums(rack[target[crosses]], amount[crosses], racks),
            _sums(from_rack[crosses], amount[crosses], racks),
        )

    def time(self, rates: Rates) -> PhaseTime:
        """How long it takes; see this module's formula."""
        return phase_time(self.loads(), rates)

    def parallel_profile(self, nodes: Sequence[int], *, disks: bool) -> dict[str, Any]:
        """A ``parallel`` profile of Batsim that moves the same bytes and computes nothing.

        Args:
            nodes: the node of each executor; all nodes that are touched must be among them.
            disks: as many executors again, in the same order, are the hosts that stand for the nodes' disks;
                reads leave them and writes reach them, so that their links are the disks' two bandwidths.
                Otherwise data goes from node to node, and what stays on its node is left out.

        Raises:
            InputError: a node that sends or receives is not among *nodes*.
        """
        missing = sorted(set(self.nodes_touched()) - set(nodes))
        if missing:
            raise InputError(f"node {missing[0]} moves data, but has no executor")
        count = len(nodes)
        place = np.full(self.topology.nodes, -1, dtype=np.int64)
        place[np.asarray(nodes, dtype=np.int64)] = np.arange(count)
        size = 2 * count if disks else count
        moved = np.zeros((size, size), dtype=np.int64)
        shift = count if disks else 0
        reads, writes = self.reads, self.writes
        np.add.at(moved, (place[reads.source] + shift, place[reads.target]), reads.bytes)
        inner = writes.source >= 0
        np.add.at(
            moved, (place[writes.source[inner]], place[writes.target[inner]] + shift), writes.bytes[inner]
        )
        if not disks:
            np.fill_diagonal(moved, 0)
        return {"type": "parallel", "cpu": [0] * size, "com": moved.ravel().tolist()}


def _none() -> Flows:
    empty = np.zeros(0, dtype=np.int64)
    return Flows(empty, empty, empty)


def _joined(one: Flows, other: Flows, nodes: int) -> Flows:
    return Flows.of(
        np.concatenate([one.source, other.source]),
        np.concatenate([one.target, other.target]),
        np.concatenate([one.bytes, other.bytes]),
        nodes,
    )


def _sums(keys: Ints, amounts: Ints, count: int) -> Floats:
    inside = keys >= 0
    total = np.zeros(count, dtype=np.int64)
    np.add.at(total, keys[inside], amounts[inside])
    return total.astype(np.float64)
