"""How long things will take, and when a GPU will be free: what Clockwork's controller knows of its workers.

Source: Clockwork (OSDI'20 artifact), its INFER5 scheduler; without GPU clocks, which emulated GPUs keep.
"""

from __future__ import annotations

from collections import deque

from batpy.base.quantiles import quantile
from batpy.base.serving import NANOS

WINDOW = 10
"""Measurements that an estimate is made from; the 99th percentile of them."""
LAG = NANOS // 100
"""A result may be overdue by that much before work is planned as if it were not."""
SOON = NANOS // 1000
"""Nothing that is sent now begins before that."""


class Estimate:
    """The expected duration of one kind of work; the profile's until it was measured."""

    __slots__ = ("_measured", "value")

    def __init__(self, profiled: int) -> None:
        self._measured: deque[int] = deque(maxlen=WINDOW)
        self.value = profiled

    def add(self, duration: int) -> None:
        """It took that long."""
        measured = self._measured
        if len(measured) == WINDOW and all(duration == one for one in measured):
            return
        measured.append(duration)
        self.value = round(quantile(sorted(measured), 99, 100))


class Tracker:
    """Work that an executor was sent, and when it will be through with it."""

    __slots__ = ("_begin", "_sent", "_total")

    def __init__(self) -> None:
        self._begin = 0
        self._sent: dict[int, int] = {}  # expected duration by action, in order of sending
        self._total = 0

    def available(self, now: int) -> int:
        """When work that is sent now would begin."""
        if self._sent:
            first = next(iter(self._sent.values()))
            if self._begin + first + LAG < now:
                self._begin = now - LAG - first
        return max(self._begin + self._total, now + SOON)

    def sent(self, action: int, duration: int, now: int) -> None:
        """Work was sent."""
        if not self._sent:
            self._begin = max(self._begin, now)
        self._sent[action] = duration
        self._total += duration

    def over(self, action: int, end: int) -> None:
        """Its result came; out of order, it only no longer counts."""
        first = next(iter(self._sent)) == action
        self._total -= self._sent.pop(action)
        if first:
            self._begin = max(self._begin, end)
