"""Speed of applications of stages: tasks that start and end, with and without locality, in the simulator."""

from __future__ import annotations

import random
import timeit
from collections.abc import Callable
from typing import Any

import pytest
from playback import Greedy, JobList, Journal, hosts

from batpy.dfs.delay import SkipCount, Waits
from batpy.models.dag.blueprint import Site, load_of
from batpy.models.dag.draws import loads_of, task_times
from batpy.models.dag.engine import run
from batpy.models.dag.load import JobLoad, Load, Seats, StageLoad
from batpy.models.dag.progress import progress_of
from batpy.protocol.records import Ended
from batpy.simulator.config import SimulatorConfig
from batpy.simulator.core import Simulator
from batpy.simulator.core import run as simulate
from batpy.workloads.profile import StageDag, parse_profile

pytestmark = pytest.mark.bench

STAGES, TASKS, JOBS = 40, 5000, 10
COUNT = STAGES * TASKS


def best(action: Callable[[], object], repeat: int = 5) -> float:
    return min(timeit.repeat(action, number=1, repeat=repeat))


def load(slots: int, *, near: bool = False, delay: SkipCount | Waits | None = None) -> Load:
    dice = random.Random(1)
    machines = slots // 4
    tasks = TASKS // 10 if near else TASKS
    stages = [
        StageLoad(
            index,
            index // (STAGES // JOBS),
            0,
            [index - 1] if index % (STAGES // JOBS) else [],
            [dice.randrange(1, 10_000_000) for _ in range(tasks)],
            [dice.sample(range(machines), 3) for _ in range(tasks)] if near else None,
            1_000_000,
        )
        for index in range(STAGES)
    ]
    seats = [Seats(host, 0, 4) for host in range(machines)]
    return Load(stages, [JobLoad(-1, 1000 * i) for i in range(JOBS)], seats, [0], machines, delay)


@pytest.mark.parametrize("slots", [128, 1024])
def test_the_loop(slots: int) -> None:
    one = load(slots)
    seconds = best(lambda: run(one))
    print(f"\n{slots} slots: {COUNT / seconds:,.0f} tasks/s, each with a start and an end")


@pytest.mark.parametrize("delay", [None, SkipCount(40, 0), Waits(reset="launch")])
def test_the_loop_with_locality(delay: SkipCount | Waits | None) -> None:
    one = load(128, near=True, delay=delay)
    seconds = best(lambda: run(one), 3)
    print(f"\n128 slots, {delay}: {COUNT // 10 / seconds:,.0f} tasks/s")


def application(tasks: int) -> dict[str, Any]:
    table = [0.5 + step / 4 for step in range(17)]
    stages = [
        {
            "id": index,
            "tasks": tasks,
            "times": table,
            "job": index // 4,
            "parents": [index - 1] if index % 4 else [],
        }
        for index in range(STAGES)
    ]
    jobs = [{"id": index} for index in range(JOBS)]
    return {"type": "stage_dag", "slots": {"0": 16}, "jobs": jobs, "stages": stages}


def test_whole_simulation() -> None:
    """Eight applications of drawn tasks, drawing included."""
    raw = {f"a{i}": application(TASKS // 8) for i in range(8)}
    jobs = [{"id": name, "subtime": i, "res": 8, "profile": name} for i, name in enumerate(raw)]

    def once() -> None:
        loads_of.cache_clear()
        task_times.cache_clear()
        journal = Journal()
        simulate(Simulator(hosts(64), [JobList(jobs, raw)], journal, SimulatorConfig()), Greedy())
        assert len(journal.of(Ended)) == 8

    seconds = best(once, 3)
    print(f"\nsimulator, embedded: {COUNT / seconds:,.0f} tasks/s")


def test_progress_at_a_kill() -> None:
    profile = parse_profile("p", application(TASKS))
    assert isinstance(profile, StageDag)
    site = Site([f"n{i}" for i in range(8)], [1] * 8)
    end = run(load_of(profile, site, 0)).end

    def once() -> None:
        whole = load_of(profile, site, 0)
        progress_of(profile.dag, whole, run(whole), end // 2)

    print(f"\nprogress of {COUNT} tasks: {best(once, 3):.3f} s")
