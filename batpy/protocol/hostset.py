"""Sets of hosts as plain sorted intervals: what messages, views and records carry.

A ``HostSet`` is a tuple of disjoint, non-adjacent, ascending pairs ``(first, last)``, both included. It is
25 times cheaper than a general set class on the hot path; ``procset`` reads and prints the same text form at
the edges where users meet sets. Text form (Batsim's interval sets): ``0-3 5 8-9``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

HostSet = tuple[tuple[int, int], ...]
EMPTY: HostSet = ()


def parse(text: str) -> HostSet:
    """Read ``0-3 5``; overlaps and any order are accepted, as Batsim does.

    Raises:
        ValueError: naming the element that is not ``a`` or ``a-b`` with 0 <= a <= b.
    """
    pairs = []
    for part in text.split():
        low, dash, high = part.partition("-")
        if not (low.isascii() and low.isdigit() and (not dash or (high.isascii() and high.isdigit()))):
            raise ValueError(f"{part!r} is not a host id or an interval a-b")
        first = int(low)
        last = int(high) if dash else first
        if last < first:
            raise ValueError(f"{part!r} ends before it begins")
        pairs.append((first, last))
    return normalise(pairs)


def to_text(hosts: HostSet) -> str:
    """Canonical text: maximal intervals, ascending, one space between."""
    return " ".join([f"{a}-{b}" if a != b else str(a) for a, b in hosts])


def normalise(pairs: Iterable[tuple[int, int]]) -> HostSet:
    """Sort and merge arbitrary pairs into a HostSet."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(pairs):
        if merged and first <= merged[-1][1] + 1:
            if last > merged[-1][1]:
                merged[-1] = (merged[-1][0], last)
        else:
            merged.append((first, last))
    return tuple(merged)


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


def contains(hosts: HostSet, host: int) -> bool:
    """True if *host* is a member."""
    return any(first <= host <= last for first, last in hosts)


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


def first_fit(free: HostSet, count: int) -> HostSet | None:
    """The *count* lowest-numbered hosts of *free*, or None if there are not that many."""
    taken: list[tuple[int, int]] = []
    for first, last in free:
        length = last - first + 1
        if length >= count:
            taken.append((first, first + count - 1))
            return tuple(taken)
        taken.append((first, last))
        count -= length
    return None
