"""What a user sees while a run goes on. The only wall clock on the way, and it never reaches the results."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

Clock = Callable[[], float]

SECONDS_BETWEEN_LINES = 5.0
# A run that is over by then shows no bar, and does not pay for the library that draws it.
SECONDS_BEFORE_BAR = 0.7
SECONDS_BETWEEN_DRAWINGS = 0.1


def simulated_date(seconds: float) -> str:
    """Simulated time since the start, such as ``12 d 03:14:07``, as in the summary."""
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    return f"{days} d {hour:02}:{minute:02}:{second:02}"


class Progress:
    """Shows nothing; what ``--quiet`` asks for, and the base of the others."""

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_why: object) -> None:
        self.close()

    def advance(self, simulated_seconds: float, jobs_done: int, jobs_total: int | None) -> None:
        """Take note of where the run is; *jobs_total* is None while nobody knows."""

    def close(self) -> None:
        """Leave the screen as it should stay; harmless when called again."""


class LineProgress(Progress):
    """A plain line every few seconds, for logs and pipes.

    Args:
        out: where the lines go.
        clock: seconds of a clock that never goes back.
    """

    def __init__(self, out: TextIO, clock: Clock = time.monotonic) -> None:
        self._out = out
        self._clock = clock
        self._begun = clock()
        self._due = self._begun + SECONDS_BETWEEN_LINES

    def advance(self, simulated_seconds: float, jobs_done: int, jobs_total: int | None) -> None:
        now = self._clock()
        if now < self._due:
            return
        self._due = now + SECONDS_BETWEEN_LINES
        of = "" if jobs_total is None else f" of {jobs_total}"
        left = time_left(now - self._begun, jobs_done, jobs_total)
        try:
            print(
                f"batpy: {simulated_date(simulated_seconds)}, {jobs_done}{of} jobs done{left}",
                file=self._out,
                flush=True,
            )
        except OSError:
            self._due = math.inf  # nobody reads any more, which is no reason to end a run


def time_left(elapsed: float, jobs_done: int, jobs_total: int | None) -> str:
    """``, about 40 s left``, or an empty text if nothing can be said."""
    if not jobs_done or jobs_total is None:
        return ""
    return f", about {elapsed * (jobs_total - jobs_done) / jobs_done:.0f} s left"


class BarProgress(Progress):
    """A bar on a terminal."""

    def __init__(self, out: TextIO, clock: Clock = time.monotonic) -> None:
        self._out = out
        self._clock = clock
        self._due = clock() + SECONDS_BEFORE_BAR
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None

    def advance(self, simulated_seconds: float, jobs_done: int, jobs_total: int | None) -> None:
        now = self._clock()
        if now < self._due:
            return
        self._due = now + SECONDS_BETWEEN_DRAWINGS
        if self._bar is None:
            self._bar, self._task = self._start()
        assert self._task is not None
        date = simulated_date(simulated_seconds)
        try:
            self._bar.update(self._task, completed=jobs_done, total=jobs_total, date=date)
            self._bar.refresh()
        except OSError:
            self._due = math.inf  # the terminal has gone

    def _start(self) -> tuple[RichProgress, TaskID]:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        bar = RichProgress(
            TextColumn("{task.fields[date]}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("jobs"),
            TimeRemainingColumn(),
            console=Console(file=self._out),
            auto_refresh=False,  # no thread beside a run
            transient=True,
        )
        bar.start()
        return bar, bar.add_task("run", total=None, date="")

    def close(self) -> None:
        if self._bar is not None:
            with suppress(OSError):
                self._bar.stop()
            self._bar = None


def make_progress(quiet: bool, out: TextIO | None = None) -> Progress:
    """The progress that suits where *out* (standard error) leads."""
    if quiet:
        return Progress()
    stream = sys.stderr if out is None else out
    return BarProgress(stream) if stream.isatty() else LineProgress(stream)
