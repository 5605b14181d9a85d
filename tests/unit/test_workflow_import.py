"""Importing workflows of WfCommons and the stage files of the notes on Bebida."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from batpy.base.errors import InputError
from batpy.workloads.stages.graph import Application
from batpy.workloads.stages.stage_files import read_stage_files
from batpy.workloads.stages.tally import Tally
from batpy.workloads.stages.wfcommons import Group, read_wfcommons

Raw = dict[str, Any]


def workflow(
    tmp_path: Path, tree: Any, *, strict: bool = True, group: Group = "level"
) -> tuple[Application, Tally]:
    path = tmp_path / "flow.json"
    path.write_text(json.dumps(tree))
    tally = Tally(strict)
    (application,) = read_wfcommons([path], tally, group=group)
    return application, tally


def old_task(name: str, parents: list[str], runtime: float, files: tuple[int, int]) -> Raw:
    return {
        "name": name,
        "id": name.rpartition("_")[2],
        "category": name.rpartition("_")[0],
        "parents": parents,
        "runtimeInSeconds": runtime,
        "avgCPU": 50.0,
        "files": [
            {"link": "input", "name": f"{name}.in", "sizeInBytes": files[0]},
            {"link": "output", "name": f"{name}.out", "sizeInBytes": files[1]},
        ],
    }


def old() -> Raw:
    """A diamond: one task, two of a kind, one again."""
    tasks = [
        old_task("split_ID01", [], 1.5, (100, 20)),
        old_task("work_ID02", ["split_ID01"], 4, (10, 5)),
        old_task("work_ID03", ["ID01"], 6, (10, 5)),  # by id, as some files have it
        old_task("join_ID04", ["work_ID02", "work_ID03"], 1, (10, 1)),
    ]
    machines = [{"nodeName": "a", "cpu": {"count": 8}}, {"nodeName": "b", "cpu": {"count": 8}}]
    flow = {"tasks": tasks, "makespanInSeconds": 9.25, "machines": machines}
    return {"name": "diamond", "schemaVersion": "1.4", "workflow": flow}


def new() -> Raw:
    """The same in schema 1.5."""
    tasks, files, runs = [], [], []
    for raw in old()["workflow"]["tasks"]:
        names = {"inputFiles": f"{raw['name']}.in", "outputFiles": f"{raw['name']}.out"}
        files += [{"id": file["name"], "sizeInBytes": file["sizeInBytes"]} for file in raw["files"]]
        parents = ["split_ID01"] if raw["parents"] == ["ID01"] else raw["parents"]
        tasks.append(
            {"name": raw["category"], "id": raw["name"], "parents": parents, "children": []}
            | {key: [name] for key, name in names.items()}
        )
        runs.append({"id": raw["name"], "runtimeInSeconds": raw["runtimeInSeconds"], "avgCPU": 50.0})
    machines = [{"nodeName": name, "cpu": {"coreCount": 8}} for name in "ab"]
    execution = {"makespanInSeconds": 9.25, "tasks": runs, "machines": machines}
    specification = {"tasks": tasks, "files": files}
    flow = {"specification": specification, "execution": execution}
    return {"name": "diamond", "schemaVersion": "1.4", "workflow": flow}


def test_both_schemas_tell_the_same(tmp_path: Path) -> None:
    application, tally = workflow(tmp_path, old())
    assert tally.report() == []
    assert workflow(tmp_path, new())[0] == application
    assert (application.finished_us, application.hosts, application.slots) == (9_250_000, 2, 16)
    split, work, join = application.stages
    assert (split.name, split.wall_us, split.cpu_us, split.input_bytes) == ("split", 1_500_000, 750_000, 100)
    assert (work.tasks, work.parents, work.wall_us, work.output_bytes) == (2, (0,), 10_000_000, 10)
    assert join.parents == (1,)


def test_each_task_may_be_a_stage(tmp_path: Path) -> None:
    application, _ = workflow(tmp_path, new(), group="task")
    assert [stage.parents for stage in application.stages] == [(), (0,), (0,), (1, 2)]


def test_measured_bytes_go_before_sizes_of_files(tmp_path: Path) -> None:
    tree = new()
    tree["workflow"]["execution"]["tasks"][0].update(readBytes=7, writtenBytes=8)
    stage = workflow(tmp_path, tree)[0].stages[0]
    assert (stage.input_bytes, stage.output_bytes) == (7, 8)


def test_missing_run_times_and_sizes_are_repaired_or_refused(tmp_path: Path) -> None:
    tree = old()
    del tree["workflow"]["tasks"][3]["runtimeInSeconds"]
    del tree["workflow"]["tasks"][0]["files"][0]["sizeInBytes"]
    application, tally = workflow(tmp_path, tree, strict=False)
    assert tally.noted == {"task without a run time": 1, "file without a size": 1}
    assert (application.stages[2].tasks, application.stages[2].done) == (1, 0)
    with pytest.raises(InputError, match=r"split_ID01\.in: file without a size"):
        workflow(tmp_path, tree)


def broken(change: str) -> Any:
    tree = old()
    tasks = tree["workflow"]["tasks"]
    if change == "circle":
        tasks[0]["parents"] = ["join_ID04"]
    elif change == "parent":
        tasks[0]["parents"] = ["nobody"]
    elif change == "twice":
        tasks[1]["name"] = tasks[0]["name"]
    elif change == "runtime":
        tasks[0]["runtimeInSeconds"] = -1
    elif change == "no tasks":
        tree["workflow"]["tasks"] = []
    elif change == "list":
        return []
    else:
        del tree["workflow"]
    return tree


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("circle", "task 'split_ID01' waits for itself"),
        ("parent", "'nobody' is not among the tasks"),
        ("twice", r"workflow.tasks\[1\]: 'split_ID01' is there twice"),
        ("runtime", "runtimeInSeconds: must be at least 0, got -1"),
        ("no tasks", "holds no task"),
        ("list", "must be an object, got list"),
        ("nothing", "workflow: must be an object"),
    ],
)
def test_what_breaks_the_schema_is_refused(tmp_path: Path, change: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        workflow(tmp_path, broken(change), strict=False)


# -- stage files


def stages(tmp_path: Path, tree: Any, *, strict: bool = False) -> tuple[Application, Tally]:
    path = tmp_path / "app.json"
    path.write_text(tree if isinstance(tree, str) else json.dumps(tree))
    tally = Tally(strict)
    (application,) = read_stage_files([path], tally)
    return application, tally


HOMOGENEOUS: list[Raw] = [
    {"Stage ID": 3, "Parents IDs": [], "Total Flops": 2e10, "Total IO": 4e8, "Number of Tasks": 64},
    {"Stage ID": 5, "Parents IDs": [3], "Task Average Execution Time": 2.5, "Number of Tasks": 4},
]


def test_the_homogeneous_form(tmp_path: Path) -> None:
    application, tally = stages(tmp_path, HOMOGENEOUS, strict=True)
    assert tally.report() == []
    first, second = application.stages
    assert (first.id, first.flops, first.input_bytes, first.tasks, first.done) == (3, 2e10, 4 * 10**8, 64, 0)
    assert (second.parents, second.wall_us, second.times_us) == ((3,), 10_000_000, (2_500_000,) * 17)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("Number of Tasks", 0, r"\[0\].Number of Tasks: must be an integer of at least 1, got 0"),
        ("Number of Tasks", 1.5, r"\[0\].Number of Tasks: must be an integer"),
        ("Number of Tasks", None, r"\[0\].Number of Tasks: missing"),
        ("Total Flops", "many", r"\[0\].Total Flops: must be a finite number"),
        ("Total Flops", -1, r"\[0\].Total Flops: must be at least 0"),
        ("Parents IDs", [9], r"\[0\].Parents IDs: 9 is no stage of this file"),
        ("Parents IDs", ["x"], r"\[0\].Parents IDs\[0\]: must be a whole number"),
        ("Stage ID", 5, r"\[1\].Stage ID: 5 is there twice"),
    ],
)
def test_homogeneous_stages_that_break_the_form(tmp_path: Path, field: str, value: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        stages(tmp_path, [{**HOMOGENEOUS[0], field: value}, HOMOGENEOUS[1]])


def test_keys_that_the_form_does_not_know(tmp_path: Path) -> None:
    tree = [{**HOMOGENEOUS[0], "Total Memory": 4}]
    assert stages(tmp_path, tree)[1].noted == {"key that this form does not know": 1}
    with pytest.raises(InputError, match=r"\[0\].Total Memory: key that this form does not know"):
        stages(tmp_path, tree, strict=True)


HETEROGENEOUS: Raw = {
    "stage_2": {"Parents IDs": [], "Tasks": {"short": 20, "wait": 2}},
    "stage_4": {"Parents IDs": ["stage_2"], "Tasks": {"wide": 10}},
    "short": {"type": "msg_par_hg", "cpu": 2e8, "com": 7},
    "wait": {"type": "delay", "delay": 1.5},
    "wide": {"type": "msg_par", "cpu": [5, 6], "com": [1, 2, 3, 4]},
}


def test_the_heterogeneous_form(tmp_path: Path) -> None:
    first, second = stages(tmp_path, HETEROGENEOUS, strict=True)[0].stages
    assert (first.id, first.tasks, first.flops, first.wall_us) == (2, 22, 20 * 2e8, 3_000_000)
    assert [(part.name, part.tasks) for part in first.parts] == [("short", 20), ("wait", 2)]
    # 2 and 3 go to the other executor, 1 and 4 stay where they are.
    assert (second.flops, second.shuffle_remote_bytes, second.parents) == (110.0, 50, (2,))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"short": {"type": "smpi", "trace": "x"}}, "short.type: must be delay, parallel"),
        ({"short": {"type": "msg_par_hg", "cpu": -1, "com": 0}}, "short.cpu: must be at least 0"),
        ({"stage_4": {"Parents IDs": ["stage_9"], "Tasks": {"wide": 1}}}, "'stage_9' is no stage"),
        ({"stage_4": {"Parents IDs": [], "Tasks": {"none": 1}}}, "stage_4.Tasks.none: is no profile"),
        ({"stage_4": {"Parents IDs": [], "Tasks": {"wide": -1}}}, "stage_4.Tasks.wide: must be an integer"),
    ],
)
def test_heterogeneous_stages_that_break_the_form(tmp_path: Path, change: Raw, said: str) -> None:
    with pytest.raises(InputError, match=said):
        stages(tmp_path, HETEROGENEOUS | change)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not JSON"),
        ("{}", "no object in it has Tasks"),
        ("3", "must be an object"),
        ('{"stage_1": {"Tasks": {}}, "stage_1": {"Tasks": {}}}', "stage_1: is there twice"),
    ],
)
def test_what_is_no_stage_file_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        stages(tmp_path, text)
