"""Metrics of a run, in one pass over its records.

Memory: 40 bytes a finished job, since a median and what lies inside the trimmed window are known at the end
only. With shared hosts and trimming, also every change of the number of busy hosts.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Sequence
from operator import add, sub
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from batpy.base.errors import InputError
from batpy.base.files import unwritable
from batpy.protocol.messages import (
    COMPLETED_FAILED,
    COMPLETED_KILLED,
    COMPLETED_SUCCESSFULLY,
    COMPLETED_WALLTIME_REACHED,
)
from batpy.results.accounting.figures import Sharing, figures
from batpy.results.energy_summary import Energy, UsefulJoules, energy_of
from batpy.results.fold import JobFold, Over, fold_journal
from batpy.results.journal import JOURNAL, JournalReader
from batpy.results.metrics import TAU_SECONDS, Spread, bounded_slowdowns, slowdowns, spread

if TYPE_CHECKING:
    from rich.console import Console

SUMMARY = "summary.json"

_COLUMNS = 5


class Trim(msgspec.Struct, frozen=True):
    """What the metrics leave out at the beginning (warm-up) and at the end (cool-down).

    In seconds, the window runs from the first submission plus ``warm_up`` to the last end less ``cool_down``,
    and the jobs submitted inside it count. As a share, that part of the finished jobs, in order of
    submission, does not count, and the window runs from the submission of the first job that counts to that
    of the last one (to the last end if nothing is cut there).
    """

    warm_up: float = 0.0
    cool_down: float = 0.0
    warm_up_share: float = 0.0
    cool_down_share: float = 0.0

    @property
    def is_nothing(self) -> bool:
        """True if every job counts."""
        return not (self.warm_up or self.cool_down or self.warm_up_share or self.cool_down_share)

    @classmethod
    def parse(cls, warm_up: str = "", cool_down: str = "") -> Trim:
        """From what a user wrote: seconds (``3600``) or a share of the jobs (``5%``).

        Raises:
            InputError: neither of the two, negative, or shares of 100 % and more together.
        """
        first, first_share = _amount("warm-up", warm_up)
        last, last_share = _amount("cool-down", cool_down)
        if first_share + last_share >= 1:
            raise InputError(
                "warm-up and cool-down leave out every job: they must sum to less than 100%", path="trim"
            )
        return cls(first, last, first_share, last_share)


def _amount(option: str, text: str) -> tuple[float, float]:
    number, percent, rest = text.strip().partition("%")
    if not text.strip():
        return 0.0, 0.0
    try:
        value = float(number)
    except ValueError:
        value = -1.0
    if rest or not 0 <= value < float("inf") or (percent and value >= 100):
        raise InputError(f"{text!r} is neither seconds nor a share such as 5%", path=option)
    return (0.0, value / 100) if percent else (value, 0.0)


class Jobs(msgspec.Struct, frozen=True):
    """Numbers of jobs over the whole run.

    Attributes:
        left_out: finished jobs that were trimmed away.
        zero_run_time: jobs inside the window that ended when they started; they have no slowdown.
    """

    submitted: int
    finished: int
    successful: int
    failed: int
    walltime_reached: int
    killed: int
    rejected: int
    unfinished: int
    left_out: int
    zero_run_time: int


class Group(msgspec.Struct, frozen=True):
    """Metrics of one user or one queue; seconds and host-seconds."""

    jobs: int
    mean_waiting: float
    mean_bounded_slowdown: float
    host_seconds: float


class HostSeconds(msgspec.Struct, frozen=True):
    """Host-time by state from 0 to the end of the run, the last stretch of every host included."""

    idle: float
    computing: float
    unavailable: float


class Summary(msgspec.Struct, frozen=True, omit_defaults=True):
    """Metrics of one run. Durations and dates are in seconds.

    Attributes:
        outcome: as the closing marker says, or ``incomplete`` without one.
        refused_decisions: decisions that broke a rule and changed nothing (lenient runs).
        window: dates between which jobs and capacity count.
        waiting, turnaround, slowdown, bounded_slowdown: over the finished jobs inside the window;
            slowdown is turnaround over run time, of the jobs that have one; bounded_slowdown has a run time
            of at least 10 s.
        utilisation: host-time with a job over host-time that could have one, inside the window; unavailable
            hosts do not count once their last job is over. None for an empty window.
        host_seconds: by state, from 0 whatever the window is, so that it may hold more idle time than
            utilisation counts.
        makespan: last end, from 0.
        makespan_from_first_submission: the same, from the first submission.
        throughput: finished jobs inside the window a second of it.
        energy: joules, sleep and switches; None, and left out of the file, in a run without energy.
        sharing: what each tenant did with the park; None, and left out, in a run without a broker.
    """

    version: str
    outcome: str
    reason: str
    compute_hosts: int
    jobs: Jobs
    refused_decisions: int
    window: tuple[float, float]
    trim: Trim
    waiting: Spread
    turnaround: Spread
    slowdown: Spread
    bounded_slowdown: Spread
    utilisation: float | None
    makespan: float | None
    makespan_from_first_submission: float | None
    throughput: float | None
    host_seconds: HostSeconds
    users: dict[str, Group]
    queues: dict[str, Group]
    energy: Energy | None = None
    sharing: Sharing | None = None

    def to_json(self) -> bytes:
        """The whole summary as indented JSON."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n"

    def write(self, path: str | Path) -> None:
        """Write it to a file.

        Raises:
            InputError: the file cannot be written.
        """
        try:
            Path(path).write_bytes(self.to_json())
        except OSError as error:
            raise unwritable(path, error) from None

    def to_text(self, *, groups: bool = False) -> str:
        """The screen summary as plain lines."""
        from batpy.results.screen import to_text

        return to_text(self, groups=groups)

    def render(self, console: Console, *, groups: bool = False) -> None:
        """The screen summary: tables on a terminal, plain lines elsewhere."""
        from batpy.results.screen import render

        render(self, console, groups=groups)


class _Columns(NamedTuple):
    """The jobs that count, one list a quantity, in ticks."""

    submissions: Sequence[int]
    waits: Sequence[int]
    runs: Sequence[int]
    sizes: Sequence[int]
    kinds: Sequence[int]


class SummaryBuilder:
    """Collects what the metrics need while a fold goes on; ``result`` may be asked for at any time."""

    def __init__(self, fold: JobFold, trim: Trim | None = None) -> None:
        self._fold = fold
        self._trim = trim or Trim()
        # Submission, start, end, size and kind of each finished job, one after the other.
        self._packed = bytearray()
        # Rows that do not fit 64 bits (dates beyond 2**63 ticks), with their place among the others.
        self._big: list[int] = []
        self._kinds: dict[tuple[str, str, str], int] = {}
        self._rejected = 0
        self._useful = UsefulJoules()
        fold.on_over.append(self._over)

    def _over(self, jobs: list[Over]) -> None:
        if self._fold.energy is not None:
            self._useful.add(jobs, self._fold.energy)
        kinds = self._kinds
        cells: list[int] = []
        for job, start, end, _, size, state, _ in jobs:
            if start < 0:
                self._rejected += 1
                continue
            key = (job.user, job.queue, state)
            kind = kinds.get(key)
            if kind is None:
                kind = kinds[key] = len(kinds)
            cells += (job.subtime, start, end, size, kind)
        try:
            self._packed += _pack(cells)
        except struct.error:
            self._pack_rows(cells)

    def _pack_rows(self, cells: list[int]) -> None:
        for place in range(0, len(cells), _COLUMNS):
            row = cells[place : place + _COLUMNS]
            try:
                self._packed += _pack(row)
            except struct.error:
                self._big += row

    def result(self) -> Summary:
        """The metrics of the records seen so far (at least the first record of the run)."""
        fold = self._fold
        begins = fold.begins
        assert begins is not None  # nobody asks for a summary of nothing
        second = begins.ticks_per_second
        every = self._columns()
        kept, window = self._window(every, second)
        turnarounds = list(map(add, kept.waits, kept.runs))
        bounded = bounded_slowdowns(turnarounds, kept.runs, TAU_SECONDS * second)
        ends, last_end, first = fold.ends, fold.last_end, fold.first_submission
        length = window[1] - window[0]
        return Summary(
            version=begins.version,
            outcome=ends.outcome if ends else "incomplete",
            reason=ends.reason if ends else "",
            compute_hosts=begins.nb_compute,
            jobs=self._jobs(every.kinds, len(kept.kinds), kept.runs.count(0)),
            refused_decisions=fold.refused,
            window=(window[0] / second, window[1] / second),
            trim=self._trim,
            waiting=spread(kept.waits, second),
            turnaround=spread(turnarounds, second),
            slowdown=spread(slowdowns(turnarounds, kept.runs), 1),
            bounded_slowdown=spread(bounded, 1),
            utilisation=self._utilisation(every, window),
            makespan=None if last_end is None else last_end / second,
            makespan_from_first_submission=(
                None if last_end is None or first is None else (last_end - first) / second
            ),
            throughput=len(kept.kinds) * second / length if length > 0 else None,
            host_seconds=HostSeconds(*(area / second for area in fold.states.areas()[:3])),
            users=self._groups(0, kept, bounded, second),
            queues=self._groups(1, kept, bounded, second),
            energy=energy_of(fold, self._useful),
        )

    def _columns(self) -> _Columns:
        cells, big = array("q", bytes(self._packed)), self._big
        submissions, starts, ends, sizes, kinds = (
            cells[column::_COLUMNS].tolist() + big[column::_COLUMNS] for column in range(_COLUMNS)
        )
        waits, runs = list(map(sub, starts, submissions)), list(map(sub, ends, starts))
        return _Columns(submissions, waits, runs, sizes, kinds)

    def _jobs(self, kinds: Sequence[int], kept: int, instant: int) -> Jobs:
        counts = [0] * len(self._kinds)
        for kind in kinds:
            counts[kind] += 1
        states: dict[str, int] = {}
        for (_, _, state), count in zip(self._kinds, counts, strict=True):
            states[state] = states.get(state, 0) + count
        return Jobs(
            submitted=self._fold.submitted,
            finished=len(kinds),
            successful=states.get(COMPLETED_SUCCESSFULLY, 0),
            failed=states.get(COMPLETED_FAILED, 0),
            walltime_reached=states.get(COMPLETED_WALLTIME_REACHED, 0),
            killed=states.get(COMPLETED_KILLED, 0),
            rejected=self._rejected,
            unfinished=len(self._fold.waiting) + len(self._fold.running),
            left_out=len(kinds) - kept,
            zero_run_time=instant,
        )

    def _window(self, every: _Columns, second: int) -> tuple[_Columns, tuple[int, int]]:
        """The jobs that count, and the first and last tick that count."""
        fold, trim = self._fold, self._trim
        first = fold.first_submission or 0
        last = fold.states.time if fold.running or fold.last_end is None else fold.last_end
        if trim.is_nothing:
            return every, (first, max(first, last))
        order = sorted(range(len(every.submissions)), key=every.submissions.__getitem__)
        low = int(len(order) * trim.warm_up_share)
        high = len(order) - int(len(order) * trim.cool_down_share)
        order = order[low:high]
        if order and low:
            first = every.submissions[order[0]]
        if order and trim.cool_down_share:
            last = every.submissions[order[-1]]
        first += round(trim.warm_up * second)
        last = max(first, last - round(trim.cool_down * second))
        inside = sorted(i for i in order if first <= every.submissions[i] <= last)
        return _Columns(*([column[i] for i in inside] for column in every)), (first, last)

    def _utilisation(self, every: _Columns, window: tuple[int, int]) -> float | None:
        first, last = window
        states = self._fold.states
        capacity = states.hosts * (last - first) - _area(states.lost_steps, first, last, last)
        if capacity <= 0:
            return None
        if self._trim.is_nothing:
            return states.busy_area / capacity
        if states.shared:
            return _area(states.busy_steps, first, last, states.time) / capacity
        used = 0
        for submission, wait, run, size in zip(*every[:4], strict=True):
            start = submission + wait
            overlap = min(start + run, last) - max(start, first)
            if overlap > 0:
                used += overlap * size
        for _, start, _, size in self._fold.running.values():
            used += max(0, min(states.time, last) - max(start, first)) * size
        return used / capacity

    def _groups(self, part: int, kept: _Columns, bounded: Sequence[float], second: int) -> dict[str, Group]:
        """Metrics by user (part 0) or queue (part 1), numbers by value before names."""
        names = sorted({kind[part] for kind in self._kinds}, key=_natural)
        if len(names) < 2 and names in ([], [""]):
            return {}
        place = {name: i for i, name in enumerate(names)}
        where = [place[kind[part]] for kind in self._kinds]
        sums: list[list[float]] = [[0, 0, 0.0, 0] for _ in names]
        for wait, run, size, kind, slow in zip(*kept[1:], bounded, strict=True):
            row = sums[where[kind]]
            row[0] += 1
            row[1] += wait
            row[2] += slow
            row[3] += run * size
        return {
            name: Group(int(jobs), wait / jobs / second, slow / jobs, area / second)
            for name, (jobs, wait, slow, area) in zip(names, sums, strict=True)
            if jobs
        }


def _natural(name: str) -> tuple[int, int, str]:
    number = name.isascii() and name.isdigit()
    return (0, int(name), name) if number else (1, 0, name)


def _pack(cells: list[int]) -> bytes:
    return struct.pack(f"={len(cells)}q", *cells)


def _area(steps: list[tuple[int, int]], first: int, last: int, end: int) -> int:
    """Integral between *first* and *last* of what the steps say; the last step holds until *end*."""
    total = 0
    for i, (begin, value) in enumerate(steps):
        until = steps[i + 1][0] if i + 1 < len(steps) else max(end, begin)
        overlap = min(until, last) - max(begin, first)
        if overlap > 0:
            total += overlap * value
    return total


def summarise(folder: str | Path, trim: Trim | None = None) -> Summary:
    """The metrics of a run from its journal.

    Raises:
        InputError: the journal cannot be read, or its records contradict one another.
    """
    trim = trim or Trim()
    reader = JournalReader(Path(folder) / JOURNAL)
    fold = JobFold(keep_busy_steps=not trim.is_nothing)
    builder = SummaryBuilder(fold, trim)
    fold_journal(reader, fold)
    if fold.begins is None:
        raise InputError("the journal holds no record", source=str(Path(folder) / JOURNAL))
    return with_sharing(folder, builder.result())


def with_sharing(folder: str | Path, summary: Summary) -> Summary:
    """The same, with the accounts of a run that a broker took part in; both journals must be closed.

    A run that did not come to its end may have left nothing to account for.

    Raises:
        InputError: of a run that is done: a journal cannot be read, or the two contradict each other.
    """
    from batpy.results.accounting.run import account_run, is_shared

    if not is_shared(folder):
        return summary
    try:
        account = account_run(folder)
    except InputError:
        if summary.outcome == "done":
            raise
        return summary
    return msgspec.structs.replace(summary, sharing=figures(account))
