"""Calibration on the real logs beside the checkout, and on the published growth of work with executors."""

from __future__ import annotations

import csv
import itertools
from pathlib import Path

import pytest

from batpy.cli.main import main
from batpy.models.dag.predicted import Target, makespan_error, predict, transfer_error
from batpy.workloads.batsim_writer import write_batsim_json
from batpy.workloads.stages.calibration import Given, calibrate
from batpy.workloads.stages.calibration_form import Calibration
from batpy.workloads.stages.calibration_rows import Run, runs_of
from batpy.workloads.stages.graph import StageGraph
from batpy.workloads.stages.importing import ImportOptions, import_graph
from batpy.workloads.stages.inflation import fit_inflation
from batpy.workloads.stages.job_options import JobOptions
from batpy.workloads.stages.jobs import to_workload
from batpy.workloads.stages.tally import Tally

EMR = tuple(f"emr_process_large_dataset_attempt{number}.zstd" for number in (1, 2))
OTHERS = (
    "nds_q72_dataproc_spark3.5.zstd",
    "databricks_read_write_7.7GB.zstd",
    "yarn_dynamic_alloc_4nodes.zstd",
    "yarn_join_9exec.zstd",
)


def runs(shared: Path, *names: str) -> list[Run]:
    pytest.importorskip("zstandard")
    paths = [shared / "data" / "spark" / name for name in names]
    graph = import_graph(paths, "spark", ImportOptions(keep_tasks=True)).graph
    return runs_of(graph.applications, Tally())


def calibrated(found: list[Run]) -> Calibration:
    return calibrate(found, Given(), makespan_error, transfer_error)


def test_each_attempt_predicts_every_other_one(shared: Path) -> None:
    attempts = runs(shared, *EMR)
    for known, wanted in itertools.permutations(attempts, 2):
        calibration = calibrated([known])
        error = transfer_error(known, wanted, calibration.parameters, calibration.figures)
        assert error is not None
        assert abs(error) <= 0.05


def test_runs_left_out_are_told_from_the_others(shared: Path) -> None:
    told = [one for one in calibrated(runs(shared, *EMR)).left_out if one.kind == "run"]
    assert len(told) == 2
    for one in told:
        assert one.profile_error is not None
        assert abs(one.profile_error) <= 0.05
        # From amounts alone: the stages that compute are told, code that is unpacked and compiled is not.
        assert one.stage_error is not None
        assert one.stage_error <= 0.05
        assert one.makespan_error is not None
        assert abs(one.makespan_error) <= 0.15


def test_errors_on_applications_that_were_left_out_are_what_they_are(shared: Path) -> None:
    """Seven logs of four clusters make no good training set; that is what such errors are printed for."""
    calibration = calibrated(runs(shared, *OTHERS, *EMR))
    told = {one.application: one for one in calibration.left_out if one.kind == "application"}
    assert len(told) == 6
    errors = [one.makespan_error for one in told.values() if one.makespan_error is not None]
    assert len(errors) == 6
    assert sum(map(abs, errors)) / 6 < 0.3
    assert max(map(abs, errors)) < 0.45


def test_calibrated_jobs_run_as_long_as_their_rooflines(tmp_path: Path, shared: Path) -> None:
    found = runs(shared, *EMR)
    calibration = calibrated(found)
    graph = StageGraph(source="spark", applications=(found[0].application,))
    options = JobOptions(level="job", io="none", speed=30e9)
    workload = to_workload(graph, options, calibration=calibration).workload
    write_batsim_json(workload, tmp_path / "jobs.json")
    (tmp_path / "e.toml").write_text(
        '[platform]\nhosts = 1\nspeed = 30e9\n[[workload]]\nid = "w0"\nfile = "jobs.json"\n'
        '[scheduler.s]\nalgorithm = "easy"\n'
    )
    assert main(["run", str(tmp_path / "e.toml"), "--output", str(tmp_path / "out"), "--quiet"]) == 0
    with (tmp_path / "out" / "jobs.csv").open() as file:
        (row,) = csv.DictReader(file)
    target = Target(calibration.figures, slots=30)
    lines = predict(found[0].application, calibration.parameters, target).stages.values()
    assert float(row["execution_time"]) == pytest.approx(
        sum(line.cpu + line.overhead for line in lines), rel=0.01
    )


TPC_H = {
    "2 GB": {5: 1 - 0.226, 10: 1.0, 20: 1.370, 50: 2.49, 100: 4.86},
    "20 GB": {5: 1 - 0.074, 10: 1.0, 20: 1.166, 50: 1.715, 100: 2.84},
    "100 GB": {5: 1 - 0.026, 10: 1.0, 20: 1.076, 50: 1.356, 100: 2.11},
}
"""Summed task time against that on 10 executors, mean over the 22 queries (measured by Decima's authors)."""


def transfer(row: dict[int, float], first: int, second: int) -> list[float]:
    """Errors on the other counts of a line through two."""
    line = fit_inflation({first: row[first], second: row[second]})
    return [
        row[first] * line.factor(count, first) / work - 1
        for count, work in row.items()
        if count not in (first, second)
    ]


@pytest.mark.parametrize("size", TPC_H)
@pytest.mark.parametrize(
    "pair", [(5, 20), (5, 50), (5, 100), (10, 20), (10, 50), (10, 100), (20, 50), (20, 100)]
)
def test_work_on_two_counts_of_executors_tells_it_on_the_others(size: str, pair: tuple[int, int]) -> None:
    """Of means over queries, which is all that the table has: single queries may be further off."""
    errors = transfer(TPC_H[size], *pair)
    assert sum(map(abs, errors)) / len(errors) <= 0.10


def test_over_all_pairs_of_counts_it_is_told_within_ten_percent_in_the_mean() -> None:
    errors = [
        error
        for row in TPC_H.values()
        for first, second in itertools.combinations(row, 2)
        for error in transfer(row, first, second)
    ]
    assert len(errors) == 3 * 10 * 3
    assert sum(map(abs, errors)) / len(errors) <= 0.10


def test_a_line_through_few_executors_tells_too_little_of_many() -> None:
    """Work bends upwards: from 5 and 10 executors, too little is told of 100, and from 50 and 100 of few."""
    assert transfer(TPC_H["20 GB"], 5, 10)[-1] < -0.15
    assert transfer(TPC_H["100 GB"], 5, 10)[-1] < -0.25
    for row in TPC_H.values():
        assert transfer(row, 50, 100)[0] < -0.2
