"""Fair shares of joules: who pays for a host that several jobs use, and for hosts that nobody uses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playback import SECOND, JobList, Journal, job
from powered import Scripted, park, simulate, to

from batpy.base.errors import RemoteProtocolError
from batpy.protocol import messages as m
from batpy.protocol import records as r
from batpy.results.laws_energy import EnergyLaws
from batpy.simulator.config import SimulatorConfig
from batpy.simulator.core import Simulator, run

FULL = {"type": "parallel_homogeneous", "cpu": 1e9, "com": 0}
SHORT = {"type": "parallel_homogeneous", "cpu": 5e8, "com": 0}
NAP = {"type": "delay", "delay": 10}
LONG = {"type": "parallel_homogeneous", "cpu": 3e9, "com": 0}
HALF = {"type": "parallel_homogeneous", "cpu": 1.5e9, "com": 0}
PROFILES = {"long": LONG, "half": HALF, "full": FULL, "short": SHORT, "nap": NAP}


def shares(journal: Journal) -> dict[str, float]:
    return {e.job: e.fair_joules for e in journal.of(r.EnergyMeasured) if e.event == "e"}


def parts(journal: Journal) -> tuple[float, float, float, float, float]:
    [end] = journal.of(r.EnergyEnds)
    return end.joules, end.jobs, end.idle, end.sleeping, end.switching


Script = dict[int, Callable[[int], m.Event]]


class OnArrival:
    """Starts each job when it comes: on host 0, with an I/O job where one is given."""

    def __init__(self, io: dict[str, m.IoJob], hosts: dict[str, int], script: Script) -> None:
        self.io = io
        self.hosts = hosts
        self.script = {date * SECOND: make for date, make in script.items()}

    def __call__(self, request: m.Message) -> m.Message:
        now, said = request.now, list[m.Event]()
        if isinstance(request.events[0], m.SimulationBegins):
            said += [m.CallMeLater(now, date) for date in self.script]
        for event in request.events:
            if isinstance(event, m.JobSubmitted):
                host = self.hosts.get(event.job_id, 0)
                io = self.io.get(event.job_id)
                said.append(m.ExecuteJob(now, event.job_id, ((host, host),), None, None, io))
            elif isinstance(event, m.RequestedCall):
                said.append(self.script[now](now))
        return m.Message(now, said)


def shared(
    jobs: list[Any],
    *,
    hosts: dict[str, int] | None = None,
    io: dict[str, m.IoJob] | None = None,
    script: Script | None = None,
    **changes: Any,
) -> Journal:
    journal = Journal()
    config = SimulatorConfig(energy=True, compute_sharing=True)
    simulator = Simulator(park(2, **changes), [JobList(jobs, PROFILES)], journal, config)
    run(simulator, OnArrival(io or {}, hosts or {}, script or {}))
    simulator.check()
    return journal


def test_equal_jobs_on_one_host_share_its_joules_equally() -> None:
    journal = shared([job(0, 1, profile="full"), job(1, 1, profile="full")])
    # Each at half of the speed: 20 s of 100 W; host 1 is idle.
    assert shares(journal) == pytest.approx({"w0!0": 1000, "w0!1": 1000})
    assert parts(journal) == pytest.approx((2000 + 30 + 21 * 30, 2000, 30 + 21 * 30, 0, 0))


def test_a_job_without_load_pays_for_idle_watts_only() -> None:
    journal = shared([job(0, 1, profile="nap"), job(1, 1, profile="full")])
    assert shares(journal) == pytest.approx({"w0!0": 150, "w0!1": 150 + 700})


def test_a_job_that_comes_later_pays_for_nothing_before() -> None:
    journal = shared([job(0, 0, profile="full"), job(1, 5, profile="nap")])
    # 5 s alone, 5 s together, then the nap has 5 s of an idle host alone.
    assert shares(journal) == pytest.approx({"w0!0": 500 + 75 + 350, "w0!1": 75 + 150})


def test_watts_above_idle_follow_the_load_of_each_job() -> None:
    journal = shared([job(0, profile="full"), job(1, profile="full"), job(2, profile="short")], cores=2)
    # Three on two cores for 7.5 s, then two of them on one core each for 5 s.
    first, then = 7.5 * 100 / 3, 5 * 100 / 2
    assert shares(journal) == pytest.approx({"w0!0": first + then, "w0!1": first + then, "w0!2": first})


def test_jobs_of_unequal_load_pay_unequally_above_idle_watts() -> None:
    wide = {"w0!0": m.IoJob(((1, 1),), "short", None)}
    journal = shared([job(0, profile="full"), job(1, profile="full")], io=wide, hosts={"w0!1": 1})
    # Job 0 does 1e9 on host 0 and 5e8 on host 1 at one rate, job 1 has the other 1e9 on host 1: after 10 s of
    # half a host each, it is alone.
    assert shares(journal)["w0!0"] == pytest.approx(10 * 100 + 10 * 70 / 2)
    assert shares(journal)["w0!1"] == pytest.approx(10 * 30 + 10 * 70 / 2 + 5 * 100)


def test_an_additional_io_job_pays_for_its_load_on_a_host_that_another_job_holds() -> None:
    wide = {"w0!0": m.IoJob(((1, 1),), "short", None)}
    journal = shared([job(0, profile="full"), job(1, profile="nap")], io=wide, hosts={"w0!1": 1})
    assert shares(journal) == pytest.approx({"w0!0": 10 * 100 + 10 * 70 / 2, "w0!1": 10 * 30})


def test_an_additional_io_job_pays_for_its_load_on_a_host_that_nobody_holds() -> None:
    journal = shared([job(0, profile="full")], io={"w0!0": m.IoJob(((1, 1),), "short", None)})
    assert shares(journal) == pytest.approx({"w0!0": 10 * 100 + 10 * 70 / 2})
    assert parts(journal) == pytest.approx((1000 + 350 + 300, 1350, 300, 0, 0))


def test_load_on_a_host_that_sleeps_or_is_being_switched_counts_when_it_is_awake_again() -> None:
    """Nothing forbids to switch the host of an I/O job off (Batsim 4.2.1 checks the hosts of jobs only)."""
    io = {"w0!0": m.IoJob(((1, 1),), "half", None)}
    journal = shared([job(0, profile="long")], io=io, script={1: to(1, 1), 4: to(0, 1)})
    # Host 1 is awake until 1 s and from 24 s to the end at 30 s, and half busy then.
    ways = 2 * 200.996721311 + 20 * 425.1743849
    jobs, idle, sleeping = 30 * 100 + 7 * 35, 7 * 30, 9.75
    assert parts(journal) == pytest.approx((jobs + idle + sleeping + ways, jobs, idle, sleeping, ways))
    laws = EnergyLaws()
    assert [str(finding) for record in journal.records for finding in laws.check(record)] == []


def test_a_job_alone_on_its_hosts_pays_what_batsim_says() -> None:
    jobs = [job(0, 1, profile="full"), job(1, 2, res=1, profile="nap")]
    _, journal = simulate(park(2), {}, jobs, PROFILES)
    told = {e.job: e.job_joules for e in journal.of(r.EnergyMeasured) if e.event == "e"}
    assert shares(journal) == pytest.approx(told)


def test_joules_without_a_job_are_idle_sleeping_or_switching() -> None:
    _, journal = simulate(park(2), {1: [to(1, 1)], 10: [to(0, 1)]}, [job(0, 0, profile="full")], PROFILES)
    ways = 2 * 200.996721311 + 20 * 425.1743849
    assert parts(journal) == pytest.approx((1000 + 30 + 7 * 9.75 + ways + 20 * 30, 1000, 630, 7 * 9.75, ways))


def test_a_switching_host_of_several_cores_keeps_one_of_them_busy() -> None:
    properties = {
        "role": "",
        "wattage_per_state": "30:100, 9.75:9.75, 200:240:400, 425:425",
        "sleep_pstates": "1:2:3",
    }
    _, journal = simulate(park(1, cores=4, properties=properties), {0: [to(1)]})
    # Two seconds of one flop on one of four cores: a quarter of the way from 240 to 400 W.
    assert parts(journal) == pytest.approx((560, 0, 0, 0, 560))
    assert journal.of(r.RunEnds)[0].time == 2_000_000


def test_a_stopped_run_does_not_tell_where_its_joules_went() -> None:
    journal = Journal()
    with pytest.raises(RemoteProtocolError):
        run(Simulator(park(1), [], journal, SimulatorConfig(energy=True)), Scripted({0: [to(9)]}))
    assert not journal.of(r.EnergyEnds)
    assert journal.of(r.RunEnds)[0].outcome == "refused"
