"""One process or two, JSON or MessagePack: the whole KTH-SP2 log under EASY leaves the same bytes."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration

MODES = {
    "embedded": ("--embedded",),
    "json": ("--processes", "--codec", "json"),
    "msgpack": ("--processes", "--codec", "msgpack"),
}
WALL_CLOCK = ("scheduling_time", "simulation_time")


def leave(experiment: Path, folder: Path, flags: tuple[str, ...]) -> tuple[dict[str, bytes], dict[str, str]]:
    command = [
        sys.executable,
        "-m",
        "batpy",
        "run",
        str(experiment),
        "--quiet",
        "--output",
        str(folder),
        *flags,
    ]
    subprocess.run(command, check=True, timeout=300, cwd=folder.parent)
    files = {
        name: (folder / name).read_bytes() for name in ("jobs.csv", "machine_states.csv", "journal.msgpack")
    }
    with (folder / "schedule.csv").open() as table:
        [row] = csv.DictReader(table)
    return files, {name: value for name, value in row.items() if name not in WALL_CLOCK}


def test_a_whole_log_leaves_the_same_bytes_however_its_scheduler_is_reached(
    shared: Path, tmp_path: Path
) -> None:
    experiment = tmp_path / "kth.toml"
    log = shared / "data/swf/KTH-SP2-1996-2.1-cln.swf.gz"
    experiment.write_text(
        f"[platform]\nhosts = 128\n[[workload]]\nfile = '{log}'\n[scheduler.easy]\nalgorithm = 'easy'\n"
    )
    left = {mode: leave(experiment, tmp_path / mode, flags) for mode, flags in MODES.items()}
    assert left["embedded"][0]["jobs.csv"].count(b"\n") == 28_476
    assert left["json"] == left["embedded"]
    assert left["msgpack"] == left["embedded"]
