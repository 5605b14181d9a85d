"""Whole runs from the command line: one process, two, a foreign scheduler, Ctrl-C, a silent endpoint."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from peers import DEADLINE, free_port, process, pybatsim

from batpy.results.journal import JOURNAL

pytestmark = pytest.mark.integration

BATPY = (sys.executable, "-P", "-m", "batpy")
SAME_BYTES = (JOURNAL, "jobs.csv", "machine_states.csv", "experiment.json")
EXPERIMENT = """
[platform]
hosts = 4
[[workload]]
file = "jobs.json"
[scheduler.mine]
algorithm = "fcfs"
"""


def write_inputs(folder: Path, jobs: int = 40) -> None:
    rows = [
        {"id": str(n), "subtime": n * 3, "walltime": 30 + n % 7, "res": 1 + n % 4, "profile": f"d{n % 5}"}
        for n in range(jobs)
    ]
    profiles = {f"d{n}": {"type": "delay", "delay": 5 + 4 * n} for n in range(5)}
    (folder / "jobs.json").write_text(json.dumps({"nb_res": 4, "jobs": rows, "profiles": profiles}))
    (folder / "my.toml").write_text(EXPERIMENT)


def batpy(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*BATPY, *arguments], cwd=folder, capture_output=True, text=True, timeout=DEADLINE, check=False
    )


def states(folder: Path) -> dict[str, str]:
    with (folder / "jobs.csv").open() as file:
        return {row["job_id"]: row["final_state"] for row in csv.DictReader(file)}


def test_run_writes_results_and_says_where(tmp_path: Path) -> None:
    write_inputs(tmp_path)
    done = batpy(tmp_path, "run", "my.toml")
    assert (done.returncode, done.stderr) == (0, "")
    assert "40 submitted" in done.stdout
    assert done.stdout.endswith("results in results/my\n")
    assert set(states(tmp_path / "results/my").values()) == {"COMPLETED_SUCCESSFULLY"}
    audit = batpy(tmp_path, "audit", "results/my")
    assert (audit.returncode, audit.stdout.startswith("no law broken")) == (0, True)


def test_quiet_prints_nothing_and_json_is_for_machines(tmp_path: Path) -> None:
    write_inputs(tmp_path)
    done = batpy(tmp_path, "run", "my.toml", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    done = batpy(tmp_path, "run", "my.toml", "--json")
    assert json.loads(done.stdout)["jobs"]["submitted"] == 40


@pytest.mark.parametrize("codec", ["json", "msgpack"])
def test_two_processes_give_the_same_bytes(tmp_path: Path, codec: str) -> None:
    write_inputs(tmp_path)
    flags = ("run", "my.toml", "--codec", codec, "--quiet")
    assert batpy(tmp_path, *flags, "-o", "a").returncode == 0
    split = batpy(tmp_path, *flags, "-o", "b", "--processes")
    assert (split.returncode, split.stderr) == (0, "")
    for name in SAME_BYTES:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name


def test_each_side_started_by_hand_gives_the_same_bytes(tmp_path: Path) -> None:
    write_inputs(tmp_path)
    assert batpy(tmp_path, "run", "my.toml", "--quiet").returncode == 0
    endpoint = f"tcp://127.0.0.1:{free_port()}"
    with process(*BATPY, "scheduler", "fcfs", "--bind", endpoint, cwd=tmp_path) as server:
        done = batpy(tmp_path, "simulate", "-p", "4", "-w", "jobs.json", "-s", endpoint, "-e", "o", "--quiet")
        assert (done.returncode, done.stderr) == (0, "")
        assert server.wait(DEADLINE) == 0
    for name in (JOURNAL, "jobs.csv", "machine_states.csv"):
        assert (tmp_path / "o" / name).read_bytes() == (tmp_path / "results/my" / name).read_bytes(), name


def test_pybatsims_easy_backfill_takes_over_by_one_line(tmp_path: Path) -> None:
    write_inputs(tmp_path)
    with pybatsim("easyBackfill", tmp_path) as (endpoint, _):
        text = EXPERIMENT.replace('algorithm = "fcfs"', f'endpoint = "{endpoint}"')
        assert sum(a != b for a, b in zip(text.split("\n"), EXPERIMENT.split("\n"), strict=True)) == 1
        (tmp_path / "theirs.toml").write_text(text)
        theirs = batpy(tmp_path, "run", "theirs.toml", "--quiet")
    assert (theirs.returncode, theirs.stderr) == (0, "")
    ours = batpy(tmp_path, "run", "my.toml", "--set", "scheduler.mine.algorithm=easy", "--quiet")
    assert ours.returncode == 0
    assert states(tmp_path / "results/theirs") == states(tmp_path / "results/my")
    assert len(states(tmp_path / "results/my")) == 40


def test_nobody_at_the_endpoint_is_exit_3_with_its_name(tmp_path: Path) -> None:
    write_inputs(tmp_path)
    endpoint = f"tcp://127.0.0.1:{free_port()}"
    begun = time.monotonic()
    lost = batpy(
        tmp_path, "simulate", "-p", "4", "-w", "jobs.json", "-s", endpoint, "--deadline", "1", "--quiet"
    )
    assert lost.returncode == 3
    assert time.monotonic() - begun < 15
    assert lost.stderr.count("\n") == 1
    assert endpoint in lost.stderr


@pytest.mark.parametrize("mode", ["--embedded", "--processes"])
def test_ctrl_c_leaves_readable_results_and_exit_130(tmp_path: Path, mode: str) -> None:
    write_inputs(tmp_path, jobs=60_000)
    (tmp_path / "slow.py").write_text(SLOW)
    setting = "scheduler.mine.algorithm=slow.py:Slow"
    arguments = ("run", "my.toml", mode, "--set", setting, "--set", "platform.hosts=4", "--quiet", "-o", "o")
    with process(*BATPY, *arguments, cwd=tmp_path) as run:
        wait_until((tmp_path / "started").exists)
        run.send_signal(signal.SIGINT)
        assert run.wait(DEADLINE) == 130
    assert (tmp_path / "peer.log").read_bytes() == b"batpy: error: interrupted\n"
    audit = batpy(tmp_path, "audit", "o")
    assert (audit.returncode, audit.stdout.rstrip().endswith("run interrupted")) == (0, True)


# Says that it is at work, then takes its time.
SLOW = """
import time
from dataclasses import dataclass
from pathlib import Path

from batpy.schedulers.api import Plan, View


@dataclass
class Slow:
    calls: int = 0

    def decide(self, view: View) -> Plan:
        self.calls += 1
        if self.calls == 50:
            Path("started").touch()
        time.sleep(0.002)
        plan = Plan(view)
        for job in view.queue:
            if job.res <= plan.free_count:
                plan.start(job)
        return plan
"""


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.02)


def test_earlier_run_is_replaced_and_foreign_folder_refused(tmp_path: Path) -> None:
    write_inputs(tmp_path)
    assert batpy(tmp_path, "run", "my.toml", "--quiet", "-o", "o").returncode == 0
    assert batpy(tmp_path, "run", "my.toml", "--quiet", "-o", "o").returncode == 0
    kept = batpy(tmp_path, "run", "my.toml", "--quiet", "-o", "o", "--no-overwrite")
    assert (kept.returncode, "holds an earlier run" in kept.stderr) == (2, True)
    foreign = batpy(tmp_path, "run", "my.toml", "--quiet", "-o", ".")
    assert (foreign.returncode, "holds files but no run of batpy" in foreign.stderr) == (2, True)


@pytest.mark.parametrize(
    "setting", ["workload.0.file=no.json", "scheduler.mine.algorithm=fcfs[ordr=1]", "platform.mmax=3"]
)
def test_bad_input_is_found_before_the_output_is_touched(tmp_path: Path, setting: str) -> None:
    write_inputs(tmp_path)
    wrong = batpy(tmp_path, "run", "my.toml", "--set", setting)
    assert (wrong.returncode, wrong.stdout, wrong.stderr.count("\n")) == (2, "", 1)
    assert not (tmp_path / "results").exists()
