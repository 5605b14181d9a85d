"""Bebida with applications of stages: what is left of them after hosts were taken, worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest
from shared_park import SECOND, SharedRun, run_shared, workload

from batpy.broker.tenants import TenantConfig
from batpy.protocol.records import Ended, Started, Submitted
from batpy.results.accounting.fold import account_records
from batpy.schedulers.registry import make_scheduler
from batpy.workloads.profile import StageDag

HPC, BDA = (
    TenantConfig("hpc", ("h",)),
    TenantConfig(
        "bda", ("d",), ("sharing",), dynamic_jobs=True, acknowledge_dynamic_jobs=True,
        profile_reuse=True, forward_profiles=True,
    ),
)  # fmt: skip
# Eight tasks of 10 s, then four of 2 s that read what they wrote.
APP: dict[str, Any] = {
    "type": "stage_dag",
    "stages": [
        {"id": 0, "tasks": 8, "durations": [10] * 8},
        {"id": 1, "tasks": 4, "durations": [2] * 4, "parents": [0]},
    ],
}


def shared(app: dict[str, Any], rebalance: str = "never", burst: float = 15) -> SharedRun:
    """An application on four hosts of one core, and an HPC job that takes host 0 for 5 s."""
    return run_shared(
        "bebida",
        [(HPC, make_scheduler("easy")), (BDA, make_scheduler(f"bebida[rebalance={rebalance}]"))],
        [
            workload(
                "h",
                [{"id": "0", "subtime": burst, "res": 1, "walltime": 9, "profile": "t"}],
                {"t": {"type": "delay", "delay": 5}},
            ),
            workload("d", [{"id": "0", "subtime": 0, "res": 4, "profile": "app"}], {"app": app}),
        ],
        4,
    )


def second(run: SharedRun) -> StageDag:
    """The profile of the second attempt."""
    [profile] = [r.profile for r in run.journal if isinstance(r, Submitted) and r.job == "d!0#1"]
    found = run.simulator.homes["d"].profile(profile)
    assert isinstance(found, StageDag)
    return found


def spans(run: SharedRun) -> dict[str, tuple[float, float]]:
    starts = {r.job: r.time for r in run.journal if isinstance(r, Started)}
    return {
        r.job: (starts[r.job] / SECOND, r.time / SECOND)
        for r in run.journal
        if isinstance(r, Ended) and r.job.startswith("d")
    }


def amounts(run: SharedRun) -> tuple[float, float, float]:
    """Core-seconds: useful, lost, executed again."""
    [job] = [one for one in account_records(run.journal, run.sharing).jobs if one.job == "d!0"]
    return job.useful / SECOND, job.lost / SECOND, job.reexecuted / SECOND


def test_only_what_was_on_the_host_taken_is_done_again() -> None:
    run = shared(APP)
    stage, last = second(run).dag.stages
    # Task 0 had written on host 0, task 4 ran there; 5, 6 and 7 were half done on the others.
    assert stage.left == "0 4-7"
    assert stage.outputs == {"host1": "1", "host2": "2", "host3": "3"}
    assert stage.resumed == {"5": 5, "6": 5, "7": 5}
    assert last.left is None
    # On three hosts: 0 and 4 until 25, 5 until 20, 6 until 25, 7 until 30; then two waves of 2 s.
    assert spans(run) == {"d!0": (0, 15), "d!0#1": (15, 34)}
    # Of 60 core-seconds 45 count, and all of 19 s on three hosts.
    assert amounts(run) == pytest.approx((45 + 57, 15, 15))


def test_a_shuffle_service_loses_running_tasks_only() -> None:
    run = shared({**APP, "shuffle": "external"})
    stage = second(run).dag.stages[0]
    assert (stage.left, stage.outputs) == ("4-7", {})
    # 4 until 25, 5 until 20, 6 until 20, 7 until 25.
    assert spans(run)["d!0#1"] == (15, 25 + 4)
    assert amounts(run) == pytest.approx((55 + 42, 5, 5))


def test_a_checkpoint_saves_most_of_a_running_task() -> None:
    run = shared({**APP, "shuffle": "pfs", "checkpoint": 2})
    assert second(run).dag.stages[0].resumed == {"4": 4, "5": 5, "6": 5, "7": 5}
    assert amounts(run)[1:] == pytest.approx((1, 1))


def test_a_voluntary_restart_loses_nothing() -> None:
    # Host 0 is taken before the application comes, and given back at 5.
    app = {**APP, "slots": {"0": 1}}
    run = run_shared(
        "bebida",
        [(HPC, make_scheduler("easy")), (BDA, make_scheduler("bebida[rebalance=always]"))],
        [
            workload(
                "h",
                [{"id": "0", "subtime": 0, "res": 1, "walltime": 9, "profile": "t"}],
                {"t": {"type": "delay", "delay": 5}},
            ),
            workload("d", [{"id": "0", "subtime": 1, "res": 4, "profile": "app"}], {"app": app}),
        ],
        4,
    )
    stage = second(run).dag.stages[0]
    assert (stage.left, stage.resumed) == (None, {"0": 4, "1": 4, "2": 4})
    # Four slots from 5: 0, 1, 2 until 11, 3 until 15, 4 to 6 until 21, 7 until 25; then one wave.
    assert spans(run) == {"d!0": (1, 5), "d!0#1": (5, 27)}
    assert amounts(run) == pytest.approx((4 * 3 + 22 * 4, 0, 0))


def test_a_restart_that_gains_little_is_not_worth_it() -> None:
    gains = {
        rebalance: len(spans(shared({**APP, "slots": {"0": 8}}, rebalance, burst=1)))
        for rebalance in ("gain", "always")
    }
    # The second attempt on three hosts has some seconds to run: a restart is taken to cost 5.
    assert gains == {"gain": 2, "always": 3}
