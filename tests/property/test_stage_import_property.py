"""Whatever is in a log: it is imported, or refused in one line that names the file."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import spark_logs as logs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from batpy.base.errors import InputError
from batpy.models.dag.replay import replay
from batpy.workloads.stages.form import graph_json, parse_graph
from batpy.workloads.stages.importing import ImportOptions, Kind, import_graph
from batpy.workloads.stages.job_options import JobOptions
from batpy.workloads.stages.jobs import to_workload

WEIRD = st.sampled_from(
    [
        None,
        True,
        "",
        "x",
        "\ud800",
        [],
        {},
        [1],
        {"a": 1},
        -1,
        0,
        1,
        2.5,
        -7.25,
        2**40,
        2**53,
        2**70,
        1e18,
        1e300,
    ]
)

JHIST = [
    {
        "type": "JOB_SUBMITTED",
        "event": {"j": {"jobid": "job_1", "submitTime": 10, "jobQueueName": {"string": "q"}}},
    },
    {"type": "JOB_INITED", "event": {"j": {"totalMaps": 1, "totalReduces": 0, "uberized": True}}},
    {
        "type": "MAP_ATTEMPT_STARTED",
        "event": {
            "m": {"attemptId": "a", "taskid": "t", "taskType": "MAP", "startTime": 12, "trackerName": "h"}
        },
    },
    {
        "type": "MAP_ATTEMPT_FINISHED",
        "event": {
            "m": {
                "attemptId": "a",
                "finishTime": 30,
                "hostname": "h",
                "cpuUsages": [1, 2],
                "counters": {"groups": [{"counts": [{"name": "HDFS_BYTES_READ", "value": 7}]}]},
            }
        },
    },
    {"type": "JOB_FINISHED", "event": {"j": {"finishTime": 40}}},
]
ATTEMPT = {
    "startTime": 20,
    "finishTime": 30,
    "result": "SUCCESS",
    "location": {"layers": ["r", "h"]},
    "hdfsBytesRead": 7,
    "resourceUsageMetrics": {"cumulativeCpuUsage": 5, "physicalMemoryUsage": 9},
}
RUMEN = {
    "jobID": "job_1",
    "submitTime": 10,
    "finishTime": 40,
    "totalMaps": 1,
    "outcome": "SUCCESS",
    "mapTasks": [{"taskID": "t", "taskType": "MAP", "attempts": [ATTEMPT], "preferredLocations": []}],
    "reduceTasks": None,
}
TASK = {
    "container.host": "/r/h",
    "container.start.ms": 5,
    "container.end.ms": 9,
    "container.type": "map",
    "count": 2,
}
SLS = {
    "am.type": "mapreduce",
    "job.start.ms": 1,
    "job.end.ms": 20,
    "job.id": "j",
    "job.count": 1,
    "job.tasks": [TASK],
}
OLD = {
    "name": "w",
    "schemaVersion": "1.4",
    "workflow": {
        "makespanInSeconds": 9,
        "machines": [{"cpu": {"count": 4}}],
        "tasks": [
            {
                "name": "a",
                "id": "1",
                "category": "c",
                "parents": [],
                "runtimeInSeconds": 2,
                "avgCPU": 50,
                "memoryInBytes": 3,
                "files": [{"link": "input", "name": "f", "sizeInBytes": 5}],
            }
        ],
    },
}
NEW = {
    "name": "w",
    "workflow": {
        "specification": {
            "tasks": [{"name": "a", "id": "1", "parents": [], "inputFiles": ["f"], "outputFiles": []}],
            "files": [{"id": "f", "sizeInBytes": 5}],
        },
        "execution": {
            "makespanInSeconds": 9,
            "machines": [],
            "tasks": [
                {"id": "1", "runtimeInSeconds": 2, "avgCPU": 50, "readBytes": 4, "command": {"program": "p"}}
            ],
        },
    },
}
HOMOGENEOUS = [
    {
        "Stage ID": 0,
        "Parents IDs": [],
        "Total Flops": 5,
        "Total IO": 1,
        "Total Communication": 2,
        "Number of Tasks": 3,
    },
    {"Stage ID": 1, "Parents IDs": [0], "Task Average Execution Time": 2, "Number of Tasks": 3},
]
HETEROGENEOUS = {
    "s_1": {"Parents IDs": [], "Tasks": {"d": 2, "p": 1}},
    "s_2": {"Parents IDs": ["s_1"], "Tasks": {"h": 4}},
    "d": {"type": "delay", "delay": 3},
    "p": {"type": "msg_par", "cpu": [1, 2], "com": [0, 1, 2, 3]},
    "h": {"type": "msg_par_hg", "cpu": 5, "com": 0},
}
SEEDS: dict[str, tuple[Kind, Any]] = {
    "spark": ("spark", logs.small()),
    "jhist": ("jhist", JHIST),
    "rumen": ("rumen", RUMEN),
    "sls": ("sls", SLS),
    "wfcommons 1.4": ("wfcommons", OLD),
    "wfcommons 1.5": ("wfcommons", NEW),
    "homogeneous": ("stages", HOMOGENEOUS),
    "heterogeneous": ("stages", HETEROGENEOUS),
}


def places(tree: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    found = [place for key, value in inner for place in places(value, (*way, key))]
    return [*found, way] if way else found


def text_of(kind: str, tree: Any) -> bytes:
    if kind == "spark":
        return b"".join(json.dumps(event).encode() + b"\n" for event in tree)
    if kind == "jhist":
        return b"Avro-Json\n{}\n" + b"".join(json.dumps(event).encode() + b"\n" for event in tree)
    return json.dumps(tree).encode()


@contextmanager
def refusable() -> Iterator[None]:
    """An InputError is an answer, if it is one line."""
    try:
        yield
    except InputError as why:
        if "\n" in str(why):
            raise AssertionError(f"more than one line: {why}") from why


def try_all(kind: Kind, path: Path) -> None:
    """Import, write, read, make jobs, replay; nothing but an InputError may come out."""
    for strict in (False, True):
        graph = None
        with refusable():
            graph = import_graph([path], kind, ImportOptions(strict=strict, keep_tasks=strict)).graph
            assert parse_graph(graph_json(graph), "graph") == graph
        if graph is None:
            continue
        for level in ("delay", "job", "stage_dag", "task"):
            with refusable():
                to_workload(graph, JobOptions(level=level))
        for application in graph.applications:
            if sum(stage.done for stage in application.stages) < 1000:
                with refusable():
                    replay(application)


@pytest.mark.parametrize("name", SEEDS)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_a_log_with_a_wrong_value_is_imported_or_refused(
    name: str, data: st.DataObject, tmp_path: Path
) -> None:
    kind, seed = SEEDS[name]
    tree = json.loads(json.dumps(seed))
    for _ in range(data.draw(st.integers(1, 2))):
        *way, last = data.draw(st.sampled_from(places(tree)))
        place = tree
        for key in way:
            place = place[key]
        if isinstance(place, dict) and data.draw(st.booleans()):
            del place[last]
        else:
            place[last] = copy.deepcopy(data.draw(WEIRD))
        if not places(tree):
            return
    path = tmp_path / "log"
    path.write_bytes(text_of(kind, tree))
    try_all(kind, path)


@pytest.mark.parametrize("name", SEEDS)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_a_damaged_log_is_imported_or_refused(name: str, data: st.DataObject, tmp_path: Path) -> None:
    kind, seed = SEEDS[name]
    content = bytearray(text_of(kind, seed))
    cut = data.draw(st.integers(0, len(content)))
    content = content[:cut]
    if content:
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "log"
    path.write_bytes(bytes(content))
    try_all(kind, path)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    rows=st.lists(
        st.lists(st.sampled_from(["job1", "0", "-1", "5", "1e400", "nan", "1e15", "x", ""]), max_size=9)
    )
)
def test_swim_rows_of_all_kinds(rows: list[list[str]], tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("\n".join("\t".join(row) for row in rows))
    try_all("swim", path)
