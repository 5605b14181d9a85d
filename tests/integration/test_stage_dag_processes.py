"""Applications of stages that lose hosts: the same bytes however they are run, and accounts that add up."""

from __future__ import annotations

import csv
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from peers import DEADLINE
from shared_inputs import write_experiment

pytestmark = pytest.mark.integration

BATPY = (sys.executable, "-P", "-m", "batpy")
SAME = (
    "journal.msgpack",
    "sharing.journal",
    "accounting.csv",
    "loans.csv",
    "work.csv",
    "jobs.csv",
    "summary.json",
)


def application(dice: random.Random, index: int) -> dict[str, Any]:
    """Three stages in two jobs; half of the tasks are drawn."""
    table = sorted(round(dice.uniform(1, 9), 3) for _ in range(17))
    return {
        "type": "stage_dag",
        "framework": ("spark", "mapreduce", "workflow")[index % 3],
        "shuffle": ("local", "local", "external", "pfs")[index % 4],
        "checkpoint": (None, 2)[index % 2],
        "slots": {"0": 2},
        "jobs": [{"id": 0}, {"id": 1, "after": 0, "think": 1.5}],
        "stages": [
            {"id": 0, "tasks": 40, "times": table, "total": 200},
            {"id": 1, "tasks": 20, "durations": [dice.randrange(1, 9) for _ in range(20)], "parents": [0]},
            {"id": 2, "tasks": 10, "times": table, "parents": [1], "job": 1},
        ],
    }


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    dice = random.Random(5)
    apps = {f"app{i}": application(dice, i) for i in range(8)}
    bda = [
        {"id": str(i), "subtime": 10 * i, "res": dice.choice([4, 8, 16]), "profile": f"app{i}"}
        for i in range(8)
    ]
    hpc = [
        {
            "id": str(i),
            "subtime": 5 + i * 15,
            "res": dice.choice([1, 2, 4, 8]),
            "walltime": 60,
            "profile": "d",
        }
        for i in range(12)
    ]
    delay = {"d": {"type": "delay", "delay": 20}}
    for name, jobs, profiles in (("hpc", hpc, delay), ("bda", bda, apps)):
        text = json.dumps({"nb_res": 16, "jobs": jobs, "profiles": profiles})
        (tmp_path / f"{name}.json").write_text(text)
    write_experiment(tmp_path)
    return tmp_path


def batpy(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [*BATPY, *arguments], cwd=folder, capture_output=True, text=True, timeout=DEADLINE, check=False
    )
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def test_in_one_process_or_several_and_in_both_codecs_every_byte_is_the_same(inputs: Path) -> None:
    batpy(inputs, "run", "shared.toml", "-q", "-o", "one")
    for codec in ("json", "msgpack"):
        batpy(
            inputs,
            "run",
            "shared.toml",
            "-q",
            "--processes",
            "--set",
            f"simulation.codec={codec}",
            "-o",
            codec,
        )
        for name in SAME:
            assert (inputs / "one" / name).read_bytes() == (inputs / codec / name).read_bytes(), (codec, name)


def test_work_is_useful_once_and_the_audit_finds_nothing(inputs: Path) -> None:
    batpy(inputs, "run", "shared.toml", "-q", "-o", "one", "--set", "seed=3")
    with (inputs / "one/work.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["job_id"].startswith("bda")]
    assert len(rows) == 8
    assert sum(int(row["disruptions"]) for row in rows) > 5
    assert any(float(row["reexecuted"]) > 0 for row in rows)
    for row in rows:
        useful, lost, executed = (float(row[key]) for key in ("useful", "lost", "executed"))
        assert useful + lost == pytest.approx(executed)
        assert useful > 0
    assert "no law broken" in batpy(inputs, "audit", "one")
