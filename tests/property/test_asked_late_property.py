"""Schedulers that the simulator asks late, at its time step or after a latency: every run ends."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from playback import JobList, Journal, hosts
from powered import park

from batpy.protocol import records as r
from batpy.schedulers import make_scheduler
from batpy.simulator.config import SimulatorConfig
from batpy.simulator.core import Simulator, run

POLICIES = [
    "fcfs", "filler", "easy", "conservative",
    "easy[hosts=contiguous]", "conservative[hosts=contiguous]", "easy[backfill=sjf]", "easy_sleep",
]  # fmt: skip
NB_HOSTS = 4


def job(number: int, submit: float, res: int, delay: float, walltime: float | None) -> dict[str, Any]:
    limit = {} if walltime is None else {"walltime": walltime}
    return {"id": str(number), "subtime": submit, "res": res, "profile": f"d{delay}", **limit}


@st.composite
def job_lists(draw: Any) -> list[dict[str, Any]]:
    jobs, date = [], 0.0
    for number in range(draw(st.integers(1, 16))):
        date += draw(st.sampled_from([0, 0, 0, 0.5, 1, 7, 20]))
        walltime = draw(st.one_of(st.integers(1, 30), st.none()))
        delay = draw(st.sampled_from([0, 1, 2.5, 9.9, 30, walltime or 4]))
        jobs.append(job(number, date, draw(st.integers(1, NB_HOSTS)), delay, walltime))
    return jobs


TWO = [job(1, 0, 4, 9.9, 10), job(2, 1, 4, 9.9, 10)]


@pytest.mark.parametrize("policy", POLICIES)
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(
    jobs=job_lists(),
    latency=st.sampled_from([0, 1, 3, 600, 2_000_000]),
    time_step=st.sampled_from([0, 7, 3_000_000]),
)
@example(jobs=TWO, latency=0, time_step=3_000_000)
@example(jobs=TWO, latency=1_000, time_step=0)
def test_a_run_ends_however_late_its_scheduler_is_asked(
    policy: str, jobs: list[dict[str, Any]], latency: int, time_step: int
) -> None:
    profiles = {entry["profile"]: {"type": "delay", "delay": float(entry["profile"][1:])} for entry in jobs}
    journal = Journal()
    config = SimulatorConfig(latency=latency, time_step=time_step, energy=policy == "easy_sleep")
    platform = park(NB_HOSTS) if config.energy else hosts(NB_HOSTS)
    simulator = Simulator(platform, [JobList(jobs, profiles)], journal, config)
    run(simulator, make_scheduler(policy).handle)
    assert len(journal.of(r.Started)) == len(journal.of(r.Ended)) == len(jobs)
