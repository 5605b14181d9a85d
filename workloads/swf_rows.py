"""Rows of an SWF file into columns, one by one, and the account of what was left out or repaired."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from math import ceil, isfinite
from typing import Any

from batpy.base.errors import InputError
from batpy.workloads import swf_fields as swf
from batpy.workloads.columns import Columns, Labels
from batpy.workloads.swf_chunks import BLOCK, take_block
from batpy.workloads.swf_options import SwfOptions

_UNKNOWN = frozenset(("-1", "-1.0", ""))


class Tally:
    """Counts what was left out and what was repaired; in strict mode the first such row ends the reading."""

    def __init__(self, source: str, strict: bool) -> None:
        self.source = source
        self.strict = strict
        self.rows = 0
        self.skipped: Counter[str] = Counter()
        self.noted: Counter[str] = Counter()
        self.first_line: dict[str, int] = {}

    def skip(self, reason: str, line: int, field: int, value: object) -> None:
        """Leave a row out."""
        if self.strict and reason not in swf.CHOSEN:
            raise self._refusal(f"{reason}, got {value!r}" if value is not None else reason, line, field)
        self.skipped[reason] += 1
        self.first_line.setdefault(reason, line)

    def repair(self, kind: str, line: int, field: int, *, count: int = 1) -> None:
        """Accept an oddity, in lenient mode only."""
        if self.strict:
            raise self._refusal(f"{swf.RULES.get(kind, kind)} (strict)", line, field)
        self.note(kind, line, count=count)

    def note(self, kind: str, line: int, *, count: int = 1) -> None:
        """Accept an oddity that the format allows."""
        self.noted[kind] += count
        if line:
            self.first_line.setdefault(kind, line)

    def _refusal(self, rule: str, line: int, field: int) -> InputError:
        name = f"field {field + 1} ({swf.FIELDS[field]})" if field >= 0 else None
        return InputError(rule, source=self.source, line=line or None, path=name)


class RowReader:
    """Reads lines into columns.

    Attributes:
        columns: the jobs kept, in the order of the file; ``columns.submit`` stays empty, see ``dates``.
        dates: submit times in seconds, on the log's own clock.
        wait, allocated, status: recorded columns.
        preceding: job number to (number of its preceding job, think time in seconds).
        odd_status: rows with a status outside -1..5; ``odd_status_value`` is the first such value.
        highest, last_date: job number and date that the next row should not fall behind.
        seen: numbers of the jobs kept, once a row fell behind.
        limit: processors of the machine.
        by_blocks: let well-formed blocks take the fast way.
    """

    codes = frozenset((-1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0))
    # Job numbers and processors stay exact as floats, and fit their columns, below this.
    huge = 1e15

    def __init__(self, options: SwfOptions, tally: Tally) -> None:
        self.options = options
        self.tally = tally
        self.header = swf.SwfHeader()
        self.ids: array[int] = array("q")
        self.run: array[float] = array("d")
        self.walltime: array[float] = array("d")
        self.res: array[int] = array("q")
        self.labels: list[Labels] = []
        self.application: list[str | None] = []
        self.memory: array[float] = array("d")
        self.columns = Columns(self.ids, array("q"), self.run, self.walltime, self.res, self.labels)
        self.dates: array[float] = array("d")
        self.wait: array[float] = array("d")
        self.allocated: array[int] = array("q")
        self.status: array[int] = array("h")
        self.preceding: dict[int, tuple[int, float]] = {}
        self.odd_status = 0
        self.odd_status_value = 0.0
        self.highest = -1
        self.last_date = float("-inf")
        self.limit = float("inf")
        self.seen: set[int] | None = None
        self._requested_first = options.procs == "requested"
        self._choosy = (options.statuses, options.job_ids, options.window_from, options.window_to) != (
            None,
        ) * 4
        self.by_blocks = not self._choosy
        self._shared: dict[tuple[str, ...], Labels] = {}
        self._words: dict[str, str] = {}
        # Columns beyond the eighteenth that a row of column names announced.
        self._more: dict[str, list[str | None]] = {}

    def read(self, lines: Iterable[str]) -> None:
        """Read a whole file."""
        stream, number = iter(lines), 1
        for line in stream:
            if not line.startswith(";"):
                # The first block begins below the header, else its rows would go the patient way.
                stream = chain((line,), stream)
                break
            self.read_row(line, line.split(), number)
            number += 1
        while block := list(islice(stream, BLOCK)):
            if self.by_blocks and take_block(self, block, number):
                number += len(block)
                continue
            for line in block:
                self.read_row(line, line.split(), number)
                number += 1
        self.columns.extra = {
            name: column
            for name, column in self._extra()
            if column.count(None) + column.count(-1) < len(column)
        }
        for key in ("MaxProcs", "MaxNodes"):
            if self.header.has_text_after_number(key):
                self.tally.note(swf.HEADER_TEXT, 0)

    def _extra(self) -> Iterator[tuple[str, list[Any] | array[Any]]]:
        yield "application", self.application
        yield "requested_memory", self.memory
        yield from self._more.items()

    def read_row(self, line: str, fields: list[str], number: int) -> None:
        """Take one line: a comment, a blank, or a row in any dialect."""
        if len(fields) == swf.WIDTH and "_" not in line:
            try:
                values = list(map(float, fields))
            except ValueError:
                values = [float("nan")]
            if isfinite(sum(values)):
                self.tally.rows += 1
                self._take(values, fields, [], number)
                return
        if fields:
            self._read_odd_row(line, fields, number)

    def _read_odd_row(self, line: str, fields: list[str], number: int) -> None:
        if fields[0].startswith(";"):
            if not self.tally.rows:
                self.header.add(line)
                self.limit = self.header.max_procs or float("inf")
            return
        if ";" in line:
            self.tally.repair(swf.SEMICOLONS, number, -1)
            fields = [field.strip() for field in line.strip().split(";")]
        if not self.tally.rows and _are_column_names(fields):
            self.tally.repair(swf.COLUMN_NAMES, number, -1)
            self._more = {name: [] for name in fields[swf.WIDTH :]}
            self.by_blocks = False
            return
        self.tally.rows += 1
        if len(fields) < swf.NEEDED:
            self.tally.skip(swf.TOO_SHORT, number, len(fields), None)
            return
        more = fields[swf.WIDTH :]
        if len(fields) != swf.WIDTH:
            if len(more) != len(self._more) or len(fields) < swf.WIDTH:
                kind = swf.SHORT if len(fields) < swf.WIDTH else swf.LONG
                self.tally.repair(kind, number, len(fields) if len(fields) < swf.WIDTH else -1)
            fields = (fields + ["-1"] * swf.WIDTH)[: swf.WIDTH]
        values = []
        for index, field in enumerate(fields):
            value = _number(field, names=index in swf.NAMES)
            if value is None:
                self.tally.skip(swf.UNREADABLE, number, index, field)
                return
            values.append(value)
        self._take(values, fields, more, number)

    def _take(self, values: list[float], fields: list[str], more: list[str], number: int) -> None:
        """Check one row of numbers and keep it if it can run."""
        tally = self.tally
        date, run, allocated, requested = values[1], values[3], values[4], values[7]
        if date < self.last_date:
            tally.repair(swf.UNSORTED, number, swf.SUBMIT)
        self.last_date = date
        if values[10] not in self.codes:
            self._note_status(values, number)
        if run <= 0:
            short = self._short_run(values, number)
            if short is None:
                return
            run = short
        if self._requested_first:
            procs = requested if requested > 0 else allocated
        else:
            procs = allocated if allocated > 0 else requested
        longest = max(date, run, values[swf.REQUESTED_TIME])
        if (
            not 0 <= date <= longest <= swf.LONGEST
            or not 0 < procs < self.huge
            or procs % 1
            or values[0] % 1
            or values[0] > self.huge
        ):
            self._unusable(values, fields, procs, number)
            return
        job = int(values[0])
        if job <= self.highest:
            job = self._known_number(job, values, number)
            if job < 0:
                return
        else:
            self.highest = job
        if self._choosy and self._is_unwanted(job, values, number):
            return
        if self.seen is not None:
            self.seen.add(job)
        for column, text in zip(self._more.values(), (*more, *[None] * len(self._more)), strict=False):
            column.append(text)
        self._keep(job, run, int(procs), values, fields, number)

    def _keep(
        self, job: int, run: float, procs: int, values: list[float], fields: list[str], number: int
    ) -> None:
        request = values[8]
        if 0 < request < run:
            self.tally.note(swf.OVER_REQUEST, number)
        elif request <= 0:
            request = self.missing_walltime(run)
        if procs > self.limit:
            self.tally.note(swf.TOO_LARGE, number)
        self.ids.append(job)
        self.dates.append(values[1])
        self.run.append(run)
        self.walltime.append(request)
        self.res.append(ceil(procs / self.options.procs_per_host))
        self.labels.append(self.labels_of(tuple(fields[index] for index in swf.LABELLED)))
        self.application.append(self.word(fields[13]))
        self.memory.append(values[9])
        self.wait.append(values[2])
        self.allocated.append(self.whole(values[4]))
        self.status.append(int(values[10]) if values[10] in self.codes else -1)
        if values[16] > 0:
            self.preceding[job] = (int(values[16]), values[17])

    def missing_walltime(self, run: float) -> float:
        """Walltime of a job without a requested time, in seconds; 0 for none."""
        return self.options.walltime_factor * run + self.options.walltime_constant

    def labels_of(self, texts: tuple[str, ...]) -> Labels:
        """The shared labels for these texts of user, group, queue and partition."""
        labels = self._shared.get(texts)
        if labels is None:
            names = zip(("user", "group", "queue", "partition"), texts, strict=True)
            known = {name: text for name, text in names if text not in _UNKNOWN}
            labels = Labels(known.get("user", ""), known.get("queue", ""), known)
            self._shared[texts] = labels
        return labels

    def word(self, text: str) -> str | None:
        """One shared copy of a text, or None for unknown."""
        return None if text in _UNKNOWN else self._words.setdefault(text, text)

    def whole(self, value: float) -> int:
        """A recorded count as an integer; -1 if it cannot be one."""
        return int(value) if abs(value) < self.huge else -1

    def _note_status(self, values: list[float], number: int) -> None:
        if not self.odd_status:
            self.odd_status_value = values[10]
        self.odd_status += 1
        self.tally.repair(swf.ODD_STATUS, number, swf.STATUS)

    def _short_run(self, values: list[float], number: int) -> float | None:
        """Run time of a job that never ran, or None if its row is left out."""
        status, run, allocated = values[10], values[3], values[4]
        if status == swf.CANCELLED and (run < 0 or allocated <= 0):
            if self.options.keep_cancelled:
                return 0.0
            self.tally.skip(swf.CANCELLED_BEFORE_START, number, swf.RUN, run)
        elif run < 0:
            self.tally.skip(swf.NO_RUN, number, swf.RUN, run)
        elif self.options.keep_zero_run_time:
            return 0.0
        else:
            self.tally.skip(swf.ZERO_RUN, number, swf.RUN, run)
        return None

    def _unusable(self, values: list[float], fields: list[str], procs: float, number: int) -> None:
        if values[swf.SUBMIT] < 0:
            reason, field = swf.NO_SUBMIT, swf.SUBMIT
        elif procs <= 0:
            reason, field = swf.NO_PROCS, swf.REQUESTED if self._requested_first else swf.ALLOCATED
        elif late := [f for f in (swf.SUBMIT, swf.RUN, swf.REQUESTED_TIME) if values[f] > swf.LONGEST]:
            reason, field = swf.NO_TIME, late[0]
        elif procs % 1 or procs >= self.huge:
            reason, field = swf.BROKEN_NUMBER, swf.REQUESTED if procs == values[7] else swf.ALLOCATED
        else:
            reason, field = swf.BROKEN_NUMBER, swf.JOB
        self.tally.skip(reason, number, field, fields[field])

    def _known_number(self, job: int, values: list[float], number: int) -> int:
        """The number to use for a job whose number is not above all before it; -1 if its row is left out."""
        if job < 0:
            self.tally.repair(swf.NO_NUMBER, number, swf.JOB)
            self.highest = max(self.highest + 1, 1)
            return self.highest
        if self.seen is None:
            self.seen = set(self.ids)
        if job not in self.seen:
            return job
        # A job that was stopped and continued has one row for the whole and further ones for its parts.
        reason = swf.PARTIAL_EXECUTION if values[10] in swf.PARTIAL else swf.DUPLICATE
        self.tally.skip(reason, number, swf.JOB, job)
        return -1

    def _is_unwanted(self, job: int, values: list[float], number: int) -> bool:
        options, date = self.options, values[1]
        if options.statuses is not None and values[10] not in options.statuses:
            self.tally.skip(swf.OTHER_STATUS, number, swf.STATUS, values[10])
        elif options.job_ids is not None and not any(low <= job <= high for low, high in options.job_ids):
            self.tally.skip(swf.OTHER_ID, number, swf.JOB, job)
        elif (options.window_from is not None and date < options.window_from) or (
            options.window_to is not None and date >= options.window_to
        ):
            self.tally.skip(swf.OUTSIDE, number, swf.SUBMIT, date)
        else:
            return False
        return True


def _are_column_names(fields: list[str]) -> bool:
    return len(fields) >= swf.NEEDED and all(_number(field, names=False) is None for field in fields)


def _number(field: str, *, names: bool) -> float | None:
    """The number a field holds; -1 for a word where words are allowed; None if it is neither."""
    if "_" not in field:
        try:
            value = float(field)
        except ValueError:
            value = float("nan")
        if isfinite(value):
            return value
    return -1.0 if names else None
