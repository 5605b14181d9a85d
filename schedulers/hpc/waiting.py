"""Waiting jobs in a fixed order, indexed so that the next one that can be backfilled is found without a scan.

A tournament tree over the jobs in their order: each node knows the smallest request and the smallest walltime
below it, so that a part of the queue with nothing that fits is passed over at once. Jobs that belong between
others (orders other than arrival) stand in a short sorted list beside it until the next rebuild.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from math import isqrt

from batpy.schedulers.api import Job

OUT = -1  # Job.place of a job that is not in the index
LATE = -2  # ... of one in the list beside the tree
_NEVER = 1 << 63  # above every request and walltime: an empty leaf
_SMALLEST = 16

Entry = tuple[float, int, Job]
"""(key, serial, job): unique by serial."""


class WaitingIndex:
    """Jobs by (key, serial). Uses ``Job.place``."""

    def __init__(self) -> None:
        self._late: list[Entry] = []
        self._leaves: list[Entry | None] = []
        self._last: Entry | None = None  # the last leaf that was filled
        self._res: list[int] = []
        self._length: list[int] = []
        self._capacity = self._used = self._live = 0
        self._build([])

    def __len__(self) -> int:
        return self._live + len(self._late)

    def add(self, key: float, job: Job) -> None:
        """Put a job at its place."""
        used = self._used
        entry = (key, job.serial, job)
        leaves = self._leaves
        if self._last is not None and entry < self._last:
            insort(self._late, entry)
            job.place = LATE
            if len(self._late) > 64 + 2 * isqrt(self._live):
                self._build(self._entries())
            return
        if used == self._capacity:
            self._build(self._entries())
            used, leaves = self._used, self._leaves
        leaves[used] = entry
        self._last = entry
        job.place = used
        self._used = used + 1
        self._live += 1
        res, length = job.res, job.length
        least_res, least_length = self._res, self._length
        node = used + self._capacity
        while node and (least_res[node] > res or least_length[node] > length):
            if least_res[node] > res:  # noqa: PLR1730 (a call costs more)
                least_res[node] = res
            if least_length[node] > length:  # noqa: PLR1730
                least_length[node] = length
            node >>= 1

    def discard(self, job: Job) -> None:
        """Take a job out; nothing happens if it is not in."""
        place = job.place
        job.place = OUT
        if place == LATE:
            self._late = [entry for entry in self._late if entry[2] is not job]
            return
        if place < 0:
            return
        self._leaves[place] = None
        self._live -= 1
        least_res, least_length = self._res, self._length
        node = place + self._capacity
        least_res[node] = least_length[node] = _NEVER
        node >>= 1
        while node:
            left = 2 * node
            res, other = least_res[left], least_res[left + 1]
            if other < res:  # noqa: PLR1730
                res = other
            length, other = least_length[left], least_length[left + 1]
            if other < length:  # noqa: PLR1730
                length = other
            if least_res[node] == res and least_length[node] == length:
                break
            least_res[node] = res
            least_length[node] = length
            node >>= 1
        if not self._live:  # begin anew at the first leaf, of a low tree
            self._used, self._last = 0, None
            if self._capacity > _SMALLEST:
                self._build(self._late)

    def least_request(self) -> int:
        """The fewest hosts a waiting job asks for; more than any platform has if nobody waits."""
        if self._late:
            return min(self._res[1], *(entry[2].res for entry in self._late))
        return self._res[1]

    def scan(self) -> Scan:
        """Start a walk over the jobs that can be backfilled. Take jobs out only after it."""
        return Scan(self)

    def find(self, start: int, free: int, limit: int, extra: int) -> int:
        """Place of the first job from *start* on that fits the bounds (see ``Scan.next``), or -1."""
        if start >= self._used:
            return -1
        least_res, least_length = self._res, self._length
        capacity = self._capacity
        node = start + capacity if start else 1
        while True:
            res = least_res[node]
            if res <= free and (least_length[node] <= limit or res <= extra):
                if node >= capacity:
                    return node - capacity
                node *= 2
                continue
            while node & 1:  # a right child: all of its parent is done
                node >>= 1
            if not node:
                return -1
            node += 1

    def _entries(self) -> list[Entry]:
        live = [entry for entry in self._leaves if entry is not None]
        return sorted(live + self._late) if self._late else live

    def _build(self, entries: list[Entry]) -> None:
        """Lay the tree out anew with twice the room that is needed."""
        capacity = _SMALLEST
        while capacity < 2 * len(entries):
            capacity *= 2
        self._capacity = capacity
        self._used = self._live = len(entries)
        self._late = []
        padding = capacity - len(entries)
        self._leaves = [*entries, *[None] * padding]
        self._last = entries[-1] if entries else None
        empty = [_NEVER] * padding
        least_res = [_NEVER] * capacity + [entry[2].res for entry in entries] + empty
        least_length = [_NEVER] * capacity + [entry[2].length for entry in entries] + empty
        for node in range(capacity - 1, 0, -1):
            least_res[node] = min(least_res[2 * node], least_res[2 * node + 1])
            least_length[node] = min(least_length[2 * node], least_length[2 * node + 1])
        self._res, self._length = least_res, least_length
        for place, entry in enumerate(entries):
            entry[2].place = place

    def check(self) -> None:
        """Recompute what is redundant and compare; for tests."""
        leaves = [*self._leaves, *[None] * (self._capacity - len(self._leaves))]
        live = [entry for entry in leaves if entry is not None]
        assert live == sorted(live)
        assert self._late == sorted(self._late)
        assert (self._live, len(self)) == (len(live), len(live) + len(self._late))
        assert all(entry is None for entry in leaves[self._used :])
        assert all(entry is None or entry[2].place == place for place, entry in enumerate(leaves))
        assert all(entry[2].place == LATE for entry in self._late)
        for least, name in ((self._res, "res"), (self._length, "length")):
            values = [_NEVER if entry is None else getattr(entry[2], name) for entry in leaves]
            for node in range(self._capacity - 1, 0, -1):
                assert least[node] == min(least[2 * node], least[2 * node + 1])
            assert least[self._capacity :] == values


class Scan:
    """A walk in order; bounds may only get tighter as it goes on."""

    __slots__ = ("_beside", "_index", "_place")

    def __init__(self, index: WaitingIndex) -> None:
        self._index = index
        self._place = 0
        self._beside = 0

    def next(self, free: int, limit: int, extra: int) -> Job | None:
        """The next job with res <= free and (length <= limit or res <= extra)."""
        index = self._index
        place = index.find(self._place, free, limit, extra)
        late = index._late
        if self._beside < len(late):
            beside = self._next_beside(late, free, limit, extra)
            if beside is not None and (place < 0 or beside < index._leaves[place]):  # type: ignore[operator]
                self._beside += 1
                self._place = place if place >= 0 else index._used
                return beside[2]
        if place < 0:
            self._place = index._used
            return None
        self._place = place + 1
        return index._leaves[place][2]  # type: ignore[index]

    def _next_beside(self, late: list[Entry], free: int, limit: int, extra: int) -> Entry | None:
        for position in range(self._beside, len(late)):
            entry = late[position]
            job = entry[2]
            if job.res <= free and (job.length <= limit or job.res <= extra):
                self._beside = position
                return entry
        self._beside = len(late)
        return None


class JobList:
    """Jobs by (key, serial) with the first at hand: a sorted list for queues whose head matters.

    Jobs that go out from its middle stay in it until its head passes them, or ``purge``. That and a plain
    list cost 2 us a job; a ``sortedcontainers.SortedList``, measured in its place, 5 us.
    """

    __slots__ = ("_entries", "_first")

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._first = 0

    def __len__(self) -> int:
        """Entries, those of jobs that are out included."""
        return len(self._entries)

    def push(self, key: float, job: Job) -> None:
        """Put a job at its place."""
        entry = (key, job.serial, job)
        entries = self._entries
        if not entries or entries[-1] < entry:
            entries.append(entry)
        else:
            entries.insert(bisect_left(entries, entry, self._first), entry)

    def head(self) -> Job | None:
        """The first job that is still in the index, or None. Jobs whose place is OUT are dropped."""
        entries, first = self._entries, self._first
        size = len(entries)
        if first < size and entries[first][2].place != OUT:
            return entries[first][2]
        while first < size and entries[first][2].place == OUT:
            first += 1
        if first > 64 and 2 * first > size:
            del entries[:first]
            first = 0
        self._first = first
        return entries[first][2] if first < len(entries) else None

    def purge(self) -> None:
        """Forget jobs that are out: one that comes back must not stand there twice, nor stay for ever."""
        self._entries = [entry for entry in self._entries if entry[2].place != OUT]
        self._first = 0
