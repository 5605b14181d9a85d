"""Tasks that take slots near their input first, and do not wait for one: delay scheduling without a delay.

The same choice as ``batpy.dfs.delay`` makes with waits of 0, at a tenth of its cost.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

Taken = tuple[int, int, bool]
"""Host, task, and whether the task's input lies elsewhere."""


class Nearest:
    """The tasks of a stage that have not started.

    Args:
        near: for each task the hosts that hold its input; none for a task that runs anywhere alike.
        hosts: how many there are; a host beyond them holds input that is far from all.
    """

    def __init__(self, near: Sequence[Sequence[int]], hosts: int) -> None:
        self._left = len(near)
        self._gone = bytearray(len(near))
        self._on: list[deque[int]] = [deque() for _ in range(hosts)]
        self._easy: deque[int] = deque()
        self._here: deque[int] = deque()
        self._elsewhere: deque[int] = deque()
        for task, places in enumerate(near):
            inside = [place for place in places if 0 <= place < hosts]
            for place in inside:
                self._on[place].append(task)
            (self._here if inside else self._elsewhere if places else self._easy).append(task)

    def __len__(self) -> int:
        """Tasks that have not started."""
        return self._left

    def take(self, slots: Sequence[int]) -> list[Taken]:
        """Who takes these free slots, given by their hosts, in their order.

        Over all slots, first come tasks on a host of their input and those that have none, then tasks whose
        input another of the hosts has, then all others.
        """
        if len(slots) == 1:  # the usual case
            return self._take_one(slots[0])
        queues = (self._easy, self._here, self._elsewhere)
        found: dict[int, Taken] = {}
        for level in range(1, len(queues) + 1):
            if not self._left or len(found) == len(slots):
                break
            for place, host in enumerate(slots):
                if place in found:
                    continue
                task, far = self._first(self._on[host]), False
                for kind, queue in enumerate(queues[:level]):
                    if task < 0:
                        task, far = self._first(queue), kind > 0
                if task >= 0:
                    self._gone[task] = 1
                    self._left -= 1
                    found[place] = host, task, far
        return [found[place] for place in sorted(found)]

    def _take_one(self, host: int) -> list[Taken]:
        gone = self._gone
        for queue in (self._on[host], self._easy, self._here, self._elsewhere):
            while queue:
                task = queue.popleft()
                if not gone[task]:
                    gone[task] = 1
                    self._left -= 1
                    return [(host, task, queue is self._here or queue is self._elsewhere)]
        return []

    def _first(self, queue: deque[int]) -> int:
        """The first task of a queue that has not started, or -1."""
        gone = self._gone
        while queue:
            if not gone[queue[0]]:
                return queue[0]
            queue.popleft()
        return -1
