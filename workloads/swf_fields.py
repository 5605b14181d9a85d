"""The Standard Workload Format, version 2.2: its 18 fields, its header, and the words for what is wrong.

Source: Feitelson et al., "The Standard Workload Format", Parallel Workloads Archive.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

FIELDS = (
    "job number",
    "submit time",
    "wait time",
    "run time",
    "allocated processors",
    "average CPU time used",
    "used memory",
    "requested processors",
    "requested time",
    "requested memory",
    "status",
    "user",
    "group",
    "application",
    "queue",
    "partition",
    "preceding job",
    "think time",
)
JOB, SUBMIT, WAIT, RUN, ALLOCATED = range(5)
REQUESTED, REQUESTED_TIME, MEMORY, STATUS, USER, GROUP, APPLICATION, QUEUE, PARTITION, PRECEDING, THINK = (
    range(7, 18)
)
# Seconds; a date or duration beyond 30,000 years is none.
LONGEST = 1e12
WIDTH = len(FIELDS)
# Identifiers may be words in the dialects of some tools; everything else is a number.
NAMES = frozenset((USER, GROUP, APPLICATION, QUEUE, PARTITION))
# A row without these five says nothing that can be simulated.
NEEDED = ALLOCATED + 1
# What jobs of one user and queue share.
LABELLED = (USER, GROUP, QUEUE, PARTITION)
CANCELLED = 5
PARTIAL = frozenset((2, 3, 4))

# Reasons for leaving a row out, in the order in which they are reported.
SKIPPED = (
    CANCELLED_BEFORE_START := "cancelled before start",
    UNREADABLE := "not a row of numbers",
    TOO_SHORT := "fewer than 5 fields",
    NO_SUBMIT := "no submit time",
    NO_RUN := "no run time",
    NO_PROCS := "no processors",
    BROKEN_NUMBER := "job number or processors not an integer",
    NO_TIME := "date or duration beyond 1e12 seconds",
    DUPLICATE := "job number used before",
    PARTIAL_EXECUTION := "partial execution of a job already listed",
    ZERO_RUN := "zero run time",
    OTHER_STATUS := "status not asked for",
    OTHER_ID := "job number not asked for",
    OUTSIDE := "outside the window",
    BEYOND := "beyond max_jobs",
)
# Reasons that the user's options give: such rows are well-formed, so strict mode skips them too.
CHOSEN = frozenset(
    (CANCELLED_BEFORE_START, PARTIAL_EXECUTION, ZERO_RUN, OTHER_STATUS, OTHER_ID, OUTSIDE, BEYOND)
)

# Oddities that were accepted, in the order in which they are reported. Strict mode refuses the first group.
REPAIRED = (
    COLUMN_NAMES := "row of column names left out",
    SEMICOLONS := "semicolons between the fields",
    SHORT := "fewer than 18 fields, the rest taken as unknown",
    LONG := "more than 18 fields, the rest ignored",
    NO_NUMBER := "no job number, numbered in order",
    UNSORTED := "submitted before the row above, sorted",
    ODD_STATUS := "status outside -1..5",
    PRECEDING_LOOP := "preceding jobs form a loop, think time ignored",
)
# What strict mode says instead.
RULES = {
    COLUMN_NAMES: "a row of column names is no job row",
    SEMICOLONS: "fields must be separated by blanks, not by semicolons",
    SHORT: "a row must have 18 fields",
    LONG: "a row must have 18 fields",
    NO_NUMBER: "a job must have a number",
    UNSORTED: "rows must be sorted by submit time",
    ODD_STATUS: "status must be one of -1..5",
    PRECEDING_LOOP: "preceding jobs form a loop",
}
OBSERVED = (
    HEADER_TEXT := "text after the number of a header field",
    OVER_REQUEST := "run time above requested time, will be killed at its walltime",
    TOO_LARGE := "more processors than MaxProcs",
    NO_PRECEDING := "preceding job not among the jobs kept, think time ignored",
)

_KEYS = """
Version Computer Installation Acknowledge Information Conversion Copyright MaxJobs MaxRecords Preemption
UnixStartTime TimeZone TimeZoneString StartTime EndTime MaxNodes MaxProcs MaxRuntime MaxMemory AllowOveruse
MaxQueues Queues Queue MaxPartitions Partitions Partition Note
"""
_KNOWN = {key.lower(): key for key in _KEYS.split()}
_COMMENT = re.compile(r";(\s*)(?:(\w+)\s*:(?!//)\s*)?(.*)")
_LEADING_INTEGER = re.compile(r"\s*(-?\d+)\s*(.*)", re.DOTALL)


class SwfHeader:
    """The comment lines before the first row.

    Attributes:
        fields: key to values, in order; a key such as Note may come several times. Continuation lines belong
            to the field above them.
    """

    def __init__(self) -> None:
        self._lists: dict[str, list[str]] = {}
        self._last: list[str] | None = None

    @property
    def fields(self) -> Mapping[str, tuple[str, ...]]:
        return {key: tuple(values) for key, values in self._lists.items()}

    def add(self, line: str) -> None:
        """Take one comment line."""
        match = _COMMENT.match(line.strip())
        if match is None:
            return
        indent, key, value = match[1], match[2], match[3].strip()
        name = _KNOWN.get(key.lower()) if key else None
        if name is None and key and len(indent) <= 1:
            name = key  # a key of the tool that wrote the file
        if name is not None:
            self._last = self._lists.setdefault(name, [])
            self._last.append(value)
            return
        text = line.strip()[1:].strip()
        if not text:
            self._last = None
        elif self._last is not None:
            self._last[-1] = f"{self._last[-1]}\n{text}" if self._last[-1] else text

    def text(self, key: str) -> str:
        """Values of a key, one a line; empty if it is absent."""
        return "\n".join(self._lists.get(key, ()))

    def integer(self, key: str) -> int | None:
        """The number a value begins with; None if absent, unknown (-1) or not a number."""
        match = _LEADING_INTEGER.match(self.text(key))
        return int(match[1]) if match and int(match[1]) >= 0 else None

    def has_text_after_number(self, key: str) -> bool:
        """True for values such as ``400 (48 interactive, 352 batch)``."""
        match = _LEADING_INTEGER.match(self.text(key))
        return bool(match and match[2].strip())

    @property
    def max_procs(self) -> int | None:
        """Processors of the machine: MaxProcs, else MaxNodes; None if the log does not say."""
        return self.integer("MaxProcs") or self.integer("MaxNodes") or None
