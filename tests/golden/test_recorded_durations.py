"""Runs recorded with Batsim 4.2.1, replayed from their start dates and allocations: durations are the same.

Concurrent tasks share hosts and links, so a duration depends on all others: each run is driven by the
``replay`` scheduler. Prints the worst deviation of each run (``pytest -s``).
"""

from __future__ import annotations

import csv
import gzip
import io
import math
from pathlib import Path

import pytest
from playback import Journal

from batpy.platforms.load import load_platform
from batpy.protocol import hostset
from batpy.protocol import records as r
from batpy.schedulers.registry import make_scheduler
from batpy.simulator.config import SimulatorConfig
from batpy.simulator.core import Simulator, run
from batpy.workloads.load import load_workload

TICKS = 1_000_000
SMALL, C512, PFS, CE128 = "small_platform", "cluster512", "cluster512_pfs", "cluster_energy_128"
NO_NET = "energy_platform_homogeneous_no_net_128"

RUNS = [
    ("runs/easyBackfill_long", SMALL, "test_long_workload.json"),
    ("runs/easyBackfill_mixed", SMALL, "test_various_profile_types.json"),
    ("runs/easyBackfill_wall", C512, "test_walltime.json"),
    ("runs/easyBackfill_own_comm_1000", CE128, "own_comm_1000.json"),
    ("runs/minimal_own_ptask_10000_energy", NO_NET, "own_ptask_10000.json.gz"),
    ("runs/minimal_e50", CE128, "test_energy_minimal_load50.json"),
    ("runs/minimal_stencil", PFS, "test_tuto_stencil.json"),
    ("runs/minimal_test_case_study1", SMALL, "test_case_study1.json"),
    ("runs/minimal_test_one_computation_job", SMALL, "test_one_computation_job.json"),
    ("runs/minimal_test_one_computation_job_tot", SMALL, "test_one_computation_job_tot.json"),
    ("runs/minimal_test_sequence_delay", SMALL, "test_sequence_delay.json"),
    ("runs/minimal_test_various_profile_types", SMALL, "test_various_profile_types.json"),
    ("runs/minimal_random_small_a", SMALL, "random_small_a.json"),
    ("runs/minimal_random_small_wall", SMALL, "random_small_wall.json"),
    ("runs/minimal_random_c512_a", C512, "random_c512_a.json"),
    ("runs/minimal_random_ce128_a", CE128, "random_ce128_a.json"),
    ("runs/minimal_random_pfs_a", PFS, "random_pfs_a.json"),
    ("runs/schedFcfs_long", SMALL, "test_long_workload.json"),
    ("runs/schedFcfs_wall", C512, "test_walltime.json"),
    ("transcripts/07_mixed_profiles_pybatsim_fillerSched", SMALL, "test_various_profile_types.json"),
    ("transcripts/13_walltime_pybatsim_easyBackfill", C512, "test_walltime.json"),
]
# A run time of zero is written as this by Batsim.
SHORTEST = 1e-5


def jobs_csv(folder: Path) -> Path:
    [path] = folder.glob("*jobs.csv*")
    return path


def read(path: Path) -> list[dict[str, str]]:
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize(("name", "platform", "workload"), RUNS, ids=[run[0].split("/")[1] for run in RUNS])
def test_recorded_durations_states_and_allocations_are_reproduced(
    shared: Path, name: str, platform: str, workload: str
) -> None:
    recorded = jobs_csv(shared / "golden/batsim" / name)
    inputs = shared / "data/batsim-examples"
    places = [inputs / "workloads" / workload, shared / "golden/batsim/workloads" / workload]
    jobs = load_workload(next(path for path in places if path.exists()), "w0", ticks_per_second=TICKS)
    park = load_platform(inputs / "platforms" / f"{platform}.xml")
    journal = Journal()
    run(
        Simulator(park, [jobs], journal, SimulatorConfig()),
        make_scheduler(f"replay[schedule={recorded}]").handle,
    )
    starts = {record.job: record for record in journal.of(r.Started)}
    ends = {record.job: record for record in journal.of(r.Ended)}
    worst = 0.0
    for row in read(recorded):
        job = f"w0!{row['job_id']}"
        if row["final_state"] == "REJECTED":
            assert job not in starts
            continue
        assert ends[job].state == row["final_state"], job
        assert hostset.to_text(starts[job].alloc) == row["allocated_resources"], job
        lasted = (ends[job].time - starts[job].time) / TICKS or SHORTEST
        theirs = float(row["execution_time"])
        # Batsim's dates are floats: at 1e17 s they are 16 s apart.
        allowed = max(1e-6 * theirs, 2e-6, 2 * math.ulp(float(row["finish_time"])))
        off = abs(lasted - theirs)
        worst = max(worst, off / allowed)
        assert off <= allowed, (job, lasted, theirs)
    print(f"\n{name}: worst deviation {worst:.3f} of what is allowed, {len(ends)} jobs")
