"""Random cases for the sharing engine, and the ways to run one on the engine and on its slow twin."""

from __future__ import annotations

import random
from dataclasses import dataclass

from sharing_platforms import TableNetwork
from sharing_twin import Twin, TwinLink, TwinTask

from batpy.models.sharing.engine import SharingEngine
from batpy.models.sharing.resources import Resources
from batpy.models.sharing.task import Task, between
from batpy.models.sharing.work import WorkBuilder
from batpy.platforms.network import Link


@dataclass
class Case:
    hosts: list[list[float]]
    links: list[TwinLink]
    routes: dict[tuple[int, int], list[int]]
    tasks: list[TwinTask]
    speeds: list[tuple[float, int, float]]


def random_case(dice: random.Random, *, fat: bool = True, speeds: bool = True, cancels: bool = True) -> Case:
    """A small platform of random shape, and up to a dozen tasks on it."""
    shape = dice.choice(["backbone", "chain", "free"])
    n = dice.randrange(2, 9)
    hosts = [[dice.choice([1e8, 1e9, dice.uniform(1e8, 4e9)]), dice.choice([1, 1, 2, 4])] for _ in range(n)]
    links: list[TwinLink] = []

    def link(low: float, high: float) -> int:
        latency = dice.choice([0.0, dice.uniform(1e-5, 1e-2), dice.choice([0.05, 0.2])])
        links.append(TwinLink(dice.uniform(low, high), latency, not (fat and dice.random() < 0.15)))
        return len(links) - 1

    routes: dict[tuple[int, int], list[int]] = {}
    if shape == "backbone":
        middle = link(1e8, 5e8)
        links[middle].shared = True
        ups, downs = [link(5e7, 4e8) for _ in range(n)], [link(5e7, 4e8) for _ in range(n)]
        for a in range(n):
            for b in range(n):
                routes[a, b] = [ups[a], middle, downs[b]]
    elif shape == "chain":
        steps = [link(5e7, 4e8) for _ in range(n - 1)]
        loopback = link(1e9, 2e9)
        for a in range(n):
            for b in range(n):
                way = steps[min(a, b) : max(a, b)]
                routes[a, b] = (way if a < b else way[::-1]) if a != b else [loopback]
    else:
        pool = [link(5e7, 1e9) for _ in range(dice.randrange(1, 7))]
        for a in range(n):
            for b in range(n):
                routes[a, b] = dice.sample(pool, dice.randrange(0, min(4, len(pool)) + 1))
    tasks = [_random_task(dice, n, cancels) for _ in range(dice.randrange(1, 13))]
    changes = []
    if speeds and dice.random() < 0.5:
        changes = [
            (dice.uniform(0, 6), dice.randrange(n), dice.uniform(1e8, 4e9))
            for _ in range(dice.randrange(1, 5))
        ]
    return Case(hosts, links, routes, tasks, changes)


def _random_task(dice: random.Random, n: int, cancels: bool) -> TwinTask:
    if dice.random() < 0.7:
        executors = dice.sample(range(n), dice.randrange(1, n + 1))
    else:
        executors = [dice.randrange(n) for _ in range(dice.randrange(1, 6))]
    k = len(executors)
    kind = dice.random()
    cpu = [0.0 if kind < 0.25 or dice.random() < 0.2 else dice.uniform(1e7, 4e9) for _ in range(k)]
    if dice.random() < 0.3:
        cpu = [dice.choice([0.0, 1e9])] * k
    scale = dice.choice([1e6, 1e8])
    if dice.random() < 0.4:
        flows = [(a, b, scale) for a in range(k) for b in range(k) if a != b]
    else:
        flows = [
            (a, b, dice.uniform(0.1, 1) * scale) for a in range(k) for b in range(k) if dice.random() < 0.4
        ]
    if kind > 0.85:
        flows = []
    start = dice.choice([0.0, 0.0, dice.uniform(0, 5)])
    cancel = start + dice.uniform(0, 4) if cancels and dice.random() < 0.15 else None
    return TwinTask(start, executors, cpu, flows, cancel, dice.choice([1.0, 1.0, 1.0, 0.5, 2.0]))


def run_twin(case: Case, textbook: bool) -> None:
    """Fill in ``end`` and ``cancelled_with`` of the case's tasks."""
    twin = Twin([list(host) for host in case.hosts], case.links, case.routes, textbook)
    twin.run(case.tasks, case.speeds)


def run_engine(
    case: Case, textbook: bool, ticks_per_second: float = 1.0, late: int = 0
) -> tuple[list[Task], dict[int, float]]:
    """Run a case.

    Args:
        late: tick at which the case's date 0 lies.

    Returns:
        the engine's tasks in the order of the case's, and what was left of those that were cancelled in time.
    """
    links = [Link(f"l{k}", link.bandwidth, link.latency, link.shared) for k, link in enumerate(case.links)]
    resources = Resources([(speed, int(cores)) for speed, cores in case.hosts], links)
    builder = WorkBuilder(resources, TableNetwork(links, case.routes))
    engine = SharingEngine(resources, ticks_per_second, textbook=textbook)
    made: list[Task | None] = [None] * len(case.tasks)
    left: dict[int, float] = {}
    acts: list[tuple[float, int, int]] = []
    for index, task in enumerate(case.tasks):
        acts.append((task.start, 0, index))
        if task.cancel is not None:
            acts.append((task.cancel, 1, index))
    acts += [(change[0], 2, index) for index, change in enumerate(case.speeds)]
    for seconds, kind, index in sorted(acts):
        date = (late, seconds * ticks_per_second)
        if kind == 0:
            task = case.tasks[index]
            work = builder.flows(task.hosts, task.cpu, task.flows, task.executor_cores)
            made[index] = engine.add(date, work, index)
        elif kind == 1:
            known = made[index]
            assert known is not None
            rest = engine.cancel(date, known)
            if rest > 0:
                left[index] = rest
        else:
            _, host, speed = case.speeds[index]
            engine.set_speed(date, host, speed)
    while engine.next_event() is not None:
        engine.step()
    return [task for task in made if task is not None], left


def crowd_case(dice: random.Random, count: int) -> Case:
    """Many tasks that come and go on one backbone, most with hosts of their own."""
    n = 2 * count
    hosts: list[list[float]] = [[1e9, 1] for _ in range(n)]
    links = [TwinLink(dice.uniform(5e7, 4e8), 0.0) for _ in range(n)]
    links.append(TwinLink(dice.uniform(1e8, 4e9), dice.choice([0.0, 0.01])))
    routes = {}
    tasks = []
    for k in range(count):
        pair = [2 * k, 2 * k + 1]
        if dice.random() < 0.05:
            pair[0] = dice.randrange(2 * k + 1)
        for a in pair:
            for b in pair:
                routes[a, b] = [a, n] if a == b else [a, n, b]
        cpu = dice.choice([0.0, dice.uniform(1e8, 1e10)])
        size = 10 ** dice.uniform(1, 10)
        start = dice.choice([0.0, dice.uniform(0, 20)])
        cancel = start + dice.uniform(0, 20) if dice.random() < 0.1 else None
        tasks.append(TwinTask(start, pair, [cpu, 0.0], [(0, 1, size)], cancel))
    speeds = [(dice.uniform(0, 20), dice.randrange(n), dice.uniform(1e8, 1e9)) for _ in range(count // 4)]
    return Case(hosts, links, routes, tasks, speeds)


def bridged_case(dice: random.Random, count: int) -> Case:
    """Crowds on two or three links, and a few tasks that cross several of them or share hosts."""
    n = 2 * count
    hosts: list[list[float]] = [[1e9, dice.choice([1, 2])] for _ in range(n)]
    common = dice.randrange(2, 4)
    links = [TwinLink(dice.uniform(1e8, 4e9), dice.choice([0.0, 0.01])) for _ in range(common)]
    if dice.random() < 0.3:
        links.append(TwinLink(dice.uniform(1e8, 4e8), 0.0, shared=False))
    routes = {}
    tasks = []
    for k in range(count):
        pair = [2 * k, 2 * k + 1]
        if dice.random() < 0.1:
            pair[0] = dice.randrange(2 * k + 1)
        way = [dice.randrange(common)]
        if dice.random() < 0.2:
            way = dice.sample(range(len(links)), dice.randrange(2, len(links) + 1))
        for a in pair:
            for b in pair:
                routes[a, b] = way
        cpu = dice.choice([0.0, dice.uniform(1e8, 1e10)])
        start = dice.choice([0.0, dice.uniform(0, 20)])
        cancel = start + dice.uniform(0, 20) if dice.random() < 0.1 else None
        tasks.append(TwinTask(start, pair, [cpu, 0.0], [(0, 1, 10 ** dice.uniform(6, 10))], cancel))
    speeds = [(dice.uniform(0, 20), dice.randrange(n), dice.uniform(1e8, 1e9)) for _ in range(count // 8)]
    return Case(hosts, links, routes, tasks, speeds)


def disagreements(case: Case, textbook: bool, **options: float) -> list[str]:
    """Where engine and twin differ by more than 1e-9: of a date, or of the work left at a cancel."""
    run_twin(case, textbook)
    scale = options.get("ticks_per_second", 1.0)
    tasks, left = run_engine(case, textbook, **options)  # type: ignore[arg-type]
    found = []
    for index, (slow, fast) in enumerate(zip(case.tasks, tasks, strict=True)):
        if slow.end is not None:
            end = slow.start + between(fast.began, fast.ended) / scale
            if not fast.over or index in left or abs(end - slow.end) > 1e-9 * max(slow.end, 1e-3):
                found.append(f"task {index} ends at {end}, its twin at {slow.end}")
        elif slow.cancelled_with is not None:
            if abs(left.get(index, 9.0) - slow.cancelled_with) > 1e-9:
                found.append(f"task {index} has {left.get(index)} left, its twin {slow.cancelled_with}")
        elif fast.over:
            found.append(f"task {index} ends, its twin never does")
    return found
