"""How much the length of a tick matters: the same workload at every power of ten of ticks per second."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from batpy.base.errors import BatpyError, InputError, one_line
from batpy.pipelines.imports import import_users
from batpy.pipelines.simulate import make_arrivals, simulate
from batpy.pipelines.traces import jitter, snap
from batpy.workloads.pipelines.parameters import read_parameters
from batpy.workloads.pipelines.trace import write_trace

COLUMNS = ("mutation_type", "ticks_per_second", "adjusted_latency", "mean_latency", "p99_latency", "failures")
RESULTS = "results.csv"
MUTATIONS = ("snap", "jitter", "tick")


def powers_of_ten(most: int) -> list[int]:
    """1, 10, 100 and so on, up to *most*."""
    return [10**power for power in range(len(str(most))) if 10**power <= most]


def sensitivity(
    table: Mapping[str, Any],
    trace: Path,
    folder: Path,
    *,
    jitter_seed: int = 42,
    tell: Callable[[str], object] = str,
) -> list[dict[str, Any]]:
    """Run a trace plainly, snapped and jittered at each power of ten up to the parameters' ticks per second.

    Args:
        table: parameters; ``compat`` too.
        tell: told a line for each run.

    Returns:
        the rows of ``results.csv``, which is written to *folder* with the changed traces.
    """
    parameters = read_parameters(table).parameters
    workloads = folder / "workloads"
    workloads.mkdir(parents=True, exist_ok=True)
    rows = []
    for ticks_per_second in powers_of_ten(parameters.ticks_per_second):
        snapped = workloads / f"snap_{ticks_per_second}.csv"
        jittered = workloads / f"jitter_{ticks_per_second}.csv"
        snap(trace, snapped, ticks_per_second)
        jitter(trace, jittered, 1 / ticks_per_second, jitter_seed)
        changed = {**table, "ticks_per_second": ticks_per_second}
        for mutation, source in zip(MUTATIONS, (snapped, jittered, trace), strict=True):
            rows.append(_row(mutation, changed, source))
            latency = rows[-1]["adjusted_latency"]
            tell(f"{mutation} at {ticks_per_second} ticks/s: adjusted latency {latency:.3f} s")
    write_rows(folder / RESULTS, COLUMNS, rows)
    return rows


def _row(mutation: str, table: Mapping[str, Any], trace: Path) -> dict[str, Any]:
    statistics = simulate(read_parameters(table), trace).statistics
    return {
        "mutation_type": mutation,
        "ticks_per_second": table["ticks_per_second"],
        "adjusted_latency": statistics.adjusted_latency(),
        "mean_latency": statistics.pipelines_all.mean_latency_seconds,
        "p99_latency": statistics.pipelines_all.p99_latency_seconds,
        "failures": statistics.failures,
    }


def write_rows(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write a CSV file."""
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    except OSError as why:
        raise InputError(f"cannot be written: {why.strerror}", source=str(path)) from None


def generate_trace(table: Mapping[str, Any], path: Path) -> int:
    """Write the random workload of these parameters as a trace; returns the number of pipelines."""
    parameters = read_parameters(table).parameters
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            return write_trace(file, make_arrivals(parameters), parameters.max_ticks, parameters.tick_length)
    except OSError as why:
        raise InputError(f"cannot be written: {why.strerror}", source=str(path)) from None


# --------------------------------------------------------------------------- many workloads


@dataclass(frozen=True, slots=True)
class Sample:
    """One workload of a sample.

    Attributes:
        table: parameters, with the seed of this workload.
        imports: files and modules of the user's policies.
    """

    index: int
    table: dict[str, Any]
    folder: Path
    jitter_seed: int
    imports: tuple[str, ...]


def sensitivity_sample(
    table: Mapping[str, Any],
    folder: Path,
    size: int,
    *,
    start_seed: int = 42,
    jitter_seed: int = 42,
    imports: Sequence[str] = (),
    workers: int | None = None,
) -> dict[int, str | None]:
    """Generate *size* workloads with seeds from *start_seed* on and run the sensitivity analysis of each.

    The original sets a parameter ``seed`` that nobody reads, so that all its workloads are the same one.

    Returns:
        for each workload None, or why it failed; ``results.csv`` holds the rows of the others.
    """
    folder.mkdir(parents=True, exist_ok=True)
    samples = [
        Sample(index, {**table, "random_seed": start_seed + index}, folder, jitter_seed, tuple(imports))
        for index in range(size)
    ]
    processes = min(size, workers or os.cpu_count() or 1)
    if processes <= 1:
        outcomes = list(map(_run_sample, samples))
    else:
        with ProcessPoolExecutor(processes) as pool:
            outcomes = list(pool.map(_run_sample, samples))
    rows = [{"workload": f"w{i}", **row} for i, (_, found) in enumerate(outcomes) for row in found]
    write_rows(folder / RESULTS, ("workload", *COLUMNS), rows)
    return {index: failure for index, (failure, _) in enumerate(outcomes)}


def _run_sample(sample: Sample) -> tuple[str | None, list[dict[str, Any]]]:
    log = sample.folder / f"w{sample.index}.log"
    trace = sample.folder / f"w{sample.index}.csv"
    lines = [f"seed {sample.table['random_seed']}"]
    try:
        import_users(sample.imports)
        lines.append(f"{generate_trace(sample.table, trace)} pipelines in {trace.name}")
        target = sample.folder / f"w{sample.index}"
        rows = sensitivity(sample.table, trace, target, jitter_seed=sample.jitter_seed, tell=lines.append)
        failure = None
    except BatpyError as why:
        rows, failure = [], one_line(why)
        lines.append(f"error: {failure}")
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return failure, rows
