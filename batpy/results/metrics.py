"""Statistics of columns of integers, shared by the summary's whole and its groups.

Sums, medians and percentiles are taken on ticks, exactly; a figure becomes a float in seconds at the end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import truediv

import msgspec

from batpy.base.quantiles import quantile

# Bounded slowdown does not let jobs shorter than this many seconds dominate (Feitelson and Rudolph 1998).
TAU_SECONDS = 10


class Spread(msgspec.Struct, frozen=True):
    """How a quantity is spread over jobs; every figure is None when there is no job.

    ``p95`` and ``median`` interpolate between closest ranks (type 7 of Hyndman and Fan 1996, numpy's
    default).
    """

    mean: float | None
    median: float | None
    p95: float | None
    max: float | None


def spread(values: Sequence[int] | Sequence[float], unit: int) -> Spread:
    """Spread of *values*, each divided by *unit*."""
    if not values:
        return Spread(None, None, None, None)
    ordered = sorted(values)
    return Spread(
        # fsum: the plain sum of floats depends on the version of Python.
        mean=(sum(ordered) if isinstance(ordered[0], int) else math.fsum(ordered)) / len(ordered) / unit,
        median=quantile(ordered, 1, 2) / unit,
        p95=quantile(ordered, 19, 20) / unit,
        max=ordered[-1] / unit,
    )


def slowdowns(turnarounds: Sequence[int], runs: Sequence[int]) -> list[float]:
    """Turnaround over run time, of the jobs that have one: a few others would make up the whole mean."""
    try:
        return list(map(truediv, turnarounds, runs))
    except ZeroDivisionError:
        return [turnaround / run for turnaround, run in zip(turnarounds, runs, strict=True) if run > 0]


def bounded_slowdowns(turnarounds: Sequence[int], runs: Sequence[int], tau: int) -> list[float]:
    """max(1, turnaround / max(run time, tau)), all in ticks (Feitelson and Rudolph 1998)."""
    return [
        turnaround / longer if turnaround > (longer := run if run > tau else tau) else 1.0
        for turnaround, run in zip(turnarounds, runs, strict=True)
    ]
