"""``spark_pods`` behind the broker: executors that come, go and are missed, on nodes of two hosts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from batpy.base.errors import InputError
from batpy.results.accounting.run import account_run
from batpy.results.audit import audit
from batpy.studies.runs import Finished, RunSpec, carry_out

HOSTS = 8  # four nodes
SLICES = 100


def ends(run: Finished) -> dict[str, Any]:
    """When each application was over, after how many attempts; the audit must have nothing to say."""
    account = account_run(run.folder)
    second = account.begins.ticks_per_second
    assert audit(run.folder).passed
    apps = sorted(job for job in account.jobs if job.job.startswith("bda!"))
    return {
        "ends": [job.ended / second for job in apps],
        "attempts": [job.attempts for job in apps],
        "lost": sum(job.lost for job in apps) / second,
    }


def run(
    folder: Path,
    hpc: list[tuple[float, int, float]],
    *,
    options: str = "",
    executors: int = 2,
    work: float = 40.0,
    apps: int = 1,
) -> dict[str, Any]:
    """Applications of *work* seconds on *executors* nodes, beside HPC jobs (date, hosts, seconds)."""
    flops = work * executors * 2 * 1e9 / SLICES
    bda = {
        "nb_res": HOSTS,
        "jobs": [{"id": str(i), "subtime": 0, "res": executors * 2, "profile": "pi"} for i in range(apps)],
        "profiles": {
            "pi": {"type": "composed", "repeat": SLICES, "seq": ["slice"]},
            "slice": {"type": "parallel_homogeneous_total", "cpu": flops, "com": 0},
        },
    }
    jobs = {
        "nb_res": HOSTS,
        "jobs": [
            {"id": str(i), "subtime": date, "res": res, "walltime": seconds * 2, "profile": f"p{i}"}
            for i, (date, res, seconds) in enumerate(hpc)
        ],
        "profiles": {f"p{i}": {"type": "delay", "delay": s} for i, (_, _, s) in enumerate(hpc)},
    }
    algorithm = f"spark_pods[node_hosts=2,driver_start=8,executor_start=5{options}]"
    experiment = {
        "platform": {"hosts": HOSTS, "speed": "1Gf"},
        "broker": {"policy": "bebida"},
        "workload": [
            {"id": "hpc", "file": "hpc.json", "scheduler": "hpc"},
            {"id": "bda", "file": "bda.json", "scheduler": "bda"},
        ],
        "scheduler": {"hpc": {"algorithm": "fcfs"}, "bda": {"algorithm": algorithm}},
    }
    return carry_out(
        RunSpec("run", {}, experiment, {"hpc.json": jobs, "bda.json": bda}, ends), folder, keep=False
    )


def test_alone_an_application_takes_its_starts_and_its_work(tmp_path: Path) -> None:
    assert run(tmp_path, [])["ends"] == pytest.approx([8 + 5 + 40])


def test_applications_follow_each_other_after_a_pause(tmp_path: Path) -> None:
    assert run(tmp_path, [], apps=3, options=",pause=7")["ends"] == pytest.approx([53, 113, 173])


def test_an_executor_that_is_lost_is_replaced_and_costs_its_start_only(tmp_path: Path) -> None:
    # HPC takes half of each node in turn: whichever nodes were drawn, both executors are lost at 23 s. Two
    # nodes are left at once, since the jobs need one host of nodes 0 to 3 and end at once.
    found = run(tmp_path, [(23.0, 8, 1.0)])
    # Ten seconds of work were done; at 24 s both pods are placed anew, and are ready at 29 s.
    assert found["ends"] == pytest.approx([29 + 30], abs=0.5)
    assert found["attempts"] == [2]
    assert found["lost"] < 0.5 * 4


def test_with_one_executor_the_application_goes_on_more_slowly(tmp_path: Path) -> None:
    # All nodes but the last one are taken for good; one executor at most is left.
    found = run(tmp_path, [(23.0, 6, 1000.0)], executors=4, work=20.0)
    # 10 of 20 s are done by four; node 3 does the other 40 node-seconds.
    assert found["ends"] == pytest.approx([23 + 40], abs=0.5)


def test_tasks_wait_for_four_fifths_of_the_executors_or_half_a_minute(tmp_path: Path) -> None:
    found = run(tmp_path, [(0.0, 4, 1000.0)], executors=4, work=10.0)
    assert found["ends"] == pytest.approx([8 + 30 + 20], abs=0.01)
    found = run(tmp_path, [(0.0, 4, 1000.0)], executors=4, work=10.0, options=",ratio=0.5")
    assert found["ends"] == pytest.approx([8 + 5 + 20], abs=0.01)


@pytest.mark.parametrize(("lost_at", "noticed_at"), [(23.0, 180.0), (67.9, 180.0), (68.1, 240.0)])
def test_a_loss_that_is_not_noticed_is_found_at_a_look_of_the_driver(
    tmp_path: Path, lost_at: float, noticed_at: float
) -> None:
    """Looks are every 60 s from the context (8 s) on: the first one more than 120 s after the loss."""
    found = run(tmp_path, [(lost_at, 8, 1.0)], work=100.0, options=",p=1", executors=4)
    assert found["ends"][0] >= 8 + noticed_at
    again = run(tmp_path, [(lost_at, 6, 1.0)], work=70.0, options=",p=1", executors=4)
    # Node 3 stays: it does what is left by itself and keeps the last quarter of a second.
    assert again["ends"][0] >= 8 + noticed_at


def test_an_application_that_is_done_but_for_a_lost_task_ends_when_that_is_noticed(tmp_path: Path) -> None:
    found = run(tmp_path, [(23.0, 6, 1.0)], work=30.0, options=",p=1", executors=4)
    assert found["ends"] == pytest.approx([8 + 180 + 0.25], abs=0.1)
    assert found["attempts"] == [3]


def test_without_losses_the_probability_is_of_no_matter(tmp_path: Path) -> None:
    assert run(tmp_path, [], options=",p=1")["ends"] == pytest.approx([53])


def test_equal_seeds_draw_equal_nodes(tmp_path: Path) -> None:
    hpc = [(10.0 + 4 * i, 1 + i % 3, 9.0) for i in range(12)]
    first = [run(tmp_path, hpc, options=f",p=0.5,seed={seed}") for seed in (1, 1, 2, 3)]
    assert first[0] == first[1]
    assert any(other != first[0] for other in first[2:])


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (",p=1.5", "p must be between 0 and 1"),
        (",detect_interval=0", "detect_interval must be above 0"),
        (",pause=-1", "pause must be a number from 0"),
    ],
)
def test_options_out_of_range_are_refused(tmp_path: Path, options: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        run(tmp_path, [], options=options)


def test_an_application_that_fits_no_nodes_is_rejected(tmp_path: Path) -> None:
    hosts = {"nb_res": HOSTS, "jobs": [], "profiles": {}}
    bda = {
        "nb_res": HOSTS,
        "jobs": [{"id": "0", "subtime": 0, "res": 3, "profile": "p"}],
        "profiles": {"p": {"type": "parallel_homogeneous_total", "cpu": 1e9, "com": 0}},
    }
    experiment = {
        "platform": {"hosts": HOSTS, "speed": "1Gf"},
        "broker": {"policy": "bebida"},
        "workload": [
            {"id": "hpc", "file": "hpc.json", "scheduler": "hpc"},
            {"id": "bda", "file": "bda.json", "scheduler": "bda"},
        ],
        "scheduler": {"hpc": {"algorithm": "fcfs"}, "bda": {"algorithm": "spark_pods[node_hosts=2]"}},
    }
    spec = RunSpec("run", {}, experiment, {"hpc.json": hosts, "bda.json": bda}, states)
    assert carry_out(spec, tmp_path, keep=False) == {"states": ["REJECTED"]}


def states(run: Finished) -> dict[str, Any]:
    """How jobs ended."""
    return {"states": [job.state for job in account_run(run.folder).jobs]}


def test_a_loss_that_leaves_next_to_nothing_to_do_holds_the_application_back_all_the_same(
    tmp_path: Path,
) -> None:
    # Of the last slice 0.05 s are left; it begins again on three executors when the driver knows.
    found = run(tmp_path, [(22.95, 2, 1.0)], work=10.0, options=",p=1", executors=4)
    assert found["ends"] == pytest.approx([8 + 180 + 0.1 * 4 / 3], abs=1e-3)
