"""Importing traces of Hadoop: job histories, Rumen, SLS and SWIM."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from batpy.base.errors import InputError
from batpy.workloads.stages.graph import Application
from batpy.workloads.stages.jhist import read_jhist
from batpy.workloads.stages.rumen import read_rumen
from batpy.workloads.stages.sls import read_sls
from batpy.workloads.stages.swim import read_swim
from batpy.workloads.stages.tally import Tally

Raw = dict[str, Any]
Reader = Callable[[Sequence[str | Path], Tally], list[Application]]


def imported(
    read: Reader, tmp_path: Path, content: str, *, strict: bool = False
) -> tuple[list[Application], Tally]:
    path = tmp_path / "trace"
    path.write_text(content)
    tally = Tally(strict)
    return read([path], tally), tally


# -- job histories


def event(kind: str, **content: Any) -> Raw:
    return {"type": kind, "event": {f"org.apache.hadoop.mapreduce.jobhistory.{kind}": content}}


def counters(**amounts: int) -> Raw:
    counts = [{"name": name, "displayName": name, "value": value} for name, value in amounts.items()]
    return {"name": "COUNTERS", "groups": [{"name": "all", "displayName": "", "counts": counts}]}


def attempt(
    kind: str, task: int, number: int, begin: int, end: int, how: str = "FINISHED", **more: Any
) -> list[Raw]:
    letter = kind[0].lower()
    ids = {"taskid": f"task_1_1_{letter}_{task}", "attemptId": f"attempt_1_1_{letter}_{task}_{number}"}
    locality = {"string": "RACK_LOCAL"} if kind == "MAP" else None
    return [
        event(f"{kind}_ATTEMPT_STARTED", **ids, taskType=kind, startTime=begin, locality=locality),
        event(f"{kind}_ATTEMPT_{how}", **ids, taskType=kind, finishTime=end, hostname=f"h{task}", **more),
    ]


def history(*events: Raw, ended: bool = True) -> str:
    first = [
        event("JOB_SUBMITTED", jobid="job_1_1", submitTime=1000, jobName="wc", jobQueueName={"string": "q"}),
        event("JOB_INITED", jobid="job_1_1", launchTime=1200, totalMaps=2, totalReduces=1, uberized=False),
    ]
    last = [event("JOB_FINISHED", jobid="job_1_1", finishTime=20_000)] if ended else []
    lines = ["Avro-Json", "{}", *(json.dumps(each) + "\n" for each in [*first, *events, *last])]
    return "\n".join(lines)


MAPS = [
    *attempt("MAP", 0, 0, 2000, 5000, counters=counters(CPU_MILLISECONDS=1500, HDFS_BYTES_READ=64)),
    *attempt("MAP", 1, 0, 2000, 4000, "FAILED", status="FAILED"),
    *attempt("MAP", 1, 1, 4000, 6000, counters=counters(CPU_MILLISECONDS=500, HDFS_BYTES_READ=36)),
]
REDUCE = attempt(
    *("REDUCE", 0, 0, 3000, 9000),
    shuffleFinishTime=7000,
    sortFinishTime=7500,
    counters=counters(
        CPU_MILLISECONDS=900, REDUCE_SHUFFLE_BYTES=50, HDFS_BYTES_WRITTEN=10, GC_TIME_MILLIS=20
    ),
)


def test_a_job_history_becomes_a_map_and_a_reduce_stage(tmp_path: Path) -> None:
    (job,), tally = imported(read_jhist, tmp_path, history(*MAPS, *REDUCE), strict=True)
    assert tally.report() == []
    assert (job.id, job.name, job.queue, job.finished_us) == ("job_1_1", "wc", "q", 19_000_000)
    # Map 0 and the reduce ran on h0, both attempts of map 1 on h1.
    assert (job.hosts, job.slots) == (2, 3)
    maps, reduces = job.stages
    assert (maps.name, maps.tasks, maps.done, maps.lost, maps.lost_us) == ("map", 2, 2, 1, 2_000_000)
    assert (maps.wall_us, maps.cpu_us, maps.input_bytes) == (5_000_000, 2_000_000, 100)
    assert maps.locality == {"RACK_LOCAL": 2}
    assert (maps.submitted_us, maps.completed_us) == (1_000_000, 5_000_000)
    assert (reduces.parents, reduces.shuffle_remote_bytes, reduces.output_bytes) == ((0,), 50, 10)
    # Of six seconds, four shuffle, 0.9 compute and 0.02 collect garbage.
    assert (reduces.fetch_wait_us, reduces.blocked_us) == (4_000_000, 1_080_000)


def test_a_map_whose_output_was_lost_does_not_count(tmp_path: Path) -> None:
    lost = MAPS[1]["event"]["org.apache.hadoop.mapreduce.jobhistory.MAP_ATTEMPT_FINISHED"]
    again = attempt("MAP", 0, 1, 7000, 8000, counters=counters(CPU_MILLISECONDS=100))
    killed = event("MAP_ATTEMPT_KILLED", attemptId=lost["attemptId"], finishTime=6500)
    (job,), tally = imported(read_jhist, tmp_path, history(*MAPS, killed, *again, *REDUCE), strict=True)
    assert tally.report() == []
    assert (job.stages[0].done, job.stages[0].lost, job.stages[0].cpu_us) == (2, 2, 600_000)


def test_an_unfinished_job_history_is_noted(tmp_path: Path) -> None:
    text = history(*MAPS, REDUCE[0], ended=False) + '{"type":"REDUCE_ATT'
    (job,), tally = imported(read_jhist, tmp_path, text)
    assert not job.complete
    assert job.finished_us is None
    assert tally.skipped == {"line that is not a job history event": 1}
    assert set(tally.noted) == {"task attempt without an end", "job history without the job's end"}
    with pytest.raises(InputError, match=r"trace:\d+: line that is not a job history event"):
        imported(read_jhist, tmp_path, text, strict=True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the first line must be 'Avro-Json'"),
        ("Avro-Binary\n...", "Avro's binary form"),
        ("Avro-Json\n{}\n", "no JOB_SUBMITTED"),
    ],
)
def test_what_is_no_job_history_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        imported(read_jhist, tmp_path, text)


# -- Rumen


def rumen_task(kind: str, index: int, *attempts: Raw, near: str = "") -> Raw:
    layers = [{"layers": near.split("/")}] if near else []
    return {
        "taskID": f"task_{kind}_{index}",
        "taskType": kind,
        "attempts": list(attempts),
        "preferredLocations": layers,
    }


def rumen_attempt(begin: int, end: int, result: str = "SUCCESS", at: str = "r1/a", **more: Any) -> Raw:
    usage = {"cumulativeCpuUsage": more.pop("cpu", -1), "physicalMemoryUsage": 5}
    return {
        "startTime": begin,
        "finishTime": end,
        "result": result,
        "location": {"layers": at.split("/")},
        "resourceUsageMetrics": usage,
        **more,
    }


def rumen_job(id: str, submit: int, finish: int, maps: list[Raw], reduces: list[Raw] | None = None) -> Raw:
    return {
        "jobID": id,
        "submitTime": submit,
        "finishTime": finish,
        "mapTasks": maps,
        "reduceTasks": reduces,
        "otherTasks": [],
        "outcome": "SUCCESS",
        "queue": None,
    }


RUMEN = rumen_job(
    "job_1",
    1000,
    9000,
    [
        rumen_task("MAP", 0, rumen_attempt(2000, 4000, cpu=1500, hdfsBytesRead=70), near="r1/a"),
        rumen_task("MAP", 1, rumen_attempt(2000, 3000, at="r1/b", hdfsBytesRead=-1), near="r1/a"),
        rumen_task(
            "MAP", 2, rumen_attempt(2500, 3000, "KILLED"), rumen_attempt(3000, 4000, at="r2/c"), near="r1/a"
        ),
    ],
    [rumen_task("REDUCE", 0, rumen_attempt(3500, 8000, reduceShuffleBytes=30, shuffleFinished=5000))],
)


def test_rumen_jobs_one_after_another(tmp_path: Path) -> None:
    text = json.dumps(RUMEN, indent=2) + "\n" + json.dumps(dict(RUMEN, jobID="job_2"))
    jobs, tally = imported(read_rumen, tmp_path, text, strict=True)
    assert tally.report() == []
    assert [job.id for job in jobs] == ["job_1", "job_2"]
    maps, reduces = jobs[0].stages
    assert (maps.done, maps.lost, maps.cpu_us, maps.input_bytes) == (3, 1, 1_500_000, 70)
    assert maps.locality == {"NODE_LOCAL": 1, "RACK_LOCAL": 1, "OFF_SWITCH": 1}
    assert (reduces.shuffle_remote_bytes, reduces.fetch_wait_us) == (30, 1_500_000)


def test_a_job_that_never_finished_is_left_out_or_refused(tmp_path: Path) -> None:
    text = json.dumps(dict(RUMEN, jobID="job_0", finishTime=-1)) + "\n" + json.dumps(RUMEN)
    jobs, tally = imported(read_rumen, tmp_path, text)
    assert [job.id for job in jobs] == ["job_1"]
    assert sum(tally.skipped.values()) == 1
    with pytest.raises(InputError, match=r"trace:1: job_0: job without finishTime \(-1"):
        imported(read_rumen, tmp_path, text, strict=True)


def test_a_malformed_rumen_job_is_counted(tmp_path: Path) -> None:
    text = json.dumps(dict(RUMEN, mapTasks=7)) + "\n" + json.dumps(RUMEN)
    jobs, tally = imported(read_rumen, tmp_path, text)
    assert len(jobs) == 1
    assert tally.skipped == {"job with a malformed field": 1}
    with pytest.raises(InputError, match=r"job\[0\].mapTasks: .*must be a list"):
        imported(read_rumen, tmp_path, text, strict=True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"name": "<root>", "children": []}', "Rumen topology"),
        ('{"a": 1}', "a Rumen trace is made of jobs"),
        ('{"jobID": 1,\n "submitTime": NaN}', "not JSON: NaN is not a number"),
        ('{"jobID": 1}\n[', r":2: not JSON"),
        ("[1]", "must be an object, got int"),
    ],
)
def test_what_is_no_rumen_trace_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        imported(read_rumen, tmp_path, text)


# -- SLS


def sls_task(**more: Any) -> Raw:
    task = {"container.host": "/default-rack/n1", "container.start.ms": 6664, "container.end.ms": 23707}
    return {**task, "container.priority": 20, "container.type": "map", **more}


def sls_job(*tasks: Raw, **more: Any) -> Raw:
    job: Raw = {"am.type": "mapreduce", "job.start.ms": 0, "job.end.ms": 95_375, "job.queue.name": "q1"}
    return {**job, "job.id": "job_1", "job.user": "default", "job.tasks": list(tasks), **more}


def test_sls_jobs_in_a_row_or_in_a_list(tmp_path: Path) -> None:
    reduce = sls_task(**{"container.type": "reduce", "container.end.ms": "30000"})
    first = sls_job(sls_task(), sls_task(**{"duration.ms": 1000, "count": 3}), reduce)
    second = sls_job(sls_task(), **{"job.id": "job_2", "job.start.ms": 5000})
    row = json.dumps(first) + json.dumps(second)
    jobs, tally = imported(read_sls, tmp_path, row, strict=True)
    assert tally.report() == []
    assert jobs == imported(read_sls, tmp_path, json.dumps([first, second]))[0]
    maps, reduces = jobs[0].stages
    assert (maps.done, maps.wall_us) == (4, 17_043_000 + 3 * 1_000_000)
    assert (reduces.parents, reduces.wall_us) == ((0,), 23_336_000)
    assert (jobs[1].submitted_us, jobs[1].finished_us, jobs[0].hosts) == (5_000_000, 90_375_000, 1)


def test_sls_tasks_that_start_before_their_job_have_no_dates(tmp_path: Path) -> None:
    (job,), _ = imported(read_sls, tmp_path, json.dumps(sls_job(sls_task(), **{"job.start.ms": 50_000})))
    assert job.stages[0].submitted_us is None
    assert job.stages[0].wall_us == 17_043_000


def test_sls_tasks_and_jobs_that_sls_would_refuse(tmp_path: Path) -> None:
    bad = [sls_task(**{"container.end.ms": 1}), {"container.start.ms": 4}, sls_task()]
    text = json.dumps([sls_job(*bad), sls_job(**{"job.id": "job_2"})])
    jobs, tally = imported(read_sls, tmp_path, text)
    assert [job.stages[0].done for job in jobs] == [1]
    assert sorted(tally.skipped) == [
        "job without a task",
        "task whose duration is not above 0",
        "task with a malformed field",
    ]
    with pytest.raises(InputError, match=r"job_1.job.tasks\[0\]: task whose duration is not above 0"):
        imported(read_sls, tmp_path, text, strict=True)


def test_sls_job_count_stands_for_copies(tmp_path: Path) -> None:
    jobs, _ = imported(read_sls, tmp_path, json.dumps(sls_job(sls_task(), **{"job.count": 2})))
    assert [job.id for job in jobs] == ["job_1_0", "job_1_1"]


def test_a_synth_description_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="SYNTH description"):
        imported(read_sls, tmp_path, '{"num_nodes": 3, "workloads": []}')


# -- SWIM


def test_swim_rows_tell_bytes(tmp_path: Path) -> None:
    rows = f"job0\t7\t7\t{3 * 2**27 + 1}\t{2**27}\t50\njob1\t9\t2\t10\t0\t20\tin\tout\n"
    jobs, tally = imported(read_swim, tmp_path, rows, strict=True)
    assert tally.report() == []
    maps, reduces = jobs[0].stages
    assert (maps.tasks, reduces.tasks, maps.shuffle_write_bytes) == (4, 1, 2**27)
    assert (reduces.shuffle_remote_bytes, reduces.output_bytes, reduces.parents) == (2**27, 50, (0,))
    (only,) = jobs[1].stages
    assert (only.tasks, only.input_bytes, only.output_bytes) == (1, 10, 20)
    assert [job.submitted_us for job in jobs] == [7_000_000, 9_000_000]


def test_swim_rows_that_break_the_format(tmp_path: Path) -> None:
    rows = (
        "job0\t1\t1\t1\t0\t1\njob1\t1\t1\njob2\t1\t1\tmany\t0\t1\njob3\t1\t1\t-4\t0\t1\njob0\t2\t1\t1\t0\t1\n"
    )
    jobs, tally = imported(read_swim, tmp_path, rows)
    assert [job.id for job in jobs] == ["job0"]
    assert sorted(tally.skipped.values()) == [1, 1, 2]
    with pytest.raises(InputError, match=r"trace:2: row without the six columns .* got 3"):
        imported(read_swim, tmp_path, rows, strict=True)
