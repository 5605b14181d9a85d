"""Big Data work behind the broker, killed and resubmitted: its useful core time is the work itself."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shared_park import run_shared, workload

from batpy.broker.tenants import TenantConfig
from batpy.results.accounting.fold import account_records
from batpy.results.accounting.joined import joined
from batpy.results.accounting.laws import SharingLaws
from batpy.results.accounting.work_laws import WorkLaws
from batpy.schedulers.registry import make_scheduler

FLOPS_PER_SECOND = 1e9
STAGES = {f"s{i}": {"type": "parallel_homogeneous_total", "cpu": i * 4e9, "com": 0} for i in range(1, 5)}
HPC, BDA = (
    TenantConfig("hpc", ("h",)),
    TenantConfig(
        "bda", ("d",), ("sharing",), dynamic_jobs=True, acknowledge_dynamic_jobs=True,
        profile_reuse=True, forward_profiles=True,
    ),
)  # fmt: skip


def work_of(name: str, profiles: dict[str, Any]) -> float:
    profile = profiles[name]
    if profile["type"] != "composed":
        return float(profile["cpu"])
    return float(profile["repeat"] * sum(work_of(part, profiles) for part in profile["seq"]))


# Decisions take effect later than they are made; schedulers are asked at certain dates only.
DELAYED: list[dict[str, int]] = [{}, {}, {"latency": 300_000}, {"time_step": 2_000_000}]


@given(st.integers(0, 2**32), st.sampled_from(["gain", "always", "never"]), st.sampled_from(DELAYED))
@settings(max_examples=40, deadline=None)
def test_each_job_is_useful_for_exactly_its_work(seed: int, rebalance: str, delayed: dict[str, int]) -> None:
    dice = random.Random(seed)
    profiles = {**STAGES, "pair": {"type": "composed", "seq": ["s1", "s3"], "repeat": 2}}
    profiles["nest"] = {"type": "composed", "seq": ["s2", "pair", "s4"], "repeat": 1}
    jobs = [
        {"id": str(i), "subtime": dice.randrange(20), "res": dice.randrange(1, 5), "profile": name}
        for i in range(4)
        for name in [dice.choice(["s4", "pair", "nest"])]
    ]
    delays = {f"t{i}": {"type": "delay", "delay": i} for i in range(1, 6)}
    bursts = [
        {
            "id": str(i),
            "subtime": dice.randrange(40),
            "res": dice.randrange(1, 5),
            "walltime": 9,
            "profile": f"t{dice.randrange(1, 6)}",
        }
        for i in range(8)
    ]  # fmt: skip
    run = run_shared(
        dice.choice(["bebida", "bebida[prolog=oar_yarn_2017]", "bebida[lazy=true,prolog_base=1]"]),
        [(HPC, make_scheduler("easy")), (BDA, make_scheduler(f"bebida[rebalance={rebalance}]"))],
        [
            workload("h", sorted(bursts, key=lambda j: j["subtime"]), delays),
            workload("d", sorted(jobs, key=lambda j: j["subtime"]), profiles),
        ],
        4,
        **delayed,
    )
    account = account_records(run.journal, run.sharing)
    useful = {job.job: job.useful / 1e6 for job in account.jobs if job.tenant == 1}
    expected = {f"d!{job['id']}": work_of(job["profile"], profiles) / FLOPS_PER_SECOND for job in jobs}
    # Each attempt and each stage may add a tick for each of its hosts.
    assert useful == pytest.approx(expected, abs=4e-4)
    laws, work = SharingLaws(), WorkLaws()
    found = [
        f for record in joined(run.journal, run.sharing) for f in (*laws.check(record), *work.check(record))
    ]
    assert list(map(str, [*found, *laws.finish(account.horizon), *work.finish(account)])) == []
