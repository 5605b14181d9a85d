"""One definition of a quantile, for everything that reports medians and percentiles."""

from __future__ import annotations

from collections.abc import Sequence


def quantile(ordered: Sequence[int] | Sequence[float], numerator: int, denominator: int) -> float:
    """The value below which the share *numerator* / *denominator* of *ordered*, not empty, lies.

    Interpolates between closest ranks (type 7 of Hyndman and Fan 1996, numpy's default).
    """
    rank, rest = divmod(numerator * (len(ordered) - 1), denominator)
    low = ordered[rank]
    return low if rest == 0 else low + (ordered[rank + 1] - low) * rest / denominator
