"""What a user sees while a run goes on."""

from __future__ import annotations

import io
import subprocess
import sys

from batpy.cli.progress import BarProgress, LineProgress, Progress, make_progress, simulated_date, time_left


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_plain_lines_come_every_few_seconds_and_not_for_short_runs() -> None:
    out, clock = io.StringIO(), Clock()
    progress = LineProgress(out, clock)
    for moment in range(12):
        clock.now = 100.0 + moment
        progress.advance(3600.0 * moment, moment * 10, 220)
    assert out.getvalue().splitlines() == [
        "batpy: 0 d 05:00:00, 50 of 220 jobs done, about 17 s left",
        "batpy: 0 d 10:00:00, 100 of 220 jobs done, about 12 s left",
    ]


def test_time_left_is_not_told_while_nobody_knows() -> None:
    assert time_left(5.0, 0, 10) == ""
    assert time_left(5.0, 5, None) == ""


def test_dates_count_days() -> None:
    assert simulated_date(12 * 86400 + 3 * 3600 + 14 * 60 + 7.9) == "12 d 03:14:07"


def test_bar_shows_date_and_jobs_on_a_terminal() -> None:
    out, clock = Terminal(), Clock()
    with BarProgress(out, clock) as progress:
        progress.advance(0.0, 1, 10)
        assert out.getvalue() == ""
        clock.now += 1.0
        progress.advance(3600.0, 4, 10)
        assert "0 d 01:00:00" in out.getvalue()
        assert "4/10" in out.getvalue()


def test_choice_of_progress_follows_the_stream() -> None:
    assert type(make_progress(True, Terminal())) is Progress
    assert type(make_progress(False, Terminal())) is BarProgress
    assert type(make_progress(False, io.StringIO())) is LineProgress


def test_rich_is_not_imported_before_a_bar_is_drawn() -> None:
    code = (
        "import sys, io; from batpy.cli.progress import BarProgress\n"
        "BarProgress(io.StringIO()).advance(0, 0, 1); print('rich' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "False"
