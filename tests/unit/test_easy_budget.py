"""``easy_budget``: which starts an energy budget allows, and when."""

from __future__ import annotations

from typing import Any

import pytest
from playback import SECOND, Journal, job
from powered import WATTS, host, park
from sleepers import mixed_park, play_policy

from batpy.base.errors import InputError
from batpy.platforms.platform import Platform
from batpy.protocol import messages as m
from batpy.protocol import records as r
from batpy.schedulers import make_scheduler

FULL = {
    "full": {"type": "parallel_homogeneous", "cpu": 1e9, "com": 0},
    "delay": {"type": "delay", "delay": 10},
}


def starts(journal: Journal) -> dict[str, float]:
    return {id_: span[0] for id_, span in journal.spans().items()}


def full(name: str, subtime: float, res: int, walltime: float | None = 10, **more: Any) -> dict[str, Any]:
    told = {} if walltime is None else {"walltime": walltime}
    return job(name, subtime, res, more.pop("profile", "full"), **told, **more)


def play(options: str, jobs: list[dict[str, Any]], hosts: Any = None, **more: Any) -> Journal:
    return play_policy(f"easy_budget[{options}]", hosts or park(2), jobs, FULL, **more)


def test_a_job_waits_until_its_energy_is_saved_up() -> None:
    """Two hosts draw 60 W when idle; the budget becomes available at 80 W, so 20 W are saved.

    Job 0 lets them draw 100 + 30 = 130 W for 10 s, 50 W more than comes in: 500 J have to be saved, which
    takes until 25 s. At 35 s, 60 x 25 + 130 x 10 = 2800 J are gone, and as many were available: 80 x 35.
    Then nothing is left, so job 1, too, waits for 25 s: until 60 s.
    """
    journal = play("budget_joules=80000,period_seconds=1000", [full("0", 0, 1), full("1", 1, 1)])
    assert starts(journal) == {"w0!0": 25, "w0!1": 60}
    by_date = {e.time / SECOND: e.joules for e in journal.of(r.EnergyMeasured) if e.event == "e"}
    assert by_date == {35: pytest.approx(2800, abs=1e-6), 70: pytest.approx(5600, abs=1e-6)}


def test_what_a_job_did_not_use_is_found_by_measuring() -> None:
    """Job 0 only sleeps, at idle watts: 700 J less than counted, so job 1 need not wait again."""
    jobs = [full("0", 0, 1, 11, profile="delay"), full("1", 0, 1)]
    budget = "budget_joules=80000,period_seconds=1000"
    # 50 W x 11 s are saved by 27.5 s; the job ends at 37.5 s, when 20 W x 37.5 s = 750 J are there.
    assert starts(play(budget, jobs)) == {"w0!0": 27.5, "w0!1": 37.5}
    # Unmeasured it has used 700 J of these, and 450 J more take 22.5 s.
    assert starts(play(f"{budget},measured=false", jobs)) == {"w0!0": 27.5, "w0!1": 60}


def test_a_generous_budget_forbids_nothing() -> None:
    jobs = [full(str(n), n, 1 + n % 2) for n in range(6)]
    plain = play_policy("easy_sleep[idle_seconds=none]", park(2), jobs, FULL)
    assert starts(play("budget_joules=1e6,period_seconds=100", jobs)) == starts(plain)


def test_backfilling_leaves_the_energy_of_the_head_alone() -> None:
    """The head needs both hosts and 120 W x 10 s = 1200 J, there at 60 s. Job 1 would use 500 J of these."""
    jobs = [full("0", 0, 2), full("1", 30, 1)]
    journal = play("budget_joules=80000,period_seconds=1000,measured=false", jobs)
    assert starts(journal)["w0!0"] == 60
    assert starts(journal)["w0!1"] == 70 + 25


def test_after_the_period_nothing_is_limited() -> None:
    jobs = [full("0", 0, 1, None), full("1", 0, 2, 30)]
    journal = play("budget_joules=8000,period_seconds=100", jobs)
    # Without walltime it would draw 130 W until the period's end: 60 W x t + 130 W x (100 s - t) = 8000 J.
    assert starts(journal)["w0!0"] == pytest.approx(5000 / 70, abs=1e-5)
    # Then job 1 draws 200 W until the period's end: 60 W x t + 700 J + 200 W x (100 s - t) = 8000 J.
    assert starts(journal)["w0!1"] == pytest.approx(12_700 / 140, abs=1e-5)
    late = play("budget_joules=8000,period_seconds=100", [full("0", 0, 2, 1000)])
    assert starts(late)["w0!0"] == pytest.approx(100 - 2000 / 140, abs=1e-5)


def test_sleeping_hosts_save_energy_and_waking_them_costs_some() -> None:
    """One host and 40 W: it sleeps from 7 s on, and what the way back costs is saved up before."""
    journal = play("budget_joules=40000,period_seconds=1000,idle_seconds=5", [full("0", 0, 1)], park(1))
    [start] = starts(journal).values()
    [end] = [e for e in journal.of(r.EnergyMeasured) if e.event == "e"]
    assert end.joules <= 40 * end.time / SECOND + 1e-6
    assert start < 70  # it did not sleep: the head keeps its host, 600 J at 10 W


def test_hosts_that_draw_too_much_at_first_are_slept_off_before_anything_starts() -> None:
    """4 hosts draw 120 W idle, the budget gives 60 W: they sleep (39 W), and the loss is made up for."""
    jobs = [full("0", 2, 1)]
    journal = play("budget_joules=600000,period_seconds=10000,idle_seconds=0", jobs, park(4))
    [start] = starts(journal).values()
    assert 10 < start < 2000
    for record in journal.of(r.EnergyMeasured):
        if record.time >= start * SECOND:
            assert record.joules <= 60 * record.time / SECOND + 1e-6


def test_a_budget_below_what_idle_hosts_draw_is_refused_with_what_to_do() -> None:
    with pytest.raises(InputError, match=r"is 50 W, but the hosts draw 60 W idle, .* set idle_seconds"):
        play("budget_joules=5000,period_seconds=100", [full("0", 0, 1)])
    with pytest.raises(InputError, match=r"is 10 W, but the hosts draw 39.75 W asleep, .*; raise it"):
        play(
            "budget_joules=1000,period_seconds=100,idle_seconds=1",
            [full("0", 0, 1)],
            mixed_park([None, (2, 20)]),
        )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("period_seconds=5", "budget_joules"),
        ("budget_joules=0,period_seconds=5", "must be more than 0"),
        ("budget_joules=5,period_seconds=-1", "must be more than 0"),
    ],
)
def test_a_budget_needs_joules_and_a_period(options: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        make_scheduler(f"easy_budget[{options}]")


def test_hosts_that_take_longer_than_expected_are_not_asked_for_at_every_tick() -> None:
    """The real Batsim tells no speeds, so how long a host takes is not known the first time."""
    core = make_scheduler("easy_budget[budget_joules=1e6,period_seconds=1000,idle_seconds=5]")
    properties = {"wattage_per_state": WATTS, "sleep_pstates": "1:2:3"}
    told = [{"id": 0, "name": "h0", "properties": properties}]
    greeting = m.SimulationBegins(0, 1, 1, 0, False, True, {}, told, [], {"w0": "w"}, {})
    core.handle(m.Message(0, [greeting]))
    core.handle(m.Message(5 * SECOND, [m.RequestedCall(5 * SECOND)]))  # switched off
    job_ = m.JobSubmitted(6 * SECOND, "w0!0", {"id": "w0!0", "res": 1, "walltime": 5, "profile": "p"})
    reply = core.handle(m.Message(6 * SECOND, [job_]))
    calls = [event.at for event in reply.events if isinstance(event, m.CallMeLater)]
    assert calls == [7 * SECOND]


def test_storage_hosts_draw_from_the_budget_too() -> None:
    disk = host(2, role="storage", properties={"role": "storage", "wattage_per_state": WATTS})
    bare = host(3, role="storage", properties={"role": "storage"}, speeds=(1.0,))
    mixed = Platform("p", (host(0), host(1)), (disk, bare))
    with pytest.raises(InputError, match="is 80 W, but the hosts draw 90 W idle"):
        play("budget_joules=80000,period_seconds=1000", [full("0", 0, 1)], mixed)
