"""Jobs made from applications: sequences of delays, or of transfers and computations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import spark_logs as logs

from batpy.base.errors import InputError
from batpy.workloads.stages.graph import AppJob, Application, Stage, StageGraph, table_of
from batpy.workloads.stages.importing import import_graph
from batpy.workloads.stages.job_options import JobOptions
from batpy.workloads.stages.jobs import to_workload

US = 1_000_000
FIRST = Stage(
    id=0,
    tasks=8,
    done=8,
    job=0,
    submitted_us=2 * US,
    completed_us=10 * US,
    wall_us=40 * US,
    cpu_us=32 * US,
    input_bytes=6000,
    shuffle_write_bytes=900,
)
SECOND = Stage(
    id=1,
    tasks=8,
    done=8,
    job=1,
    parents=(0,),
    submitted_us=15 * US,
    completed_us=20 * US,
    wall_us=20 * US,
    cpu_us=16 * US,
    output_bytes=3000,
    shuffle_local_bytes=300,
    shuffle_remote_bytes=600,
)
JOBS = (
    AppJob(id=0, submitted_us=2 * US, think_us=2 * US),
    AppJob(id=1, submitted_us=14 * US, think_us=4 * US),
)
APP = Application(
    id="app",
    framework="spark",
    user="ada",
    hosts=2,
    slots=8,
    finished_us=21 * US,
    jobs=JOBS,
    stages=(FIRST, SECOND),
)


def made(
    *applications: Application, **options: Any
) -> tuple[list[dict[str, Any]], list[list[dict[str, Any]]]]:
    """The jobs, and the profiles that each runs."""
    emitted = to_workload(
        StageGraph(source="spark", applications=applications), JobOptions(**{"level": "job", **options})
    )
    workload = emitted.workload
    jobs = list(workload.jobs())
    parts = [
        [dict(workload.profiles[name].raw) for name in workload.profiles[job.profile].raw["seq"]]
        for job in jobs
    ]
    return [job.raw for job in jobs], parts


def total(cpu: float, com: float) -> dict[str, Any]:
    return {"type": "parallel_homogeneous_total", "cpu": cpu, "com": com}


def pfs(read: float, write: float) -> dict[str, Any]:
    amounts = {"bytes_to_read": read, "bytes_to_write": write}
    return {"type": "parallel_homogeneous_pfs", **amounts, "storage": "pfs"}


def delay(seconds: float) -> dict[str, Any]:
    return {"type": "delay", "delay": seconds}


def test_a_stage_reads_computes_with_its_shuffle_and_writes() -> None:
    (job,), (parts,) = made(APP)
    assert job == {
        **{"id": "0", "subtime": 0, "res": 2, "profile": "app0"},
        **{"application": "app", "user": "ada"},
    }
    # 8 slots on 2 hosts are 4 cores a host; 32 s of processor time are 8e9 flops where one core does it all.
    assert parts == [pfs(3000, 0), total(8e9, 0), total(4e9, 600), pfs(0, 1500)]


def test_other_hosts_and_cores_share_the_same_work() -> None:
    _, (parts,) = made(APP, hosts=3, cores=1, speed=2e9, io="none")
    # On other hosts than recorded the 900 shuffled bytes spread evenly: 2/3 cross, com * (3 - 1) = 600.
    assert parts == [total(64e9, 0), total(32e9, 300)]
    assert made(APP, hosts=1, io="none")[1][0][1]["com"] == 0
    assert made(APP, max_hosts=1)[0][0]["res"] == 1


def test_data_may_go_beside_the_computation_or_take_its_time() -> None:
    _, (beside,) = made(APP, io="beside")
    assert beside == [total(8e9, 0) | {"io_reads": 6000}, total(4e9, 600) | {"io_writes": 3000}]
    _, (timed,) = made(APP, io="bandwidth", read_bandwidth=1000, write_bandwidth=500)
    assert timed == [delay(6), total(8e9, 0), total(4e9, 600), delay(6)]


def test_thinking_is_kept_on_request() -> None:
    _, (parts,) = made(APP, io="none", think="keep")
    assert parts == [delay(2), total(8e9, 0), delay(4), total(4e9, 600)]


def test_level_delay_replays_the_recorded_times() -> None:
    _, (parts,) = made(APP, level="delay")
    assert parts == [delay(2), delay(8), delay(5), delay(5)]
    assert made(APP, level="delay", think="drop", scale=0.5)[1] == [[delay(4), delay(2.5)]]


def test_stages_that_ran_at_one_time_are_not_counted_twice() -> None:
    beside = Stage(id=2, tasks=1, submitted_us=4 * US, completed_us=12 * US)
    inside = Stage(id=3, tasks=1, submitted_us=5 * US, completed_us=6 * US)
    app = Application(id="a", framework="spark", stages=(FIRST, beside, inside))
    assert made(app, level="delay")[1] == [[delay(2), delay(8), delay(2)]]


def test_level_delay_without_dates_runs_the_tasks_on_the_hosts() -> None:
    stage = Stage(id=0, tasks=5, done=5, wall_us=15 * US, times_us=table_of([3 * US] * 5))
    work = Stage(id=1, tasks=4, flops=8e9)
    app = Application(id="a", framework="stages", stages=(stage, work))
    # Five tasks of 3 s on two slots; four tasks of 2e9 flops there.
    assert made(app, level="delay", hosts=2)[1] == [[delay(9), delay(4)]]


def test_work_that_is_not_recorded_as_processor_time() -> None:
    walls = Stage(id=0, tasks=2, done=2, wall_us=6 * US, run_us=5 * US)
    flops = Stage(id=1, tasks=2, flops=7e9)
    app = Application(id="a", framework="mapreduce", stages=(walls, flops))
    graph = StageGraph(source="rumen", applications=(app,))
    emitted = to_workload(graph, JobOptions(level="job"))
    assert [raw.raw.get("cpu") for raw in emitted.workload.profiles.values()] == [5e9, 7e9, None]
    assert len(emitted.tally.report()) == 1
    assert "task" in emitted.tally.report()[0]


def test_bytes_alone_compute_as_much_as_one_says() -> None:
    stage = Stage(id=0, tasks=2, input_bytes=10**9, shuffle_remote_bytes=10**9)
    app = Application(id="a", framework="mapreduce", stages=(stage,))
    assert made(app, io="none", hosts=2, cpu_per_gb=3)[1] == [[total(6e9, 5e8)]]


def test_hosts_follow_the_widest_stage_where_no_log_tells() -> None:
    app = Application(id="a", framework="stages", stages=(Stage(id=0, tasks=9, flops=1.0),))
    assert made(app)[0][0]["res"] == 9
    assert made(app, cores=4)[0][0]["res"] == 3


def app(id: str, submitted: int, stages: tuple[Stage, ...] = (FIRST,)) -> Application:
    return Application(id=id, framework="spark", submitted_us=submitted, hosts=1, slots=1, stages=stages)


def test_jobs_are_numbered_and_dated_by_submission() -> None:
    late, soon = app("late", 90 * US), app("soon", 30 * US)
    jobs, _ = made(late, soon)
    assert [(job["id"], job["subtime"], job["application"]) for job in jobs] == [
        ("0", 30, "soon"),
        ("1", 90, "late"),
    ]
    assert [job["subtime"] for job in made(late, soon, submit="together")[0]] == [0, 0]
    assert [job["subtime"] for job in made(late, soon, every=7)[0]] == [0, 7]
    assert [job["subtime"] for job in made(late, soon, interarrival_factor=0.5)[0]] == [15, 45]
    assert [job["application"] for job in made(late, soon, max_jobs=1)[0]] == ["soon"]


def test_walltimes_follow_the_recorded_duration() -> None:
    assert made(APP, walltime_factor=2)[0][0]["walltime"] == 42
    assert "walltime" not in made(APP)[0][0]


def test_retried_stages_are_work_as_well() -> None:
    again = Stage(id=0, attempt=1, tasks=2, submitted_us=11 * US, completed_us=12 * US, cpu_us=4 * US)
    retried = app("a", 0, (FIRST, again))
    workload = to_workload(
        StageGraph(source="spark", applications=(retried,)), JobOptions(level="job", io="none")
    ).workload
    assert list(workload.profiles["app0"].raw["seq"]) == ["app0_s0", "app0_s0r1"]


def test_what_cannot_run_is_left_out_and_counted() -> None:
    empty, idle = app("empty", 0, ()), app("idle", 0, (Stage(id=0, tasks=1),))
    emitted = to_workload(
        StageGraph(source="spark", applications=(empty, idle, APP)), JobOptions(level="job")
    )
    assert [job.raw["application"] for job in emitted.workload.jobs()] == ["app"]
    assert sorted(emitted.tally.skipped) == [
        "application of which no stage ran",
        "application whose stages neither compute nor move anything",
    ]
    with pytest.raises(InputError, match="no job left of 1 applications: 1 x application of which no stage"):
        to_workload(StageGraph(source="spark", applications=(empty,)), JobOptions())


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        ({"hosts": 0}, "job.hosts: must be at least 1, got 0"),
        ({"speed": 0}, "job.speed: must be above 0"),
        ({"scale": float("inf")}, "job.scale: must be a finite number"),
        ({"io": "tape"}, "job.io: choose from"),
        ({"walltime_factor": -1}, "job.walltime_factor: must be at least 0"),
        ({"every": 5, "submit": "together"}, "job.every: cannot be given together"),
        ({"colour": 1}, "job.colour: no such setting; choose from level, hosts"),
    ],
)
def test_options_are_checked(tree: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        JobOptions.from_mapping(tree, "job")


def test_from_a_log_to_jobs(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(logs.lines(logs.small()))
    graph = import_graph([tmp_path / "log"]).graph
    _, (parts,) = made(*graph.applications)
    # 2 s and 3 s of processor time; 2 hosts of 4 cores; 160 remote bytes between two hosts.
    assert parts == [pfs(2000, 0), total(5e8, 160), total(7.5e8, 0), pfs(0, 500)]
