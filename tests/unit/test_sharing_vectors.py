"""Durations recorded from SimGrid and Batsim, to every decimal that was printed: the engine's own floats."""

from __future__ import annotations

import pytest
from sharing_platforms import Bench, cluster, small, small_network

NINE = 5.0001e-10
"""Half of the ninth decimal."""


def test_small_platform_parallel_with_bytes_to_oneself() -> None:
    bench = small()
    rows = [5e6, 0, 0, 0, 5e6, 5e6, 0, 0, 5e6, 5e6, 0, 0, 5e6, 5e6, 5e6, 0]
    work = bench.builder.parallel([0, 1, 2, 3], [5e6, 0, 0, 0], rows)
    assert bench.alone(work) == pytest.approx(2.083953510, abs=NINE)


@pytest.mark.parametrize(
    ("cpu", "com", "seconds"),
    [(10e6, 1e6, 0.835643929), (0, 1e6, 0.835643929), (2e5, 0, 0.004124392), (1e9, 0, 20.621958261)],
)
def test_small_platform_homogeneous(cpu: float, com: float, seconds: float) -> None:
    bench = small()
    assert bench.alone(bench.builder.homogeneous([0, 1, 2, 3], cpu, com)) == pytest.approx(seconds, abs=NINE)


@pytest.mark.parametrize(("hosts", "seconds"), [([0, 1, 2, 3], 0.211489139), ([0, 1], 0.123099491)])
def test_small_platform_homogeneous_total(hosts: list[int], seconds: float) -> None:
    bench = small()
    assert bench.alone(bench.builder.homogeneous_total(hosts, 10e6, 1e6)) == pytest.approx(seconds, abs=NINE)


@pytest.mark.parametrize("fan", [False, True])
@pytest.mark.parametrize(
    ("n", "cpu", "com", "seconds"),
    [
        (4, 1e9, 0, 1.0),
        (4, 0, 1e6, 0.0246),
        (4, 1e9, 1e6, 1.0006),
        (4, 1e7, 1e7, 0.2406),
        (64, 0, 1e6, 1.7926),
    ],
)
def test_cluster_homogeneous(fan: bool, n: int, cpu: float, com: float, seconds: float) -> None:
    bench = cluster(64, fan=fan)
    work = bench.builder.homogeneous(list(range(n)), cpu, com)
    assert bench.alone(work) == pytest.approx(seconds, abs=NINE)


def test_cluster_homogeneous_total() -> None:
    bench = cluster()
    work = bench.builder.homogeneous_total([0, 1, 2, 3], 1e9, 1e6)
    assert bench.alone(work) == pytest.approx(0.2506, abs=NINE)


@pytest.mark.parametrize("fan", [False, True])
def test_cluster_executors_mapped_on_one_host(fan: bool) -> None:
    bench = cluster(fan=fan)
    assert bench.alone(bench.builder.homogeneous([0, 0], 1e9, 0)) == pytest.approx(2.0, abs=NINE)
    assert bench.alone(bench.builder.flows([0, 0], [3e9, 1e9], [])) == pytest.approx(4.0, abs=NINE)
    assert bench.alone(bench.builder.homogeneous([0, 0], 0, 1e9)) == pytest.approx(16.0006, abs=NINE)


def test_cluster_unequal_executors_and_nothing_to_do() -> None:
    bench = cluster()
    assert bench.alone(bench.builder.parallel([0, 1], [5e8, 1e9], [0] * 4)) == pytest.approx(1.0, abs=NINE)
    assert bench.alone(bench.builder.parallel([0, 1], [0, 0], [0] * 4)) == 0.0


@pytest.mark.parametrize(("read", "write"), [(1e7, 0), (0, 1e7), (1e7, 1e6)])
def test_cluster_storage(read: float, write: float) -> None:
    bench = cluster(storage=True)
    work = bench.builder.storage([0, 1, 2, 3], 16, read, write)
    assert bench.alone(work) == pytest.approx(2.668266667, abs=NINE)


def test_cluster_staging() -> None:
    bench = cluster(storage=True)
    assert bench.alone(bench.builder.staging(0, 16, 1e7)) == pytest.approx(0.668266667, abs=NINE)


def test_concurrent_on_one_host() -> None:
    bench = cluster()
    a = bench.add(bench.builder.parallel([0], [1e9], []))
    b = bench.add(bench.builder.parallel([0, 1], [2e9, 1e9], []))
    assert bench.ends(a, b) == pytest.approx([2.0, 3.0], abs=NINE)


def test_concurrent_each_executor_has_one_share() -> None:
    bench = cluster()
    c = bench.add(bench.builder.homogeneous([2, 2], 1e9, 0))
    d = bench.add(bench.builder.homogeneous([2], 1e9, 0))
    assert bench.ends(c, d) == pytest.approx([3.0, 3.0], abs=NINE)


def test_concurrent_flows_from_one_host() -> None:
    bench = cluster()
    e = bench.add(bench.builder.staging(4, 5, 1e8))
    f = bench.add(bench.builder.staging(4, 6, 1e8), 0.1)
    assert bench.ends(e, f) == pytest.approx([1.5006, 1.6006], abs=NINE)


def test_concurrent_a_task_uses_no_processor_during_its_latency() -> None:
    bench = cluster()
    g = bench.add(bench.builder.parallel([8, 9], [1e9, 0], [0, 1e8, 0, 0]))
    i = bench.add(bench.builder.parallel([8], [1e9], []))
    assert bench.ends(i, g) == pytest.approx([1.9994, 2.0], abs=NINE)


def test_concurrent_three_tasks_on_one_host() -> None:
    bench = Bench([(1e8, 1)], small_network())
    tasks = [bench.add(bench.builder.parallel([0], [1e8], [])) for _ in range(3)]
    assert bench.ends(*tasks) == pytest.approx([3.0] * 3, abs=NINE)


def energy_platform() -> Bench:
    """``energy_platform_homogeneous.xml``: the network of small_platform, Mercury in the place of Jupiter."""
    return Bench([(1e8, 1)] * 4, small_network())


MERCURY, VENUS = 3, 1


def test_remaining_after_a_cut() -> None:
    bench = energy_platform()
    task = bench.add(bench.builder.parallel([MERCURY, VENUS], [1e9, 1e9], []))
    assert bench.engine.cancel(bench.date(4), task) == pytest.approx(0.6, abs=1e-12)


def test_remaining_of_a_cut_transfer_and_of_one_in_its_latency() -> None:
    bench = energy_platform()
    work = bench.builder.staging(MERCURY, VENUS, 1e6)
    assert bench.alone(work) == pytest.approx(0.142139, abs=5e-7)
    bench = energy_platform()
    first = bench.add(work)
    assert bench.engine.remaining(bench.date(0.002), first) == 1.0
    assert bench.engine.cancel(bench.date(0.002), first) == 1.0
    bench = energy_platform()
    assert bench.engine.cancel(bench.date(0.05), bench.add(work)) == pytest.approx(0.664296, abs=5e-7)


@pytest.mark.parametrize(("cut", "completed"), [(10.0, True), (9.9999999, False)])
def test_a_tie_of_end_and_cut_counts_as_completed(cut: float, completed: bool) -> None:
    bench = energy_platform()
    task = bench.add(bench.builder.parallel([MERCURY], [1e9], []))
    assert (bench.engine.cancel(bench.date(cut), task) == 0) is completed
    assert (bench.engine.step() == [task]) is completed
