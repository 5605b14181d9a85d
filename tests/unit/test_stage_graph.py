"""The stage graph: its JSON form, tables of task times, slots, telling files apart, joining."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import spark_logs as logs

from batpy.base.errors import InputError
from batpy.workloads.stages.form import graph_json, parse_graph, read_graph, write_graph
from batpy.workloads.stages.graph import (
    Application,
    ResourceProfile,
    Stage,
    StageGraph,
    peak,
    peak_hosts,
    ranks,
    slots_per_executor,
    table_of,
    times_from,
)
from batpy.workloads.stages.importing import ImportOptions, import_graph, kind_of

TABLE = tuple(range(17))
STAGES = (
    Stage(id=0, tasks=3, done=2, times_us=TABLE, locality={"ANY": 2}),
    Stage(id=1, tasks=1, parents=(0,)),
)
GRAPH = StageGraph(
    source="spark", origin_ms=5, applications=(Application(id="a", framework="spark", stages=STAGES),)
)


def tree() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(graph_json(GRAPH))
    return content


def test_a_graph_comes_back_from_its_file(tmp_path: Path) -> None:
    for name in ("graph.json", "graph.json.gz"):
        write_graph(GRAPH, tmp_path / name)
        assert read_graph(tmp_path / name) == GRAPH
    assert gzip.decompress((tmp_path / "graph.json.gz").read_bytes()) == graph_json(GRAPH)
    assert tree()["format"] == "batpy-stage-graph"


def change(path: str, value: Any) -> bytes:
    content = tree()
    place: Any = content
    *way, last = [int(key) if key.isdecimal() else key for key in path.split(".")]
    for key in way:
        place = place[key]
    place[last] = value
    return json.dumps(content).encode()


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("format", "x", r"format: not a stage graph"),
        ("version", 2, r"version: must be 1, the version this release reads, got 2"),
        ("colour", 1, r"unknown field `colour`"),
        ("source", "slurm", r"source: Invalid enum value 'slurm'"),
        ("applications.0.stages.1.tasks", "x", r"applications\[0\].stages\[1\].tasks: Expected `int`"),
        ("applications.0.stages.1.tasks", -1, r"applications\[0\].stages\[1\].tasks: Expected `int` >= 0"),
        ("applications.0.stages.1.cpu", 3, r"applications\[0\].stages\[1\]: .*unknown field `cpu`"),
        ("applications.0.stages.1.parents", [7], r"stages\[1\].parents: 7 is no stage of this application"),
        ("applications.0.stages.0.parents", [1], r"leads back to itself"),
        ("applications.0.stages.1.id", 0, r"stages\[1\].id: attempt 0 of stage 0 is there twice"),
        ("applications.0.stages.0.done", 4, r"stages\[0\].done: must be at most tasks \(3\), got 4"),
        ("applications.0.stages.0.times_us", [1, 2], r"times_us: must be empty or 17 values"),
        ("applications.0.stages.0.times_us", [2] + [1] * 16, r"times_us: .* ascending order"),
        ("applications.0.profiles", [{"id": 3}], r"stages\[0\].profile: 0 is not among the profiles"),
    ],
)
def test_what_breaks_the_form_is_told_with_its_path(path: str, value: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_graph(change(path, value), "graph.json")


def test_two_applications_of_one_name_are_refused() -> None:
    content = tree()
    content["applications"] *= 2
    with pytest.raises(InputError, match=r"applications\[1\].id: 'a' is there twice"):
        parse_graph(json.dumps(content).encode(), "graph.json")


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff"])
def test_what_is_no_object_is_refused(content: bytes) -> None:
    with pytest.raises(InputError, match=r"^graph.json: "):
        parse_graph(content, "graph.json")


def test_a_table_holds_minimum_quantiles_and_maximum() -> None:
    assert table_of([]) == ()
    assert table_of([5]) == (5,) * 17
    assert table_of(range(0, 1601)) == tuple(range(0, 1601, 100))


def test_times_from_a_table_have_its_ends_and_its_middle() -> None:
    table = table_of([1, 2, 3, 4, 100])
    assert times_from(table, 5) == [1, 2, 3, 4, 100]
    assert times_from(table, 1) == [3]
    assert times_from((), 4) == times_from(table, 0) == []


def test_the_scarcest_resource_decides_how_many_tasks_an_executor_runs() -> None:
    gpus = ResourceProfile(id=0, executor={"cores": 4, "gpu": 1}, task={"cpus": 1, "gpu": 0.25})
    assert slots_per_executor(gpus, 4) == 4
    assert slots_per_executor(gpus, 16) == 4
    assert slots_per_executor(ResourceProfile(id=0, task={"cpus": 2}), 5) == 2
    tenth = ResourceProfile(id=0, executor={"gpu": 1}, task={"cpus": 1, "gpu": 0.1})
    assert slots_per_executor(tenth, 64) == 10  # not 9, whatever floats make of 1 / 0.1


def test_those_who_leave_at_an_instant_make_room_for_those_who_come() -> None:
    assert peak([(0, 5, 2), (5, None, 2), (9, 10, 1), (3, 3, 7)]) == 3
    assert peak_hosts([(0, 5, "a"), (1, 9, "a"), (9, 10, "b"), (2, 3, "b")]) == 2
    assert peak_hosts([(0, None, "a"), (7, 8, "a")]) == 1


def test_ranks_are_the_longest_ways() -> None:
    assert ranks({1: [], 2: [1], 3: [1, 2, 99]}) == {1: 0, 2: 1, 3: 2}
    assert ranks({1: [2], 2: [1], 3: []}) == 1


HEADS = {
    "spark": '{"Event":"SparkListenerLogStart"}\n',
    "jhist": "Avro-Json\n{}\n",
    "rumen": '{\n "priority": "NORMAL", "jobID": "job_1", "mapTasks": []}',
    "sls": '{"am.type": "mapreduce", "job.start.ms": 0, "job.tasks": [',
    "swim": "job0\t49\t49\t740773\t0\t627471\n",
    "wfcommons": '{"name": "x", "schemaVersion": "1.5", "workflow": {"specification": {"tasks": []}}}',
    "stages": '[{"Stage ID": 0, "Parents IDs": []}]',
    "graph": '{\n "format": "batpy-stage-graph"}',
}


@pytest.mark.parametrize("kind", HEADS)
def test_files_are_told_apart_by_their_content(tmp_path: Path, kind: str) -> None:
    for name, content in (("plain", HEADS[kind].encode()), ("packed", gzip.compress(HEADS[kind].encode()))):
        (tmp_path / name).write_bytes(content)
        assert kind_of(tmp_path / name) == kind


def test_a_file_of_no_known_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("; MaxProcs: 8\n1 0 5 100 2\n")
    with pytest.raises(InputError, match="of no known kind: it begins with '; MaxProcs"):
        kind_of(tmp_path / "x")


def test_applications_are_dated_from_the_first_and_named_apart(tmp_path: Path) -> None:
    for name, time in (("late", 9000), ("soon", 4000)):
        (tmp_path / name).write_bytes(logs.lines([logs.start(time, "same"), logs.end()]))
    graph = import_graph([tmp_path / "late", tmp_path / "soon"], "spark").graph
    assert graph.origin_ms == 4000
    assert [(a.id, a.submitted_us) for a in graph.applications] == [("same~2", 0), ("same", 5_000_000)]


def test_graphs_are_joined_on_one_clock(tmp_path: Path) -> None:
    later = StageGraph(
        source="rumen", origin_ms=25, applications=(Application(id="a", framework="mapreduce"),)
    )
    write_graph(later, tmp_path / "later")
    write_graph(GRAPH, tmp_path / "first")
    graph = import_graph([tmp_path / "later", tmp_path / "first"]).graph
    assert (graph.source, graph.origin_ms) == ("mixed", 5)
    assert [(a.id, a.submitted_us) for a in graph.applications] == [("a~2", 0), ("a", 20_000)]


def test_nothing_left_is_refused_with_the_reasons(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("job0\t1\t1\n")
    with pytest.raises(InputError, match="nothing could be imported: 1 x row without the six columns"):
        import_graph([tmp_path / "x"], "swim")
    with pytest.raises(InputError, match="split_bytes: must be at least 1"):
        ImportOptions(split_bytes=0)
