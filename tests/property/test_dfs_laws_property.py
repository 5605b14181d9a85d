"""Laws of the distributed file system: bytes and replicas are conserved, whatever happens to it."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from batpy.dfs.coarse_loads import Fractions, read_loads, write_loads
from batpy.dfs.locality import Locality
from batpy.dfs.phases import read_phase, split_evenly, write_phase
from batpy.dfs.policies import POLICIES, rack_limit
from batpy.dfs.state import FileSystem, Refused, Serving, StoredFile
from batpy.dfs.topology import Topology
from batpy.dfs.traffic import Rates

BLOCK = 10


class Life(RuleBasedStateMachine):
    """Files come and go, nodes come and go, repairs happen."""

    @initialize(
        nodes=st.integers(2, 12),
        per_rack=st.integers(1, 5),
        capacity=st.sampled_from([1, 4, 20, 100]),
        policy=st.sampled_from(sorted(POLICIES)),
        replication=st.integers(1, 4),
        seed=st.integers(0, 2**32),
    )
    def begin(
        self, nodes: int, per_rack: int, capacity: int, policy: str, replication: int, seed: int
    ) -> None:
        topology = Topology.racks_of(nodes, per_rack, capacity, nodes_per_group=2, domains=4)
        self.system = FileSystem(topology, policy, block_bytes=BLOCK, replication=replication, daemon="stops")
        self.rng = random.Random(seed)
        self.serial = 0
        for writer in range(-1, nodes):  # so that there is something to lose from the start
            self.create(35, writer, None)

    def node(self, number: int) -> int:
        return number % self.system.topology.nodes

    @rule(size=st.integers(0, 60), writer=st.integers(-1, 11), copies=st.none() | st.integers(1, 5))
    def create(self, size: int, writer: int, copies: int | None) -> None:
        self.serial += 1
        system, before = self.system, self.system.used.copy()
        have = system.alive
        made = system.create(
            f"f{self.serial}", size, self.rng, min(writer, system.topology.nodes - 1), copies
        )
        if isinstance(made, Refused):
            assert (system.used == before).all()
            assert f"f{self.serial}" not in system.files
            return
        assert made.blocks == -(-size // BLOCK)
        assert system.bytes[made.ids].sum() == size
        assert system.bytes[made.ids[:-1]].tolist() == [BLOCK] * max(0, made.blocks - 1)
        assert ((system.replicas[made.ids] >= 0).sum(axis=1) == min(made.replication, have)).all()

    @rule(number=st.integers(0, 50))
    def delete(self, number: int) -> None:
        if len(self.system.files) > 3:
            names = list(self.system.files)
            self.system.delete(names[number % len(names)])

    @rule(number=st.integers(0, 11))
    def lose(self, number: int) -> None:
        self.system.lose(self.node(number))
        assert not len(self.system.blocks_on(self.node(number)))

    @rule(number=st.integers(0, 11))
    def drain(self, number: int) -> None:
        before = self.system.replicas.copy()
        self.system.decommission(self.node(number), "drain")
        assert (self.system.replicas == before).all()

    @rule(number=st.integers(0, 11))
    def come_back_while_draining(self, number: int) -> None:
        self.drain(number)
        self.system.apply(self.system.repair_plan(self.rng, 1.0).copies)
        self.system.recommission(self.node(number))

    @rule(number=st.integers(0, 11))
    def recommission(self, number: int) -> None:
        self.system.recommission(self.node(number))

    @rule(cap=st.floats(0.5, 20), total=st.none() | st.floats(0.5, 60))
    def repair(self, cap: float, total: float | None) -> None:
        system = self.system
        plan = system.repair_plan(self.rng, cap, total)
        copies = plan.copies
        for block, source in zip(copies.block.tolist(), copies.source.tolist(), strict=True):
            assert source in system.replicas[block]
        assert copies.bytes.tolist() == system.bytes[copies.block].tolist()
        _obeys_the_caps(plan.copies, cap, total)
        system.apply(copies)
        draining = system.serving == Serving.DRAINING
        held = system.replicas >= 0
        staying = (held & ~draining[system.replicas]).sum(axis=1)
        alive = np.minimum(system.wanted.astype(int), system.alive)
        short = set(np.flatnonzero((system.wanted > 0) & (staying < alive)).tolist())
        assert short <= set(plan.unplaced.tolist()) | set(plan.lost.tolist())
        for block in plan.unplaced.tolist():  # there was nowhere to put it
            assert not (system.room > 0)[
                np.setdiff1d(np.arange(len(system.room)), system.replicas[block])
            ].any()
        for node in system.release():
            assert system.serving[node] == Serving.NO
        assert set(system.lost_blocks().tolist()) == set(plan.lost.tolist())

    @rule(number=st.integers(0, 50), width=st.integers(1, 12), volume=st.none() | st.integers(0, 1000))
    def read(self, number: int, width: int, volume: int | None) -> None:
        system = self.system
        files = [file for file in system.files.values() if file.blocks]
        if not files:
            return
        file = files[number % len(files)]
        job = self.rng.sample(range(system.topology.nodes), min(width, system.topology.nodes))
        phase = read_phase(system, file.ids, job, volume)
        if isinstance(phase, Refused):
            assert set(file.ids.tolist()) & set(system.lost_blocks().tolist())
            return
        wanted = file.bytes if volume is None else volume
        assert phase.plan.bytes.sum() == wanted == phase.traffic.bytes_read
        assert phase.traffic.read_matrix(job).sum() == wanted
        assert sum(phase.plan.bytes_at().values()) == wanted
        assert phase.traffic.loads().disk_read.sum() == wanted
        counts = np.bincount(phase.plan.reader, minlength=system.topology.nodes)[job]
        assert counts.max() - counts.min() <= 1

    @invariant()
    def replicas_are_on_different_nodes_with_room(self) -> None:
        if not hasattr(self, "system"):
            return
        system = self.system
        flat = system.replicas[system.replicas >= 0]
        assert (np.bincount(flat, minlength=system.topology.nodes) == system.used).all()
        assert (system.used <= system.topology.capacity).all()
        for row in system.replicas.tolist():
            nodes = [node for node in row if node >= 0]
            assert len(set(nodes)) == len(nodes)
        assert not system.used[system.serving == Serving.NO].any()
        staying = (system.replicas >= 0) & (system.serving == Serving.YES)[system.replicas]
        assert (staying.sum(axis=1) <= system.wanted).all()


def _obeys_the_caps(copies: object, cap: float, total: float | None) -> None:
    rows = list(zip(copies.source, copies.target, copies.bytes, copies.begin, copies.end, strict=True))  # type: ignore[attr-defined]
    for source, target, amount, begin, end in rows:
        assert amount / (end - begin) <= min(cap, total or cap) * (1 + 1e-9)
        beside = [row for row in rows if row[3] <= begin < row[4]]
        assert sum(row[0] == source for row in beside) == 1
        assert sum(row[1] == target for row in beside) == 1
        if total is not None:
            assert sum(row[2] / (row[4] - row[3]) for row in beside) <= total * (1 + 1e-9)


Life.TestCase.settings = settings(max_examples=80, stateful_step_count=30, deadline=None)
TestLife = Life.TestCase


@settings(deadline=None)
@given(
    nodes=st.integers(1, 30),
    per_rack=st.integers(1, 10),
    copies=st.integers(1, 6),
    name=st.sampled_from(["hdfs", "rack_fault_tolerant", "node_group", "upgrade_domain"]),
    seed=st.integers(0, 2**32),
)
def test_the_rack_rule_holds_while_there_is_room(
    nodes: int, per_rack: int, copies: int, name: str, seed: int
) -> None:
    topology = Topology.racks_of(nodes, per_rack, 1000, nodes_per_group=2, domains=5)
    system = FileSystem(topology, name, block_bytes=1, replication=copies)
    writer = seed % (nodes + 1) - 1
    file = system.create("f", 20, random.Random(seed), writer)
    assert isinstance(file, StoredFile)
    have = min(copies, nodes)
    for row in system.replicas[file.ids, :have].tolist():
        racks = [int(topology.rack[node]) for node in row]
        most = max(racks.count(rack) for rack in racks)
        if writer >= 0:
            assert row[0] == writer
        if topology.racks > 1 and have > 1:
            assert len(set(racks)) > 1
        smallest = min(np.bincount(topology.rack).tolist())
        if name == "rack_fault_tolerant":
            assert len(set(racks)) == min(have, topology.racks)
        elif name == "hdfs" and smallest >= 2 and have <= 3 and topology.racks > 1:
            assert most <= max(1, rack_limit(have, topology.racks))
            assert racks[1:2] != racks[0:1]
            assert racks[2:3] in ([], racks[1:2])
        elif name == "node_group" and nodes >= 8 and per_rack >= 4 and smallest >= 4 and have <= 3:
            assert len({int(topology.group[node]) for node in row}) == have
        elif name == "upgrade_domain" and smallest >= 5:
            assert len({int(topology.domain[node]) for node in row[:3]}) == min(have, 3)


def test_the_share_off_the_rack_falls_to_nothing_as_replicas_grow() -> None:
    topology = Topology.racks_of(24, 6, 10_000)
    shares = []
    for copies in (1, 2, 3, 6, 12, 24):
        system = FileSystem(topology, "uniform", block_bytes=1, replication=copies)
        file = system.create("f", 3000, random.Random(copies))
        assert isinstance(file, StoredFile)
        readers = np.arange(file.blocks) % 24
        levels = system.read_plan(file.ids, readers).histogram()
        shares.append(levels[Locality.OFF_RACK] / file.blocks)
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 0.7
    assert shares[-1] == 0


@settings(deadline=None)
@given(
    nodes=st.integers(1, 12),
    per_rack=st.integers(1, 5),
    copies=st.integers(1, 4),
    width=st.integers(1, 12),
    volume=st.integers(0, 500),
    seed=st.integers(0, 2**32),
)
def test_what_is_written_is_on_disks_once_for_each_replica(
    nodes: int, per_rack: int, copies: int, width: int, volume: int, seed: int
) -> None:
    topology = Topology.racks_of(nodes, per_rack, 1000)
    system = FileSystem(topology, block_bytes=BLOCK, replication=copies)
    job = random.Random(seed).sample(range(nodes), min(width, nodes))
    phase = write_phase(system, "out", volume, job, random.Random(seed))
    assert not isinstance(phase, Refused)
    have = min(copies, nodes)
    loads = phase.traffic.loads()
    assert phase.traffic.bytes_written == volume * have == loads.disk_write.sum()
    # The first replica is the writer's own, so replicas - 1 copies cross the network.
    assert loads.node_in.sum() == loads.node_out.sum() == volume * (have - 1)
    shares = split_evenly(volume, len(job)).tolist()
    assert [file.bytes for file in phase.files] == shares
    assert all(file.blocks == 0 for file in phase.files if file.bytes == 0)
    assert loads.disk_write[job].sum() >= volume


@settings(deadline=None)
@given(
    nodes=st.integers(1, 12),
    per_rack=st.integers(1, 5),
    width=st.integers(1, 12),
    volume=st.integers(0, 500),
    seed=st.integers(0, 2**32),
)
def test_a_parallel_profile_moves_the_same_bytes(
    nodes: int, per_rack: int, width: int, volume: int, seed: int
) -> None:
    topology = Topology.racks_of(nodes, per_rack, 1000)
    system = FileSystem(topology, block_bytes=BLOCK)
    rng = random.Random(seed)
    job = rng.sample(range(nodes), min(width, nodes))
    file = system.create("in", volume, rng)
    assert isinstance(file, StoredFile)
    read, write = read_phase(system, file.ids, job), write_phase(system, "out", volume, job, rng)
    assert not isinstance(read, Refused)
    assert not isinstance(write, Refused)
    both = read.traffic + write.traffic
    profile = both.parallel_profile(range(nodes), disks=True)
    moved = np.array(profile["com"]).reshape(2 * nodes, 2 * nodes)
    loads = both.loads()
    assert moved[nodes:].sum(axis=1).tolist() == loads.disk_read.tolist()
    assert moved[:, nodes:].sum(axis=0).tolist() == loads.disk_write.tolist()
    assert not moved[:nodes, :nodes].any()
    network = np.array(both.parallel_profile(range(nodes), disks=False)["com"]).reshape(nodes, nodes)
    assert network.sum(axis=0).tolist() == loads.node_in.tolist()
    assert network.sum(axis=1).tolist() == loads.node_out.tolist()


@settings(deadline=None)
@given(
    nodes=st.integers(2, 30),
    per_rack=st.integers(1, 10),
    width=st.integers(1, 30),
    copies=st.integers(1, 5),
    parts=st.tuples(*[st.integers(0, 10)] * 3).filter(any),
)
def test_coarse_loads_carry_all_bytes(
    nodes: int, per_rack: int, width: int, copies: int, parts: tuple[int, int, int]
) -> None:
    topology = Topology.racks_of(nodes, per_rack, 10)
    job = list(range(min(width, nodes)))
    shares = Fractions(*(part / sum(parts) for part in parts)).possible(len(job), nodes)
    loads = read_loads(topology, job, 1000.0, shares)
    assert loads.disk_read.sum() == pytest.approx(1000)
    remote = 1000 * (shares.in_job + shares.out_of_job)
    assert loads.node_in.sum() == pytest.approx(remote)
    assert loads.node_out.sum() == pytest.approx(remote)
    assert loads.rack_in.sum() == pytest.approx(loads.rack_out.sum())
    assert loads.rack_in.sum() <= remote * (1 + 1e-9)
    written = write_loads(topology, job, 1000.0, copies)
    have = min(copies, nodes)
    assert written.disk_write.sum() == pytest.approx(1000 * have)
    assert written.node_in.sum() == pytest.approx(1000 * (have - 1))
    assert written.node_out.sum() == pytest.approx(1000 * (have - 1))
    assert written.rack_in.sum() == pytest.approx(written.rack_out.sum())


def test_one_generator_gives_the_same_blocks_in_one_call_or_many() -> None:
    files = [(f"f{number}", 7 * number, number % 5 - 1) for number in range(20)]
    rates = Rates(10, 10)
    times = []
    for make in (random.Random, np.random.default_rng):
        one, many = (FileSystem(Topology.racks_of(9, 3, 50), block_bytes=BLOCK) for _ in range(2))
        assert not isinstance(one.create_all(files, make(5)), Refused)
        rng = make(5)
        for name, size, writer in files:
            assert not isinstance(many.create(name, size, rng, writer), Refused)
        assert one.replicas.tolist() == many.replicas.tolist()
        phase = read_phase(one, one.file("f19").ids, [0, 1, 2])
        assert not isinstance(phase, Refused)
        times.append(phase.traffic.time(rates).seconds)
    assert min(times) > 0
