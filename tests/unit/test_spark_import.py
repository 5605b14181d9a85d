"""Importing Spark event logs: what they hold, how they are packed, and what is wrong with them."""

from __future__ import annotations

import gzip
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import spark_logs as logs

from batpy.base.errors import InputError
from batpy.workloads.stages.graph import Application
from batpy.workloads.stages.spark import read_spark
from batpy.workloads.stages.tally import Tally

SMALL = logs.lines(logs.small())


def read(path: Path, *, strict: bool = False) -> tuple[Application, Tally]:
    tally = Tally(strict)
    (application,) = read_spark([path], tally)
    return application, tally


def imported(tmp_path: Path, events: list[logs.Event], *, strict: bool = True) -> tuple[Application, Tally]:
    path = tmp_path / "log"
    path.write_bytes(logs.lines(events))
    return read(path, strict=strict)


def test_figures_of_a_small_log(tmp_path: Path) -> None:
    application, tally = imported(tmp_path, logs.small())
    assert tally.report() == []
    assert (application.id, application.name, application.user) == ("app-1", "demo", "ada")
    assert (application.submitted_us, application.finished_us) == (1_000_000, 29_000_000)
    assert (application.hosts, application.slots) == (2, 8)
    first, second = application.stages
    assert (first.submitted_us, first.completed_us) == (1_000_000, 3_000_000)
    assert (first.tasks, first.done, first.wall_us, first.cpu_us) == (4, 4, 4_600_000, 2_000_000)
    assert (first.times_us[0], first.times_us[8], first.times_us[16]) == (1_000_000, 1_150_000, 1_300_000)
    assert (first.input_bytes, first.shuffle_remote_bytes, first.shuffle_local_bytes) == (4000, 160, 240)
    assert first.locality == {"NODE_LOCAL": 4}
    # 900 ms of running, less 500 on the processor, 1 collecting garbage, 3 fetching, 1 writing the shuffle.
    assert first.blocked_us == 4 * 395_000
    # Of a wall of 1000 to 1300 ms, 900 run and 2 deserialize.
    assert first.delay_us == (98 + 198 + 298 + 398) * 1000
    assert (second.parents, second.job, second.output_bytes) == ((0,), 1, 1000)
    assert [job.think_us for job in application.jobs] == [1_000_000, 20_000_000]


def packed_zstd(content: bytes) -> bytes:
    zstandard = pytest.importorskip("zstandard")
    # Several frames, as Spark flushes them.
    half = len(content) // 2
    return bytes(zstandard.compress(content[:half]) + zstandard.compress(content[half:]))


def packed_lz4_frame(content: bytes) -> bytes:
    return bytes(pytest.importorskip("lz4.frame").compress(content))


def packed_lz4(content: bytes) -> bytes:
    pytest.importorskip("lz4.block")
    return logs.lz4_java(content)


def packed_snappy(content: bytes) -> bytes:
    pytest.importorskip("snappy")
    return logs.snappy_java(content)


@pytest.mark.parametrize(
    "pack", [packed_zstd, packed_lz4, packed_lz4_frame, packed_snappy, logs.lzf, gzip.compress]
)
def test_every_codec_gives_the_same(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    plain, packed = tmp_path / "plain", tmp_path / "packed"
    plain.write_bytes(SMALL)
    packed.write_bytes(pack(SMALL))
    assert read(packed, strict=True)[0] == read(plain, strict=True)[0]


@pytest.mark.parametrize("pack", [packed_zstd, packed_lz4, packed_snappy, logs.lzf, gzip.compress])
def test_a_packed_log_that_is_cut_off_is_read_as_far_as_it_goes(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "log"
    content = pack(SMALL * 3)  # the further starts are noted
    path.write_bytes(content[: len(content) * 2 // 3])
    application, tally = read(path)
    assert application.id == "app-1"
    assert any("cut" in line for line in tally.report())


@pytest.mark.parametrize(
    ("head", "package", "module"),
    [
        (b"\x28\xb5\x2f\xfd", "zstandard", "zstandard"),
        (b"LZ4Block", "lz4", "lz4.block"),
        (b"\x82SNAPPY\x00", "python-snappy", "snappy"),
    ],
)
def test_a_missing_library_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, head: bytes, package: str, module: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    path = tmp_path / "log"
    path.write_bytes(head + bytes(20))
    with pytest.raises(
        InputError, match=rf"install the package {package} \(pip install 'batpy-sim\[spark\]'"
    ):
        read(path)


def test_rolled_pieces_are_read_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    rolled = tmp_path / "eventlog_v2_app-1"
    rolled.mkdir()
    whole = SMALL.splitlines(keepends=True)
    for number in (1, 2, 10):
        part = {1: whole[:5], 2: whole[5:12], 10: whole[12:]}[number]
        (rolled / f"events_{number}_app-1").write_bytes(b"".join(part))
    (rolled / "appstatus_app-1.inprogress").write_bytes(b"")
    plain = tmp_path / "plain"
    plain.write_bytes(SMALL)
    assert read(rolled, strict=True)[0] == read(plain, strict=True)[0]


def test_a_compacted_piece_stands_for_what_came_before_it(tmp_path: Path) -> None:
    whole = SMALL.splitlines(keepends=True)
    (tmp_path / "events_1_app-1").write_bytes(b"not to be read\n")
    (tmp_path / "events_2_app-1").write_bytes(b"not to be read\n")
    (tmp_path / "events_2_app-1.compact").write_bytes(b"".join(whole[:9]))
    (tmp_path / "events_3_app-1").write_bytes(b"".join(whole[9:]))
    application, tally = read(tmp_path, strict=True)
    assert [stage.done for stage in application.stages] == [4, 2]
    assert tally.report() == []


def test_a_zip_from_the_history_server_is_a_folder(tmp_path: Path) -> None:
    path = tmp_path / "eventLogs-app-1.zip"
    whole = SMALL.splitlines(keepends=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("eventlog_v2_app-1/appstatus_app-1", "")
        archive.writestr("eventlog_v2_app-1/events_2_app-1", b"".join(whole[9:]))
        archive.writestr("eventlog_v2_app-1/events_1_app-1", b"".join(whole[:9]))
    assert [stage.done for stage in read(path, strict=True)[0].stages] == [4, 2]


def test_a_folder_of_the_oldest_form_names_its_application(tmp_path: Path) -> None:
    folder = tmp_path / "app-3"
    folder.mkdir()
    (folder / "SPARK_VERSION_1.2").write_bytes(b"")
    (folder / "EVENT_LOG_1").write_bytes(b"".join(SMALL.splitlines(keepends=True)[7:]))
    assert read(folder)[0].id == "app-3"


def test_two_logs_in_a_folder_are_two_applications(tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(SMALL)
    (tmp_path / "a").write_bytes(logs.lines([logs.start(id="app-2"), logs.end()]))
    assert [a.id for a in read_spark([tmp_path], Tally())] == ["app-2", "app-1"]


def test_malformed_lines_are_counted_or_refused_with_their_line(tmp_path: Path) -> None:
    whole = SMALL.splitlines(keepends=True)
    whole[6] = whole[6].replace(b'"Stage Info"', b'_"Stage Info"')
    whole.insert(3, b"\xff\xfe\n")
    path = tmp_path / "log"
    path.write_bytes(b"".join(whole))
    application, tally = read(path)
    assert tally.skipped["line that is not a Spark event in JSON"] == 2
    assert [stage.done for stage in application.stages] == [4, 2]
    with pytest.raises(InputError, match=r"log:4: line that is not a Spark event in JSON"):
        read(path, strict=True)


def test_a_field_of_the_wrong_kind_is_told_with_its_place(tmp_path: Path) -> None:
    events = logs.small()
    events[7]["Task Info"]["Launch Time"] = "soon"
    application, tally = imported(tmp_path, events, strict=False)
    assert tally.skipped["event with a missing or malformed field"] == 1
    assert application.stages[0].done == 3
    with pytest.raises(InputError, match=r"log:8: event .*`Task Info.Launch Time`"):
        imported(tmp_path, events)


@pytest.mark.parametrize(
    "kept", [b'{"Event":"SparkListenerTaskStart","Stage', b'{"Event":"SparkListenerTaskEnd"']
)
def test_a_last_line_that_is_cut_off_is_counted(tmp_path: Path, kept: bytes) -> None:
    path = tmp_path / "app-7.inprogress"
    path.write_bytes(b"".join(SMALL.splitlines(keepends=True)[:10]) + kept)
    application, tally = read(path)
    assert tally.skipped == {"last line cut off": 1}
    assert not application.complete
    assert application.finished_us is None
    assert application.stages[0].done == 3
    assert application.stages[0].completed_us is None
    assert sorted(tally.noted) == [
        "job without SparkListenerJobEnd",
        "log without SparkListenerApplicationEnd",
        "stage without SparkListenerStageCompleted",
    ]


def test_a_log_without_its_beginning_is_named_after_its_file(tmp_path: Path) -> None:
    path = tmp_path / "events_2_app-9.zstd"
    path.write_bytes(b"".join(SMALL.splitlines(keepends=True)[7:]))
    application, tally = read(path)
    assert application.id == "app-9"
    assert application.stages[0].submitted_us == 0  # dates count from the first there is
    assert tally.noted["log without SparkListenerApplicationStart"] == 1


@pytest.mark.parametrize("content", [b"", b"hello\n", b'{"a": 1}\n'])
def test_what_is_no_event_log_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "log"
    path.write_bytes(content)
    with pytest.raises(InputError, match="not a Spark event log"):
        read(path)


def test_failed_killed_and_second_tasks_are_lost_time(tmp_path: Path) -> None:
    events = logs.small()
    events[7:7] = [
        logs.task(0, 0, 2000, 2500, reason="ExceptionFailure"),  # without metrics
        logs.task(0, 9, 2000, 2100, reason="TaskKilled", metrics=logs.metrics(50, 50)),
    ]
    events.insert(11, logs.task(0, 1, 2000, 2300, metrics=logs.metrics(1, 1)))  # a twin that won as well
    stage = imported(tmp_path, events)[0].stages[0]
    assert (stage.done, stage.lost, stage.lost_us) == (4, 3, 900_000)
    assert (stage.wall_us, stage.cpu_us) == (4_600_000, 2_000_000)


def test_attempts_of_a_stage_are_records_of_their_own(tmp_path: Path) -> None:
    events = logs.small()
    again = {"Stage Attempt ID": 1}
    events[-1:-1] = [
        logs.stage(0, 2, 27_000, **again),
        logs.task(0, 0, 27_000, 27_500, attempt=1, metrics=logs.metrics(400, 300)),
        logs.task(0, 3, 27_000, 27_500, attempt=1, metrics=logs.metrics(400, 300)),
        logs.stage(0, 2, 27_000, 28_000, **again),
    ]
    stages = imported(tmp_path, events)[0].stages
    assert [(s.id, s.attempt, s.done) for s in stages] == [(0, 0, 4), (1, 0, 2), (0, 1, 2)]


def test_slots_are_counted_for_each_resource_profile(tmp_path: Path) -> None:
    events = [
        logs.start(),
        logs.profile(0, {"cores": 4, "gpu": 1}, {"cpus": 1, "gpu": 0.25}),
        logs.profile(1, {"cores": 2, "gpu": 2}, {"cpus": 2, "gpu": 2}),
        logs.executor("1", 2000, cores=4),
        logs.executor("2", 3000, cores=2, profile=1, host="n2"),
        logs.executor("3", 3000, cores=8, host="n3"),  # more cores than its profile says; the GPU decides
        logs.removed("1", 9000),
        logs.executor("4", 9000, cores=4, host="n1"),
        logs.end(),
    ]
    application, _ = imported(tmp_path, events)
    assert (application.hosts, application.slots) == (3, 4 + 1 + 4)
    gone = application.executors[0]
    assert (gone.left_us, gone.reason) == (8_000_000, "idle")


def test_parents_that_were_skipped_are_found_by_their_rdds(tmp_path: Path) -> None:
    events = logs.small()
    rdds = [{"RDD ID": 4, "Name": "x"}, {"RDD ID": 5, "Name": "y"}]
    skipped = {"Stage ID": 7, "Number of Tasks": 4, "RDD Info": rdds}
    for event in events:
        if event["Event"] == "SparkListenerJobStart" and event["Job ID"] == 1:
            event["Stage Infos"] = [skipped]
        if event["Event"].startswith("SparkListenerStage"):
            if event["Stage Info"]["Stage ID"] == 0:
                event["Stage Info"]["RDD Info"] = rdds[::-1]
            else:
                event["Stage Info"]["Parent IDs"] = [7]
    application, tally = imported(tmp_path, events)
    assert (application.stages[1].parents, application.stages[1].skipped_parents) == ((0,), (7,))
    assert tally.report() == []
    skipped["RDD Info"] = rdds[:1]
    application, tally = imported(tmp_path, events)
    assert (application.stages[1].parents, application.stages[1].skipped_parents) == ((), (7,))
    assert sum(tally.noted.values()) == 1


def test_clocks_that_disagree_do_not_make_negative_times(tmp_path: Path) -> None:
    events = logs.small()
    events[7]["Task Info"]["Finish Time"] = 1900
    application, tally = imported(tmp_path, events, strict=False)
    assert application.stages[0].times_us[0] == 0
    assert tally.noted == {"task that finishes before its launch": 1}


def test_an_application_without_a_stage_is_one(tmp_path: Path) -> None:
    application, tally = imported(tmp_path, [logs.start(), logs.end()])
    assert (application.stages, application.complete, tally.report()) == ((), True, [])
