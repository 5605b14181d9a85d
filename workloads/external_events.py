"""External events: machines that leave and return, and events of the user's own (Batsim's ``--events``)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from batpy.base.errors import InputError

AVAILABLE = "machine_available"
UNAVAILABLE = "machine_unavailable"
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
    hosts: tuple[tuple[int, int], ...]
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
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as why:
        raise InputError(f"cannot be read: {getattr(why, 'strerror', None) or why}", source=source) from None
    events = [
        _event(line, number, source, ticks_per_second, generic)
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip()
    ]
    return sorted(events, key=lambda event: (event.time, _RANK.get(event.kind, 2)))


def _event(line: str, number: int, source: str, ticks_per_second: int, generic: bool) -> ExternalEvent:
    def fail(problem: str, path: str | None = None) -> InputError:
        return InputError(problem, source=source, line=number, path=path)

    try:
        raw = json.loads(line)
    except ValueError as why:
        raise fail(f"not a JSON object on one line: {why}") from None
    if not isinstance(raw, dict):
        raise fail("not a JSON object")
    date, kind = raw.get("timestamp"), raw.get("type")
    if isinstance(date, bool) or not isinstance(date, (int, float)) or not 0 <= date < math.inf:
        raise fail(f"must be a number of at least 0, got {date!r}", "timestamp")
    if not isinstance(kind, str) or not kind:
        raise fail(f"must be a text, got {kind!r}", "type")
    hosts: tuple[tuple[int, int], ...] = ()
    if kind in _RANK:
        hosts = _hosts(raw.get("resources"), fail)
    elif not generic:
        raise fail(
            f"{kind!r} is neither {AVAILABLE} nor {UNAVAILABLE}; other events need --forward-unknown-events",
            "type",
        )
    return ExternalEvent(round(date * ticks_per_second), kind, hosts, raw, source, number)


def _hosts(value: object, fail: Any) -> tuple[tuple[int, int], ...]:
    if not isinstance(value, str) or not value.strip():
        raise fail(f"must be a set of host ids such as '0-3 5', got {value!r}", "resources")
    pairs = []
    for part in value.split():
        low, dash, high = part.partition("-")
        if not (low.isdigit() and (high.isdigit() if dash else True)) or (dash and int(high) < int(low)):
            raise fail(f"{part!r} is not a host id or an interval a-b", "resources")
        pairs.append((int(low), int(high or low)))
    merged: list[tuple[int, int]] = []
    for first, last in sorted(pairs):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return tuple(merged)
