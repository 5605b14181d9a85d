"""Joules known from SimGrid and from a bug report: on the platform files themselves."""

from __future__ import annotations

from pathlib import Path

import pytest
from playback import JobList, Journal, job

from batpy.platforms.load import load_platform
from batpy.protocol import records as r
from batpy.schedulers.registry import make_scheduler
from batpy.simulator.config import SimulatorConfig
from batpy.simulator.core import Simulator, run
from batpy.workloads.job import Workload
from batpy.workloads.load import load_workload


def joules(platform: Path, workload: Workload) -> float:
    journal = Journal()
    simulator = Simulator(load_platform(platform), [workload], journal, SimulatorConfig(energy=True))
    run(simulator, make_scheduler("fcfs").handle)
    simulator.check()
    [end] = [record for record in journal.of(r.EnergyMeasured) if record.event == "e"]
    return float(end.job_joules)


def test_all_hosts_of_a_job_are_busy_until_its_walltime(shared: Path) -> None:
    bugs = shared / "data/bugs"
    workload = load_workload(bugs / "batsim51_walltime3.json", "w0", ticks_per_second=1_000_000)
    assert joules(bugs / "batsim51_platform.xml", workload) == pytest.approx(1218, abs=1e-6)


def test_communication_draws_idle_watts(shared: Path) -> None:
    """1e6 bytes from Mercury (2) to Venus (3); the job takes all four hosts."""
    com = [0.0] * 16
    com[2 * 4 + 3] = 1e6
    profile = {"type": "parallel", "cpu": [0, 0, 0, 0], "com": com}
    workload = JobList([job(0, res=4, profile="p")], {"p": profile})
    platform = shared / "data/batsim-examples/platforms/energy_platform_homogeneous.xml"
    assert joules(platform, workload) / 4 == pytest.approx(4.264158, abs=1e-6)
