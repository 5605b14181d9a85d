"""The declarative parts of studies: parameters, bands, estimates, workloads, tables."""

from __future__ import annotations

import csv
import json
import math
import random
import statistics
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batpy.base.errors import InputError
from batpy.cli.main import main
from batpy.studies import figures as drawing
from batpy.studies.applications import Chain, applications, task_times
from batpy.studies.bebida_2017 import CHAINS, MIX
from batpy.studies.bebida_2024 import (
    AT_ONCE,
    HOSTS,
    HPC_JOBS,
    INTERVAL,
    SUBMISSION,
    VARIANTS,
    esp_light,
    grid,
    spark_pi,
)
from batpy.studies.campaign import RUNS, SUMMARY, Settings, check_folder, conduct
from batpy.studies.catalogue import STUDIES, load
from batpy.studies.estimates import half_width, rank_correlation, ranks, t95
from batpy.studies.io_rounds import IoJob, Park, dfs_seconds, pfs_seconds, rounds
from batpy.studies.pfs_vs_dfs import crossover, read_logs
from batpy.studies.pool import workers
from batpy.studies.published import effectiveness_2017, times_2024, waits_2017
from batpy.studies.report import check_lines, finding_lines, parameter_lines, verdict_line
from batpy.studies.rigid import disturbed, draw, workload
from batpy.studies.study import Check, Findings, Parameter, Study, Workshop


@pytest.mark.parametrize("name", STUDIES)
def test_every_parameter_of_a_study_has_a_reason(name: str) -> None:
    study = load(name)
    assert study.name == name
    assert study.parameters
    names = [parameter.name for parameter in study.parameters]
    assert len(set(names)) == len(names)
    for parameter in study.parameters:
        assert parameter.reason, parameter.name
        assert parameter.origin in ("published", "chosen", "fitted")
    assert study.limits


def test_an_unknown_study_is_refused_with_those_there_are() -> None:
    with pytest.raises(InputError, match="bebida-2017, bebida-2024, pfs-vs-dfs"):
        load("bebida-2016")


def test_published_figures_are_those_of_the_page() -> None:
    points = effectiveness_2017()
    assert len(points) == 45
    assert statistics.fmean(points.values()) == pytest.approx(0.683, abs=5e-4)
    assert statistics.fmean(waits_2017()[2, "hpc_alone"]) == pytest.approx(410, abs=1)
    assert len(waits_2017()[3, "bebida"]) == 9
    times = times_2024()
    assert (len(times["nohpc"]), len(times["none"])) == (18, 20)
    assert statistics.fmean(times["none"]) == pytest.approx(80.8)
    assert statistics.fmean(times["nohpc"]) == pytest.approx(50.22, abs=0.01)


# ------------------------------------------------------------------ checks


@pytest.mark.parametrize(
    ("measured", "low", "high", "verdict"),
    [
        (0.63, 0.63, 0.73, "PASS"),
        (0.629, 0.63, 0.73, "outside"),
        (0.731, 0.63, 0.73, "outside"),
        (99.0, 99.0, None, "PASS"),
        (98.9, 99.0, None, "outside"),
        (None, 0.0, 1.0, "not measured"),
    ],
)
def test_a_figure_outside_its_band_is_said_to_be(
    measured: float | None, low: float | None, high: float | None, verdict: str
) -> None:
    assert Check("x", measured, low, high, "a page").verdict == verdict


def test_the_verdict_names_what_is_outside_and_leaves_out_what_is_not_required() -> None:
    checks = [
        Check("in", 1, 0, 2, ""),
        Check("out", 3, 0, 2, ""),
        Check("extra", 3, 0, 2, "", required=False),
    ]
    assert verdict_line(checks) == "1 of 2 figures are in their bands; outside: out"
    lines = check_lines(checks)
    assert "outside" in lines[2]
    assert "PASS" in lines[1]


def test_ranks_of_equal_values_are_shared() -> None:
    assert ranks([10, 20, 20, 5]) == [2, 3.5, 3.5, 1]


def test_rank_correlation_of_equal_and_of_reversed_orders() -> None:
    assert rank_correlation([1, 2, 3], [10, 20, 400]) == pytest.approx(1)
    assert rank_correlation([1, 2, 3], [3, 2, -1]) == pytest.approx(-1)
    assert rank_correlation([1, 1], [1, 2]) is None


def test_students_quantiles_meet_at_the_end_of_the_table() -> None:
    values = [t95(freedom) for freedom in range(1, 200)]
    assert values == sorted(values, reverse=True)
    assert t95(31) == pytest.approx(2.0395, abs=1e-3)
    assert t95(120) == pytest.approx(1.9799, abs=1e-3)


def test_the_published_interval_of_plain_bebida() -> None:
    half = half_width(times_2024()["none"])
    assert half == pytest.approx(22.6, abs=0.05)
    assert half_width([1.0]) is None


# ------------------------------------------------------------------ workloads


@given(st.integers(0, 2**32))
def test_drawn_hpc_jobs_fill_what_is_asked_for(seed: int) -> None:
    jobs = draw(MIX, random.Random(seed))
    work = sum(job.size * job.run for job in jobs)
    wanted = MIX.load * MIX.hosts * MIX.horizon
    assert wanted - MIX.largest * MIX.longest <= work <= wanted
    assert jobs[0].submit == 0
    assert [job.submit for job in jobs] == sorted(job.submit for job in jobs)
    for job in jobs:
        assert MIX.shortest <= job.run <= MIX.longest
        assert job.run < job.walltime <= job.run * MIX.overestimate + 0.11
        assert job.size <= MIX.largest
        assert job.submit <= MIX.submissions


def test_repetitions_differ_in_run_times_alone() -> None:
    jobs = draw(MIX, random.Random(1))
    again = disturbed(jobs, 0.02, random.Random(2))
    assert [replace(job, run=0.0) for job in again] == [replace(job, run=0.0) for job in jobs]
    logs = [math.log(after.run / before.run) for before, after in zip(jobs, again, strict=True)]
    assert statistics.stdev(logs) == pytest.approx(0.02, rel=0.3)
    assert all(job.run < job.walltime for job in again)
    assert len(workload(again, 128)["profiles"]) == len(jobs)


def test_task_times_have_the_mean_that_is_asked_for() -> None:
    times = task_times(10.0, 0.4)
    assert len(times) == 17
    assert times == sorted(times)
    assert statistics.fmean([(a + b) / 2 for a, b in pairwise(times)]) == pytest.approx(10, rel=0.02)


def test_applications_of_one_workload_draw_from_streams_of_their_own() -> None:
    chain = Chain(width=4, stages=3, tasks=8, mean=2.0, sigma=0.1)
    made = applications(chain, 5, 16)
    assert len({job["profile"] for job in made["jobs"]}) == 5
    stages = made["profiles"]["app0"]["stages"]
    assert [stage["parents"] for stage in stages] == [[], [0], [1]]
    assert stages[-1]["shuffle_write"] == 0
    assert sum(stage["total"] for stage in stages) == pytest.approx(chain.work)
    assert chain.stage_length == 4.0


def test_the_three_big_data_workloads_differ_in_their_stages_alone() -> None:
    assert [chain.stage_length for chain in CHAINS.values()] == [100, 40, 90]
    assert len({(chain.width, chain.stages, chain.mean, chain.sigma) for chain in CHAINS.values()}) == 1


def test_esp_light_comes_in_a_burst_and_then_at_an_interval() -> None:
    made = esp_light(0, 1)
    dates = [job["subtime"] for job in made["jobs"]]
    gaps = [after - before for before, after in pairwise(dates)]
    assert len(dates) == HPC_JOBS
    assert set(gaps[: AT_ONCE - 1]) == {SUBMISSION}
    assert set(gaps[AT_ONCE:]) == {INTERVAL}
    assert all(job["res"] < HOSTS for job in made["jobs"])
    assert made == esp_light(0, 1)
    assert made != esp_light(0, 2)


def test_spark_pi_is_as_long_as_published_without_hpc() -> None:
    profiles = spark_pi()["profiles"]
    seconds = profiles["pi"]["repeat"] * profiles["slice"]["cpu"] / 8e9
    assert seconds + 8 + 5 == pytest.approx(50.2)


def test_variants_of_one_experiment_share_their_hpc_jobs_and_draws() -> None:
    specs = list(grid(0, 2))
    assert len({spec.name for spec in specs}) == 2 * len(VARIANTS)
    first = [spec for spec in specs if spec.labels["experiment"] == 1]
    assert len({json.dumps(s.files["hpc.json"]) for s in first if s.labels["variant"] != "nohpc"}) == 1
    assert len({spec.experiment["seed"] for spec in first}) == 1


# ------------------------------------------------------------------ pfs-vs-dfs

PARK = Park(8, 2, 1e9, 4, 1e10, 1e8, 1e8)


def test_a_round_holds_jobs_as_long_as_there_are_nodes() -> None:
    jobs = [IoJob(8, 1, 0), IoJob(8, 1, 0), IoJob(2, 1, 0), IoJob(100, 1, 0)]
    assert [len(group) for group in rounds(jobs, PARK)] == [2, 1, 1]


def test_a_file_system_bounds_a_round_by_its_bandwidth_or_by_a_link() -> None:
    # Two jobs of 4 nodes: 8e9 bytes at 2e9 a second; one of 1 node: 2e9 bytes over its link.
    assert pfs_seconds([IoJob(8, 4 * 10**9, 0), IoJob(8, 4 * 10**9, 0)], PARK, 2e9) == pytest.approx(4)
    assert pfs_seconds([IoJob(1, 2 * 10**9, 0)], PARK, 8e9) == pytest.approx(2)


@given(st.integers(0, 1000))
def test_disks_are_never_faster_than_all_of_them_together(seed: int) -> None:
    jobs = [IoJob(16, 4 * 10**9, 10**9), IoJob(4, 10**9, 0)]
    found = dfs_seconds(jobs, PARK, random.Random(seed))
    assert found.read >= 5e9 / (8 * PARK.disk_read) - 1e-9
    assert found.write >= 3 * 1e9 / (8 * PARK.disk_write) - 1e-9
    assert 0 < found.local <= 1


def test_the_crossover_lies_between_two_points() -> None:
    nodes, text = crossover([(4, 40.0, 10.0), (8, 20.0, 10.0), (16, 5.0, 10.0)])
    assert nodes == pytest.approx(8 * math.sqrt(2))
    assert text == "11"


def test_a_crossover_beyond_the_sweep_is_told_as_such() -> None:
    assert crossover([(4, 2.0, 1.0), (8, 1.5, 1.0)]) == (None, "> 8")
    assert crossover([(4, 0.5, 1.0), (8, 0.1, 1.0)]) == (None, "< 4")


def test_shipped_logs_move_bytes() -> None:
    logs = read_logs([])
    assert {name: len(jobs) for name, jobs in logs.items()} == {
        "swim": 203,
        "spark": 15,
    }  # one job shuffles and does nothing else
    assert sum(job.read for job in logs["spark"]) == pytest.approx(18.37e9 + 7.68e9, rel=1e-3)


# ------------------------------------------------------------------ carrying out


def _small(shop: Workshop) -> Findings:
    values = shop.map(math.factorial, list(range(shop.seeds)), "factorials")
    rows = [{"n": n, "factorial": value} for n, value in enumerate(values)]
    return Findings(rows, [Check("sum", sum(values), 0, 9, "arithmetic")], {"sum": sum(values)}, figure=_draw)


def _draw(path: Path) -> None:
    with drawing.drawing(path, 1, (2.0, 2.0)) as (axes,):
        axes.plot([0, 1], [0, 1])


FACTORIALS = Study(
    name="factorials",
    title="Factorials",
    source="arithmetic",
    parameters=(Parameter("numbers", "from 0", "chosen", "the first there are"),),
    seeds=3,
    seeds_mean="numbers",
    carry_out=_small,
    limits=("no gamma function",),
)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_study_writes_the_same_whatever_the_number_of_processes(tmp_path: Path, jobs: int) -> None:
    told: list[tuple[str, int, int]] = []
    settings = Settings(seed=0, seeds=4, jobs=jobs, keep=False)
    findings, written = conduct(FACTORIALS, settings, tmp_path, lambda *step: told.append(step))
    assert [row["factorial"] for row in findings.rows] == [1, 1, 2, 6]
    assert told[0] == ("factorials", 0, 4)
    assert told[-1] == ("factorials", 4, 4)
    assert written[:2] == [tmp_path / RUNS, tmp_path / SUMMARY]
    with (tmp_path / RUNS).open(newline="") as file:
        assert [row["factorial"] for row in csv.DictReader(file)] == ["1", "1", "2", "6"]
    summary = json.loads((tmp_path / SUMMARY).read_text())
    assert summary["checks"][0]["verdict"] == "outside"
    assert summary["parameters"][0]["reason"] == "the first there are"


def test_without_matplotlib_the_tables_are_written_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("batpy.studies.campaign.can_draw", lambda: False)
    settings = Settings(seed=0, seeds=2, jobs=1, keep=False)
    _, written = conduct(FACTORIALS, settings, tmp_path, lambda *_: None)
    assert [path.name for path in written] == [RUNS, SUMMARY]


def test_a_figure_is_the_same_each_time(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for name in ("one.png", "two.png"):
        _draw(tmp_path / name)
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()


def test_a_failure_in_a_process_reaches_the_caller() -> None:
    with workers(2) as apply, pytest.raises(InputError, match="no such study"):
        apply(load, ["bebida-2017", "nothing"], lambda: None)


def test_a_folder_with_something_else_is_left_alone(tmp_path: Path) -> None:
    check_folder(tmp_path / "new")
    check_folder(tmp_path)
    (tmp_path / "runs").mkdir()
    check_folder(tmp_path)
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(InputError, match="no study"):
        check_folder(tmp_path)
    (tmp_path / SUMMARY).touch()
    check_folder(tmp_path)


def test_what_is_printed_tells_bands_and_reasons() -> None:
    findings = Findings([{"n": 1}], [Check("sum", 14.0, 0, 10, "arithmetic", 1.5)], {}, ["a note"])
    lines = finding_lines(FACTORIALS, findings)
    assert any("14 +- 1.5" in line and "outside" in line for line in lines)
    assert "a note" in lines
    text = "\n".join(parameter_lines(FACTORIALS))
    assert "numbers: from 0 [chosen]" in text
    assert "no gamma function" in text


# ------------------------------------------------------------------ the command


def test_without_a_name_the_studies_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(STUDIES)
    assert main(["study", "--json"]) == 0
    assert [entry["name"] for entry in json.loads(capsys.readouterr().out)] == list(STUDIES)


def test_explain_prints_every_parameter_and_runs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study", "bebida-2017", "--explain"]) == 0
    out = capsys.readouterr().out
    for parameter in load("bebida-2017").parameters:
        assert f"{parameter.name}: {parameter.value} [{parameter.origin}]" in out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["study", "nothing"], "nothing: no such study"),
        (["study", "bebida-2017", "log.tsv"], "takes no files"),
        (["study", "bebida-2017", "--seeds", "0"], "must be 1 or more"),
    ],
)
def test_bad_arguments_get_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1
