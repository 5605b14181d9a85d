"""Workloads of delay jobs held as compact columns; ``Job`` objects are made one at a time.

Used by the SWF reader and by the generators: 450,000 jobs cost some 30 MiB, and nothing more while they are
played.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, repeat
from operator import eq, gt
from types import MappingProxyType
from typing import Any

import msgspec

from batpy.workloads.job import Job
from batpy.workloads.profile import Delay, Profile
from batpy.workloads.seconds import limit_ticks, plain, text_of

# Profiles are shared by jobs of equal run time; a bounded table keeps memory flat if all differ.
_SHARED_PROFILES = 16384
# Values of further fields that a job object leaves out.
_UNKNOWN = (None, -1)


class Labels(msgspec.Struct, frozen=True):
    """What jobs of one user, group, queue and partition have in common.

    Attributes:
        fields: goes into each job's object; unknown ones are left out.
    """

    user: str = ""
    queue: str = ""
    fields: Mapping[str, Any] = msgspec.field(default_factory=dict)


NO_LABELS = Labels()


class Columns(msgspec.Struct):
    """One entry a job in each column, sorted by (submit, id as text) once :meth:`sort` was called.

    Attributes:
        ids: job numbers, or names.
        submit: ticks.
        run: seconds.
        walltime: seconds; 0 or less for none.
        res: hosts.
        labels: shared objects.
        extra: further fields of the job objects: name to column; None or -1 is left out.
        hidden: columns that no job object shows.
    """

    ids: array[int] | list[str] = msgspec.field(default_factory=lambda: array("q"))
    submit: array[int] = msgspec.field(default_factory=lambda: array("q"))
    run: array[float] = msgspec.field(default_factory=lambda: array("d"))
    walltime: array[float] = msgspec.field(default_factory=lambda: array("d"))
    res: array[int] = msgspec.field(default_factory=lambda: array("q"))
    labels: list[Labels] = msgspec.field(default_factory=list)
    extra: dict[str, list[Any] | array[Any]] = msgspec.field(default_factory=dict)
    hidden: dict[str, list[Any] | array[Any]] = msgspec.field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.submit)

    def sort(self) -> None:
        """Sort by (submit, id as text), Batsim's order of submission."""
        submit, count = self.submit, len(self.submit)
        if any(map(gt, submit, islice(submit, 1, None))):
            self.take(sorted(range(count), key=submit.__getitem__))
            submit = self.submit
        ties = bytes(map(eq, submit, islice(submit, 1, None)))
        first = ties.find(1)
        while first >= 0:
            end = ties.find(0, first)
            end = count if end < 0 else end + 1
            self._sort_equals(first, end)
            first = ties.find(1, end)

    def _sort_equals(self, first: int, end: int) -> None:
        """Put jobs of one date into the order of their names."""
        names = list(map(str, self.ids[first:end]))
        order = sorted(range(end - first), key=names.__getitem__)
        if order != list(range(end - first)):
            for column in (self.ids, self.run, self.walltime, self.res, self.labels, *self._others()):
                column[first:end] = _pick(column[first:end], order)

    def take(self, order: Sequence[int]) -> None:
        """Keep the entries at these positions, in this order."""
        self.ids = _pick(self.ids, order)
        self.submit = _pick(self.submit, order)
        self.run = _pick(self.run, order)
        self.walltime = _pick(self.walltime, order)
        self.res = _pick(self.res, order)
        self.labels = _pick(self.labels, order)
        self.extra = {name: _pick(column, order) for name, column in self.extra.items()}
        self.hidden = {name: _pick(column, order) for name, column in self.hidden.items()}

    def _others(self) -> Iterator[Any]:
        yield from self.extra.values()
        yield from self.hidden.values()


def _pick(column: Any, order: Sequence[int]) -> Any:
    picked = map(column.__getitem__, order)
    return array(column.typecode, picked) if isinstance(column, array) else list(picked)


class ColumnWorkload:
    """A streamed workload of delay jobs: each job carries its own profile ``d<seconds>``.

    Attributes:
        columns: the jobs.
        ticks_per_second: resolution of ``columns.submit``.
        description: one line on where the jobs come from.
    """

    streamed = True
    taken_names: frozenset[str] = frozenset()
    preceding: Mapping[str, tuple[str, int]] = MappingProxyType({})
    max_procs: int | None = None

    def __init__(
        self,
        id: str,
        source: str,
        nb_res: int | None,
        columns: Columns,
        ticks_per_second: int,
        description: str = "",
    ) -> None:
        self.id = id
        self.source = source
        self.nb_res = nb_res
        self.columns = columns
        self.ticks_per_second = ticks_per_second
        self.description = description
        self.profiles: Mapping[str, Profile] = {}

    def __len__(self) -> int:
        return len(self.columns)

    def wider_than(self, hosts: int) -> int:
        """How many jobs ask for more than so many hosts."""
        return sum(map(gt, self.columns.res, repeat(hosts)))

    def report(self) -> list[str]:
        """Nothing was left out."""
        return []

    def jobs(self) -> Iterator[Job]:
        """Jobs by (submit, id as text), one at a time; may be called again for a fresh pass."""
        columns, second = self.columns, self.ticks_per_second
        names = tuple(columns.extra)
        extras = zip(*columns.extra.values(), strict=True) if names else repeat((), len(self))
        shared: dict[float, Delay] = {}
        limits: dict[float, int] = {}
        rows = zip(
            *(columns.ids, columns.submit, columns.run, columns.walltime, columns.res, columns.labels),
            extras,
            strict=True,
        )
        for number, submit, run, walltime, res, labels, extra in rows:
            behaviour = shared.get(run)
            if behaviour is None:
                _make_room(shared)
                behaviour = shared[run] = delay_profile(run)
            job, profile, date = str(number), behaviour.name, submit / second
            if walltime > 0:
                limit = limits.get(walltime)
                if limit is None:
                    _make_room(limits)
                    limit = limits[walltime] = limit_ticks(walltime, second)
                raw = {
                    "id": job,
                    "subtime": date,
                    "res": res,
                    "profile": profile,
                    "walltime": walltime,
                    **labels.fields,
                }
            else:
                limit = None
                raw = {"id": job, "subtime": date, "res": res, "profile": profile, **labels.fields}
            if names:
                raw.update([pair for pair in zip(names, extra, strict=True) if pair[1] not in _UNKNOWN])
            yield Job(job, submit, res, profile, limit, raw, behaviour, labels.user, labels.queue)


def _make_room(table: dict[float, Any]) -> None:
    """Keep a table of shared values from growing without end."""
    if len(table) >= _SHARED_PROFILES:
        table.clear()


def append(column: array[Any], values: Iterable[float]) -> None:
    """Extend a column; by way of bytes, which takes a third of the time of ``array.extend``."""
    values = tuple(values)
    column.frombytes(struct.pack(f"{len(values)}{column.typecode}", *values))


def delay_profile(run: float) -> Delay:
    """A profile that lasts *run* seconds, named ``d<seconds>``."""
    return Delay(f"d{text_of(run)}", 0, {"type": "delay", "delay": plain(run)}, run)
