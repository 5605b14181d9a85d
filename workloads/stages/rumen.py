"""Importer of Rumen job traces (Hadoop): JSON objects one after another, -1 for what is not known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from batpy.base.errors import InputError
from batpy.workloads.stages.graph import Application
from batpy.workloads.stages.mapreduce import Attempt, JobFacts, application, locality_of, totals_of
from batpy.workloads.stages.tally import Tally
from batpy.workloads.stages.texts import FieldError, integer, items, json_objects, read_whole, record

NO_FINISH = "job without finishTime (-1: it never ended, or its history is incomplete)"
NO_SUBMIT = "job without submitTime"
NO_TASK = "job without a task attempt"
BAD_JOB = "job with a malformed field"
NO_TIMES = "task attempt without startTime or finishTime"
NOT_GOOD = "job that was killed or failed"
_LISTS = ("mapTasks", "reduceTasks", "otherTasks")
_KINDS = {"MAP": "map", "REDUCE": "reduce", "SETUP": "setup", "CLEANUP": "cleanup"}


def read_rumen(paths: Sequence[str | Path], tally: Tally) -> list[Application]:
    """Read job traces.

    Raises:
        InputError: unreadable, not JSON, or a trace of another kind; in strict mode the first job or
            attempt that cannot be used.
    """
    found = []
    for path in paths:
        source = str(path)
        for index, (line, raw) in enumerate(json_objects(read_whole(path, source), source)):
            if "jobID" not in raw:
                problem = "missing; a Rumen trace is made of jobs with jobID, submitTime and mapTasks"
                if "children" in raw:
                    problem = "this is a Rumen topology (name and children); name the job trace instead"
                raise InputError(problem, source=source, line=line, path="jobID")
            try:
                job = _job(raw, source, line, tally)
            except FieldError as why:
                tally.skip(BAD_JOB, source, line, f"job[{index}].{why.path}", why.problem)
                continue
            if job is not None:
                found.append(job)
    return found


def _job(raw: Mapping[str, Any], source: str, line: int, tally: Tally) -> Application | None:
    submitted, finished = integer(raw, "submitTime", -1), integer(raw, "finishTime", -1)
    id = str(raw["jobID"])
    if finished < 0 or submitted < 0:
        tally.skip(NO_FINISH if finished < 0 else NO_SUBMIT, source, line, id)
        return None
    attempts: list[Attempt] = []
    for key in _LISTS:
        for task in items(raw, key):
            for attempt in _attempts(record(task, key)):
                if attempt.start_ms < 0 or attempt.finish_ms < 0:
                    tally.skip(NO_TIMES, source, line, attempt.task)
                else:
                    attempts.append(attempt)
    if not attempts:
        tally.skip(NO_TASK, source, line, id)
        return None
    outcome = str(raw.get("outcome") or "SUCCESS")
    if outcome != "SUCCESS":
        tally.note(NOT_GOOD, source, line, id)
    facts = JobFacts(
        id=id,
        submitted_ms=submitted,
        finished_ms=finished,
        name=str(raw.get("jobName") or ""),
        user=str(raw.get("user") or ""),
        queue=str(raw.get("queue") or ""),
        totals=totals_of(raw),
        properties={"outcome": outcome},
    )
    return application(facts, attempts)


def _attempts(task: Mapping[str, Any]) -> Iterator[Attempt]:
    kind = str(task.get("taskType") or "MAP")
    kind = _KINDS.get(kind, kind.lower())
    preferred = [_place(place) for place in items(task, "preferredLocations")]
    for value in items(task, "attempts"):
        raw = record(value, "attempts")
        usage = record(raw.get("resourceUsageMetrics") or {}, "resourceUsageMetrics")
        cpu = integer(usage, "cumulativeCpuUsage", -1)
        place = _place(raw.get("location")) if raw.get("location") else _host(raw.get("hostName"))
        yield Attempt(
            task=str(task.get("taskID")),
            kind=kind,
            start_ms=integer(raw, "startTime", -1),
            finish_ms=integer(raw, "finishTime", -1),
            good=raw.get("result") in ("SUCCESS", "SUCCEEDED"),
            host=place[1],
            locality=locality_of(place, preferred) if kind == "map" else "",
            cpu_ms=cpu if cpu >= 0 else None,
            peak_memory=max(0, integer(usage, "physicalMemoryUsage", 0)),
            sums=_sums(raw, kind),
        )


def _sums(raw: Mapping[str, Any], kind: str) -> dict[str, int]:
    def known(key: str) -> int:
        return max(0, integer(raw, key, 0))

    sums = {"input_bytes": known("hdfsBytesRead"), "output_bytes": known("hdfsBytesWritten")}
    if kind == "map":
        sums["shuffle_write_bytes"] = known("mapOutputBytes")
    elif kind == "reduce":
        sums["shuffle_remote_bytes"] = known("reduceShuffleBytes")
        sums["fetch_wait_us"] = max(0, known("shuffleFinished") - known("startTime")) * 1000
    return sums


def _place(value: Any) -> tuple[str, str]:
    """(rack, host) of a location."""
    layers = items(record(value, "location"), "layers")
    return ("", "") if not layers else (str(layers[0]), str(layers[-1]))


def _host(value: Any) -> tuple[str, str]:
    rack, _, host = str(value or "").strip("/").rpartition("/")
    return rack, host
