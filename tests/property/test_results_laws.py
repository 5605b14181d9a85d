"""Laws of the results that hold for every run, checked against slow and obvious twins."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batpy.base.errors import InputError
from batpy.protocol import hostset
from batpy.protocol.hostset import HostSet
from batpy.protocol.records import (
    AnyRecord,
    Ended,
    HostsChanged,
    Rejected,
    RunBegins,
    RunEnds,
    Started,
    Submitted,
)
from batpy.results import states as states_module
from batpy.results.audit import audit
from batpy.results.decimals import fixed_text, shortened
from batpy.results.journal import JournalReader, JournalWriter
from batpy.results.recorder import RunRecorder
from batpy.results.states import Areas, HostStates
from batpy.results.summary import summarise
from batpy.results.tables import TABLES, TableWriter, rebuild_tables

HOSTS = 6


class SlowStates:
    """Each host by itself: its jobs, whether it is available, and the time it spent in each state."""

    def __init__(self) -> None:
        self.jobs: list[set[int]] = [set() for _ in range(HOSTS)]
        self.available = [True] * HOSTS
        self.spent = [{"idle": 0, "computing": 0, "unavailable": 0} for _ in range(HOSTS)]
        self.until_change = [dict(spent) for spent in self.spent]
        self.now = 0

    def state(self, host: int) -> str:
        if not self.available[host]:
            return "unavailable"
        return "computing" if self.jobs[host] else "idle"

    def advance(self, now: int) -> None:
        for host in range(HOSTS):
            self.spent[host][self.state(host)] += now - self.now
        self.now = now

    def change(self, host: int, job: int | None, *, add: bool, available: bool | None = None) -> None:
        before = self.state(host)
        if job is not None:
            (self.jobs[host].add if add else self.jobs[host].discard)(job)
        if available is not None:
            self.available[host] = available
        if self.state(host) != before:
            self.until_change[host] = dict(self.spent[host])

    def count(self, state: str) -> int:
        return sum(self.state(host) == state for host in range(HOSTS))

    def areas(self, spent: list[dict[str, int]]) -> Areas:
        return Areas(*(sum(one[name] for one in spent) for name in ("idle", "computing", "unavailable")))


@given(seed=st.integers(0, 2**32), sharing=st.booleans(), remembered=st.sampled_from([1, 4096]))
@settings(max_examples=200, deadline=None)
def test_host_states_equal_those_of_single_hosts(seed: int, sharing: bool, remembered: int) -> None:
    dice = random.Random(seed)
    before, states_module.REMEMBERED = states_module.REMEMBERED, remembered
    try:
        fast, slow = HostStates(HOSTS, sharing=sharing), SlowStates()
    finally:
        states_module.REMEMBERED = before
    running: dict[int, tuple[int, HostSet, int]] = {}
    now = 0
    for serial in range(dice.randrange(1, 40)):
        now += dice.choice([0, 0, 1, 7])
        slow.advance(now)
        move = dice.random()
        if move < 0.45:
            free = [h for h in range(HOSTS) if slow.available[h] and (sharing or not slow.jobs[h])]
            if not free:
                continue
            alloc = hostset.from_ids(dice.sample(free, dice.randrange(1, len(free) + 1)))
            running[serial] = (now, alloc, fast.start(now, alloc))
            for host in hostset.ids(alloc):
                slow.change(host, serial, add=True)
        elif move < 0.8 and running:
            job = dice.choice(sorted(running))
            _, alloc, size = running.pop(job)
            fast.end(now, alloc, size)
            for host in hostset.ids(alloc):
                slow.change(host, job, add=False)
        else:
            hosts = hostset.from_ids(dice.sample(range(HOSTS), dice.randrange(1, HOSTS)))
            back = dice.random() < 0.5
            fast.change(now, hosts, back, [alloc for _, alloc, _ in running.values()])
            for host in hostset.ids(hosts):
                slow.change(host, None, add=False, available=back)
        assert (fast.idle, fast.computing) == (slow.count("idle"), slow.count("computing"))
    fast.advance(now + 3)
    slow.advance(now + 3)
    assert fast.areas() == slow.areas(slow.spent)
    seen = fast.areas_until_last_changes([(start, alloc) for start, alloc, _ in running.values()])
    assert seen == slow.areas(slow.until_change)


@given(
    ticks=st.integers(-(10**25), 10**25) | st.integers(0, 10**13),
    resolution=st.integers(1, 2000) | st.sampled_from([10**6, 10**9, 2**12]),
)
def test_decimals_are_the_nearest_there_are(ticks: int, resolution: int) -> None:
    text = fixed_text(resolution)(ticks)
    _, _, decimals = text.partition(".")
    assert len(decimals) >= 6
    error = abs(Fraction(Decimal(text)) - Fraction(ticks, resolution))
    assert error == 0 or (len(decimals) == 6 and error <= Fraction(1, 2 * 10**6))
    assert Decimal(shortened(text)) == Decimal(text)


def legal_run(seed: int, *, sharing: bool = False) -> list[AnyRecord]:
    """A run of a strict first-come-first-served park whose hosts come and go."""
    return list(_legal_run(random.Random(seed), sharing))


def _legal_run(dice: random.Random, sharing: bool) -> Iterator[AnyRecord]:
    yield RunBegins(0, "1", 10**6, HOSTS, 0, sharing, {"w0": "x"})
    running: dict[str, tuple[int, HostSet]] = {}
    waiting: list[tuple[str, int]] = []
    away: set[int] = set()
    now, steps = 0, dice.randrange(1, 30)
    for step in range(10_000):
        for name, (end, _) in sorted(running.items(), key=lambda item: (item[1][0], item[0])):
            if end <= now:
                del running[name]
                state = dice.choice(["COMPLETED_SUCCESSFULLY", "COMPLETED_KILLED"])
                yield Ended(end, name, state, 0 if state.endswith("LLY") else -1)
        if step < steps:
            name, res = f"w{dice.randrange(2)}!{step}", dice.randrange(1, HOSTS + 2)
            yield Submitted(now, name, "p", now, res, dice.choice([-1, 50]), dice.choice(["", "ann", "bob"]))
            if res > HOSTS:
                yield Rejected(now, name)
            else:
                waiting.append((name, res))
            if dice.random() < 0.2:
                hosts = hostset.from_ids(dice.sample(range(HOSTS), 2))
                gone = set(hostset.ids(hosts))
                if not gone & away:
                    away |= gone
                    yield HostsChanged(now, hosts, False)
        elif away:
            yield HostsChanged(now, hostset.from_ids(away), True)
            away = set()
        while waiting:
            name, res = waiting[0]
            used = {h for _, alloc in running.values() for h in hostset.ids(alloc)} if not sharing else set()
            free = [h for h in range(HOSTS) if h not in used and h not in away]
            if len(free) < res:
                break
            waiting.pop(0)
            alloc = hostset.from_ids(dice.sample(free, res))
            running[name] = (now + dice.choice([0, 1, 9, 50]), alloc)
            yield Started(now, name, alloc)
        if step >= steps and not waiting and not running:
            break
        soon = min((end for end, _ in running.values()), default=now + 3)
        # Never past the next end, so that every end is told at its date.
        now = soon if step >= steps else min(now + dice.choice([0, 3]), soon)
    yield RunEnds(now, "done")


def sorted_by_time(records: list[AnyRecord]) -> bool:
    return all(a.time <= b.time for a, b in pairwise(records))


@given(seed=st.integers(0, 2**32), sharing=st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_legal_run_passes_the_audit_and_its_tables_come_back_from_the_journal(
    seed: int, sharing: bool
) -> None:
    records = legal_run(seed, sharing=sharing)
    assert sorted_by_time(records)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        recorder = RunRecorder(folder)
        for record in records:
            recorder.write(record)
            if len(records) % 3 == 0:
                recorder.flush()
        recorder.close()
        result = audit(folder)
        assert result.findings == ()
        assert result.complete
        assert recorder.summary == summarise(folder)
        live = {table: (folder / table).read_bytes() for table in TABLES}
        rebuild_tables(folder)
        assert {table: (folder / table).read_bytes() for table in TABLES} == live
        one_by_one = TableWriter(folder)
        for record in records:
            one_by_one.write(record)
        one_by_one.close()
        assert {table: (folder / table).read_bytes() for table in TABLES} == live


@given(seed=st.integers(0, 2**32))
@settings(max_examples=100, deadline=None)
def test_a_run_in_which_one_start_takes_held_hosts_fails_the_audit(seed: int) -> None:
    records = legal_run(seed)
    held: dict[str, HostSet] = {}
    dice = random.Random(seed)
    spots = []
    for i, record in enumerate(records):
        if isinstance(record, Started):
            if held:
                spots.append((i, held[dice.choice(sorted(held))]))
            held[record.job] = record.alloc
        elif isinstance(record, Ended):
            held.pop(record.job)
    if not spots:
        return
    i, taken = dice.choice(spots)
    records[i] = msgspec.structs.replace(records[i], alloc=taken)
    with tempfile.TemporaryDirectory() as name:
        writer = JournalWriter(Path(name) / "journal.msgpack")
        writer.write_many(records)
        writer.close()
        found = audit(name).findings
        assert any(f.rule == "host-held-twice" and f.subject == records[i].job for f in found)  # type: ignore[union-attr]


@given(seed=st.integers(0, 2**32), place=st.floats(0, 1), byte=st.integers(0, 255))
@settings(max_examples=150, deadline=None)
def test_a_damaged_journal_gives_records_or_one_clear_error_and_nothing_else(
    seed: int, place: float, byte: int
) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "journal.msgpack"
        writer = JournalWriter(path)
        writer.write_many(legal_run(seed % 50))
        writer.close()
        data = bytearray(path.read_bytes())
        data[int(place * (len(data) - 1))] = byte
        path.write_bytes(data)
        assert_read_or_refused(lambda: list(JournalReader(path)), path)
        assert_read_or_refused(lambda: audit(name), path)


def assert_read_or_refused(attempt: Callable[[], object], path: Path) -> None:
    """Anything but an InputError that names the file passes through and fails the test."""
    problem = ""
    try:
        attempt()
    except InputError as error:
        problem = str(error)
    assert problem == "" or (str(path) in problem and "\n" not in problem)


def test_the_slow_twin_sees_a_wrong_count() -> None:
    slow = SlowStates()
    slow.change(0, 1, add=True)
    with pytest.raises(AssertionError):
        assert HostStates(HOSTS, sharing=False).idle == slow.count("idle")
