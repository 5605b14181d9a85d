"""What a shared run from the command line leaves: tables, summary, an audit that passes."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest
from peers import DEADLINE

pytestmark = pytest.mark.integration

BATPY = (sys.executable, "-P", "-m", "batpy")
SHARED = """
[platform]
hosts = 4
[[workload]]
id = "hpc"
file = "hpc.json"
scheduler = "hpc"
[[workload]]
id = "bda"
file = "bda.json"
scheduler = "bda"
[simulation]
dynamic_jobs = true
acknowledge_dynamic_jobs = true
forward_profiles = true
profile_reuse = true
[scheduler.hpc]
algorithm = "easy"
dynamic_jobs = false
[scheduler.bda]
algorithm = "bebida"
[broker]
policy = "bebida[prolog=oar_yarn_2017]"
"""
ALONE = """
[platform]
hosts = 4
[[workload]]
file = "hpc.json"
[scheduler.hpc]
algorithm = "easy"
"""
SAME_BYTES = ("journal.msgpack", "sharing.journal", "accounting.csv", "loans.csv", "work.csv", "summary.json")


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    hpc = [
        {"id": str(n), "subtime": 15 + 40 * n, "res": 1 + n % 3, "walltime": 30, "profile": "d20"}
        for n in range(4)
    ]
    bda = [{"id": str(n), "subtime": 5 * n, "res": 4, "profile": "app"} for n in range(2)]
    stage = {"type": "parallel_homogeneous_total", "cpu": 5e10, "com": 0}
    app = {"type": "composed", "repeat": 1, "seq": ["s", "s", "s"]}
    for name, jobs, profiles in (
        ("hpc", hpc, {"d20": {"type": "delay", "delay": 20}}),
        ("bda", bda, {"s": stage, "app": app}),
    ):
        text = json.dumps({"nb_res": 4, "jobs": jobs, "profiles": profiles})
        (tmp_path / f"{name}.json").write_text(text)
    (tmp_path / "shared.toml").write_text(SHARED)
    (tmp_path / "alone.toml").write_text(ALONE)
    return tmp_path


def batpy(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [*BATPY, *arguments], cwd=folder, capture_output=True, text=True, timeout=DEADLINE, check=False
    )
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def test_a_shared_run_is_accounted_for_and_audited(inputs: Path) -> None:
    told = batpy(inputs, "run", "shared.toml", "-o", "one")
    assert "shared by" in told
    assert "in the prolog" in told
    with (inputs / "one/work.csv").open() as file:
        useful = {row["job_id"]: float(row["useful"]) for row in csv.DictReader(file)}
    # 150 core-seconds for each application, whatever happened to its attempts.
    assert {job: round(useful[job], 3) for job in ("bda!0", "bda!1")} == {"bda!0": 150, "bda!1": 150}
    sharing = json.loads((inputs / "one/summary.json").read_text())["sharing"]
    assert sharing["tenants"]["bda"]["disruptions"] > 0
    assert "no law broken" in batpy(inputs, "audit", "one")


def test_processes_leave_the_same_accounts(inputs: Path) -> None:
    batpy(inputs, "run", "shared.toml", "-q", "-o", "one")
    batpy(inputs, "run", "shared.toml", "-q", "--processes", "-o", "two")
    for name in SAME_BYTES:
        assert (inputs / "one" / name).read_bytes() == (inputs / "two" / name).read_bytes(), name


def test_a_run_without_a_broker_is_not_taken_for_the_shared_one_before_it(inputs: Path) -> None:
    batpy(inputs, "run", "shared.toml", "-q", "-o", "one")
    batpy(inputs, "run", "alone.toml", "-q", "-o", "one")
    left = {path.name for path in (inputs / "one").iterdir()}
    assert left.isdisjoint({"sharing.journal", "accounting.csv", "loans.csv", "work.csv"})
    assert "no law broken" in batpy(inputs, "audit", "one")
