"""Policies that switch hosts, from an experiment file to tables: journal and tables agree, in every mode."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from batpy.protocol import hostset
from batpy.protocol import records as r
from batpy.results.journal import JOURNAL, read_journal

pytestmark = pytest.mark.integration

BATPY = (sys.executable, "-P", "-m", "batpy")
TABLES = ("jobs.csv", "machine_states.csv", "pstate_changes.csv", "consumed_energy.csv")
SLEEP = "easy_sleep[idle_seconds=60,reserve=1]"
BUDGET = "easy_budget[budget_joules=400e3,period_seconds=1600,idle_seconds=60]"


def run(experiment: str, output: Path, *flags: str) -> Path:
    command = [*BATPY, "run", experiment, "--quiet", "--output", str(output), *flags]
    done = subprocess.run(
        command, cwd=output.parent, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return output


def rows(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / name).open(newline="") as file:
        return list(csv.DictReader(file))


def check_tables(folder: Path) -> int:
    """Journal and tables agree, jobs run on hosts that are on, energy only grows; the number of switches."""
    pstate = {}
    changes = [
        (float(row["time"]), row["machine_id"], int(row["new_pstate"])) for row in rows(folder, TABLES[2])
    ]
    switched = 0
    off: dict[int, list[tuple[float, float]]] = {}
    since: dict[int, float] = {}
    for date, machines, state in changes:
        for host in hostset.ids(hostset.parse(machines)):
            if state < 0:
                switched += 1
                since.setdefault(host, date)
                # Only what is on its way to another state is followed by that state.
                assert pstate[host] >= 0
            elif pstate.get(host) == -1:
                off.setdefault(host, []).append((since.pop(host), date))
            pstate[host] = state
    assert all(state >= 0 for state in pstate.values())
    for job in rows(folder, "jobs.csv"):
        start, end = float(job["starting_time"]), float(job["finish_time"])
        for host in hostset.ids(hostset.parse(job["allocated_resources"])):
            assert not any(first < end and start < last for first, last in off.get(host, []))
            assert host not in since or end <= since[host]
    asked = [x for x in read_journal(folder / JOURNAL) if type(x) is r.PstateAsked]
    told = [(x.time / 1e6, hostset.to_text(x.hosts), x.state) for x in asked if x.done]
    assert told == [change for change in changes if change[2] >= 0][-len(told) :]
    assert sum(hostset.size(x.off) + hostset.size(x.on) for x in asked) == switched
    energy = [float(row["energy"]) for row in rows(folder, "consumed_energy.csv")]
    assert energy == sorted(energy)
    kinds = [row["event_type"] for row in rows(folder, "consumed_energy.csv")]
    assert kinds.count("p") == sum(1 for _, _, state in changes if state < 0) * 2
    assert kinds.count("s") == kinds.count("e") == len(rows(folder, "jobs.csv"))
    return switched


@pytest.mark.parametrize("algorithm", [SLEEP, BUDGET])
def test_the_bundled_park_gives_the_same_bytes_in_every_mode(tmp_path: Path, algorithm: str) -> None:
    chosen = ("--set", f"scheduler.sleep.algorithm={algorithm}")
    one = run("sample:easy-sleep", tmp_path / "one", *chosen)
    assert check_tables(one) > 4
    for codec in ("json", "msgpack"):
        two = run("sample:easy-sleep", tmp_path / codec, *chosen, "--processes", "--codec", codec)
        for name in (JOURNAL, *TABLES):
            assert (one / name).read_bytes() == (two / name).read_bytes(), name
    if algorithm is BUDGET:
        for row in rows(one, "consumed_energy.csv"):
            assert float(row["energy"]) <= 250 * float(row["time"]) + 1e-6


def test_sleeping_saves_energy_on_the_bundled_park(tmp_path: Path) -> None:
    asleep = run("sample:easy-sleep", tmp_path / "asleep")
    awake = run("sample:easy-sleep", tmp_path / "awake", "--set", "scheduler.sleep.algorithm=easy")
    joules = [float(rows(folder, "schedule.csv")[0]["consumed_joules"]) for folder in (asleep, awake)]
    assert joules[0] < 0.8 * joules[1]


PLATFORMS = {
    "gridgym": ("batsim/gridgym-platform.xml", "batsim/gridgym-w.json", 60),
    "sdsrl": ("batsim/sdsrl-platform-8.xml", None, 5000),
    "cluster": ("batsim-examples/platforms/cluster_energy_128.xml", None, 600),
    "homogeneous": ("batsim-examples/platforms/energy_platform_homogeneous.xml", None, 60),
}


@pytest.mark.parametrize("name", list(PLATFORMS))
def test_energy_platforms_of_others_run(shared: Path, tmp_path: Path, name: str) -> None:
    platform, workload, idle = PLATFORMS[name]
    if workload is None:
        jobs = [
            {"id": str(n), "subtime": (n // 3) * 40_000, "res": 1 + n % 4, "walltime": 900, "profile": "p"}
            for n in range(12)
        ]
        profiles = {"p": {"type": "delay", "delay": 500}}
        (tmp_path / "w.json").write_text(json.dumps({"nb_res": 4, "jobs": jobs, "profiles": profiles}))
    file = tmp_path / "w.json" if workload is None else shared / "data" / workload
    (tmp_path / "e.toml").write_text(
        f"[platform]\nfile = '{shared / 'data' / platform}'\n[simulation]\nenergy = true\n"
        f"[[workload]]\nfile = '{file}'\n[scheduler.s]\nalgorithm = 'easy_sleep[idle_seconds={idle}]'\n"
    )
    done = run("e.toml", tmp_path / "out")
    assert {row["final_state"] for row in rows(done, "jobs.csv")} == {"COMPLETED_SUCCESSFULLY"}
    assert check_tables(done) > 2
