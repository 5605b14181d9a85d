"""Placement and read plans of many blocks at once are those of one after the other."""

from __future__ import annotations

import random

import dfs_twin
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batpy.dfs import placement
from batpy.dfs.drawing import words
from batpy.dfs.placement import place
from batpy.dfs.policies import policy_named
from batpy.dfs.reading import read_plan
from batpy.dfs.topology import Topology


@st.composite
def topologies(draw: st.DrawFn, most_capacity: int = 12) -> Topology:
    """Clusters of up to 14 nodes in up to 4 racks, some of them no data nodes."""
    nodes = draw(st.integers(1, 14))
    rack = draw(st.lists(st.integers(0, 3), min_size=nodes, max_size=nodes))
    capacity = draw(st.lists(st.integers(0, most_capacity), min_size=nodes, max_size=nodes))
    group = [4 * draw(st.integers(0, 2)) + here for here in rack]
    domain = draw(st.lists(st.integers(0, 3), min_size=nodes, max_size=nodes))
    return Topology.of(rack, capacity, group, domain)


@pytest.mark.parametrize("name", dfs_twin.RULES)
@pytest.mark.parametrize("chunk", [3, 50])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_blocks_go_where_they_go_one_by_one(name: str, chunk: int, data: st.DataObject) -> None:
    topology = data.draw(topologies())
    copies = data.draw(st.integers(1, 5))
    rows = data.draw(st.integers(1, 30))
    partial = data.draw(st.booleans())
    rng = random.Random(data.draw(st.integers(0, 2**32)))
    have = data.draw(st.integers(0, min(copies - 1, topology.nodes)))
    more = data.draw(st.integers(0, topology.nodes - have))
    known = np.array([rng.sample(range(topology.nodes), have + more) for _ in range(rows)], dtype=np.int32)
    drawn = words(rng, rows, copies - have)
    writers = np.array([rng.randrange(-1, topology.nodes) for _ in range(rows)], dtype=np.int32)
    policy = policy_named(name)
    room = topology.capacity.copy()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(placement, "CHUNK", chunk)
        placed = place(topology, policy, room, drawn, writers, have=have, known=known, partial=partial)
    twin = dfs_twin.Twin(
        topology,
        name,
        policy.cells(topology).tolist(),
        policy.weights(topology).tolist(),
        topology.capacity.tolist(),
    )
    slow = twin.place_all(
        drawn.tolist(), writers.tolist(), known[:, :have].tolist(), known[:, have:].tolist(), partial
    )
    assert placed.replicas[: placed.rows].tolist() == slow
    assert placed.rows == len(slow)
    assert room.tolist() == twin.room


@settings(deadline=None)
@given(data=st.data())
def test_reads_come_from_where_they_come_one_by_one(data: st.DataObject) -> None:
    topology = data.draw(topologies())
    nodes = st.integers(0, topology.nodes - 1)
    width = data.draw(st.integers(1, 4))
    rows = data.draw(st.integers(0, 25))
    replicas = []
    for _ in range(rows):
        holders = data.draw(st.lists(nodes, max_size=min(width, topology.nodes), unique=True))
        replicas.append(holders + [-1] * (width - len(holders)))
    readers = data.draw(st.lists(nodes, min_size=rows, max_size=rows))
    amounts = data.draw(st.lists(st.integers(0, 5), min_size=rows, max_size=rows))
    load = data.draw(st.lists(st.integers(0, 5), min_size=topology.nodes, max_size=topology.nodes))
    plan = read_plan(
        topology,
        np.array(replicas, dtype=np.int32).reshape(rows, width),
        np.arange(rows),
        np.array(readers, dtype=np.int64),
        np.array(amounts, dtype=np.int64),
        np.array(load, dtype=np.int64),
    )
    sources, levels, asked = dfs_twin.plan_reads(topology, replicas, readers, amounts, load)
    assert plan.source.tolist() == sources
    assert plan.level.tolist() == levels
    assert plan.load.tolist() == asked
