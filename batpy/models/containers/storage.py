"""One storage for all containers, off by default: who reads or is written out shares its bandwidth.

The original gives every container a disk of its own. Here, in a tick in which those who read or write ask
together for more than there is, all are slowed by the same factor: asked for 40 GB/s of 20, a phase of
10 ticks takes 20. Progress is counted in whole parts of a tick, so that a sum over ticks has no order and the
end of a phase is known as long as nobody comes or goes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from math import ceil, fsum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from batpy.workloads.pipelines.segment import Segment

if TYPE_CHECKING:
    from batpy.models.containers.contention import SharingContainer
    from batpy.models.containers.growth import Doubles

PARTS = 1 << 30
"""Parts of a tick that are counted. Factors are rounded up: at a third, three ticks do the work of one."""
_EXACT = 1 << 62


class Stage(NamedTuple):
    """A stretch of an operator.

    Attributes:
        ticks: its length with nobody else there.
        memory: GB throughout; None if it grows with what is read.
        speed: GB/s that it asks the storage for; 0 if it does not read.
    """

    ticks: int
    memory: float | None
    speed: float


def stages_of(
    segments: Sequence[Segment], cpus: float, tick_length: float, lead: int, speed: float, *, compat: bool
) -> list[Stage]:
    """What the segments do on *cpus* CPUs, stages without a tick left out; see ``Planner.plan``."""
    stages = [Stage(lead, 0.0, 0)]
    for segment in segments:
        io_ticks, cpu_ticks = segment.phase_ticks(cpus, tick_length, speed)
        total = io_ticks + cpu_ticks
        reading = min(io_ticks, total)
        memory = segment.memory_gb
        stages.append(Stage(reading, memory, speed))
        stages.append(Stage(total - reading, segment.storage_read_gb if memory is None else memory, 0))
    if not compat and all(stage.ticks <= 0 for stage in stages[1:]):
        stages.append(Stage(1, max((segment.get_peak_memory_gb() for segment in segments), default=0.0), 0))
    return [stage for stage in stages if stage.ticks > 0]


def is_endless(segments: Sequence[Segment], cpus: float, tick_length: float, speed: float) -> bool:
    """Whether the last segment takes no tick."""
    return not segments or sum(segments[-1].phase_ticks(cpus, tick_length, speed)) <= 0


class Stretch:
    """Memory by tick while a segment reads at one rate; the counterpart of ``Growth``.

    Args:
        done: parts that were read before its first tick.
        rate: parts read in a tick, up to *need*.
    """

    def __init__(self, done: int, rate: int, need: int, tick_length: float, speed: float) -> None:
        self._done = done
        self._rate = rate
        self._need = need
        self._tick_length = tick_length
        self._speed = speed

    def at(self, index: int) -> float:
        """GB in tick *index*, from 0."""
        parts = min(self._need, self._done + (index + 1) * self._rate)
        return parts / PARTS * self._tick_length * self._speed

    def steps(self, begin: int, end: int) -> Doubles:
        """What the memory grows by in the ticks *begin* (at least 1) to *end* - 1."""
        if max(self._need, self._done + end * self._rate) < _EXACT:
            parts = np.minimum(self._need, self._done + np.arange(begin, end + 1) * self._rate)
            level: Doubles = parts / PARTS * self._tick_length * self._speed
        else:
            level = np.array([self.at(index - 1) for index in range(begin, end + 1)])
        return level[1:] - level[:-1]

    def first_above(self, limit: float, ticks: int) -> int | None:
        """First of *ticks* ticks whose memory is above *limit*; None if none is."""
        index = bisect_right(range(ticks), limit, key=self.at)
        return index if index < ticks else None


class Access:
    """The reading or writing of one container.

    Attributes:
        speed: GB/s that it asks for.
        need: parts of a tick that it takes with nobody else there.
        done: those that were done before tick *since*, from which on the rate is what it is.
    """

    __slots__ = ("done", "need", "since", "speed")

    def __init__(self, speed: float, ticks: int, since: int) -> None:
        self.speed = speed
        self.need = ticks * PARTS
        self.done = 0
        self.since = since

    def move(self, tick: int, rate: int) -> None:
        """Note what was done before *tick* at *rate*."""
        self.done = min(self.need, self.done + (tick - self.since) * rate)
        self.since = tick

    def ticks_left(self, rate: int) -> int:
        """Ticks from ``since`` on until it is over, at *rate*."""
        return -(-(self.need - self.done) // rate)


class SharedStorage:
    """Who is at it, and how fast everybody is.

    Args:
        bandwidth: GB/s of all together.

    Attributes:
        rate: parts of a tick that each gets in a tick.
        has_news: whether somebody came or went since the rate was worked out.
    """

    def __init__(self, bandwidth: float, tick_length: float, *, compat: bool) -> None:
        self.tick_length = tick_length
        self.compat = compat
        self.rate = PARTS
        self.has_news = False
        self._bandwidth = bandwidth
        self._accesses: dict[SharingContainer, Access] = {}
        self._new: list[SharingContainer] = []

    def join(self, container: SharingContainer, speed: float, ticks: int, tick: int) -> None:
        """It reads or writes from *tick* on; its dates follow from ``settle``."""
        self._accesses[container] = Access(speed, ticks, tick)
        self._new.append(container)
        self.has_news = True

    def leave(self, container: SharingContainer) -> None:
        """It is done, or dead; nothing happens if it was not there."""
        if self._accesses.pop(container, None) is not None:
            self.has_news = True

    def settle(self, tick: int) -> list[SharingContainer]:
        """Work the rate out from who is there in *tick*; returns those whose dates changed."""
        if not self.has_news:
            return []
        self.has_news = False
        rate = rate_of([access.speed for access in self._accesses.values()], self._bandwidth)
        changed = self._new if rate == self.rate else list(self._accesses)
        for container in changed if rate != self.rate else ():
            self._accesses[container].move(tick, self.rate)
        self.rate, self._new = rate, []
        for container in changed:
            container.follow(tick, self._accesses[container], rate)
        return changed


def rate_of(speeds: Sequence[float], bandwidth: float) -> int:
    """Parts of a tick that each gets in a tick in which *speeds* are asked for."""
    asked = fsum(speeds)
    return PARTS if asked <= bandwidth else ceil(PARTS * (bandwidth / asked))
