"""What a workload is made of: a pure function from a workload to a typed result.

``batpy workload describe`` renders the result; nothing here prints.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, MutableSequence, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from batpy.base.quantiles import quantile
from batpy.workloads.columns import ColumnWorkload
from batpy.workloads.job import Workload
from batpy.workloads.profile import OLD_NAMES, Delay
from batpy.workloads.seconds import DEFAULT_TICKS_PER_SECOND, text_of
from batpy.workloads.sequences import run_times


@dataclass(frozen=True, slots=True)
class Spread:
    """A distribution in a few numbers; quantiles as in the summary of a run (``batpy.base.quantiles``)."""

    count: int
    minimum: float
    quarter: float
    median: float
    three_quarters: float
    ninety_percent: float
    maximum: float
    mean: float
    deviation: float


@dataclass(frozen=True, slots=True)
class Share:
    """One user's or queue's part of a workload; area is hosts times seconds of jobs of known run time."""

    name: str
    jobs: int
    area: float


@dataclass(frozen=True, slots=True)
class Description:
    """What :func:`describe` found. Times are in seconds; a spread is None if no job has the value.

    Attributes:
        nb_res: hosts the load is computed for, or None if nobody says.
        first_submit, last_submit: dates.
        area: hosts times seconds of all jobs of known run time, cut at their walltimes.
        load: area divided by what the hosts can do between the first and the last submission.
        unknown_run_times: jobs whose run time only the simulation can tell.
        serial, powers_of_two: jobs on one host; on 2, 4, 8, ... hosts.
        profile_types: jobs by type of profile.
        users, queues: largest area first, then by name.
        anomalies: what a reader should know before trusting results, by kind.
        recorded_peak: most processors that the recorded schedule used at once (SWF), or None.
        max_procs: processors of the machine of the log, or None.
        report: what the reader left out or mended.
    """

    id: str
    source: str
    jobs: int
    nb_res: int | None
    first_submit: float
    last_submit: float
    area: float
    load: float | None
    unknown_run_times: int
    serial: int
    powers_of_two: int
    size: Spread | None
    run_time: Spread | None
    walltime: Spread | None
    interarrival: Spread | None
    profile_types: dict[str, int]
    users: tuple[Share, ...]
    queues: tuple[Share, ...]
    anomalies: dict[str, int]
    recorded_peak: int | None
    max_procs: int | None
    report: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The same as plain lists, objects and numbers."""
        return asdict(self)

    def to_rows(self, top: int = 5) -> list[tuple[str, str]]:
        """Labels and values, one a line, for people.

        Args:
            top: how many users and queues to show.
        """
        rows = [
            ("workload", f"{self.id} ({self.source})"),
            ("jobs", str(self.jobs)),
            ("hosts", "unknown" if self.nb_res is None else str(self.nb_res)),
            ("submissions", f"from {text_of(self.first_submit)} to {text_of(self.last_submit)} s"),
            ("offered load", "unknown" if self.load is None else f"{self.load:.3f}"),
            ("area", f"{self.area:.6g} host seconds"),
            ("serial jobs", _percent(self.serial, self.jobs)),
            ("powers of two", _percent(self.powers_of_two, self.jobs)),
        ]
        if self.unknown_run_times:
            left_out = "left out of load, area and run time"
            rows.append(("run time unknown", f"{self.unknown_run_times} jobs, {left_out}"))
        rows += [
            ("hosts a job", _spread_text(self.size, self.jobs)),
            ("run time, s", _spread_text(self.run_time, self.jobs)),
            ("walltime, s", _spread_text(self.walltime, self.jobs, absent="none")),
            ("interarrival, s", _spread_text(self.interarrival, self.jobs - 1)),
        ]
        rows += [(f"profile {name}", str(count)) for name, count in self.profile_types.items()]
        for label, shares in (("user", self.users), ("queue", self.queues)):
            if shares:
                rows.append((f"{label}s", str(len(shares))))
            for share in shares[:top]:
                part = _percent(share.area, self.area)
                rows.append((f"{label} {share.name or '(none)'}", f"{share.jobs} jobs, area {part}"))
        if self.recorded_peak is not None:
            of = "" if self.max_procs is None else f" of {self.max_procs}"
            rows.append(("recorded peak", f"{self.recorded_peak}{of} processors"))
        rows += [("anomaly", f"{count} x {kind}") for kind, count in self.anomalies.items()]
        rows += [("reader", line) for line in self.report]
        return rows


def describe(
    workload: Workload, *, ticks_per_second: int = DEFAULT_TICKS_PER_SECOND, nb_res: int | None = None
) -> Description:
    """Describe a workload.

    Args:
        workload: any workload of jobs.
        ticks_per_second: resolution of its dates.
        nb_res: hosts to compute the load for; the workload's own by default.
    """
    nb_res = nb_res or workload.nb_res
    account = _Account(ticks_per_second, nb_res)
    for fact in _facts(workload, ticks_per_second):
        account.add(*fact)
    peak = _recorded_peak(workload)
    procs = workload.max_procs
    if peak is not None and procs is not None and peak > procs:
        account.anomalies["recorded schedule uses more processors than there are"] = 1
    return account.result(workload, peak)


def _facts(workload: Workload, scale: int) -> Iterator[tuple[int, int, float | None, float | None, str, str]]:
    """Date, hosts, run time, walltime, user and queue of each job."""
    if isinstance(workload, ColumnWorkload):
        c = workload.columns
        for submit, size, run, walltime, labels in zip(
            c.submit, c.res, c.run, c.walltime, c.labels, strict=True
        ):
            yield submit, size, run, walltime if walltime > 0 else None, labels.user, labels.queue
        return
    known = run_times(workload.profiles, workload.profiles)
    for job in workload.jobs():
        timed = known.get(job.profile)
        if isinstance(job.behaviour, Delay):
            timed = (job.behaviour.delay, 0)
        limit = None if job.walltime is None else job.walltime / scale
        yield job.submit, job.res, timed[0] if timed else None, limit, job.user, job.queue


def _profile_types(workload: Workload) -> Counter[str]:
    """Jobs by the type of their profile, old names translated."""
    if isinstance(workload, ColumnWorkload):
        return Counter({"delay": len(workload)})
    types: Counter[str] = Counter()
    for job in workload.jobs():
        profile = job.behaviour or workload.profiles.get(job.profile)
        kind = "unknown" if profile is None else str(profile.raw.get("type"))
        types[OLD_NAMES.get(kind, kind)] += 1
    return types


class _Account:
    """Everything that one pass over the jobs collects."""

    def __init__(self, ticks_per_second: int, nb_res: int | None) -> None:
        self._scale = ticks_per_second
        self._nb_res = nb_res
        self.sizes: MutableSequence[int] = array("q")
        self.runs: array[float] = array("d")
        self.walltimes: array[float] = array("d")
        self.submits: MutableSequence[int] = array("q")
        self.area = 0.0
        self.users: dict[str, list[float]] = {}
        self.queues: dict[str, list[float]] = {}
        self.anomalies: Counter[str] = Counter()

    def add(
        self, submit: int, size: int, run: float | None, walltime: float | None, user: str, queue: str
    ) -> None:
        """Take one job; times in seconds, the date in ticks."""
        try:
            self.sizes.append(size)
            self.submits.append(submit)
        except OverflowError:
            # Beyond 64 bits, as a date of 1e15 s in us is: rare enough for lists. Both end equally long.
            count = len(self.submits)
            self.sizes = [*self.sizes[:count], size]
            self.submits = [*self.submits, submit]
        anomalies = self.anomalies
        if walltime is None:
            anomalies["no walltime"] += 1
        else:
            self.walltimes.append(walltime)
        if self._nb_res is not None and size > self._nb_res:
            anomalies["larger than the hosts"] += 1
        area = 0.0
        if run is not None:
            self.runs.append(run)
            if run == 0:
                anomalies["zero run time"] += 1
            # Batsim 4.2.1 kills a delay job whose length equals its walltime.
            if walltime is not None and run >= walltime:
                anomalies["run time reaches walltime, will be killed"] += 1
                run = walltime
            area = size * run
        self.area += area
        for table, name in ((self.users, user), (self.queues, queue)):
            entry = table.get(name)
            if entry is None:
                entry = table[name] = [0, 0.0]
            entry[0] += 1
            entry[1] += area

    def result(self, workload: Workload, peak: int | None) -> Description:
        submits, scale = self.submits, self._scale
        first, last = (submits[0] / scale, submits[-1] / scale) if submits else (0.0, 0.0)
        gaps = [(b - a) / scale for a, b in pairwise(submits)]
        together = sum(gap == 0 for gap in gaps)
        if together:
            self.anomalies["submitted at the date of the job before"] = together
        load = None
        if self._nb_res and last > first:
            load = self.area / (self._nb_res * (last - first))
            if load > 1:
                self.anomalies["offered load above 1"] = 1
        return Description(
            id=workload.id,
            source=workload.source,
            jobs=len(self.sizes),
            nb_res=self._nb_res,
            first_submit=first,
            last_submit=last,
            area=self.area,
            load=load,
            unknown_run_times=len(self.sizes) - len(self.runs),
            serial=sum(size == 1 for size in self.sizes),
            powers_of_two=sum(size > 1 and size & (size - 1) == 0 for size in self.sizes),
            size=spread(self.sizes),
            run_time=spread(self.runs),
            walltime=spread(self.walltimes),
            interarrival=spread(gaps),
            profile_types=dict(sorted(_profile_types(workload).items())),
            users=_shares(self.users),
            queues=_shares(self.queues),
            anomalies=dict(sorted(self.anomalies.items())),
            recorded_peak=peak,
            max_procs=workload.max_procs,
            report=tuple(workload.report()),
        )


def spread(values: Iterable[float]) -> Spread | None:
    """The distribution of some numbers; None if there are none."""
    ordered = sorted(values)
    count = len(ordered)
    if not count:
        return None
    mean = math.fsum(ordered) / count
    variance = math.fsum((value - mean) ** 2 for value in ordered) / count
    quarter, median, upper, ninety = (quantile(ordered, part, 20) for part in (5, 10, 15, 18))
    return Spread(count, ordered[0], quarter, median, upper, ninety, ordered[-1], mean, math.sqrt(variance))


def _shares(table: dict[str, list[float]]) -> tuple[Share, ...]:
    if set(table) <= {""}:
        return ()
    shares = [Share(name, int(jobs), area) for name, (jobs, area) in table.items()]
    return tuple(sorted(shares, key=lambda share: (-share.area, share.name)))


def _recorded_peak(workload: Workload) -> int | None:
    """Most processors in use at once in the schedule the log recorded; None without recorded waits."""
    if not isinstance(workload, ColumnWorkload) or "wait" not in workload.columns.hidden:
        return None
    columns, scale = workload.columns, workload.ticks_per_second
    waits, procs = columns.hidden["wait"], columns.hidden["allocated"]
    moves: list[tuple[float, int]] = []
    for submit, wait, run, size in zip(columns.submit, waits, columns.run, procs, strict=True):
        if wait >= 0 and size > 0 and run > 0:
            start = submit / scale + wait
            moves += ((start, size), (start + run, -size))
    if not moves:
        return None
    moves.sort()  # at one instant ends come before starts, since they are negative
    used = peak = 0
    for _, size in moves:
        used += size
        peak = max(peak, used)
    return peak


def _percent(part: float, whole: float) -> str:
    share = 100 * part / whole if whole else 0.0
    return f"{part:.6g} ({share:.1f} %)"


def _spread_text(spread: Spread | None, whole: int, absent: str = "unknown") -> str:
    """A spread in one line, with its count if not all of *whole* values are known."""
    if spread is None:
        return absent
    names = ("min", "25 %", "median", "75 %", "90 %", "max", "mean")
    values: Sequence[float] = (
        spread.minimum,
        spread.quarter,
        spread.median,
        spread.three_quarters,
        spread.ninety_percent,
        spread.maximum,
        spread.mean,
    )
    text = ", ".join(f"{name} {value:.6g}" for name, value in zip(names, values, strict=True))
    return text if spread.count >= whole else f"{text} ({spread.count} of {whole} jobs)"
