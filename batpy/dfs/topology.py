"""Nodes, where they stand, and how many blocks each can hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from batpy.base.errors import InputError

Ints = NDArray[np.int64]
Nodes = NDArray[np.int32]
"""Node ids; -1 stands for no node."""

MOST_NODES = 1_000_000
FIRMAMENT_NODES_PER_RACK = 30
FIRMAMENT_BLOCKS_PER_NODE = 12_288


@dataclass(frozen=True, eq=False)
class Topology:
    """A cluster. Every array has one entry a node; make one with ``of`` or ``racks_of``.

    Attributes:
        rack: from 0.
        capacity: blocks that the node can hold; 0 if it is no data node.
        group: node group (such as the virtual machines of one machine), from 0, each inside one rack.
        domain: upgrade domain, from 0; domains usually cut across racks.
    """

    rack: Ints
    capacity: Ints
    group: Ints
    domain: Ints

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.rack)

    @property
    def racks(self) -> int:
        """Number of racks, or of rack numbers if some are unused."""
        return int(self.rack.max()) + 1

    @staticmethod
    def of(
        rack: Sequence[int] | Ints,
        capacity: int | Sequence[int] | Ints,
        group: Sequence[int] | Ints | None = None,
        domain: Sequence[int] | Ints | None = None,
    ) -> Topology:
        """A cluster of the racks of its nodes.

        Args:
            capacity: in blocks; one number is every node's.
            group, domain: each node is one of its own, if None.

        Raises:
            InputError: lengths differ, numbers are negative, or a group is in two racks.
        """
        racks = np.asarray(rack, dtype=np.int64)
        count = len(racks)
        if not 1 <= count <= MOST_NODES:
            raise InputError(f"a cluster has 1 to {MOST_NODES} nodes, got {count}")
        alone = np.arange(count)
        held = np.full(count, capacity) if isinstance(capacity, int) else np.asarray(capacity, dtype=np.int64)
        groups = np.asarray(alone if group is None else group, dtype=np.int64)
        domains = np.asarray(alone if domain is None else domain, dtype=np.int64)
        for name, values in (("rack", racks), ("capacity", held), ("group", groups), ("domain", domains)):
            if values.shape != (count,):
                raise InputError(f"want one {name} for each of {count} nodes, got {len(values)}")
            if values.min() < 0:
                raise InputError(f"{name}: must be at least 0, got {int(values.min())}")
            if name != "capacity" and values.max() >= MOST_NODES:
                raise InputError(f"{name}: must be below {MOST_NODES}, got {int(values.max())}")
        first = np.full(int(groups.max()) + 1, -1, dtype=np.int64)
        first[groups] = racks
        if (first[groups] != racks).any():
            raise InputError("a node group must not be in two racks")
        return Topology(racks, held.astype(np.int64), groups, domains)

    @staticmethod
    def racks_of(
        nodes: int,
        nodes_per_rack: int = FIRMAMENT_NODES_PER_RACK,
        capacity: int = FIRMAMENT_BLOCKS_PER_NODE,
        *,
        nodes_per_group: int = 1,
        domains: int | None = None,
    ) -> Topology:
        """Equal racks (the last may be smaller); defaults are those of Firmament's simulator.

        Args:
            nodes_per_group: nodes of each node group, within their rack.
            domains: number of upgrade domains, given to nodes in turn; each node its own if None.
        """
        if min(nodes_per_rack, nodes_per_group) < 1 or (domains is not None and domains < 1):
            raise InputError("racks, node groups and upgrade domains must have at least one node")
        ids = np.arange(nodes)
        rack, place = np.divmod(ids, nodes_per_rack)
        groups_per_rack = -(-nodes_per_rack // nodes_per_group)
        group = rack * groups_per_rack + place // nodes_per_group
        return Topology.of(rack, capacity, group, None if domains is None else ids % domains)
