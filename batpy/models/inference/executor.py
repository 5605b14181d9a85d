"""An executor: one queue by ``earliest``, one thing after the other; and the order of a worker's events.

What happens at one instant happens in this order: what is over; actions for the whole worker; evictions;
starts of loads; inputs (if they are taken separately); starts of inferences. Equals go by order of
submission. What takes no time is over after all of that, in a further round of the instant.
"""

from __future__ import annotations

from collections import deque
from enum import IntEnum
from heapq import heappop, heappush
from typing import Protocol

from batpy.models.inference.actions import AnyAction
from batpy.models.inference.memory import Weights


class Rank(IntEnum):
    """Order of events within a round of an instant."""

    OVER = 0
    WIDE = 1
    EVICT = 2
    LOAD = 3
    INPUT = 4
    EXEC = 5


class Home(Protocol):
    """Where tasks run: a GPU or a worker."""

    def start(self, task: Task, /) -> None:
        """A task's turn has come."""

    def finish(self, task: Task, /) -> None:
        """A task that takes time is over."""


class Task:
    """An action that was accepted and has no result yet.

    Attributes:
        serial: order of submission, unique.
        home: who starts and finishes it.
        received: when it came.
        eligible: when its executor may take it.
        version: of the weights when it began; ``begin``, ``end``: of what takes time.
        copied: when its input was taken, or -1.
        cancelled: it has its result although it still runs.
    """

    __slots__ = (
        "action",
        "begin",
        "cancelled",
        "copied",
        "eligible",
        "end",
        "home",
        "rank",
        "received",
        "serial",
        "version",
        "weights",
    )

    def __init__(
        self, action: AnyAction, serial: int, received: int, home: Home, rank: Rank, eligible: int
    ) -> None:
        self.action = action
        self.home = home
        self.serial = serial
        self.received = received
        self.rank = rank
        self.eligible = eligible
        self.weights: Weights | None = None
        self.version = 0
        self.begin = 0
        self.end = 0
        self.copied = -1
        self.cancelled = False


class Executor:
    """Takes tasks in the order (eligible, serial), and only ever looks at the first one.

    Attributes:
        queue: heap of (eligible, serial, task).
        running: what was issued and is not over, in that order; the first one occupies the GPU.
        depth: how many may be issued at a time.
        armed: date and serial of the wake-up that counts; others of this executor are ignored.
    """

    __slots__ = ("armed", "depth", "queue", "running")

    def __init__(self, depth: int = 1) -> None:
        self.depth = depth
        self.queue: list[tuple[int, int, Task]] = []
        self.running: deque[Task] = deque()
        self.armed: tuple[int, int] | None = None

    def push(self, task: Task) -> None:
        """Queue a task."""
        heappush(self.queue, (task.eligible, task.serial, task))

    def pop(self) -> Task:
        """Take the first task."""
        return heappop(self.queue)[2]

    def drain(self) -> list[Task]:
        """Take all tasks that are queued."""
        tasks = [entry[2] for entry in self.queue]
        self.queue.clear()
        self.armed = None
        return tasks
