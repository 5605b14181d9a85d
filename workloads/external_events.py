"""External events: machines that leave and return, and events of the user's own (Batsim's ``--events``)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from batpy.base.errors import InputError
from batpy.base.files import read_text
from batpy.base.intervals import Intervals, parse_intervals
from batpy.workloads.seconds import seconds_problem, to_ticks

AVAILABLE = "machine_available"
UNAVAILABLE = "machine_unavailable"
MAX_HOST = 2**31 - 1  # as on the wire
# Batsim 4.2.1 sorts equal dates by kind; equal kinds keep the order of the file.
_RANK = {AVAILABLE: 0, UNAVAILABLE: 1}


class ExternalEvent(msgspec.Struct, frozen=True):
    """One line of an events file.

    Attributes:
        time: ticks.
        kind: ``machine_available``, ``machine_unavailable`` or a word of the user's.
        hosts: ids, ascending intervals with both ends included; empty for generic events.
        raw: the whole object.
        source, line: where it was written.
    """

    time: int
    kind: str
    hosts: Intervals
    raw: Mapping[str, Any]
    source: str
    line: int


def read_events(
    path: Path, *, source: str | None = None, ticks_per_second: int, generic: bool
) -> list[ExternalEvent]:
    """Read an events file: one JSON object a line, blank lines ignored.

    Args:
        path: the file.
        source: its name as the user wrote it, for complaints.
        ticks_per_second: the run's resolution.
        generic: accept events that are not about machines (Batsim's ``--forward-unknown-events``).

    Returns:
        the events by (date, available before unavailable before generic, order in the file).

    Raises:
        InputError: unreadable file, or a malformed line, with its number.
    """
    source = source or str(path)
    lines = read_text(path, source).split("\n")
    events = [
        _event(line, number, source, ticks_per_second, generic)
        for number, line in enumerate(lines, start=1)
        if line.strip()
    ]
    return sorted(events, key=lambda event: (event.time, _RANK.get(event.kind, 2)))


def _event(line: str, number: int, source: str, ticks_per_second: int, generic: bool) -> ExternalEvent:
    def fail(problem: str, path: str | None = None) -> InputError:
        return InputError(problem, source=source, line=number, path=path)

    try:
        raw = json.loads(line)
    except RecursionError:
        raise fail("not a JSON object on one line: nested too deeply") from None
    except ValueError as why:
        raise fail(f"not a JSON object on one line: {why}") from None
    if not isinstance(raw, dict):
        raise fail("not a JSON object")
    date, kind = raw.get("timestamp"), raw.get("type")
    if isinstance(date, bool) or not isinstance(date, (int, float)) or not date >= 0:
        raise fail(f"must be a number of at least 0, got {date!r}", "timestamp")
    if problem := seconds_problem(date):
        raise fail(problem, "timestamp")
    if not isinstance(kind, str) or not kind:
        raise fail(f"must be a text, got {kind!r}", "type")
    hosts: Intervals = ()
    if kind in _RANK:
        hosts = _hosts(raw.get("resources"), fail)
    elif not generic:
        raise fail(
            f"{kind!r} is neither {AVAILABLE} nor {UNAVAILABLE}; other events need --forward-unknown-events",
            "type",
        )
    return ExternalEvent(to_ticks(date, ticks_per_second), kind, hosts, raw, source, number)


def _hosts(value: object, fail: Callable[[str, str], InputError]) -> Intervals:
    if not isinstance(value, str) or not value.strip():
        raise fail(f"must be a set of host ids such as '0-3 5', got {value!r}", "resources")
    try:
        hosts = parse_intervals(value)
    except ValueError as why:
        raise fail(str(why), "resources") from None
    if hosts[-1][1] > MAX_HOST:
        raise fail(f"host id {hosts[-1][1]} is larger than {MAX_HOST}", "resources")
    return hosts
