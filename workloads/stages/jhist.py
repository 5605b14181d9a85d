"""Importer of MapReduce job history files (.jhist, Hadoop 0.23 to 3): Avro's JSON, one event a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from batpy.base.errors import InputError
from batpy.workloads.stages.graph import Application
from batpy.workloads.stages.mapreduce import Attempt, JobFacts, application, totals_of
from batpy.workloads.stages.tally import Tally
from batpy.workloads.stages.texts import FieldError, integer, items, read_whole, record

FIRST_LINE = b"Avro-Json"
MALFORMED = "line that is not a job history event"
BAD_EVENT = "event with a missing or malformed field"
NO_START = "task attempt that ends without having started"
NO_END = "task attempt without an end"
NO_FINISH = "job history without the job's end"
_AVRO_TYPES = ("string", "long", "int", "boolean", "double", "float", "bytes", "array", "map")
_KINDS = {"MAP": "map", "REDUCE": "reduce", "JOB_SETUP": "setup", "JOB_CLEANUP": "cleanup"}
_ENDED = ("JOB_FINISHED", "JOB_FAILED", "JOB_KILLED", "JOB_ERROR")


class _Job:
    """What the events of one file have told so far."""

    def __init__(self) -> None:
        self.facts: dict[str, Any] = {}
        self.started: dict[str, dict[str, Any]] = {}
        self.attempts: list[Attempt] = []
        self.outcome = ""


def read_jhist(paths: Sequence[str | Path], tally: Tally) -> list[Application]:
    """Read job history files, one job a file.

    Raises:
        InputError: unreadable, not a job history, without a job's submission; in strict mode the first
            flaw, with its line.
    """
    return [_read(path, str(path), tally) for path in paths]


def _read(path: str | Path, source: str, tally: Tally) -> Application:
    lines = read_whole(path, source).split(b"\n")
    if lines[0].strip() != FIRST_LINE:
        problem = f"not a job history: the first line must be {FIRST_LINE.decode()!r}"
        if lines[0].startswith(b"Avro-Binary"):
            problem = "is in Avro's binary form; convert it with Hadoop's own tools to Avro-Json"
        raise InputError(problem, source=source, line=1)
    job = _Job()
    for number, line in enumerate(lines[2:], 3):
        if not line.strip():
            continue
        try:
            event = msgspec.json.decode(line, type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as why:
            tally.skip(MALFORMED, source, number, detail=str(why))
            continue
        try:
            _take(job, event, source, number, tally)
        except FieldError as why:
            tally.skip(BAD_EVENT, source, number, why.path, why.problem)
    if "jobid" not in job.facts or "submitTime" not in job.facts:
        raise InputError("not a job history: no JOB_SUBMITTED event", source=source)
    return _application(job, source, tally)


def _plain(value: Any) -> Any:
    """The value without Avro's tags, such as ``{"string": ...}``."""
    if isinstance(value, Mapping):
        if len(value) == 1:
            (tag,) = value
            if tag in _AVRO_TYPES or tag.startswith("org.apache.hadoop."):
                return _plain(value[tag])
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def _take(job: _Job, event: Mapping[str, Any], source: str, line: int, tally: Tally) -> None:
    kind = event.get("type")
    if not isinstance(kind, str):
        raise FieldError("type", "missing; the name of an event is required")
    if not kind.startswith(("JOB_", "MAP_", "REDUCE_", "SETUP_", "CLEANUP_")):
        return
    content = record(_plain(event.get("event")), "event")
    if kind.startswith("JOB_"):
        job.facts.update({key: value for key, value in content.items() if value is not None})
        if kind in _ENDED:
            job.outcome = str(content.get("jobStatus") or kind.removeprefix("JOB_"))
    elif kind.endswith("_STARTED"):
        job.started[str(content.get("attemptId"))] = dict(content)
    elif kind.endswith(("_FINISHED", "_FAILED", "_KILLED")):
        id = str(content.get("attemptId"))
        start = job.started.pop(id, None)
        if start is None:
            # A map whose output is lost after its end fails a second time.
            _undo(job, id, source, line, tally)
        else:
            job.attempts.append(_attempt(start, content, kind.endswith("_FINISHED")))


def _undo(job: _Job, attempt: str, source: str, line: int, tally: Tally) -> None:
    task = _task_of(attempt)
    for index, done in enumerate(job.attempts):
        if done.task == task and done.good:
            job.attempts[index] = replace(done, good=False)
            return
    tally.skip(NO_START, source, line, attempt)


def _task_of(attempt: str) -> str:
    return attempt.replace("attempt_", "task_", 1).rpartition("_")[0]


def _attempt(start: Mapping[str, Any], end: Mapping[str, Any], good: bool) -> Attempt:
    started, finished = integer(start, "startTime"), integer(end, "finishTime")
    kind = _KINDS.get(str(start.get("taskType")), str(start.get("taskType")).lower())
    counters = _counters(end.get("counters"))
    cpu = counters.get("CPU_MILLISECONDS")
    usages = items(end, "cpuUsages")
    if not cpu and usages:
        cpu = sum(value for value in usages if isinstance(value, int) and value > 0) or cpu
    return Attempt(
        task=str(start.get("taskid") or _task_of(str(start.get("attemptId")))),
        kind=kind,
        start_ms=started,
        finish_ms=finished,
        good=good,
        host=str(end.get("hostname") or start.get("trackerName") or ""),
        locality=str(start.get("locality") or "") if kind == "map" else "",
        cpu_ms=cpu,
        peak_memory=counters.get("PHYSICAL_MEMORY_BYTES", 0),
        sums=_sums(counters, end, kind, started) if good else {},
    )


def _counters(value: Any) -> dict[str, int]:
    found: dict[str, int] = {}
    if not isinstance(value, Mapping):
        return found
    for group in items(value, "groups"):
        for counter in items(record(group, "counters.groups"), "counts"):
            raw = record(counter, "counters.groups.counts")
            amount = integer(raw, "value", 0)
            if amount >= 0:
                found[str(raw.get("name"))] = amount
    return found


def _sums(counters: Mapping[str, int], end: Mapping[str, Any], kind: str, started: int) -> dict[str, int]:
    sums = {
        "gc_us": counters.get("GC_TIME_MILLIS", 0) * 1000,
        "input_bytes": counters.get("HDFS_BYTES_READ", 0),
        "output_bytes": counters.get("HDFS_BYTES_WRITTEN", 0),
    }
    if kind == "map":
        sums["shuffle_write_bytes"] = counters.get("MAP_OUTPUT_MATERIALIZED_BYTES", 0)
    elif kind == "reduce":
        sums["shuffle_remote_bytes"] = counters.get("REDUCE_SHUFFLE_BYTES", 0)
        sums["fetch_wait_us"] = max(0, integer(end, "shuffleFinishTime", started) - started) * 1000
    return sums


def _application(job: _Job, source: str, tally: Tally) -> Application:
    facts = job.facts
    for id in job.started:
        tally.repair(NO_END, source, path=id)
    if not job.outcome:
        tally.repair(NO_FINISH, source)
    try:
        finished = integer(facts, "finishTime", -1) if job.outcome else -1
        known = JobFacts(
            id=str(facts["jobid"]),
            submitted_ms=integer(facts, "submitTime"),
            finished_ms=finished if finished >= 0 else None,
            name=str(facts.get("jobName") or ""),
            user=str(facts.get("userName") or ""),
            queue=str(facts.get("jobQueueName") or ""),
            totals=totals_of(facts),
            properties={
                name: str(facts[key])
                for name, key in (("uberized", "uberized"), ("workflow", "workflowAdjacencies"))
                if facts.get(key) not in (None, "")
            }
            | {"outcome": job.outcome},
            complete=bool(job.outcome),
        )
    except FieldError as why:
        raise InputError(why.problem, source=source, path=why.path) from None
    return application(known, job.attempts)
