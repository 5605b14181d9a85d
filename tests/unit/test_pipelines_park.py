"""Pipelines on a shared park: hosts come and go under them, and nothing runs where it must not."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from pipeline_scripts import chain, finishes, script, start, work
from shared_park import SECOND, SharedRun, run_shared, workload

from batpy.broker.tenants import TenantConfig
from batpy.models.containers.engine import PipelineRun
from batpy.models.containers.statistics import compute_statistics
from batpy.pipelines.park import ParkOptions, ParkPipelines
from batpy.pipelines.simulate import make_policy
from batpy.protocol.records import Ended, Started
from batpy.schedulers.core import SchedulerCore
from batpy.schedulers.registry import make_scheduler
from batpy.workloads.external_events import AVAILABLE, UNAVAILABLE, ExternalEvent
from batpy.workloads.pipelines.parameters import read_parameters
from batpy.workloads.pipelines.trace import Arrival, TraceSource

TICKS = 10
PARAMETERS = f"duration = 120\nticks_per_second = {TICKS}\nwaiting_seconds_mean = 8.0\nnum_pipelines = 3\n"


def shared(folder: Path, policy: str, on_revoke: Any, **options: Any) -> tuple[SharedRun, ParkPipelines]:
    """HPC jobs first in rank, pipelines on the same four hosts."""
    path = folder / "params.toml"
    path.write_text(PARAMETERS + "cpus_per_pool = 16\n")
    pipelines = ParkPipelines(ParkOptions(path, on_revoke=on_revoke))
    dice = random.Random(3)
    widest = 2 if policy == "static" else 4
    jobs = [
        {
            "id": f"j{i}",
            "subtime": dice.randrange(100),
            "res": dice.randint(1, widest),
            "walltime": 60,
            "profile": f"d{dice.randint(1, 3)}",
        }
        for i in range(8)
    ]
    profiles = {f"d{i}": {"type": "delay", "delay": i * 5} for i in range(1, 4)}
    tenants = [
        (TenantConfig("hpc", ("hpc",)), make_scheduler("easy")),
        (TenantConfig("pipes", dynamic_jobs=True), SchedulerCore(pipelines, "pipelines")),
    ]
    return run_shared(policy, tenants, [workload("hpc", jobs, profiles)], 4, **options), pipelines


def held(run: SharedRun) -> list[tuple[int, int, int]]:
    """(host, begin, end) of every job that held a host for pipelines."""
    spans, begun = [], {}
    for record in run.journal:
        if isinstance(record, Started):
            begun[record.job] = record
        elif isinstance(record, Ended) and record.job.startswith("pipelines!"):
            started = begun[record.job]
            spans.append((started.alloc[0][0], started.time, record.time))
    return spans


def first_host(policy: str) -> int:
    """Hosts of a tenant are numbered from 0 for itself; its static half begins later."""
    return 2 if policy == "static" else 0


@pytest.mark.parametrize("on_revoke", ["kill", "suspend"])
@pytest.mark.parametrize("policy", ["static", "priority", "priority[prolog_base=2,grace=1]", "bebida"])
def test_containers_run_on_hosts_that_are_held_only(policy: str, on_revoke: str, tmp_path: Path) -> None:
    run, pipelines = shared(tmp_path, policy, on_revoke)
    spans = held(run)
    ended = 0
    for event in pipelines.run.record.events:
        if event.kind != "start":
            continue
        container = event.container
        last = container.suspended_at if container.suspend_ticks is not None else container.ended
        if last is None:
            continue
        ended += 1
        begin, end = container.started * SECOND // TICKS, last * SECOND // TICKS
        host = container.pool_id + first_host(policy)
        assert any(at == host and since <= begin and end <= until for at, since, until in spans), event
    assert ended > 20


def _holds(record: Any) -> bool:
    return isinstance(record, Ended) and record.job.startswith("pipelines!")


def test_killed_containers_come_back_and_are_told_as_revoked(tmp_path: Path) -> None:
    run, killed = shared(tmp_path, "priority", "kill")
    peaceful, written = shared(tmp_path, "priority", "suspend")
    assert killed.run.record.failures["revoked"] > 0
    assert {record.state for record in run.journal if _holds(record)} == {
        "COMPLETED_SUCCESSFULLY",
        "COMPLETED_KILLED",
    }
    assert {record.state for record in peaceful.journal if _holds(record)} == {"COMPLETED_SUCCESSFULLY"}
    assert "revoked" not in written.run.record.failures
    assert compute_statistics(killed.run).usage.lost_cpu_seconds > 0  # type: ignore[union-attr]


def test_a_host_that_fails_takes_its_containers_along(tmp_path: Path) -> None:
    events = [
        ExternalEvent(20 * SECOND, UNAVAILABLE, ((0, 0),), {}, "events", 1),
        ExternalEvent(60 * SECOND, AVAILABLE, ((0, 0),), {}, "events", 2),
    ]
    run, pipelines = shared(tmp_path, "priority", "kill", events=events)
    spans = [(since, until) for host, since, until in held(run) if host == 0]
    assert all(until <= 20 * SECOND or since >= 60 * SECOND for since, until in spans)
    assert pipelines.run.record.failures["revoked"] > 0


@pytest.mark.parametrize("algorithm", ["naive", "sjf", "overbook", "priority-est"])
def test_every_policy_tries_again_what_was_revoked(algorithm: str) -> None:
    single = algorithm in ("sjf", "overbook")
    file = read_parameters(
        {
            "duration": 10,
            "ticks_per_second": 10,
            "scheduler_algo": algorithm,
            "multi_operator_containers": not single,
            "allow_memory_overcommit": single,
        }
    )
    arrivals = TraceSource([Arrival(0.0, chain("a", work(1.0), work(1.0)))], 0.1, exact=False)
    run = PipelineRun(file.parameters, arrivals, pool_sizes=[(8, 60)])
    run.policy = make_policy(run, file)
    run.advance(12)
    run.withdraw(0, "kill")
    run.advance(14)
    run.restore(0)
    run.advance(99)
    assert run.record.failures == {"revoked": 1}
    assert finishes(run) == [24]


def test_equal_runs_leave_equal_bytes(tmp_path: Path) -> None:
    first, second = (shared(tmp_path, "priority", "suspend")[0].raw for _ in range(2))
    assert first == second


def engine(*segments: Any) -> PipelineRun:
    file = read_parameters(
        {
            "duration": 10,
            "ticks_per_second": 10,
            "num_pools": 1,
            "cpus_per_pool": 10,
            "scheduler_algo": "script",
        }
    )
    arrivals = TraceSource([Arrival(0.0, chain("a", *segments))], 0.1, exact=False)
    run = PipelineRun(file.parameters, arrivals, pool_sizes=[(8, 60), (4, 30)])
    run.policy = make_policy(run, file)
    return run


def test_pools_of_different_sizes_that_are_withdrawn_and_restored() -> None:
    plan = script("script")
    plan[0] = lambda s, pipelines: ([], [start(pipelines[0], 8, 60)])
    run = engine(work(0.5), work(0.5))
    first, second = run.executor.pools
    assert (first.max_cpu_pool, second.max_ram_pool) == (8, 30)
    run.advance(3)
    run.withdraw(0, "suspend")
    run.advance(4)
    assert not first.is_vacant
    run.advance(40)  # its operator ends in tick 4, it is written out from tick 5 on: 60 GB in 30 ticks
    assert first.is_vacant
    assert [(event.tick, event.kind) for event in run.record.events] == [
        (0, "start"),
        (5, "suspend"),
        (34, "suspended"),
    ]
    assert (first.avail_cpu_pool, first.avail_ram_pool) == (0, 0)
    run.restore(0)
    assert (first.avail_cpu_pool, first.avail_ram_pool) == (8, 60)


def test_a_pool_that_is_killed_empty() -> None:
    plan = script("script")
    plan[0] = lambda s, pipelines: ([], [start(pipelines[0], 8, 60)])
    plan[5] = lambda s, pipelines: ([], [start(pipelines[0], 4, 30, pool=1)])
    run = engine(work(0.5))
    run.advance(2)
    run.withdraw(0, "kill")
    run.advance(99)
    ends = [(event.tick, event.error) for event in run.record.events if event.kind == "end"]
    assert ends == [(3, "revoked"), (9, None)]
    assert finishes(run) == [9]
