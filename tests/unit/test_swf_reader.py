"""Reading SWF logs: which rows become jobs, in which order, and what is said about the others."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import pytest

from batpy.base.errors import InputError
from batpy.workloads import swf_fields as swf
from batpy.workloads.swf import SwfWorkload, read_swf
from batpy.workloads.swf_options import SwfOptions

HEADER = "; Version: 2.2\n; MaxProcs: 8\n"


def row(
    job: object,
    submit: object = 0,
    run: object = 10,
    procs: object = 1,
    request: object = 20,
    *,
    allocated: object | None = None,
    status: object = 1,
    user: object = 3,
    queue: object = 1,
    preceding: object = -1,
    think: object = -1,
) -> str:
    allocated = procs if allocated is None else allocated
    return (
        f"{job} {submit} 0 {run} {allocated} -1 -1 {procs} {request} -1 {status} {user} 2 -1 {queue} -1 "
        f"{preceding} {think}"
    )


class Log:
    """Writes rows to a file and reads them back."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, *rows: str, header: str = HEADER, **options: object) -> SwfWorkload:
        path = self.folder / "log.swf"
        path.write_text(header + "\n".join(rows) + "\n")
        return read_swf(path, "w0", SwfOptions(**options), source="log.swf")  # type: ignore[arg-type]


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path)


def test_a_row_becomes_a_delay_job_that_carries_its_profile(log: Log) -> None:
    workload = log.read(row(7, 100, 33, 4, 60))
    (job,) = workload.jobs()
    assert (job.id, job.submit, job.res, job.walltime) == ("7", 0, 4, 60_000_000)
    assert job.raw == {
        "id": "7",
        "subtime": 0.0,
        "res": 4,
        "profile": "d33",
        "walltime": 60.0,
        "user": "3",
        "group": "2",
        "queue": "1",
    }
    assert job.behaviour is not None
    assert job.behaviour.raw == {"type": "delay", "delay": 33}
    assert (job.user, job.queue) == ("3", "1")
    assert (workload.streamed, workload.nb_res, len(workload)) == (True, 8, 1)


def test_jobs_may_be_read_twice(log: Log) -> None:
    workload = log.read(row(1), row(2))
    assert list(workload.jobs()) == list(workload.jobs())


def test_first_kept_submission_is_at_date_zero_unless_dates_are_kept(log: Log) -> None:
    rows = (row(1, 50, run=-1), row(2, 100), row(3, 130.5))
    assert [job.submit for job in log.read(*rows).jobs()] == [0, 30_500_000]
    assert [job.raw["subtime"] for job in log.read(*rows, rebase=False).jobs()] == [100.0, 130.5]


def test_equal_submissions_are_ordered_by_id_as_text(log: Log) -> None:
    workload = log.read(row(9, 5, 1), row(10, 5, 2), row(100, 5, 3), row(101, 6))
    assert [job.id for job in workload.jobs()] == ["10", "100", "9", "101"]
    assert [job.profile for job in workload.jobs()][:3] == ["d2", "d3", "d1"]


def test_unsorted_rows_are_sorted_with_all_their_columns(log: Log) -> None:
    workload = log.read(row(1, 30, 1, 1, user=7), row(2, 10, 2, 2, user=8), row(3, 20, 3, 3, user=9))
    assert [(j.id, j.submit, j.profile, j.res, j.user) for j in workload.jobs()] == [
        ("2", 0, "d2", 2, "8"),
        ("3", 10_000_000, "d3", 3, "9"),
        ("1", 20_000_000, "d1", 1, "7"),
    ]
    assert workload.noted == {swf.UNSORTED: 1}
    assert workload.first_line[swf.UNSORTED] == 4


def test_requested_processors_win_over_allocated_ones_by_default(log: Log) -> None:
    rows = (row(1, procs=4, allocated=3), row(2, procs=-1, allocated=5), row(3, procs=6, allocated=-1))
    assert [job.res for job in log.read(*rows).jobs()] == [4, 5, 6]
    assert [job.res for job in log.read(*rows, procs="allocated").jobs()] == [3, 5, 6]


def test_processors_are_packed_onto_hosts(log: Log) -> None:
    workload = log.read(*(row(n, procs=n) for n in (1, 4, 5)), procs_per_host=4)
    assert [job.res for job in workload.jobs()] == [1, 1, 2]
    assert workload.nb_res == 2


def test_missing_requested_time_means_unbounded_unless_a_rule_is_given(log: Log) -> None:
    rows = (row(1, run=100, request=-1), row(2, run=100, request=0), row(3, run=100, request=300))
    assert [job.walltime for job in log.read(*rows).jobs()] == [None, None, 300_000_000]
    assert "walltime" not in next(log.read(*rows).jobs()).raw
    ruled = log.read(*rows, walltime_factor=2, walltime_constant=60)
    assert [job.raw["walltime"] for job in ruled.jobs()] == [260.0, 260.0, 300.0]


def test_run_time_above_request_is_kept_and_counted(log: Log) -> None:
    workload = log.read(row(1, run=50, request=20), row(2, run=20, request=20))
    assert next(workload.jobs()).profile == "d50"
    assert workload.noted == {swf.OVER_REQUEST: 1}


def test_zero_run_time_is_kept_or_left_out(log: Log) -> None:
    rows = (row(1, run=0), row(2, run="-0.0"), row(3))
    assert [job.profile for job in log.read(*rows).jobs()] == ["d0", "d0", "d10"]
    without = log.read(*rows, keep_zero_run_time=False)
    assert [job.id for job in without.jobs()] == ["3"]
    assert without.skipped == {swf.ZERO_RUN: 2}


def test_cancelled_before_start_is_left_out_unless_asked_for(log: Log) -> None:
    rows = (
        row(1, run=-1, allocated=-1, status=5),
        row(2, run=5, status=5),
        row(3, run=0, allocated=0, status=5),
    )
    assert [job.id for job in log.read(*rows).jobs()] == ["2"]
    assert log.read(*rows).skipped == {swf.CANCELLED_BEFORE_START: 2}
    kept = log.read(*rows, keep_cancelled=True)
    assert [(job.id, job.profile) for job in kept.jobs()] == [("1", "d0"), ("2", "d5"), ("3", "d0")]


def test_cancelled_rows_are_no_breach_in_strict_mode(log: Log) -> None:
    assert len(log.read(row(1, run=-1, allocated=-1, status=5), row(2), strict=True)) == 1


@pytest.mark.parametrize(
    ("bad", "reason", "field"),
    [
        (row(2, run=-1), swf.NO_RUN, "field 4 (run time)"),
        (row(2, procs=-1), swf.NO_PROCS, "field 8 (requested processors)"),
        (row(2, procs=0), swf.NO_PROCS, "field 8 (requested processors)"),
        (row(2, procs=1.5), swf.BROKEN_NUMBER, "field 8 (requested processors)"),
        (row(2, procs="1e300"), swf.BROKEN_NUMBER, "field 8 (requested processors)"),
        (row("9" * 25), swf.BROKEN_NUMBER, "field 1 (job number)"),
        (row(2.5), swf.BROKEN_NUMBER, "field 1 (job number)"),
        (row(1), swf.DUPLICATE, "field 1 (job number)"),
        (row(2, request="soon"), swf.UNREADABLE, "field 9 (requested time)"),
        (row(2, request="nan"), swf.UNREADABLE, "field 9 (requested time)"),
        (row(2, request="inf"), swf.UNREADABLE, "field 9 (requested time)"),
        (row(2, request="1_0"), swf.UNREADABLE, "field 9 (requested time)"),
        ("2 0 0", swf.TOO_SHORT, "field 4 (run time)"),
    ],
)
def test_an_unusable_row_is_counted_or_in_strict_mode_named(
    log: Log, bad: str, reason: str, field: str
) -> None:
    workload = log.read(row(1), bad, row(3))
    assert [job.id for job in workload.jobs()] == ["1", "3"]
    assert workload.skipped == {reason: 1}
    assert workload.rows == 3
    assert workload.report() == [f"left out: 1 x {reason} (first at line 4)"]
    with pytest.raises(InputError) as caught:
        log.read(row(1), bad, row(3), strict=True)
    assert (caught.value.source, caught.value.line, caught.value.path) == ("log.swf", 4, field)
    assert reason in caught.value.problem


def test_negative_submit_time_is_left_out(log: Log) -> None:
    workload = log.read(row(1, -5), row(2, 3))
    assert workload.skipped == {swf.NO_SUBMIT: 1}


@pytest.mark.parametrize(
    ("odd", "kind", "field"),
    [
        (row(2, 5).rsplit(" ", 10)[0], swf.SHORT, "field 9 (requested time)"),
        (row(2, 5) + " more 19", swf.LONG, None),
        (row(2, 5).replace(" ", ";"), swf.SEMICOLONS, None),
        (row(-1, 5), swf.NO_NUMBER, "field 1 (job number)"),
        (row(2, 5, status=9), swf.ODD_STATUS, "field 11 (status)"),
    ],
)
def test_an_odd_row_is_mended_and_counted_or_in_strict_mode_refused(
    log: Log, odd: str, kind: str, field: str | None
) -> None:
    workload = log.read(row(1), odd, row(3, 6))
    assert [(job.id, job.submit) for job in workload.jobs()] == [("1", 0), ("2", 5_000_000), ("3", 6_000_000)]
    assert workload.noted == {kind: 1}
    with pytest.raises(InputError) as caught:
        log.read(row(1), odd, row(3), strict=True)
    assert (caught.value.line, caught.value.path) == (4, field)


def test_unsorted_submissions_are_refused_in_strict_mode(log: Log) -> None:
    with pytest.raises(InputError, match=r"^log.swf:4: field 2 \(submit time\): rows must be sorted"):
        log.read(row(1, 5), row(2, 4), strict=True)


def test_parts_of_a_stopped_job_are_not_further_jobs(log: Log) -> None:
    rows = (row(1, 0, 30), row(1, 0, 10, status=2), row(1, 0, 20, status=3), row(2, 5))
    workload = log.read(*rows, strict=True)
    assert [job.profile for job in workload.jobs()] == ["d30", "d10"]
    assert workload.skipped == {swf.PARTIAL_EXECUTION: 2}


def test_semicolon_dialect_without_numbers_is_numbered_in_order(log: Log) -> None:
    lines = [f"-1;{n * 10};-1;326;6;-1;-1;-1;4706;-1;1;tester;-1;-1;1;cm;-1;-1" for n in range(3)]
    jobs = list(log.read(*lines, header="").jobs())
    assert [(job.id, job.res, job.user) for job in jobs] == [
        ("1", 6, "tester"),
        ("2", 6, "tester"),
        ("3", 6, "tester"),
    ]
    assert jobs[0].raw["partition"] == "cm"


def test_columns_that_a_row_of_names_announces_are_kept(log: Log) -> None:
    names = "\t".join([*(f"c{n}" for n in range(18)), "DAG_name", "Task_ID"])
    workload = log.read(names, row(1) + "\tDAG-1 1", row(2) + " DAG-1 2", header="")
    assert [job.raw["DAG_name"] for job in workload.jobs()] == ["DAG-1", "DAG-1"]
    assert [job.raw["Task_ID"] for job in workload.jobs()] == ["1", "2"]
    assert workload.noted == {swf.COLUMN_NAMES: 1}


def test_announced_columns_stay_beside_their_jobs_when_a_row_has_none(log: Log) -> None:
    names = " ".join([*(f"c{n}" for n in range(18)), "DAG"])
    workload = log.read(names, row(1, 9) + " a", row(2, 8), row(3, 7) + " c", header="")
    assert [(job.id, job.raw.get("DAG")) for job in workload.jobs()] == [("3", "c"), ("2", None), ("1", "a")]


def test_announced_columns_may_be_missing_from_every_row(log: Log) -> None:
    names = " ".join([*(f"c{n}" for n in range(18)), "DAG"])
    filler = [row(n, n) for n in range(1, 700)]
    workload = log.read(names, *filler, row(700, 700) + " z", header="")
    assert [job.raw.get("DAG") for job in workload.jobs()][-2:] == [None, "z"]


def test_tabs_crlf_blank_lines_and_late_comments_are_ordinary(log: Log, tmp_path: Path) -> None:
    text = (
        "; MaxProcs:\t8\r\n\r\n" + row(1).replace(" ", "\t") + "\r\n; in the middle\r\n" + row(2, 3) + " \r\n"
    )
    (tmp_path / "crlf.swf").write_bytes(text.encode())
    workload = read_swf(tmp_path / "crlf.swf", "w0", SwfOptions(strict=True))
    assert [job.id for job in workload.jobs()] == ["1", "2"]


def test_last_row_needs_no_line_end(log: Log, tmp_path: Path) -> None:
    (tmp_path / "open.swf").write_text(row(1) + "\n" + row(2))
    assert len(read_swf(tmp_path / "open.swf")) == 2


def test_header_fields_are_read_with_their_continuations(log: Log) -> None:
    header = (
        "; Acknowledge: Lars Malinowsky\n; Information: http://a/\n;              http://b/\n"
        ";MaxNodes: 400 (48 interactive, 352 batch)\n; UnixStartTime: 1000\n; Note: one\n; Note: two\n"
        ";\n; loose\n"
    )
    workload = log.read(row(1, 50), header=header)
    assert workload.acknowledge == "Lars Malinowsky"
    assert workload.header["Information"] == ("http://a/\nhttp://b/",)
    assert workload.header["Note"] == ("one", "two")
    assert workload.nb_res == 400
    assert workload.unix_start_time == 1050
    assert workload.noted == {swf.HEADER_TEXT: 1}


def test_without_a_header_the_number_of_hosts_is_unknown(log: Log) -> None:
    assert log.read(row(1), header="").nb_res is None


def test_jobs_larger_than_the_machine_are_kept_and_counted(log: Log) -> None:
    workload = log.read(row(1, procs=9), row(2, procs=8), strict=True)
    assert [job.res for job in workload.jobs()] == [9, 8]
    assert workload.noted == {swf.TOO_LARGE: 1}


def test_filters_leave_out_and_count(log: Log) -> None:
    rows = [row(n, n * 10, status=n % 2) for n in range(1, 9)]
    assert [j.id for j in log.read(*rows, statuses=frozenset((1,))).jobs()] == ["1", "3", "5", "7"]
    assert [j.id for j in log.read(*rows, job_ids=((2, 3), (8, 8))).jobs()] == ["2", "3", "8"]
    window = log.read(*rows, window_from=20, window_to=40, strict=True)
    assert [(j.id, j.submit) for j in window.jobs()] == [("2", 0), ("3", 10_000_000)]
    assert window.skipped == {swf.OUTSIDE: 6}
    first = log.read(*reversed(rows), max_jobs=2)
    assert [j.id for j in first.jobs()] == ["1", "2"]
    assert first.skipped == {swf.BEYOND: 6}


def test_interarrival_factor_stretches_intervals_only(log: Log) -> None:
    jobs = list(log.read(row(1, 100), row(2, 110), row(3, 130), interarrival_factor=0.5).jobs())
    assert [job.submit for job in jobs] == [0, 5_000_000, 15_000_000]
    assert {job.profile for job in jobs} == {"d10"}


def test_resolution_is_that_of_the_run(log: Log) -> None:
    jobs = list(log.read(row(1), row(2, 1.26), ticks_per_second=10).jobs())
    assert [(job.submit, job.raw["subtime"], job.walltime) for job in jobs] == [(0, 0.0, 200), (13, 1.3, 200)]


def test_preceding_jobs_are_exposed_only_when_asked_for(log: Log) -> None:
    rows = (row(1), row(2, 5, preceding=1, think=7), row(3, 6, preceding=2), row(4, 7, preceding=99))
    assert log.read(*rows).preceding == {}
    workload = log.read(*rows, preceding=True)
    assert workload.preceding == {"2": ("1", 7_000_000), "3": ("2", 0)}
    assert workload.noted == {swf.NO_PRECEDING: 1}


def test_a_loop_of_preceding_jobs_is_cut_or_in_strict_mode_refused(log: Log) -> None:
    rows = (row(1, preceding=2), row(2, preceding=1), row(3, preceding=3), row(4, preceding=1))
    workload = log.read(*rows, preceding=True)
    assert workload.preceding == {"4": ("1", 0)}
    assert workload.noted == {swf.PRECEDING_LOOP: 3}
    with pytest.raises(InputError, match="loop"):
        log.read(*rows, preceding=True, strict=True)


def test_columns_in_the_wrong_places_are_refused_as_corrupt(log: Log) -> None:
    rows = [row(n, n, status=n) for n in range(1, 30)]
    with pytest.raises(InputError, match=r"^log.swf:8: status: corrupt: 24 of 29 rows .* look shifted"):
        log.read(*rows)


def test_a_few_odd_status_codes_do_not_make_a_log_corrupt(log: Log) -> None:
    workload = log.read(*(row(n, n, status=7 if n < 5 else 1) for n in range(100)))
    assert workload.noted == {swf.ODD_STATUS: 5}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no job"),
        ("; MaxProcs: 8\n\n", "holds no job"),
        ("to be or not\nto be that is the question of all\n", "no job left of 2 rows: 1 not a row"),
        (row(1, run=-1) + "\n", "no job left of 1 rows: 1 no run time"),
    ],
)
def test_a_log_without_a_usable_job_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "none.swf").write_text(text)
    with pytest.raises(InputError, match=said):
        read_swf(tmp_path / "none.swf")


def test_dates_too_far_apart_for_the_resolution_are_refused(log: Log) -> None:
    with pytest.raises(InputError, match="too far for 1000000000 ticks"):
        log.read(row(1), row(2, "1e10"), ticks_per_second=10**9)


def test_gzip_and_zip_are_told_by_content_not_by_name(tmp_path: Path) -> None:
    text = (HEADER + row(1) + "\n").encode()
    (tmp_path / "a.swf").write_bytes(gzip.compress(text))
    with zipfile.ZipFile(tmp_path / "b.dat", "w") as archive:
        archive.writestr("folder/", "")
        archive.writestr("__MACOSX/x", "rubbish")
        archive.writestr("folder/b.swf", text)
    for name in ("a.swf", "b.dat"):
        assert [job.id for job in read_swf(tmp_path / name).jobs()] == ["1"]


def test_damaged_or_ambiguous_archives_are_refused_in_one_line(tmp_path: Path) -> None:
    packed = gzip.compress((row(1) + "\n").encode() * 500)
    (tmp_path / "cut.gz").write_bytes(packed[:-12])
    (tmp_path / "cut.zip").write_bytes(b"PK\x03\x04 and nothing")
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("a.swf", row(1))
        archive.writestr("b.swf", row(1))
    for name, said in (
        ("cut.gz", "damaged"),
        ("cut.zip", "damaged"),
        ("two.zip", "exactly one"),
        ("no", "cannot be read"),
    ):
        with pytest.raises(InputError, match=said) as caught:
            read_swf(tmp_path / name)
        assert "\n" not in str(caught.value)


def test_bytes_that_are_not_utf8_do_not_stop_the_reading(tmp_path: Path) -> None:
    (tmp_path / "latin.swf").write_bytes(b"; Acknowledge: \xc5ke\n" + row(1).encode() + b"\n")
    assert read_swf(tmp_path / "latin.swf").acknowledge.endswith("ke")


def test_recorded_outcome_is_hidden_from_schedulers(log: Log) -> None:
    workload = log.read(row(1).replace(" 0 0 10", " 0 77 10"), row(2))
    assert list(workload.columns.hidden["wait"]) == [77.0, 0.0]
    assert not {"wait", "status", "allocated"} & set(next(workload.jobs()).raw)


@pytest.mark.parametrize("place", [1, 3, 8])
def test_a_number_beyond_any_date_is_a_malformed_field(tmp_path: Path, place: int) -> None:
    fields = row(1).split()
    fields[place] = "1e308"
    (tmp_path / "a.swf").write_text("\n".join([row(1), " ".join(fields), row(3)]) + "\n")
    workload = read_swf(tmp_path / "a.swf", "w0", SwfOptions())
    assert len(workload) == 2
    assert sum(workload.skipped.values()) == 1
    with pytest.raises(InputError, match=r"a\.swf:2: "):
        read_swf(tmp_path / "a.swf", "w0", SwfOptions(strict=True))
