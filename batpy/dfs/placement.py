"""Replicas of many blocks at once, as if placed one after the other.

The nodes with room stand in a line, ordered by (rack, cell, node), each as long as its weight. A replica is a
point of a stretch of that line (all of it, a rack, a node) with some spans cut out (the nodes already taken,
their racks); a word drawn beforehand says which point. So whole chunks of blocks are placed with a few
operations on arrays. As soon as a node is full it leaves the line; blocks of the chunk after that are placed
anew, with the words they had. What comes out is what placing block by block gives.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from batpy.dfs.drawing import Words, below
from batpy.dfs.topology import Ints, Nodes, Topology

CHUNK = 32_768
Span = tuple[Ints, Ints]
"""First and last point (excluded) on the line, for each row; equal where there is none."""


@dataclass(frozen=True)
class Attempt:
    """A stretch of the line and what is cut out of it besides the nodes that are taken."""

    within: Span
    cuts: tuple[Span, ...] = ()


class Line:
    """The nodes with room.

    Args:
        cell: of each node; nodes of one rack and cell stand together.
        weight: of each node, at least 1, with a sum below 2**31.
        room: nodes that can take a block.
    """

    def __init__(self, topology: Topology, cell: Ints, weight: Ints, room: NDArray[np.bool_]) -> None:
        self.topology = topology
        self.cell = cell
        self.cells = int(cell.max()) + 1
        order = np.lexsort((cell, topology.rack))
        order = order[room[order]]
        self._nodes = order
        ends = np.cumsum(weight[order])
        self.length = int(ends[-1]) if len(order) else 0
        assert self.length < 2**31
        self._ends = ends
        starts = ends - weight[order]
        self._uniform = self.length == len(order)
        self._node = _spans(order, starts, ends, topology.nodes)
        racks = topology.rack[order]
        self._rack = _spans(racks, starts, ends, topology.racks)
        self._cell = _spans(racks * self.cells + cell[order], starts, ends, topology.racks * self.cells)

    def everywhere(self, rows: int) -> Span:
        """The whole line."""
        return np.zeros(rows, dtype=np.int64), np.full(rows, self.length, dtype=np.int64)

    def node(self, nodes: NDArray[np.integer]) -> Span:
        """The span of a node; none if it is -1 or has no room."""
        return self._node[0][nodes], self._node[1][nodes]

    def rack(self, racks: NDArray[np.integer]) -> Span:
        """The span of a rack; none if it is -1 or has no room."""
        return self._rack[0][racks], self._rack[1][racks]

    def cell_in(self, racks: NDArray[np.integer], cells: NDArray[np.integer]) -> Span:
        """The span of a cell of a rack; none if one of them is -1."""
        key = np.where((racks < 0) | (cells < 0), -1, racks * self.cells + cells)
        return self._cell[0][key], self._cell[1][key]

    def rack_of(self, nodes: NDArray[np.integer]) -> Ints:
        """The rack of a node; -1 for -1."""
        return np.where(nodes < 0, -1, self.topology.rack[nodes])

    def pick(self, attempt: Attempt, taken: Nodes, word: Words) -> Nodes:
        """A node for each row; -1 where the stretch has no room.

        Args:
            taken: nodes not to be picked, by row.
        """
        low, high = attempt.within
        cuts = [self.node(taken[:, column]) for column in range(taken.shape[1])]
        begins, lengths = _apart([*attempt.cuts, *cuts], low, high)
        count = high - low - sum(lengths, start=np.zeros_like(low))
        point = low + below(word, np.maximum(count, 0))
        for begin, length in zip(begins, lengths, strict=True):
            point += np.where(point >= begin, length, 0)
        point = np.where(count > 0, point, 0)
        place = point if self._uniform else np.searchsorted(self._ends, point, side="right")
        picked = self._nodes[place] if len(self._nodes) else np.full(len(low), -1)
        return np.where(count > 0, picked, -1).astype(np.int32)


def _spans(keys: Ints, starts: Ints, ends: Ints, count: int) -> Span:
    """First start and last end of each key; the last entry, which -1 means, is none."""
    low, high = np.zeros(count + 1, dtype=np.int64), np.zeros(count + 1, dtype=np.int64)
    low[keys[::-1]] = starts[::-1]
    high[keys] = ends
    return low, high


def _apart(spans: list[Span], low: Ints, high: Ints) -> tuple[list[Ints], list[Ints]]:
    """Starts and lengths of spans inside [low, high), by start; of nested ones only the outermost counts."""
    inside = []
    for begin, end in spans:
        start, stop = np.maximum(begin, low), np.minimum(end, high)
        inside.append((start << 32) | ((1 << 32) - 1 - np.maximum(stop, start)))
    if not inside:
        return [], []
    keys = np.stack(inside, axis=1)
    if len(inside) > 1:
        keys.sort(axis=1)
    begins, lengths = [], []
    reach = np.zeros_like(low)
    for column in range(keys.shape[1]):
        start = keys[:, column] >> 32
        stop = (1 << 32) - 1 - (keys[:, column] & 0xFFFFFFFF)
        begins.append(start)
        lengths.append(np.where(start < reach, 0, stop - start))
        reach = np.maximum(reach, stop)
    return begins, lengths


class Policy(Protocol):
    """Where replicas go; see ``batpy.dfs.policies``."""

    def cells(self, topology: Topology) -> Ints:
        """The cell of each node: what the line is ordered by inside a rack."""

    def weights(self, topology: Topology) -> Ints:
        """The weight of each node."""

    def attempts(self, line: Line, writer: Nodes, taken: Nodes, place: int, copies: int) -> Iterable[Attempt]:
        """What to try for a block's replica number *place*, best first.

        Args:
            writer: the node that writes each block, or -1.
            taken: nodes of the *place* replicas before it.
            copies: replicas that the block is to have.
        """


@dataclass(frozen=True)
class Placed:
    """What came of some blocks.

    Attributes:
        replicas: rows as in the request; -1 where there is none.
        rows: of blocks placed, from the first; all, unless a block found less room than it must have.
    """

    replicas: Nodes
    rows: int


def pick_all(line: Line, policy: Policy, words: Words, writer: Nodes, have: int, known: Nodes) -> Nodes:
    """Replicas of some blocks while no node fills up.

    Args:
        words: one for each replica that is to be found.
        known: nodes that hold each block: *have* columns that count, and others that are only to be avoided.
    """
    rows, more = words.shape
    held = np.concatenate([known[:, :have], np.full((rows, more), -1, np.int32)], axis=1)
    avoided = known[:, have:]
    for step in range(more):
        place = have + step
        blocked = np.concatenate([held[:, :place], avoided], axis=1)
        missing: NDArray[np.intp] | slice = slice(None)
        left = rows
        for attempt in policy.attempts(line, writer, held[:, :place], place, have + more):
            low, high = (side[missing] for side in attempt.within)
            cuts = tuple((begin[missing], end[missing]) for begin, end in attempt.cuts)
            picked = line.pick(Attempt((low, high), cuts), blocked[missing], words[missing, step])
            held[missing, place] = picked
            gone = np.flatnonzero(held[:, place] < 0)
            left = len(gone)
            if not left:
                break
            missing = gone
    return held[:, have:]


def place(
    topology: Topology,
    policy: Policy,
    room: Ints,
    words: Words,
    writer: Nodes,
    *,
    have: int = 0,
    known: Nodes | None = None,
    partial: bool = False,
) -> Placed:
    """Find nodes for the replicas of some blocks, and take their room.

    Args:
        room: blocks that each node can still take, 0 for those that may not; what is placed is taken off it.
        words: rows of blocks, one word for each replica that is to be found.
        writer: of each block; -1 for one that is on no node.
        have, known: replicas that there are already; see ``pick_all``.
        partial: go on where a block finds no room for a replica; otherwise stop before that block.
    """
    rows, more = words.shape
    holders = np.zeros((rows, 0), np.int32) if known is None else known
    found = np.full((rows, more), -1, dtype=np.int32)
    cells, weights = policy.cells(topology), policy.weights(topology)
    line = Line(topology, cells, weights, room > 0)
    begin, size = 0, CHUNK
    while begin < rows:
        part = slice(begin, min(rows, begin + size))
        picked = pick_all(line, policy, words[part], writer[part], have, holders[part])
        good, filled = _until_full(picked, room)
        short = np.flatnonzero((picked[:good] < 0).any(axis=1) & (not partial))
        if len(short):
            good = int(short[0])
        found[begin : begin + good] = picked[:good]
        taken = picked[:good]
        room -= np.bincount(taken[taken >= 0], minlength=topology.nodes)
        begin += good
        if len(short):
            break
        if filled:
            line = Line(topology, cells, weights, room > 0)
            size = min(CHUNK, max(64, 2 * good))
        else:
            size = min(CHUNK, 4 * size)
    return Placed(found, begin)


def _until_full(picked: Nodes, room: Ints) -> tuple[int, bool]:
    """Rows up to the first in which a node becomes full (that one included), and whether one does."""
    flat = picked.ravel()
    counts = np.bincount(flat[flat >= 0], minlength=len(room))
    full = (counts >= room) & (counts > 0)
    if not full.any():
        return len(picked), False
    more = len(flat) // len(picked)
    watched = np.flatnonzero((flat >= 0) & full[flat])
    order = watched[np.argsort(flat[watched], kind="stable")]
    nodes = flat[order]
    first = np.searchsorted(nodes, nodes, side="left")
    last_one = np.arange(len(nodes)) - first == room[nodes] - 1
    return int(order[last_one].min()) // more + 1, True
