"""The coarse model, and one interface to it, to the fine model, and to a parallel file system."""

from __future__ import annotations

import random

import numpy as np
import pytest

from batpy.base.errors import InputError
from batpy.dfs.coarse import BEBIDA_2017, NOTEBOOK, PRESETS, CoarseModel, fit, model_from_log
from batpy.dfs.coarse_loads import Fractions, Skew, read_loads
from batpy.dfs.state import FileSystem
from batpy.dfs.storages import CoarseDfs, FineDfs, ParallelFileSystem, Storage
from batpy.dfs.topology import Topology
from batpy.dfs.traffic import PhaseTime, Rates

MB = 10**6


def test_presets_are_those_of_the_notes() -> None:
    assert PRESETS["notebook"].draw(random.Random(1)).shares == Fractions(0.6, 0.25, 0.15)
    nodes = [BEBIDA_2017.draw(rng).shares for rng in [random.Random(1)] for _ in range(4000)]
    own = np.array([shares.node for shares in nodes])
    assert 0.6 <= own.min() < 0.605
    assert 0.795 < own.max() <= 0.8
    assert own.mean() == pytest.approx(0.7, abs=0.005)
    assert np.std(own) == pytest.approx(0.2 / 12**0.5, rel=0.05)
    assert all(shares.in_job / shares.out_of_job == pytest.approx(25 / 15) for shares in nodes)


@pytest.mark.parametrize("concentration", [1.5, 20.0])
def test_dirichlet_fractions_have_the_mean_and_variance_asked_for(concentration: float) -> None:
    model = CoarseModel(NOTEBOOK.mean, "dirichlet", concentration=concentration)
    rng = random.Random(7)
    drawn = np.array(
        [(s.node, s.in_job, s.out_of_job) for s in (model.draw(rng).shares for _ in range(6000))]
    )
    mean = np.array([0.6, 0.25, 0.15])
    assert drawn.mean(axis=0) == pytest.approx(mean, abs=0.02)
    assert drawn.var(axis=0) == pytest.approx(mean * (1 - mean) / (concentration + 1), rel=0.1)


def test_a_model_comes_from_the_names_of_a_log() -> None:
    model = model_from_log({"NODE_LOCAL": 60, "RACK_LOCAL": 20, "ANY": 20, "NO_PREF": 500}, 5, 21)
    assert model.mean.node == pytest.approx(0.6)
    assert model.mean.in_job == pytest.approx(0.4 * 4 / 20)
    assert model_from_log({"PROCESS_LOCAL": 1, "ANY": 1}, 1, 4).mean == Fractions(0.5, 0.0, 0.5)
    assert model_from_log({"ANY": 1}, 1, 1).mean == Fractions(1.0, 0.0, 0.0)
    with pytest.raises(InputError, match="no task"):
        model_from_log({"NO_PREF": 3}, 1, 4)


def test_fractions_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InputError, match="add up to 1"):
        Fractions(0.5, 0.5, 0.5)
    with pytest.raises(InputError, match="width"):
        CoarseModel(NOTEBOOK.mean, "uniform", 0.5)
    with pytest.raises(InputError, match="concentration"):
        CoarseModel(NOTEBOOK.mean, concentration=0)
    with pytest.raises(InputError, match="recorded"):
        CoarseModel(NOTEBOOK.mean, "recorded")
    with pytest.raises(InputError, match="phases that read"):
        fit([])


def test_coarse_loads_by_hand() -> None:
    # 2 of 4 nodes read 100 bytes each: 60 from the own disk, 20 from the other, 20 from the two outside.
    loads = read_loads(Topology.racks_of(4, 2, 10), [0, 1], 200.0, Fractions(0.6, 0.2, 0.2))
    assert loads.disk_read.tolist() == pytest.approx([80, 80, 20, 20])
    assert loads.node_in.tolist() == pytest.approx([40, 40, 0, 0])
    assert loads.node_out.tolist() == pytest.approx([20, 20, 20, 20])
    assert loads.rack_in.tolist() == pytest.approx([40, 0])
    assert loads.rack_out.tolist() == pytest.approx([0, 40])
    uneven = read_loads(
        Topology.racks_of(4, 2, 10), [0, 1], 200.0, Fractions(0.6, 0.2, 0.2), Skew(job={"disk_read": 1.5})
    )
    assert uneven.disk_read.tolist() == pytest.approx([120, 120, 20, 20])


def test_data_comes_from_data_nodes_only() -> None:
    loads = read_loads(Topology.of([0, 0, 0], [0, 5, 5]), [0], 90.0, Fractions(0, 0, 1))
    assert loads.disk_read.tolist() == [0, 45, 45]


def test_a_parallel_file_system_is_as_fast_as_its_servers_or_its_clients() -> None:
    pfs = ParallelFileSystem(1000.0, 500.0, node_in=100.0, node_out=50.0)
    assert pfs.read([3, 4], 2000) == PhaseTime(10.0, "node_in", 3)
    assert pfs.read(range(20), 2000) == PhaseTime(2.0, "pfs")
    assert pfs.write([3, 4], 2000) == PhaseTime(20.0, "node_out", 3)
    assert pfs.write(range(20), 2000) == PhaseTime(4.0, "pfs")
    assert pfs.read([3], 0) == PhaseTime(0.0, "none")
    with pytest.raises(InputError, match="above 0"):
        ParallelFileSystem(0, 1)


def test_more_nodes_make_a_distributed_file_system_faster_than_a_parallel_one() -> None:
    rates = Rates(100 * MB, 100 * MB, 1000 * MB, 1000 * MB)
    pfs: Storage = ParallelFileSystem(1000 * MB, 1000 * MB, 1000 * MB, 1000 * MB)
    winners = []
    for nodes in (4, 8, 32, 64):
        system = FileSystem(Topology.racks_of(nodes, 32))
        storages: list[Storage] = [
            FineDfs(system, rates, random.Random(1)),
            CoarseDfs(system.topology, rates, NOTEBOOK, random.Random(1)),
        ]
        volume = nodes * 2 * system.block_bytes * 8
        for dfs in storages:
            read = pfs.read(range(nodes), volume), dfs.read(range(nodes), volume)
            winners.append(read[0].seconds > read[1].seconds)
            assert dfs.write(range(nodes), volume).seconds > dfs.read(range(nodes), volume).seconds
        assert not system.files
        assert not system.used.any()
        assert len(system.bytes) == 0
    assert winners == [False] * 4 + [True] * 4


def test_a_full_file_system_stops_a_fine_phase() -> None:
    dfs = FineDfs(FileSystem(Topology.racks_of(4, 4, 1), block_bytes=1), Rates(1, 1), random.Random(1))
    assert dfs.read([0], 0) == PhaseTime(0.0, "none")
    with pytest.raises(InputError, match="is full"):
        dfs.read([0], 100)
    with pytest.raises(InputError, match="is full"):
        dfs.write([0], 100)
