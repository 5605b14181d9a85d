"""What will be free when: step functions of time that plans are made on.

``CountTimeline`` knows how many hosts are free, which is enough while hosts are interchangeable.
``HostTimeline`` knows which, for reservations on named hosts and for allocations of consecutive ones. Times
are ticks; the last step goes on for ever.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from batpy.protocol.hostset import HostSet
from batpy.schedulers.hosts import Chooser, from_mask, to_mask

# When a job without walltime is expected to end: later than every date there is (36,000 years in us).
FOREVER = 1 << 60
# How far the plan of a job without walltime reaches: past FOREVER, to meet what is planned for then.
BEYOND = 1 << 62


class CountTimeline:
    """Number of free hosts over time."""

    __slots__ = ("counts", "times")

    def __init__(self, now: int, free: int, releases: Iterable[tuple[int, int]] = ()) -> None:
        """Start from the number free now, and (date, number) of those that come back, none before *now*."""
        self.times = [now]
        self.counts = [free]
        for date, count in sorted(releases):
            if date == self.times[-1]:
                self.counts[-1] += count
            else:
                self.times.append(date)
                self.counts.append(self.counts[-1] + count)

    def advance(self, now: int) -> None:
        """Forget what lies before *now*."""
        position = bisect_right(self.times, now) - 1
        if position > 0:
            del self.times[:position]
            del self.counts[:position]
        self.times[0] = max(self.times[0], now)

    def add(self, start: int, end: int, change: int) -> None:
        """Add *change* (negative: take away) on ``[start, end)``."""
        first, last = _cut(self.times, self.counts, start), _cut(self.times, self.counts, end)
        counts = self.counts
        for position in range(first, last):
            counts[position] += change
        self._join(last)
        self._join(first)

    def earliest(self, count: int, length: int, before: int | None = None) -> int | None:
        """First date from which *count* hosts stay free for *length* ticks, or None.

        Args:
            before: stop looking there; None if nothing earlier than this date is found.
        """
        times, counts = self.times, self.counts
        start: int | None = None
        for position, free in enumerate(counts):
            if free < count:
                start = None
                continue
            if start is None:
                start = times[position]
                if before is not None and start >= before:
                    return None
            if position + 1 == len(times) or times[position + 1] - start >= length:
                return start
        return None

    def _join(self, position: int) -> None:
        """Drop a step that changes nothing."""
        if 0 < position < len(self.counts) and self.counts[position] == self.counts[position - 1]:
            del self.times[position]
            del self.counts[position]


class HostTimeline:
    """Which hosts are free over time, as bit masks."""

    __slots__ = ("masks", "times")

    def __init__(self, now: int, free: HostSet, releases: Iterable[tuple[int, int]] = ()) -> None:
        """Start from the hosts free now, and (date, mask) of those that come back; no date before *now*."""
        self.times = [now]
        self.masks = [to_mask(free)]
        for date, mask in sorted(releases):
            if date == self.times[-1]:
                self.masks[-1] |= mask
            else:
                self.times.append(date)
                self.masks.append(self.masks[-1] | mask)

    def free_at(self, date: int) -> HostSet:
        """Hosts free at a date that is not before the timeline's first."""
        return from_mask(self.masks[bisect_right(self.times, date) - 1])

    def release(self, date: int, mask: int) -> None:
        """Have these hosts free from *date* on."""
        for position in range(_cut(self.times, self.masks, date), len(self.masks)):
            self.masks[position] |= mask

    def occupy(self, start: int, end: int, mask: int) -> None:
        """Take these hosts out on ``[start, end)``."""
        first, last = _cut(self.times, self.masks, start), _cut(self.times, self.masks, end)
        for position in range(first, last):
            self.masks[position] &= ~mask

    def vacate(self, start: int, end: int, mask: int) -> None:
        """Put these hosts back on ``[start, end)``."""
        first, last = _cut(self.times, self.masks, start), _cut(self.times, self.masks, end)
        for position in range(first, last):
            self.masks[position] |= mask

    def window(self, start: int, length: int) -> int:
        """Mask of the hosts that stay free on ``[start, start + length)``."""
        times, masks = self.times, self.masks
        position = bisect_right(times, start) - 1
        mask = masks[position]
        end = start + length
        position += 1
        while mask and position < len(times) and times[position] < end:
            mask &= masks[position]
            position += 1
        return mask

    def choose_at(self, start: int, count: int, length: int, choose: Chooser) -> HostSet | None:
        """Hosts that a chooser takes among those that stay free on ``[start, start + length)``."""
        mask = self.window(start, length)
        if mask.bit_count() < count:
            return None
        taken = choose(from_mask(mask), count)
        return taken[0] if taken is not None else None

    def earliest(
        self,
        count: int,
        length: int,
        choose: Chooser,
        before: int | None = None,
        after: int | None = None,
    ) -> tuple[int, HostSet] | None:
        """First date at which a chooser finds hosts that stay free for *length* ticks, and these hosts.

        Args:
            before, after: look only at dates in ``[after, before)``.
        """
        if after is not None:
            _cut(self.times, self.masks, after)
        for position, start in enumerate(self.times):
            if before is not None and start >= before:
                return None
            if self.masks[position].bit_count() < count or (after is not None and start < after):
                continue
            hosts = self.choose_at(start, count, length, choose)
            if hosts is not None:
                return start, hosts
        return None


def _cut(times: list[int], values: list[int], date: int) -> int:
    """Have a step of a timeline begin at *date*, with the value there was, and give its place."""
    position = bisect_right(times, date) - 1
    if position < 0:
        raise AssertionError(f"tick {date} is before the timeline")
    if times[position] == date:
        return position
    times.insert(position + 1, date)
    values.insert(position + 1, values[position])
    return position + 1
