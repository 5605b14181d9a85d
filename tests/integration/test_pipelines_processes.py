"""A pipeline run and its scheduler as two processes over ZeroMQ: the same bytes as in one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from batpy.cli.main import main

pytestmark = pytest.mark.integration

PARAMETERS = """\
duration = 60
ticks_per_second = 30
num_pools = 3
waiting_seconds_mean = 3.0
multi_operator_containers = false
scheduler_algo = "reference"
"""


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("codec", ["json", "msgpack"])
def test_over_zeromq_the_same_bytes(codec: str, tmp_path: Path) -> None:
    parameters = tmp_path / "params.toml"
    parameters.write_text(PARAMETERS)
    assert main(["pipelines", "run", str(parameters), "-q", "-o", str(tmp_path / "one")]) == 0
    endpoint = f"ipc://{tmp_path}/s"
    words = [sys.executable, "-P", "-m", "batpy", "pipelines", "serve", "reference", "--bind", endpoint, "-q"]
    with subprocess.Popen([*words, "--deadline", "30"]) as scheduler:
        run = ["pipelines", "run", str(parameters), "-q", "--endpoint", endpoint, "--codec", codec]
        assert main([*run, "-o", str(tmp_path / "two")]) == 0
        assert scheduler.wait(30) == 0
    assert files(tmp_path / "one") == files(tmp_path / "two")
    assert len(files(tmp_path / "one")) == 4


@pytest.mark.parametrize(("codec", "policy"), [("json", "static"), ("msgpack", "priority")])
def test_through_a_broker_of_its_own_the_same_bytes(codec: str, policy: str, tmp_path: Path) -> None:
    """Three processes: the run, the broker, the scheduler; the broker speaks packed with the scheduler."""
    parameters = tmp_path / "params.toml"
    parameters.write_text(PARAMETERS)
    assert main(["pipelines", "run", str(parameters), "-q", "-o", str(tmp_path / "one")]) == 0
    batpy, upper, lower = [sys.executable, "-P", "-m", "batpy"], f"ipc://{tmp_path}/b", f"ipc://{tmp_path}/s"
    serve = ["pipelines", "serve", "reference", "--bind", lower, "-q", "--deadline", "30"]
    broker = ["broker", "--bind", upper, "--scheduler", f"pipelines={lower}", "--policy", policy, "-q"]
    packed = ["--codec", "msgpack", "--deadline", "30"]
    with (
        subprocess.Popen([*batpy, *serve]) as scheduler,
        subprocess.Popen([*batpy, *broker, *packed]) as between,
    ):
        run = ["pipelines", "run", str(parameters), "-q", "--endpoint", upper, "--codec", codec]
        assert main([*run, "-o", str(tmp_path / "two")]) == 0
        assert (between.wait(30), scheduler.wait(30)) == (0, 0)
    assert files(tmp_path / "one") == files(tmp_path / "two")


def test_a_scheduler_that_never_comes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parameters = tmp_path / "params.toml"
    parameters.write_text(PARAMETERS)
    words = ["--endpoint", f"ipc://{tmp_path}/nobody", "--deadline", "0.3"]
    assert main(["pipelines", "run", str(parameters), *words]) == 3
    assert "nobody answered" in capsys.readouterr().err


def test_the_shipped_experiment_of_hpc_jobs_and_pipelines(tmp_path: Path) -> None:
    for mode in ("embedded", "processes"):
        words = ["run", "sample:shared-pipelines", f"--{mode}", "-q", "-o", str(tmp_path / mode)]
        assert main(words) == 0
        assert main(["audit", str(tmp_path / mode)]) == 0
    one, two = files(tmp_path / "embedded"), files(tmp_path / "processes")
    assert {path.name for path in (tmp_path / "embedded").iterdir()} >= {"jobs.csv", "accounting.csv"}
    for name in ("journal.msgpack", "sharing.journal", "jobs.csv", "accounting.csv"):
        assert one[name] == two[name], name
