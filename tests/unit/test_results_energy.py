"""Tables of a run with energy: its own two, and what changes in the other three."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from playback import JobList, job
from powered import Scripted, host, park, to

from batpy.platforms.platform import Platform
from batpy.results.audit import audit
from batpy.results.recorder import RunRecorder
from batpy.results.screen import joules
from batpy.results.summary import summarise
from batpy.results.tables import JOBS_HEADER, JOBS_HEADER_WITH_ENERGY, rebuild_tables
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
        "2.000000,190.000000,p,60.000000,130.000000\n"
        "4.000000,791.993443,p,39.750000,300.996721\n"
        "10.000000,1450.493443,p,39.750000,109.750000\n"
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


def test_a_request_of_unequal_ways_has_one_row_when_it_begins_and_one_when_it_is_complete(
    tmp_path: Path,
) -> None:
    slow = host(1, speeds=(1e8, 1e-3, 0.25, 0.05))
    recorder = RunRecorder(tmp_path)
    run(
        Simulator(Platform("two", (host(0), slow)), [], recorder, SimulatorConfig(energy=True)),
        Scripted({1: [to(1, 0, 1)]}),
    )
    recorder.close(Timing())
    # Host 0 is there at 3 s, which no row tells.
    assert (tmp_path / "machine_states.csv").read_text().splitlines()[1:] == ["1,0,0,2,0,0", "5,2,0,0,0,0"]
    assert (tmp_path / "pstate_changes.csv").read_text().splitlines()[2:] == ["1,0-1,-2", "5,0-1,1"]
    assert [row["event_type"] for row in table(tmp_path, "consumed_energy.csv")] == ["p", "p"]
    [row] = table(tmp_path, "schedule.csv")
    # From each host's own arrival on; what a host does until the end is left out.
    assert (row["time_switching_off"], row["time_sleeping"]) == ("6.000000", "0.000000")


def test_a_change_without_switching_has_one_row_of_states_and_two_of_energy(tmp_path: Path) -> None:
    two = park(2, speeds=(1e8, 5e7), properties={"role": "", "wattage_per_state": "10:20, 5:8:12"})
    recorder = RunRecorder(tmp_path)
    run(Simulator(two, [], recorder, SimulatorConfig(energy=True)), Scripted({3: [to(1, 1)]}))
    recorder.close(Timing())
    assert (tmp_path / "machine_states.csv").read_text().splitlines()[1:] == ["3,0,0,0,2,0"]
    assert (tmp_path / "pstate_changes.csv").read_text().splitlines()[2:] == ["3,1,-1", "3,1,1"]
    # Epsilon watts of all hosts: before the change, then after it.
    assert (tmp_path / "consumed_energy.csv").read_text().splitlines()[1:] == [
        "3.000000,60.000000,p,20.000000,20.000000",
        "3.000000,60.000000,p,18.000000,NA",
    ]


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


def test_the_fair_share_is_the_last_column_and_only_in_runs_with_energy(tmp_path: Path) -> None:
    record(tmp_path)
    header, row = (tmp_path / "jobs.csv").read_text().splitlines()
    assert header == JOBS_HEADER.rstrip() + ",fair_share_energy"
    assert row.endswith(',0,1000.000000,"",1000.000000')
    record(tmp_path, energy=False)
    header, row = (tmp_path / "jobs.csv").read_text().splitlines()
    assert header == JOBS_HEADER.rstrip()
    assert row.endswith(',0,-1.000000,""')


def test_a_rejected_job_has_an_empty_share(tmp_path: Path) -> None:
    recorder = RunRecorder(tmp_path)
    jobs = JobList([job("big", 1, 9, profile="nap")], {"nap": {"type": "delay", "delay": 1}})
    run(Simulator(park(2), [jobs], recorder, SimulatorConfig(energy=True)), Scripted({}))
    recorder.close(Timing())
    header, row = (tmp_path / "jobs.csv").read_text().splitlines()
    assert row.endswith(',REJECTED,,,,,,,,,"",')
    assert row.count(",") == header.count(",")


def test_jobs_without_a_row_have_the_header_of_their_run(tmp_path: Path) -> None:
    recorder = RunRecorder(tmp_path)
    run(Simulator(park(1), [], recorder, SimulatorConfig(energy=True)), Scripted({5: []}))
    recorder.close(Timing())
    assert (tmp_path / "jobs.csv").read_text() == JOBS_HEADER_WITH_ENERGY


def test_pandas_reads_the_share(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    record(tmp_path)
    frame = pandas.read_csv(tmp_path / "jobs.csv")
    assert list(frame["fair_share_energy"]) == [1000.0]
    assert list(frame["consumed_energy"]) == [1000.0]


def test_the_summary_says_where_the_joules_went(tmp_path: Path) -> None:
    record(tmp_path)
    energy = summarise(tmp_path).energy
    assert energy is not None
    assert energy.by_kind is not None
    ways = 2 * 200.996721311 + 20 * 425.1743849
    # Host 0 is idle for 1 s and 19 s, host 1 for 2 s.
    assert msgspec.structs.asdict(energy.by_kind) == pytest.approx(
        {"computing": 1000, "idle": 660, "sleeping": 58.5, "switching": ways}
    )
    assert energy.joules == pytest.approx(1000 + 660 + 58.5 + ways)
    assert energy.mean_watts == pytest.approx(energy.joules / 30)
    assert energy.useful_joules == pytest.approx(1000)
    assert (energy.sleeping_host_seconds, energy.switching_host_seconds) == (6, 22)
    assert (energy.switched_off, energy.switched_on, energy.pstate_changes) == (1, 1, 2)
    assert json.loads((tmp_path / "summary.json").read_bytes())["energy"]["joules"] == energy.joules


def test_the_screen_says_where_the_joules_went(tmp_path: Path) -> None:
    record(tmp_path)
    lines = summarise(tmp_path).to_text().splitlines()
    first = next(place for place, line in enumerate(lines) if line.startswith("energy"))
    assert lines[first : first + 5] == [
        "energy         10.62 kJ, 354.1 W on average",
        "               1 kJ computing, 660 J idle, 58.5 J sleeping, 8.905 kJ switching",
        "useful energy  1 kJ for successful jobs",
        "sleep          6 s asleep, 22 s switching (host time)",
        "switches       1 off, 1 on",
    ]


def test_a_run_without_energy_says_nothing_of_it(tmp_path: Path) -> None:
    record(tmp_path, energy=False)
    assert "energy" not in json.loads((tmp_path / "summary.json").read_bytes())
    assert "energy" not in summarise(tmp_path).to_text()


def test_a_job_that_reaches_its_walltime_is_no_useful_energy(tmp_path: Path) -> None:
    recorder = RunRecorder(tmp_path)
    jobs = JobList(
        [job("a", 0, profile="nap", walltime=2), job("b", 0, profile="nap")],
        {"nap": {"type": "delay", "delay": 4}},
    )
    run(Simulator(park(2), [jobs], recorder, SimulatorConfig(energy=True)), Scripted({}))
    recorder.close(Timing())
    assert recorder.summary is not None
    assert recorder.summary.energy is not None
    assert recorder.summary.energy.useful_joules == pytest.approx(4 * 30)


def test_a_run_that_is_not_whole_has_joules_and_not_their_kinds(tmp_path: Path) -> None:
    record(tmp_path)
    data = (tmp_path / "journal.msgpack").read_bytes()
    (tmp_path / "journal.msgpack").write_bytes(data[:-70])
    energy = summarise(tmp_path).energy
    assert energy is not None
    assert energy.by_kind is None
    assert energy.joules > 1000


@pytest.mark.parametrize(
    ("amount", "text"),
    [(0, "0 J"), (999.9, "999.9 J"), (999.96, "1 kJ"), (12345678, "12.35 MJ"), (-2000, "-2 kJ")],
)
def test_joules_have_four_digits_and_a_prefix(amount: float, text: str) -> None:
    assert joules(amount) == text
