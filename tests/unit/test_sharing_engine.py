"""The sharing engine: what starts, stops and changes, and who is told."""

from __future__ import annotations

import math
import random

import pytest
from sharing_platforms import Bench, StarNetwork, TableNetwork, cluster, small

from batpy.base.errors import InputError
from batpy.models.sharing.engine import SharingEngine
from batpy.models.sharing.resources import Resources
from batpy.models.sharing.task import between
from batpy.models.sharing.work import TaskWork, WorkBuilder, host_elements, joined, matrix_flows
from batpy.platforms.network import Fan, Link, Route


def two_hosts(link: Link, cores: int = 1, **options: object) -> Bench:
    network = TableNetwork([link], {(a, b): [0] for a in range(2) for b in range(2)})
    return Bench([(1e9, cores)] * 2, network, **options)  # type: ignore[arg-type]


def test_a_task_without_work_ends_at_once_and_one_with_latency_only_after_it() -> None:
    engine = SharingEngine(Resources([(1e9, 1)]), 1e6)
    nothing = engine.add((5, 0.25), TaskWork(0.0, (), ()))
    waits = engine.add((5, 0.25), TaskWork(0.5, (), ()))
    assert engine.next_event() == (5, 0.25)
    assert engine.step() == [nothing]
    assert nothing.ended == (5, 0.25)
    while not waits.over:
        engine.step()
    assert waits.ended == (500_005, 0.25)


def test_a_resource_without_capacity_stops_its_tasks_until_it_has_some() -> None:
    engine = SharingEngine(Resources([(0.0, 1)]), 1.0)
    task = engine.add((0, 0.0), TaskWork(0.0, host_elements([0], [10.0]), ()))
    assert engine.next_event() is None
    engine.set_speed((7, 0.0), 0, 5.0)
    assert engine.next_event() == (9, 0.0)
    assert engine.step() == [task]


def test_links_of_infinite_bandwidth_hold_nobody_back() -> None:
    bench = two_hosts(Link("fast", math.inf, 0.0))
    tasks = [bench.add(bench.builder.parallel([0, 1], [cpu, 0], [0, 1e12, 0, 0])) for cpu in (0, 1e9, 1e9)]
    assert bench.ends(*tasks) == [0.0, 2.0, 2.0]


def test_the_tcp_window_bounds_a_task() -> None:
    bench = two_hosts(Link("far", 1e9, 0.5))
    # At most 4194304 / (2 * 0.5) bytes a second.
    assert bench.alone(bench.builder.staging(0, 1, 4194304e1)) == pytest.approx(10.5)


def test_flows_on_a_fatpipe_link_do_not_add_up() -> None:
    bench = two_hosts(Link("fat", 1e8, 0.0, shared=False))
    tasks = [bench.add(bench.builder.staging(0, 1, size)) for size in (1e8, 2e8)]
    assert bench.ends(*tasks) == pytest.approx([1.0, 2.0])


def test_an_executor_uses_one_core_unless_told_otherwise() -> None:
    bench = two_hosts(Link("l", 1e9, 0.0), cores=4)
    for executor_cores, seconds in ((1.0, 4.0), (2.0, 2.0), (0.5, 8.0), (64.0, 1.0)):
        work = bench.builder.homogeneous([0], 4e9, 0, executor_cores)
        assert bench.alone(work) == pytest.approx(seconds)


def test_a_single_executor_sends_nothing() -> None:
    bench = cluster()
    assert bench.alone(bench.builder.parallel([0], [1e9], [1e12])) == pytest.approx(1.0)


def test_a_change_of_speed_concerns_running_and_waiting_tasks() -> None:
    bench = two_hosts(Link("l", 1e9, 1.0))
    plain = bench.add(bench.builder.parallel([0], [10e9], []))
    late = bench.add(bench.builder.parallel([1, 0], [0, 4e9], [0, 1.0, 0, 0]))
    bench.engine.set_speed(bench.date(0.5), 0, 0.5e9)
    # From 1 s on both have half of 0.5e9: the late one until 17 s, the other then has 5.25e9 left.
    assert bench.ends(late, plain) == pytest.approx([17.0, 17.0 + 10.5])


def test_speeds_must_be_finite() -> None:
    engine = SharingEngine(Resources([(1e9, 1)]), 1e6)
    with pytest.raises(AssertionError, match="host 0"):
        engine.set_speed((0, 0.0), 0, math.inf)


def test_cancelling_gives_the_others_their_share_back() -> None:
    bench = cluster()
    first = bench.add(bench.builder.staging(0, 1, 1e8))
    second = bench.add(bench.builder.staging(0, 2, 1e8))
    assert bench.engine.cancel(bench.date(0.8006), first) == pytest.approx(0.5)
    assert first.over
    assert bench.engine.cancel(bench.date(0.9), first) == 0.0
    assert bench.ends(second) == pytest.approx([1.2006])


def test_a_task_cancelled_in_its_latency_never_uses_a_link() -> None:
    bench = cluster()
    first = bench.add(bench.builder.staging(0, 1, 1e8))
    second = bench.add(bench.builder.staging(0, 2, 1e8))
    assert bench.engine.cancel(bench.date(0.0003), first) == 1.0
    assert bench.ends(second) == pytest.approx([0.8006])


def test_an_end_before_a_later_call_is_kept_for_step_with_its_exact_date() -> None:
    engine = SharingEngine(Resources([(3.0, 1)]), 1.0)
    first = engine.add((0, 0.0), TaskWork(0.0, host_elements([0], [4.0]), ()))
    other = engine.add((2, 0.0), TaskWork(0.0, host_elements([0], [3.0]), ()))
    assert engine.next_event() == first.ended == (1, pytest.approx(1 / 3))
    assert engine.next_tick() == 2
    assert engine.step() == [first]
    assert engine.step() == [other]


def test_what_follows_an_end_may_start_at_its_exact_date_though_later_things_happened() -> None:
    engine = SharingEngine(Resources([(3.0, 1), (3.0, 1)]), 1.0)
    first = engine.add((0, 0.0), TaskWork(0.0, host_elements([0], [4.0]), ()))
    engine.advance((2, 0.0))
    assert engine.step() == [first]
    tick, frac = first.ended
    follower = engine.add((2, tick - 2 + frac), TaskWork(0.0, host_elements([0], [5.0]), ()))
    assert engine.next_tick() == 3
    assert engine.step() == [follower]
    assert between((0, 0.0), follower.ended) == pytest.approx(3.0, abs=1e-12)


def test_ticks_forgive_float_noise_of_the_duration_only() -> None:
    engine = SharingEngine(Resources([(1.0, 1)]), 1e6)
    engine.add((10, 0.0), TaskWork(0.0, host_elements([0], [1.0 + 5e-10]), ()))
    assert engine.next_tick() == 1_000_010
    engine.add((10, 0.0), TaskWork(0.0, host_elements([0], [1.0 + 5e-9]), ()))
    engine = SharingEngine(Resources([(1.0, 1)]), 1e6)
    engine.add((10, 0.0), TaskWork(0.0, host_elements([0], [1.0 + 5e-9]), ()))
    assert engine.next_tick() == 1_000_011


def test_tasks_that_end_together_come_in_order_of_arrival() -> None:
    bench = cluster()
    tasks = [bench.add(bench.builder.parallel([host], [1e9], [])) for host in (5, 3, 9, 1)]
    assert bench.engine.step() == tasks


def test_loads_are_told_when_they_change_and_only_then() -> None:
    told: list[tuple[float, int, float]] = []
    bench = cluster(on_load=lambda date, host, load: told.append((between((0, 0.0), date) / 1e6, host, load)))
    # 4e8 flops while 1e8 bytes take 0.8 s, after 0.6 ms without any load.
    bench.add(bench.builder.parallel([0, 1], [4e8, 0], [0, 1e8, 0, 0]))
    bench.finish()
    expected = [(0.0006, 0, 0.5), (0.8006, 0, 0.0)]
    assert [time for time, _, _ in told] == pytest.approx([time for time, _, _ in expected])
    assert [(host, load) for _, host, load in told] == [(0, pytest.approx(0.5)), (0, 0.0)]


def test_loads_of_tasks_held_back_by_a_shared_link_follow_its_level() -> None:
    told: list[tuple[int, float]] = []
    bench = cluster(hosts=4, on_load=lambda _, host, load: told.append((host, load)), backbone=1e8)
    for source in (0, 2):
        bench.add(bench.builder.parallel([source, source + 1], [1e9, 0], [0, 1e8 * (1 + source), 0, 0]))
    bench.finish()
    loads = [(host, round(load, 9)) for host, load in told]
    assert loads == [(0, 0.5), (2, round(1 / 6, 9)), (0, 0.0), (2, round(1 / 3, 9)), (2, 0.0)]


def test_many_executors_on_many_cores_never_load_a_host_above_one() -> None:
    bench = two_hosts(Link("l", 1e9, 0.0), cores=3)
    bench.add(bench.builder.homogeneous([0] * 7, 1e9, 0))
    assert bench.engine.load(0) == pytest.approx(1.0)
    assert bench.engine.load(0) <= 1.0


@pytest.mark.parametrize("seed", range(20))
def test_all_to_all_traffic_counted_per_host_equals_that_counted_per_pair(seed: int) -> None:
    dice = random.Random(seed)
    slow, fast = cluster(storage=True), cluster(storage=True, fan=True)
    hosts = [dice.randrange(16) for _ in range(dice.randrange(1, 24))]
    if seed % 2:
        hosts = dice.sample(range(16), len(hosts) % 15 + 1)
    n = len(hosts)
    matrix = [dice.choice([0.0, dice.uniform(0, 1e6)]) for _ in range(n * n)]
    cpu = [dice.choice([0.0, 1e9]) for _ in hosts]
    pairs = [
        (bench.builder.homogeneous(hosts, 1e9, 1e6), bench.builder.parallel(hosts, cpu, matrix))
        for bench in (slow, fast)
    ]
    for one, other in zip(*pairs, strict=True):
        assert one.latency == pytest.approx(other.latency, rel=1e-15)
        assert one.window_rate == pytest.approx(other.window_rate, rel=1e-12)
        assert one.hosts == other.hosts
        assert sorted(one.links) == [
            (link, pytest.approx(amount), pytest.approx(amount), 1)
            for link, amount, _, _ in sorted(other.links)
        ]


def test_the_longest_way_of_all_to_all_traffic_joins_two_hosts() -> None:
    class Uneven(StarNetwork):
        up, down = (1e-3, 2e-3, 9e-3), (4e-3, 1e-3, 8e-3)

        def fan(self, host: int) -> Fan:
            n = self.n
            return Fan(0, (host,), (2 * n,), (n + host,), self.up[host], 0.0, self.down[host])

        def route(self, source: int, target: int) -> Route:
            return Route((source, 2 * self.n, self.n + target), self.up[source] + self.down[target])

    network = Uneven(3)
    resources = Resources([(1e9, 1)] * 3, network.links)
    for hosts, latency in (([0, 1, 2], 13e-3), ([0, 1], 6e-3), ([2, 2, 1], 17e-3)):
        assert WorkBuilder(resources, network).homogeneous(hosts, 0, 1e6).latency == pytest.approx(latency)


def test_homogeneous_is_the_matrix_without_its_diagonal() -> None:
    bench = small()
    hosts = [3, 0, 2]
    matrix = [0.0 if k % 4 == 0 else 5e5 for k in range(9)]
    one, other = bench.builder.homogeneous(hosts, 1e6, 5e5), bench.builder.parallel(hosts, [1e6] * 3, matrix)
    assert bench.alone(one) == bench.alone(other)
    assert sorted(one.links) == sorted(other.links)


def test_a_missing_route_is_a_line_for_the_user() -> None:
    builder = WorkBuilder(Resources([(1e9, 1)] * 2, []), TableNetwork([], {}))
    with pytest.raises(InputError, match="no route from host 0 to host 1"):
        builder.staging(0, 1, 1.0)


def test_tasks_joined_on_a_union_of_hosts_add_up_flops_and_bytes() -> None:
    flops, flows = joined([1.0, 2.0, 4.0], matrix_flows([0, 5, 6, 0, 0, 7, 0, 0, 0], 3), {0: 1, 1: 0, 2: 0})
    assert flops == [6.0, 1.0]
    assert sorted(flows) == [(0, 0, 7), (1, 0, 11)]


def test_simgrid_charges_frozen_tasks_again() -> None:
    """Recorded from SimGrid 3.32: of 100 bytes a second the third task has 45, though 50 are left for it."""
    for textbook, seconds in ((False, 100 / 45), (True, 2.0)):
        network = TableNetwork([Link("l", 100.0, 0.0)], {(a, 3): [0] for a in range(3)})
        bench = Bench([(1.0, 1)] * 4, network, textbook=textbook)
        for host, flops in ((0, 10.0), (1, 2.5)):
            bench.add(bench.builder.parallel([host, 3], [flops, 0], [0, 100, 0, 0]))
        last = bench.add(bench.builder.staging(2, 3, 100))
        assert bench.ends(last) == pytest.approx([seconds])
