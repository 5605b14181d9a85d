"""``easy_sleep``: when hosts are switched off and on, and what that does to starts and joules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mini_simulator import begins
from playback import SECOND, Journal, job
from powered import park
from sleepers import mixed_park, play_policy

from batpy.base.errors import InputError
from batpy.protocol import records as r
from batpy.schedulers import make_scheduler

# Ten seconds at full load on each host.
FULL = {"full": {"type": "parallel_homogeneous", "cpu": 1e9, "com": 0}}
OFF, ON = 1, 0


def switches(journal: Journal) -> list[tuple[float, Any, int]]:
    """(date in seconds, hosts, pstate) of everything that was asked for."""
    return [(a.time / SECOND, a.hosts, a.state) for a in journal.of(r.PstateAsked) if not a.done]


def starts(journal: Journal) -> dict[str, float]:
    return {id_: span[0] for id_, span in journal.spans().items()}


def joules(journal: Journal) -> float:
    return float(journal.of(r.EnergyMeasured)[-1].joules)


def full(name: str, subtime: float, res: int, walltime: float = 20, **more: Any) -> dict[str, Any]:
    return job(name, subtime, res, "full", walltime=walltime, **more)


def test_every_date_and_joule_of_a_small_run() -> None:
    """Two hosts: idle 30 W, busy 100 W, asleep 9.75 W; 2 s at 201 W to fall asleep, 20 s at 425 W to wake up.

    0-30 s    both idle: job 0 comes at 0 and takes host 0 until 10; host 1 is idle from 0 on and is switched
              off at 30, host 0, idle from 10 on, at 40.
    100 s     job 1 wants both, which are asleep: switched on at 100, it runs from 120 to 130.
    """
    journal = play_policy("easy_sleep[idle_seconds=30]", park(2), [full("0", 0, 1), full("1", 100, 2)], FULL)
    assert starts(journal) == {"w0!0": 0, "w0!1": 120}
    assert switches(journal) == [
        (30, ((1, 1),), OFF),
        (40, ((0, 0),), OFF),
        (100, ((0, 1),), ON),
    ]
    off, on = 2 * 200.996721311, 20 * 425.1743849
    host_0 = 10 * 100 + 30 * 30 + off + 58 * 9.75 + on + 10 * 100
    host_1 = 30 * 30 + off + 68 * 9.75 + on + 10 * 100
    assert joules(journal) == pytest.approx(host_0 + host_1, abs=1e-6)
    # The last job is over and no more are to come: nothing is switched off to no purpose.
    assert journal.of(r.RunEnds)[0].time == 130 * SECOND


def test_a_reserve_of_idle_hosts_stays_on_and_is_restored() -> None:
    jobs = [full("0", 50, 1), full("1", 100, 1)]
    journal = play_policy("easy_sleep[idle_seconds=10,reserve=1]", park(3), jobs, FULL)
    assert starts(journal) == {"w0!0": 50, "w0!1": 100}
    assert switches(journal) == [
        (10, ((1, 2),), OFF),  # host 0, the lowest, is the reserve
        (50, ((1, 1),), ON),  # it works: another one takes its place
        (70, ((0, 0),), OFF),  # that one is there, so host 0, idle since 60, is one too many
    ]


def test_a_job_takes_hosts_that_are_on_before_those_that_sleep() -> None:
    jobs = [full("0", 0, 3), full("1", 15, 1), full("2", 40, 1)]
    journal = play_policy("easy_sleep[idle_seconds=10,reserve=1]", park(4), jobs, FULL)
    hosts = {s.job: s.alloc for s in journal.of(r.Started)}
    assert hosts["w0!2"] == ((0, 0),)
    assert starts(journal)["w0!2"] == 40


def test_hosts_for_the_head_are_switched_on_in_time_and_sleep_until_then() -> None:
    """Job 1 needs host 0, which is busy until 1000 at the latest: hosts 1 and 2 sleep until 980."""
    long = {"type": "delay", "delay": 1000}
    jobs = [job("0", 0, 1, "long", walltime=1001), full("1", 1, 3)]
    journal = play_policy("easy_sleep[idle_seconds=30]", park(3), jobs, {**FULL, "long": long})
    assert starts(journal) == {"w0!0": 0, "w0!1": 1001}
    assert switches(journal) == [(30, ((1, 2),), OFF), (981, ((1, 2),), ON)]


def test_hosts_for_the_head_stay_on_where_sleeping_would_cost_more() -> None:
    long = {"type": "delay", "delay": 300}
    jobs = [job("0", 0, 1, "long", walltime=301), full("1", 1, 3)]
    journal = play_policy("easy_sleep[idle_seconds=30]", park(3), jobs, {**FULL, "long": long})
    # 301 - 30 s at 30 W are 8.1 kJ; 2 s off, 20 s on and the rest asleep are 11.3 kJ.
    assert switches(journal) == []


def test_a_short_job_is_woken_for_without_delaying_the_head() -> None:
    """The head waits for all hosts until 500; a job of 20 s at 200 is switched a host on for."""
    jobs = [
        job("0", 0, 1, "long", walltime=500),
        full("1", 1, 3),
        full("2", 200, 1, walltime=30),
        full("3", 460, 1, walltime=41),
    ]
    profiles = {**FULL, "long": {"type": "delay", "delay": 499}}
    journal = play_policy("easy_sleep[idle_seconds=0]", park(3), jobs, profiles)
    assert starts(journal)["w0!2"] == 220
    assert starts(journal)["w0!1"] == 500
    assert starts(journal)["w0!3"] >= 500  # would delay the head by a second


def test_hosts_take_their_own_time_and_a_job_waits_for_the_slowest() -> None:
    park_of_two = mixed_park([(2, 20), (1, 50)])
    journal = play_policy("easy_sleep[idle_seconds=5]", park_of_two, [full("0", 100, 2)], FULL)
    assert starts(journal) == {"w0!0": 150}
    assert [(date, hosts) for date, hosts, state in switches(journal) if state == ON] == [
        (100, ((1, 1),)),
        (130, ((0, 0),)),  # no earlier than needed
    ]


def test_a_host_that_cannot_sleep_stays_on() -> None:
    journal = play_policy("easy_sleep[idle_seconds=5]", mixed_park([None, (2, 20)]), [full("0", 50, 1)], FULL)
    assert starts(journal) == {"w0!0": 50}
    assert switches(journal)[0] == (5, ((1, 1),), OFF)


def test_hosts_that_begin_asleep_are_switched_on_for_the_first_job() -> None:
    journal = play_policy("easy_sleep", park(2, pstate=1), [full("0", 5, 1)], FULL)
    assert starts(journal) == {"w0!0": 25}
    assert switches(journal)[0] == (5, ((0, 0),), ON)


def test_a_host_being_switched_off_when_a_job_comes_is_brought_back_at_once() -> None:
    journal = play_policy("easy_sleep[idle_seconds=10]", park(1), [full("0", 11, 1)], FULL)
    assert starts(journal) == {"w0!0": 10 + 2 + 20}


def test_closed_hosts_sleep_and_are_no_reserve(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text('[[outage]]\nhosts = "0"\nstart = 0\nend = 500\n')
    spec = "easy_sleep[idle_seconds=10,reserve=1,calendar=c.toml]"
    journal = play_policy(spec, park(3), [full("0", 100, 1), full("1", 101, 3)], FULL, base=tmp_path)
    assert switches(journal)[0] == (10, ((0, 0), (2, 2)), OFF)
    assert starts(journal)["w0!1"] == 500


@pytest.mark.parametrize("name", ["easy_sleep", "easy_budget[budget_joules=1e6,period_seconds=10]"])
def test_without_energy_it_says_what_to_do(name: str) -> None:
    with pytest.raises(InputError, match=r"needs energy: set energy = true under \[simulation\], or give -E"):
        play_policy(name, park(2), [full("0", 0, 1)], FULL, energy=False)


def test_without_sleep_pstates_it_says_what_to_do() -> None:
    with pytest.raises(InputError, match=r"easy_sleep: no host can be switched off \(property sleep_pstates"):
        play_policy("easy_sleep", mixed_park([None, None]), [full("0", 0, 1)], FULL)
    # There is nothing to switch then, and that is fine.
    play_policy("easy_sleep[idle_seconds=none]", mixed_park([None, None]), [full("0", 0, 1)], FULL)


def test_without_figures_it_says_what_to_do() -> None:
    core = make_scheduler("easy_sleep")
    with pytest.raises(InputError, match=r"every host needs power figures \(property wattage_per_state\)"):
        core.handle(begins(2, None))


@pytest.mark.parametrize("option", ["idle_seconds=-1", "reserve=-2"])
def test_negative_options_are_refused(option: str) -> None:
    with pytest.raises(InputError, match="must be 0 or more"):
        make_scheduler(f"easy_sleep[{option}]")
