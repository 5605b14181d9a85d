"""Speed of the distributed file system: placing a million blocks, planning reads, repairing a node."""

from __future__ import annotations

import random
import timeit
from collections.abc import Callable

import numpy as np
import pytest

from batpy.dfs.delay import DelayScheduling, SkipCount
from batpy.dfs.policies import POLICIES
from batpy.dfs.state import FileSystem
from batpy.dfs.topology import Topology

pytestmark = pytest.mark.bench

NODES, BLOCKS, TASKS = 1000, 1_000_000, 10_000
TOPOLOGY = Topology.racks_of(NODES, 30, domains=10, nodes_per_group=2)


def best(call: Callable[[], object], repeat: int = 5) -> float:
    return min(timeit.repeat(call, number=1, repeat=repeat))


def filled(policy: str, seed: int = 1) -> FileSystem:
    """A file system with a million blocks, a thousand written by each node."""
    system = FileSystem(TOPOLOGY, policy)
    size = BLOCKS // NODES * system.block_bytes
    system.create_all(((f"f{node}", size, node) for node in range(NODES)), random.Random(seed))
    assert len(system.bytes) == BLOCKS
    return system


def test_placement() -> None:
    print()
    for policy in POLICIES:
        seconds = best(lambda policy=policy: filled(policy), 3)
        print(f"placing {BLOCKS:,} blocks on {NODES:,} nodes, {policy}: {seconds:.2f} s (hdfs: 2 s wanted)")


def test_plan_of_reads_and_repair() -> None:
    system, draw = filled("hdfs"), np.random.default_rng(1)
    blocks, readers = draw.integers(0, BLOCKS, TASKS), draw.integers(0, NODES, TASKS)
    seconds = best(lambda: system.read_plan(blocks, readers))
    print(f"\nread plan of {TASKS:,} tasks: {seconds * 1e3:.1f} ms (50 ms wanted)")
    lost = system.lose(7)
    seconds = best(lambda: system.repair_plan(random.Random(1), 50e6))
    print(f"repair plan of {lost:,} blocks: {seconds * 1e3:.1f} ms")


def test_delay_scheduling() -> None:
    rng = random.Random(1)
    homes = [rng.sample(range(NODES), 3) for _ in range(TASKS)]
    racks = {node: node // 30 for node in range(NODES)}

    def drain() -> int:
        queue = DelayScheduling[int](racks, SkipCount())
        for task, nodes in enumerate(homes):
            queue.add(task, nodes)
        offers, draw = 0, random.Random(2)
        while len(queue):
            queue.offer(draw.randrange(NODES))
            offers += 1
        return offers

    offers = drain()
    print(f"\ndelay scheduling: {offers / best(drain):,.0f} offers/s, {TASKS:,} tasks added")
