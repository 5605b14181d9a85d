"""What generators share: rows of jobs into a workload, and checks of parameters."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from batpy.workloads.columns import NO_LABELS, Columns, ColumnWorkload, Labels
from batpy.workloads.swf_fields import LONGEST

MAX_TICKS = 2.0**62
"""Dates in ticks are kept as integers of 64 bits."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """One job as a model draws it; times in seconds, no walltime if 0."""

    submit: float
    run: float
    res: int
    walltime: float = 0.0
    labels: Labels = NO_LABELS


def workload_of(
    jobs: Iterable[Drawn],
    id: str,
    name: str,
    nb_res: int,
    ticks_per_second: int,
    description: str,
    options: Mapping[str, str],
) -> ColumnWorkload:
    """A workload of these jobs, sorted by submission and numbered from 1 in that order.

    Args:
        options: the option that ``submit``, ``run`` and ``walltime`` grow with, for complaints.

    Raises:
        ValueError: a date or duration is beyond what a workload can hold, whatever its format.
    """
    drawn = sorted(jobs, key=lambda job: job.submit)
    for field, option in options.items():
        largest = max((getattr(job, field) for job in drawn), default=0.0)
        latest = min(LONGEST, MAX_TICKS / ticks_per_second) if field == "submit" else LONGEST
        if not largest <= latest:
            what = "dates" if field == "submit" else "durations"
            raise ValueError(f"{option} gives {what} beyond {latest:g} seconds")
    columns = Columns(
        ids=array("q", range(1, len(drawn) + 1)),
        submit=array("q", [round(job.submit * ticks_per_second) for job in drawn]),
        run=array("d", [job.run for job in drawn]),
        walltime=array("d", [job.walltime for job in drawn]),
        res=array("q", [job.res for job in drawn]),
        labels=[job.labels for job in drawn],
    )
    columns.sort()
    return ColumnWorkload(id, name, nb_res, columns, ticks_per_second, description)


def at_least(name: str, value: float, minimum: float) -> None:
    """Refuse a parameter that is too small."""
    if not value >= minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value}")


def above(name: str, value: float, bound: float) -> None:
    """Refuse a parameter that is not above a bound."""
    if not value > bound:
        raise ValueError(f"{name} must be above {bound}, got {value}")


def share(name: str, value: float) -> None:
    """Refuse a parameter that is no probability."""
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must lie between 0 and 1, got {value}")
