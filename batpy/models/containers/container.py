"""A container: runs a list of operators on its CPUs, with a limit on its memory.

Its whole course is known when an operator begins, so it is looked at in four kinds of tick only: an operator
begins, an operator ends, its memory passes its allocation, its suspension is written out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from batpy.base.pipelines import DISK_SCAN_GB_SEC, IllegalStepError, Priority
from batpy.models.containers.memory import NEVER, Course
from batpy.models.containers.pipeline import COMPLETED, FAILED, PENDING, RUNNING, SUSPENDING, Operator

if TYPE_CHECKING:
    from batpy.models.containers.pool import ResourcePool


class Container:
    """One container of a pool.

    Attributes:
        started, ended, suspended_at: ticks; the last two None before they are known.
        number: counts the containers of a run from 1.
        assignment: what the policy ordered: ``ops``, ``cpu``, ``ram`` and so on.
        error: ``OOM`` or ``timeout`` once it was killed.
        current: index of the operator after the last completed one (Eudoxia's count, which is wrong after an
            operator of zero ticks in compat mode).
        due: next tick at which something happens in it.
        course: the memory of the operator that runs, or that ran last.
        peak: GB that it reaches before that operator ends or is killed.
    """

    __slots__ = (
        "_boundary",
        "_endless",
        "_position",
        "assignment",
        "completed",
        "course",
        "current",
        "due",
        "ended",
        "error",
        "level",
        "number",
        "oom_at",
        "op_end",
        "peak",
        "pool",
        "started",
        "suspend_ticks",
        "suspended_at",
    )

    def __init__(self, number: int, assignment: Any, pool: ResourcePool, tick: int) -> None:
        self.number = number
        self.assignment = assignment
        self.pool = pool
        self.error: str | None = None
        self.completed = False
        self.current = 0
        self.due = tick
        self.course: Course | None = None
        self.oom_at = NEVER
        self.op_end = -1
        self.level: float = 0.0
        self.peak: float = 0.0
        self.suspend_ticks: int | None = None
        self.suspended_at: int | None = None
        self.ended: int | None = None
        self._position = 0
        self.started = tick
        self._boundary = -1
        self._endless = False

    # ------------------------------------------------------------------ what a policy may ask

    @property
    def container_id(self) -> str:
        """``c`` and its number."""
        return f"c{self.number}"

    @property
    def operators(self) -> list[Operator]:
        """All its operators, those that are done included."""
        return self.assignment.ops  # type: ignore[no-any-return]

    @property
    def pool_id(self) -> int:
        """Index of its pool."""
        return self.pool.pool_id

    @property
    def priority(self) -> Priority:
        """As the policy ordered it."""
        return self.assignment.priority  # type: ignore[no-any-return]

    @property
    def cpu(self) -> float:
        """CPUs allocated."""
        return self.assignment.cpu  # type: ignore[no-any-return]

    @property
    def ram(self) -> float:
        """GB allocated."""
        return self.assignment.ram  # type: ignore[no-any-return]

    def get_pipeline_id(self) -> str:
        """Pipeline of its operators, or ``multiple_pipelines``."""
        names = {op.pipeline.pipeline_id for op in self.operators}
        return names.pop() if len(names) == 1 else "multiple_pipelines"

    def can_suspend_container(self) -> bool:
        """Whether an operator ended in the last tick, and another one is to follow."""
        return self._boundary == self.pool.clock.done

    def get_current_memory_usage(self) -> float:
        """GB used in the last tick that was executed."""
        return self.memory_at(self.pool.clock.done)

    def is_completed(self) -> bool:
        """Whether it is over, well or not."""
        return self.completed

    def ticks_elapsed(self) -> int:
        """Ticks executed so far."""
        last = self.pool.clock.done if self.ended is None else self.ended
        return last - self.started + 1

    def memory_at(self, tick: int) -> float:
        """GB used in *tick*, which lies between the last and the next date of the container."""
        if self.completed or self.suspend_ticks is not None or self.course is None:
            return self.level
        return self.course.memory(tick)

    # ------------------------------------------------------------------ course

    def advance(self, tick: int) -> None:
        """Execute *tick*, in which something happens; moves the pool's memory."""
        if tick > self.op_end:
            self._begin(tick)
        if tick == self.oom_at:
            return  # frozen; the pool kills it in this tick
        if tick == self.op_end:
            self._end_operator(tick)
        self._plan(tick)

    def _plan(self, tick: int) -> None:
        if self.completed:
            self.due = NEVER
        elif self.op_end == tick:
            self.due = tick + 1
        else:
            self.due = min(self.oom_at, self.op_end)

    def _begin(self, tick: int) -> None:
        """Begin the next operator; those of zero ticks are passed over, as in the original."""
        operators = self.operators
        while True:
            if self._position == len(operators):
                raise IllegalStepError(
                    "an operator of zero ticks ends its container", self.container_id, "StopIteration"
                )
            operator = operators[self._position]
            self._position += 1
            operator.transition(RUNNING)
            if self._lay_out(operator, tick):
                return

    def _lay_out(self, operator: Operator, tick: int) -> bool:
        """Set *operator* on its way from *tick* on; False if it takes no tick."""
        pool = self.pool
        if pool.costs is None:
            plan = pool.plan_of(operator.segments, self.cpu, self.ram)
        else:
            lead = pool.costs.start_ticks if self._position == 1 else 0
            speed = pool.costs.reading_speed(operator, pool.pool_id)
            plan = pool.plan_of(operator.segments, self.cpu, self.ram, lead, speed)
        if plan is None:
            return False
        old = self.course
        before = self.level if old is None else old.memory(tick - 1)
        self.course = course = Course(self.number, before, plan.phases, tick, plan.growth)
        if old is not None:
            old.last = tick - 1
        pool.ledger.begin(course)
        self.op_end = tick + plan.phases[-1].end - 1
        self.oom_at = NEVER if plan.oom is None else tick + plan.oom
        self._endless = plan.endless
        pool.peaks += plan.peak - self.peak
        self.peak = plan.peak
        return True

    def _end_operator(self, tick: int) -> None:
        if self._endless:
            return  # its last segment has no tick: it never ends (compat)
        operators = self.operators
        operators[self._position - 1].transition(COMPLETED)
        operators[self._position - 1].place = self.pool.pool_id
        self.pool.clock.note_completion(operators[self._position - 1])
        self.current += 1
        if self._position == len(operators):
            self._finish(tick)
        else:
            self._boundary = tick

    def _finish(self, tick: int, error: str | None = None) -> None:
        self.error = error
        self.completed = True
        self.ended = tick
        self.due = NEVER
        self._leave(tick)
        self.level = 0.0

    def _leave(self, last: int) -> None:
        """Its memory counts no more after tick *last*, or never did."""
        if self.course is not None:
            self.level = self.course.memory(last)
            self.course.last = last
        self.pool.peaks -= self.peak
        self.peak = 0.0

    def kill(self, tick: int, error: str) -> None:
        """End it; its operators from the first that is not complete on fail."""
        for operator in self.operators[self.current :]:
            operator.transition(FAILED)
        self._finish(tick, error)

    def suspend(self, tick: int) -> None:
        """Begin to write its allocation to disk; the CPUs and the memory stay taken meanwhile."""
        seconds = self.ram / DISK_SCAN_GB_SEC
        ticks = int(seconds / self.pool.clock.tick_length)
        if not self.pool.clock.compat:
            ticks = max(1, ticks)
        self._leave(tick - 1)
        self.suspend_ticks = ticks
        # The count goes down in the tick of the suspension already, and ends at exactly 0: from 0 never.
        self.due = tick + ticks - 1 if ticks else NEVER
        for operator in self.operators[self.current :]:
            operator.transition(SUSPENDING)

    def release(self, tick: int) -> None:
        """The suspension is written out."""
        self.suspended_at = tick
        self.due = NEVER
        for operator in self.operators[self.current :]:
            operator.transition(PENDING)
