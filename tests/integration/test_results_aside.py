"""Tables made by a process beside the run: the same bytes, and never missing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot copy a process"),
]

# In a process of its own: the copy must not be one of a test runner with threads.
SCRIPT = """
import os, signal, sys
from batpy.protocol.records import Ended, RunBegins, RunEnds, Started, Submitted
from batpy.results import aside
from batpy.results.recorder import RunRecorder
from batpy.results.timing import Timing

folder, mode = sys.argv[1:]
aside.is_possible = lambda: mode != "here"
recorder = RunRecorder(folder, aside=True)
far = 10**20 if mode == "far" else 0
recorder.write(RunBegins(0, "1", 1_000_000, 8, 0, False, {"w0": "x"}))
for i in range(5000):
    now, job = far + i * 1_000_000, f"w0!{i}"
    recorder.write(Submitted(now, job, "d", now, 2, -1, f"u{i % 5}"))
    recorder.write(Started(now, job, ((0, 1),)))
    recorder.write(Ended(now + 500_000, job, "COMPLETED_SUCCESSFULLY", 0))
    if mode == "killed" and i == 2500:
        os.kill(recorder._aside._pid, signal.SIGKILL)
recorder.write(RunEnds(far + 5000 * 1_000_000, "done"))
recorder.close(Timing(1.0, 2.0))
print(recorder.summary.jobs.successful)
"""
FILES = ("jobs.csv", "machine_states.csv", "schedule.csv", "journal.msgpack", "summary.json")


def leave(folder: Path, mode: str) -> dict[str, bytes]:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder), mode],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == "5000\n"
    return {name: (folder / name).read_bytes() for name in FILES}


@pytest.mark.parametrize("mode", ["aside", "killed"])
def test_tables_are_the_same_bytes_wherever_they_are_made(tmp_path: Path, mode: str) -> None:
    assert leave(tmp_path / "a", mode) == leave(tmp_path / "b", "here")


def test_dates_beyond_64_bits_are_made_from_the_journal(tmp_path: Path) -> None:
    rows = leave(tmp_path, "far")["jobs.csv"].decode().splitlines()
    assert len(rows) == 5001
    assert rows[1].split(",")[3] == "100000000000000.000000"


def test_a_run_that_is_killed_leaves_readable_tables(tmp_path: Path) -> None:
    script = SCRIPT.replace("recorder.close(", "recorder.flush(); os.kill(os.getpid(), signal.SIGKILL) #")
    ended = subprocess.run([sys.executable, "-c", script, str(tmp_path), "aside"], timeout=60, check=False)
    assert ended.returncode == -signal.SIGKILL
    # The process beside it finishes the tables on its own as soon as the pipe is closed.
    give_up = time.monotonic() + 30
    while not (tmp_path / "summary.json").exists():
        assert time.monotonic() < give_up
        time.sleep(0.02)
    assert len((tmp_path / "jobs.csv").read_text().splitlines()) == 5001
