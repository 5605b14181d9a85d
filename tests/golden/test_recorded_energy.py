"""Runs recorded with Batsim 4.2.1 and energy, replayed: joules of every job, of all hosts, and the tables.

Batsim's dates are floats and a replay starts jobs at whole microseconds, so totals may differ by what the
hosts draw in two of them. Prints the worst deviation of each run (``pytest -s``).
"""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import pytest

from batpy.platforms.load import load_platform
from batpy.results.audit import audit
from batpy.results.recorder import RunRecorder
from batpy.results.schedule import SCHEDULE_COLUMNS
from batpy.results.timing import Timing
from batpy.schedulers.registry import make_scheduler
from batpy.simulator.config import SimulatorConfig
from batpy.simulator.core import Simulator, run
from batpy.workloads.load import load_workload

TICKS = 1_000_000
CE128, NO_NET = "cluster_energy_128", "energy_platform_homogeneous_no_net_128"
RUNS = [
    ("minimal_e50", CE128, "test_energy_minimal_load50.json"),
    ("minimal_random_ce128_a", CE128, "random_ce128_a.json"),
    ("minimal_own_ptask_10000_energy", NO_NET, "own_ptask_10000.json.gz"),
]
RELATIVE = 1e-6
# Dates of the replay are whole ticks: a total is off by what is drawn in two of them.
TICK_SECONDS = 2e-6


def rows(folder: Path, name: str) -> list[dict[str, str]]:
    [path] = folder.glob(f"{name}.csv*")
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize(("name", "platform", "workload"), RUNS, ids=[run[0] for run in RUNS])
def test_recorded_energy_is_reproduced(
    shared: Path, tmp_path: Path, name: str, platform: str, workload: str
) -> None:
    recorded = shared / "golden/batsim/runs" / name
    inputs = shared / "data/batsim-examples"
    places = [inputs / "workloads" / workload, shared / "golden/batsim/workloads" / workload]
    jobs = load_workload(next(path for path in places if path.exists()), "w0", ticks_per_second=TICKS)
    recorder = RunRecorder(tmp_path)
    simulator = Simulator(
        load_platform(inputs / "platforms" / f"{platform}.xml"),
        [jobs],
        recorder,
        SimulatorConfig(energy=True),
    )
    [schedule] = recorded.glob("jobs.csv*")
    run(simulator, make_scheduler(f"replay[schedule={schedule}]").handle)
    simulator.check()
    recorder.close(Timing())

    # Nothing is shared, so that each job's share is all that its hosts draw, as recorded.
    for row in rows(tmp_path, "jobs"):
        consumed, share = float(row["consumed_energy"]), float(row["fair_share_energy"])
        assert share == pytest.approx(consumed, abs=1e-5), row["job_id"]
    assert audit(tmp_path).passed
    worst = _compare_jobs(recorded, tmp_path)
    total = _compare_totals(recorded, tmp_path)
    ours, theirs = rows(tmp_path, "schedule")[0], rows(recorded, "schedule")[0]
    assert tuple(ours) == SCHEDULE_COLUMNS
    # From the first submission, which Batsim hears of up to one message later, to the last end.
    allowed = RELATIVE * float(theirs["consumed_joules"]) + 0.001 * float(
        rows(tmp_path, "consumed_energy")[0]["wattmin"]
    )
    assert float(ours["consumed_joules"]) == pytest.approx(float(theirs["consumed_joules"]), abs=allowed)
    assert (tmp_path / "pstate_changes.csv").read_text() == (recorded / "pstate_changes.csv").read_text()
    print(f"\n{name}: worst relative deviation of a job {worst:.2e}, of a total {total:.2e}")


def _compare_jobs(recorded: Path, made: Path) -> float:
    ours = {row["job_id"]: row for row in rows(made, "jobs")}
    worst = 0.0
    for row in rows(recorded, "jobs"):
        joules = float(row["consumed_energy"])
        off = abs(float(ours[row["job_id"]]["consumed_energy"]) - joules)
        assert off <= RELATIVE * joules, (row["job_id"], joules)
        worst = max(worst, off / joules if joules else 0.0)
    return worst


def _compare_totals(recorded: Path, made: Path) -> float:
    """Starts and ends of one date may come in another order; the total does not tell them apart."""
    theirs, ours = rows(recorded, "consumed_energy"), rows(made, "consumed_energy")
    assert len(theirs) == len(ours)
    assert sorted(row["event_type"] for row in theirs) == sorted(row["event_type"] for row in ours)
    worst = 0.0
    for row, mine in zip(theirs, ours, strict=True):
        joules, most = float(row["energy"]), float(mine["wattmin"]) * 3
        off = abs(float(mine["energy"]) - joules)
        assert off <= RELATIVE * joules + most * TICK_SECONDS, (row, mine)
        assert float(mine["wattmin"]) == pytest.approx(float(row["wattmin"]))
        worst = max(worst, off / joules)
    return worst
