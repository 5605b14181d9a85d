"""How long a park takes to read and write the data of many jobs, from a DFS and from a PFS.

Jobs are taken in order. A *round* is made of jobs whose nodes are all different, as many as the park has room
for; what they do together shares disks, links and the file system. A round first reads, then writes; the
time of a workload is the sum over its rounds. Processing is left out, and so is what is shuffled between
tasks: they are the same in both worlds.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from batpy.base.errors import InputError
from batpy.dfs.phases import read_phase, write_phase
from batpy.dfs.state import FileSystem, Refused
from batpy.dfs.topology import Topology
from batpy.dfs.traffic import Rates, Traffic

BLOCK: int = 128 * 2**20
ROOM: int = 1 << 20
"""Blocks that a node can hold: no node is ever full."""


@dataclass(frozen=True, slots=True)
class IoJob:
    """What a job moves.

    Attributes:
        tasks: that read or write, at most at one time.
        read, written: bytes.
    """

    tasks: int
    read: int
    written: int


@dataclass(frozen=True, slots=True)
class Park:
    """A cluster; bandwidths in bytes per second.

    Attributes:
        slots: tasks of a node.
        link: of each node, either way.
        rack_nodes: nodes in a rack.
        uplink: of each rack, either way.
        disk_read, disk_write: of each node.
    """

    nodes: int
    slots: int
    link: float
    rack_nodes: int
    uplink: float
    disk_read: float
    disk_write: float

    def width(self, job: IoJob) -> int:
        """Nodes that a job uses."""
        return min(self.nodes, max(1, math.ceil(job.tasks / self.slots)))


@dataclass(frozen=True, slots=True)
class DfsTime:
    """Of a workload on a DFS.

    Attributes:
        read, write: seconds.
        local: share of the bytes read that came from a disk of the reader's own node.
    """

    read: float
    write: float
    local: float


def rounds(jobs: Sequence[IoJob], park: Park) -> Iterator[list[IoJob]]:
    """The jobs of each round."""
    group: list[IoJob] = []
    left = park.nodes
    for job in jobs:
        width = park.width(job)
        if width > left:
            yield group
            group, left = [], park.nodes
        group.append(job)
        left -= width
    if group:
        yield group


def pfs_seconds(jobs: Sequence[IoJob], park: Park, bandwidth: float) -> float:
    """On a parallel file system that all share: its bandwidth, or the link of the busiest node, decides."""
    total = 0.0
    for group in rounds(jobs, park):
        for amounts in ([job.read for job in group], [job.written for job in group]):
            widest = max(amount / park.width(job) for amount, job in zip(amounts, group, strict=True))
            total += max(sum(amounts) / bandwidth, widest / park.link)
    return total


def dfs_seconds(jobs: Sequence[IoJob], park: Park, rng: random.Random) -> DfsTime:
    """On HDFS with three replicas on the nodes' disks, block by block.

    A job's input was written from outside the cluster. The job gets the free nodes that hold most of its
    blocks; its blocks go to those of its nodes that hold them, as far as an even share allows.

    Raises:
        InputError: the file system is full.
    """
    racks = [node // park.rack_nodes for node in range(park.nodes)]
    topology = Topology.of(racks, ROOM)
    rates = Rates(park.disk_read, park.disk_write, park.link, park.link, park.uplink, park.uplink)
    read = write = 0.0
    near = all_read = 0
    for group in rounds(jobs, park):
        system = FileSystem(topology, "hdfs", block_bytes=BLOCK)
        free = set(range(park.nodes))
        reads: list[Traffic] = []
        writes: list[Traffic] = []
        for number, job in enumerate(group):
            made = system.create(f"in{number}", job.read, rng)
            if isinstance(made, Refused):
                raise InputError(made.reason)
            nodes = _nearest(system, made.ids, free, park.width(job), rng)
            free -= set(nodes)
            if job.read:
                phase = read_phase(system, made.ids, nodes)
                assert not isinstance(phase, Refused)
                reads.append(phase.traffic)
            if job.written:
                written = write_phase(system, f"out{number}", job.written, nodes, rng)
                if isinstance(written, Refused):
                    raise InputError(written.reason)
                writes.append(written.traffic)
        if reads:
            traffic = _sum(reads)
            read += traffic.time(rates).seconds
            own = traffic.reads.source == traffic.reads.target
            near += int(traffic.reads.bytes[own].sum())
            all_read += int(traffic.reads.bytes.sum())
        if writes:
            write += _sum(writes).time(rates).seconds
    return DfsTime(read, write, near / all_read if all_read else 1.0)


def _nearest(
    system: FileSystem, blocks: np.ndarray[tuple[int, ...], np.dtype[np.int64]], free: set[int], count: int,
    rng: random.Random,
) -> list[int]:  # fmt: skip
    """The free nodes that hold most of the blocks; equal ones in random order."""
    held = np.bincount(system.replicas[blocks].ravel(), minlength=system.topology.nodes).tolist()
    order = sorted(free)
    rng.shuffle(order)
    order.sort(key=lambda node: -held[node])
    return order[:count]


def _sum(traffics: Sequence[Traffic]) -> Traffic:
    total = traffics[0]
    for traffic in traffics[1:]:
        total += traffic
    return total
