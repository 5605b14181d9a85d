"""Whole runs with requests: the same bytes however the controller is asked, and an audit that passes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from inference_cases import RESNET50

from batpy.results.audit import audit

pytestmark = pytest.mark.integration

EXPERIMENT = """
seed = 5
[platform]
hosts = 3
gpus = 2
[serving]
tables = ["zoo.json"]
jitter.exec_sd = 0.01
[[workload]]
id = "web"
kind = "requests"
generator = "poisson[model=resnet50_v2,rate=1500,duration=1.5,copies=12,slo=0.05]"
[scheduler.c]
algorithm = "{controller}"
"""
FILES = ("journal.msgpack", "requests.csv", "actions.csv", "experiment.json")


def batpy(folder: Path, *arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "batpy", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "requests: " in done.stderr


@pytest.mark.parametrize("controller", ["direct", "fifo_batching", "clockwork"])
def test_the_same_bytes_in_every_mode(tmp_path: Path, controller: str) -> None:
    row = {
        "weights_load_time_nanos": RESNET50.weights_load_time,
        "batch_exec_times_nanos": {str(size): nanos for size, nanos in RESNET50.exec_times},
        "weights_memory": RESNET50.weights_size,
        "num_weights_pages": RESNET50.num_weights_pages,
        "page_size": RESNET50.page_size,
        "input_size": RESNET50.input_size,
        "output_size": RESNET50.output_size,
    }
    (tmp_path / "zoo.json").write_text(json.dumps({"models": {"resnet50_v2": row}}))
    (tmp_path / "e.toml").write_text(EXPERIMENT.replace("{controller}", controller))
    batpy(tmp_path, "run", "e.toml", "--embedded", "--output", "one")
    batpy(tmp_path, "run", "e.toml", "--processes", "--output", "two")
    batpy(tmp_path, "run", "e.toml", "--processes", "--set", "simulation.codec=msgpack", "--output", "three")
    for name in FILES:
        content = (tmp_path / "one" / name).read_bytes()
        assert content == (tmp_path / "two" / name).read_bytes(), name
        if name != "experiment.json":  # it names the codec
            assert content == (tmp_path / "three" / name).read_bytes(), name
    report = audit(tmp_path / "one")
    assert report.passed, list(report.lines())
    count = (tmp_path / "one" / "requests.csv").read_text().count("\n") - 1
    assert any(remark.startswith(f"{count} requests: ") for remark in report.remarks)
