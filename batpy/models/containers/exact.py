"""Sums with the rounding of the recorded runs, which were made by Python 3.12."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite


def compensated_sum(values: Iterable[float]) -> float:
    """What ``sum(values)`` gives in Python 3.12: Neumaier's algorithm for floats, exact ints before them.

    Earlier versions add floats plainly, and the last bit differs.
    """
    rest = iter(values)
    whole = 0
    total: float | None = None
    for value in rest:
        if isinstance(value, float):
            total = whole + value
            break
        whole += value
    if total is None:
        return whole
    error = 0.0
    for value in rest:
        if isinstance(value, float):
            both = total + value
            error += (total - both) + value if abs(total) >= abs(value) else (value - both) + total
            total = both
        else:
            total += float(value)
    return total + error if error and isfinite(error) else total
