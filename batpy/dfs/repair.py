"""Re-replication: blocks with too few replicas are copied, within a bandwidth."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from batpy.base.errors import InputError
from batpy.dfs.drawing import Rng, words
from batpy.dfs.placement import place
from batpy.dfs.topology import Ints, Nodes

if TYPE_CHECKING:
    from batpy.dfs.state import FileSystem


@dataclass(frozen=True)
class Copies:
    """Copies of blocks, one a row, by the date at which they begin.

    Attributes:
        bytes: of the block.
        begin, end: seconds after the repair begins.
    """

    block: Ints
    source: Nodes
    target: Nodes
    bytes: Ints
    begin: NDArray[np.float64]
    end: NDArray[np.float64]

    def until(self, seconds: float) -> Copies:
        """Those that are over by then, as when a repair is broken off."""
        over = self.end <= seconds
        return Copies(
            self.block[over],
            self.source[over],
            self.target[over],
            self.bytes[over],
            self.begin[over],
            self.end[over],
        )


@dataclass(frozen=True)
class RepairPlan:
    """What to copy so that every block has its replicas, or one on each node if there are too few nodes.

    Attributes:
        lost: blocks without any replica: nothing can be done.
        unplaced: blocks that find no room for a replica they lack.
    """

    copies: Copies
    lost: Ints
    unplaced: Ints

    @property
    def seconds(self) -> float:
        """How long it takes."""
        return float(self.copies.end.max()) if len(self.copies.end) else 0.0


def repair_plan(
    system: FileSystem, rng: Rng, node_bandwidth: float, total_bandwidth: float | None = None
) -> RepairPlan:
    """Plan copies for all blocks that have too few replicas on nodes that stay.

    Blocks with the fewest replicas go first (HDFS's queues), then by number. Targets are drawn by the
    placement policy, given the replicas there are. A node sends one block at a time and receives one at a
    time; a copy begins when both ends are free, from the holder that is free first (then the lowest number).

    Args:
        node_bandwidth: bytes per second of one copy.
        total_bandwidth: of all copies together: so many go on at a time as it has room for.

    Raises:
        InputError: a bandwidth is not above 0.
    """
    from batpy.dfs.state import Serving

    if node_bandwidth <= 0 or (total_bandwidth is not None and total_bandwidth <= 0):
        raise InputError("bandwidths of repairs must be above 0")
    staying = system.serving == Serving.YES
    held = system.replicas >= 0
    stays = held & staying[system.replicas]
    have = stays.sum(axis=1)
    wants = np.minimum(system.wanted.astype(np.int64), system.alive)
    short = np.flatnonzero((have < wants) & held.any(axis=1))
    short = short[np.lexsort((short, have[short]))]
    target = np.full((len(short), int((wants - have)[short].max(initial=0))), -1, dtype=np.int32)
    room = system.room
    drawn = words(rng, *target.shape)
    _place_missing(system, short, have[short], wants[short], stays, drawn, room, target)
    lacking = np.arange(target.shape[1])[None, :] < (wants - have)[short][:, None]
    unplaced = short[(lacking & (target < 0)).any(axis=1)]
    rows, columns = np.nonzero(target >= 0)
    copies = _timed(system, short[rows], target[rows, columns], node_bandwidth, total_bandwidth)
    return RepairPlan(copies, system.lost_blocks(), unplaced)


def _place_missing(
    system: FileSystem,
    short: Ints,
    have: Ints,
    wants: Ints,
    stays: NDArray[np.bool_],
    drawn: NDArray[np.uint64],
    room: Ints,
    target: Nodes,
) -> None:
    """Targets of blocks, in order; runs of blocks that have and lack as many are placed together."""
    lack = wants - have
    edges = np.flatnonzero((np.diff(have) != 0) | (np.diff(lack) != 0)) + 1
    for run in np.split(np.arange(len(short)), edges):
        if not len(run):
            continue
        blocks, count = short[run], int(lack[run[0]])
        # Replicas that stay first, in the order they have, then those that only are to be avoided.
        order = np.argsort(~stays[blocks], axis=1, kind="stable")
        known = np.take_along_axis(system.replicas[blocks], order, axis=1)
        placed = place(
            system.topology,
            system.policy,
            room,
            drawn[run][:, :count],
            known[:, 0] if known.shape[1] else np.full(len(run), -1, np.int32),
            have=int(have[run[0]]),
            known=known,
            partial=True,
        )
        target[run, :count] = placed.replicas


def _timed(
    system: FileSystem, blocks: Ints, targets: Nodes, node_bandwidth: float, total_bandwidth: float | None
) -> Copies:
    rate, lanes = node_bandwidth, len(blocks)
    if total_bandwidth is not None:
        rate = min(rate, total_bandwidth)
        lanes = min(lanes, int(total_bandwidth / rate * (1 + 1e-12)))
    sends = [0.0] * system.topology.nodes
    receives = [0.0] * system.topology.nodes
    lane = [0.0] * lanes
    sources, begins, ends = [], [], []
    holders = system.replicas[blocks].tolist()
    sizes = system.bytes[blocks]
    for row, target, size in zip(holders, targets.tolist(), sizes.tolist(), strict=True):
        source = min((node for node in row if node >= 0), key=lambda node: (sends[node], node))
        begin = max(sends[source], receives[target], heapq.heappop(lane))
        end = begin + size / rate
        sends[source] = receives[target] = end
        heapq.heappush(lane, end)
        sources.append(source)
        begins.append(begin)
        ends.append(end)
    begin_at = np.array(begins, dtype=np.float64)
    order = np.argsort(begin_at, kind="stable")
    return Copies(
        blocks[order],
        np.array(sources, dtype=np.int32)[order],
        targets[order],
        sizes[order],
        begin_at[order],
        np.array(ends, dtype=np.float64)[order],
    )
