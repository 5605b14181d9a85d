"""Kills, closed streams, full devices: nothing hangs, nothing is lost, nothing is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from peers import DEADLINE, process

from batpy.results.journal import JOURNAL, read_journal

pytestmark = pytest.mark.integration

BATPY = (sys.executable, "-P", "-m", "batpy")
POLICY = """
import os, sys, time
from pathlib import Path
from batpy.schedulers.api import Plan, View

class Mine:
    calls = 0

    def decide(self, view: View) -> Plan:
        self.calls += 1
        if self.calls == 20:
            Path("started").write_text(str(os.getpid()))
            {act}
        plan = Plan(view)
        for job in view.queue:
            if job.res <= plan.free_count:
                plan.start(job)
        return plan
"""
FOR_EVER = "while True: pass"


def write_inputs(folder: Path, act: str = "pass") -> None:
    (folder / "policy.py").write_text(POLICY.format(act=act))
    rows = (f"{n} {n} 0 5 2 -1 -1 2 20 -1 1 1 1 1 1 1 -1 -1\n" for n in range(1, 400))
    (folder / "log.swf").write_text("".join(rows))
    (folder / "my.toml").write_text(
        '[platform]\nhosts = 4\n[[workload]]\nfile = "log.swf"\n[scheduler.mine]\nalgorithm = "policy.py"\n'
    )


def batpy(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*BATPY, *arguments], cwd=folder, capture_output=True, text=True, timeout=DEADLINE, check=False
    )


def wait_for(path: Path) -> str:
    deadline = time.monotonic() + DEADLINE
    while not path.exists() or not path.read_text():
        assert time.monotonic() < deadline, f"{path.name} did not come in time"
        time.sleep(0.02)
    return path.read_text()


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"


def gone(pid: int) -> bool:
    deadline = time.monotonic() + DEADLINE
    while is_alive(pid):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.parametrize("mode", ["--embedded", "--processes"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_polite_kill_ends_like_ctrl_c(tmp_path: Path, mode: str, number: int) -> None:
    write_inputs(tmp_path, FOR_EVER)
    with process(*BATPY, "run", "my.toml", mode, "--quiet", "-o", "o", cwd=tmp_path) as run:
        scheduler = int(wait_for(tmp_path / "started"))
        run.send_signal(number)
        assert run.wait(DEADLINE) == 130
    assert gone(scheduler)
    assert (tmp_path / "peer.log").read_text() == "batpy: error: interrupted\n"
    audit = batpy(tmp_path, "audit", "o")
    assert (audit.returncode, audit.stdout.rstrip().endswith("run interrupted")) == (0, True)
    assert not (tmp_path / "o/scheduler-mine.log").exists()


def test_a_killed_simulator_takes_its_scheduler_and_its_socket_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_inputs(tmp_path, FOR_EVER)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    with process(*BATPY, "run", "my.toml", "--processes", "--quiet", "-o", "o", cwd=tmp_path) as run:
        scheduler = int(wait_for(tmp_path / "started"))
        run.send_signal(signal.SIGKILL)
        run.wait(DEADLINE)
        assert gone(scheduler)
    assert list((tmp_path / "tmp").iterdir()) == []
    assert batpy(tmp_path, "audit", "o").returncode == 0
    write_inputs(tmp_path)
    assert batpy(tmp_path, "run", "my.toml", "--quiet", "-o", "o").returncode == 0


def test_a_killed_scheduler_is_exit_3_with_its_end(tmp_path: Path) -> None:
    write_inputs(tmp_path, "os.kill(os.getpid(), 9)")
    lost = batpy(tmp_path, "run", "my.toml", "--processes", "--quiet", "-o", "o")
    assert (lost.returncode, lost.stderr.count("\n")) == (3, 1)
    assert lost.stderr.endswith("its process was killed by signal 9\n")


def test_a_policy_that_leaves_the_program_does_not_pass_for_a_finished_run(tmp_path: Path) -> None:
    write_inputs(tmp_path, "sys.exit(0)")
    left = batpy(tmp_path, "run", "my.toml", "--quiet", "-o", "o")
    assert (left.returncode, left.stderr.count("\n")) == (2, 1)
    assert left.stderr.endswith("it left with sys.exit()\n")
    *_, last = read_journal(tmp_path / "o" / JOURNAL)
    assert getattr(last, "outcome", "") == "refused"


@pytest.mark.parametrize("mode", ["--embedded", "--processes"])
@pytest.mark.parametrize("act", ["1 / 0", "sys.exit(0)"])
def test_a_policy_that_fails_is_exit_2_in_either_mode(tmp_path: Path, mode: str, act: str) -> None:
    write_inputs(tmp_path, act)
    failed = batpy(tmp_path, "run", "my.toml", mode, "--quiet", "-o", "o")
    assert (failed.returncode, failed.stderr.count("\n")) == (2, 1)
    assert "failed at policy.py:13" in failed.stderr or "it left with sys.exit()" in failed.stderr


def test_a_scheduler_process_that_cannot_begin_is_exit_2(tmp_path: Path) -> None:
    """The file is good for this process and bad for the next one."""
    write_inputs(tmp_path)
    (tmp_path / "policy.py").write_text(
        POLICY.format(act="pass") + "\nPath('seen').exists() and 1 / 0\nPath('seen').touch()\n"
    )
    failed = batpy(tmp_path, "run", "my.toml", "--processes", "--quiet", "-o", "o")
    assert (failed.returncode, failed.stderr.count("\n")) == (2, 1)
    assert "ZeroDivisionError" in failed.stderr


def test_an_error_nobody_thought_of_is_not_recorded_as_done(tmp_path: Path) -> None:
    write_inputs(tmp_path, "raise GeneratorExit")
    failed = batpy(tmp_path, "run", "my.toml", "--quiet", "-o", "o")
    assert (failed.returncode, failed.stderr.count("\n")) == (70, 1)
    *_, last = read_journal(tmp_path / "o" / JOURNAL)
    assert getattr(last, "outcome", "") == "failed"


def test_a_socket_file_goes_with_a_scheduler_that_is_told_to_go(tmp_path: Path) -> None:
    with process(*BATPY, "scheduler", "fcfs", "--bind", "ipc://here", cwd=tmp_path) as server:
        deadline = time.monotonic() + DEADLINE
        while not (tmp_path / "here").exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        server.send_signal(signal.SIGTERM)
        assert server.wait(DEADLINE) == 130
    assert not (tmp_path / "here").exists()


@pytest.mark.parametrize("streams", [(1,), (2,), (0, 1, 2)])
def test_closed_streams_do_not_reach_the_results(tmp_path: Path, streams: tuple[int, ...]) -> None:
    write_inputs(tmp_path)
    closing = " ".join(f"{number}>&-" for number in streams)
    command = f"exec {sys.executable} -P -m batpy run my.toml -o o --processes {closing}"
    run = subprocess.run(["sh", "-c", command], cwd=tmp_path, timeout=DEADLINE, check=False)
    assert run.returncode == 0
    assert batpy(tmp_path, "audit", "o").returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a Linux device")
def test_output_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    write_inputs(tmp_path)
    with Path("/dev/full").open("w") as full:
        run = subprocess.run(
            [*BATPY, "list", "schedulers"],
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=DEADLINE,
            check=False,
        )
    assert (run.returncode, run.stderr.count("\n")) == (2, 1)
    assert run.stderr.endswith(": No space left on device\n")


def test_a_long_folder_for_temporary_files_is_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_inputs(tmp_path)
    folder = tmp_path / ("d" * 120)
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    run = batpy(tmp_path, "run", "my.toml", "--processes", "--quiet", "-o", "o")
    assert (run.returncode, run.stderr) == (0, "")
    assert list(folder.iterdir()) == []
