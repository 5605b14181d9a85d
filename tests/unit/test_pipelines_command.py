"""``batpy pipelines`` and ``batpy run`` with a parameter file; statistics beyond the original's."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import pytest
from pipeline_scripts import chain, simulate, work

import batpy
from batpy.base.pipelines import IllegalStepError, Priority
from batpy.cli.main import main
from batpy.models.containers.statistics import PipelineStats, SimulatorStats, compute_statistics
from batpy.pipelines.plot import plot_sensitivity
from batpy.workloads.pipelines.parameters import Parameters, read_parameters
from batpy.workloads.pipelines.trace import Arrival

SMALL = "duration = 20\nticks_per_second = 10\nwaiting_seconds_mean = 2.0\n"


@pytest.fixture
def parameters(tmp_path: Path) -> Path:
    path = tmp_path / "params.toml"
    path.write_text(SMALL)
    return path


def run(*words: object) -> int:
    return main([str(word) for word in words])


# --------------------------------------------------------------------------- runs


def test_run_recognises_a_parameter_file(parameters: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run", parameters, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["pipelines_created"] == batpy.run_simulator(parameters).pipelines_created
    assert told["usage"]["cpu_utilisation_percent"] > 0
    assert told["adjusted_latency"] > 0


def test_run_takes_settings_a_seed_and_a_folder(
    parameters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words = ("--set", "scheduler_algo=naive", "--seed", "7", "-o", out)
    assert run("run", parameters, *words) == 0
    assert f"tables in {out}" in capsys.readouterr().out
    with (out / "pipelines.csv").open() as file:
        rows = list(csv.DictReader(file))
    expected = batpy.run_simulator(
        {"random_seed": 7, "scheduler_algo": "naive"} | _small(), output=tmp_path / "again"
    )
    for name in ("statistics.json", "pipelines.csv", "containers.csv", "events.csv"):
        assert (out / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
    assert len(rows) == expected.pipelines_created
    assert sum(bool(row["finish_seconds"]) for row in rows) == expected.pipelines_all.completion_count
    with (out / "containers.csv").open() as file:
        outcomes = [row["outcome"] for row in csv.DictReader(file)]
    assert outcomes.count("completed") == expected.containers_completed
    assert run("run", parameters, "-o", out, "-q") == 0
    assert run("run", parameters, "-o", out, "--no-overwrite") == 2
    assert run("run", parameters, "-o", tmp_path) == 2


def _small() -> dict[str, Any]:
    return {"duration": 20, "ticks_per_second": 10, "waiting_seconds_mean": 2.0}


@pytest.mark.parametrize("flag", ["--processes", "--no-pin", "--time-step=3", "--codec=msgpack", "--energy"])
def test_flags_of_experiments_are_refused(
    flag: str, parameters: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("run", parameters, flag) == 2
    told = f"is a parameter file of pipelines, and {flag.partition('=')[0]} is for experiments"
    assert told in capsys.readouterr().err
    assert run("run", parameters, "--embedded", "-q") == 0


def test_unknown_keys_warn(parameters: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parameters.write_text(SMALL + "durtion = 3\n")
    assert run("pipelines", "run", parameters) == 0
    assert "unknown keys: durtion (did you mean duration?)" in capsys.readouterr().err


def test_compat_is_a_flag_and_a_key(parameters: Path, capsys: pytest.CaptureFixture[str]) -> None:
    short = "duration = 0.1\nticks_per_second = 10\n"
    parameters.write_text(short)
    assert run("pipelines", "run", parameters, "-q") == 0
    assert run("pipelines", "run", parameters, "--compat", "eudoxia") == 2
    parameters.write_text(short + 'compat = "eudoxia"\n')
    assert run("run", parameters) == 2
    assert capsys.readouterr().err.count("no container ended") == 2


def test_a_trace_and_a_policy_of_the_users_own(
    parameters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace, toml = tmp_path / "trace.csv", tmp_path / "mine.toml"
    assert run("pipelines", "gentrace", parameters, trace) == 0
    assert run("pipelines", "init", toml, "-s", "first_try") == 0
    own = ("-i", tmp_path / "first_try.py", "--set", "duration=20", "--set", "ticks_per_second=10")
    capsys.readouterr()
    assert run("pipelines", "run", toml, "-w", trace, *own) == 0
    told = capsys.readouterr().out
    assert "finished" in told
    assert run("run", toml, "-w", trace, *own) == 0
    assert capsys.readouterr().out == told
    assert run("pipelines", "list", "-i", tmp_path / "first_try.py") == 0
    assert "first_try" in capsys.readouterr().out


def test_a_users_policy_that_fails_is_told_with_its_line(
    parameters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = tmp_path / "broken.py"
    policy.write_text(
        "from batpy.pipelines import register_scheduler, register_scheduler_init\n"
        "@register_scheduler_init(key='broken')\n"
        "def prepare(s): pass\n"
        "@register_scheduler(key='broken')\n"
        "def decide(s, results, pipelines):\n"
        "    return s.missing\n"
    )
    words = ("-i", policy, "--set", "scheduler_algo=broken")
    assert run("pipelines", "run", parameters, *words) == 2
    assert "decide() failed at broken.py:6: AttributeError" in capsys.readouterr().err
    policy.write_text("import nothing_of_that_name\n")
    assert run("pipelines", "run", parameters, *words) == 2
    policy.write_text("def f(:\n")
    assert run("pipelines", "run", parameters, *words) == 2
    assert "broken.py:1: SyntaxError" in capsys.readouterr().err


def test_files_are_not_replaced_unasked(parameters: Path, tmp_path: Path) -> None:
    before = parameters.read_text()
    assert run("pipelines", "init", parameters) == 2
    assert run("pipelines", "gentrace", parameters, parameters) == 2
    assert parameters.read_text() == before
    assert run("pipelines", "init", parameters, "--force") == 0
    assert read_parameters(parameters).parameters == Parameters()
    assert run("pipelines", "run", parameters, "--set", "duration=1", "-q") == 0


def test_an_experiment_is_no_parameter_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "exp.toml"
    path.write_text("[platform]\nhosts = 3\n")
    assert run("pipelines", "run", path) == 2
    assert "is no parameter file of pipelines" in capsys.readouterr().err
    assert run("run", path, "-w", "trace.csv") == 2
    assert "is an experiment; --workload" in capsys.readouterr().err


# --------------------------------------------------------------------------- tools


def _arrivals(path: Path) -> list[float]:
    with path.open(newline="") as file:
        return [float(row["arrival_seconds"]) for row in csv.DictReader(file) if row["arrival_seconds"]]


TRACE = (
    "pipeline_id,arrival_seconds,priority,operator_id,parents,baseline_cpu_seconds,cpu_scaling,memory_gb,"
    "storage_read_gb,note\n"
    "a,0.037,QUERY,op1,,1,const,,0,x\na,,,op2,op1,1,const,,0,\nb,0.053,QUERY,op1,,1,const,,0,\n"
)


def test_snap_rounds_down_and_keeps_everything_else(tmp_path: Path) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text(TRACE)
    assert run("pipelines", "snap", source, target, 20) == 0
    assert _arrivals(target) == [0.0, 0.05]
    assert target.read_text().splitlines()[1].endswith(",x")
    assert run("pipelines", "snap", source, source, 20, "-f") == 2
    assert run("pipelines", "snap", source, target, 0, "-f") == 2


def test_jitter_keeps_the_rows_of_a_pipeline_together_and_sorts(tmp_path: Path) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text(TRACE)
    assert run("pipelines", "jitter", source, target, 0.5) == 0
    moved = _arrivals(target)
    assert moved == sorted(moved)
    assert moved != [0.037, 0.053]
    with target.open(newline="") as file:
        ids = [row["pipeline_id"] for row in csv.DictReader(file)]
    assert ids in (["a", "a", "b"], ["b", "a", "a"])
    assert run("pipelines", "jitter", source, target, -1, "-f") == 2


def test_mkregression_writes_what_reproduces_itself(parameters: Path, tmp_path: Path) -> None:
    folder = tmp_path / "case"
    assert run("pipelines", "mkregression", parameters, folder) == 0
    ours = batpy.run_simulator(folder / "params.toml", folder / "trace.csv").to_dict()
    expected = json.loads((folder / "expected.json").read_text())
    assert expected["pipelines_all"] == ours["pipelines_all"]
    assert run("pipelines", "mkregression", parameters, folder) == 2


def test_sensitivity_of_several_workloads_that_differ(parameters: Path, tmp_path: Path) -> None:
    folder = tmp_path / "sample"
    assert run("pipelines", "sensitivity-sample", parameters, folder, 2, "--workers", 1) == 0
    assert (folder / "w0.csv").read_bytes() != (folder / "w1.csv").read_bytes()
    with (folder / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["workload"], row["mutation_type"], row["ticks_per_second"]) for row in rows] == [
        (workload, mutation, ticks)
        for workload in ("w0", "w1")
        for ticks in ("1", "10")
        for mutation in ("snap", "jitter", "tick")
    ]
    assert run("pipelines", "sensitivity-plot", folder) == 0
    errors = (folder / "mean_latency_errors.csv").read_text().splitlines()
    assert errors[0] == "ticks_per_second,jitter,snap,tick"
    assert errors[-1].endswith(",0.0")
    assert (folder / "mean_latency_errors.svg").read_text().startswith("<svg")


def test_plot_without_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("pipelines", "sensitivity-plot", tmp_path) == 2
    (tmp_path / "results.csv").write_text("a,b\n1,2\n")
    assert run("pipelines", "sensitivity-plot", tmp_path) == 2
    assert plot_sensitivity.__doc__


# --------------------------------------------------------------------------- statistics


def _stats(arrived: int, done: int, means: tuple[float, float, float]) -> SimulatorStats:
    classes = [PipelineStats(arrived, done, 0, mean, mean) for mean in means]
    whole = PipelineStats(3 * arrived, 3 * done, 0, 2.0, 2.0)
    return SimulatorStats(3 * arrived, 3, 1.0, 1.0, 3, 0, 0, {}, 0.0, 0.0, whole, *classes)


EQUAL = dict.fromkeys(Priority, 1.0)


def test_adjusted_latency() -> None:
    assert _stats(1, 1, (2.0, 2.0, 2.0)).adjusted_latency() == pytest.approx(2.0)
    assert _stats(1, 1, (1.0, 2.0, 1.0)).adjusted_latency(EQUAL) == pytest.approx(4 / 3)
    assert _stats(2, 1, (2.0, 2.0, 2.0)).adjusted_latency(EQUAL) == pytest.approx(4.0)
    nobody = _stats(1, 0, (math.nan,) * 3)
    assert nobody.adjusted_latency() == math.inf
    penalty = {"divide_by_completion_rate": False, "unfinished_penalty_seconds": 10.0}
    assert _stats(1, 1, (2.0, 2.0, 2.0)).adjusted_latency(EQUAL, **penalty) == pytest.approx(2.0)  # type: ignore[arg-type]
    assert _stats(2, 1, (2.0, 2.0, 2.0)).adjusted_latency(EQUAL, **penalty) == pytest.approx(6.0)  # type: ignore[arg-type]
    with pytest.raises(IllegalStepError, match="exclude each other"):
        nobody.adjusted_latency(unfinished_penalty_seconds=1.0)


def test_usage_of_a_small_run_by_hand() -> None:
    """Two jobs of 1 s on one pool of 10 CPUs for 10 s: each gets all of it, the second waits 1 s."""
    arrivals = [Arrival(0.0, chain("a", work(1.0))), Arrival(0.0, chain("b", work(1.0)))]
    run = simulate(arrivals, "", scheduler_algo="naive", cost_per_container_second=2.5)
    usage = compute_statistics(run).usage
    assert usage is not None
    assert usage.mean_queueing_delay_seconds == pytest.approx(0.5)
    assert usage.cpu_utilisation_percent == pytest.approx(20.0)
    assert usage.container_seconds == pytest.approx(2.0)
    assert usage.ram_gb_seconds == pytest.approx(200.0)
    assert usage.lost_cpu_seconds == 0
    assert usage.cost == pytest.approx(5.0)


def test_what_is_killed_is_lost() -> None:
    usage = compute_statistics(simulate([Arrival(0.0, chain("a", work(1.0, 500.0)))], "")).usage
    assert usage is not None
    assert usage.lost_cpu_seconds == usage.cpu_seconds > 0
