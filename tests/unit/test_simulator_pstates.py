"""SET_RESOURCE_STATE and QUERY consumed_energy: transitions, what they consume, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from playback import SECOND, job
from powered import Script, ask, host, park, simulate, to

from batpy.base.errors import InputError, RemoteProtocolError
from batpy.platforms.platform import Platform
from batpy.protocol import messages as m
from batpy.protocol import records as r

FULL = {"type": "parallel_homogeneous", "cpu": 1e9, "com": 0}
JOULES = 1e-6


def answers(scheduler: Any) -> list[float]:
    return [answer.consumed_energy for answer in scheduler.events(m.Answer)]


def changes(scheduler: Any) -> list[tuple[float, Any, str]]:
    events = scheduler.events(m.ResourceStateChanged)
    return [(event.timestamp / SECOND, event.resources, event.state) for event in events]


def test_idle_hosts_draw_their_idle_watts() -> None:
    scheduler, _ = simulate(park(2), {10: [ask]})
    assert answers(scheduler) == pytest.approx([600], abs=JOULES)


def test_switching_off_takes_its_time_and_energy_then_the_host_sleeps() -> None:
    scheduler, _ = simulate(park(1), {0: [to(1)], 2: [ask], 12: [ask]})
    assert changes(scheduler) == [(2, ((0, 0),), "1")]
    assert answers(scheduler) == pytest.approx([401.993442622, 499.493442622], abs=JOULES)


def test_switching_on_takes_its_time_and_energy_then_the_host_is_idle() -> None:
    scheduler, _ = simulate(park(1, pstate=1), {0: [to(0)], 25: [ask]})
    assert changes(scheduler) == [(20, ((0, 0),), "0")]
    assert answers(scheduler) == pytest.approx([8653.487698], abs=JOULES)


def test_one_answer_a_request_when_its_last_host_is_there() -> None:
    slow = host(1, speeds=(1e8, 1e-3, 0.25, 0.05))
    scheduler, journal = simulate(Platform("two", (host(0), slow)), {0: [to(1, 0, 1)]})
    assert changes(scheduler) == [(4, ((0, 1),), "1")]
    switched = [(record.time / SECOND, record.hosts) for record in journal.of(r.HostsSwitched)]
    assert switched == [(2, ((0, 0),)), (4, ((1, 1),))]


def test_the_run_waits_for_hosts_that_are_being_switched() -> None:
    _, journal = simulate(park(1), {0: [to(1)]})
    assert journal.of(r.RunEnds)[0].time == 2 * SECOND


def test_a_change_between_computing_pstates_is_told_in_the_same_instant() -> None:
    two = park(1, speeds=(1e8, 5e7), properties={"role": "", "watt_per_state": "10:20, 5:10"})
    scheduler, _ = simulate(two, {3: [to(1)], 5: [ask]})
    assert changes(scheduler) == [(3, ((0, 0),), "1")]
    assert answers(scheduler) == pytest.approx([3 * 10 + 2 * 5], abs=JOULES)


def test_a_running_task_goes_on_at_the_new_speed_and_watts() -> None:
    two = park(1, speeds=(1e8, 5e7), properties={"role": "", "wattage_per_state": "10:20, 5:8:12"})
    _, journal = simulate(two, {4: [to(1)]}, [job(0, profile="full")], {"full": FULL})
    # 4 s at full speed, the other 6e8 flops at half of it.
    assert journal.spans() == {"w0!0": (0, 16, "COMPLETED_SUCCESSFULLY")}
    assert energy_of(journal) == pytest.approx({"w0!0": 4 * 20 + 12 * 12}, abs=JOULES)


def test_a_task_that_starts_after_the_change_has_the_new_speed() -> None:
    two = park(1, speeds=(1e8, 5e7), properties={"role": "", "wattage_per_state": "10:20, 5:8:12"})
    _, journal = simulate(two, {0: [to(1)]}, [job(0, 1, profile="full")], {"full": FULL})
    assert journal.spans() == {"w0!0": (1, 21, "COMPLETED_SUCCESSFULLY")}


def test_cores_share_the_watts_between_epsilon_and_full() -> None:
    four = park(1, cores=4)
    _, journal = simulate(four, {}, [job(0, profile="full")], {"full": FULL})
    assert energy_of(journal) == pytest.approx({"w0!0": 10 * (30 + 70 / 4)}, abs=JOULES)


def energy_of(journal: Any) -> dict[str, float]:
    return {e.job: e.job_joules for e in journal.of(r.EnergyMeasured) if e.event == "e"}


def test_delays_burn_idle_power() -> None:
    _, journal = simulate(park(3), {}, [job(0, res=2, profile="d")], {"d": {"type": "delay", "delay": 10}})
    assert energy_of(journal) == pytest.approx({"w0!0": 600}, abs=JOULES)


@pytest.mark.parametrize(
    ("cpu", "walltime", "joules"),
    [
        ([1e9, 5e8], None, 1000 + 650),
        ([1e9, 1e9], 4, 400 + 400),
        ([1e9, 0], 4, 400 + 120),
    ],
)
def test_tasks_draw_what_their_load_asks_for(cpu: list[float], walltime: float | None, joules: float) -> None:
    limit = {} if walltime is None else {"walltime": walltime}
    profile = {"type": "parallel", "cpu": cpu, "com": [0, 0, 0, 0]}
    _, journal = simulate(park(2), {}, [job(0, res=2, profile="p", **limit)], {"p": profile})
    assert energy_of(journal) == pytest.approx({"w0!0": joules}, abs=JOULES)


def test_a_host_shared_by_two_jobs_counts_for_each_and_once_in_all() -> None:
    jobs = [job(0, profile="full"), job(1, profile="full")]

    def both(now: int) -> m.Event:
        return m.ExecuteJob(now, "w0!1", ((0, 0),))

    scheduler, journal = simulate(
        park(1), {0.5: [both], 20: [ask]}, jobs, {"full": FULL}, compute_sharing=True, strict=False
    )
    assert answers(scheduler) == pytest.approx([20 * 100], abs=JOULES)
    spent = energy_of(journal)
    spans = journal.spans()
    assert spent == pytest.approx({j: 100 * (end - start) for j, (start, end, _) in spans.items()}, abs=1e-3)


REFUSED: list[tuple[str, Script, str]] = [
    ("beyond", {0: [to(1, 0, 9)]}, "host 9 does not exist; the platform has hosts 0-1"),
    ("pstate", {0: [to(7)]}, "host 0 has no pstate 7, only 0-3"),
    ("negative", {0: [to(-1)]}, "host 0 has no pstate -1, only 0-3"),
    ("asleep", {0: [to(1)], 3: [to(1)]}, "host 0 sleeps in pstate 1, from where it cannot go to 1"),
    ("virtual", {0: [to(1)], 3: [to(3)]}, "host 0 sleeps in pstate 1, from where it cannot go to 3"),
    ("busy", {1: [to(1)]}, "host 0 runs a job, so it cannot be switched off"),
]


@pytest.mark.parametrize(("name", "script", "said"), REFUSED, ids=[case[0] for case in REFUSED])
def test_what_batsim_aborts_on_is_refused(name: str, script: Script, said: str) -> None:
    jobs = [job(0, profile="full")] if name == "busy" else []
    with pytest.raises(RemoteProtocolError, match="SET_RESOURCE_STATE") as refused:
        simulate(park(2), script, jobs, {"full": FULL})
    assert str(refused.value).endswith(said)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ({0: [to(2)]}, "pstate 2 of host 0 only stands for a way into or out of sleep"),
        ({0: [to(1)], 1: [to(0)]}, "host 0 is already on its way to pstate 1"),
    ],
)
def test_what_batsim_only_logs_changes_nothing_and_is_journalled(script: Script, said: str) -> None:
    scheduler, journal = simulate(park(1), script)
    assert [record.reason for record in journal.of(r.Refused)] == [said]
    assert type(journal.of(r.Refused)[0].reason) is str  # the codecs take no other kind of text
    assert len(changes(scheduler)) == len(script) - 1


@pytest.mark.parametrize("date", [1, 5])
def test_no_job_starts_on_a_host_that_sleeps_or_is_being_switched(date: float) -> None:
    with pytest.raises(RemoteProtocolError, match="hosts 0 sleep or are being switched"):
        simulate(park(1), {0: [to(1)]}, [job(0, date, profile="full")], {"full": FULL})


def test_a_host_that_woke_up_runs_jobs_again() -> None:
    _, journal = simulate(park(1), {0: [to(1)], 2: [to(0)]}, [job(0, 22, profile="full")], {"full": FULL})
    assert journal.spans() == {"w0!0": (22, 32, "COMPLETED_SUCCESSFULLY")}


def test_compute_hosts_without_figures_are_refused_before_anything_runs() -> None:
    with pytest.raises(InputError, match="host 'host1': energy needs the property wattage_per_state"):
        simulate(Platform("p", (host(0), host(1, properties={"role": ""}))), {})


def test_a_storage_host_without_figures_draws_nothing_and_keeps_its_pstate() -> None:
    mixed = Platform("p", (host(0),), (host(1, role="storage", properties={"role": "storage"}),))
    scheduler, _ = simulate(mixed, {10: [ask]})
    assert answers(scheduler) == pytest.approx([300], abs=JOULES)
    with pytest.raises(RemoteProtocolError, match="host 1 has no power figures"):
        simulate(mixed, {0: [to(1, 1)]})


def test_a_host_cannot_begin_on_its_way() -> None:
    with pytest.raises(InputError, match="starts in pstate 2, which only stands for a way"):
        simulate(park(1, pstate=2), {})
