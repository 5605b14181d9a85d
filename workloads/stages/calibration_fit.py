"""The model pass: parameters from the recorded times of stages.

Non-negative least squares of the times on what the amounts would take at the platform's figures, and on
overheads, with Huber's loss (Annals of Mathematical Statistics 35(1), 1964): a stage whose error is beyond
the threshold pulls with constant force, so that outliers do not bend the model. Errors are relative, since
stages last from hundredths of a second to hours: to what was recorded or what is told, whichever is longer,
so that a time which is far too short weighs no more than one that is far too long.

For a given overlap the model is linear as long as the longest resource of each stage stays the same. The fit
goes on from one overlap to the next, finds these resources and the weights of Huber's loss anew in each
round, and keeps the overlap that fits best.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from batpy.workloads.stages.nnls import Floats, nnls
from batpy.workloads.stages.roofline import Figures, Parameters, StageWork

THRESHOLD = 0.05
"""Relative error beyond which a stage pulls with constant force."""
SHORT = 0.1
"""Seconds added to a stage's time before errors are divided by it: what schedulers jitter by."""
POWER = 0.5
"""A stage counts as this power of its nominal time: errors of tasks add up as those of independent ones."""
BELIEF = 1e-3
"""How much the platform's figures are believed, as a share of one stage that does nothing else. It decides
where the stages do not tell, such as about a resource that none of them uses."""
_ROUNDS = 60
_STEPS = 10
"""Overlaps tried at first; then as many around the best of them."""
_SAME = 1e-9
_CONVERGED = 1e-6


@dataclass(frozen=True, slots=True)
class Fit:
    """Parameters, and how well they fit.

    Attributes:
        loss: mean of Huber's loss over the stages.
        seen: names of the parameters that the stages bear on; others keep their nominal values.
    """

    parameters: Parameters
    loss: float
    seen: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Table:
    """Columns 0 to 3 are seconds of cpu, read, write, net with all k = 1; 4 and 5 those of overheads."""

    columns: Floats
    walls: Floats
    importance: Floats


_NAMES = ("k_cpu", "k_read", "k_write", "k_net", "task_overhead", "stage_overhead")


def fit(rows: Sequence[StageWork], figures: Figures, overlaps: Iterable[float] | None = None) -> Fit:
    """Parameters of the stages.

    Args:
        rows: stages with a recorded time, at least one.
        figures: of the platform they were recorded on.
        overlaps: try these only.
    """
    table = _table(rows, figures)
    best: tuple[float, float, Floats] | None = None
    given = None if overlaps is None else tuple(overlaps)
    start = np.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.0])
    for overlap in given or tuple(step / _STEPS for step in range(_STEPS + 1)):
        found, loss = _linear(table, overlap, start)
        start = found
        if best is None or loss < best[0] * (1 - _SAME) - 1e-15:  # of equals the smallest overlap
            best = loss, overlap, found
    assert best is not None, "no overlap to try"
    if given is None:
        centre = best[1]
        for step in range(-_STEPS, _STEPS + 1):
            overlap = round(centre + step / _STEPS / _STEPS, 6)
            if 0 <= overlap <= 1:
                found, loss = _linear(table, overlap, best[2])
                if loss < best[0] * (1 - _SAME) - 1e-15:
                    best = loss, overlap, found
    loss, overlap, found = best
    values = dict(zip(_NAMES, (float(value) for value in found), strict=True))
    values["k_cpu"] *= figures.speed
    seen = tuple(name for name, column in zip(_NAMES, table.columns.T, strict=True) if column.any())
    if sum(name.startswith("k_") for name in seen) > 1:
        seen += ("overlap",)
    return Fit(Parameters(**values, overlap=overlap), loss, seen)


def _table(rows: Sequence[StageWork], figures: Figures) -> _Table:
    assert rows, "nothing to learn from"
    columns = []
    walls = []
    for row in rows:
        assert row.wall is not None, f"{row.name} has no recorded time"
        busy = row.busy(row.slots) if row.kept is None else max(row.kept, 1e-6)
        columns.append(
            (
                row.cpu / busy,
                row.read / figures.read.capacity(busy, row.hosts),
                row.write / figures.write.capacity(busy, row.hosts),
                row.net / figures.net.capacity(busy, row.hosts),
                row.tasks / busy,
                1.0,
            )
        )
        walls.append(row.wall)
    known = np.array(walls)
    table = np.array(columns)
    nominal = table[:, :4].sum(axis=1) + SHORT
    importance = nominal**POWER
    return _Table(table, known, importance / importance.mean())


def _shares(table: _Table, overlap: float, found: Floats) -> Floats:
    """What each column counts for: all of the longest resource, the rest of the others, all of overheads."""
    counts = np.full_like(table.columns, 1.0 - overlap)
    counts[:, 4:] = 1.0
    longest = np.argmax(table.columns[:, :4] * found[:4], axis=1)
    counts[np.arange(len(longest)), longest] = 1.0
    return table.columns * counts


def _weights(table: _Table, told: Floats) -> Floats:
    """What errors in seconds are multiplied by to be relative."""
    weights: Floats = 1.0 / (np.maximum(table.walls, told) + SHORT)
    return weights


def _linear(table: _Table, overlap: float, start: Floats) -> tuple[Floats, float]:
    """Coefficients for an overlap, and their loss."""
    found = start
    best = found, _loss(table, overlap, found)
    belief = np.zeros((6, 6))
    belief[:4, :4] = np.eye(4)
    belief *= np.sqrt(BELIEF)
    wish = np.sqrt(BELIEF) * np.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.0])
    threshold = 20 * THRESHOLD  # at first nearly all count in full
    for _ in range(_ROUNDS):
        rows = _shares(table, overlap, found)
        told = rows @ found
        weights = _weights(table, told)
        errors = np.abs(told - table.walls) * weights
        scale = weights * np.sqrt(table.importance * threshold / np.maximum(errors, threshold))
        matrix = np.vstack((rows * scale[:, None], belief))
        before, found = found, nnls(matrix, np.concatenate((table.walls * scale, wish)))
        loss = _loss(table, overlap, found)
        if loss < best[1]:
            best = found, loss
        if threshold == THRESHOLD and np.allclose(before, found, rtol=_CONVERGED, atol=_CONVERGED):
            break
        threshold = max(THRESHOLD, threshold / 2)
    return best


def _loss(table: _Table, overlap: float, found: Floats) -> float:
    told = _shares(table, overlap, found) @ found
    errors = np.abs(told - table.walls) * _weights(table, told)
    huber = np.where(errors <= THRESHOLD, errors**2 / 2, THRESHOLD * (errors - THRESHOLD / 2))
    return float(
        (table.importance * huber).mean() + BELIEF * ((found[:4] - 1.0) ** 2).sum() / 2 / len(errors)
    )
