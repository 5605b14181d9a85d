"""Importer of job lists of YARN's Scheduler Load Simulator (Hadoop 2 and 3): objects, or one list of them.

As in SLS a task lasts ``duration.ms``, or from ``container.start.ms`` to ``container.end.ms``, and what
does not last is refused. ``count`` of a task and ``job.count`` stand for so many equal ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from batpy.base.errors import InputError
from batpy.workloads.stages.graph import Application
from batpy.workloads.stages.mapreduce import Attempt, JobFacts, application
from batpy.workloads.stages.tally import Tally
from batpy.workloads.stages.texts import FieldError, integer, items, json_objects, read_whole, record

BAD_JOB = "job with a malformed field"
BAD_TASK = "task with a malformed field"
NO_DURATION = "task whose duration is not above 0"
NO_TASK = "job without a task"
LARGEST_COUNT = 100_000


def read_sls(paths: Sequence[str | Path], tally: Tally) -> list[Application]:
    """Read job lists.

    Raises:
        InputError: unreadable, not JSON, or of another kind; in strict mode the first job or task that
            cannot be used.
    """
    found: list[Application] = []
    for path in paths:
        source = str(path)
        for index, (line, raw) in enumerate(json_objects(read_whole(path, source), source)):
            if "workloads" in raw and "num_nodes" in raw:
                problem = "is a SYNTH description, from which SLS draws jobs; only lists of jobs can be read"
                raise InputError(problem, source=source, line=line)
            if "job.tasks" not in raw and "am.type" not in raw:
                problem = "missing; an SLS job has job.start.ms and job.tasks"
                raise InputError(problem, source=source, line=line, path="job.tasks")
            try:
                found += _jobs(raw, index, source, line, tally)
            except FieldError as why:
                tally.skip(BAD_JOB, source, line, f"job[{index}].{why.path}", why.problem)
    return found


def _jobs(raw: Mapping[str, Any], index: int, source: str, line: int, tally: Tally) -> Iterator[Application]:
    id = str(raw.get("job.id") or f"job_{index}")
    start = integer(raw, "job.start.ms", 0)
    end = integer(raw, "job.end.ms", -1)
    count = _count(raw, "job.count")
    attempts: list[Attempt] = []
    dated = True
    for position, value in enumerate(items(raw, "job.tasks")):
        path = f"{id}.job.tasks[{position}]"
        try:
            task = record(value, "job.tasks")
            begin, duration = _span(task)
            # Some writers let each task start at 0: SLS itself takes nothing but its length.
            dated = dated and "container.start.ms" in task and begin >= start
        except FieldError as why:
            tally.skip(BAD_TASK, source, line, f"{path}.{why.path}", why.problem)
            continue
        if duration <= 0:
            tally.skip(NO_DURATION, source, line, path)
            continue
        attempts += _attempts(task, path, begin, duration)
    if not attempts:
        tally.skip(NO_TASK, source, line, id)
        return
    for copy in range(count):
        yield application(
            JobFacts(
                id=id if count == 1 else f"{id}_{copy}",
                submitted_ms=start,
                finished_ms=end if end >= start and "job.end.ms" in raw else None,
                user=str(raw.get("job.user") or ""),
                queue=str(raw.get("job.queue.name") or ""),
                properties={"am.type": str(raw.get("am.type") or "")},
                dated=dated,
            ),
            attempts,
        )


def _count(raw: Mapping[str, Any], key: str) -> int:
    count = integer(raw, key, 1)
    if not 1 <= count <= LARGEST_COUNT:
        raise FieldError(key, f"must lie between 1 and {LARGEST_COUNT}, got {count}")
    return count


def _span(task: Mapping[str, Any]) -> tuple[int, int]:
    begin = integer(task, "container.start.ms", 0)
    if task.get("duration.ms") is not None:
        return begin, integer(task, "duration.ms")
    return begin, integer(task, "container.end.ms") - integer(task, "container.start.ms")


def _attempts(task: Mapping[str, Any], path: str, begin: int, duration: int) -> Iterator[Attempt]:
    kind = str(task.get("container.type") or "map")
    host = str(task.get("container.host") or "").rpartition("/")[2]
    for copy in range(_count(task, "count")):
        yield Attempt(
            task=f"{path}.{copy}",
            kind=kind,
            start_ms=begin,
            finish_ms=begin + duration,
            good=True,
            host=host,
        )
