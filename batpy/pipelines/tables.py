"""What a run leaves in a folder: statistics, and a row for every pipeline, container and event."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from batpy.models.containers.engine import PipelineRun
from batpy.models.containers.statistics import SimulatorStats

FILES = ("statistics.json", "pipelines.csv", "containers.csv", "events.csv")


def plain(value: Any) -> Any:
    """*value* for JSON: what is not finite becomes null."""
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def statistics_table(statistics: SimulatorStats, max_job_seconds: float) -> dict[str, Any]:
    """All statistics and the adjusted latency, for JSON.

    The adjusted latency is divided by the share of finished pipelines; with a time limit each unfinished one
    counts twice the limit instead, as the original's command has it.
    """
    return plain(statistics.to_dict() | {"adjusted_latency": adjusted(statistics, max_job_seconds)})  # type: ignore[no-any-return]


def adjusted(statistics: SimulatorStats, max_job_seconds: float) -> float:
    """The adjusted latency as the command shows it."""
    if max_job_seconds:
        return statistics.adjusted_latency(
            divide_by_completion_rate=False, unfinished_penalty_seconds=2 * max_job_seconds
        )
    return statistics.adjusted_latency()


def write_tables(folder: Path, run: PipelineRun, statistics: SimulatorStats) -> None:
    """Write all files; the folder is made if it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    table = statistics_table(statistics, run.parameters.max_job_seconds)
    (folder / FILES[0]).write_text(json.dumps(table, indent=2) + "\n", encoding="utf-8")
    _write(folder / FILES[1], PIPELINE_COLUMNS, pipeline_rows(run))
    _write(folder / FILES[2], CONTAINER_COLUMNS, container_rows(run))
    _write(folder / FILES[3], EVENT_COLUMNS, event_rows(run))


def _write(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


PIPELINE_COLUMNS = (
    "pipeline_id",
    "priority",
    "operators",
    "completed_operators",
    "arrival_tick",
    "first_start_tick",
    "finish_tick",
    "arrival_seconds",
    "first_start_seconds",
    "finish_seconds",
    "queueing_delay_seconds",
    "latency_seconds",
    "timed_out",
)


def pipeline_rows(run: PipelineRun) -> Iterator[tuple[Any, ...]]:
    """One row a pipeline, in order of arrival; what is not known is empty."""
    per_second = run.parameters.ticks_per_second
    late = {pipeline for dropped in run.record.timed_out.values() for pipeline in dropped}

    def seconds(tick: int | None) -> float | str:
        return "" if tick is None else tick / per_second

    for pipeline in run.record.pipelines:
        status = pipeline.status
        arrival = status.arrival_tick or 0
        start, finish = status.start_tick, status.finish_tick
        yield (
            pipeline.unique_id,
            pipeline.priority.name,
            len(pipeline.values),
            sum(op.value.value == "completed" for op in pipeline.values.nodes),
            arrival,
            "" if start is None else start,
            "" if finish is None else finish,
            seconds(arrival),
            seconds(start),
            seconds(finish),
            seconds(None if start is None else start - arrival),
            seconds(None if finish is None else finish - arrival),
            int(pipeline in late),
        )


CONTAINER_COLUMNS = (
    "container_id",
    "pool",
    "pipeline_id",
    "priority",
    "operators",
    "cpu",
    "ram_gb",
    "start_seconds",
    "end_seconds",
    "outcome",
)


def container_rows(run: PipelineRun) -> Iterator[tuple[Any, ...]]:
    """One row a container, in order of start; the end is the last tick it was executed or written out in."""
    per_second = run.parameters.ticks_per_second
    for event in run.record.events:
        if event.kind != "start":
            continue
        container = event.container
        last = container.suspended_at if container.suspend_ticks is not None else container.ended
        if container.suspend_ticks is not None:
            outcome = "suspending" if last is None else "suspended"
        else:
            outcome = "running" if last is None else container.error or "completed"
        yield (
            container.container_id,
            container.pool_id,
            container.get_pipeline_id(),
            container.priority.name,
            " ".join(op.id for op in container.operators),
            container.cpu,
            container.ram,
            container.started / per_second,
            "" if last is None else last / per_second,
            outcome,
        )


EVENT_COLUMNS = (
    "tick",
    "seconds",
    "event",
    "container_id",
    "pool",
    "pipeline_id",
    "operators",
    "cpu",
    "ram_gb",
    "error",
    "completed_operators",
)


def event_rows(run: PipelineRun) -> Iterator[tuple[Any, ...]]:
    """One row an event, in order; what a container was given stands at its start."""
    per_second = run.parameters.ticks_per_second
    for event in run.record.events:
        container = event.container
        order: tuple[Any, ...] = ("", "", "", "")
        if event.kind == "start":
            names = " ".join(op.id for op in container.operators)
            order = (container.get_pipeline_id(), names, container.cpu, container.ram)
        yield (
            event.tick,
            event.tick / per_second,
            event.kind,
            container.container_id,
            container.pool_id,
            *order,
            event.error or "",
            " ".join(op.id for op in event.done),
        )
