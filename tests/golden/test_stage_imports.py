"""Right answers for the real logs and traces beside the checkout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from batpy.base.errors import InputError
from batpy.workloads.stages.form import graph_json, parse_graph
from batpy.workloads.stages.graph import Application, Stage
from batpy.workloads.stages.importing import Imported, ImportOptions, import_graph
from batpy.workloads.stages.job_options import JobOptions
from batpy.workloads.stages.jobs import to_workload

STRICT = ImportOptions(strict=True)
SECOND = 1_000_000


def imported(shared: Path, *names: str, strict: bool = True) -> Imported:
    for name in names:
        if name.endswith(".zstd"):
            pytest.importorskip("zstandard")
    return import_graph([shared / "data" / name for name in names], options=ImportOptions(strict=strict))


def only(shared: Path, *names: str, strict: bool = True) -> Application:
    (application,) = imported(shared, *names, strict=strict).graph.applications
    return application


def total(stages: tuple[Stage, ...], *fields: str) -> float:
    return sum(getattr(stage, field) for stage in stages for field in fields)


NDS = "spark/nds_q72_dataproc_spark3.5.zstd"


def test_nds_q72_has_the_published_totals(shared: Path) -> None:
    app = only(shared, NDS)
    stages = app.stages
    assert (len(app.jobs), total(stages, "tasks"), total(stages, "done")) == (49, 13_504, 13_504)
    assert (len(app.executors), app.hosts, app.slots) == (8, 4, 128)
    run = total(stages, "run_us")
    assert round(run / SECOND) == 8103
    shares = {
        name: total(stages, name) / run for name in ("cpu_us", "gc_us", "shuffle_write_us", "fetch_wait_us")
    }
    assert {name: round(100 * share) for name, share in shares.items()} == {
        **{"cpu_us": 72, "gc_us": 2, "shuffle_write_us": 2, "fetch_wait_us": 0}
    }
    assert round(total(stages, "input_bytes") / 1e9, 1) == 18.4
    shuffled = total(stages, "shuffle_remote_bytes", "shuffle_local_bytes")
    assert round(shuffled / 1e9, 1) == 20.6
    assert round(100 * total(stages, "shuffle_remote_bytes") / shuffled) == 75


@pytest.mark.parametrize(
    ("id", "figures"),
    [
        (50, (128, 3759, 3354, 0, 11608, 1782, 29.4, 35.1, (48, 49))),
        (55, (128, 1260, 1075, 0, 6304, 2680, 10.4, 11.6, (53, 54))),
        (47, (324, 1110, 312, 3468, 0, 4522, 3.4, 6.2, ())),
        (45, (580, 774, 368, 9410, 0, 917, 1.4, 4.2, ())),
        (46, (131, 688, 581, 5453, 0, 10692, 5.3, 6.2, ())),
    ],
)
def test_nds_q72_has_the_published_stages(shared: Path, id: int, figures: tuple[Any, ...]) -> None:
    (stage,) = (stage for stage in only(shared, NDS).stages if stage.id == id)
    read = stage.shuffle_local_bytes + stage.shuffle_remote_bytes
    megabytes = (round(amount / 1e6) for amount in (stage.input_bytes, read, stage.shuffle_write_bytes))
    found = (
        *(stage.tasks, round(stage.run_us / SECOND), round(stage.cpu_us / SECOND), *megabytes),
        *(round(stage.wall_us / stage.done / SECOND, 1), round(stage.times_us[-1] / SECOND, 1)),
        stage.skipped_parents,
    )
    assert found == figures
    # Stages 48, 49, 53 and 54 were skipped; those that had done their work are told by the RDDs.
    assert stage.parents == {50: (45, 46), 55: (47, 50)}.get(id, ())


SPARKLENS = "spark/sparklens_local-1532512550423"
METRICS = {
    "taskDuration": ("wall_us", 1000),
    "executorRuntime": ("run_us", 1000),
    "jvmGCTime": ("gc_us", 1000),
    "shuffleReadFetchWaitTime": ("fetch_wait_us", 1000),
    "resultSize": ("result_bytes", 1),
    "inputBytesRead": ("input_bytes", 1),
    "outputBytesWritten": ("output_bytes", 1),
    "shuffleWriteBytesWritten": ("shuffle_write_bytes", 1),
    "memoryBytesSpilled": ("spill_memory_bytes", 1),
    "diskBytesSpilled": ("spill_disk_bytes", 1),
}


def check_metrics(stages: tuple[Stage, ...], expected: dict[str, Any]) -> None:
    assert total(stages, "done") == expected["count"]
    for name, (field, unit) in METRICS.items():
        assert total(stages, field) == expected["map"][name]["value"] * unit, name
    read = total(stages, "shuffle_local_bytes", "shuffle_remote_bytes")
    assert read == expected["map"]["shuffleReadBytesRead"]["value"]
    assert max(stage.peak_memory_bytes for stage in stages) == expected["map"]["peakExecutionMemory"]["max"]
    for index, which in ((0, min), (-1, max)):
        wall = which(stage.times_us[index] for stage in stages)
        assert wall == expected["map"]["taskDuration"][which.__name__] * 1000


def test_sparklens_figures(shared: Path) -> None:
    expected = json.loads((shared / "data" / f"{SPARKLENS}.expected.json").read_text())
    graph = imported(shared, SPARKLENS).graph
    (app,), origin = graph.applications, graph.origin_ms

    def ms(date: int | None) -> int:
        assert date is not None
        return origin + (app.submitted_us + date) // 1000

    info = expected["appInfo"]
    assert (app.id, ms(0), ms(app.finished_us)) == (info["applicationID"], info["startTime"], info["endTime"])
    check_metrics(app.stages, expected["appMetrics"])
    (executor,) = app.executors
    driver = expected["executorMap"]["driver"]
    assert (executor.id, executor.cores, executor.host, ms(executor.joined_us)) == (
        *(driver["executorID"], driver["cores"], driver["hostID"], driver["startTime"]),
    )
    assert {str(stage.id): stage.job for stage in app.stages} == expected["stageIDToJobID"]
    for job in app.jobs:
        told = expected["jobMap"][str(job.id)]
        assert (ms(job.submitted_us), ms(job.completed_us)) == (told["startTime"], told["endTime"])
        check_metrics(tuple(stage for stage in app.stages if stage.job == job.id), told["jobMetrics"])
    for stage in app.stages:
        told = expected["stageMap"][str(stage.id)]
        assert (stage.tasks, list(stage.parents)) == (
            told["numberOfTasks"],
            json.loads(told["parentStageIDs"]),
        )
        check_metrics((stage,), told["stageMetrics"])


def test_two_resource_profiles(shared: Path) -> None:
    app = only(shared, "spark/yarn_join_9exec.zstd")
    assert [(profile.id, profile.task["cpus"], profile.task["gpu"]) for profile in app.profiles] == [
        (0, 1.0, 0.25),
        (1, 2.0, 2.0),
    ]
    assert [stage.profile for stage in app.stages] == [1, 0, 0, 0, 0]
    assert [executor.profile for executor in app.executors] == [0, 1, 1, 1, 1, 0, 0, 0, 0]
    assert app.executors[0].left_us is not None


def test_executors_join_and_leave(shared: Path) -> None:
    app = only(shared, "spark/yarn_dynamic_alloc_4nodes.zstd")
    assert (len(app.executors), sum(executor.left_us is not None for executor in app.executors)) == (15, 14)
    assert (len(app.stages), total(app.stages, "done")) == (20, 235)
    assert app.properties["spark.dynamicAllocation.enabled"] == "true"


def test_executors_of_different_sizes(shared: Path) -> None:
    app = only(shared, "spark/eventlog_3nodes_12cores_variable_cores", strict=False)
    assert app.hosts == 3
    assert app.slots == sum(executor.cores for executor in app.executors) == 28


def test_rolled_pieces_make_one_application(shared: Path) -> None:
    names = [f"spark/rolling_events_{number}_local-1623876083964.zstd" for number in (2, 1)]
    app = only(shared, *names)
    assert (len(app.jobs), len(app.stages), total(app.stages, "done")) == (1, 4, 2801)
    assert app.complete


def test_truncated_log(shared: Path) -> None:
    name = "spark/truncated_eventlog"
    app = only(shared, name, strict=False)
    assert [job.completed_us is None for job in app.jobs] == [False, True]
    assert (app.complete, total(app.stages, "tasks"), total(app.stages, "done")) == (False, 24, 21)
    with pytest.raises(InputError, match="without SparkListenerApplicationEnd"):
        imported(shared, name)


def test_malformed_line_is_told(shared: Path) -> None:
    name = "spark/malformed_json_eventlog.zstd"
    read = imported(shared, name, strict=False)
    assert read.tally.skipped == {"line that is not a Spark event in JSON": 1}
    assert total(read.graph.applications[0].stages, "done") == 217
    with pytest.raises(InputError, match=r"malformed_json_eventlog.zstd:4: line that is not a Spark event"):
        imported(shared, name)


def test_log_without_a_task(shared: Path) -> None:
    read = imported(shared, "spark/empty_eventlog")
    assert read.graph.applications[0].stages == ()
    with pytest.raises(InputError, match="1 x application of which no stage ran"):
        to_workload(read.graph, JobOptions())


def test_two_runs_of_one_application_are_two(shared: Path) -> None:
    names = [f"spark/emr_process_large_dataset_attempt{number}.zstd" for number in (1, 2)]
    apps = imported(shared, *names).graph.applications
    assert len({app.id for app in apps}) == 2
    assert [len(app.stages) for app in apps] == [5, 5]


def test_rumen_two_teragens(shared: Path) -> None:
    apps = imported(shared, "hadoop/2jobs2min-rumen-jh.json").graph.applications
    assert [(app.stages[0].tasks, len(app.stages)) for app in apps] == [(96, 1), (96, 1)]
    assert [app.stages[0].output_bytes for app in apps] == [40 * 10**9] * 2
    assert round(apps[0].stages[0].cpu_us / SECOND) == 1310
    assert [round((app.finished_us or 0) / SECOND) for app in apps] == [99, 92]


def test_rumen_job_that_never_finished(shared: Path) -> None:
    name = "hadoop/rumen-zombie-input-trace.json"
    read = imported(shared, name, strict=False)
    assert [app.id[-4:] for app in read.graph.applications] == ["0001", "0002", "0003"]
    assert [reason.partition(" (")[0] for reason in read.tally.skipped] == ["job without finishTime"]
    with pytest.raises(InputError, match=r"json:2093: job_200904211745_0004: job without finishTime"):
        imported(shared, name)
    with pytest.raises(InputError, match="Rumen topology"):
        imported(shared, "hadoop/rumen-zombie-input-topology.json")


def test_job_history(shared: Path) -> None:
    app = only(shared, "hadoop/quasimontecarlo-1m-1r.jhist")
    maps, reduces = app.stages
    assert (maps.locality, maps.input_bytes, maps.shuffle_write_bytes) == ({"NODE_LOCAL": 1}, 268, 28)
    assert (reduces.shuffle_remote_bytes, reduces.output_bytes) == (28, 215)
    assert (reduces.wall_us, reduces.fetch_wait_us) == (2_211_000, 1_982_000)


def test_swim_facebook_2009(shared: Path) -> None:
    apps = imported(shared, "swim/FB-2009_samples_24_times_1hr_0.tsv").graph.applications
    assert len(apps) == 5894
    assert round(100 * sum(len(app.stages) == 1 for app in apps) / len(apps)) == 75
    stages = tuple(stage for app in apps for stage in app.stages)
    amounts = ("input_bytes", "shuffle_remote_bytes", "output_bytes")
    assert [round(total(stages, name) / 1e12, 1) for name in amounts] == [26.9, 22.2, 6.9]
    assert 23 < apps[-1].submitted_us / SECOND / 3600 < 24


@pytest.mark.parametrize(
    ("name", "tasks", "makespan"),
    [
        ("OLDSCHEMA-seismology-chameleon-1100p-001", 1101, 2354),
        ("helloworld-chain-5-chameleon", 5, 661),
        ("montage-chameleon-2mass-005d-001", 58, 1060),
        ("nextflow-bacass-dirt02-001", 11, 4243),
    ],
)
def test_workflows_of_both_schemas(shared: Path, name: str, tasks: int, makespan: int) -> None:
    path = shared / "data" / "workflows" / f"{name}.json"
    for group in ("level", "task"):
        options = ImportOptions(strict=True, group=group)
        (app,) = import_graph([path], options=options).graph.applications
        assert (total(app.stages, "done"), app.finished_us) == (tasks, makespan * SECOND)
        assert len(app.stages) == tasks or group == "level"


def test_stage_files(shared: Path) -> None:
    app = only(shared, "stages/homogeneous.json")
    assert [(s.id, s.parents, s.tasks, s.flops, s.wall_us) for s in app.stages] == [
        *((0, (), 64, 2e10, 0), (1, (), 16, 1e10, 0)),
        *((4, (0, 1), 141, 8e10, 0), (5, (4,), 12, 0, 420 * SECOND)),
    ]
    app = only(shared, "stages/heterogeneous.json")
    assert [(s.id, s.parents, s.tasks, s.flops, s.wall_us) for s in app.stages] == [
        *((2, (), 20, 4e9, 0), (3, (), 8, 0, 100 * SECOND), (4, (2, 3), 141, 100e9 + 41 * 2e7, 0)),
    ]
    # Of the matrix of task_24, twelve pairs of different executors send: 10 MB once, 5 MB eleven times.
    assert app.stages[2].shuffle_remote_bytes == 41 * (10 + 11 * 5) * 10**6


EVERY = [
    *(NDS, SPARKLENS, "spark/databricks_read_write_7.7GB.zstd", "hadoop/2jobs2min-rumen-jh.json"),
    *("hadoop/quasimontecarlo-1m-1r.jhist", "workflows/montage-chameleon-2mass-005d-001.json"),
    *("stages/homogeneous.json", "stages/heterogeneous.json"),
]


@pytest.mark.parametrize("name", EVERY)
def test_graphs_come_back_and_become_jobs_that_batsim_reads(shared: Path, name: str) -> None:
    graph = imported(shared, name, strict=False).graph
    text = graph_json(graph)
    assert parse_graph(text, "graph.json") == graph
    for level in ("delay", "job", "stage_dag"):
        workload = to_workload(graph, JobOptions(level=level)).workload
        assert len(workload) == len(graph.applications)


def test_level_delay_lasts_to_the_end_of_the_last_stage(shared: Path) -> None:
    graph = imported(shared, NDS).graph
    app = graph.applications[0]
    workload = to_workload(graph, JobOptions(level="delay")).workload
    seconds = sum(workload.profiles[name].raw["delay"] for name in workload.profiles["app0"].raw["seq"])
    assert seconds == pytest.approx(max(stage.completed_us or 0 for stage in app.stages) / SECOND)
