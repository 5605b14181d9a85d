"""Applications become ``stage_dag`` profiles: slots, jobs, stages, times, and what is left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import spark_logs as logs

from batpy.base.errors import InputError
from batpy.workloads.profile import StageDag
from batpy.workloads.stages.graph import (
    AppJob,
    Application,
    Executor,
    Part,
    ResourceProfile,
    Stage,
    StageGraph,
    table_of,
)
from batpy.workloads.stages.importing import ImportOptions, import_graph
from batpy.workloads.stages.job_options import JobOptions
from batpy.workloads.stages.jobs import Emitted, to_workload

US = 1_000_000


def stage(id: int, seconds: list[float], *, kept: bool = True, **more: Any) -> Stage:
    times = [round(second * US) for second in seconds]
    return Stage(
        id=id,
        tasks=len(times),
        done=len(times),
        wall_us=sum(times),
        times_us=table_of(times),
        durations_us=tuple(times) if kept else (),
        **more,
    )


def app(*stages: Stage, framework: str = "spark", **more: Any) -> Application:
    return Application(id="a", framework=framework, stages=stages, **{"hosts": 2, "slots": 4, **more})  # type: ignore[arg-type]


def emitted(application: Application, **options: Any) -> Emitted:
    return to_workload(StageGraph(source="spark", applications=(application,)), JobOptions(**options))


def raw_of(application: Application, **options: Any) -> dict[str, Any]:
    workload = emitted(application, **options).workload
    [job] = workload.jobs()
    profile = workload.profiles[job.profile]
    assert isinstance(profile, StageDag)
    return dict(profile.raw)


def test_the_default_level_keeps_tables_and_level_task_times() -> None:
    one = app(stage(0, [1, 2, 4]))
    [dag] = raw_of(one)["stages"]
    assert (dag["tasks"], dag["total"], dag["times"][0], dag["times"][-1]) == (3, 7, 1, 4)
    assert len(dag["times"]) == 17
    [task] = raw_of(one, level="task")["stages"]
    assert task == {"id": 0, "tasks": 3, "durations": [1, 2, 4], "shuffle_write": 0}
    assert raw_of(one, level="task", scale=0.5)["stages"][0]["durations"] == [0.5, 1, 2]
    assert raw_of(one, scale=2)["stages"][0]["total"] == 14


def test_slots_are_the_recorded_ones_spread_over_the_hosts() -> None:
    assert raw_of(app(stage(0, [1])))["slots"] == {"0": 2}
    assert raw_of(app(stage(0, [1]), slots=5))["slots"] == {"0": [3, 2]}
    assert raw_of(app(stage(0, [1])), hosts=4)["slots"] == {"0": 2}
    assert raw_of(app(stage(0, [1])), cores=7)["slots"] == {"0": 7}
    assert raw_of(app(stage(0, [1]), hosts=0, slots=0))["slots"] == {"0": 1}
    profiles = (ResourceProfile(id=0), ResourceProfile(id=1, executor={"gpu": 1}, task={"gpu": 0.5}))
    executors = (
        Executor(id="e", host="x", cores=4),
        Executor(id="f", host="y", cores=4, joined_us=2 * US, left_us=9 * US),
        Executor(id="g", host="y", cores=8, profile=1),
    )
    two = app(stage(0, [1]), stage(1, [1], profile=1), profiles=profiles, executors=executors)
    assert raw_of(two)["slots"] == {"0": 4, "1": 1}
    recorded = raw_of(two, executors="recorded")
    assert "slots" not in recorded
    assert recorded["executors"] == [
        {"host": 0, "slots": 4},
        {"host": 1, "slots": 4, "start": 2, "end": 9},
        {"host": 1, "slots": 2, "profile": 1},
    ]


def test_jobs_follow_each_other_and_think() -> None:
    jobs = (
        AppJob(id=4, submitted_us=2 * US, completed_us=5 * US, think_us=2 * US),
        AppJob(id=5, submitted_us=6 * US, completed_us=9 * US, think_us=US),
    )
    application = app(stage(0, [1], job=4), stage(1, [1], job=5, parents=(0,)), jobs=jobs)
    raw = raw_of(application)
    assert raw["jobs"] == [{"id": 4, "think": 2}, {"id": 5, "after": 4, "think": 1}]
    assert [(one["job"], one.get("parents")) for one in raw["stages"]] == [(4, None), (5, [0])]
    assert raw_of(application, think="drop")["jobs"] == [{"id": 4}, {"id": 5, "after": 4}]


def test_further_attempts_are_stages_of_their_own_that_children_wait_for() -> None:
    stages = (stage(0, [1]), stage(0, [2], attempt=1), stage(2, [3], parents=(0,)))
    found = raw_of(app(*stages), level="task")["stages"]
    assert [(one["id"], one.get("parents"), one["durations"]) for one in found] == [
        (0, None, [1]),
        (3, [0], [2]),
        (2, [3], [3]),
    ]


def test_stages_of_which_nothing_ran_are_empty() -> None:
    found = raw_of(app(stage(0, [1]), Stage(id=1, tasks=5)))["stages"]
    assert found[1] == {"id": 1, "tasks": 0, "shuffle_write": 0}


def test_only_what_was_recorded_of_shuffles_is_told() -> None:
    def written(*stages: Stage, **more: Any) -> list[int | None]:
        return [one.get("shuffle_write") for one in raw_of(app(*stages, **more))["stages"]]

    mapped, reduced = stage(0, [1], name="map"), stage(1, [1], name="reduce", parents=(0,))
    assert written(mapped, reduced) == [0, 0]
    assert written(mapped, reduced, framework="mapreduce") == [None, 0]
    assert written(stage(0, [1], shuffle_write_bytes=7), framework="stages") == [7]
    assert written(mapped, framework="workflow") == [None]


def test_how_it_behaves_when_killed_can_be_said() -> None:
    one = app(stage(0, [1]))
    assert raw_of(one)["shuffle"] == "local"
    assert raw_of(app(stage(0, [1]), framework="workflow"))["shuffle"] == "pfs"
    raw = raw_of(one, shuffle="external", checkpoint=30, order="critical_path")
    assert (raw["shuffle"], raw["checkpoint"], raw["order"]) == ("external", 30, "critical_path")


def test_flops_and_bytes_become_times_where_none_are_told() -> None:
    flops = app(Stage(id=0, tasks=4, flops=8e9), framework="stages")
    assert raw_of(flops, level="task", speed=2e9)["stages"][0]["durations"] == [1, 1, 1, 1]
    assert raw_of(flops)["stages"][0]["total"] == 8
    told = emitted(flops)
    assert told.tally.noted == {"stage without recorded times: its tasks are all alike": 1}
    moved = app(
        Stage(id=0, tasks=2, input_bytes=3 * 10**9, output_bytes=10**9, shuffle_remote_bytes=10**9),
        framework="mapreduce",
    )
    assert raw_of(moved, level="task", cpu_per_gb=3)["stages"][0]["durations"] == [6, 6]
    # Two tasks share the storage: 3 s of reading and 1 s of writing for each of them.
    assert raw_of(moved, level="task", io="bandwidth")["stages"][0]["durations"] == [4, 4]
    with pytest.raises(
        InputError, match="1 x application with a stage of which neither times nor flops are told"
    ):
        emitted(moved)


def test_stages_without_bytes_take_no_time_and_applications_without_any_are_left_out() -> None:
    full = Stage(id=0, tasks=1, input_bytes=1)
    empty = Stage(id=1, tasks=2, parents=(0,))
    found = raw_of(app(full, empty, framework="mapreduce"), level="task", cpu_per_gb=20)["stages"]
    assert [one["durations"] for one in found] == [[1e-6], [0, 0]]
    with pytest.raises(InputError, match="1 x application whose stages take no time"):
        emitted(app(empty, framework="mapreduce"), cpu_per_gb=20)


def test_kinds_of_tasks_have_their_own_times() -> None:
    parts = (
        Part(name="d", tasks=2, profile={"type": "delay", "delay": 3}),
        Part(name="c", tasks=1, profile={"type": "msg_par_hg", "cpu": 5e9, "com": 0}),
        Part(name="p", tasks=1, profile={"type": "msg_par", "cpu": [1e9, 1e9], "com": [0, 0, 0, 0]}),
    )
    mixed = app(Stage(id=0, tasks=4, parts=parts, flops=7e9), framework="stages")
    assert raw_of(mixed, level="task")["stages"][0]["durations"] == [3, 3, 5, 2]
    assert raw_of(mixed)["stages"][0]["total"] == 13


def test_tasks_that_were_not_kept_are_missed_at_level_task_only() -> None:
    one = app(stage(0, [1, 2], kept=False))
    assert raw_of(one)["stages"][0]["tasks"] == 2
    with pytest.raises(InputError, match="1 x application whose tasks were not kept when it was imported"):
        emitted(one, level="task")


@pytest.mark.parametrize(
    "option", [{"checkpoint": -1}, {"shuffle": "tape"}, {"order": "lifo"}, {"level": "x"}]
)
def test_options_are_checked(option: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        JobOptions.from_mapping(option, "job")


def test_from_a_log_to_tasks(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(logs.lines(logs.small()))
    graph = import_graph([tmp_path / "log"], options=ImportOptions(keep_tasks=True)).graph
    [application] = graph.applications
    raw = raw_of(application, level="task")
    assert [one["tasks"] for one in raw["stages"]] == [stage.done for stage in application.stages]
    assert not any(s.durations_us for s in import_graph([tmp_path / "log"]).graph.applications[0].stages)
