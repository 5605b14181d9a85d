"""Advance reservations and planned outages: hosts that ordinary jobs must leave alone for a while.

The file is TOML or JSON (told by its ending), dates in seconds since the start of the simulation::

    [[reservation]]
    label = "course"
    count = 4              # or hosts = "0-3"; a count takes the highest-numbered hosts not closed then
    start = 3600
    end = 7200

    [[outage]]
    label = "new cooling"
    hosts = "8-15 20"
    start = 86400.0
    end = 90000.0

No job is started whose walltime crosses a closure on its hosts; one without walltime crosses every later one.
This module, and the libraries it stands on, are loaded only when a calendar is given.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from intervaltree import IntervalTree
from sortedcontainers import SortedSet

from batpy.base.dates import MAX_SECONDS
from batpy.base.errors import InputError
from batpy.base.files import read_text, read_toml
from batpy.protocol import hostset
from batpy.protocol.hostset import HostSet
from batpy.schedulers.hosts import to_mask
from batpy.schedulers.timeline import BEYOND, FOREVER

_KINDS = ("reservation", "outage")
_KEYS = ("hosts", "count", "start", "end", "label")


class ClosureRequest(msgspec.Struct, frozen=True):
    """One entry of the file, checked, dates in seconds.

    Attributes:
        kind: ``reservation`` or ``outage``.
        place: path of the entry in its file, for messages.
        hosts: named hosts, or None when a count is wanted.
    """

    kind: str
    place: str
    start: float
    end: float
    hosts: HostSet | None
    count: int
    label: str


class Closure(msgspec.Struct, frozen=True):
    """These hosts are closed on ``[start, end)``, in ticks; ``mask`` is the same set as a bit mask."""

    start: int
    end: int
    hosts: HostSet
    mask: int
    kind: str
    label: str


class Closures:
    """All closures of a platform, found by their dates."""

    def __init__(self) -> None:
        self._tree = IntervalTree()
        self._ends = SortedSet()

    def add(self, closure: Closure) -> None:
        """Put one in; an interval of no length, which a tree cannot hold, is none and must not come."""
        self._tree.addi(closure.start, closure.end, closure)
        self._ends.add(closure.end)

    def within(self, start: int, end: int) -> list[Closure]:
        """Those that have a part of ``[start, end)``, by start."""
        found = (interval.data for interval in self._tree.overlap(start, end))
        return sorted(found, key=lambda closure: (closure.start, closure.end, closure.hosts, closure.kind))

    def after(self, now: int) -> list[Closure]:
        """Those not over at *now*."""
        return self.within(now, BEYOND)

    def next_end(self, now: int) -> int | None:
        """First date after *now* at which hosts are opened again."""
        later: int | None = next(self._ends.irange(now, inclusive=(False, True)), None)
        return later


def read_closures(file: Path) -> list[ClosureRequest]:
    """Read and check a file of reservations and outages.

    Raises:
        InputError: with the file and the path of the field.
    """
    tree = _load(file)
    source = str(file)
    if not isinstance(tree, dict):
        raise InputError("want an object with reservation and outage lists", source=source)
    for key in tree:
        if key not in _KINDS:
            raise InputError(f"no such table; choose from {', '.join(_KINDS)}", source=source, path=str(key))
    requests = []
    for kind in _KINDS:
        entries = tree.get(kind, [])
        if not isinstance(entries, list):
            raise InputError(f"want a list ([[{kind}]] in TOML)", source=source, path=kind)
        for position, entry in enumerate(entries):
            requests.append(_check(entry, kind, f"{kind}[{position}]", source))
    return requests


def _load(file: Path) -> Any:
    if file.suffix != ".json":
        return read_toml(file)
    text, source = read_text(file), str(file)
    try:
        return json.loads(text)
    except json.JSONDecodeError as why:
        raise InputError(f"not JSON: {why.msg}", source=source, line=why.lineno) from None
    except RecursionError:
        raise InputError("not JSON: nested too deeply", source=source) from None
    except ValueError:
        raise InputError("not JSON: a number has too many digits", source=source) from None


def _date(value: Any) -> float | None:
    """A date in seconds, or None if it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= MAX_SECONDS else None


def _check(entry: Any, kind: str, place: str, source: str) -> ClosureRequest:
    def refuse(key: str, problem: str) -> InputError:
        return InputError(problem, source=source, path=f"{place}.{key}" if key else place)

    if not isinstance(entry, dict):
        raise refuse("", f"want an object with {', '.join(_KEYS)}")
    for key in entry:
        if key not in _KEYS:
            raise refuse(str(key), f"no such field; choose from {', '.join(_KEYS)}")
    start, end = _date(entry.get("start")), _date(entry.get("end"))
    if start is None or end is None:
        raise refuse("start" if start is None else "end", "want a date in seconds, 0 or more")
    if end <= start:
        raise refuse("end", "must be later than start")
    label = entry.get("label", "")
    if not isinstance(label, str):
        raise refuse("label", "want a text")
    if ("hosts" in entry) == ("count" in entry):
        raise refuse("", "want one of hosts and count")
    if "count" in entry:
        count = entry["count"]
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise refuse("count", "want a number of hosts, 1 or more")
        return ClosureRequest(kind, place, start, end, None, count, label)
    hosts = _named_hosts(entry["hosts"], source, f"{place}.hosts")
    return ClosureRequest(kind, place, start, end, hosts, hostset.size(hosts), label)


def _named_hosts(value: Any, source: str, path: str) -> HostSet:
    if not isinstance(value, str):
        raise InputError('want a text such as "0-3 5"', source=source, path=path)
    try:
        hosts = hostset.parse(value)
    except ValueError as why:
        raise InputError(str(why), source=source, path=path) from None
    if not hosts:
        raise InputError("names no host", source=source, path=path)
    return hosts


def place_closures(
    requests: Sequence[ClosureRequest], platform: HostSet, ticks_per_second: int, source: str
) -> Closures:
    """Give every request its hosts on a platform and its dates in ticks.

    Named hosts come first; then each count, in order of the file, takes the highest-numbered hosts that no
    other closure has at that time (jobs fill the platform from the lowest number).

    Raises:
        InputError: a host that does not exist, or not enough hosts for a count.
    """
    placed = Closures()
    for request in sorted(requests, key=lambda request: request.hosts is None):
        start, end = (min(round(date * ticks_per_second), FOREVER) for date in (request.start, request.end))
        end = max(end, start + 1)  # what is shorter than a tick takes one
        hosts = request.hosts
        if hosts is None:
            hosts = _highest(request, placed.within(start, end), platform, source)
        elif unknown := hostset.difference(hosts, platform):
            text = hostset.to_text(unknown)
            raise InputError(f"no such host: {text}", source=source, path=f"{request.place}.hosts")
        placed.add(Closure(start, end, hosts, to_mask(hosts), request.kind, request.label))
    return placed


def _highest(request: ClosureRequest, others: list[Closure], platform: HostSet, source: str) -> HostSet:
    open_hosts = platform
    for other in others:
        open_hosts = hostset.difference(open_hosts, other.hosts)
    ids = list(hostset.ids(open_hosts))
    if len(ids) < request.count:
        problem = f"wants {request.count} hosts, {len(ids)} are not closed at that time"
        raise InputError(problem, source=source, path=f"{request.place}.count")
    return hostset.from_ids(ids[-request.count :])
