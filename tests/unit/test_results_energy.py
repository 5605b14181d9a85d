"""Tables of a run with energy: its own two, and what changes in the other three."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from playback import JobList, job
from powered import Scripted, park, to

from batpy.results.audit import audit
from batpy.results.recorder import RunRecorder
from batpy.results.tables import rebuild_tables
from batpy.results.timing import Timing
from batpy.simulator.config import SimulatorConfig
from batpy.simulator.core import Simulator, run

FILES = ("jobs.csv", "machine_states.csv", "schedule.csv", "consumed_energy.csv", "pstate_changes.csv")


def record(folder: Path, *, energy: bool = True) -> None:
    """One job on host 0 from 1 s to 11 s; host 1 is asleep from 4 s to 30 s, on its way for 2 s and 20 s."""
    script: Any = {2: [to(1, 1)], 10: [to(0, 1)]} if energy else {}
    jobs = JobList(
        [job("a", 1, profile="full")], {"full": {"type": "parallel_homogeneous", "cpu": 1e9, "com": 0}}
    )
    recorder = RunRecorder(folder)
    simulator = Simulator(park(2), [jobs], recorder, SimulatorConfig(energy=energy))
    run(simulator, Scripted(script))
    recorder.close(Timing())


def table(folder: Path, name: str) -> list[dict[str, str]]:
    with open(folder / name, newline="") as file:
        return list(csv.DictReader(file))


def test_consumed_energy_has_a_row_at_each_start_end_and_pstate_change(tmp_path: Path) -> None:
    record(tmp_path)
    assert (tmp_path / "consumed_energy.csv").read_text() == (
        "time,energy,event_type,wattmin,epower\n"
        "1.000000,60.000000,s,60.000000,60.000000\n"
        "2.000000,190.000000,p,230.996721,130.000000\n"
        "4.000000,791.993443,p,39.750000,300.996721\n"
        "10.000000,1450.493443,p,455.174385,109.750000\n"
        "11.000000,1975.667828,e,455.174385,525.174385\n"
        "30.000000,10623.981141,p,60.000000,455.174385\n"
    )


def test_pstate_changes_tell_initial_pstates_ways_and_arrivals(tmp_path: Path) -> None:
    record(tmp_path)
    assert (tmp_path / "pstate_changes.csv").read_text() == (
        "time,machine_id,new_pstate\n0,0-1,0\n2,1,-2\n4,1,1\n10,1,-1\n30,1,0\n"
    )


def test_machine_states_count_hosts_that_sleep_and_are_switched(tmp_path: Path) -> None:
    record(tmp_path)
    assert (tmp_path / "machine_states.csv").read_text() == (
        "time,nb_sleeping,nb_switching_on,nb_switching_off,nb_idle,nb_computing\n"
        "1,0,0,0,1,1\n2,0,0,1,0,1\n4,1,0,0,0,1\n10,0,1,0,0,1\n11,0,1,0,1,0\n30,0,0,0,2,0\n"
    )


def test_jobs_and_schedule_have_joules_switches_and_times(tmp_path: Path) -> None:
    record(tmp_path)
    assert table(tmp_path, "jobs.csv")[0]["consumed_energy"] == "1000.000000"
    [row] = table(tmp_path, "schedule.csv")
    # From the first submission (60 J) to the last end of a job.
    assert row["consumed_joules"] == "1915.667828"
    assert (row["nb_machine_switches"], row["nb_grouped_switches"]) == ("2", "2")
    times = {key: float(value) for key, value in row.items() if key.startswith("time_")}
    assert times == {
        "time_computing": 10,
        "time_idle": 1 + 2,
        "time_sleeping": 6,
        "time_switching_off": 2,
        "time_switching_on": 20,
        "time_unavailable": 0,
    }


def test_the_tables_are_made_from_the_journal_with_the_same_bytes(tmp_path: Path) -> None:
    folder, again = tmp_path / "run", tmp_path / "again"
    again.mkdir()
    record(folder)
    rebuild_tables(folder, into=again)
    for name in FILES:
        assert (folder / name).read_bytes() == (again / name).read_bytes(), name
    assert audit(folder).passed


def test_a_run_without_energy_leaves_no_tables_of_an_earlier_one(tmp_path: Path) -> None:
    record(tmp_path)
    record(tmp_path, energy=False)
    assert not (tmp_path / "consumed_energy.csv").exists()
    assert not (tmp_path / "pstate_changes.csv").exists()
    assert table(tmp_path, "jobs.csv")[0]["consumed_energy"] == "-1.000000"
    assert table(tmp_path, "schedule.csv")[0]["consumed_joules"] == "0.000000"
