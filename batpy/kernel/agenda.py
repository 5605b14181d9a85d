"""The event queue: what happens next, in an order that nothing but the model decides.

Entries are plain tuples ``(time, serial, action, subject)``. Equal times keep the order in which the waits
for them began (``serial`` grows with every insertion), which is the order of Batsim 4.2.1 on simultaneous
events. ``action`` is never compared, since ``serial`` is unique.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

Action = Callable[[Any], None]
Entry = tuple[int, int, Action, Any]


class Agenda:
    """A queue of actions at integer ticks, and the clock that follows it.

    Cancelling is the caller's business: an action looks at its subject when it is due and does nothing if
    the wait is over (a heap cannot remove from its middle cheaply).

    Attributes:
        now: the clock.
        heap: the entries, as ``heapq`` keeps them; to be looked at, never changed.
    """

    __slots__ = ("_serial", "heap", "now")

    def __init__(self) -> None:
        self.now = 0
        self.heap: list[Entry] = []
        self._serial = 0

    def __len__(self) -> int:
        return len(self.heap)

    def at(self, time: int, action: Action, subject: Any = None) -> None:
        """Have ``action(subject)`` called at tick *time*, which must not lie in the past."""
        if time < self.now:
            raise AssertionError(f"cannot plan for tick {time}, it is already {self.now}")
        self._serial += 1
        heappush(self.heap, (time, self._serial, action, subject))

    def step(self) -> None:
        """Move the clock to the next action and perform it."""
        self.now, _, action, subject = heappop(self.heap)
        action(subject)

    def finish_instant(self) -> None:
        """Perform every action of the present tick, those added meanwhile included."""
        heap, now = self.heap, self.now
        while heap and heap[0][0] == now:
            _, _, action, subject = heappop(heap)
            action(subject)
