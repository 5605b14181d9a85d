"""The model pass: least squares that stay positive, and parameters found again."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import numpy as np
import pytest
from calibrations import synthetic
from hypothesis import given, settings
from hypothesis import strategies as st

from batpy.workloads.stages import calibration_fit
from batpy.workloads.stages.calibration_fit import fit
from batpy.workloads.stages.nnls import nnls
from batpy.workloads.stages.roofline import Bandwidth, Figures, Parameters, StageWork

FIGURES = Figures(
    speed=2e9,
    read=Bandwidth(rate=2e8, scope="host"),
    write=Bandwidth(rate=1e9, scope="all"),
    net=Bandwidth(rate=5e7, scope="slot"),
)
NUMBERS = st.just(0.0) | st.floats(0.001, 10) | st.floats(-10, -0.001)


@given(st.integers(1, 4), st.integers(1, 8), st.data())
@settings(max_examples=150, deadline=None)
def test_no_choice_of_free_coefficients_is_better(columns: int, rows: int, data: st.DataObject) -> None:
    """Against the slow twin: the best of all subsets whose plain least squares are not negative."""
    matrix = np.array(
        data.draw(
            st.lists(st.lists(NUMBERS, min_size=columns, max_size=columns), min_size=rows, max_size=rows)
        )
    )
    target = np.array(data.draw(st.lists(NUMBERS, min_size=rows, max_size=rows)))
    found = nnls(matrix, target)
    assert (found >= 0).all()
    best = float(target @ target)
    for size in range(1, columns + 1):
        for chosen in itertools.combinations(range(columns), size):
            trial = np.linalg.lstsq(matrix[:, chosen], target, rcond=None)[0]
            if (trial >= 0).all():
                left = matrix[:, chosen] @ trial - target
                best = min(best, float(left @ left))
    left = matrix @ found - target
    assert float(left @ left) <= best + 1e-6 * (1 + float(target @ target))


def test_what_would_be_negative_is_zero() -> None:
    assert nnls([[1.0, 1.0], [1.0, 0.0]], [1.0, 2.0]) == pytest.approx([1.5, 0.0])
    assert nnls([[1.0, 0.0], [2.0, 0.0]], [1.0, 2.0]) == pytest.approx([1.0, 0.0])
    assert nnls([[-1.0], [-2.0]], [1.0, 2.0]) == pytest.approx([0.0])


KNOWN = Parameters(
    k_cpu=2.6e9, k_read=1.7, k_write=0.8, k_net=1.2, task_overhead=0.05, stage_overhead=2.0, overlap=0.37
)
NAMES = ("k_cpu", "k_read", "k_write", "k_net", "task_overhead", "stage_overhead")


def far(found: Parameters, known: Parameters) -> dict[str, float]:
    """Relative error of each parameter."""
    return {name: abs(getattr(found, name) / getattr(known, name) - 1) for name in NAMES}


@pytest.mark.parametrize("overlap", [0.0, 0.37, 0.8])
@pytest.mark.parametrize("seed", [1, 2])
def test_exact_times_give_the_parameters_back(overlap: float, seed: int) -> None:
    known = Parameters(**{**{name: getattr(KNOWN, name) for name in NAMES}, "overlap": overlap})
    found = fit(synthetic(known, FIGURES, 120, seed), FIGURES).parameters
    assert found.overlap == pytest.approx(overlap, abs=0.011)
    assert max(far(found, known).values()) < 0.02, far(found, known)


def test_noise_moves_them_little() -> None:
    found = fit(synthetic(KNOWN, FIGURES, 300, 3, noise=0.05), FIGURES).parameters
    assert found.overlap == pytest.approx(KNOWN.overlap, abs=0.06)
    assert max(far(found, KNOWN).values()) < 0.1, far(found, KNOWN)


@pytest.mark.parametrize("factor", [10.0, 0.1])
def test_outliers_do_not_bend_it(factor: float) -> None:
    """One stage in ten takes ten times as long, or a tenth; plain least squares are bent, this is not."""
    rows = synthetic(KNOWN, FIGURES, 300, 4, noise=0.02)
    dice = random.Random(5)
    spoilt = [replace(row, wall=(row.wall or 0) * (factor if dice.random() < 0.1 else 1)) for row in rows]
    clean, found = fit(rows, FIGURES).parameters, fit(spoilt, FIGURES).parameters
    assert max(far(clean, KNOWN).values()) < 0.05
    assert max(far(found, KNOWN).values()) < 0.08, far(found, KNOWN)
    assert found.overlap == pytest.approx(KNOWN.overlap, abs=0.05)
    table = calibration_fit._table(spoilt, FIGURES)
    true = np.array([getattr(KNOWN, name) for name in NAMES])
    true[0] /= FIGURES.speed
    plain = nnls(calibration_fit._shares(table, KNOWN.overlap, true), table.walls)
    assert np.abs(plain / true - 1).max() > 0.3


def test_what_no_stage_uses_keeps_the_platforms_figure() -> None:
    rows = [replace(row, write=0.0, net=0.0) for row in synthetic(KNOWN, FIGURES, 40, 6)]
    found = fit(rows, FIGURES)
    assert found.parameters.k_write == pytest.approx(1.0)
    assert found.parameters.k_net == pytest.approx(1.0)
    assert set(found.seen) == {"k_cpu", "k_read", "task_overhead", "stage_overhead", "overlap"}


def test_one_resource_tells_nothing_about_overlap() -> None:
    rows = [
        StageWork(cpu=10.0 * n, read=0, write=0, net=0, tasks=8, slots=8, hosts=1, wall=2.5 * n)
        for n in range(1, 9)
    ]
    found = fit(rows, FIGURES)
    assert found.parameters.overlap == 0
    assert "overlap" not in found.seen
    assert found.parameters.k_cpu == pytest.approx(2 * FIGURES.speed, rel=0.01)


def test_one_stage_is_enough_and_the_same_rows_give_the_same_bits() -> None:
    rows = synthetic(KNOWN, FIGURES, 1, 7)
    assert fit(rows, FIGURES) == fit(rows, FIGURES)
    assert fit(rows, FIGURES, overlaps=[0.5]).parameters.overlap == 0.5
