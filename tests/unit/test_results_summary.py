from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from batpy.base.errors import InputError
from batpy.protocol.records import (
    AnyRecord,
    Ended,
    HostsChanged,
    Rejected,
    RunBegins,
    RunEnds,
    Started,
    Submitted,
)
from batpy.results.fold import JobFold
from batpy.results.metrics import Spread, spread
from batpy.results.recorder import RunRecorder
from batpy.results.screen import duration
from batpy.results.summary import Group, Summary, SummaryBuilder, Trim, summarise

OK, FAILED, KILLED = "COMPLETED_SUCCESSFULLY", "COMPLETED_FAILED", "COMPLETED_KILLED"
WALLTIME = "COMPLETED_WALLTIME_REACHED"
S = 1000  # ticks a second here


def begins(hosts: int = 4, *, sharing: bool = False) -> RunBegins:
    return RunBegins(0, "9.9", S, hosts, 0, sharing, {})


def job(
    name: str,
    submit: float,
    start: float,
    end: float,
    hosts: tuple[int, int],
    state: str = OK,
    user: str = "",
) -> list[AnyRecord]:
    sent, began, ended = (round(date * S) for date in (submit, start, end))
    return [
        Submitted(
            sent, f"w0!{name}", "p", sent, hosts[1] - hosts[0] + 1, -1, user, f"q{user}" if user else ""
        ),
        Started(began, f"w0!{name}", (hosts,)),
        Ended(ended, f"w0!{name}", state, 0),
    ]


def in_order(*jobs: list[AnyRecord]) -> list[AnyRecord]:
    return sorted((record for one in jobs for record in one), key=lambda record: record.time)


def summary_of(records: list[AnyRecord], trim: Trim | None = None) -> Summary:
    fold = JobFold(keep_busy_steps=trim is not None)
    builder = SummaryBuilder(fold, trim)
    fold.write_many(records)
    return builder.result()


def near(value: float) -> float:
    """A figure that may differ in its last bits."""
    approximately: float = pytest.approx(value)  # type: ignore[assignment]
    return approximately


def test_figures_of_a_small_run() -> None:
    records = in_order(
        job("a", 10, 10, 30, (0, 1), user="ann"),
        job("b", 12, 30, 35, (0, 3), user="bob"),
        job("c", 20, 35, 55, (0, 0), FAILED, user="ann"),
    )
    found = summary_of([begins(), *records, RunEnds(60 * S, "done")])
    assert found.waiting == Spread(mean=11, median=15, p95=near(17.7), max=18)
    assert found.turnaround == Spread(mean=near(26), median=23, p95=near(23 + 0.9 * 12), max=35)
    assert found.slowdown.mean == near((1 + 23 / 5 + 35 / 20) / 3)
    # b ran 5 s and counts as if it had run 10 s.
    assert found.bounded_slowdown.mean == near((1 + 2.3 + 35 / 20) / 3)
    assert found.utilisation == near((20 * 2 + 5 * 4 + 20) / (4 * 45))
    assert (found.makespan, found.makespan_from_first_submission) == (55, 45)
    assert found.throughput == near(3 / 45)
    assert found.host_seconds.computing == 80
    assert found.host_seconds.idle == 4 * 60 - 80
    assert found.users == {
        "ann": Group(2, mean_waiting=7.5, mean_bounded_slowdown=near(1.375), host_seconds=60),
        "bob": Group(1, mean_waiting=18, mean_bounded_slowdown=near(2.3), host_seconds=20),
    }
    assert list(found.queues) == ["qann", "qbob"]


def test_jobs_are_counted_by_final_state() -> None:
    records = in_order(
        job("a", 0, 0, 1, (0, 0)),
        job("b", 0, 0, 1, (1, 1), FAILED),
        job("c", 0, 0, 1, (2, 2), KILLED),
        job("d", 0, 0, 1, (3, 3), WALLTIME),
        job("e", 1, 1, 2, (0, 0)),
        [Submitted(1, "w0!f", "p", 1, 9, -1), Rejected(1, "w0!f"), Submitted(1, "w0!g", "p", 1, 1, -1)],
        [Submitted(1, "w0!h", "p", 1, 1, -1), Started(3 * S, "w0!h", ((0, 0),))],
    )
    jobs = summary_of([begins(), *records]).jobs
    assert (jobs.submitted, jobs.finished, jobs.unfinished, jobs.left_out) == (8, 5, 2, 0)
    assert (jobs.successful, jobs.failed, jobs.killed, jobs.walltime_reached, jobs.rejected) == (
        2,
        1,
        1,
        1,
        1,
    )


def test_unavailable_hosts_do_not_count_once_their_job_is_over() -> None:
    records: list[AnyRecord] = [
        begins(2),
        *job("a", 0, 0, 10, (0, 1))[:2],
        HostsChanged(5 * S, ((1, 1),), False),
        *job("a", 0, 0, 10, (0, 1))[2:],
        *job("b", 10, 10, 20, (0, 0)),
    ]
    assert summary_of(records).utilisation == 1.0
    assert summary_of(records, Trim(warm_up=1)).utilisation == 1.0


def test_shared_hosts_count_once_however_many_jobs_they_hold() -> None:
    records = in_order(job("a", 0, 0, 10, (0, 0)), job("b", 0, 5, 20, (0, 1)))
    found = summary_of([begins(2, sharing=True), *records])
    assert found.utilisation == near((20 + 15) / 40)
    trimmed = summary_of([begins(2, sharing=True), *records], Trim(cool_down=10))
    assert trimmed.utilisation == near((10 + 5) / 20)


def test_trimming_by_seconds_keeps_jobs_submitted_inside_the_window() -> None:
    records = in_order(*(job(str(i), i, i, i + 2, (i % 4, i % 4)) for i in range(10)))
    found = summary_of([begins(), *records], Trim(warm_up=3, cool_down=4))
    assert found.window == (3, 7)
    assert found.jobs.left_out == 5
    # Two hosts are busy at every moment of the window.
    assert found.utilisation == near(0.5)
    assert found.throughput == near(5 / 4)


def test_trimming_by_share_leaves_out_the_first_and_last_submitted() -> None:
    records = in_order(*(job(str(i), i, i, i + 2, (i % 4, i % 4)) for i in range(10)))
    found = summary_of([begins(), *records], Trim.parse("20%", "10%"))
    assert found.window == (2, 8)
    assert found.jobs.left_out == 3


def test_a_window_that_holds_nothing_has_no_figures() -> None:
    found = summary_of([begins(), *job("a", 0, 0, 10, (0, 0))], Trim(warm_up=100))
    assert (found.utilisation, found.throughput, found.waiting.mean) == (None, None, None)
    assert found.users == {}


def test_a_run_without_jobs_has_no_figures_and_still_prints() -> None:
    found = summary_of([begins(), RunEnds(0, "done")])
    assert (found.makespan, found.utilisation, found.slowdown.max) == (None, None, None)
    assert "run          done" in found.to_text()
    assert json.loads(found.to_json())["waiting"]["mean"] is None


def test_running_jobs_count_in_the_utilisation_of_an_incomplete_run() -> None:
    records = [*job("a", 0, 0, 10, (0, 1)), *job("b", 0, 10, 30, (0, 3))[:2]]
    records.append(Submitted(20 * S, "w0!c", "p", 20 * S, 1, -1))
    records.append(Ended(20 * S, "w0!b", OK, 0))
    found = summary_of(in_order([begins()], records))
    assert found.outcome == "incomplete"
    assert found.utilisation == near((20 + 40) / 80)


def test_zero_run_times_and_dates_beyond_64_bits_stay_finite() -> None:
    far = 10**23
    records: list[AnyRecord] = [
        begins(),
        Submitted(0, "w0!a", "p", 0, 1, -1),
        Started(S, "w0!a", ((0, 0),)),
        Ended(S, "w0!a", OK, 0),
        Submitted(far, "w0!b", "p", far, 1, -1),
        Started(far, "w0!b", ((0, 0),)),
        Ended(far + 16 * S, "w0!b", OK, 0),
    ]
    found = summary_of(records)
    assert found.slowdown.max == 1
    assert found.jobs.zero_run_time == 1
    assert found.bounded_slowdown.max == 1
    assert found.turnaround.max == 16
    assert found.makespan == near(1e20)


@pytest.mark.parametrize("bad", ["-1", "x", "100%", "nan", "inf", "5%%", "5 % of jobs"])
def test_a_trim_that_is_neither_seconds_nor_a_share_is_refused(bad: str) -> None:
    with pytest.raises(InputError, match=r"warm-up: .*neither seconds nor a share"):
        Trim.parse(bad)


def test_shares_that_leave_nothing_are_refused() -> None:
    with pytest.raises(InputError, match="leave out every job"):
        Trim.parse("60%", "40%")


def test_quantiles_interpolate_between_ranks() -> None:
    assert spread([4, 1, 3, 2], 1) == Spread(mean=2.5, median=2.5, p95=near(3.85), max=4)
    assert spread([7], 1) == Spread(7, 7, 7, 7)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "-"),
        (0, "0 s"),
        (12.5, "12.5 s"),
        (60, "00:01:00"),
        (-90, "-00:01:30"),
        (90000.4, "1 d 01:00:00"),
    ],
)
def test_durations_are_written_as_people_read_them(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


def test_a_terminal_gets_tables_and_a_file_gets_plain_lines() -> None:
    records = in_order(job("a", 0, 0, 30, (0, 1), user="ann"), job("b", 12, 30, 35, (0, 3), user="[b]ob"))
    found = summary_of([begins(), *records, RunEnds(60 * S, "interrupted", "Ctrl-C")], Trim(warm_up=1))
    plain, drawn = io.StringIO(), io.StringIO()
    found.render(Console(file=plain, force_terminal=False), groups=True)
    found.render(Console(file=drawn, force_terminal=True, width=120, color_system=None), groups=True)
    assert plain.getvalue() == found.to_text(groups=True)
    assert "\x1b" not in plain.getvalue()
    assert "─" in drawn.getvalue()
    for text in ("interrupted: Ctrl-C", "2 submitted: 2 successful", "[b]ob", "1 finished jobs left out"):
        assert text in plain.getvalue()
        assert text in drawn.getvalue()


def test_the_summary_of_a_folder_is_the_one_written_live(tmp_path: Path) -> None:
    records = in_order(*(job(str(i), i, i, i + 2, (i % 4, i % 4), user=str(i % 3)) for i in range(10)))
    recorder = RunRecorder(tmp_path)
    for record in [begins(), *records, RunEnds(60 * S, "done")]:
        recorder.write(record)
    recorder.close()
    assert recorder.summary == summarise(tmp_path)
    assert (tmp_path / "summary.json").read_bytes() == summarise(tmp_path).to_json()
    assert summarise(tmp_path, Trim(warm_up=3)).jobs.left_out == 3


def test_an_empty_journal_has_no_summary(tmp_path: Path) -> None:
    RunRecorder(tmp_path).close()
    assert not (tmp_path / "summary.json").exists()
    with pytest.raises(InputError, match="holds no record"):
        summarise(tmp_path)
