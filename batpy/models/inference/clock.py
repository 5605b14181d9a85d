"""The events of all GPUs of a process on one heap, and the results they lead to."""

from __future__ import annotations

from heapq import heappop, heappush

from batpy.base.serving import WorkerStatus
from batpy.models.inference.actions import NAMES, Result
from batpy.models.inference.executor import Executor, Rank, Task

_Entry = tuple[int, int, int, int, int, Executor | Task]


class Clock:
    """Keeps the time and what is to come.

    Attributes:
        now: nanoseconds.
        outstanding: accepted actions without a result.
        results: those not yet taken, in the order in which the actions were over.
    """

    __slots__ = ("_counter", "_heap", "_round", "now", "outstanding", "results")

    def __init__(self) -> None:
        self.now = 0
        self.outstanding = 0
        self.results: list[Result] = []
        # (date, round of that instant, rank, serial of the task, number of the entry, subject)
        self._heap: list[_Entry] = []
        self._round = 0
        self._counter = 0

    @property
    def due(self) -> int | None:
        """Date of the next event, or None."""
        return self._heap[0][0] if self._heap else None

    def reach(self, date: int) -> None:
        """Let happen what is due before *date*; then it is *date*."""
        heap = self._heap
        while heap and heap[0][0] < date:
            self._happen()
        if date > self.now:
            self.now, self._round = date, 0

    def finish_instant(self) -> None:
        """Let happen what is due now, and what follows from it now."""
        heap = self._heap
        while heap and heap[0][0] <= self.now:
            self._happen()

    def _happen(self) -> None:
        self.now, self._round, rank, serial, _, subject = heappop(self._heap)
        if isinstance(subject, Task):
            if rank == Rank.OVER:
                subject.home.finish(subject)
            else:
                subject.home.start(subject)
        elif subject.armed == (self.now, serial):
            subject.armed = None
            task = subject.pop()
            task.home.start(task)
            self.arm(subject)

    def arm(self, executor: Executor) -> None:
        """See to it that an executor with room takes its first task when that may be taken."""
        queue = executor.queue
        if not queue or len(executor.running) >= executor.depth:
            executor.armed = None
            return
        eligible, serial, task = queue[0]
        date = eligible if eligible > self.now else self.now
        if executor.armed != (date, serial):
            executor.armed = (date, serial)
            self._push(date, task.rank, serial, executor)

    def at_once(self, task: Task) -> None:
        """Have a task started in its turn of the present instant, without an executor."""
        self._push(self.now, task.rank, task.serial, task)

    def begin(self, executor: Executor, task: Task, duration: int) -> None:
        """A task occupies its executor from now on, or from the end of what was issued before it."""
        task.begin = executor.running[-1].end if executor.running else self.now
        task.end = task.begin + duration
        task.rank = Rank.OVER
        executor.running.append(task)
        self._push(task.end, Rank.OVER, task.serial, task)

    def _push(self, date: int, rank: int, serial: int, subject: Executor | Task) -> None:
        # What takes no time is over after everything that is already due now.
        instant = 0 if date > self.now else self._round + (rank == Rank.OVER)
        self._counter += 1
        heappush(self._heap, (date, instant, rank, serial, self._counter, subject))

    def fail(self, task: Task, status: WorkerStatus, message: str) -> None:
        """A task is over with an error."""
        action = task.action
        self.outstanding -= 1
        self.results.append(
            Result(
                action.id, action.worker, NAMES[type(action)], int(status), task.received, self.now, message
            )
        )
