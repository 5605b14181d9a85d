"""What to take from an SWF log, and how to read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from batpy.base.errors import InputError
from batpy.workloads.seconds import DEFAULT_TICKS_PER_SECOND
from batpy.workloads.settings import build


@dataclass(frozen=True, slots=True)
class SwfOptions:
    """Options of the SWF reader. Every one may be left out.

    Attributes:
        strict: refuse the file at the first row that breaks the format, instead of skipping or mending it.
        statuses: keep only jobs with one of these status codes (SWF field 11); all without it.
        job_ids: keep only jobs whose number lies in one of these intervals, both ends included; all
            without it.
        window_from, window_to: keep only jobs submitted in ``[from, to)``, in seconds on the log's own clock,
            that is as field 2 says; applied before anything else moves the dates.
        max_jobs: keep only the first N of the jobs that are left, by submission.
        interarrival_factor: every interval between two submissions is multiplied by it; below 1 the load
            rises.
        rebase: date the first kept submission 0 (the default, as Batsim's converters do); otherwise dates
            stay on the log's own clock.
        procs: take requested processors and fall back on allocated ones, or the other way round.
        procs_per_host: a job of p processors asks for ``ceil(p / procs_per_host)`` hosts.
        walltime_factor, walltime_constant: a job without a requested time gets
            ``factor * run time + constant`` seconds as walltime; both 0 (the default) leave it unbounded.
        keep_zero_run_time: jobs of zero run time stay; they start and end once.
        keep_cancelled: jobs cancelled before they started stay, as jobs of zero run time.
        preceding: honour preceding job and think time (SWF fields 17 and 18): such a job is submitted when
            its preceding job is over in the simulation and the think time has passed.
        ticks_per_second: the run's resolution.
    """

    strict: bool = False
    statuses: frozenset[int] | None = None
    job_ids: tuple[tuple[int, int], ...] | None = None
    window_from: float | None = None
    window_to: float | None = None
    max_jobs: int | None = None
    interarrival_factor: float = 1.0
    rebase: bool = True
    procs: Literal["requested", "allocated"] = "requested"
    procs_per_host: int = 1
    walltime_factor: float = 0.0
    walltime_constant: float = 0.0
    keep_zero_run_time: bool = True
    keep_cancelled: bool = False
    preceding: bool = False
    ticks_per_second: int = field(default=DEFAULT_TICKS_PER_SECOND)

    def __post_init__(self) -> None:
        _at_least("interarrival_factor", self.interarrival_factor, 0)
        _at_least("procs_per_host", self.procs_per_host, 1)
        _at_least("walltime_factor", self.walltime_factor, 0)
        _at_least("walltime_constant", self.walltime_constant, 0)
        _at_least("ticks_per_second", self.ticks_per_second, 1)
        if self.max_jobs is not None:
            _at_least("max_jobs", self.max_jobs, 1)
        first, last = self.window_from, self.window_to
        if first is not None and last is not None and last <= first:
            raise InputError(f"must be after window_from {first}, got {last}", path="window_to")

    @classmethod
    def from_mapping(
        cls, tree: Mapping[str, Any], path: str, ticks_per_second: int = DEFAULT_TICKS_PER_SECOND
    ) -> SwfOptions:
        """Options from a table of an experiment file or from texts.

        Args:
            tree: settings by the names above; ``statuses`` and ``job_ids`` are a list of integers or a text
                such as ``"1-100 205"``.
            path: where the table stands, for complaints.
            ticks_per_second: the run's resolution; not a setting of the table.

        Raises:
            InputError: unknown key or wrong value, with its path.
        """
        plain = {key: value for key, value in tree.items() if key not in ("statuses", "job_ids")}
        fixed: dict[str, Any] = {"ticks_per_second": ticks_per_second, "statuses": None, "job_ids": None}
        if tree.get("job_ids") is not None:
            fixed["job_ids"] = parse_intervals(tree["job_ids"], f"{path}.job_ids")
        if tree.get("statuses") is not None:
            pairs = parse_intervals(tree["statuses"], f"{path}.statuses")
            if pairs[0][0] < -1 or pairs[-1][1] > 99:
                raise InputError("status codes lie between -1 and 5", path=f"{path}.statuses")
            fixed["statuses"] = frozenset(code for low, high in pairs for code in range(low, high + 1))
        return build(cls, plain, path, fixed, ("statuses", "job_ids"))


def parse_intervals(value: object, path: str) -> tuple[tuple[int, int], ...]:
    """Integers written as a list or as a text such as ``"1-100 205"``, as sorted intervals.

    Raises:
        InputError: anything else, or an empty set.
    """
    problem = InputError(f"must be integers such as '1-100 205', got {value!r}", path=path)
    if isinstance(value, int) and not isinstance(value, bool):
        value = [value]
    parts: list[Any] = value.replace(",", " ").split() if isinstance(value, str) else []
    if isinstance(value, (list, tuple, frozenset, set)):
        parts = list(value)
    pairs = []
    for part in parts:
        if isinstance(part, bool) or not isinstance(part, (int, str)):
            raise problem
        first, dash, last = str(part)[1:].partition("-")  # [1:]: a leading minus is a sign
        first = str(part)[:1] + first
        try:
            pairs.append((int(first), int(last) if dash else int(first)))
        except ValueError:
            raise problem from None
        if pairs[-1][1] < pairs[-1][0]:
            raise problem
    if not pairs:
        raise problem
    return tuple(sorted(pairs))


def _at_least(name: str, value: float, minimum: float) -> None:
    if not value >= minimum:
        raise InputError(f"must be at least {minimum}, got {value}", path=name)
