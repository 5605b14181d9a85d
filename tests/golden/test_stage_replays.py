"""Replays of the real logs beside the checkout: the errors that the levels of the job model must keep."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from batpy.models.dag.replay import replay, replay_error
from batpy.workloads.stages.graph import Application
from batpy.workloads.stages.importing import ImportOptions, import_graph

DRAWS = 5
PLAIN = (
    "nds_q72_dataproc_spark3.5",
    "emr_process_large_dataset_attempt1",
    "emr_process_large_dataset_attempt2",
    "databricks_read_write_7.7GB",
)


def application(shared: Path, name: str) -> Application:
    pytest.importorskip("zstandard")
    path = shared / "data" / "spark" / f"{name}.zstd"
    (found,) = import_graph([path], "spark", ImportOptions(keep_tasks=True)).graph.applications
    return found


@pytest.mark.parametrize("name", PLAIN)
def test_plain_logs_are_told_within_two_percent_by_tasks_and_three_by_quantiles(
    shared: Path, name: str
) -> None:
    found = application(shared, name)
    assert abs(replay_error(found, "task").error) <= 0.02
    assert abs(replay_error(found, "q16", draws=DRAWS).error) <= 0.03


@pytest.mark.parametrize(
    ("name", "recorded", "task", "even"),
    [
        ("nds_q72_dataproc_spark3.5", 99.3, (-1.2, 4.7), (-5.9, 8.9)),
        ("emr_process_large_dataset_attempt1", 35.4, (-1.1, 1.8), (-39.7, 37.8)),
        ("emr_process_large_dataset_attempt2", 35.3, (-1.1, 1.8), (-40.8, 40.0)),
        ("databricks_read_write_7.7GB", 260.1, (-0.5, 4.5), (8.0, 7.9)),
    ],
)
def test_errors_are_those_published(
    shared: Path, name: str, recorded: float, task: tuple[float, float], even: tuple[float, float]
) -> None:
    found = application(shared, name)
    for level, expected in (("task", task), ("even", even)):
        error = replay_error(found, level)  # type: ignore[arg-type]
        assert error.job_error is not None
        assert round(error.recorded_us / 1e6, 1) == recorded
        assert (round(100 * error.error, 1), round(100 * error.job_error, 1)) == expected


def test_slots_of_each_profile_are_used(shared: Path) -> None:
    found = application(shared, "yarn_join_9exec")
    assert abs(replay_error(found, "task").error) <= 0.05
    assert abs(replay_error(found, "q16", draws=DRAWS).error) <= 0.05
    one = msgspec.structs.replace  # all executors and stages in one profile, as if there were none
    blind = one(
        found,
        executors=tuple(one(executor, profile=0) for executor in found.executors),
        stages=tuple(one(stage, profile=0) for stage in found.stages),
    )
    assert replay_error(blind, "task").error < -0.05


def test_dynamic_allocation_is_followed(shared: Path) -> None:
    assert abs(replay_error(application(shared, "yarn_dynamic_alloc_4nodes"), "task").error) <= 0.07


def test_one_run_predicts_the_next(shared: Path) -> None:
    first, second = (application(shared, f"emr_process_large_dataset_attempt{number}") for number in (1, 2))
    recorded = replay_error(second, "task").recorded_us
    assert replay(first, "q16").makespan_us == pytest.approx(recorded, rel=0.05)
