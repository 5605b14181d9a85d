"""The sensitivity plot: mean error against the finest tick, as CSV and as SVG, one pair a metric."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from batpy.base.errors import InputError
from batpy.base.files import read_text
from batpy.pipelines.sensitivity import MUTATIONS, RESULTS

METRICS = ("adjusted_latency", "mean_latency", "p99_latency", "failures")
STYLES = {"tick": "stroke='black' stroke-dasharray='4 2'", "snap": "stroke='gray'", "jitter": "stroke='red'"}
WIDTH, HEIGHT, MARGIN = 420, 300, 50

Errors = dict[int, dict[str, float]]


def plot_sensitivity(folder: Path) -> list[Path]:
    """Write ``METRIC_errors.csv`` and ``METRIC_errors.svg`` for every metric; returns what was written.

    The error of a run is its distance to the plain run of the same workload at the most ticks per second, in
    percent of that; where that is 0 it is the distance itself. Errors are means over the workloads.

    Raises:
        InputError: ``results.csv`` is missing or holds no such run.
    """
    source = folder / RESULTS
    rows = _read(source)
    written = []
    for metric in METRICS:
        errors = mean_errors(rows, metric, str(source))
        for ending, text in (("csv", _csv(errors)), ("svg", _svg(metric, errors))):
            path = folder / f"{metric}_errors.{ending}"
            path.write_text(text, encoding="utf-8")
            written.append(path)
    return written


def _read(source: Path) -> list[dict[str, str]]:
    rows = list(csv.DictReader(read_text(source).splitlines(), restval=""))
    needed = ("mutation_type", "ticks_per_second", *METRICS)
    if not rows or any(name not in rows[0] for name in needed):
        raise InputError(f"want rows with {', '.join(needed)}", source=str(source))
    return rows


def mean_errors(rows: Sequence[Mapping[str, str]], metric: str, source: str) -> Errors:
    """Ticks per second to mutation to mean error."""
    try:
        numbers = [(int(row["ticks_per_second"]), float(row[metric])) for row in rows]
    except ValueError as why:
        raise InputError(str(why), source=source, path=metric) from None
    finest = max(ticks for ticks, _ in numbers)
    exact = {
        row.get("workload", ""): value
        for row, (ticks, value) in zip(rows, numbers, strict=True)
        if ticks == finest and row["mutation_type"] == "tick"
    }
    if not exact:
        raise InputError(f"holds no plain run at {finest} ticks per second", source=source)
    found: dict[int, dict[str, list[float]]] = {}
    for row, (ticks, value) in zip(rows, numbers, strict=True):
        base = exact.get(row.get("workload", ""))
        if base is None:
            continue
        error = abs(value - base) / base * 100 if base else abs(value - base)
        found.setdefault(ticks, {}).setdefault(row["mutation_type"], []).append(error)
    return {
        ticks: {name: sum(values) / len(values) for name, values in sorted(by_name.items())}
        for ticks, by_name in sorted(found.items())
    }


def _csv(errors: Errors) -> str:
    names = sorted({name for by_name in errors.values() for name in by_name})
    lines = [",".join(("ticks_per_second", *names))]
    for ticks, by_name in errors.items():
        lines.append(",".join((str(ticks), *(str(by_name.get(name, "")) for name in names))))
    return "\n".join(lines) + "\n"


def _svg(metric: str, errors: Errors) -> str:
    """Lines over a logarithmic axis of ticks per second; the other axis reaches 100 % at least."""
    values = [value for by_name in errors.values() for value in by_name.values() if math.isfinite(value)]
    top = max([100.0, *values])
    decades = max(1.0, math.log10(max(errors)))

    def x(ticks: int) -> float:
        return MARGIN + math.log10(ticks) / decades * (WIDTH - 2 * MARGIN)

    def y(error: float) -> float:
        return HEIGHT - MARGIN - error / top * (HEIGHT - 2 * MARGIN)

    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH}' height='{HEIGHT}' font-family='sans-serif' "
        "font-size='11'>",
        f"<text x='{WIDTH / 2}' y='20' text-anchor='middle' font-size='14'>{escape(metric)}</text>",
        f"<path d='M{MARGIN},{MARGIN} V{HEIGHT - MARGIN} H{WIDTH - MARGIN}' fill='none' stroke='black'/>",
        f"<text x='{WIDTH / 2}' y='{HEIGHT - 10}' text-anchor='middle'>ticks per second</text>",
        f"<text x='14' y='{HEIGHT / 2}' text-anchor='middle' "
        f"transform='rotate(-90 14 {HEIGHT / 2})'>error (%)</text>",
        f"<text x='{MARGIN - 4}' y='{MARGIN + 4}' text-anchor='end'>{top:g}</text>",
        f"<text x='{MARGIN - 4}' y='{HEIGHT - MARGIN}' text-anchor='end'>0</text>",
    ]
    parts += [
        f"<text x='{x(ticks):.1f}' y='{HEIGHT - MARGIN + 15}' text-anchor='middle'>{ticks}</text>"
        for ticks in errors
    ]
    for row, name in enumerate(MUTATIONS):
        points = [
            f"{x(ticks):.1f},{y(by_name[name]):.1f}"
            for ticks, by_name in errors.items()
            if math.isfinite(by_name.get(name, math.nan))
        ]
        height = MARGIN + 14 * row
        parts.append(f"<polyline points='{' '.join(points)}' fill='none' {STYLES[name]}/>")
        parts.append(f"<path d='M{WIDTH - 110},{height} h20' {STYLES[name]}/>")
        parts.append(f"<text x='{WIDTH - 84}' y='{height + 4}'>{name}</text>")
    return "\n".join([*parts, "</svg>"]) + "\n"
