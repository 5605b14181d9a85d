"""How many cores an executor of a parallel task uses, where the user says it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from playback import Greedy, JobList, Journal, job

from batpy.base.errors import InputError
from batpy.models.parallel import ParallelModel
from batpy.platforms.platform import Host, Platform
from batpy.protocol import messages as m
from batpy.simulator.config import SimulatorConfig
from batpy.simulator.core import Simulator, run
from batpy.workloads.profile import Computing, Delay, Profile, parse_profile

# Hosts of 4 and 10 cores of 1 Gflop/s.
PLATFORM = Platform("two", (Host(0, "four", cores=4), Host(1, "ten", cores=10)))
KINDS: list[dict[str, Any]] = [
    {"type": "parallel", "cpu": [4e9, 4e9], "com": []},
    {"type": "parallel_homogeneous", "cpu": 4e9, "com": 0},
    {"type": "parallel_homogeneous_total", "cpu": 8e9, "com": 0},
]


def ends(jobs: list[dict[str, Any]], profiles: dict[str, Any]) -> dict[str, float]:
    """Dates at which jobs end that are all started at once, on as many of the hosts as they ask for."""

    def ask(request: m.Message) -> m.Message:
        starts: list[m.Event] = [
            m.ExecuteJob(request.now, event.job_id, ((0, event.job["res"] - 1),))
            for event in request.events
            if isinstance(event, m.JobSubmitted)
        ]
        return m.Message(request.now, starts)

    journal = Journal()
    config = SimulatorConfig(compute_sharing=True)
    run(Simulator(PLATFORM, [JobList(jobs, profiles)], journal, config), ask)
    return {name: end for name, (_, end, _) in journal.spans().items()}


@pytest.mark.parametrize("kind", KINDS, ids=[kind["type"] for kind in KINDS])
@pytest.mark.parametrize(
    ("fields", "seconds"),
    [
        # 4 Gflop an executor, on one core.
        ({}, 4),
        # Shared out over more cores, as many as the host has.
        ({"cores_per_executor": 2}, 2),
        ({"cores_per_executor": 4}, 1),
        ({"cores_per_executor": 10}, 1),
        ({"cores_per_executor": 0.5}, 8),
        # More cores compute as much each.
        ({"utilization": 1}, 4),
        ({"utilization": 0}, 4),
    ],
)
def test_an_executor_alone_on_its_host(kind: dict[str, Any], fields: dict[str, Any], seconds: float) -> None:
    assert ends([job("a", res=2, profile="p")], {"p": {**kind, **fields}}) == {"w0!a": seconds}


def test_a_utilization_leaves_the_rest_of_the_cores_to_others() -> None:
    jobs = [job("a", profile="p"), job("b", profile="one")]
    one = {"type": "parallel_homogeneous", "cpu": 3e9, "com": 0}
    # 3 of 4 cores and 1 of them: nobody is slowed down.
    assert ends(jobs, {"p": {**one, "utilization": 0.7}, "one": one}) == {"w0!a": 3, "w0!b": 3}
    # All 4 and one more: five computations on four cores.
    assert ends(jobs, {"p": {**one, "utilization": 1}, "one": one}) == {"w0!a": 3.75, "w0!b": 3.75}


def test_two_executors_on_one_host_keep_twice_as_many_cores_busy() -> None:
    profile = {"type": "parallel_homogeneous", "cpu": 3e9, "com": 0, "utilization": 0.75}

    def ask(request: m.Message) -> m.Message:
        mapping = {"0": 0, "1": 0}
        starts: list[m.Event] = [
            m.ExecuteJob(request.now, event.job_id, ((0, 0),), mapping)
            for event in request.events
            if isinstance(event, m.JobSubmitted)
        ]
        return m.Message(request.now, starts)

    journal = Journal()
    run(Simulator(PLATFORM, [JobList([job("a", res=2, profile="p")], {"p": profile})], journal), ask)
    # Six computations of 3 s on four cores.
    assert journal.spans()["w0!a"][1] == 4.5


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"utilization": 1.1}, "profiles.p.utilization: must be at most 1, got 1.1"),
        ({"utilization": -1}, "profiles.p.utilization: must be at least 0, got -1"),
        ({"utilization": "all"}, "profiles.p.utilization: must be a finite number, got 'all'"),
        ({"cores_per_executor": 0}, "profiles.p.cores_per_executor: must be above 0, got 0"),
        (
            {"cores_per_executor": 1, "utilization": 1},
            "profiles.p.utilization: cannot be given together with cores_per_executor",
        ),
    ],
)
def test_a_number_of_cores_that_makes_no_sense_is_refused(fields: dict[str, Any], problem: str) -> None:
    for kind in KINDS:
        with pytest.raises(InputError) as caught:
            parse_profile("p", {**kind, **fields})
        assert str(caught.value) == problem


def test_a_platform_of_single_cores_knows_no_difference() -> None:
    journal = Journal()
    single = Platform("one", (Host(0, "a"),))
    profiles = {"p": {"type": "parallel_homogeneous", "cpu": 4e9, "com": 0, "utilization": 1}}
    run(Simulator(single, [JobList([job("a", profile="p")], profiles)], journal), Greedy())
    assert journal.spans()["w0!a"][1] == 4


@pytest.mark.parametrize("profile", [Delay("d", 0, {}, 1.0), Computing("c", 0, {})])
def test_a_profile_that_is_no_parallel_task_is_not_taken_for_one(profile: Profile) -> None:
    model = object.__new__(ParallelModel)
    model._build = None  # type: ignore[assignment]
    run = SimpleNamespace(tree=SimpleNamespace(io=None, profile=profile), hosts=(0,), storage={})
    with pytest.raises(TypeError, match="which is no parallel task"):
        model._work(run, run.tree)  # type: ignore[arg-type]
