"""Profiles of type ``stage_dag``: what they may say, and what is refused with the path of its field."""

from __future__ import annotations

from typing import Any

import pytest

from batpy.base.errors import InputError
from batpy.models.dag.blueprint import missing_slots
from batpy.models.dag.draws import loads_of, task_times, work_us
from batpy.models.execution import Tree, resolve
from batpy.workloads.profile import StageDag, parse_profile
from batpy.workloads.stages.dag import DagExecutor

STAGE: dict[str, Any] = {"id": 0, "tasks": 2, "durations": [1, 2.5]}
TABLE = [1.0] * 8 + [2.0] * 8 + [4.0]


def parsed(*stages: dict[str, Any], **fields: Any) -> StageDag:
    raw = {"type": "stage_dag", "stages": list(stages) or [STAGE], **fields}
    profile = parse_profile("app", raw, source="w.json")
    assert isinstance(profile, StageDag)
    assert profile.raw == raw
    return profile


def test_defaults_are_those_of_the_format() -> None:
    dag = parsed().dag
    assert (dag.framework, dag.shuffle, dag.checkpoint, dag.order) == ("spark", "local", None, "fifo")
    assert [job.id for job in dag.jobs] == [0]
    assert dag.stages[0].to_do == ((0, 1),)
    assert parsed(slots={"0": 3, "1": [2, 1]}).dag.slots == {0: (3,), 1: (2, 1)}
    executor = {"host": 0, "slots": 2, "end": None}
    assert parsed(executors=[executor]).dag.executors == (DagExecutor(host=0, slots=2),)


def test_any_number_of_hosts_will_do() -> None:
    tree = resolve(parsed(), {}.get, {})
    assert isinstance(tree, Tree)
    assert (tree.any_size, tree.sleeps) == (True, False)


@pytest.mark.parametrize(
    ("stages", "fields", "said"),
    [
        ([], {"colour": 1}, "profiles.app: object contains unknown field `colour`"),
        ([], {"framework": "flink"}, "profiles.app.framework: invalid enum value 'flink'"),
        ([], {"checkpoint": 0}, "profiles.app.checkpoint: expected `float` > 0"),
        ([], {"slots": {"0": -1}}, "profiles.app.slots[...][0]: expected `int` >= 0"),
        ([], {"slots": {"a": 1}}, "profiles.app.slots: expected `int`, got `str`"),
        ([], {"slots": {"0": [0, 0]}}, "profiles.app.slots.0: must give at least one slot"),
        ([], {"slots": {"1": 1}}, "stages[0].profile: 0 is neither among slots nor among resources"),
        ([], {"executors": [{"host": 0, "slots": 1, "profile": 1}]}, "no executor is of resource profile 0"),
        ([], {"executors": [{"host": 0, "slots": 0}]}, "executors[0].slots: expected `int` >= 1"),
        (
            [],
            {"executors": [{"host": 0, "slots": 1, "start": 2, "end": 1}]},
            "executors[0].end: must be after",
        ),
        ([], {"delay": {}}, "profiles.app.delay: needs exactly one of skips and wait"),
        ([], {"delay": {"skips": 1, "wait": 1}}, "delay: needs exactly one of skips and wait"),
        ([], {"jobs": [{"id": 0, "after": 1}]}, "jobs[0].after: 1 is no job of this application"),
        ([], {"jobs": [{"id": 0, "after": 0}]}, "jobs: job 0 comes after itself"),
        ([], {"jobs": [{"id": 0}, {"id": 0}]}, "jobs[1].id: 0 is there twice"),
        ([], {"jobs": [{"id": 1}]}, "stages[0].job: 0 is not among the jobs"),
        ([], {"jobs": [{"id": 0, "think": -1}]}, "jobs[0].think: expected `float` >= 0"),
        ([{**STAGE, "speed": 1}], {}, "stages[0]: object contains unknown field `speed`"),
        ([{"id": 0}], {}, "stages[0]: object missing required field `tasks`"),
        ([{**STAGE, "tasks": 3}], {}, "stages[0].durations: must hold 3 times, as tasks says, got 2"),
        ([{**STAGE, "durations": []}], {}, "stages[0].times: needs exactly one of times and durations"),
        ([{**STAGE, "times": TABLE}], {}, "stages[0].times: needs exactly one of times and durations"),
        (
            [{"id": 0, "tasks": 1, "times": [1.0]}],
            {},
            "stages[0].times: must be 17 values in ascending order",
        ),
        ([{"id": 0, "tasks": 1, "times": TABLE[::-1]}], {}, "must be 17 values in ascending order"),
        ([{**STAGE, "total": 3.5}], {}, "stages[0].total: goes with times"),
        ([{**STAGE, "durations": [1, "2"]}], {}, "stages[0].durations[1]: expected `float`, got `str`"),
        ([{**STAGE, "parents": [1]}], {}, "stages[0].parents: 1 is no stage of this application"),
        ([{**STAGE, "parents": [0]}], {}, "stages: stage 0 leads back to itself"),
        ([STAGE, STAGE], {}, "stages[1].id: 0 is there twice"),
        ([{**STAGE, "near": [[0]]}], {"hosts": ["a"]}, "stages[0].near: must hold 2 lists"),
        ([{**STAGE, "near": [[], [1]]}], {"hosts": ["a"]}, "stages[0].near[1]: 1 is beyond the 1 hosts"),
        ([{**STAGE, "left": "1-2"}], {}, "stages[0].left: must be intervals of tasks, 0 to 1, got '1-2'"),
        ([{**STAGE, "left": "x"}], {}, "stages[0].left: must be intervals of tasks"),
        ([{**STAGE, "outputs": {"a": "0"}}], {}, "stages[0].outputs: goes with left: no task is over"),
        ([{**STAGE, "left": "1", "outputs": {"a": "1"}}], {}, "stages[0].outputs.a: task 1 is not over"),
        ([{**STAGE, "left": "", "outputs": {"a": "0", "b": "0-1"}}], {}, "or lies on another host"),
        ([{**STAGE, "left": "1", "resumed": {"0": 1}}], {}, "resumed.0: is no task that is to do"),
        ([{**STAGE, "resumed": {"01": 1}}], {}, "resumed.01: is no task that is to do"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(
    stages: list[dict[str, Any]], fields: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError) as caught:
        parsed(*stages, **fields)
    assert said in str(caught.value)
    assert str(caught.value).startswith("w.json: profiles.app")


def test_a_stage_that_waits_for_a_job_after_its_own_is_refused() -> None:
    stages = [{**STAGE, "parents": [1]}, {**STAGE, "id": 1, "job": 1}]
    with pytest.raises(InputError, match=r"stages\[0\].parents: it would never begin"):
        parsed(*stages, jobs=[{"id": 0}, {"id": 1, "after": 0}])
    parsed(*stages, jobs=[{"id": 0}, {"id": 1}])


def test_drawn_times_are_of_the_table_and_add_up_in_an_order_of_the_seed() -> None:
    drawn = {"id": 3, "tasks": 40, "times": TABLE, "total": 64.0}
    one, two = (task_times(parsed(drawn), seed)[0] for seed in (1, 2))
    assert sorted(one) == sorted(two)
    assert one != two
    assert one == task_times(parsed(drawn, stream="app"), 1)[0] != task_times(parsed(drawn, stream="b"), 1)[0]
    assert (min(one), max(one)) == (1_000_000, 4_000_000)
    assert sum(one) == pytest.approx(64e6, rel=0.01)
    # A single task takes the total.
    assert task_times(parsed({"id": 0, "tasks": 1, "times": TABLE, "total": 3.0}), 0) == ((3_000_000,),)


def test_what_is_left_are_the_tasks_that_it_says() -> None:
    whole = parsed({"id": 3, "tasks": 40, "times": TABLE})
    left = parsed({"id": 3, "tasks": 40, "times": TABLE, "left": "3 30-31", "resumed": {"30": 0.5}})
    times = task_times(whole, 5)[0]
    assert loads_of(left, 5) == ((times[3], times[30] - 500_000, times[31]),)
    assert work_us(left, 5) == times[3] + times[30] + times[31] - 500_000


@pytest.mark.parametrize(
    ("fields", "cores", "missing"),
    [
        ({}, [1, 1], None),
        ({"slots": {"0": [0, 2]}}, [1], 0),
        ({"slots": {"0": [0, 2]}}, [1, 1], None),
        ({"resources": [{"id": 0, "executor": {"cores": 2, "gpu": 1}, "task": {"gpu": 2}}]}, [4], 0),
        ({"resources": [{"id": 0, "task": {"cpus": 4}}]}, [2], 0),
        ({"resources": [{"id": 0, "task": {"cpus": 4}}]}, [2, 8], None),
    ],
)
def test_hosts_without_a_slot_are_noticed(
    fields: dict[str, Any], cores: list[int], missing: int | None
) -> None:
    assert missing_slots(parsed(**fields).dag, cores) == missing
