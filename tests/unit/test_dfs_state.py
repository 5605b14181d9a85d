"""The distributed file system by cases that can be checked by hand."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from batpy.base.errors import InputError
from batpy.dfs.drawing import below, words
from batpy.dfs.locality import Locality
from batpy.dfs.phases import ReadPhase, assign_blocks, proportional, read_phase, split_evenly
from batpy.dfs.policies import Bounded, Skewed, input_blocks, rack_limit
from batpy.dfs.state import FileSystem, Refused, Serving, StoredFile
from batpy.dfs.topology import Topology
from batpy.dfs.traffic import Rates, Traffic
from batpy.platforms.disks import Disk
from batpy.workloads.profile import Parallel, parse_profile

MB = 10**6


def put(system: FileSystem, *blocks: tuple[int, ...]) -> StoredFile:
    """A file whose blocks are on exactly these nodes."""
    file = system.put(f"f{len(system.files)}", len(blocks) * system.block_bytes, blocks)
    assert isinstance(file, StoredFile)
    return file


def test_words_are_the_same_everywhere() -> None:
    twister = random.Random(1)
    assert words(random.Random(1), 3).tolist() == [twister.getrandbits(32) for _ in range(3)]
    assert words(np.random.default_rng(1), 3).tolist() == [2198257139, 4082210491, 619160822]
    assert below(words(random.Random(1), 3), 1000).tolist() == [134, 569, 847]
    rng, whole = random.Random(1), words(random.Random(1), 4, 3)
    assert [words(rng, 3).tolist() for _ in range(4)] == whole.tolist()


def test_a_file_is_cut_into_blocks_and_an_empty_one_into_none() -> None:
    system = FileSystem(Topology.racks_of(4, 2, 10), block_bytes=100)
    made = system.create_all([("a", 250, 0), ("empty", 0, 1), ("b", 100, 2)], random.Random(1))
    assert isinstance(made, list)
    assert [(file.first, file.blocks) for file in made] == [(0, 3), (3, 0), (3, 1)]
    assert system.bytes.tolist() == [100, 100, 50, 100]
    assert system.replicas[:, 0].tolist() == [0, 0, 0, 2]
    assert system.blocks_on(0).tolist()[:3] == [0, 1, 2]


def test_a_full_file_system_refuses_a_file_whole() -> None:
    system = FileSystem(Topology.racks_of(4, 2, 3), block_bytes=1)
    assert isinstance(system.create("a", 3, random.Random(1)), StoredFile)
    before = system.replicas.tolist()
    refused = system.create_all([("b", 1, -1), ("c", 1, -1)], random.Random(1))
    assert isinstance(refused, Refused)
    assert refused.reason.startswith("file 'c': the file system is full: ")
    assert system.replicas.tolist() == before
    assert list(system.files) == ["a"]
    empty = FileSystem(Topology.racks_of(2, 2, 0))
    assert empty.create("a", 1, random.Random(1)) == Refused("no data node takes replicas")
    assert isinstance(empty.create("nothing", 0, random.Random(1)), StoredFile)


def test_wrong_requests_are_told() -> None:
    system = FileSystem(Topology.racks_of(2, 2, 3), block_bytes=1)
    system.create("a", 1, random.Random(1))
    for wrong in (("a", 1, 0), ("b", -1, 0), ("b", 1, 2)):
        with pytest.raises(InputError):
            system.create_all([wrong], random.Random(1))
    for call in (
        lambda: system.delete("z"),
        lambda: system.lose(2),
        lambda: FileSystem(system.topology, "best"),
    ):
        with pytest.raises(InputError):
            call()
    with pytest.raises(InputError, match="two racks"):
        Topology.of([0, 1], 1, [0, 0])
    with pytest.raises(InputError, match="at least 0"):
        Topology.of([0, -1], 1)


def test_the_nearest_replica_is_read_and_ties_go_to_the_least_asked() -> None:
    system = FileSystem(Topology.racks_of(6, 2, 10), block_bytes=10)
    file = put(system, (0, 2, 3), (0, 2, 3), (2, 3, 4), (2, 3, 4))
    plan = system.read_plan(file.ids, [0, 1, 0, 0])
    assert plan.source.tolist() == [0, 0, 2, 3]
    assert plan.level.tolist() == [Locality.NODE, Locality.RACK, Locality.OFF_RACK, Locality.OFF_RACK]
    assert plan.load.tolist() == [20, 0, 10, 10, 0, 0]
    loaded = system.read_plan(file.ids[2:], [0, 0], load=np.array([0, 0, 100, 0, 5, 0]))
    assert loaded.source.tolist() == [3, 4]


def test_a_lost_block_is_told_by_plans_and_phases() -> None:
    system = FileSystem(Topology.racks_of(4, 2, 10), block_bytes=10)
    file = put(system, (0, 2), (1, 3))
    assert system.lose(0) == 1
    assert system.lose(2) == 1
    assert system.lost_blocks().tolist() == [0]
    assert system.read_plan(file.ids, [1, 1]).lost.tolist() == [0]
    assert read_phase(system, file.ids, [1]) == Refused("block 0 has no replica left")
    assert system.repair_plan(random.Random(1), 1.0).lost.tolist() == [0]


def test_a_repair_tells_who_copies_what_and_when() -> None:
    system = FileSystem(Topology.racks_of(4, 2, 10), block_bytes=10)
    put(system, (0, 2), (0, 2), (0, 3))
    system.lose(0)
    plan = system.repair_plan(random.Random(1), 5.0)
    assert plan.copies.block.tolist() == [0, 1, 2]
    assert plan.copies.source.tolist() == [2, 2, 3]
    assert plan.copies.target.tolist() == [1, 1, 1]  # the only other rack
    assert plan.copies.begin.tolist() == [0.0, 2.0, 4.0]  # one target receives one at a time
    assert plan.seconds == 6.0
    assert len(plan.copies.until(4.0).block) == 2
    slower = system.repair_plan(random.Random(1), 5.0, total_bandwidth=2.5)
    assert slower.seconds == 12.0


def test_a_repaired_block_is_in_two_racks_again() -> None:
    system = FileSystem(Topology.racks_of(6, 3, 100), block_bytes=10)
    put(system, *([(0, 3, 4)] * 5), *([(0, 1, 3)] * 5))
    system.lose(0)
    system.lose(3)
    plan = system.repair_plan(random.Random(1), 5.0)
    system.apply(plan.copies)
    for row in system.replicas.tolist():
        assert len({node // 3 for node in row if node >= 0}) == 2
        assert sum(node >= 0 for node in row) == 3


def test_blocks_with_the_fewest_replicas_are_copied_first() -> None:
    system = FileSystem(Topology.racks_of(6, 3, 100), block_bytes=10)
    put(system, (0, 4, 5), (0, 1, 3))
    for node in (0, 1):
        system.lose(node)
    plan = system.repair_plan(random.Random(1), 5.0)
    assert plan.copies.block[0] == 1
    assert plan.copies.source[0] == 3


@pytest.mark.parametrize("daemon", ["stays", "stops"])
def test_a_decommissioned_node_drains_or_drops_unless_its_daemon_stays(daemon: str) -> None:
    system = FileSystem(Topology.racks_of(6, 3, 100), block_bytes=10, daemon=daemon)  # type: ignore[arg-type]
    put(system, (0, 4, 5), (1, 2, 3))
    assert system.decommission(0, "drain") is (daemon == "stops")
    assert system.decommission(1, "drop") is (daemon == "stops")
    if daemon == "stays":
        assert system.replicas.tolist() == [[0, 4, 5], [1, 2, 3]]
        assert not len(system.repair_plan(random.Random(1), 1.0).copies.block)
        return
    assert system.replicas.tolist() == [[0, 4, 5], [-1, 2, 3]]
    assert system.release() == []  # its block has not been copied
    assert system.read_plan([0], [0]).source.tolist() == [0]  # it still serves
    plan = system.repair_plan(random.Random(1), 1.0)
    assert sorted(plan.copies.block.tolist()) == [0, 1]
    assert not {0, 1} & set(plan.copies.target.tolist())
    system.apply(plan.copies)
    assert system.release() == [0]
    assert system.serving[0] == Serving.NO
    assert (system.replicas >= 0).sum(axis=1).tolist() == [3, 3]
    system.recommission(0)
    assert system.room[0] == 100


def test_the_last_replica_is_not_released() -> None:
    system = FileSystem(Topology.racks_of(2, 1, 4), block_bytes=10, replication=1, daemon="stops")
    put(system, (0,), (1,))
    for node in (0, 1):
        system.decommission(node)
    assert system.release() == []
    assert not len(system.repair_plan(random.Random(1), 1.0).copies.block)


def test_a_node_that_comes_back_before_it_is_released_leaves_no_replica_too_many() -> None:
    system = FileSystem(Topology.racks_of(6, 3, 100), block_bytes=10, daemon="stops")
    put(system, (0, 4, 5))
    system.decommission(0)
    plan = system.repair_plan(random.Random(1), 1.0)
    system.apply(plan.copies)
    assert (system.replicas >= 0).sum() == 4
    system.recommission(0)
    nodes = [node for node in system.replicas[0].tolist() if node >= 0]
    assert len(nodes) == 3
    assert len({node // 3 for node in nodes}) == 2
    assert system.used.sum() == 3


def test_racks_have_a_limit_as_in_hdfs() -> None:
    limits = {(3, 1): 3, (3, 2): 2, (2, 2): 1, (3, 10): 2, (10, 2): 6, (1, 5): 1, (4, 3): 3}
    assert {key: rack_limit(*key) for key in limits} == limits


def test_a_bounded_file_lies_in_its_pool_and_the_pool_grows_when_full() -> None:
    system = FileSystem(Topology.racks_of(100, 30, 50), Bounded(4), block_bytes=1)
    file = system.create("a", 60, random.Random(1))
    assert isinstance(file, StoredFile)
    assert len(np.unique(system.replicas[file.ids])) <= 12
    more = system.create("b", 600, random.Random(2))
    assert isinstance(more, StoredFile)
    assert (system.used <= 50).all()
    assert 36 <= len(np.unique(system.replicas[more.ids])) <= 60


def test_skewed_placement_follows_paretos_law() -> None:
    system = FileSystem(Topology.racks_of(1000, 30, 10**6), Skewed(), block_bytes=1, replication=1)
    file = system.create("a", 200_000, random.Random(1))
    assert isinstance(file, StoredFile)
    shares = system.used / 200_000
    scale = 1 - 1001**-1.041392685
    assert shares[0] == pytest.approx((1 - 2**-1.041392685) / scale, abs=0.005)
    assert shares[1] == pytest.approx((2**-1.041392685 - 3**-1.041392685) / scale, abs=0.005)
    assert shares[:100].sum() == pytest.approx((1 - 101**-1.041392685) / scale, abs=0.005)


@pytest.mark.parametrize("make", [random.Random, np.random.default_rng])
def test_hdfs_draws_nodes_evenly(make: type[random.Random]) -> None:
    system = FileSystem(Topology.racks_of(60, 20, 10**6), block_bytes=1)
    file = system.create("a", 60_000, make(3))
    assert isinstance(file, StoredFile)
    for place in range(3):
        counts = np.bincount(system.replicas[file.ids, place], minlength=60)
        assert abs(counts / 1000 - 1).max() < 0.15


def test_input_sizes_are_those_of_firmament() -> None:
    blocks = input_blocks(random.Random(1), 100_000)
    assert (blocks.min(), blocks.max()) == (1, 320)
    # F(x) = a + b log2(x): half of the larger half is below the square root of the maximum.
    assert (blocks <= np.sqrt(320)).mean() == pytest.approx(0.75, abs=0.01)
    assert (blocks == 1).mean() == pytest.approx(0.5 + 0.5 * np.log2(1.5) / np.log2(320), abs=0.01)


def test_blocks_go_to_nodes_that_hold_them_while_shares_last() -> None:
    system = FileSystem(Topology.racks_of(6, 2, 10), block_bytes=10)
    file = put(system, (0, 4), (0, 4), (0, 4), (4, 5), (4, 5))
    readers = assign_blocks(system, file.ids, [0, 1, 2]).tolist()
    assert readers[:2] == [0, 0]
    assert sorted(readers) in ([0, 0, 1, 1, 2], [0, 0, 1, 2, 2])
    assert assign_blocks(system, file.ids, [2, 1], "turns").tolist() == [2, 1, 2, 1, 2]


def test_shares_of_volumes_are_whole_and_add_up() -> None:
    assert split_evenly(10, 4).tolist() == [3, 3, 2, 2]
    assert proportional(np.array([10, 10, 5]), 7).tolist() == [2, 3, 2]
    large = proportional(np.full(3, 2**62 // 3), 2**61)
    assert int(large.sum()) == 2**61


def test_a_phase_lasts_as_its_most_loaded_resource() -> None:
    topology = Topology.racks_of(4, 2, 10)
    system = FileSystem(topology, block_bytes=100 * MB)
    file = put(system, (0,), (0,), (2,))
    phase = read_phase(system, file.ids, [0, 1, 3], how="turns")
    assert isinstance(phase, ReadPhase)
    traffic = phase.traffic
    assert traffic.read_matrix([0, 1, 3]).tolist() == [
        [100 * MB, 0, 0, 0],
        [100 * MB, 0, 0, 0],
        [0, 0, 100 * MB, 0],
    ]
    assert traffic.time(Rates(100 * MB, 50 * MB)) == traffic.time(
        Rates(100 * MB, 50 * MB, 200 * MB, 200 * MB)
    )
    disk = traffic.time(Rates(100 * MB, 50 * MB))
    assert (disk.seconds, disk.bottleneck, disk.where) == (2.0, "disk", 0)
    link = traffic.time(Rates(100 * MB, 50 * MB, node_in=20 * MB))
    assert (link.seconds, link.bottleneck, link.where) == (5.0, "node_in", 1)
    written = Traffic.of_writes(topology, np.array([[0, 2, 3]]), np.array([100 * MB]), np.array([0]))
    both = (traffic + written).time(Rates(100 * MB, 50 * MB))
    assert (both.seconds, both.where) == (4.0, 0)  # 200 MB read, 100 MB written, one after the other
    assert written.write_matrix([0]).tolist() == [[100 * MB, 0, 100 * MB, 0]]
    assert written.loads().rack_out.tolist() == [100 * MB, 0]
    assert written.loads().node_out.tolist() == [100 * MB, 0, 100 * MB, 0]


def test_a_client_on_no_node_sends_what_it_writes_over_the_network() -> None:
    topology = Topology.racks_of(4, 2, 10)
    loads = Traffic.of_writes(topology, np.array([[0, 2]]), np.array([7]), np.array([-1])).loads()
    assert loads.node_in.tolist() == [7, 0, 7, 0]
    assert loads.node_out.tolist() == [7, 0, 0, 0]
    assert loads.rack_in.tolist() == [7, 7]


def test_rates_come_from_the_disks_of_a_platform() -> None:
    disk = Disk("d", 150.0, 50.0)
    rates = Rates.of_disks([(disk,), (disk, disk), ()], 10.0, 10.0)
    assert list(rates.disk_read)[:2] == [150, 300]  # type: ignore[arg-type]
    assert list(rates.disk_write)[:2] == [50, 100]  # type: ignore[arg-type]
    with pytest.raises(InputError, match="above 0"):
        Rates(0, 1)


def test_a_profile_of_a_phase_is_one_that_readers_of_workloads_take() -> None:
    topology = Topology.racks_of(4, 2, 10)
    traffic = Traffic.of_writes(topology, np.array([[0, 2]]), np.array([7]), np.array([0]))
    profile = parse_profile("write", traffic.parallel_profile([0, 2], disks=True))
    assert isinstance(profile, Parallel)
    # Executors: node 0, node 2, the disk of 0, the disk of 2.
    assert list(profile.com) == [0, 0, 7, 7, *[0] * 12]


def test_a_profile_wants_an_executor_for_all_that_moves() -> None:
    topology = Topology.racks_of(4, 2, 10)
    traffic = Traffic.of_writes(topology, np.array([[0, 2]]), np.array([7]), np.array([0]))
    assert traffic.parallel_profile([0, 2], disks=False) == {
        "type": "parallel",
        "cpu": [0, 0],
        "com": [0, 7, 0, 0],
    }
    with pytest.raises(InputError, match="node 2 moves data"):
        traffic.parallel_profile([0, 1], disks=False)


def test_delay_scheduling_and_levels_do_not_load_numpy(tmp_path: Path) -> None:
    code = "import sys, batpy.dfs.delay, batpy.dfs.locality; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-P", "-c", code], cwd=tmp_path, check=False).returncode == 0
