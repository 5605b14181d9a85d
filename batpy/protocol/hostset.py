"""Sets of hosts as plain sorted intervals: what messages, views and records carry.

A ``HostSet`` is a tuple of disjoint, non-adjacent, ascending pairs ``(first, last)``, both included. On the
hot path that is 25 times cheaper than a general set class. Text form (Batsim's interval sets): ``0-3 5 8-9``.

Schedulers written for pybatsim hold ``procset.ProcSet``; ``from_procset`` and ``to_procset`` lead from one to
the other, and only the latter imports that library.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from batpy.base.intervals import Intervals, merge_intervals, parse_intervals

if TYPE_CHECKING:
    from procset import ProcSet

HostSet = Intervals
EMPTY: HostSet = ()

parse = parse_intervals
normalise = merge_intervals


def from_procset(hosts: ProcSet) -> HostSet:
    """The same set as a ``HostSet``.

    Raises:
        TypeError: it is no ProcSet.
    """
    intervals = getattr(hosts, "intervals", None)
    if intervals is None:
        raise TypeError(f"want a procset.ProcSet, got {hosts!r}")
    return tuple((first, last) for first, last in intervals())


def to_procset(hosts: HostSet) -> ProcSet:
    """The same set as a ``procset.ProcSet``, with its operators and its iteration over single hosts."""
    from procset import ProcSet

    return ProcSet(*hosts)


def to_text(hosts: HostSet) -> str:
    """Canonical text: maximal intervals, ascending, one space between."""
    return " ".join([f"{a}-{b}" if a != b else str(a) for a, b in hosts])


def from_ids(ids: Iterable[int]) -> HostSet:
    """The set of these host ids, duplicates and any order accepted."""
    return normalise((i, i) for i in ids)


def is_canonical(hosts: HostSet) -> bool:
    """True if the pairs are ascending, disjoint, non-adjacent and not negative."""
    previous = -2
    for first, last in hosts:
        if first <= previous + 1 or last < first or first < 0:
            return False
        previous = last
    return True


def size(hosts: HostSet) -> int:
    """Number of hosts."""
    if len(hosts) == 1:
        [(first, last)] = hosts
        return last - first + 1
    return sum([b - a for a, b in hosts]) + len(hosts)


def ids(hosts: HostSet) -> Iterator[int]:
    """Every host id, ascending."""
    for first, last in hosts:
        yield from range(first, last + 1)


def union(left: HostSet, right: HostSet) -> HostSet:
    """Hosts in either set."""
    if not left:
        return right
    if not right:
        return left
    return normalise(left + right)


def difference(left: HostSet, right: HostSet) -> HostSet:
    """Hosts of *left* that are not in *right*."""
    if not right or not left:
        return left
    out: list[tuple[int, int]] = []
    j, n = 0, len(right)
    for first, last in left:
        low = first
        while j < n and right[j][1] < low:
            j += 1
        k = j
        while k < n and right[k][0] <= last:
            if right[k][0] > low:
                out.append((low, right[k][0] - 1))
            low = right[k][1] + 1
            k += 1
        if low <= last:
            out.append((low, last))
    return tuple(out)


def intersection(left: HostSet, right: HostSet) -> HostSet:
    """Hosts in both sets."""
    out: list[tuple[int, int]] = []
    i = j = 0
    while i < len(left) and j < len(right):
        low = max(left[i][0], right[j][0])
        high = min(left[i][1], right[j][1])
        if low <= high:
            out.append((low, high))
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return tuple(out)
