"""Memory that grows while a segment reads: the exact doubles of every tick, in arrays.

In tick ``i`` of its I/O phase a segment without a fixed memory holds ``(i + 1) * tick_length * 20`` GB, and
the pool's sum moves by the difference to the tick before. Those doubles are the same for every container,
so they are computed once; adding a run of them in order (``numpy.add.accumulate`` adds one by one, without
pairwise grouping) gives the bits that a loop over ticks gives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from batpy.base.pipelines import DISK_SCAN_GB_SEC

if TYPE_CHECKING:
    Doubles = np.ndarray[Any, np.dtype[np.float64]]

KEPT = 1 << 20
"""Ticks whose doubles are kept; longer reads compute the rest piece by piece."""


class Growth:
    """Memory by tick of the I/O phase, for one length of tick and one speed of reading (GB/s)."""

    def __init__(self, tick_length: float, speed: float = DISK_SCAN_GB_SEC) -> None:
        self._tick_length = tick_length
        self._speed = speed
        self._steps: np.ndarray[Any, Any] = np.empty(0)
        self._longest = 1024

    def at(self, index: int) -> float:
        """GB in tick *index*, from 0, of an I/O phase."""
        return (index + 1) * self._tick_length * self._speed

    def expect(self, ticks: int) -> None:
        """An I/O phase of so many ticks is to come: make room at once rather than step by step."""
        self._longest = max(self._longest, ticks)

    def steps(self, begin: int, end: int) -> Doubles:
        """What the memory grows by in the ticks *begin* (at least 1) to *end* - 1."""
        if end > KEPT:
            return self._compute(begin, end)
        if end > len(self._steps):
            size = min(KEPT, max(self._longest, end, 2 * len(self._steps)))
            first = np.zeros(1)  # tick 0 depends on what came before; never asked for
            self._steps = np.append(first, self._compute(1, size))
        return self._steps[begin:end]

    def _compute(self, begin: int, end: int) -> Doubles:
        level: Doubles = np.arange(begin, end + 1, dtype=np.float64) * self._tick_length * self._speed
        return level[1:] - level[:-1]

    def first_above(self, limit: float, ticks: int) -> int | None:
        """First tick of an I/O phase of *ticks* ticks whose memory is above *limit*; None if none is."""
        if not ticks or self.at(ticks - 1) <= limit:
            return None
        index = min(ticks - 1, max(0, int(limit / self._speed / self._tick_length) - 2))
        while index > 0 and self.at(index - 1) > limit:
            index -= 1
        while self.at(index) <= limit:
            index += 1
        return index
