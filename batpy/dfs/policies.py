"""Rules for where the replicas of a block go.

Sources: HDFS 3.x (``BlockPlacementPolicyDefault``, ``...RackFaultTolerant``, ``...WithNodeGroup``,
``...WithUpgradeDomain``) and the simulated file systems of Firmament (``src/sim/dfs``). HDFS draws a node and
draws again if it does not fit, which is a draw among those that fit; load, stale nodes and storage types,
which HDFS also looks at, are left out. Where a rule cannot be kept, a block still gets its replicas, on
different nodes, anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from batpy.base.errors import InputError
from batpy.dfs.drawing import Rng, fractions
from batpy.dfs.placement import Attempt, Line, Policy, Span
from batpy.dfs.topology import Ints, Nodes, Topology

FIRMAMENT_BLOCK_BYTES = 512 * 2**20
"""Size of a block in Firmament's simulator, unless told otherwise."""
DISTRIBUTION_BLOCK_BYTES = 64 * 2**20
"""Size of the blocks that ``input_blocks`` counts."""
PARETO_SHAPE = 1.041392685


class _Plain:
    """Nodes are alike, and only racks matter."""

    def cells(self, topology: Topology) -> Ints:
        return np.zeros(topology.nodes, dtype=np.int64)

    def weights(self, topology: Topology) -> Ints:
        return np.ones(topology.nodes, dtype=np.int64)


def _near(line: Line, writer: Nodes) -> Iterator[Attempt]:
    """On the writer, else in its rack, else anywhere."""
    if (writer >= 0).any():
        yield Attempt(line.node(writer))
        yield Attempt(line.rack(line.rack_of(writer)))
    yield Attempt(line.everywhere(len(writer)))


def _where(condition: NDArray[np.bool_], span: Span) -> Span:
    return np.where(condition, span[0], 0), np.where(condition, span[1], 0)


def rack_limit(copies: int, racks: int) -> int:
    """Most replicas of a block in one rack: not all if there are two racks (``getMaxNodesPerRack``)."""
    if racks == 1 or copies == 1:
        return copies
    limit = (copies - 1) // racks + 2
    return limit - 1 if limit == copies else limit


def _full_racks(line: Line, taken: Nodes, limit: int) -> tuple[Span, ...]:
    """Racks that hold *limit* replicas of their block, or more."""
    racks = line.rack_of(taken)
    cuts = []
    for column in range(racks.shape[1]):
        here = racks[:, column]
        count = (racks == here[:, None]).sum(axis=1)
        cuts.append(line.rack(np.where(count >= limit, here, -1)))
    return tuple(cuts)


def _used_racks(line: Line) -> int:
    return max(1, len(np.unique(line.topology.rack[line.topology.capacity > 0])))


@dataclass(frozen=True)
class Hdfs(_Plain):
    """HDFS's default: on the writer, in another rack, beside the second; more of them anywhere.

    No more than ``rack_limit`` replicas are in one rack.
    """

    def attempts(self, line: Line, writer: Nodes, taken: Nodes, place: int, copies: int) -> Iterable[Attempt]:
        everywhere = line.everywhere(len(writer))
        if place == 0:
            yield from _near(line, writer)
            return
        first = line.rack_of(taken[:, 0])
        if place == 1:
            yield Attempt(everywhere, (line.rack(first),))
        elif place == 2:
            second = line.rack_of(taken[:, 1])
            together = first == second
            outside = _where(together, everywhere)
            inside = _where(~together, line.rack(second))
            yield Attempt(
                (np.where(together, outside[0], inside[0]), np.where(together, outside[1], inside[1])),
                (_where(together, line.rack(first)),),
            )
        if place >= 2:
            limit = rack_limit(copies, _used_racks(line))
            yield Attempt(everywhere, _full_racks(line, taken, limit))
        yield Attempt(everywhere)


@dataclass(frozen=True)
class RackFaultTolerant(_Plain):
    """Spread over as many racks as possible; the first on the writer.

    One replica a rack if there are enough racks, else as evenly as racks allow.
    """

    def attempts(self, line: Line, writer: Nodes, taken: Nodes, place: int, copies: int) -> Iterable[Attempt]:
        if place == 0:
            yield from _near(line, writer)
            return
        everywhere = line.everywhere(len(writer))
        for limit in range(1 + (place // _used_racks(line)), copies):
            yield Attempt(everywhere, _full_racks(line, taken, limit))
        yield Attempt(everywhere)


@dataclass(frozen=True)
class NodeGroup(_Plain):
    """HDFS's default, and no two replicas in one node group.

    The first on the writer, else in its node group, else in its rack.
    """

    def cells(self, topology: Topology) -> Ints:
        # Numbered within racks, so that spans of cells are few.
        order = np.lexsort((topology.group, topology.rack))
        racks, groups = topology.rack[order], topology.group[order]
        fresh = np.r_[True, (racks[1:] != racks[:-1]) | (groups[1:] != groups[:-1])]
        number = np.cumsum(fresh) - 1
        first = np.full(topology.racks, 0, dtype=np.int64)
        first[racks[::-1]] = number[::-1]
        cells = np.empty(topology.nodes, dtype=np.int64)
        cells[order] = number - first[racks]
        return cells

    def attempts(self, line: Line, writer: Nodes, taken: Nodes, place: int, copies: int) -> Iterable[Attempt]:
        if place == 0:
            if (writer >= 0).any():
                yield Attempt(line.node(writer))
                yield Attempt(_own_cell(line, writer))
            yield from _near(line, writer)
            return
        groups = tuple(_own_cell(line, taken[:, column]) for column in range(taken.shape[1]))
        for attempt in Hdfs().attempts(line, writer, taken, place, copies):
            yield Attempt(attempt.within, (*attempt.cuts, *groups))
        yield Attempt(line.everywhere(len(writer)))


def _own_cell(line: Line, nodes: Nodes) -> Span:
    return line.cell_in(line.rack_of(nodes), np.where(nodes < 0, -1, line.cell[nodes]))


@dataclass(frozen=True)
class UpgradeDomain(_Plain):
    """HDFS's default, and the first *factor* replicas in different upgrade domains.

    Attributes:
        factor: ``dfs.namenode.upgrade.domain.factor``, 3 by default.
    """

    factor: int = 3

    def cells(self, topology: Topology) -> Ints:
        _, cells = np.unique(topology.domain, return_inverse=True)
        return np.asarray(cells, dtype=np.int64)

    def attempts(self, line: Line, writer: Nodes, taken: Nodes, place: int, copies: int) -> Iterable[Attempt]:
        plain = Hdfs().attempts(line, writer, taken, place, copies)
        if not 0 < place < self.factor:
            yield from plain
            return
        domains = [np.where(nodes < 0, -1, line.cell[nodes]) for nodes in taken.T]
        if (
            place == 2
        ):  # what mostly comes of it, with few cuts: beside the second, if that is in another rack
            first, second = line.rack_of(taken[:, 0]), line.rack_of(taken[:, 1])
            cuts = tuple(line.cell_in(second, domain) for domain in domains)
            yield Attempt(_where(first != second, line.rack(second)), cuts)
        cuts = tuple(
            line.cell_in(np.full(len(taken), rack), domain)
            for domain in domains
            for rack in range(line.topology.racks)
        )
        for attempt in plain:
            yield Attempt(attempt.within, (*attempt.cuts, *cuts))
        yield Attempt(line.everywhere(len(writer)))


@dataclass(frozen=True)
class Uniform(_Plain):
    """Different nodes, anywhere (Firmament's ``uniform``)."""

    def attempts(
        self,
        line: Line,
        writer: Nodes,
        taken: Nodes,  # noqa: ARG002
        place: int,  # noqa: ARG002
        copies: int,  # noqa: ARG002
    ) -> Iterable[Attempt]:
        yield Attempt(line.everywhere(len(writer)))


@dataclass(frozen=True)
class OneOtherRack(_Plain):
    """The first on the writer, anywhere without one; all others in one other rack (Firmament's ``hdfs``)."""

    def attempts(
        self,
        line: Line,
        writer: Nodes,
        taken: Nodes,
        place: int,
        copies: int,  # noqa: ARG002
    ) -> Iterable[Attempt]:
        everywhere = line.everywhere(len(writer))
        if place == 0:
            yield from _near(line, writer)
            return
        if place == 1:
            yield Attempt(everywhere, (line.rack(line.rack_of(taken[:, 0])),))
        else:
            yield Attempt(line.rack(line.rack_of(taken[:, 1])))
        yield Attempt(everywhere)


@dataclass(frozen=True)
class Bounded(Uniform):
    """The blocks of a file lie in a pool of nodes (Firmament's ``bounded``).

    Attributes:
        spread: the pool has so many nodes for each replica; it is drawn anew for each file, and grows by as
            many nodes when there is no room left in it.
    """

    spread: int = 10

    def __post_init__(self) -> None:
        if self.spread < 1:
            raise InputError(f"spread: must be at least 1, got {self.spread}")


@dataclass(frozen=True)
class Skewed(Uniform):
    """Nodes are the less likely the higher their number (Firmament's ``skewed``).

    Node k has the weight of [k + 1, k + 2) under a Pareto law with scale 1. Firmament gives what lies beyond
    the last node to that one, and nothing to the first; here the law is cut off.

    Attributes:
        shape: of the Pareto law.
    """

    shape: float = PARETO_SHAPE

    def __post_init__(self) -> None:
        if not 0 < self.shape <= 20:
            raise InputError(f"shape: must be above 0 and at most 20, got {self.shape}")

    def weights(self, topology: Topology) -> Ints:
        beyond = np.arange(1, topology.nodes + 2, dtype=np.float64) ** -self.shape
        share = (beyond[:-1] - beyond[1:]) / (beyond[0] - beyond[-1])
        # Whole numbers, so that a last digit that differs between machines is rounded away.
        return np.asarray(np.maximum(1, np.rint(share * 2.0**30)), dtype=np.int64)


POLICIES: dict[str, type[Policy]] = {
    "hdfs": Hdfs,
    "rack_fault_tolerant": RackFaultTolerant,
    "node_group": NodeGroup,
    "upgrade_domain": UpgradeDomain,
    "uniform": Uniform,
    "one_other_rack": OneOtherRack,
    "bounded": Bounded,
    "skewed": Skewed,
}
"""Policies by the name that an option gives."""


def policy_named(name: str) -> Policy:
    """A policy with its default options.

    Raises:
        InputError: there is none of this name.
    """
    if name not in POLICIES:
        raise InputError(f"no placement policy {name!r}; choose from {', '.join(POLICIES)}")
    return POLICIES[name]()


def input_blocks(rng: Rng, count: int, *, smallest: float = 0.5, largest: int = 320) -> Ints:
    """Input sizes of *count* jobs in blocks of 64 MiB, as Facebook's and Google's (Firmament).

    The share *smallest* has one block; the others grow as log2 up to *largest*: F(x) = a + b log2(x), after
    Chen et al., "The case for evaluating MapReduce performance using workload suites", MASCOTS 2011.
    """
    if not 0 <= smallest < 1 or not 2 <= largest <= 2**30:
        raise InputError("want a share from 0 to below 1 and at most 2**30 blocks, at least 2")
    draw = fractions(rng, count)
    power = np.maximum(draw - smallest, 0.0) / (1 - smallest) * np.log2(largest)
    return np.asarray(np.rint(np.exp2(power)), dtype=np.int64)
