"""The accounts of any legal run equal those made tick by tick, and break no law."""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import shared_story as story
from hypothesis import given, settings
from hypothesis import strategies as st
from shared_park import random_scenario
from shared_runs import ReferenceRun

from batpy.base.errors import InputError
from batpy.results.accounting.account import STATE_COLUMNS, Account
from batpy.results.accounting.fold import account_records
from batpy.results.accounting.joined import joined
from batpy.results.accounting.laws import SharingLaws
from batpy.results.accounting.tables import write_sharing_tables
from batpy.results.accounting.work_laws import WorkLaws
from batpy.results.audit import audit
from batpy.results.summary import summarise

SEEDS = st.integers(0, 2**32)


def account_of(run: ReferenceRun) -> Account:
    return account_records(run.simulator, run.broker)


@given(SEEDS)
@settings(max_examples=150, deadline=None)
def test_every_host_spends_its_time_as_it_does_tick_by_tick(seed: int) -> None:
    run = ReferenceRun(seed)
    told = {
        (row.tenant, state, row.host): getattr(row, state)
        for row in account_of(run).rows()
        for state in STATE_COLUMNS
        if getattr(row, state)
    }
    assert told == +run.spent


@given(SEEDS)
@settings(max_examples=150, deadline=None)
def test_work_is_useful_exactly_if_no_later_attempt_did_it_again(seed: int) -> None:
    run = ReferenceRun(seed)
    cores = {job.name: sum(run.cores[host] for host in job.hosts) for job in run.jobs}
    seen = {job.job: job for job in account_of(run).jobs}
    assert seen.keys() == {job.origin for job in run.jobs}
    for name, told in seen.items():
        family = [job for job in run.jobs if job.origin == name]
        executed = sum(len(job.flops) * cores[job.name] for job in family)
        useful = sum(run.useful_ticks(job) * cores[job.name] for job in family)
        last = max(i for i, job in enumerate(family) if job.flops or i == 0)
        again = sum((len(job.flops) - run.useful_ticks(job)) * cores[job.name] for job in family[:last])
        counted = (told.executed, told.useful, told.lost, told.reexecuted, told.unfinished)
        assert counted == (executed, useful, executed - useful, again, 0)
        assert told.attempts == len(family)
        assert told.disruptions == sum(job.name in run.disrupted for job in family)


@given(SEEDS)
@settings(max_examples=60, deadline=None)
def test_tenants_and_hosts_add_up(seed: int) -> None:
    run = ReferenceRun(seed)
    account = account_of(run)
    for host in run.hosts:
        rows = [row for row in account.rows() if row.host == host]
        assert sum(getattr(row, state) for row in rows for state in STATE_COLUMNS) == account.horizon
        for row in rows:
            assert row.useful + row.lost + row.unfinished == row.busy + row.overlap
            assert row.overlap == 0
            assert 0 <= row.reexecuted <= row.lost
    for tenant, counts in enumerate(account.counts):
        mine = [job for job in account.jobs if job.tenant == tenant]
        sums = account.totals(tenant)
        for name in ("useful", "lost", "reexecuted", "unfinished"):
            assert sums[name] == sum(getattr(job, name) for job in mine)
        assert counts.restarts == sum(run.jobs[i].name in run.restarted for i in _of(run, tenant))
        assert counts.disruptions == sum(job.disruptions for job in mine)


def _of(run: ReferenceRun, tenant: int) -> list[int]:
    return [i for i, job in enumerate(run.jobs) if job.tenant == tenant]


@given(SEEDS)
@settings(max_examples=60, deadline=None)
def test_a_legal_run_breaks_no_law(seed: int) -> None:
    run = ReferenceRun(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        story.write(folder, run.simulator, run.broker)
        write_sharing_tables(folder, account_of(run))
        assert list(map(str, audit(folder).findings)) == []


@given(st.integers(0, 100_000))
@settings(max_examples=40, deadline=None)
def test_what_the_broker_does_breaks_no_law_and_adds_up(seed: int) -> None:
    run = random_scenario(seed)
    laws, work, found = SharingLaws(), WorkLaws(), []
    for record in joined(run.journal, run.sharing):
        found += [*laws.check(record), *work.check(record)]
    account = account_records(run.journal, run.sharing)
    found += [*laws.finish(account.horizon), *work.finish(account)]
    assert list(map(str, found)) == []
    spent: Counter[int] = Counter()
    for row in account.rows():
        assert row.useful + row.lost + row.unfinished == row.busy
        spent[row.host] += sum(getattr(row, state) for state in STATE_COLUMNS)
    assert set(spent.values()) == {account.horizon}


def _mutilated(dice: random.Random, journal: list[Any]) -> None:
    """Leave out, repeat, move or change one record."""
    place, move = dice.randrange(len(journal)), dice.random()
    if move < 0.3:
        del journal[place]
    elif move < 0.5:
        journal.insert(dice.randrange(len(journal)), journal[place])
    else:
        record = journal[place]
        name = dice.choice(record.__struct_fields__)
        value = getattr(record, name)
        others: list[Any] = [value]
        if type(value) is int:
            others = [value + step for step in (-1, 1, -5, 10**6, 2**70, -(2**65))]
        elif type(value) is str:
            others = ["a", "b", "w!1", "zz", "", "COMPLETED_SUCCESSFULLY"]
        elif name in ("hosts", "alloc"):
            others = [((dice.randrange(3), dice.randrange(3, 9)),), ()]
        elif name == "work":
            others = [(), (1.0,), ((1.0,) * 9,), (float("nan"),) * 3, (0.0,) * 3, (1e300,) * 3]
        journal[place] = msgspec.structs.replace(record, **{name: dice.choice(others)})


@given(SEEDS)
@settings(max_examples=150, deadline=None)
def test_whatever_the_journals_hold_is_told_in_findings_or_one_line(seed: int) -> None:
    run, dice = ReferenceRun(seed % 50), random.Random(seed)
    for _ in range(dice.randrange(1, 4)):
        _mutilated(dice, dice.choice([run.simulator, run.broker]))
    with tempfile.TemporaryDirectory() as name:
        story.write(Path(name), run.simulator, run.broker)
        for reads in (audit, summarise):
            with suppress(InputError):
                reads(name)
