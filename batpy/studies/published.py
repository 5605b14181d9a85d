"""Published figures that studies compare with, from the files in ``published`` (see its README)."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files


def rows(name: str) -> list[dict[str, str]]:
    """The rows of a file of published figures."""
    text = files("batpy.studies").joinpath("published", name).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return list(csv.DictReader(lines))


@cache
def effectiveness_2017() -> dict[tuple[int, int, int], float]:
    """Time effectiveness by HPC workload, Big Data workload and repetition, each from 1."""
    return {
        (int(row["hpc_workload"]), int(row["bda_workload"]), int(row["rep"])): float(
            row["time_effectiveness"]
        )
        for row in rows("bebida2017_effectiveness.csv")
    }


@cache
def waits_2017() -> dict[tuple[int, str], tuple[float, ...]]:
    """Mean waiting times of the HPC jobs in seconds, by HPC workload and ``hpc_alone`` or ``bebida``."""
    found: dict[tuple[int, str], tuple[float, ...]] = {}
    for row in rows("bebida2017_hpc_mean_wait.csv"):
        key = int(row["hpc_workload"]), row["mode"]
        found[key] = (*found.get(key, ()), float(row["mean_wait_s"]))
    return found


@cache
def times_2024() -> dict[str, tuple[float, ...]]:
    """Run times of SparkPi in seconds by ``nohpc`` and ``none``, four in a row to an experiment."""
    found: dict[str, tuple[float, ...]] = {}
    for row in rows("regale2024_bda_times.csv"):
        found[row["heuristic"]] = (*found.get(row["heuristic"], ()), float(row["seconds"]))
    return found
