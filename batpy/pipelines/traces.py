"""Changes to trace files: arrivals rounded down to ticks, or moved a little at random. Extra columns stay."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from batpy.base.errors import InputError
from batpy.base.files import read_text

Fields = dict[str, Any]


def check_new(path: Path, *, force: bool) -> None:
    """Refuse to replace a file unless asked to.

    Raises:
        InputError: it is there.
    """
    if path.exists() and not force:
        raise InputError("exists; name another file, or say --force", source=str(path))


def _read(path: Path) -> tuple[list[str], list[Fields]]:
    reader = csv.DictReader(read_text(path).splitlines(), restkey="", restval="")
    try:
        rows = list(reader)
    except csv.Error as why:
        raise InputError(f"not a CSV file: {why}", source=str(path), line=reader.line_num) from None
    columns = list(reader.fieldnames or ())
    for column in ("pipeline_id", "arrival_seconds"):
        if column not in columns:
            raise InputError(f"the header lacks {column}", source=str(path), line=1)
    for line, row in enumerate(rows, 2):
        if "" in row:
            raise InputError("more fields than the header has", source=str(path), line=line)
    return columns, rows


def _write(path: Path, columns: Sequence[str], rows: Sequence[Fields]) -> None:
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=columns)
            writer.writeheader()
            writer.writerows(rows)
    except OSError as why:
        raise InputError(f"cannot be written: {why.strerror}", source=str(path)) from None


def _check_pair(source: Path, target: Path) -> None:
    if target.exists() and source.exists() and target.samefile(source):
        raise InputError("would overwrite the trace that is read; name another file", source=str(target))


def _seconds(row: Fields, source: Path, line: int) -> float:
    text = row["arrival_seconds"].strip()
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        told = f"must be a number, got {text!r}"
        raise InputError(told, source=str(source), line=line, path="arrival_seconds")
    return value


def snap(source: Path, target: Path, ticks_per_second: int) -> None:
    """Round every arrival down to a tick.

    Raises:
        InputError: a file or the number of ticks cannot be used.
    """
    if ticks_per_second <= 0:
        raise InputError(f"must be positive, got {ticks_per_second}", source="ticks_per_second")
    _check_pair(source, target)
    columns, rows = _read(source)
    for line, row in enumerate(rows, 2):
        if row["arrival_seconds"].strip():
            seconds = _seconds(row, source, line)
            row["arrival_seconds"] = math.floor(seconds * ticks_per_second) / ticks_per_second
    _write(target, columns, rows)


def jitter(source: Path, target: Path, delta: float, seed: int = 42) -> None:
    """Add a uniform random number from 0 to *delta* seconds to every arrival, and sort by arrival.

    One draw of numpy's PCG64 for each pipeline, in the order of the file.

    Raises:
        InputError: a file or the delta cannot be used.
    """
    import numpy as np

    if not 0 <= delta < math.inf:
        raise InputError(f"must be a number of at least 0, got {delta}", source="delta")
    if seed < 0:
        raise InputError(f"must be at least 0, got {seed}", source="--seed")
    _check_pair(source, target)
    columns, rows = _read(source)
    random = np.random.default_rng(seed)
    groups: list[tuple[float, list[Fields]]] = []
    current = None
    for line, row in enumerate(rows, 2):
        if groups and row["pipeline_id"] == current:
            if row["arrival_seconds"].strip():
                told = "may stand on the first row of a pipeline only"
                raise InputError(told, source=str(source), line=line, path="arrival_seconds")
            groups[-1][1].append(row)
            continue
        current = row["pipeline_id"]
        moved = _seconds(row, source, line) + float(random.uniform(0, delta))
        row["arrival_seconds"] = moved
        groups.append((moved, [row]))
    groups.sort(key=lambda group: group[0])
    _write(target, columns, [row for _, group in groups for row in group])
