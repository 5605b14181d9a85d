"""Read plans: from which replica each read of a block comes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from batpy.dfs.locality import Locality, histogram
from batpy.dfs.topology import Ints, Nodes, Topology

_NOWHERE = 9


@dataclass(frozen=True)
class ReadPlan:
    """Reads, one a row.

    Attributes:
        block: what is read.
        reader: the node that reads it.
        source: the node it is read from; -1 if the block has no replica left.
        bytes: how much of it.
        level: a ``Locality``; -1 if the block has no replica left.
        load: bytes that each node is asked for, those it was asked for before included.
    """

    block: Ints
    reader: Ints
    source: Nodes
    bytes: Ints
    level: NDArray[np.int8]
    load: Ints

    @property
    def lost(self) -> Ints:
        """Rows whose block has no replica left."""
        return np.flatnonzero(self.source < 0)

    def histogram(self) -> dict[Locality, int]:
        """Number of reads at each level; lost ones are left out."""
        return histogram(self.level[self.level >= 0].tolist())

    def bytes_at(self) -> dict[Locality, int]:
        """Bytes read at each level."""
        return {level: int(self.bytes[self.level == level].sum()) for level in Locality}


def read_plan(
    topology: Topology, replicas: Nodes, block: Ints, reader: Ints, amount: Ints, load: Ints | None = None
) -> ReadPlan:
    """The nearest replica for each of many reads, which all begin together.

    Near means on the reader's node, then in its rack, then anywhere. Reads that have only one nearest replica
    go there first of all; then each of the others, in order, goes to the one whose node has been asked for
    the least bytes so far, of equal ones that with the lowest number.

    Args:
        replicas: nodes that hold each block read, by row of the reads; -1 for none.
        load: bytes that each node is asked for already; none if None.
    """
    rows, width = replicas.shape
    asked = np.zeros(topology.nodes, np.int64) if load is None else load.astype(np.int64)
    rack = topology.rack.astype(np.int32)
    here = replicas >= 0
    level = np.where(
        replicas == reader[:, None],
        np.int8(Locality.NODE),
        np.where(rack[replicas] == rack[reader][:, None], np.int8(Locality.RACK), np.int8(Locality.OFF_RACK)),
    )
    level[~here] = _NOWHERE
    best = level.min(axis=1) if width else np.full(rows, _NOWHERE, np.int8)
    candidate = here & (level == best[:, None])
    choices = candidate.sum(axis=1)
    source = np.full(rows, -1, dtype=np.int32)
    sole = np.flatnonzero(choices == 1)
    source[sole] = replicas[sole, candidate[sole].argmax(axis=1)] if width else -1
    asked += _sums(source[sole], amount[sole], topology.nodes)
    several = np.flatnonzero(choices > 1)
    if len(several):
        nodes = np.where(candidate[several], replicas[several], topology.nodes)
        nodes.sort(axis=1)
        source[several] = _least_asked(nodes.tolist(), amount[several].tolist(), asked)
    found = np.where(choices > 0, best, -1).astype(np.int8)
    return ReadPlan(block, reader, source, amount, found, asked)


def _least_asked(nodes: list[list[int]], amounts: list[int], asked: Ints) -> list[int]:
    """The choice of each row in turn; *asked* is brought up to date.

    One choice depends on all before it, so this part is a plain loop.
    """
    load = asked.tolist()
    load.append(float("inf"))  # what stands for no node is never the least
    get = load.__getitem__
    out = []
    for row, amount in zip(nodes, amounts, strict=True):
        node = min(row, key=get)
        load[node] += amount
        out.append(node)
    asked[:] = load[:-1]
    return out


def _sums(nodes: NDArray[np.integer], amounts: Ints, count: int) -> Ints:
    """Exact sums of integers by node; ``np.bincount`` would go through floats."""
    total = np.zeros(count, dtype=np.int64)
    np.add.at(total, nodes, amounts)
    return total
