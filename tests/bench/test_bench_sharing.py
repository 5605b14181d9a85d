"""Processor time of a change among many tasks that share links, and whole runs through the engine alone."""

from __future__ import annotations

import random
import time
from statistics import median

import pytest
from sharing_platforms import StarNetwork

from batpy.models.sharing.engine import SharingEngine
from batpy.models.sharing.resources import Resources
from batpy.models.sharing.work import WorkBuilder

pytestmark = pytest.mark.bench


@pytest.mark.parametrize(
    "every", [0, 1000, 10, 2], ids=["backbone only", "one host shared", "a tenth shared", "all shared"]
)
def test_cost_of_a_change_among_1000_tasks_on_one_backbone(every: int) -> None:
    dice = random.Random(1)
    n = 2200
    network = StarNetwork(n)
    resources = Resources([(1e9, 4)] * n, network.links)
    builder, engine = WorkBuilder(resources, network), SharingEngine(resources, 1e6)
    free = list(range(n // 2))
    now = 0

    def start() -> None:
        pair = free.pop()
        # Some tasks also compute on a host of the next one.
        hosts = [2 * pair + 2 if every and pair % every == 0 else 2 * pair, 2 * pair + 1]
        engine.add((now, 0.0), builder.parallel(hosts, [1e9, 0], [0, dice.uniform(1e7, 1e10), 0, 0]), pair)

    for _ in range(1000):
        start()
    costs = []
    for _ in range(2000):
        event = engine.next_event()
        assert event is not None
        now = event[0] + 1
        begin = time.process_time()
        ended = engine.step()
        costs.append(time.process_time() - begin)
        for task in ended:
            free.insert(0, task.owner)
            start()
    mean = sum(costs) / len(costs)
    print(f"\n{median(costs) * 1e6:.0f} us a change (median), {mean * 1e6:.0f} us the mean")


@pytest.mark.parametrize("backbone", [1e12, 2.25e9], ids=["never saturated", "saturated"])
def test_tasks_a_second_on_a_cluster_of_128_hosts(backbone: float) -> None:
    dice = random.Random(2)
    network = StarNetwork(128, backbone=backbone)
    resources = Resources([(1e9, 1)] * 128, network.links)
    builder, engine = WorkBuilder(resources, network), SharingEngine(resources, 1e6)
    sizes = [dice.choice([1, 2, 2, 4, 4, 8, 16]) for _ in range(10_000)]
    amounts = [(dice.uniform(1e8, 1e11), dice.uniform(1e6, 1e9)) for _ in sizes]
    free = list(range(128))
    waiting = list(range(len(sizes)))[::-1]
    most = now = done = 0
    building = 0.0
    begin = time.process_time()
    while waiting or most:
        while waiting and sizes[waiting[-1]] <= len(free):
            job = waiting.pop()
            hosts, free = free[: sizes[job]], free[sizes[job] :]
            clock = time.process_time()
            work = builder.homogeneous(hosts, *amounts[job])
            building += time.process_time() - clock
            engine.add((now, 0.0), work, hosts)
            most += 1
        tick = engine.next_tick()
        assert tick is not None
        now = tick
        for task in engine.step():
            free += task.owner
            most -= 1
            done += 1
    spent = time.process_time() - begin
    print(
        f"\n{done / spent:.0f} tasks/s, of {spent / done * 1e6:.0f} us a task "
        f"{building / done * 1e6:.0f} us building its work; {sum(sizes) / len(sizes):.1f} hosts a task"
    )


@pytest.mark.parametrize("fan", [True, False], ids=["per host", "per pair"])
def test_cost_of_building_all_to_all_work_of_128_hosts(fan: bool) -> None:
    network = StarNetwork(128)
    resources = Resources([(1e9, 1)] * 128, network.links)
    builder = WorkBuilder(resources, network)
    if not fan:
        builder._fan = None
    costs = []
    for _ in range(20):
        begin = time.process_time()
        builder.homogeneous(range(128), 1e9, 1e6)
        costs.append(time.process_time() - begin)
    print(f"\n{min(costs) * 1e6:.0f} us")
