"""A job with an additional I/O job: one parallel task over the hosts of both.

The platform: four hosts of 1 Gflop/s, links of 125 MB/s and 600 us from host to host, and host 4, a storage
of 15 MB/s, 1.6 ms away.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from playback import SECOND, JobList, Journal, job
from sharing_platforms import ClusterNetwork

from batpy.base.errors import RemoteProtocolError
from batpy.platforms.platform import Host, Platform
from batpy.protocol import hostset
from batpy.protocol import messages as m
from batpy.protocol import records as r
from batpy.simulator.config import SimulatorConfig
from batpy.simulator.core import Simulator, run

PLATFORM = Platform(
    "cluster",
    tuple(Host(k, f"host{k}") for k in range(4)),
    (Host(4, "pfs", role="storage", properties={"role": "storage"}),),
    network=ClusterNetwork(4, storage=15e6),
)
SHORT: dict[str, Any] = {"type": "parallel_homogeneous", "cpu": 1e6, "com": 0}
PROFILES: dict[str, Any] = {
    "cpu": {"type": "parallel_homogeneous", "cpu": 1e9, "com": 0},
    "first to second": {"type": "parallel", "cpu": [0, 0], "com": [0, 125e6, 0, 0]},
    "second to first": {"type": "parallel", "cpu": [0, 0], "com": [0, 0, 125e6, 0]},
    "both compute": {"type": "parallel", "cpu": [1e9, 2e9], "com": []},
    "total": {"type": "parallel_homogeneous_total", "cpu": 2e9, "com": 0},
    "write": {"type": "parallel_homogeneous_pfs", "bytes_to_write": 15e6},
    "wide": {"type": "parallel_homogeneous", "cpu": 1e9, "com": 0, "utilization": 1},
    "delay": {"type": "delay", "delay": 1},
    "twice": {"type": "composed", "seq": ["cpu", "first to second"], "repeat": 2},
    "io twice": {"type": "composed", "seq": ["write", "both compute"], "repeat": 7},
    "once": {"type": "composed", "seq": ["cpu"]},
    "nap": {"type": "composed", "seq": ["delay", "cpu"]},
    "io nested": {"type": "composed", "seq": ["once", "write"]},
}


def start(
    profile: str,
    alloc: str,
    io: Mapping[str, Any],
    kill_at: int | None = None,
    mapping: dict[str, int] | None = None,
    strict: bool = True,
    more: Mapping[str, Any] | None = None,
) -> tuple[list[m.Event], Journal]:
    """Run one job with an I/O job; what the scheduler heard, and the journal."""
    heard: list[m.Event] = []

    def ask(request: m.Message) -> m.Message:
        now, decisions = request.now, list[m.Event]()
        heard.extend(request.events)
        for event in request.events:
            if isinstance(event, m.JobSubmitted):
                io_job = m.IoJob(hostset.parse(io["alloc"]), io["profile_name"], io.get("profile"))
                hosts = hostset.parse(alloc)
                decisions.append(m.ExecuteJob(now, event.job_id, hosts, mapping, None, io_job))
                if kill_at:
                    decisions.append(m.CallMeLater(now, kill_at))
            elif isinstance(event, m.RequestedCall):
                decisions.append(m.KillJob(now, ["w0!a"]))
            elif isinstance(event, m.DecisionRefused):
                decisions.append(m.RejectJob(now, "w0!a"))
        return m.Message(now, decisions)

    journal = Journal()
    res = len(mapping) if mapping else hostset.size(hostset.parse(alloc))
    jobs = JobList([job("a", res=res, profile=profile)], {**PROFILES, **(more or {})})
    config = SimulatorConfig(strict=strict, wants=("refusals",))
    run(Simulator(PLATFORM, [jobs], journal, config), ask)
    return heard, journal


def lasted(profile: str, alloc: str, io_alloc: str, io_profile: str) -> float:
    _, journal = start(profile, alloc, {"alloc": io_alloc, "profile_name": io_profile})
    begin, end, state = journal.spans()["w0!a"]
    assert state == "COMPLETED_SUCCESSFULLY"
    return end - begin


@pytest.mark.parametrize(
    ("profile", "alloc", "io_alloc", "io_profile", "seconds"),
    [
        # Bytes on other hosts than the job's: latency, then flops and bytes together.
        ("cpu", "0-1", "2-3", "first to second", 1.0006),
        # Two flows into host 2, one of each: 250 MB over its link down.
        ("first to second", "1-2", "0 2", "first to second", 2.0006),
        # One into host 2, one out of it: each has a link of its own.
        ("first to second", "1-2", "0 2", "second to first", 1.0006),
        # The same pair of hosts from both: the bytes add up, in the direction each says.
        ("first to second", "1 3", "1 3", "first to second", 2.0006),
        ("first to second", "1 3", "1 3", "second to first", 1.0006),
        # Flops add up on hosts that both use: 1 + 2 on host 2, and on 0 just 1.
        ("cpu", "1-2", "0 2", "both compute", 3.0),
        # Positions are those of each one's own hosts: 2 Gflop on host 1, and 1 on hosts 2 and 3.
        ("cpu", "2-3", "0-1", "both compute", 2.0),
        # A total is divided by the I/O job's own number of hosts: 2e9/4 on each, 1e9 of the job.
        ("cpu", "0-1", "0-3", "total", 1.5),
        # A storage host is one host more: two executors write 15 MB each, 1.6 ms away.
        ("cpu", "0-1", "0-1", "write", 2.0016),
        ("write", "0-1", "1-2", "write", 4.0016),
    ],
)
def test_bytes_and_flops_of_both_are_added_host_by_host(
    profile: str, alloc: str, io_alloc: str, io_profile: str, seconds: float
) -> None:
    assert lasted(profile, alloc, io_alloc, io_profile) == pytest.approx(seconds, abs=1.01e-6)


def test_composed_profiles_are_joined_part_by_part_and_repeated_as_the_job_says() -> None:
    # cpu with write by 2 executors: 0.0016 + 2; 125 MB with 1 and 2 Gflop: 0.0006 + 2; all that twice.
    assert lasted("twice", "0-1", "0-1", "io twice") == pytest.approx(2 * 4.0022, abs=1.01e-6)


def test_deeply_nested_profiles_are_joined_in_no_time() -> None:
    nest = {"n0": {"type": "composed", "seq": ["short", "short"]}, "short": SHORT}
    nest |= {f"n{k}": {"type": "composed", "seq": [f"n{k - 1}"] * 2} for k in range(1, 60)}
    # Two to the sixtieth leaves: a walk over them would not end.
    heard, _ = start("cpu", "0-1", {"alloc": "0-1", "profile_name": "n59"}, strict=False, more=nest)
    [refused] = [event for event in heard if isinstance(event, m.DecisionRefused)]
    assert "profile 'n59' is composed and profile 'cpu' is not" in refused.reason
    heard, _ = start("n59", "0-1", {"alloc": "0-1", "profile_name": "n59"}, more=nest, kill_at=1000)
    [killed] = [event for event in heard if isinstance(event, m.JobKilled)]
    assert killed.job_ids == ["w0!a"]


def test_two_executors_mapped_on_one_host_stay_two_and_the_io_job_joins_the_first() -> None:
    io = {"alloc": "0", "profile_name": "cpu"}
    _, journal = start("cpu", "0", io, mapping={"0": 0, "1": 0})
    # 1 + 1 Gflop of the job and 1 of the I/O job, on one core.
    assert journal.spans()["w0!a"][1] == 3.0


def test_a_profile_that_is_given_is_registered_and_only_the_jobs_own_hosts_are_told() -> None:
    profile = {"type": "parallel", "cpu": [0, 0], "com": [0, 250e6, 0, 0]}
    heard, journal = start("cpu", "0-1", {"alloc": "2-3", "profile_name": "new", "profile": profile})
    [completed] = [event for event in heard if isinstance(event, m.JobCompleted)]
    assert (completed.alloc, completed.timestamp) == (((0, 1),), 2_000_600)
    assert journal.of(r.Started)[0].alloc == ((0, 1),)


def test_progress_is_that_of_the_whole_task_under_the_jobs_own_profile() -> None:
    heard, _ = start(
        "cpu", "0-1", {"alloc": "2-3", "profile_name": "first to second"}, kill_at=SECOND // 2 + 600
    )
    [killed] = [event for event in heard if isinstance(event, m.JobKilled)]
    assert killed.job_progress == {"w0!a": {"profile_name": "cpu", "progress": pytest.approx(0.5)}}


REFUSALS = [
    ("cpu", {"alloc": "7", "profile_name": "cpu"}, "host 7 does not exist; the platform has hosts 0-4"),
    (
        "cpu",
        {"alloc": "0", "profile_name": "?"},
        "profile '?' of workload w0 is not known, and none is given",
    ),
    (
        "cpu",
        {"alloc": "0", "profile_name": "cpu", "profile": {"type": "delay", "delay": 1}},
        "profile 'cpu' of workload w0 already exists; one that is given must have a new name",
    ),
    ("cpu", {"alloc": "0", "profile_name": "x", "profile": {"type": "y"}}, "profile.type: unknown profile"),
    (
        "cpu",
        {"alloc": "0", "profile_name": "x", "profile": {"type": "composed", "seq": ["y"]}},
        "composed profile 'x' names the profile 'y', which is not known",
    ),
    (
        "cpu",
        {"alloc": "0", "profile_name": "delay"},
        "profile 'delay' of the I/O job is of type 'delay'; only",
    ),
    ("delay", {"alloc": "0", "profile_name": "cpu"}, "profile 'delay' of the job is of type 'delay'; only"),
    ("wide", {"alloc": "0", "profile_name": "cpu"}, "profile 'wide' says how many cores an executor uses"),
    ("nap", {"alloc": "0-1", "profile_name": "io twice"}, "profile 'delay' of the job is of type 'delay'"),
    ("cpu", {"alloc": "0", "profile_name": "twice"}, "profile 'twice' is composed and profile 'cpu' is not"),
    ("twice", {"alloc": "0", "profile_name": "cpu"}, "profile 'twice' is composed and profile 'cpu' is not"),
    (
        "twice",
        {"alloc": "0", "profile_name": "once"},
        "profile 'once' has 1 parts and profile 'twice' of the",
    ),
    ("twice", {"alloc": "0", "profile_name": "io nested"}, "profile 'once' is composed and profile 'cpu' is"),
    (
        "cpu",
        {"alloc": "0", "profile_name": "first to second"},
        "profile 'first to second' is for 2 executors, 1 are given",
    ),
    (
        "cpu",
        {"alloc": "4", "profile_name": "cpu"},
        "profile 'cpu' would compute on host 4, which has the role storage",
    ),
]


@pytest.mark.parametrize(("profile", "io", "rule"), REFUSALS)
def test_an_io_job_that_breaks_a_rule_is_refused_by_it(profile: str, io: Any, rule: str) -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        start(profile, "0-1", io)
    assert f"EXECUTE_JOB w0!a at 0 s: additional_io_job: {rule}" in str(caught.value)


def test_a_refused_io_job_leaves_nothing_behind() -> None:
    profile = {"type": "composed", "seq": ["y"]}
    heard, journal = start(
        "cpu", "0-1", {"alloc": "0", "profile_name": "x", "profile": profile}, strict=False
    )
    assert [type(event) for event in heard].count(m.DecisionRefused) == 1
    assert not journal.of(r.Started)
