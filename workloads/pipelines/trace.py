"""Eudoxia's trace CSV: one row an operator, the rows of a pipeline together.

``arrival_seconds`` and ``priority`` stand on the first row of a pipeline only; ``parents`` names operators
of earlier rows, separated by ``;``; an empty ``memory_gb`` means memory that grows with what is read.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TextIO

from batpy.base.errors import InputError
from batpy.base.files import refuse_special
from batpy.base.pipelines import Priority
from batpy.workloads.pipelines.pipeline import OperatorSpec, PipelineSource, PipelineSpec, Shape, make_shape
from batpy.workloads.pipelines.segment import SCALING, Segment

COLUMNS = (
    "pipeline_id",
    "arrival_seconds",
    "priority",
    "operator_id",
    "parents",
    "baseline_cpu_seconds",
    "cpu_scaling",
    "memory_gb",
    "storage_read_gb",
)
ARRIVAL_NOISE = 1e-9
"""Part of a tick by which an arrival may be late without being moved, where the original's rounding is not
asked for: 0.07 s at 100 ticks/s is 7.000000000000001 ticks."""


class Row(NamedTuple):
    """One line: its number in the file, and its fields by column."""

    line: int
    fields: dict[str, str]


class Arrival(NamedTuple):
    """A pipeline and when it arrives, in seconds."""

    seconds: float
    pipeline: PipelineSpec


def read_trace(path: str | Path) -> Iterator[Arrival]:
    """Read a trace file lazily; the file is closed when the iterator is.

    Raises:
        InputError: with file, line and column.
    """
    name = str(path)
    refuse_special(path, name)
    try:
        file = Path(path).open(encoding="utf-8-sig", newline="")  # noqa: SIM115 - below
    except (OSError, ValueError) as why:
        problem = getattr(why, "strerror", None) or why
        raise InputError(f"cannot be read: {problem}", source=name) from None
    with file:
        yield from read_arrivals(file, name)


def read_arrivals(file: TextIO, name: str) -> Iterator[Arrival]:
    """The pipelines of an open trace, in the order of its rows."""
    group: list[Row] = []
    shapes: dict[tuple[tuple[str, ...], ...], Shape] = {}
    for row in _rows(file, name):
        if group and row.fields["pipeline_id"] != group[0].fields["pipeline_id"]:
            yield _pipeline(group, name, shapes)
            group = []
        group.append(row)
    if group:
        yield _pipeline(group, name, shapes)


def _rows(file: TextIO, name: str) -> Iterator[Row]:
    reader = csv.DictReader(file, restkey="", restval="", strict=False)
    try:
        missing = [column for column in COLUMNS if column not in (reader.fieldnames or ())]
        if missing:
            raise InputError(f"the header lacks {', '.join(missing)}", source=name, line=1)
        for fields in reader:
            if "" in fields:
                raise InputError("more fields than the header has", source=name, line=reader.line_num)
            yield Row(reader.line_num, fields)
    except UnicodeDecodeError:
        raise InputError("is not a text in UTF-8", source=name) from None
    except csv.Error as why:
        raise InputError(f"not a CSV file: {why}", source=name, line=reader.line_num) from None


def _pipeline(rows: Sequence[Row], name: str, shapes: dict[tuple[tuple[str, ...], ...], Shape]) -> Arrival:
    first = rows[0]
    for row in rows[1:]:
        for column in ("priority", "arrival_seconds"):
            if row.fields[column].strip():
                raise _wrong(row, column, "may stand on the first row of a pipeline only", name)
    priority = first.fields["priority"].strip()
    if priority not in Priority.__members__:
        choices = ", ".join(Priority.__members__)
        raise _wrong(first, "priority", f"must be one of {choices}, got {priority!r}", name)
    seconds = _number(first, "arrival_seconds", name)
    # Pipelines of equal form share their operators.
    key = tuple(tuple(row.fields[column] for column in COLUMNS[3:]) for row in rows)
    shape = shapes.get(key)
    if shape is None:
        shape = make_shape(_operators(rows, name))
        if len(shapes) < 10_000:
            shapes[key] = shape
    return Arrival(seconds, PipelineSpec(first.fields["pipeline_id"], Priority[priority], shape))


def _operators(rows: Sequence[Row], name: str) -> list[OperatorSpec]:
    positions: dict[str, int] = {}
    operators = []
    for row in rows:
        parents = []
        for parent in filter(None, map(str.strip, row.fields["parents"].split(";"))):
            if parent not in positions:
                told = f"{parent!r} is no operator of an earlier row of this pipeline"
                raise _wrong(row, "parents", told, name)
            parents.append(positions[parent])
        operator = row.fields["operator_id"]
        operators.append(OperatorSpec(operator, (_segment(row, name),), tuple(parents)))
        positions[operator] = len(operators) - 1
    return operators


def _segment(row: Row, name: str) -> Segment:
    scaling = row.fields["cpu_scaling"]
    if scaling not in SCALING:
        raise _wrong(row, "cpu_scaling", f"must be one of {', '.join(SCALING)}, got {scaling!r}", name)
    memory = _number(row, "memory_gb", name) if row.fields["memory_gb"] else None
    return Segment(
        _number(row, "baseline_cpu_seconds", name), scaling, memory, _number(row, "storage_read_gb", name)
    )


def _number(row: Row, column: str, name: str) -> float:
    text = row.fields[column]
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number < 1e15:
        raise _wrong(row, column, f"must be a number from 0 to 1e15, got {text!r}", name)
    return number


def _wrong(row: Row, column: str, told: str, name: str) -> InputError:
    return InputError(told, source=name, line=row.line, path=column)


class TraceSource:
    """Delivers a trace in ticks: a batch of equal dates at the first tick that is not before its date.

    Only the head batch is looked at: a row that is out of order waits behind the earlier ones.

    Args:
        exact: round as the original does, float noise included (``arrival_seconds / tick_length``);
            otherwise noise of 1e-9 ticks is taken off first.
    """

    def __init__(self, arrivals: Iterable[Arrival], tick_length: float, *, exact: bool) -> None:
        self._arrivals = iter(arrivals)
        self._tick_length = tick_length
        self._exact = exact
        self._after = next(self._arrivals, None)
        self._batch: list[PipelineSpec] = []
        self._due: int | None = None
        self._load()

    def _load(self) -> None:
        """Make the next batch ready."""
        head = self._after
        if head is None:
            self._batch, self._due = [], None
            return
        self._batch = [head.pipeline]
        while (after := next(self._arrivals, None)) is not None and after.seconds == head.seconds:
            self._batch.append(after.pipeline)
        self._after = after
        self._due = self._tick_of(head.seconds)

    def _tick_of(self, seconds: float) -> int:
        position = seconds / self._tick_length
        if not self._exact:
            nearest = round(position)
            if abs(position - nearest) <= ARRIVAL_NOISE * max(1.0, position):
                return nearest
        return math.ceil(position)

    def next_tick(self) -> int | None:
        """Tick at which the head batch is due; it may lie in the past after an out-of-order row."""
        return self._due

    def take(self, tick: int) -> Sequence[PipelineSpec]:
        """All batches that are due at *tick*."""
        taken: list[PipelineSpec] = []
        while self._due is not None and self._due <= tick:
            taken += self._batch
            self._load()
        return taken


def write_trace(file: TextIO, source: PipelineSource, max_ticks: int, tick_length: float) -> int:
    """Write the arrivals of *max_ticks* ticks; ids are p1, p2, ..., operators op1, op2, ....

    Returns:
        the number of pipelines.

    Raises:
        InputError: an operator has not exactly one segment with a named scaling function.
    """
    writer = csv.writer(file)
    writer.writerow(COLUMNS)
    count = 0
    while (tick := source.next_tick()) is not None and tick < max_ticks:
        for pipeline in source.take(tick):
            count += 1
            writer.writerows(_trace_rows(pipeline, f"p{count}", tick * tick_length))
    return count


def _trace_rows(pipeline: PipelineSpec, name: str, seconds: float) -> Iterator[tuple[object, ...]]:
    for position, operator in enumerate(pipeline.shape.operators):
        if len(operator.segments) != 1 or not isinstance(operator.segments[0].cpu_scaling, str):
            told = "a trace holds operators of one segment with a named scaling function only"
            raise InputError(told, source=pipeline.pipeline_id, path=operator.name)
        segment = operator.segments[0]
        yield (
            name,
            "" if position else seconds,
            "" if position else pipeline.priority.name,
            f"op{position + 1}",
            ";".join(f"op{parent + 1}" for parent in operator.parents),
            segment.baseline_cpu_seconds,
            segment.cpu_scaling,
            "" if segment.memory_gb is None else segment.memory_gb,
            segment.storage_read_gb,
        )
