"""Drawing with matplotlib, which is an extra: ``pip install 'batpy-sim[figures]'``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

MISSING = "no figure: matplotlib is not installed (pip install 'batpy-sim[figures]')"
MEASURED, PUBLISHED = "#1f77b4", "#d62728"
"""Colours: what batpy measured, what was published."""


def can_draw() -> bool:
    """Is matplotlib there?"""
    return find_spec("matplotlib") is not None


@contextmanager
def drawing(path: Path, columns: int, size: tuple[float, float]) -> Iterator[list[Any]]:
    """Axes side by side, saved to *path* at the end of the block.

    Args:
        size: inches.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, columns, squeeze=False)[0]
    yield list(axes)
    # No date or version in the file: equal studies give equal pictures.
    figure.savefig(path, dpi=120, metadata={"Software": None})
