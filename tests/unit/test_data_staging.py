"""Copies between storage hosts: alone, inside composed profiles, and joined with another job.

The platform: hosts 0 to 3 compute 1 Gflop/s, hosts 4 and 5 are storages; every host has links of 125 MB/s up
and down and is 100 us away from every other.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from playback import JobList, Journal, job

from batpy.base.errors import RemoteProtocolError
from batpy.platforms.builders import cluster
from batpy.platforms.platform import Host, Platform
from batpy.protocol import hostset
from batpy.protocol import messages as m
from batpy.simulator.config import SimulatorConfig
from batpy.simulator.core import Simulator, run

COPY = 125e6  # bytes of one second
LABELS = {"in": 4, "out": 5}
PROFILES: dict[str, Any] = {
    "stage": {"type": "data_staging", "nb_bytes": COPY, "from": "in", "to": "out"},
    "back": {"type": "data_staging", "nb_bytes": COPY, "from": "out", "to": "in"},
    "nothing": {"type": "data_staging", "nb_bytes": 0, "from": "in", "to": "out"},
    "compute": {"type": "parallel_homogeneous", "cpu": 2e9, "com": 0},
    "exchange": {"type": "parallel", "cpu": [0, 0], "com": [0, COPY, 0, 0]},
    "write": {"type": "parallel_homogeneous_pfs", "bytes_to_write": COPY, "storage": "out"},
    "read": {"type": "parallel_homogeneous_pfs", "bytes_to_read": COPY, "storage": "in"},
    "chain": {"type": "composed", "seq": ["stage", "compute", "back"], "repeat": 2},
    "io chain": {"type": "composed", "seq": ["compute", "stage", "stage"]},
}


def platform() -> Platform:
    whole = cluster(6)
    storage = tuple(
        Host(k, whole.compute[k].name, role="storage", properties={"role": "storage"}) for k in (4, 5)
    )
    return msgspec.structs.replace(whole, compute=whole.compute[:4], storage=storage)


def start(
    profile: str,
    alloc: str = "0-1",
    labels: dict[str, int] | None = LABELS,
    io: tuple[str, str] | None = None,
    jobs: int = 1,
    **options: Any,
) -> list[float]:
    """Seconds that each job takes of some that start together; ``{}`` in *alloc* is the job's number."""

    def ask(request: m.Message) -> m.Message:
        decisions: list[m.Event] = []
        for event in request.events:
            if isinstance(event, m.JobSubmitted):
                io_job = None if io is None else m.IoJob(hostset.parse(io[0]), io[1], None)
                hosts = hostset.parse(alloc.format(len(decisions)))
                decisions.append(m.ExecuteJob(request.now, event.job_id, hosts, None, labels, io_job))
        return m.Message(request.now, decisions)

    size = hostset.size(hostset.parse(alloc.format(0)))
    workload = JobList([job(str(k), res=size, profile=profile) for k in range(jobs)], PROFILES)
    journal = Journal()
    simulator = Simulator(platform(), [workload], journal, SimulatorConfig(**options))
    run(simulator, ask)
    simulator.check()
    spans = journal.spans()
    assert all(state == "COMPLETED_SUCCESSFULLY" for _, _, state in spans.values())
    return [spans[f"w0!{k}"][1] - spans[f"w0!{k}"][0] for k in range(jobs)]


def about(seconds: float) -> Any:
    return pytest.approx(seconds, abs=1.01e-6)


def test_one_flow_from_storage_to_storage_whatever_the_allocation() -> None:
    assert start("stage") == [about(1.0001)]
    assert start("stage", "2") == [about(1.0001)]
    assert start("nothing") == [0.0]


def test_storages_may_be_the_allocation_as_pybatsims_controller_says_it() -> None:
    assert start("stage", "4-5") == [about(1.0001)]


def test_copies_share_the_links_of_the_storages_in_each_direction() -> None:
    assert start("stage", "{0}", jobs=2) == [about(2.0001)] * 2
    assert start("stage", "4-5", jobs=2) == [about(2.0001)] * 2


def test_two_jobs_may_not_hold_a_storage_when_storages_are_not_shared() -> None:
    with pytest.raises(RemoteProtocolError, match="4"):
        start("stage", "4-5", jobs=2, storage_sharing=False)


def test_parts_of_a_composed_profile_copy_one_after_the_other() -> None:
    assert start("chain") == [about(2 * (1.0001 + 2.0 + 1.0001))]


@pytest.mark.parametrize(
    ("profile", "io_profile", "seconds"),
    [
        # Flops of the job and bytes between the storages at once: the longer one counts.
        ("compute", "stage", 2.0001),
        # Other links than the job's own.
        ("exchange", "stage", 1.0001),
        # A copy that is the job, and one that goes along with it.
        ("stage", "compute", 2.0001),
        ("stage", "stage", 2.0001),
        ("stage", "back", 1.0001),
        # Into the same storage: two executors' bytes and the copy's.
        ("write", "stage", 3.0001),
        ("stage", "write", 3.0001),
        # Out of the same storage.
        ("read", "stage", 3.0001),
        # Into one storage and out of the other: nothing is shared but the flows of the executors.
        ("read", "back", 2.0001),
        ("chain", "io chain", 2 * (2.0001 + 2.0001 + 1.0001)),
    ],
)
def test_a_copy_is_joined_with_a_job_like_any_parallel_task(
    profile: str, io_profile: str, seconds: float
) -> None:
    assert start(profile, io=("0-1", io_profile)) == [about(seconds)]


def test_hosts_of_a_joined_copy_are_not_those_of_its_own_allocation() -> None:
    # The bytes flow between the storages, so a second copy on other hosts still waits for half of them.
    assert start("compute", "{0}", io=("2-3", "stage"), jobs=2) == [about(2.0001)] * 2
    assert start("nothing", "{0}", io=("2-3", "stage"), jobs=2) == [about(2.0001)] * 2


@pytest.mark.parametrize(
    ("labels", "io", "said"),
    [
        (None, None, "profile 'stage' of job w0!0 needs storage_mapping to name a host for 'in'"),
        ({"in": 4}, None, "profile 'stage' of job w0!0 needs storage_mapping to name a host for 'out'"),
        ({"in": 4, "out": 3}, None, "out"),
        ({"in": 4, "out": 9}, None, "9"),
        ({"in": 4}, ("0-1", "stage"), "to name a host for 'out'"),
    ],
)
def test_a_copy_without_its_storages_is_refused(
    labels: dict[str, int] | None, io: tuple[str, str] | None, said: str
) -> None:
    with pytest.raises(RemoteProtocolError) as refusal:
        start("stage" if io is None else "compute", labels=labels, io=io)
    assert said in str(refusal.value)
    assert "\n" not in str(refusal.value)
