"""Calibrations made by hand, and stages made from known parameters."""

from __future__ import annotations

import random

from batpy.workloads.stages.calibration_form import Calibration, Range
from batpy.workloads.stages.roofline import Figures, Parameters, StageWork, roofline


def calibration(parameters: Parameters, figures: Figures) -> Calibration:
    """A calibration with these parameters, that nothing is outside of."""
    return Calibration(
        batpy="0",
        numpy="0",
        logs=(),
        parameters=parameters,
        figures=figures,
        seen=(),
        stages=0,
        range=Range(executors=(0, 0), slots=(0, 0), bytes=(0, 0)),
    )


def synthetic(
    parameters: Parameters, figures: Figures, count: int, seed: int, *, noise: float = 0.0
) -> list[StageWork]:
    """Stages of all sizes on parks of several sizes, whose times are those of the parameters, and noise.

    Args:
        noise: standard deviation of the logarithm of the recorded times.
    """
    dice = random.Random(seed)
    rows = []
    for _ in range(count):
        work = StageWork(
            cpu=10 ** dice.uniform(0, 3.5),
            read=dice.choice((0, 1)) * 10 ** dice.uniform(7, 10.5),
            write=dice.choice((0, 1)) * 10 ** dice.uniform(7, 10.5),
            net=dice.choice((0, 1)) * 10 ** dice.uniform(7, 10.5),
            tasks=dice.randint(1, 2000),
            slots=dice.choice((8, 16, 64)),
            hosts=dice.choice((2, 4, 8)),
            times=[dice.randint(50, 150) for _ in range(300)],
        )
        wall = roofline(work, parameters, figures).wall * dice.lognormvariate(0, noise)
        rows.append(StageWork(**{**_fields(work), "wall": wall}))
    return rows


def _fields(work: StageWork) -> dict[str, object]:
    names = ("cpu", "read", "write", "net", "tasks", "slots", "hosts", "times")
    return {name: getattr(work, name) for name in names}
