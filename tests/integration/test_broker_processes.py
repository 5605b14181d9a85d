"""A shared run gives the same bytes in every arrangement of processes; a dead or silent one is named."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from peers import DEADLINE, free_port, process
from shared_inputs import write_experiment, write_workloads

from batpy.results.journal import JOURNAL, read_journal
from batpy.results.sharing_journal import SHARING_JOURNAL

pytestmark = pytest.mark.integration

BATPY = (sys.executable, "-P", "-m", "batpy")
POLICY = "bebida[prolog=k3s_drain_2024,timeout_per_node=5,epilog_base=2,recommission=1]"
SAME = (
    "accounting.csv", "loans.csv", "work.csv", "jobs.csv", "schedule.csv", "machine_states.csv",
    JOURNAL, SHARING_JOURNAL,
)  # fmt: skip
WALL_CLOCK = ("scheduling_time", "simulation_time")


def batpy(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*BATPY, *arguments], cwd=folder, capture_output=True, text=True, timeout=DEADLINE, check=False
    )


def run(folder: Path, output: str, *flags: str) -> Path:
    done = batpy(folder, "run", "shared.toml", "--quiet", "-o", output, *flags)
    assert (done.returncode, done.stderr) == (0, "")
    return folder / output


def bytes_of(folder: Path) -> dict[str, bytes]:
    """What has to be equal: everything but two wall-clock figures that Batsim's table has."""
    told = {name: (folder / name).read_bytes() for name in SAME}
    [row] = csv.DictReader(io.StringIO(told["schedule.csv"].decode()))
    told["schedule.csv"] = repr({k: v for k, v in row.items() if k not in WALL_CLOCK}).encode()
    return told


def wait_for(path: Path, word: bytes) -> None:
    deadline = time.monotonic() + DEADLINE
    while not path.exists() or word not in path.read_bytes():
        assert time.monotonic() < deadline, f"{word!r} did not come"
        time.sleep(0.02)


# ------------------------------------------------------------------------- same bytes


def test_in_one_process_and_as_five_with_either_codec_every_byte_is_the_same(tmp_path: Path) -> None:
    write_workloads(tmp_path)
    write_experiment(tmp_path, policy=POLICY)
    embedded = run(tmp_path, "embedded", "--embedded")
    expected = bytes_of(embedded)
    with (embedded / "work.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert any(int(row["disruptions"]) for row in rows), "nothing was taken from anybody"
    for codec in ("json", "msgpack"):
        output = run(tmp_path, codec, "--processes", "--set", f"simulation.codec={codec}")
        assert bytes_of(output) == expected, codec
    audit = batpy(tmp_path, "audit", "json")
    assert (audit.returncode, "no law broken" in audit.stdout) == (0, True)


def test_processes_started_by_hand_give_the_same_results(tmp_path: Path) -> None:
    write_workloads(tmp_path)
    write_experiment(tmp_path, policy=POLICY)
    expected = bytes_of(run(tmp_path, "embedded", "--embedded"))
    ends = {name: f"tcp://127.0.0.1:{free_port()}" for name in ("broker", "hpc", "bda")}
    algorithms = {"hpc": "easy", "bda": "bebida"}
    with ExitStack() as stack:
        for name, algorithm in algorithms.items():
            (tmp_path / name).mkdir()
            command = (*BATPY, "scheduler", algorithm, "--bind", ends[name])
            stack.enter_context(process(*command, cwd=tmp_path / name))
        switches = [
            word
            for flag in ("dynamic-jobs", "acknowledge-dynamic-jobs", "profile-reuse", "forward-profiles")
            for word in (f"--{flag}", "bda")
        ]
        broker = stack.enter_context(
            process(
                *BATPY, "broker", "--bind", ends["broker"], "--policy", POLICY, "--output", "by-hand",
                "--scheduler", f"hpc={ends['hpc']}", "--scheduler", f"bda={ends['bda']}",
                "--route", "hpc=hpc", "--route", "bda=bda", *switches,
                cwd=tmp_path,
            )
        )  # fmt: skip
        wait_for(tmp_path / "peer.log", b"the broker listens on")
        simulated = batpy(
            tmp_path, "simulate", "-p", "cluster[hosts=16,speed=1e9]",
            "-w", "hpc=hpc.json", "-w", "bda=bda.json",
            "--endpoint", ends["broker"], "--quiet", "-e", "by-hand", "--enable-dynamic-jobs",
            "--acknowledge-dynamic-jobs", "--enable-profile-reuse", "--forward-profiles-on-submission",
        )  # fmt: skip
        assert (simulated.returncode, simulated.stderr) == (0, "")
        assert broker.wait(DEADLINE) == 0
    # Broker and simulator named one folder: it holds all that a run in one process leaves.
    made, told = bytes_of(tmp_path / "by-hand"), json.loads((tmp_path / "by-hand/summary.json").read_text())
    differing = {name for name in SAME if made[name] != expected[name]}
    assert not differing
    assert list(told["sharing"]["tenants"]) == ["hpc", "bda"]
    audit = batpy(tmp_path, "audit", "by-hand")
    assert (audit.returncode, "no law broken" in audit.stdout) == (0, True)


def test_a_journal_of_an_earlier_broker_is_not_taken_for_this_run(tmp_path: Path) -> None:
    write_workloads(tmp_path)
    write_experiment(tmp_path)
    run(tmp_path, "o", "--embedded")
    assert (tmp_path / "o" / SHARING_JOURNAL).is_file()
    end = f"tcp://127.0.0.1:{free_port()}"
    with process(*BATPY, "scheduler", "easy", "--bind", end, cwd=tmp_path):
        wait_for(tmp_path / "peer.log", b"listens on")
        done = batpy(tmp_path, "simulate", "-p", "16", "-w", "hpc.json", "--endpoint", end, "-q", "-e", "o")
    assert (done.returncode, done.stderr) == (0, "")
    assert not (tmp_path / "o" / SHARING_JOURNAL).exists()


def test_a_run_that_the_broker_refused_at_its_greeting_breaks_no_law(tmp_path: Path) -> None:
    write_workloads(tmp_path)
    ends = [f"tcp://127.0.0.1:{free_port()}" for _ in range(2)]
    flags = ("--bind", ends[0], "--scheduler", f"hpc={ends[1]}", "--output", "o", "--route", "hpc=hpc")
    with process(*BATPY, "broker", *flags, cwd=tmp_path) as broker:
        wait_for(tmp_path / "peer.log", b"the broker listens on")
        done = batpy(
            tmp_path, "simulate", "-p", "16", "-w", "hpc=hpc.json", "-w", "bda=bda.json",
            "--endpoint", ends[0], "-q", "-e", "o",
        )  # fmt: skip
        assert (done.returncode, broker.wait(DEADLINE)) == (3, 2)
    said = (tmp_path / "peer.log").read_text()
    assert "--route: workload 'bda' has no scheduler; name one of hpc (bda=NAME)" in said
    audit = batpy(tmp_path, "audit", "o")
    assert (audit.returncode, audit.stderr) == (0, ""), audit.stdout
    assert "the broker ended before the run began" in audit.stdout


@pytest.mark.parametrize("mode", ["--embedded", "--processes"])
def test_a_scheduler_that_never_answers_may_be_dropped(tmp_path: Path, mode: str) -> None:
    write_workloads(tmp_path)
    nobody = f"endpoint = 'tcp://127.0.0.1:{free_port()}'\ndroppable = true"
    write_experiment(tmp_path, bda=nobody, simulation="deadline = 1")
    done = batpy(tmp_path, "run", "shared.toml", mode, "--quiet", "-o", "o")
    assert (done.returncode, done.stderr) == (0, "")
    with (tmp_path / "o/jobs.csv").open() as file:
        states = {(row["workload_name"], row["final_state"]) for row in csv.DictReader(file)}
    assert states == {("hpc", "COMPLETED_SUCCESSFULLY"), ("bda", "REJECTED")}
    audit = batpy(tmp_path, "audit", "o")
    assert (audit.returncode, audit.stderr) == (0, ""), audit.stdout


# ------------------------------------------------------------------------- a process dies or is silent

SEAT = """
import os
from batpy.schedulers.api import Plan, View

class Mine:
    calls = 0

    def decide(self, view: View) -> Plan:
        self.calls += 1
        if self.calls == 9:
            {act}
        plan = Plan(view)
        for job in view.queue:
            if job.res <= plan.free_count:
                plan.start(job)
        return plan
"""
SHARING = """
import os
from batpy.broker.policies.bebida import Bebida

class Mine(Bebida):
    calls = 0

    def start_requested(self, start):
        self.calls += 1
        if self.calls == 25:
            {act}
        return super().start_requested(start)
"""
DIE, FOR_EVER = "os.kill(os.getpid(), 9)", "while True: pass"


def broken(folder: Path, victim: str, act: str, *flags: str, simulation: str = "deadline = 20") -> str:
    """Run with one peer that dies or goes silent some time after the beginning; the one line that is said."""
    write_workloads(folder)
    (folder / "seat.py").write_text(SEAT.format(act=act))
    (folder / "sharing.py").write_text(SHARING.format(act=act))
    write_experiment(
        folder,
        hpc='algorithm = "seat.py"' if victim == "hpc" else 'algorithm = "easy"',
        bda='algorithm = "seat.py"' if victim == "bda" else 'algorithm = "bebida"',
        policy="sharing.py:Mine" if victim == "broker" else "bebida",
        simulation=simulation,
    )
    begun = time.monotonic()
    lost = batpy(folder, "run", "shared.toml", "--quiet", "-o", "o", *flags)
    assert (lost.returncode, lost.stderr.count("\n")) == (3, 1), lost.stderr
    assert time.monotonic() - begun < 15
    return lost.stderr


def check_what_is_left(folder: Path) -> None:
    """The journal ends as it should, all tables are there, and no law is broken in what happened."""
    *_, last = read_journal(folder / "o" / JOURNAL)
    assert getattr(last, "outcome", "") == "peer_lost"
    for name in SAME:
        assert (folder / "o" / name).is_file(), name
    with (folder / "o/jobs.csv").open() as file:
        assert {row["workload_name"] for row in csv.DictReader(file)} == {"hpc", "bda"}
    audit = batpy(folder, "audit", "o")
    assert (audit.returncode, audit.stderr) == (0, ""), audit.stdout + audit.stderr
    assert "run peer_lost" in audit.stdout


@pytest.mark.parametrize(
    ("victim", "named"), [("hpc", "scheduler hpc"), ("bda", "scheduler bda"), ("broker", "the broker")]
)
def test_whoever_is_killed_is_named_within_seconds(tmp_path: Path, victim: str, named: str) -> None:
    said = broken(tmp_path, victim, DIE, "--processes")
    assert named in said
    assert "its process was killed by signal 9" in said
    check_what_is_left(tmp_path)


@pytest.mark.parametrize("victim", ["hpc", "bda"])
def test_a_silent_scheduler_is_named_when_its_time_is_up(tmp_path: Path, victim: str) -> None:
    said = broken(tmp_path, victim, FOR_EVER, "--processes", simulation="deadline = 3")
    assert f"scheduler {victim}" in said
    assert "3 s" in said
    check_what_is_left(tmp_path)


def test_a_scheduler_that_may_be_dropped_is_lost_and_the_run_goes_on(tmp_path: Path) -> None:
    write_workloads(tmp_path)
    (tmp_path / "seat.py").write_text(SEAT.format(act=DIE))
    write_experiment(tmp_path, bda='algorithm = "seat.py"\ndroppable = true')
    done = batpy(tmp_path, "run", "shared.toml", "--processes", "--quiet", "-o", "o")
    assert done.returncode == 0, done.stderr
    with (tmp_path / "o/jobs.csv").open() as file:
        states = [(row["workload_name"], row["final_state"]) for row in csv.DictReader(file)]
    assert {state for workload, state in states if workload == "hpc"} == {"COMPLETED_SUCCESSFULLY"}
    assert "REJECTED" in {state for workload, state in states if workload == "bda"}
    audit = batpy(tmp_path, "audit", "o")
    assert (audit.returncode, audit.stderr) == (0, "")
