"""What the policies that switch hosts promise, on random workloads, hosts, machine events and closures.

The simulator is strict: a start on a host that is off or being switched, or a switch that cannot be, fails
the run; so does a queue that waits for ever (deadlock).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playback import SECOND, Journal, job
from sleepers import mixed_park, play_policy

from batpy.protocol import hostset
from batpy.protocol import records as r
from batpy.schedulers.api import Plan, View
from batpy.schedulers.hosts import from_mask, to_mask
from batpy.workloads.external_events import AVAILABLE, UNAVAILABLE, ExternalEvent

RELAXED = settings(
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
ORDERS = ["fcfs", "sjf", "widest"]
HOSTS = ["first_fit", "best_fit", "contiguous"]
# A start that the latency brings after a machine event is refused, so these come without such events.
PACES: list[dict[str, int]] = [{}, {"time_step": 7 * SECOND}, {"latency": SECOND // 2}, {"latency": 1000}]


@st.composite
def parks(draw: Any) -> list[tuple[float, float] | None]:
    """Up to six hosts of up to three kinds; one at least can sleep."""
    kinds: list[tuple[float, float] | None] = [(2, 20), (1, 7), None]
    ways = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=6))
    return [(2, 20), *ways[1:]]


@st.composite
def jobs_for(
    draw: Any, nb_hosts: int, walltimes: bool = False
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    jobs: list[dict[str, Any]] = []
    profiles: dict[str, Any] = {}
    date = 0
    for number in range(draw(st.integers(1, 14))):
        date += draw(st.sampled_from([0, 0, 1, 5, 40, 200]))
        walltime = draw(st.integers(1, 60))
        length = draw(st.one_of(st.integers(1, 60), st.just(walltime)))
        computes = draw(st.booleans())
        profiles[f"p{number}"] = (
            {"type": "parallel_homogeneous", "cpu": 1e8 * length, "com": 0}
            if computes
            else {"type": "delay", "delay": length}
        )
        told = {"walltime": walltime} if walltimes or draw(st.integers(0, 4)) else {}
        res = draw(st.integers(1, nb_hosts))
        jobs.append(job(f"{number:02}", date, res, f"p{number}", **told))
    return jobs, profiles


@st.composite
def machine_events(draw: Any, nb_hosts: int) -> list[ExternalEvent]:
    """Hosts go and come back, all of them at last."""
    events = []
    date = 0
    for _ in range(draw(st.integers(0, 3))):
        date += draw(st.integers(1, 90))
        hosts = hostset.from_ids(draw(st.sets(st.integers(0, nb_hosts - 1), min_size=1)))
        events.append((date, UNAVAILABLE, hosts))
        date += draw(st.integers(1, 60))
        events.append((date, AVAILABLE, hosts))
    return [ExternalEvent(date * SECOND, kind, hosts, {}, "events", 1) for date, kind, hosts in events]


def all_end(journal: Journal, jobs: Sequence[Any]) -> bool:
    return len(journal.spans()) == len(jobs)


@RELAXED
@given(data=st.data(), ways=parks(), order=st.sampled_from(ORDERS), hosts=st.sampled_from(HOSTS))
def test_every_job_ends_whatever_sleeps_goes_or_is_closed(
    data: Any, ways: Any, order: str, hosts: str, tmp_path: Path
) -> None:
    jobs, profiles = data.draw(jobs_for(len(ways)))
    events = data.draw(machine_events(len(ways)))
    idle, reserve = data.draw(st.sampled_from([0, 1, 10, 100])), data.draw(st.integers(0, 3))
    spec = f"easy_sleep[idle_seconds={idle},reserve={reserve},order={order},hosts={hosts}"
    if data.draw(st.booleans()):
        start = data.draw(st.integers(0, 200))
        closed = data.draw(st.integers(0, len(ways) - 1))
        table = f'[[outage]]\nhosts = "{closed}"\nstart = {start}\nend = {start + 50}\n'
        (tmp_path / "c.toml").write_text(table)
        spec += ",calendar=c.toml"
    more = {} if events else data.draw(st.sampled_from(PACES))
    sources = [events] if events else []
    journal = play_policy(f"{spec}]", mixed_park(ways), jobs, profiles, events=sources, base=tmp_path, **more)
    assert all_end(journal, jobs)


@RELAXED
@given(data=st.data(), ways=parks(), idle=st.sampled_from([0, 3, 50]), reserve=st.integers(1, 3))
def test_the_reserve_is_on_or_on_its_way_until_no_more_jobs_come(
    data: Any, ways: Any, idle: int, reserve: int
) -> None:
    jobs, profiles = data.draw(jobs_for(len(ways)))

    def watch(policy: Any, view: View, plan: Plan | None) -> None:
        assert plan is not None
        if policy._no_more_jobs:
            return
        power = view.power
        assert power is not None
        woken = [e.resources for e in plan.also if e.state == 0]  # type: ignore[attr-defined]
        kept = 0
        for _, _, mask in policy._slots.values():
            kept |= mask
        ready = to_mask(plan.free) | power.on_the_way(sleeps=False)
        for hosts in woken:
            ready |= to_mask(hosts)
        busy = hostset.size(hostset.difference(view.hosts, view.free)) - power.away_mask.bit_count()
        busy += sum(hostset.size(hosts) for _, hosts in plan.starts)
        falling = power.on_the_way(sleeps=True) & ~kept
        possible = len(ways) - busy - kept.bit_count() - falling.bit_count()
        assert (ready & ~kept).bit_count() >= min(reserve, possible), from_mask(ready)

    spec = f"easy_sleep[idle_seconds={idle},reserve={reserve}]"
    play_policy(spec, mixed_park(ways), jobs, profiles, watch=watch)


@RELAXED
@given(
    data=st.data(), ways=parks(), idle=st.sampled_from([0, 3, 50, "none"]), reserve=st.integers(0, 2),
    name=st.sampled_from(["easy_sleep", "easy_budget"]),
)  # fmt: skip
def test_no_job_starts_later_than_it_was_first_promised(
    data: Any, ways: Any, idle: Any, reserve: int, name: str
) -> None:
    jobs, profiles = data.draw(jobs_for(len(ways), walltimes=True))
    promised: dict[str, int] = {}

    def watch(policy: Any, view: View, plan: Plan | None) -> None:
        serials = {job.serial: job.id for job in view.queue}
        for serial, (start, _, _) in policy._slots.items():
            assert start <= promised.setdefault(serials[serial], start)

    options = f"idle_seconds={idle},reserve={reserve}"
    if name == "easy_budget":
        options += f",budget_joules={len(ways) * 50 * 1000},period_seconds=1000"
    journal = play_policy(f"{name}[{options}]", mixed_park(ways), jobs, profiles, watch=watch)
    starts = {s.job: s.time for s in journal.of(r.Started)}
    for id_, date in promised.items():
        assert starts[id_] <= date


@RELAXED
@given(data=st.data(), ways=parks())
def test_backfilled_or_not_nothing_is_switched_off_before_its_time(data: Any, ways: Any) -> None:
    jobs, profiles = data.draw(jobs_for(len(ways)))
    journal = play_policy("easy_sleep[idle_seconds=30]", mixed_park(ways), jobs, profiles)
    busy_until = dict.fromkeys(range(len(ways)), 0)
    hosts_of: dict[str, Any] = {}
    for record in journal.records:
        if type(record) is r.Started:
            hosts_of[record.job] = record.alloc
        elif type(record) is r.Ended:
            busy_until.update(dict.fromkeys(hostset.ids(hosts_of[record.job]), record.time))
        elif type(record) is r.HostsSwitched and not record.sleep:
            busy_until.update(dict.fromkeys(hostset.ids(record.hosts), record.time))
        elif type(record) is r.PstateAsked and record.sleep and not record.done:
            for host in hostset.ids(record.off):
                assert record.time >= busy_until[host] + 30 * SECOND


def limits(watts: float, journal: Journal) -> None:
    """Consumption never runs ahead of a budget of so many watts."""
    for record in journal.of(r.EnergyMeasured):
        assert record.joules <= watts * record.time / SECOND * (1 + 1e-9) + 1e-6


@RELAXED
@given(
    data=st.data(),
    ways=parks(),
    above=st.sampled_from([0.0, 0.5, 7.0, 40.0]),
    idle=st.sampled_from(["none", 0, 20]),
    measured=st.booleans(),
    reserve=st.integers(0, 2),
)
def test_a_budget_above_what_idle_hosts_draw_is_never_exceeded_and_every_job_ends(
    data: Any, ways: Any, above: float, idle: Any, measured: bool, reserve: int
) -> None:
    jobs, profiles = data.draw(jobs_for(len(ways)))
    events = data.draw(machine_events(len(ways)))
    period = data.draw(st.sampled_from([50, 700, 5000]))
    platform, watts = mixed_park(ways), 30 * len(ways) + above
    options = f"budget_joules={watts * period},period_seconds={period},idle_seconds={idle}"
    options += f",measured={str(measured).lower()},reserve={reserve}"
    journal = play_policy(
        f"easy_budget[{options}]", platform, jobs, profiles, events=[events] if events else []
    )
    assert all_end(journal, jobs)
    inside = Journal()
    inside.records = [x for x in journal.records if x.time <= period * SECOND]
    limits(watts, inside)


@RELAXED
@given(data=st.data(), ways=parks())
def test_a_budget_that_forbids_nothing_changes_no_start(data: Any, ways: Any) -> None:
    jobs, profiles = data.draw(jobs_for(len(ways)))
    plain = play_policy("easy_sleep[idle_seconds=none]", mixed_park(ways), jobs, profiles)
    budget = play_policy(
        "easy_budget[budget_joules=1e12,period_seconds=1e6]", mixed_park(ways), jobs, profiles
    )
    assert budget.spans() == plain.spans()
