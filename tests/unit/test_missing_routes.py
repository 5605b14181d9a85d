"""Jobs that would send bytes where the platform has no route: their start is refused, the run goes on."""

from __future__ import annotations

from typing import Any

import pytest
from playback import JobList, Journal, job
from sharing_platforms import TableNetwork

from batpy.base.errors import RemoteProtocolError
from batpy.models.sharing.resources import Resources
from batpy.models.sharing.work import WorkBuilder
from batpy.platforms.network import Link, Route
from batpy.platforms.platform import Host, Platform
from batpy.protocol import records as r
from batpy.schedulers import make_scheduler
from batpy.simulator.config import SimulatorConfig
from batpy.simulator.core import Simulator, run

PROFILES: dict[str, Any] = {
    "talks": {"type": "parallel_homogeneous", "cpu": 1e9, "com": 1e6},
    "second": {"type": "delay", "delay": 1},
    "talks_later": {"type": "composed", "seq": ["second", "talks"]},
}
# Hosts 0 and 1 reach each other; host 2 reaches nobody.
NETWORK = TableNetwork([Link("l", 1e8, 0.0)], {(0, 1): [0], (1, 0): [0]})


def simulate(jobs: list[dict[str, Any]], *, strict: bool) -> Journal:
    platform = Platform("p.xml", tuple(Host(i, f"host{i}") for i in range(3)), network=NETWORK)
    journal = Journal()
    simulator = Simulator(platform, [JobList(jobs, PROFILES)], journal, SimulatorConfig(strict=strict))
    core = make_scheduler("easy")

    def ask(request: Any) -> Any:
        simulator.check()
        return core.handle(request)

    run(simulator, ask)
    return journal


@pytest.mark.parametrize("profile", ["talks", "talks_later"])
def test_a_job_without_a_route_is_refused_and_the_others_run(profile: str) -> None:
    jobs = [job("far", res=3, profile=profile), job("near", 1, res=2, profile=profile)]
    journal = simulate(jobs, strict=False)
    assert {refused.reason for refused in journal.of(r.Refused)} == {
        "profile 'talks': no route from host 0 to host 2"
    }
    assert [rejected.job for rejected in journal.of(r.Rejected)] == ["w0!far"]
    assert set(journal.spans()) == {"w0!near"}


@pytest.mark.parametrize("profile", ["talks", "talks_later"])
def test_in_strict_mode_a_missing_route_ends_the_run_before_the_job_starts(profile: str) -> None:
    with pytest.raises(RemoteProtocolError, match=r"EXECUTE_JOB w0!far at 0 s: .*no route from host 0"):
        simulate([job("far", res=3, profile=profile)], strict=True)


def test_routes_of_hosts_that_exchange_bytes_again_are_not_looked_for_again() -> None:
    asked: list[tuple[int, int]] = []

    class Counting(TableNetwork):
        def route(self, source: int, target: int) -> Route:
            asked.append((source, target))
            return super().route(source, target)

    network = Counting([Link("l", 1e8, 1e-3)], {(0, 1): [0], (1, 0): [0]})
    builder = WorkBuilder(Resources([(1e9, 1)] * 3, network.links), network)
    first, larger = builder.homogeneous([0, 1], 1e9, 1e6), builder.homogeneous([0, 1], 1e9, 3e6)
    assert len(asked) == 2
    assert larger == WorkBuilder(Resources([(1e9, 1)] * 3, network.links), network).homogeneous(
        [0, 1], 1e9, 3e6
    )
    assert first != larger
