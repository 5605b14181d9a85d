"""Applications of stages behind the broker, killed at any time: nothing is done again needlessly."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shared_park import SharedRun, run_shared, workload

from batpy.base.intervals import parse_intervals
from batpy.broker.tenants import TenantConfig
from batpy.protocol.messages import COMPLETED_SUCCESSFULLY
from batpy.protocol.records import KillAsked, Submitted
from batpy.results.accounting.fold import account_records
from batpy.results.accounting.joined import joined
from batpy.results.accounting.laws import SharingLaws
from batpy.results.accounting.work_laws import WorkLaws
from batpy.schedulers.registry import make_scheduler
from batpy.workloads.profile import StageDag

HPC, BDA = (
    TenantConfig("hpc", ("h",)),
    TenantConfig(
        "bda", ("d",), ("sharing",), dynamic_jobs=True, acknowledge_dynamic_jobs=True,
        profile_reuse=True, forward_profiles=True,
    ),
)  # fmt: skip
# Decisions take effect later than they are made; schedulers are asked at certain dates only.
DELAYED: list[dict[str, int]] = [{}, {}, {"latency": 300_000}, {"time_step": 2_000_000}]
POLICIES = ("bebida", "bebida[prolog=oar_yarn_2017]", "bebida[lazy=true,prolog_base=1]")


def dag(dice: random.Random, **fixed: Any) -> dict[str, Any]:
    """An application of up to 5 stages and 3 jobs."""
    jobs = [{"id": 0}, *({"id": i, "after": i - 1, "think": dice.randrange(3)} for i in (1, 2))]
    stages = []
    for id in range(dice.randrange(1, 6)):
        tasks = dice.randrange(7)
        parents = dice.sample(range(id), dice.randrange(min(id, 2) + 1))
        job = max([dice.randrange(3), *(stages[parent]["job"] for parent in parents)])
        stage: dict[str, Any] = {"id": id, "tasks": tasks, "job": job, "parents": parents}
        if tasks and dice.random() < 0.5:
            stage["times"] = sorted(dice.randrange(5000) / 1000 for _ in range(17))
        elif tasks:
            stage["durations"] = [dice.randrange(5000) / 1000 for _ in range(tasks)]
        if dice.random() < 0.2:
            stage["shuffle_write"] = 0
        if dice.random() < 0.3:
            stage["near"] = [dice.sample(range(5), dice.randrange(3)) for _ in range(tasks)]
            stage["input"] = tasks * 1e6
        stages.append(stage)
    raw = {
        "type": "stage_dag",
        "framework": dice.choice(["spark", "mapreduce", "workflow"]),
        "shuffle": dice.choice(["local", "local", "external", "pfs"]),
        "checkpoint": dice.choice([None, 0.5]),
        "order": dice.choice(["fifo", "critical_path"]),
        "slots": {"0": dice.choice([1, 2, [2, 1]])},
        "hosts": ["host0", "host1", "host2", "host3", "elsewhere"],
        "remote_bandwidth": dice.choice([None, 1e6]),
        "delay": dice.choice([None, {"skips": 2, "heartbeat": 0.5}, {"wait": 1}]),
        "jobs": jobs,
        "stages": stages,
    }
    if dice.random() < 0.3:
        some = [(dice.randrange(4), dice.randrange(3), dice.randrange(1, 9)) for _ in range(3)]
        brief = [{"host": h, "slots": 1, "start": start, "end": start + long} for h, start, long in some]
        raw["executors"] = [*brief, {"host": 1, "slots": 2, "start": dice.randrange(3)}]
    return {**raw, **fixed}


def park(seed: int, rebalance: str, widest: int = 4, **fixed: Any) -> tuple[SharedRun, dict[str, Any]]:
    """Applications and bursts of HPC jobs on four hosts; the run, and the profiles."""
    dice = random.Random(seed)
    profiles: dict[str, Any] = {f"a{i}": dag(dice, **fixed) for i in range(3)}
    # Part of a sequence, an application is worked on as any other part.
    profiles["pair"] = {"type": "composed", "seq": ["a0", "a2"], "repeat": 2}
    jobs = [
        {"id": str(i), "subtime": dice.randrange(15), "res": dice.randint(1, widest), "profile": name}
        for i, name in enumerate([*profiles, "a1"])
    ]
    delays = {f"t{i}": {"type": "delay", "delay": i} for i in range(1, 5)}
    bursts = [
        {"id": str(i), "subtime": dice.randrange(40), "res": dice.randint(1, 4), "walltime": 9,
         "profile": f"t{dice.randrange(1, 5)}"}
        for i in range(8)
    ]  # fmt: skip
    run = run_shared(
        dice.choice(POLICIES),
        [(HPC, make_scheduler("easy")), (BDA, make_scheduler(f"bebida[rebalance={rebalance}]"))],
        [
            workload("h", sorted(bursts, key=lambda j: j["subtime"]), delays),
            workload("d", sorted(jobs, key=lambda j: j["subtime"]), profiles),
        ],
        4,
        seed=seed,
        **dice.choice(DELAYED),
    )
    return run, profiles


def findings(run: SharedRun) -> list[str]:
    account = account_records(run.journal, run.sharing)
    assert all(job.state == COMPLETED_SUCCESSFULLY for job in account.jobs)
    laws, work = SharingLaws(), WorkLaws()
    found = [
        f for record in joined(run.journal, run.sharing) for f in (*laws.check(record), *work.check(record))
    ]
    return list(map(str, [*found, *laws.finish(account.horizon), *work.finish(account)]))


def tasks(text: str) -> set[int]:
    return {
        task for first, last in (parse_intervals(text) if text else ()) for task in range(first, last + 1)
    }


def to_do(profile: StageDag) -> dict[int, set[int]]:
    return {s.id: {t for a, b in s.to_do for t in range(a, b + 1)} for s in profile.dag.stages}


SEEDS = st.integers(0, 2**32)
REBALANCE = st.sampled_from(["gain", "always", "never"])


@given(SEEDS, REBALANCE)
@settings(max_examples=40, deadline=None)
def test_no_law_of_work_is_broken(seed: int, rebalance: str) -> None:
    run, _ = park(seed, rebalance)
    assert findings(run) == []


@given(SEEDS, REBALANCE)
@settings(max_examples=40, deadline=None)
def test_an_attempt_has_to_do_what_the_one_before_did_not(seed: int, rebalance: str) -> None:
    run, _ = park(seed, rebalance)
    home = run.simulator.homes["d"]
    profile_of = {r.job: r.profile for r in run.journal if isinstance(r, Submitted)}
    killed = {
        job: record.progress[job]
        for record in run.journal
        if isinstance(record, KillAsked)
        for job in record.jobs
    }
    for job, progress in killed.items():
        before = home.profile(profile_of[job])
        if not isinstance(before, StageDag):
            continue
        origin, _, number = job.partition("#")
        after = home.profile(profile_of[f"{origin}#{int(number or 0) + 1}"])
        assert isinstance(after, StageDag)
        done = {stage["id"]: tasks(stage.get("done", "")) for stage in progress["stages"]}
        had, has = to_do(before), to_do(after)
        for stage in before.dag.stages:
            left = had[stage.id] - done.get(stage.id, set())
            again = has.get(stage.id, set()) - left
            assert left <= has.get(stage.id, set())
            if before.dag.shuffle != "local" or stage.shuffle_write == 0:
                assert not again
            for task in again:  # only tasks are run again whose output somebody has still to read
                assert 0 <= task < stage.tasks
                children = [s for s in before.dag.stages if stage.id in s.parents]
                assert any(has.get(child.id) for child in children)


@given(SEEDS, REBALANCE, st.sampled_from(["external", "pfs"]))
@settings(max_examples=40, deadline=None)
def test_work_that_keeps_one_slot_busy_is_useful_for_exactly_its_seconds(
    seed: int, rebalance: str, shuffle: str
) -> None:
    """On one host of one slot nothing is idle, and nothing is lost but what tasks were in the middle of."""
    jobs = [{"id": 0}, {"id": 1}, {"id": 2}]
    alone = {"slots": {"0": 1}, "executors": [], "remote_bandwidth": None, "delay": None, "jobs": jobs}
    run, profiles = park(seed, rebalance, widest=1, shuffle=shuffle, **alone)
    assert findings(run) == []
    account = account_records(run.journal, run.sharing)
    useful = {job.job: job.useful / 1e6 for job in account.jobs if job.tenant == 1}
    home = run.simulator.homes["d"]
    seconds = {}
    for name in ("a0", "a1", "a2"):
        profile = home.profile(name)
        assert isinstance(profile, StageDag)
        seconds[name] = sum(task_seconds(profile, seed))
    seconds["pair"] = 2 * (seconds["a0"] + seconds["a2"])
    expected = {f"d!{i}": seconds[name] for i, name in enumerate([*profiles, "a1"])}
    assert useful == pytest.approx(expected, abs=4e-4)


def task_seconds(profile: StageDag, seed: int) -> list[float]:
    from batpy.models.dag.draws import task_times

    return [time / 1e6 for stage in task_times(profile, seed) for time in stage]


@given(SEEDS, REBALANCE)
@settings(max_examples=10, deadline=None)
def test_the_same_seed_gives_the_same_bytes(seed: int, rebalance: str) -> None:
    assert park(seed, rebalance)[0].raw == park(seed, rebalance)[0].raw
