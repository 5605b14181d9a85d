"""Unmodified pybatsim 3.2.1 schedulers over ZeroMQ: their runs equal those recorded with Batsim 4.2.1."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import pytest
from peers import DEADLINE, bebida_of_pybatsim, pybatsim

from batpy.platforms.load import load_platform
from batpy.protocol.codec import make_codec
from batpy.results.recorder import RunRecorder
from batpy.simulator.config import SimulatorConfig
from batpy.simulator.core import Simulator, run
from batpy.transport.zeromq import ZmqLink
from batpy.workloads.load import load_workload

pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("default")]

TICKS = 1_000_000
# pybatsim's high-level schedulers fail on a job that starts at date 0: they need Batsim's small latency.
LATENCY = {
    "easyBackfill": 0,
    "schedFcfs": 15,
    "schedFiller": 15,
    "schedEasySjfBackfill": 15,
    "fillerSched": 0,
}
NO_NET = "energy_platform_homogeneous_no_net_128"
SMALL = "small_platform"

EXACT = [
    ("easyBackfill_nasa3000", NO_NET, "nasa3000.json.gz"),
    ("easyBackfill_kth3000", NO_NET, "kth3000.json.gz"),
    ("easyBackfill_hpc_seed2", NO_NET, "example_workload_hpc_seed2_jobs250.json"),
]
SHIFTED = [
    ("easyBackfill_delays", SMALL, "test_delays.json"),
    ("easyBackfill_case1", SMALL, "test_case_study1.json"),
    ("easyBackfill_seq", SMALL, "test_sequence_delay.json"),
    ("easyBackfill_same", SMALL, "test_same_submit_time.json"),
    ("easyBackfill_paper", "cluster512", "test_batsim_paper_workload_seed1.json"),
    ("easyBackfill_long", SMALL, "test_long_workload.json"),
    ("easyBackfill_mixed", SMALL, "test_various_profile_types.json"),
    ("easyBackfill_wall", "cluster512", "test_walltime.json"),
    ("schedFcfs_long", SMALL, "test_long_workload.json"),
    ("schedFcfs_wall", "cluster512", "test_walltime.json"),
    ("schedFcfs_delays", SMALL, "test_delays.json"),
    ("schedFcfs_case1", SMALL, "test_case_study1.json"),
    ("schedFcfs_seq", SMALL, "test_sequence_delay.json"),
    ("schedFcfs_same", SMALL, "test_same_submit_time.json"),
    ("schedFcfs_paper", "cluster512", "test_batsim_paper_workload_seed1.json"),
]
# These were recorded with as many hosts as the workload was made for.
MMAX_WORKLOAD = ("same", "wall", "paper")

Rows = list[dict[str, str]]


def read(path: Path) -> Rows:
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    return list(csv.DictReader(io.StringIO(text)))


def recorded(shared: Path, name: str) -> Rows:
    folder = shared / "golden/batsim/runs" / name
    [path] = folder.glob("jobs.csv*")
    return read(path)


def play(shared: Path, folder: Path, name: str, platform: str, workload: str) -> Rows:
    """Drive our simulator with the pybatsim scheduler that the run is named after."""
    scheduler = name.split("_", maxsplit=1)[0]
    examples = shared / "data/batsim-examples"
    places = [examples / "workloads" / workload, shared / "golden/batsim/workloads" / workload]
    jobs = load_workload(next(path for path in places if path.exists()), "w0", ticks_per_second=TICKS)
    mmax = jobs.nb_res or 0 if name.endswith(MMAX_WORKLOAD) else 0
    park = load_platform(examples / "platforms" / f"{platform}.xml", mmax=mmax)
    with pybatsim(scheduler, folder) as (endpoint, peer):
        recorder = RunRecorder(folder)
        simulator = Simulator(park, [jobs], recorder, SimulatorConfig(latency=LATENCY[scheduler]))
        with ZmqLink(endpoint, make_codec("json", TICKS), DEADLINE) as link:
            run(simulator, link.ask)
        recorder.close()
        peer.wait(DEADLINE)
        assert peer.returncode == 0
    return read(folder / "jobs.csv")


@pytest.mark.parametrize(("name", "platform", "workload"), EXACT, ids=[case[0] for case in EXACT])
def test_without_a_network_every_date_allocation_and_state_is_that_of_batsim(
    shared: Path, tmp_path: Path, name: str, platform: str, workload: str
) -> None:
    columns = (
        "starting_time",
        "finish_time",
        "allocated_resources",
        "final_state",
        "execution_time",
        "success",
    )

    def by_job(rows: Rows) -> dict[str, list[str]]:
        return {row["job_id"]: [row[column] for column in columns] for row in rows}

    assert by_job(play(shared, tmp_path, name, platform, workload)) == by_job(recorded(shared, name))


@pytest.mark.parametrize(("name", "platform", "workload"), SHIFTED, ids=[case[0] for case in SHIFTED])
def test_with_a_network_order_allocations_states_and_durations_are_those_of_batsim(
    shared: Path, tmp_path: Path, name: str, platform: str, workload: str
) -> None:
    ours, theirs = play(shared, tmp_path, name, platform, workload), recorded(shared, name)

    def by_job(rows: Rows) -> dict[str, tuple[str, str, float]]:
        return {
            row["job_id"]: (
                row["allocated_resources"],
                row["final_state"],
                # Past 1e9 s Batsim's own dates, which are floats, are too coarse for a duration.
                round(float(row["execution_time"] or -1), 3) if float(row["starting_time"] or 0) < 1e9 else 0,
            )
            for row in rows
        }

    def starts(rows: Rows) -> list[str]:
        ran = [row for row in rows if row["starting_time"]]
        return [
            row["job_id"]
            for row in sorted(ran, key=lambda row: (round(float(row["starting_time"]), 1), row["job_id"]))
        ]

    assert by_job(ours) == by_job(theirs)
    assert starts(ours) == starts(theirs)


@pytest.mark.parametrize("scheduler", ["fillerSched", "schedFiller", "schedEasySjfBackfill"])
def test_the_other_pybatsim_schedulers_drive_a_run_to_its_end(
    shared: Path, tmp_path: Path, scheduler: str
) -> None:
    rows = play(shared, tmp_path, f"{scheduler}_any", SMALL, "test_delays.json")
    assert [row["final_state"] for row in rows] == ["COMPLETED_SUCCESSFULLY"] * 10


def test_a_scheduler_that_walks_a_set_in_memory_order_gives_the_recorded_summary(
    shared: Path, tmp_path: Path
) -> None:
    play(shared, tmp_path, "fillerSched_kth3000", NO_NET, "kth3000.json.gz")
    [ours] = read(tmp_path / "schedule.csv")
    [theirs] = read(shared / "golden/batsim/runs/fillerSched_kth3000/schedule.csv")
    for column in ("nb_jobs", "nb_jobs_finished", "nb_jobs_success", "nb_jobs_rejected", "nb_jobs_killed"):
        assert ours[column] == theirs[column], column
    # Its runs differ from one another in what the order of starts decides: of ten, waiting by up to 9 %.
    firm = {"makespan": 0.02, "time_computing": 0.02}
    allowed = {**firm, "mean_waiting_time": 0.15, "mean_turnaround_time": 0.15}
    for column, share in allowed.items():
        assert float(ours[column]) == pytest.approx(float(theirs[column]), rel=share), column


def test_bebida_of_pybatsim_alone_repeats_its_recorded_run(shared: Path, tmp_path: Path) -> None:
    """Transcript 08, live: what it resubmits gets the recorded ids, hosts and durations."""
    examples = shared / "data/batsim-examples"
    jobs = load_workload(examples / "workloads/own_bebida.json", "w0", ticks_per_second=TICKS)
    config = SimulatorConfig(
        dynamic_jobs=True, acknowledge_dynamic_jobs=True, profile_reuse=True, forward_profiles=True
    )
    with bebida_of_pybatsim(tmp_path) as (endpoint, peer):
        recorder = RunRecorder(tmp_path)
        simulator = Simulator(load_platform(examples / f"platforms/{SMALL}.xml"), [jobs], recorder, config)
        with ZmqLink(endpoint, make_codec("json", TICKS), DEADLINE) as link:
            run(simulator, link.ask)
        recorder.close()
        assert peer.wait(DEADLINE) == 0

    def by_job(rows: Rows) -> dict[str, dict[str, str]]:
        return {row["job_id"]: row for row in rows}

    folder = shared / "golden/batsim/transcripts/08_bebida_no-io_dynamic_resubmit"
    ours, theirs = by_job(read(tmp_path / "jobs.csv")), by_job(read(folder / "jobs.csv"))
    assert ours.keys() == theirs.keys()
    for job, row in theirs.items():
        for name in ("requested_number_of_resources", "final_state", "allocated_resources", "metadata"):
            assert ours[job][name] == row[name], (job, name)
        # The recorded dates carry some milliseconds of simulated network time for each message.
        for name in ("submission_time", "starting_time", "finish_time", "execution_time"):
            assert float(ours[job][name]) == pytest.approx(float(row[name]), abs=0.01), (job, name)
