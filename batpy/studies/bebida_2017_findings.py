"""What ``bebida-2017`` measured, beside what was published."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from batpy.studies.estimates import half_width, rank_correlation
from batpy.studies.figures import MEASURED, PUBLISHED, drawing
from batpy.studies.published import effectiveness_2017, waits_2017
from batpy.studies.study import Check, Findings, Row

PROLOG: Final = "oar_yarn_2017"
ALONE: Final = "hpc_alone"


def findings(rows: Sequence[Row], workloads: Mapping[int, Mapping[str, Any]]) -> Findings:
    """Compare the rows of the grid with the published figures.

    Args:
        workloads: what is known of each HPC workload.
    """
    plain, free = _of(rows, PROLOG), _of(rows, "ideal")
    alone = {(row["hpc_workload"], row["repetition"]): row for row in _of(rows, ALONE)}
    numbers = sorted(workloads)
    by_hpc = {n: _mean(row["effectiveness"] for row in plain if row["hpc_workload"] == n) for n in numbers}
    bdas = sorted({row["bda_workload"] for row in plain})
    by_bda = {n: _mean(row["effectiveness"] for row in plain if row["bda_workload"] == n) for n in bdas}
    digitised = _digitised(numbers, bdas)
    overheads = [_overhead(row, alone) for row in plain]
    by_wait = {n: _mean(_overhead(row, alone) for row in plain if row["hpc_workload"] == n) for n in numbers}
    utilisations = [row["utilisation"] for row in alone.values()]
    e_values = [row["effectiveness"] for row in plain]
    # Runs of one HPC workload are alike: the interval is that of the workloads' means.
    checks = [
        Check(
            "mean effectiveness E", _mean(e_values), 0.63, 0.73, "published mean 0.68, digitised 0.683",
            half_width(list(by_hpc.values())),
        ),
        Check(
            "HPC mean wait, 2017 hand-over (%)", 100 * _mean(overheads), 10, 25,
            "published below +17 %, digitised medians +6 to +20 %",
            _percent(half_width(list(by_wait.values()))),
        ),
        Check(
            "HPC mean wait, no hand-over (%)", 100 * _mean(_overhead(row, alone) for row in free), -1, 1,
            "nothing is paid for, so about 0",
        ),
        Check(
            "utilisation, HPC alone (%)", 100 * _mean(utilisations), 68, 72, "published about 70 %; fitted",
        ),
        Check(
            "utilisation, no hand-over (%)", 100 * _mean(row["utilisation"] for row in free), 99, None,
            "published about 100 %",
        ),
        Check(
            "utilisation, 2017 hand-over (%)", 100 * _mean(row["utilisation"] for row in plain), 99, None,
            "published about 100 %; hosts in a prolog or an epilog count as unused here",
        ),
        Check(
            "same, hand-over counted (%)",
            100 * _mean(row["utilisation"] + row["handed"] for row in plain), 99, None,
            "as a resource manager counts, whose job holds its hosts from its prolog to its epilog",
        ),
        Check(
            "rank correlation of E, 5 HPC workloads",
            rank_correlation(list(by_hpc.values()), [digitised["hpc"][n] for n in numbers]), 0.7, None,
            "digitised points; an extra", required=False,
        ),
        Check(
            "rank correlation of E, 15 cells",
            rank_correlation(*_cells(plain, numbers, bdas)), None, None, "digitised points", required=False,
        ),
    ]  # fmt: skip
    figures = {
        "hpc_workloads": {str(n): dict(workloads[n]) for n in numbers},
        "effectiveness_by_hpc_workload": _both(by_hpc, digitised["hpc"]),
        "effectiveness_by_bda_workload": _both(by_bda, digitised["bda"]),
        "hpc_wait_overhead_by_hpc_workload": _both(by_wait, {n: _published_overhead(n) for n in numbers}),
        "handed_over": _mean(row["handed"] for row in plain),
        "disruptions_per_run": _mean(row["disruptions"] for row in plain),
    }
    notes = [
        f"E by Big Data workload {_list(by_bda)}, digitised {_list(digitised['bda'])}: fitted (another seed)",
        f"E by HPC workload {_list(by_hpc)}, digitised {_list(digitised['hpc'])}: not fitted; nothing but",
        "  mean waits is published of the HPC workloads, while E follows how many jobs they have and how "
        "wide",
    ]
    return Findings(rows, checks, figures, notes, partial(draw, rows))


def _of(rows: Sequence[Row], mode: str) -> list[Row]:
    return [row for row in rows if row["mode"] == mode]


def _mean(values: Any) -> float:
    return statistics.fmean(values)


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


def _overhead(row: Row, alone: Mapping[tuple[int, int], Row]) -> float:
    """How much longer HPC jobs wait than alone, with the same jobs."""
    return float(row["hpc_wait"] / alone[row["hpc_workload"], row["repetition"]]["hpc_wait"] - 1)


def _published_overhead(number: int) -> float:
    published = waits_2017()
    return _mean(published[number, "bebida"]) / _mean(published[number, ALONE]) - 1


def _digitised(numbers: Sequence[int], bdas: Sequence[int]) -> dict[str, dict[int, float]]:
    points = effectiveness_2017()
    return {
        "hpc": {n: _mean(e for (hpc, _, _), e in points.items() if hpc == n) for n in numbers},
        "bda": {n: _mean(e for (_, bda, _), e in points.items() if bda == n) for n in bdas},
    }


def _cells(
    rows: Sequence[Row], numbers: Sequence[int], bdas: Sequence[int]
) -> tuple[list[float], list[float]]:
    points = effectiveness_2017()
    cells = [(hpc, bda) for hpc in numbers for bda in bdas]
    ours = [
        _mean(r["effectiveness"] for r in rows if (r["hpc_workload"], r["bda_workload"]) == cell)
        for cell in cells
    ]
    return ours, [_mean(e for (hpc, bda, _), e in points.items() if (hpc, bda) == cell) for cell in cells]


def _both(ours: Mapping[int, float], theirs: Mapping[int, float]) -> dict[str, dict[str, float]]:
    return {str(n): {"measured": ours[n], "published": theirs[n]} for n in ours}


def _list(values: Mapping[int, float]) -> str:
    return " ".join(f"{value:.3f}" for value in values.values())


def draw(rows: Sequence[Row], path: Path) -> None:
    """E of every run, and mean waits alone and together, over the digitised points."""
    plain, alone = _of(rows, PROLOG), _of(rows, ALONE)
    with drawing(path, 2, (11.0, 4.5)) as (left, right):
        marks = {1: "o", 2: "s", 3: "^"}
        for (hpc, bda, _), value in sorted(effectiveness_2017().items()):
            left.plot(hpc - 0.12, value, marks[bda], color=PUBLISHED, mfc="none", ms=5)
        for row in plain:
            mark = marks[row["bda_workload"]]
            left.plot(row["hpc_workload"] + 0.12, row["effectiveness"], mark, color=MEASURED, ms=5)
        left.set(xlabel="HPC workload", ylabel="time effectiveness E", ylim=(0, 1))
        left.set_title("o, square, triangle: Big Data workload 1, 2, 3", fontsize=9)
        for (hpc, mode), values in sorted(waits_2017().items()):
            shift = -0.3 if mode == ALONE else -0.1
            right.plot([hpc + shift] * len(values), values, "o", color=PUBLISHED, mfc="none", ms=5)
        for shift, group in ((0.1, alone), (0.3, plain)):
            right.plot(
                [row["hpc_workload"] + shift for row in group],
                [row["hpc_wait"] for row in group],
                "o",
                color=MEASURED,
                ms=5,
            )
        right.set(
            xlabel="HPC workload (in each colour: alone, then with Big Data)", ylabel="HPC mean wait (s)"
        )
        right.set_ylim(bottom=0)
        for axes in (left, right):
            axes.plot([], [], "o", color=PUBLISHED, mfc="none", label="published (digitised)")
            axes.plot([], [], "o", color=MEASURED, label="batpy")
            axes.legend(fontsize=8)
