"""Slow twins of the distributed file system: a block, a replica, a read after the other, in plain lists.

They share with the originals what a word means: it points at a place among the nodes that may be taken, in
the order of (rack, cell, node), each as long as its weight.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from batpy.dfs.topology import Topology

Chooser = Callable[["Block", int], list[list[int]]]


class Block:
    """What is known of a block while it is placed."""

    def __init__(
        self, twin: Twin, writer: int, taken: list[int], avoided: Sequence[int], copies: int
    ) -> None:
        self.twin = twin
        self.writer = writer
        self.taken = taken
        self.avoided = set(avoided)
        self.copies = copies

    def free(self) -> list[int]:
        """Nodes that can take it: with room, without a replica."""
        return [n for n in self.twin.nodes_with_room() if n not in self.taken and n not in self.avoided]

    def rack(self, place: int) -> int:
        node = self.taken[place]
        return -1 if node < 0 else int(self.twin.topology.rack[node])

    def in_rack(self, rack: int) -> list[int]:
        return [n for n in self.free() if self.twin.topology.rack[n] == rack]

    def not_in_rack(self, rack: int) -> list[int]:
        return [n for n in self.free() if self.twin.topology.rack[n] != rack]

    def racks_below(self, limit: int) -> list[int]:
        """Free nodes of racks that hold fewer than so many replicas."""
        racks = [self.rack(place) for place in range(len(self.taken))]
        return [n for n in self.free() if racks.count(int(self.twin.topology.rack[n])) < limit]


def near_writer(block: Block) -> list[list[int]]:
    if block.writer < 0:
        return [block.free()]
    mine = [n for n in block.free() if n == block.writer]
    return [mine, block.in_rack(int(block.twin.topology.rack[block.writer])), block.free()]


def hdfs(block: Block, place: int) -> list[list[int]]:
    if place == 0:
        return near_writer(block)
    if place == 1:
        return [block.not_in_rack(block.rack(0)), block.free()]
    racks = block.twin.used_racks
    limit = block.copies if racks == 1 or block.copies == 1 else (block.copies - 1) // racks + 2
    if racks > 1 and limit == block.copies:
        limit -= 1
    out = [block.racks_below(limit), block.free()]
    if place == 2:
        together = block.rack(0) == block.rack(1)
        out.insert(0, block.not_in_rack(block.rack(0)) if together else block.in_rack(block.rack(1)))
    return out


def rack_fault_tolerant(block: Block, place: int) -> list[list[int]]:
    if place == 0:
        return near_writer(block)
    lowest = 1 + place // block.twin.used_racks
    return [*(block.racks_below(limit) for limit in range(lowest, block.copies)), block.free()]


def node_group(block: Block, place: int) -> list[list[int]]:
    group = block.twin.topology.group
    if place == 0:
        if block.writer < 0:
            return near_writer(block)
        mine = [n for n in block.free() if n == block.writer]
        beside = [n for n in block.free() if group[n] == group[block.writer]]
        return [mine, beside, *near_writer(block)]
    used = {int(group[n]) for n in block.taken if n >= 0}
    return [*([n for n in nodes if group[n] not in used] for nodes in hdfs(block, place)), block.free()]


def upgrade_domain(block: Block, place: int) -> list[list[int]]:
    if not 0 < place < 3:
        return hdfs(block, place)
    domain = block.twin.topology.domain
    used = {int(domain[n]) for n in block.taken if n >= 0}
    return [*([n for n in nodes if domain[n] not in used] for nodes in hdfs(block, place)), block.free()]


def uniform(block: Block, place: int) -> list[list[int]]:
    return [block.free()]


def one_other_rack(block: Block, place: int) -> list[list[int]]:
    if place == 0:
        return near_writer(block)
    if place == 1:
        return [block.not_in_rack(block.rack(0)), block.free()]
    return [block.in_rack(block.rack(1)), block.free()]


RULES: dict[str, Chooser] = {
    "hdfs": hdfs,
    "rack_fault_tolerant": rack_fault_tolerant,
    "node_group": node_group,
    "upgrade_domain": upgrade_domain,
    "uniform": uniform,
    "one_other_rack": one_other_rack,
    "skewed": uniform,
}


class Twin:
    """Places blocks.

    Args:
        cell, weight: of each node, as the original's policy says.
        room: of each node; what is placed is taken off it.
    """

    def __init__(
        self, topology: Topology, rule: str, cell: Sequence[int], weight: Sequence[int], room: list[int]
    ) -> None:
        self.topology = topology
        self.rule = RULES[rule]
        self.weight = weight
        self.room = room
        self.order = sorted(range(topology.nodes), key=lambda n: (topology.rack[n], cell[n], n))
        used = {int(topology.rack[n]) for n in range(topology.nodes) if topology.capacity[n]}
        self.used_racks = max(1, len(used))

    def nodes_with_room(self) -> list[int]:
        return [n for n in self.order if self.room[n] > 0]

    def choose(self, nodes: Sequence[int], word: int) -> int:
        point = word * sum(self.weight[n] for n in nodes) >> 32
        for node in nodes:
            point -= self.weight[node]
            if point < 0:
                return node
        raise AssertionError("a word points at no node")

    def place(
        self, words: Sequence[int], writer: int, have: Sequence[int] = (), avoided: Sequence[int] = ()
    ) -> list[int]:
        """The new replicas of one block; -1 for each that finds no node. Its room is not taken yet."""
        block = Block(self, writer, list(have), avoided, len(have) + len(words))
        for word in words:
            choices = self.rule(block, len(block.taken))
            found = next((nodes for nodes in choices if nodes), None)
            block.taken.append(-1 if found is None else self.choose(found, word))
        return block.taken[len(have) :]

    def place_all(
        self,
        words: Sequence[Sequence[int]],
        writers: Sequence[int],
        have: Sequence[Sequence[int]],
        avoided: Sequence[Sequence[int]],
        partial: bool,
    ) -> list[list[int]]:
        """As the original; blocks from the first that finds too little room on are left out."""
        out = []
        for row, draws in enumerate(words):
            nodes = self.place(draws, writers[row], have[row], avoided[row])
            if -1 in nodes and not partial:
                break
            for node in nodes:
                if node >= 0:
                    self.room[node] -= 1
            out.append(nodes)
        return out


def nearest(topology: Topology, replicas: Sequence[int], reader: int) -> tuple[int, list[int]]:
    """The level (a ``Locality``, or -1) and the nodes that are as near as any."""
    holders = [n for n in replicas if n >= 0]
    if not holders:
        return -1, []
    if reader in holders:
        return 1, [reader]
    beside = [n for n in holders if topology.rack[n] == topology.rack[reader]]
    return (2, beside) if beside else (3, holders)


def plan_reads(
    topology: Topology,
    replicas: Sequence[Sequence[int]],
    readers: Sequence[int],
    amounts: Sequence[int],
    load: Sequence[int],
) -> tuple[list[int], list[int], list[int]]:
    """Sources, levels, and the bytes asked of each node in the end."""
    asked = list(load)
    sources = [-1] * len(readers)
    found = [nearest(topology, row, reader) for row, reader in zip(replicas, readers, strict=True)]
    for pass_over_those_with_a_choice in (True, False):
        for row, (_, nodes) in enumerate(found):
            if not nodes or (len(nodes) > 1) == pass_over_those_with_a_choice:
                continue
            sources[row] = min(nodes, key=lambda n: (asked[n], n))
            asked[sources[row]] += amounts[row]
    return sources, [level for level, _ in found], asked
