"""The coarse model fitted to the fine one: mean phase times over clusters, job sizes and replications."""

from __future__ import annotations

import random

import pytest

from batpy.dfs.coarse import CoarseModel, Sample, fit
from batpy.dfs.coarse_loads import read_loads, write_loads
from batpy.dfs.phases import ReadPhase, WritePhase, read_phase, write_phase
from batpy.dfs.state import FileSystem, StoredFile
from batpy.dfs.topology import Topology
from batpy.dfs.traffic import Loads, Rates, phase_time

MB = 10**6
FAST_NETWORK = Rates(150 * MB, 120 * MB, 1250 * MB, 1250 * MB)
FAST_DISKS = Rates(2000 * MB, 1000 * MB, 125 * MB, 125 * MB)
ALIKE = Rates(125 * MB, 100 * MB, 125 * MB, 125 * MB)
SLOW_RACKS = Rates(500 * MB, 400 * MB, 1250 * MB, 1250 * MB, 1000 * MB, 1000 * MB)
ALL_RATES = (FAST_NETWORK, FAST_DISKS, ALIKE, SLOW_RACKS)

CLUSTERS = [
    # nodes, nodes of a rack, of the job, replication, blocks for each node of the job, phases
    (16, 16, 1, 3, 30, 1000),
    (16, 16, 16, 2, 8, 2000),
    (40, 10, 4, 1, 12, 1000),
    (40, 10, 10, 3, 4, 1000),
    (60, 20, 60, 3, 4, 1000),
    (100, 20, 25, 2, 4, 1000),
    (300, 30, 40, 3, 4, 800),
]


def phases(system: FileSystem, width: int, blocks: int, count: int, rng: random.Random) -> list[Sample]:
    """Phases that read, on nodes drawn anew for each."""
    volume = blocks * width * system.block_bytes - 1000
    out = []
    for _ in range(count):
        job = tuple(sorted(rng.sample(range(system.topology.nodes), width)))
        file = system.create("in", volume, rng)
        assert isinstance(file, StoredFile)
        phase = read_phase(system, file.ids, job)
        assert isinstance(phase, ReadPhase)
        system.delete("in")
        out.append(Sample(job, volume, phase.traffic))
    return out


def written(system: FileSystem, width: int, blocks: int, count: int, rng: random.Random) -> list[Sample]:
    volume = blocks * width * system.block_bytes - 1000
    out = []
    for _ in range(count):
        job = tuple(sorted(rng.sample(range(system.topology.nodes), width)))
        phase = write_phase(system, "out", volume, job, rng)
        assert isinstance(phase, WritePhase)
        for file in phase.files:
            system.delete(file.name)
        out.append(Sample(job, volume, phase.traffic))
    return out


def mean_times(loads: list[Loads]) -> list[float]:
    return [sum(phase_time(each, rates).seconds for each in loads) / len(loads) for rates in ALL_RATES]


def coarse_reads(topology: Topology, model: CoarseModel, samples: list[Sample]) -> list[Loads]:
    """Twice as many phases of the coarse model, on the nodes of phases that it was not fitted to."""
    rng = random.Random(5)
    draws = [(sample, model.draw(rng)) for sample in samples for _ in range(2)]
    return [read_loads(topology, s.job, s.volume, draw.shares, draw.skew) for s, draw in draws]


@pytest.mark.parametrize(("nodes", "per_rack", "width", "copies", "blocks", "count"), CLUSTERS)
def test_the_fitted_model_has_the_mean_times_of_the_fine_one(
    nodes: int, per_rack: int, width: int, copies: int, blocks: int, count: int
) -> None:
    topology = Topology.racks_of(nodes, per_rack)
    system = FileSystem(topology, replication=copies)
    model = fit(phases(system, width, blocks, count, random.Random(1)))
    others = phases(system, width, blocks, count, random.Random(3))
    fine = mean_times([sample.traffic.loads() for sample in others])
    assert mean_times(coarse_reads(topology, model, others)) == pytest.approx(fine, rel=0.05)


@pytest.mark.parametrize(("nodes", "per_rack", "width", "copies", "blocks", "count"), CLUSTERS[1::2])
def test_so_it_has_for_writes(
    nodes: int, per_rack: int, width: int, copies: int, blocks: int, count: int
) -> None:
    topology = Topology.racks_of(nodes, per_rack)
    system = FileSystem(topology, replication=copies)
    few = phases(system, width, blocks, 2, random.Random(1))
    model = fit(few, written(system, width, blocks, count // 2, random.Random(2)), copies)
    others = written(system, width, blocks, count // 2, random.Random(4))
    fine = mean_times([sample.traffic.loads() for sample in others])
    rng = random.Random(5)
    drawn = [
        write_loads(topology, sample.job, sample.volume, copies, model.draw_write(rng))
        for sample in others
        for _ in range(2)
    ]
    assert mean_times(drawn) == pytest.approx(fine, rel=0.05)


def test_a_record_gives_back_the_time_of_its_phase() -> None:
    topology = Topology.racks_of(40, 10)
    samples = phases(FileSystem(topology), 6, 5, 20, random.Random(1))
    model = fit(samples)
    for rates in ALL_RATES:
        for sample, draw in zip(samples, model.reads, strict=True):
            loads = read_loads(topology, sample.job, sample.volume, draw.shares, draw.skew)
            fine = sample.traffic.time(rates)
            assert phase_time(loads, rates).seconds == pytest.approx(fine.seconds)
            assert phase_time(loads, rates).bottleneck == fine.bottleneck
