"""The memory that a pool uses, tick by tick to the bit, without visiting the ticks.

The original keeps one running sum for each pool and adds every container's change in every tick, in the order
of their starts; when a container leaves, it sums up anew. Rounding makes the running sum differ from the sum
of the containers' memories, and the killer, the statistics and the policies see it. Here a ledger notes who
runs what from when; the sum is worked out only when somebody looks, and then in one go between two events.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from batpy.models.containers.exact import compensated_sum

if TYPE_CHECKING:
    from batpy.models.containers.growth import Doubles

NEVER = 1 << 62
FEW = 12
"""So many additions are faster one by one."""
CHUNK = 1 << 16
"""Ticks handled at once."""


class Growing(Protocol):
    """How memory grows while a segment reads: GB in a tick of it, and what it grew by in some of them."""

    def at(self, index: int) -> float: ...
    def steps(self, begin: int, end: int) -> Doubles: ...


class Phase(NamedTuple):
    """A stretch of an operator with one rule for its memory.

    Attributes:
        begin, end: ticks since the operator's first one; the end is not part of it.
        memory: GB throughout; None if it grows with what is read.
    """

    begin: int
    end: int
    memory: float | None


class Plan(NamedTuple):
    """What an operator does on so many CPUs with so much memory; shared by all that are alike.

    Attributes:
        phases: one after the other without a gap, the first from 0.
        oom: its first tick above the allocation; None if there is none.
        peak: GB that it reaches in the ticks before that one.
        endless: its last segment takes no tick, so it never ends (compat).
        growth: how memory grows while it reads.
    """

    phases: tuple[Phase, ...]
    oom: int | None
    peak: float
    endless: bool
    growth: Growing


class Course:
    """The memory of one operator in its container, from its first tick until the next operator's.

    Attributes:
        number: of the container; decides the order of additions.
        before: GB of the container in the tick before.
        first, last: the ticks that count for the pool.
        rest: from this tick on its memory does not move any more.
    """

    __slots__ = ("before", "first", "growth", "last", "number", "phases", "rest")

    def __init__(
        self, number: int, before: float, phases: tuple[Phase, ...], first: int, growth: Growing
    ) -> None:
        self.number = number
        self.before = before
        self.phases = phases
        self.first = first
        self.growth = growth
        self.last = NEVER
        final = phases[-1]
        self.rest = first + (final.end if final.memory is None else final.begin + 1)

    def memory(self, tick: int) -> float:
        """GB in *tick*; the last value after its end."""
        index = tick - self.first
        if index < 0:
            return self.before
        for begin, end, memory in self.phases:
            if index < end:
                return self.growth.at(index - begin) if memory is None else memory
        begin, end, memory = self.phases[-1]
        return self.growth.at(end - 1 - begin) if memory is None else memory


class MemoryLedger:
    """The running sum of one pool."""

    def __init__(self) -> None:
        self._tick = -1
        self._value: float = 0.0
        self._fixed: Sequence[float] = ()
        self._holders: list[Course] | None = None
        self._courses: list[Course] = []

    def begin(self, course: Course) -> None:
        """An operator begins with the first tick of *course*."""
        self._courses.append(course)

    def reset(self, tick: int, courses: list[Course], fixed: Sequence[float] = ()) -> None:
        """Sum up anew after *tick*: the containers that are left, and amounts that do not move."""
        self._tick = tick
        self._holders = courses
        self._fixed = fixed
        self._courses = courses.copy()

    def add(self, change: float, tick: int) -> None:
        """Add a change that belongs to no course before anything else in *tick*."""
        self._value = self.value(tick - 1) + change

    def value(self, tick: int) -> float:
        """The running sum after *tick*."""
        if self._holders is not None:
            self._sum_up(self._holders)
        if tick > self._tick:
            if self._courses:
                self._value = self._walk(tick)
                self._courses = [course for course in self._courses if course.last > tick]
            self._tick = tick
        return self._value

    def value_within(self, tick: int, endings: Mapping[int, Course]) -> float:
        """The running sum after all containers executed *tick*, those that ended well (by number) at 0."""
        value = self.value(tick - 1)
        for course in self._in_order(tick):
            if course.first == tick or tick < course.rest:
                value += course.memory(tick) - course.memory(tick - 1)
            if endings.get(course.number) is course:
                value += 0.0 - course.memory(tick)
        return value

    def _sum_up(self, holders: list[Course]) -> None:
        levels = [course.memory(self._tick) for course in holders]
        self._value = compensated_sum([*levels, *self._fixed])
        self._holders = None

    def _in_order(self, tick: int) -> list[Course]:
        """The courses of *tick* in order of the containers' starts."""
        return sorted(
            (course for course in self._courses if course.first <= tick <= course.last), key=_number
        )

    # ------------------------------------------------------------------ without visiting the ticks

    def _walk(self, last: int) -> float:
        value = self._value
        moving = self._moving(self._tick + 1)
        if not moving:
            return value
        for begin, end in _spans(moving, self._tick + 1, last):
            if begin == end:
                value = _add_tick(value, moving, begin)
                continue
            readers = _readers(moving, begin)
            for skip in range(0, end - begin + 1, CHUNK) if readers else ():
                value = _add_all(value, readers, skip, min(CHUNK, end - begin + 1 - skip))
        return value

    def first_excess(self, tick: int, last: int, limit: float) -> int | None:
        """First tick after *tick* and up to *last* after which the sum is above *limit*; None if none is.

        Nothing may begin or end in between.
        """
        value = self.value(tick)
        moving = self._moving(tick + 1)
        last = min(last, max((course.rest for course in moving), default=tick))
        for begin, end in _spans(moving, tick + 1, last):
            if begin == end:
                value = _add_tick(value, moving, begin)
                if value > limit:
                    return begin
                continue
            readers = _readers(moving, begin)
            for skip in range(0, end - begin + 1, CHUNK) if readers else ():
                length = min(CHUNK, end - begin + 1 - skip)
                sums = _sums(value, readers, skip, length)[len(readers) :: len(readers)]
                above = sums > limit
                if above.any():
                    return begin + skip + int(above.argmax())
                value = float(sums[-1])
        return None

    def _moving(self, first: int) -> list[Course]:
        """Courses whose memory moves in *first* or later, in order."""
        moving = [course for course in self._courses if course.rest > first or course.first >= first]
        if len(moving) > 1:
            moving.sort(key=_number)
        return moving


def _number(course: Course) -> tuple[int, int]:
    return course.number, course.first


def _add_tick(value: float, courses: Sequence[Course], tick: int) -> float:
    for course in courses:
        if course.first <= tick <= course.last:
            value += course.memory(tick) - course.memory(tick - 1)
    return value


def _spans(courses: Sequence[Course], first: int, last: int) -> list[tuple[int, int]]:
    """Cut *first* to *last* where a phase begins (a span of its own) and after the last tick of a course."""
    singles = set()
    for course in courses:
        stop = min(last, course.last)
        for phase in course.phases:
            if first <= (begin := course.first + phase.begin) <= stop:
                singles.add(begin)
    ends = {course.last + 1 for course in courses if first <= course.last < last}
    spans = []
    begin = first
    for cut in sorted(singles | ends):
        if begin < cut:
            spans.append((begin, cut - 1))
            begin = cut
        if cut in singles:
            spans.append((cut, cut))
            begin = cut + 1
    if begin <= last:
        spans.append((begin, last))
    return spans


Reader = tuple[Growing, int]


def _readers(courses: Sequence[Course], tick: int) -> list[Reader]:
    """How each container that grows in *tick* grows, and the index of that tick in its I/O phase."""
    readers: list[Reader] = []
    for course in courses:
        if course.last >= tick:
            index = tick - course.first
            for begin, end, memory in course.phases:
                if memory is None and begin < index < end:
                    readers.append((course.growth, index - begin))
    return readers


def _add_all(value: float, readers: Sequence[Reader], skip: int, length: int) -> float:
    if length * len(readers) <= FEW:
        columns = [growth.steps(at + skip, at + skip + length).tolist() for growth, at in readers]
        for changes in zip(*columns, strict=True):
            for change in changes:
                value += change
        return value
    return float(_sums(value, readers, skip, length)[-1])


def _sums(value: float, readers: Sequence[Reader], skip: int, length: int) -> Doubles:
    """Running sums after every single addition, *value* first."""
    count = len(readers)
    sums = np.empty(length * count + 1)
    sums[0] = value
    for column, (growth, at) in enumerate(readers):
        sums[1 + column :: count] = growth.steps(at + skip, at + skip + length)
    np.add.accumulate(sums, out=sums)
    return sums
