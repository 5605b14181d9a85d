"""Least squares whose coefficients are not negative.

The active-set method of Lawson and Hanson (*Solving Least Squares Problems*, 1974, chapter 23), for the
handful of coefficients that a calibration has.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_TOLERANCE = 1e-12
"""Of gradients and coefficients, relative to the size of what they are computed from."""


def nnls(matrix: Any, target: Any) -> Floats:
    """The x >= 0 that makes ``|matrix @ x - target|`` smallest; 0 for columns that hold only zeros.

    Args:
        matrix: rows x columns, finite.
        target: one number a row.
    """
    rows: Floats = np.asarray(matrix, dtype=np.float64)
    wanted: Floats = np.asarray(target, dtype=np.float64)
    norms: Floats = np.sqrt((rows * rows).sum(axis=0))
    scaled = rows / np.where(norms > 0, norms, 1.0)
    columns = scaled.shape[1]
    found: Floats = np.zeros(columns)
    free = norms > 0
    found[free] = np.linalg.lstsq(scaled[:, free], wanted, rcond=None)[0]
    if (found[free] > _TOLERANCE).all():
        return found / np.where(norms > 0, norms, 1.0)  # most often nothing is in the way
    found[:] = 0.0
    free[:] = False
    enough = _TOLERANCE * max(1.0, float(np.abs(scaled.T @ wanted).max(initial=0.0)))
    for _ in range(10 * columns + 10):  # each subset is met once at most; ends long before in practice
        gradient = np.where(free, -np.inf, scaled.T @ (wanted - scaled @ found))
        best = int(np.argmax(gradient))
        if free.all() or gradient[best] <= enough:
            break
        free[best] = True
        found = _freed(scaled, wanted, found, free)
        if not free[best]:  # numerically dependent on the others: nothing is won by it
            break
    return found / np.where(norms > 0, norms, 1.0)


def _freed(matrix: Floats, target: Floats, found: Floats, free: NDArray[np.bool_]) -> Floats:
    """Solve for the *free* coefficients; those that would turn negative are 0 again, and no more free."""
    while True:
        trial: Floats = np.zeros_like(found)
        trial[free] = np.linalg.lstsq(matrix[:, free], target, rcond=None)[0]
        wrong = free & (trial <= _TOLERANCE)
        if not wrong.any():
            return trial
        steps = found[wrong] / np.maximum(found[wrong] - trial[wrong], 1e-300)
        found = np.maximum(found + float(steps.min()) * (trial - found), 0.0)
        free &= found > _TOLERANCE
        found = np.where(free, found, 0.0)
        if not free.any():
            return found
