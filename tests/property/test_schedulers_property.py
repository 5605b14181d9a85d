"""Every shipped policy against its slow twin, and what it promises, on random workloads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mini_simulator import MiniSimulator, Outcome, Work
from slow_twins import SlowConservative, SlowEasy, SlowFcfs, SlowFiller, Twin

from batpy.protocol import hostset
from batpy.schedulers import make_scheduler
from batpy.schedulers.core import SchedulerCore

ORDERS = [
    "fcfs", "lcfs", "sjf", "ljf", "saf", "laf", "narrowest", "widest", "xf",
    "2*wait-walltime", "res-0.5*area+3*expansion",
]  # fmt: skip
HOSTS = ["first_fit", "best_fit", "contiguous"]
TWINS: dict[str, type[Twin]] = {
    "fcfs": SlowFcfs, "filler": SlowFiller, "easy": SlowEasy, "conservative": SlowConservative,
}  # fmt: skip
RELAXED = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])


@dataclass(frozen=True)
class Case:
    nb_hosts: int
    jobs: tuple[Work, ...]
    machines: tuple[tuple[int, bool, hostset.HostSet], ...]
    closures: tuple[tuple[int, int, hostset.HostSet], ...]
    time_step: int = 1


@st.composite
def workloads(draw: Any, nb_hosts: int) -> tuple[Work, ...]:
    """Bursts, jobs that are too large, early ends, jobs stopped at their walltime, and without one."""
    jobs = []
    date = 0
    for number in range(draw(st.integers(1, 28))):
        date += draw(st.sampled_from([0, 0, 0, 1, 2, 7, 20]))
        walltime = draw(st.one_of(st.integers(1, 30), st.integers(1, 5), st.none()))
        run = draw(st.one_of(st.integers(0, 30), st.just(walltime if walltime is not None else 3)))
        res = draw(st.one_of(st.integers(1, nb_hosts), st.integers(1, 2), st.just(nb_hosts + 1)))
        jobs.append(Work(f"w0!{number:02}", date, res, run, walltime))
    return tuple(jobs)


@st.composite
def machine_events(draw: Any, nb_hosts: int) -> tuple[tuple[int, bool, hostset.HostSet], ...]:
    """Hosts go and come back, all of them at last."""
    events = []
    away: set[int] = set()
    date = 0
    for _ in range(draw(st.integers(0, 5))):
        date += draw(st.integers(0, 20))
        coming = {host for host in sorted(away) if draw(st.booleans())}
        going = {host for host in range(nb_hosts) if host not in away and draw(st.integers(0, 3)) == 0}
        for hosts, available in ((coming, True), (going, False)):
            if hosts:
                events.append((date, available, hostset.from_ids(hosts)))
        away = (away - coming) | going
    if away:
        events.append((date + draw(st.integers(0, 30)), True, hostset.from_ids(away)))
    return tuple(events)


@st.composite
def cases(draw: Any, machines: bool = True, closures: bool = True) -> Case:
    nb_hosts = draw(st.integers(1, 9))
    jobs = draw(workloads(nb_hosts))
    events = draw(machine_events(nb_hosts)) if machines else ()
    closed = []
    for _ in range(draw(st.integers(0, 3)) if closures else 0):
        start = draw(st.integers(0, 60))
        hosts = draw(st.sets(st.integers(0, nb_hosts - 1), min_size=1))
        closed.append((start, start + draw(st.integers(1, 25)), hostset.from_ids(hosts)))
    return Case(nb_hosts, jobs, events, tuple(closed))


def spec_of(name: str, order: str, backfill: str, hosts: str, case: Case, folder: Path) -> str:
    options = [f"hosts={hosts}"]
    if name in ("easy", "filler"):
        options.append(f"order={order}")
    if name == "easy":
        options.append(f"backfill={backfill}")
    if case.closures:
        tables = [
            f'[[outage]]\nhosts = "{hostset.to_text(hosts)}"\nstart = {start}\nend = {end}\n'
            for start, end, hosts in case.closures
        ]
        (folder / "closures.toml").write_text("\n".join(tables))
        options.append("calendar=closures.toml")
    return f"{name}[{','.join(options)}]"


def twin_of(name: str, order: str, backfill: str, hosts: str, case: Case) -> Twin:
    closures = [(start, end, frozenset(hostset.ids(closed))) for start, end, closed in case.closures]
    if name == "easy":
        return SlowEasy(order, hosts, closures, backfill)
    return TWINS[name](order if name == "filler" else "fcfs", hosts, closures)


def play(core: SchedulerCore, case: Case) -> Outcome:
    return MiniSimulator(core, case.nb_hosts, case.jobs, case.machines, case.time_step).run()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("closures")


@pytest.mark.parametrize("name", list(TWINS))
@RELAXED
@given(
    case=cases(),
    order=st.sampled_from(ORDERS),
    backfill=st.sampled_from(ORDERS),
    hosts=st.sampled_from(HOSTS),
)
def test_a_policy_decides_as_its_slow_twin(
    name: str, order: str, backfill: str, hosts: str, case: Case, folder: Path
) -> None:
    fast = play(make_scheduler(spec_of(name, order, backfill, hosts, case, folder), base=folder), case)
    slow = play(SchedulerCore(twin_of(name, order, backfill, hosts, case), "twin"), case)
    assert fast == slow


@pytest.mark.parametrize("name", list(TWINS))
@RELAXED
@given(case=cases(closures=False), hosts=st.sampled_from(["first_fit", "best_fit"]))
def test_a_policy_without_closures_decides_as_its_slow_twin(
    name: str, hosts: str, case: Case, folder: Path
) -> None:
    fast = play(make_scheduler(spec_of(name, "fcfs", "fcfs", hosts, case, folder)), case)
    slow = play(SchedulerCore(twin_of(name, "fcfs", "fcfs", hosts, case), "twin"), case)
    assert fast == slow


@pytest.mark.parametrize("name", list(TWINS))
@RELAXED
@given(case=cases(), hosts=st.sampled_from(HOSTS), time_step=st.sampled_from([2, 3, 7, 50]))
def test_a_policy_that_is_asked_late_decides_as_its_slow_twin_and_leaves_no_job_waiting(
    name: str, hosts: str, time_step: int, case: Case, folder: Path
) -> None:
    case = replace(case, time_step=time_step)
    fast = play(make_scheduler(spec_of(name, "fcfs", "fcfs", hosts, case, folder), base=folder), case)
    slow = play(SchedulerCore(twin_of(name, "fcfs", "fcfs", hosts, case), "twin"), case)
    assert fast == slow
    assert not fast.waiting


@pytest.mark.parametrize("name", list(TWINS))
@RELAXED
@given(case=cases(), hosts=st.sampled_from(HOSTS))
def test_every_job_that_can_start_does_and_none_crosses_a_closure(
    name: str, hosts: str, case: Case, folder: Path
) -> None:
    outcome = play(make_scheduler(spec_of(name, "fcfs", "fcfs", hosts, case, folder), base=folder), case)
    too_large = {job.id for job in case.jobs if job.res > case.nb_hosts}
    assert set(outcome.rejected) == too_large
    assert not outcome.waiting
    walltimes = {job.id: job.walltime for job in case.jobs}
    for job_id, start in outcome.starts.items():
        if hosts == "contiguous":
            assert len(outcome.hosts[job_id]) == 1
        for begin, end, closed in case.closures:
            if hostset.intersection(closed, outcome.hosts[job_id]):
                walltime = walltimes[job_id]
                assert start >= end or (walltime is not None and start + walltime <= begin)


@RELAXED
@given(
    case=cases(machines=False), order=st.sampled_from(["fcfs", "conservative"]), hosts=st.sampled_from(HOSTS)
)
def test_no_first_promise_is_broken_while_walltimes_hold(
    case: Case, order: str, hosts: str, folder: Path
) -> None:
    """EASY's head starts no later than it was first promised; so does every job under conservative."""
    name = "easy" if order == "fcfs" else "conservative"
    twin = twin_of(name, "fcfs", "fcfs", hosts, case)
    play(SchedulerCore(twin, "twin"), case)
    outcome = play(make_scheduler(spec_of(name, "fcfs", "fcfs", hosts, case, folder), base=folder), case)
    for job_id, promise in twin.promises.items():
        assert outcome.starts[job_id] <= promise


@RELAXED
@given(case=cases(machines=False, closures=False))
def test_conservative_moves_a_slot_only_forward(case: Case) -> None:
    core = make_scheduler("conservative")
    policy: Any = core._policy
    latest: dict[int, int] = {}
    decide = core._decide

    def watched(view: Any) -> Any:
        plan = decide(view)
        for serial, slot in policy._slots.items():
            assert slot[0] <= latest.get(serial, slot[0])
            latest[serial] = slot[0]
        for job, _ in plan.starts if plan is not None else ():
            assert view.now <= latest.get(job.serial, view.now)
        return plan

    core._decide = watched
    play(core, case)


@RELAXED
@given(case=cases(machines=False, closures=False))
def test_easy_without_any_walltime_keeps_to_extra_hosts(case: Case) -> None:
    """No date is promised then: others run on hosts the head will not need, or wait."""
    jobs = tuple(replace(job, walltime=None) for job in case.jobs)
    case = replace(case, jobs=jobs)
    fast = play(make_scheduler("easy"), case)
    assert fast == play(SchedulerCore(SlowEasy(), "twin"), case)
