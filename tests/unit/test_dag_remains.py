"""What is left of a killed application of stages, by framework, shuffle and lost hosts: worked by hand."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from batpy.base.errors import RemoteProtocolError
from batpy.schedulers.bigdata.dag_remains import Losses, dag_remains, host_seconds
from batpy.schedulers.bigdata.elastic import time_left
from batpy.schedulers.bigdata.remains import profile_tree, remains
from batpy.workloads.profile import parse_profile

Json = dict[str, Any]
HOSTS = ("a", "b")
ALL = Losses(HOSTS, HOSTS, HOSTS)
NONE = Losses(HOSTS)
ONLY_A = Losses(HOSTS, ("a",), ("a",))


def stage(id: int, tasks: int, *parents: int, **more: Any) -> Json:
    return {"id": id, "tasks": tasks, "durations": [10] * tasks, "parents": list(parents), **more}


def told(id: int, done: str = "", outputs: Json | None = None, running: list[Any] | None = None) -> Json:
    parts = {"done": done, "outputs": outputs, "running": running}
    return {"id": id, **{key: value for key, value in parts.items() if value}}


def rest_of(
    raw: Json, *stages: Json, losses: Losses = ALL, keep: bool = False, jobs: Json | None = None
) -> Json:
    """What is left; it must be a profile, and the one that there was must stay as it is."""
    before = copy.deepcopy(raw)
    progress = {"progress": 0.5, "elapsed": 12, "jobs": jobs or {}, "stages": list(stages)}
    rest = dag_remains(raw, "app", progress, losses, keep=keep)
    assert raw == before
    parse_profile("app#1", rest)
    return rest


def lefts(rest: Json) -> dict[int, str]:
    """Tasks that are to do, by stage."""
    return {one["id"]: one.get("left", "all") for one in rest["stages"]}


# Maps 0-3 ran on both hosts, reduce 0 is over, reduce 1 runs.
MAPREDUCE = {
    "type": "stage_dag",
    "framework": "mapreduce",
    "stages": [stage(0, 4, shuffle_write=8), stage(1, 2, 0, shuffle_write=0)],
}
HALF_REDUCED = (
    told(0, "0-3", {"0": "0 2", "1": "1 3"}),
    told(1, "0", running=[[1, 1, 4.0]]),
)


def test_maps_on_lost_hosts_run_again_as_long_as_a_reduce_is_to_run() -> None:
    rest = rest_of(MAPREDUCE, *HALF_REDUCED)
    assert lefts(rest) == {0: "all", 1: "1"}
    rest = rest_of(MAPREDUCE, *HALF_REDUCED, losses=ONLY_A)
    assert lefts(rest) == {0: "0 2", 1: "1"}
    assert rest["stages"][0]["outputs"] == {"b": "1 3"}


def test_maps_are_not_run_again_once_all_reduces_are_over() -> None:
    jobs = [{"id": 0}, {"id": 1, "after": 0, "think": 9}]
    raw = {**MAPREDUCE, "jobs": jobs, "stages": [*MAPREDUCE["stages"], stage(2, 1, job=1)]}
    over = (told(0, "0-3", {"0": "0 2", "1": "1 3"}), told(1, "0-1"))
    rest = rest_of(raw, *over, jobs={"over": [0], "think": {"1": 7.5}})
    assert lefts(rest) == {2: "all"}
    assert rest["jobs"] == [{"id": 1, "think": 7.5}]


@pytest.mark.parametrize("shuffle", ["external", "pfs"])
@pytest.mark.parametrize("framework", ["mapreduce", "spark", "workflow", "stages"])
def test_shuffled_data_outside_of_the_hosts_are_never_lost(framework: str, shuffle: str) -> None:
    raw = {**MAPREDUCE, "framework": framework, "shuffle": shuffle}
    rest = rest_of(raw, told(0, "0-3"), told(1, "0", running=[[1, 1, 4.0]]))
    assert lefts(rest) == {0: "", 1: "1"}
    assert "resumed" not in rest["stages"][1]


# A chain of three: 0 and 1 are over, of 2 one task is over and one runs.
CHAIN = {"type": "stage_dag", "stages": [stage(0, 2), stage(1, 2, 0), stage(2, 2, 1)]}
AT_THE_END = (
    told(0, "0-1", {"0": "0", "1": "1"}),
    told(1, "0-1", {"0": "0", "1": "1"}),
    told(2, "0", running=[[1, 1, 3.0]]),
)


def test_spark_runs_lost_tasks_of_all_ancestors_that_are_needed() -> None:
    assert lefts(rest_of(CHAIN, *AT_THE_END)) == {0: "all", 1: "all", 2: "1"}
    rest = rest_of(CHAIN, *AT_THE_END, losses=ONLY_A)
    # Task 0 of stage 1 is lost: it reads all of stage 0, of which task 0 is lost as well.
    assert lefts(rest) == {0: "0", 1: "0", 2: "1"}
    assert [one.get("outputs") for one in rest["stages"]] == [{"b": "1"}, {"b": "1"}, None]


def test_what_nobody_reads_again_is_not_run_again() -> None:
    on_b = (told(0, "0-1", {"0": "0-1"}), told(1, "0-1", {"1": "0-1"}), AT_THE_END[2])
    rest = rest_of(CHAIN, *on_b, losses=ONLY_A)
    # Stage 0 is lost, but all that read it stands.
    assert lefts(rest) == {0: "", 1: "", 2: "1"}
    assert "outputs" not in rest["stages"][0]
    # A second loss, of host b: now stage 1 is needed, and so stage 0 is, lost long ago.
    again = rest_of(rest, told(2, running=[[1, 0, 1.0]]), losses=Losses(("c",), ("b",), ("b",)))
    assert lefts(again) == {0: "all", 1: "all", 2: "1"}


def test_mapreduce_does_not_go_further_up_than_the_maps() -> None:
    raw = {**CHAIN, "framework": "mapreduce"}
    rest = rest_of(raw, *AT_THE_END)
    assert lefts(rest) == {0: "", 1: "all", 2: "1"}


def test_stages_that_write_nothing_for_others_lose_nothing() -> None:
    raw = {**CHAIN, "stages": [stage(0, 2, shuffle_write=0), *CHAIN["stages"][1:]]}
    assert lefts(rest_of(raw, *AT_THE_END)) == {0: "", 1: "all", 2: "1"}


RUNNING = told(0, "0", {"0": "0"}, [[1, 0, 7.5], [2, 1, 4.0]])
ONE = {"type": "stage_dag", "stages": [stage(0, 4)]}


def test_running_tasks_start_again_where_their_host_was_lost() -> None:
    rest = rest_of(ONE, RUNNING, losses=ONLY_A)
    assert lefts(rest) == {0: "1-3"}
    assert rest["stages"][0]["resumed"] == {"2": 4.0}
    assert "resumed" not in rest_of(ONE, RUNNING)["stages"][0]


def test_running_tasks_go_on_from_their_last_checkpoint() -> None:
    rest = rest_of({**ONE, "checkpoint": 3}, RUNNING)
    assert rest["stages"][0]["resumed"] == {"1": 6, "2": 3}
    # What it had when it began was saved; the next checkpoint had not come.
    left = {**ONE, "checkpoint": 3, "stages": [stage(0, 4, left="1-3", resumed={"1": 4, "3": 2})]}
    rest = rest_of(left, told(0, running=[[1, 0, 5.5]]))
    assert rest["stages"][0]["resumed"] == {"1": 4, "3": 2}


def test_a_voluntary_restart_keeps_all_that_was_done() -> None:
    rest = rest_of(ONE, RUNNING, losses=NONE, keep=True)
    assert rest["stages"][0]["resumed"] == {"1": 7.5, "2": 4.0}
    rest = rest_of(CHAIN, *AT_THE_END, losses=NONE, keep=True)
    assert lefts(rest) == {0: "", 1: "", 2: "1"}
    assert rest["stages"][1]["outputs"] == {"a": "0", "b": "1"}


def test_tasks_that_are_run_again_belong_to_the_job_that_needs_them() -> None:
    jobs = [{"id": 5}, {"id": 6, "after": 5, "think": 4}, {"id": 7, "after": 6}]
    stages = [stage(0, 1, job=5), stage(1, 1, 0, job=6), stage(2, 1, 0, job=7)]
    raw = {"type": "stage_dag", "jobs": jobs, "stages": stages}
    rest = rest_of(raw, told(0, "0", {"0": "0"}), jobs={"over": [5], "think": {"6": 1.5}})
    assert [(one["id"], one["job"]) for one in rest["stages"]] == [(0, 6), (1, 6), (2, 7)]
    assert rest["jobs"] == [{"id": 6, "think": 1.5}, {"id": 7, "after": 6}]


def test_jobs_that_were_submitted_do_not_think_again() -> None:
    raw = {**ONE, "jobs": [{"id": 0, "think": 3}]}
    assert rest_of(raw, RUNNING)["jobs"] == [{"id": 0}]


def test_an_application_that_only_thinks_goes_on_thinking() -> None:
    jobs = [{"id": 0}, {"id": 1, "after": 0, "think": 4}]
    raw = {"type": "stage_dag", "jobs": jobs, "stages": [stage(0, 1)]}
    rest = rest_of(raw, told(0, "0"), jobs={"over": [0], "think": {"1": 1}})
    assert rest["jobs"] == [{"id": 1, "think": 1}]
    assert lefts(rest) == {0: ""}
    # The job that comes has a stage without tasks, after one that is over.
    empty = {"id": 1, "tasks": 0, "parents": [0], "job": 1}
    rest = rest_of(
        {**raw, "stages": [stage(0, 1), empty]}, told(0, "0"), jobs={"over": [0], "think": {"1": 1}}
    )
    assert rest["stages"] == [{"id": 1, "tasks": 0, "job": 1}]


def test_executors_go_on_from_where_they_were() -> None:
    executors = [
        {"host": 0, "slots": 1, "end": 5},
        {"host": 1, "slots": 1, "start": 2, "end": 20},
        {"host": 0, "slots": 2, "start": 30},
        {"host": 0, "slots": 3, "profile": 1, "end": 9},
    ]
    raw = {**ONE, "stages": [stage(0, 4), stage(1, 1, profile=1)], "executors": executors}
    assert rest_of(raw, RUNNING)["executors"] == [
        {"host": 1, "slots": 1, "start": 0, "end": 8},
        {"host": 0, "slots": 2, "start": 18},
        {"host": 0, "slots": 3, "profile": 1, "start": 0, "end": None},  # the last one stays
    ]


def test_draws_stay_those_of_the_application() -> None:
    assert rest_of(ONE, RUNNING)["stream"] == "app"
    assert rest_of({**ONE, "stream": "first"}, RUNNING)["stream"] == "first"


def test_a_job_that_had_not_begun_is_left_as_it_is() -> None:
    assert rest_of(ONE) is ONE
    assert dag_remains(ONE, "app", {}, ALL, keep=False) is ONE


@pytest.mark.parametrize(
    "one",
    [
        told(9, "0"),
        told(0, "4"),
        told(0, "x"),
        told(0, running=[[7, 0, 1.0]]),
        told(0, running=[[0, 5, 1.0]]),
        told(0, running=[3]),
        told(0, running=[[0, 0, 1e300]]),
        told(0, running=[[0, -1, 1.0]]),
    ],
)
def test_progress_of_another_profile_is_refused(one: Json) -> None:
    with pytest.raises(
        RemoteProtocolError, match="JOB_KILLED: the progress of profile 'app' is not one of it"
    ):
        rest_of(ONE, one)


def test_an_application_inside_a_sequence_is_told_by_its_part() -> None:
    profiles = {"app": ONE, "twice": {"type": "composed", "seq": ["app"], "repeat": 2}}
    tree = profile_tree("twice", profiles.get, {})
    assert (tree.scales, tree.seconds) == (True, 80)
    inside = {"profile_name": "app", "progress": 0.2, "stages": [RUNNING]}
    progress = {"current_task_index": 0, "current_task": inside}
    rest = remains(tree, progress, keep=False, losses=ONLY_A)
    assert [part.raw.get("stages", [{}])[0].get("left") for part in rest.parts] == ["1-3", None]
    unknown = remains(tree, progress, keep=False)
    assert "resumed" not in unknown.parts[0].raw["stages"][0]


def test_how_long_it_takes_follows_from_its_slots() -> None:
    assert host_seconds({**ONE, "slots": {"0": [1, 3]}}) == 20
    table = {"id": 0, "tasks": 4, "times": [10] * 17, "total": 40, "left": "0"}
    assert host_seconds({"type": "stage_dag", "slots": {"0": 2}, "stages": [table]}) == 5
    assert time_left(0, 4, None, 3, None, 20) == 2
    assert time_left(4e9, 4, 1e9, 3, None, 20) == 3
