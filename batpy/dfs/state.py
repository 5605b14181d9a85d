"""The state of a distributed file system: files, blocks, their replicas, and which nodes serve."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from batpy.base.errors import InputError
from batpy.dfs.drawing import Rng, some_of, words
from batpy.dfs.placement import Placed, Policy, place
from batpy.dfs.policies import Bounded, policy_named
from batpy.dfs.reading import ReadPlan, read_plan
from batpy.dfs.repair import Copies, RepairPlan, repair_plan
from batpy.dfs.topology import Ints, Nodes, Topology

HDFS_BLOCK_BYTES = 128 * 2**20
"""``dfs.blocksize``'s default."""
MOST_REPLICAS = 127
MOST_BLOCKS = 200_000_000


class Serving(enum.IntEnum):
    """What a data node does: takes replicas; only keeps those it has until they are copied; is gone."""

    YES = 0
    DRAINING = 1
    NO = 2


@dataclass(frozen=True)
class Refused:
    """Something could not be done, and nothing was changed.

    Attributes:
        reason: one line.
    """

    reason: str


@dataclass(frozen=True)
class StoredFile:
    """A file; its blocks are ``first`` to ``first + blocks - 1``, all full but perhaps the last one."""

    name: str
    bytes: int
    first: int
    blocks: int
    replication: int

    @property
    def ids(self) -> Ints:
        """Ids of its blocks."""
        return np.arange(self.first, self.first + self.blocks)


class FileSystem:
    """A distributed file system on the nodes of a topology.

    Args:
        policy: a placement policy, or the name of one in ``POLICIES``.
        block_bytes: of a full block. A part of a block takes the room of a full one.
        replication: of files that do not ask for another.
        daemon: whether the data node ``stays`` when its node is decommissioned (only the node's work goes
            away; its disk and network go on serving) or ``stops``.

    Raises:
        InputError: an argument makes no sense.
    """

    def __init__(
        self,
        topology: Topology,
        policy: Policy | str = "hdfs",
        *,
        block_bytes: int = HDFS_BLOCK_BYTES,
        replication: int = 3,
        daemon: Literal["stays", "stops"] = "stays",
    ) -> None:
        if block_bytes < 1:
            raise InputError(f"block_bytes: must be at least 1, got {block_bytes}")
        if daemon not in ("stays", "stops"):
            raise InputError(f"dfs_daemon: choose from stays, stops; got {daemon!r}")
        self.topology = topology
        self.policy: Policy = policy_named(policy) if isinstance(policy, str) else policy
        self.block_bytes = block_bytes
        self.replication = _replication(replication)
        self.daemon = daemon
        self.files: dict[str, StoredFile] = {}
        self.serving = np.where(topology.capacity > 0, np.int8(Serving.YES), np.int8(Serving.NO))
        self.used = np.zeros(topology.nodes, dtype=np.int64)
        """Blocks that each node holds."""
        self._blocks = 0
        self._replicas = np.full((0, self.replication), -1, dtype=np.int32)
        self._bytes = np.zeros(0, dtype=np.int64)
        self._wanted = np.zeros(0, dtype=np.int8)
        self._index: tuple[Ints, Ints] | None = None

    # ------------------------------------------------------------------ what there is

    @property
    def replicas(self) -> Nodes:
        """Nodes of each block's replicas, a row a block; -1 for none. Not to be changed."""
        return self._replicas[: self._blocks]

    @property
    def bytes(self) -> Ints:
        """Bytes of each block. Not to be changed."""
        return self._bytes[: self._blocks]

    @property
    def wanted(self) -> NDArray[np.int8]:
        """Replicas that each block is to have; 0 for one that was deleted. Not to be changed."""
        return self._wanted[: self._blocks]

    @property
    def room(self) -> Ints:
        """Blocks that each node can still take; 0 for those that take none."""
        return np.where(self.serving == Serving.YES, self.topology.capacity - self.used, 0)

    @property
    def alive(self) -> int:
        """Number of data nodes that take replicas, full ones included."""
        return int((self.serving == Serving.YES).sum())

    def blocks_on(self, node: int) -> Ints:
        """Blocks with a replica on a node, in ascending order."""
        if self._index is None:
            flat = self.replicas.ravel()
            held = np.flatnonzero(flat >= 0)
            order = held[np.argsort(flat[held], kind="stable")]
            ends = np.cumsum(np.bincount(flat[held], minlength=self.topology.nodes))
            self._index = ends, order // self._replicas.shape[1]
        ends, blocks = self._index
        return blocks[(ends[node - 1] if node else 0) : ends[node]]

    def lost_blocks(self) -> Ints:
        """Blocks of files that have no replica left."""
        return np.flatnonzero((self.wanted > 0) & (self.replicas < 0).all(axis=1))

    # ------------------------------------------------------------------ files

    def create(
        self, name: str, size: int, rng: Rng, writer: int = -1, replication: int | None = None
    ) -> StoredFile | Refused:
        """Write a file; see ``create_all``."""
        made = self.create_all([(name, size, writer)], rng, replication)
        return made if isinstance(made, Refused) else made[0]

    def create_all(
        self, files: Iterable[tuple[str, int, int]], rng: Rng, replication: int | None = None
    ) -> list[StoredFile] | Refused:
        """Write files of (name, bytes, writer), one after the other; a file of 0 bytes has no block.

        Each block gets as many replicas as *replication* and the data nodes allow. All files are written, or,
        if a block finds no room for a replica, none is.

        Args:
            writer: a node, or -1 for a client that is on none.

        Raises:
            InputError: a name is taken, a size is negative, a node is not in the topology, or there are more
                than 200 million blocks.
        """
        copies = self.replication if replication is None else _replication(replication)
        asked = list(files)
        self._check(asked)
        if len({name for name, _, _ in asked}) < len(asked):
            raise InputError("two files of one name")
        sizes = np.array([size for _, size, _ in asked], dtype=np.int64)
        counts = -(-sizes // self.block_bytes)
        total = int(counts.sum())
        if self._blocks + total > MOST_BLOCKS:
            raise InputError(f"too many blocks: {self._blocks + total}, at most {MOST_BLOCKS} fit")
        if total and not self.alive:
            return Refused("no data node takes replicas")
        have = min(copies, self.alive)
        writers = np.repeat(np.array([writer for _, _, writer in asked], dtype=np.int32), counts)
        drawn = words(rng, total, copies)[:, :have]
        room = self.room
        placed = self._place(drawn, writers, counts, room, rng)
        if placed.rows < total:
            at = int(np.searchsorted(np.cumsum(counts), placed.rows, side="right"))
            return Refused(
                f"file {asked[at][0]!r}: the file system is full: {int(room.sum())} blocks of room are left"
                f" on {int((room > 0).sum())} nodes, a block wants {have} nodes"
            )
        amounts = np.full(total, self.block_bytes, dtype=np.int64)
        ends = np.cumsum(counts)
        some = counts > 0
        amounts[ends[some] - 1] = sizes[some] - (counts[some] - 1) * self.block_bytes
        first = self._append(placed.replicas, amounts, copies)
        made = [
            StoredFile(name, size, first + int(end - count), int(count), copies)
            for (name, size, _), end, count in zip(asked, ends, counts, strict=True)
        ]
        self.files.update((file.name, file) for file in made)
        return made

    def put(self, name: str, size: int, nodes: Sequence[Sequence[int]]) -> StoredFile | Refused:
        """A file whose blocks are known to lie on these nodes, a row of different ones for each block.

        Raises:
            InputError: as for ``create_all``, or rows do not fit the size or one another.
        """
        self._check([(name, size, node) for row in nodes for node in row] or [(name, size, -1)])
        rows = [list(row) for row in nodes]
        blocks = -(-size // self.block_bytes)
        width = len(rows[0]) if rows else self.replication
        if len(rows) != blocks or any(len(row) != width or len(set(row)) < width for row in rows):
            raise InputError(f"file {name!r}: want {blocks} rows of as many different nodes each")
        replicas = np.array(rows, dtype=np.int32).reshape(blocks, _replication(width))
        if (np.bincount(replicas.ravel(), minlength=self.topology.nodes) > self.room).any():
            return Refused(f"file {name!r}: a node it is to be on has no room for it")
        amounts = np.full(blocks, self.block_bytes, dtype=np.int64)
        if blocks:
            amounts[-1] = size - (blocks - 1) * self.block_bytes
        self.files[name] = StoredFile(name, size, self._append(replicas, amounts, width), blocks, width)
        return self.files[name]

    def delete(self, name: str) -> None:
        """Remove a file and its replicas.

        Raises:
            InputError: there is no such file.
        """
        file = self.file(name)
        rows = slice(file.first, file.first + file.blocks)
        self._give_back(self._replicas[rows])
        self._replicas[rows] = -1
        self._wanted[rows] = 0
        if file.first + file.blocks == self._blocks:
            self._blocks = file.first
        del self.files[name]
        self._index = None

    def file(self, name: str) -> StoredFile:
        """The file of this name.

        Raises:
            InputError: there is none.
        """
        if name not in self.files:
            raise InputError(f"no file {name!r} in the file system")
        return self.files[name]

    def read_plan(
        self,
        blocks: Sequence[int] | Ints,
        readers: Sequence[int] | Ints,
        amounts: Sequence[int] | Ints | None = None,
        load: Ints | None = None,
    ) -> ReadPlan:
        """The nearest replica of each block for the node that reads it; see ``batpy.dfs.reading``.

        Args:
            amounts: bytes read of each; the whole block if None.
        """
        block = np.asarray(blocks, dtype=np.int64)
        reader = np.asarray(readers, dtype=np.int64)
        assert block.shape == reader.shape
        amount = self.bytes[block] if amounts is None else np.asarray(amounts, dtype=np.int64)
        return read_plan(self.topology, self.replicas[block], block, reader, amount, load)

    # ------------------------------------------------------------------ nodes that come and go

    def lose(self, node: int) -> int:
        """A data node is gone with all its replicas; their number."""
        self._check_node(node)
        held = self.replicas == node
        self._replicas[: self._blocks][held] = -1
        self.used[node] = 0
        self.serving[node] = Serving.NO
        self._index = None
        return int(held.sum())

    def decommission(self, node: int, how: Literal["drain", "drop"] = "drain") -> bool:
        """A node is taken away from this file system's users; whether its data node goes as well.

        With ``daemon="stays"`` nothing changes here. Otherwise the data node is drained (it keeps its
        replicas until those of a repair plan have been applied, then ``release`` it) or dropped (they are
        lost, and copied from elsewhere by the next repair).
        """
        self._check_node(node)
        if how not in ("drain", "drop"):
            raise InputError(f"decommission: choose from drain, drop; got {how!r}")
        if self.daemon == "stays" or self.serving[node] == Serving.NO:
            return False
        if how == "drop":
            self.lose(node)
        else:
            self.serving[node] = Serving.DRAINING
        return True

    def release(self) -> list[int]:
        """Let go of the draining nodes whose blocks all have their replicas elsewhere; which these are.

        A node that holds the last replica of a block stays, even if no other node takes any.
        """
        draining = self.serving == Serving.DRAINING
        held = self.replicas >= 0
        wants = np.minimum(self.wanted.astype(np.int64), max(1, self.alive))
        copied = (held & ~draining[self.replicas]).sum(axis=1) >= wants
        gone = [node for node in np.flatnonzero(draining).tolist() if copied[self.blocks_on(node)].all()]
        for node in gone:
            self.lose(node)
        return gone

    def recommission(self, node: int) -> None:
        """A data node serves again: with what it has if it was draining, empty if it was gone.

        Blocks that have too many replicas then lose one: in a rack that has several, if there is one, on the
        node with the least room (HDFS's ``BlockPlacementPolicyDefault.chooseReplicasToDelete``).
        """
        self._check_node(node)
        if self.topology.capacity[node] == 0:
            return
        self.serving[node] = Serving.YES
        room = self.room.tolist()
        for block in self.blocks_on(node).tolist():
            nodes = [n for n in self._replicas[block].tolist() if n >= 0 and self.serving[n] == Serving.YES]
            if len(nodes) <= self._wanted[block]:
                continue
            racks = [int(self.topology.rack[n]) for n in nodes]
            crowded = [n for n, rack in zip(nodes, racks, strict=True) if racks.count(rack) > 1]
            surplus = min(crowded or nodes, key=lambda n: (room[n], n))
            row = self._replicas[block]
            row[row == surplus] = -1
            room[surplus] += 1
            self.used[surplus] -= 1
        self._index = None

    def repair_plan(
        self, rng: Rng, node_bandwidth: float, total_bandwidth: float | None = None
    ) -> RepairPlan:
        """Who copies which block from where to where, and when; see ``batpy.dfs.repair``."""
        return repair_plan(self, rng, node_bandwidth, total_bandwidth)

    def apply(self, copies: Copies) -> None:
        """Copies of a repair plan are there now. Their nodes must still have room for them."""
        for block, target in zip(copies.block.tolist(), copies.target.tolist(), strict=True):
            row = self._replicas[block]
            assert self.serving[target] == Serving.YES
            assert self.used[target] < self.topology.capacity[target]
            assert self._wanted[block] > 0
            assert target not in row
            free = np.flatnonzero(row < 0)
            if not len(free):  # a replica on a draining node makes one more for a while
                more = np.full((len(self._replicas), 1), -1, dtype=np.int32)
                self._replicas = np.concatenate([self._replicas, more], axis=1)
                row, free = self._replicas[block], np.array([self._replicas.shape[1] - 1])
            row[free[0]] = target
            self.used[target] += 1
        self._index = None

    # ------------------------------------------------------------------ inside

    def _check(self, asked: Sequence[tuple[str, int, int]]) -> None:
        for name, size, writer in asked:
            if name in self.files:
                raise InputError(f"file {name!r} exists already")
            if size < 0:
                raise InputError(f"file {name!r}: want a size of at least 0 bytes, got {size}")
            if writer != -1:
                self._check_node(writer)

    def _check_node(self, node: int) -> None:
        if not 0 <= node < self.topology.nodes:
            raise InputError(f"no node {node}; there are {self.topology.nodes}, from 0")

    def _place(self, drawn: NDArray[np.uint64], writers: Nodes, counts: Ints, room: Ints, rng: Rng) -> Placed:
        if not isinstance(self.policy, Bounded):
            return place(self.topology, self.policy, room, drawn, writers)
        done, parts = 0, []
        for count in counts.tolist():
            rows = slice(done, done + count)
            part = self._place_in_pool(self.policy, drawn[rows], writers[rows], room, rng)
            parts.append(part.replicas)
            done += part.rows
            if part.rows < count:
                break
        return Placed(np.concatenate(parts) if parts else np.zeros((0, drawn.shape[1]), np.int32), done)

    def _place_in_pool(
        self, policy: Bounded, drawn: NDArray[np.uint64], writers: Nodes, room: Ints, rng: Rng
    ) -> Placed:
        found = np.full(drawn.shape, -1, dtype=np.int32)
        pool = np.zeros(self.topology.nodes, dtype=bool)
        done = 0
        while done < len(drawn):
            free = np.flatnonzero((room > 0) & ~pool)
            if not len(free):
                break
            pool[free[some_of(rng, min(len(free), policy.spread * drawn.shape[1]), len(free))]] = True
            inside = np.where(pool, room, 0)
            part = place(self.topology, policy, inside, drawn[done:], writers[done:])
            room[pool] = inside[pool]
            found[done : done + part.rows] = part.replicas[: part.rows]
            done += part.rows
        return Placed(found, done)

    def _append(self, replicas: Nodes, amounts: Ints, copies: int) -> int:
        first, rows = self._blocks, len(replicas)
        width = max(self._replicas.shape[1], copies)
        need = first + rows
        if need > len(self._replicas) or width > self._replicas.shape[1]:
            size = (
                max(need, len(self._replicas) * 3 // 2) if need > len(self._replicas) else len(self._replicas)
            )
            grown = np.full((size, width), -1, dtype=np.int32)
            grown[:first, : self._replicas.shape[1]] = self.replicas
            self._replicas = grown
            self._bytes = np.concatenate([self.bytes, np.zeros(size - first, np.int64)])
            self._wanted = np.concatenate([self.wanted, np.zeros(size - first, np.int8)])
        self._replicas[first:need, : replicas.shape[1]] = replicas
        self._bytes[first:need] = amounts
        self._wanted[first:need] = copies
        self._blocks = need
        self.used += np.bincount(replicas[replicas >= 0], minlength=self.topology.nodes)
        self._index = None
        return first

    def _give_back(self, replicas: Nodes) -> None:
        self.used -= np.bincount(replicas[replicas >= 0], minlength=self.topology.nodes)


def _replication(copies: int) -> int:
    if not 1 <= copies <= MOST_REPLICAS:
        raise InputError(f"replication: must be 1 to {MOST_REPLICAS}, got {copies}")
    return copies
