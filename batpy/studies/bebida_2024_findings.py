"""What ``bebida-2024`` measured, beside what was published."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from batpy.studies.estimates import half_width
from batpy.studies.figures import MEASURED, PUBLISHED, drawing
from batpy.studies.published import times_2024
from batpy.studies.study import Check, Findings, Row

TIMES: Final = ("run1", "run2", "run3", "run4")
STALLED: Final = 185.0
"""Seconds from which a run is taken to have waited for the timeout: the published ones took 188 and 189."""


def findings(rows: Sequence[Row]) -> Findings:
    """Compare the rows of all variants with the published times."""
    variants = list(dict.fromkeys(row["variant"] for row in rows))
    published = times_2024()
    none, calm = published["none"], [time for time in published["none"] if time < STALLED]
    checks = [
        Check(
            "no HPC (s)", _mean(rows, "nohpc"), 49.2, 51.2, "published mean 50.2, within 1 s; fitted",
            _width(rows, "nohpc"),
        ),
        _interval(rows, "none+timeout", none, "published mean {mean:.1f}, n = {n}, 95 % interval"),
        _interval(rows, "none", none, "same interval, without the timeout mode"),
        _interval(
            rows, "none", calm, "published runs that did not stall: mean {mean:.1f}, n = {n}", required=False,
            name="none, against calm runs (s)",
        ),
        _interval(
            rows, "none, 5 s a node", none, "same interval, with the preset's drain of every node",
            required=False,
        ),
        Check(
            "stalled runs with the timeout mode (%)", 100 * _stalled(rows, "none+timeout"), None, None,
            "published 3 of 20, and 8 of 92 with all heuristics; fitted to the latter", required=False,
        ),
        Check(
            "HPC mean wait beside Bebida (s)", _waits(rows, "none"), None, None,
            "published rows: 3.3, fitted", required=False,
        ),
        Check(
            "same, 5 s a node (s)", _waits(rows, "none, 5 s a node"), None, None, "published rows: 3.3",
            required=False,
        ),
    ]  # fmt: skip
    medians = {variant: statistics.median(_all(rows, variant)) for variant in variants}
    by_place = {
        variant: [statistics.median(row[time] for row in rows if row["variant"] == variant) for time in TIMES]
        for variant in variants
    }
    figures = {
        "means": {variant: _mean(rows, variant) for variant in variants},
        "deviations": {variant: statistics.pstdev(_all(rows, variant)) for variant in variants},
        "medians": medians,
        "medians_by_place": by_place,
        "losses_per_run": {
            variant: statistics.fmean(row["losses"] for row in rows if row["variant"] == variant) / len(TIMES)
            for variant in variants
        },
    }
    ours = by_place["none"]
    theirs = [statistics.median(none[place::4]) for place in range(4)]
    notes = [
        f"medians of the four runs in a row: {_list(ours)}; published {_list(theirs)} (n = 5 each)",
        f"median: {medians['none']:.1f}, published {statistics.median(none):.1f}: our times are spread "
        "more unevenly",
    ]
    return Findings(rows, checks, figures, notes, partial(draw, rows))


def _all(rows: Sequence[Row], variant: str) -> list[float]:
    return [row[time] for row in rows if row["variant"] == variant for time in TIMES]


def _mean(rows: Sequence[Row], variant: str) -> float:
    return statistics.fmean(_all(rows, variant))


def _width(rows: Sequence[Row], variant: str) -> float | None:
    """Of the mean over experiments, which are independent; the four runs of one are not."""
    means = [statistics.fmean(row[time] for time in TIMES) for row in rows if row["variant"] == variant]
    return half_width(means)


def _interval(
    rows: Sequence[Row],
    variant: str,
    published: Sequence[float],
    source: str,
    *,
    required: bool = True,
    name: str = "",
) -> Check:
    """A variant's mean against the 95 % interval of published times."""
    mean, half = statistics.fmean(published), half_width(published)
    assert half is not None
    told = source.format(mean=mean, n=len(published))
    low, high = round(mean - half, 1), round(mean + half, 1)
    return Check(
        name or f"{variant} (s)", _mean(rows, variant), low, high, told, _width(rows, variant), required
    )


def _stalled(rows: Sequence[Row], variant: str) -> float:
    """How many more runs are that long than without the timeout mode."""
    share = [sum(time >= STALLED for time in _all(rows, v)) / len(_all(rows, v)) for v in (variant, "none")]
    return share[0] - share[1]


def _waits(rows: Sequence[Row], variant: str) -> float:
    return statistics.fmean(row["hpc_wait"] for row in rows if row["variant"] == variant)


def _list(values: Sequence[float]) -> str:
    return " ".join(f"{value:.0f}" for value in values)


def draw(rows: Sequence[Row], path: Path) -> None:
    """Distribution of times, and their means, over the published ones."""
    published = times_2024()
    with drawing(path, 2, (11.0, 4.5)) as (left, right):
        for variant, style in (("nohpc", "-"), ("none", "--"), ("none+timeout", ":")):
            times = sorted(_all(rows, variant))
            shares = [(place + 1) / len(times) for place in range(len(times))]
            left.step(times, shares, style, where="post", color=MEASURED, label=f"batpy, {variant}")
        for variant, style in (("nohpc", "-"), ("none", "--")):
            times = sorted(published[variant])
            shares = [(place + 1) / len(times) for place in range(len(times))]
            left.step(times, shares, style, where="post", color=PUBLISHED, label=f"published, {variant}")
        left.set(xlabel="run time of SparkPi (s)", ylabel="share of runs", ylim=(0, 1.02))
        left.legend(fontsize=8)
        variants = list(dict.fromkeys(row["variant"] for row in rows))
        for place, variant in enumerate(variants):
            theirs = published["nohpc" if variant == "nohpc" else "none"]
            for values, width, colour, shift in (
                (theirs, half_width(theirs), PUBLISHED, -0.1),
                (_all(rows, variant), _width(rows, variant), MEASURED, 0.1),
            ):
                right.errorbar(
                    place + shift, statistics.fmean(values), width, fmt="o", color=colour, capsize=4
                )
        right.set_xticks(range(len(variants)), [name.replace(", ", ",\n") for name in variants])
        right.set(ylabel="mean and 95 % interval (s)")
        right.set_ylim(bottom=0)
        right.plot([], [], "o", color=PUBLISHED, label="published")
        right.plot([], [], "o", color=MEASURED, label="batpy")
        right.legend(fontsize=8)
