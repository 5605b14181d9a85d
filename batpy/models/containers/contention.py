"""A container whose reading takes as long as others let it: see ``storage.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from batpy.base.pipelines import DISK_SCAN_GB_SEC, IllegalStepError
from batpy.models.containers.container import Container
from batpy.models.containers.memory import NEVER, Course, Phase
from batpy.models.containers.pipeline import RUNNING, Operator
from batpy.models.containers.storage import Access, SharedStorage, Stage, Stretch, is_endless, stages_of

if TYPE_CHECKING:
    from batpy.models.containers.pool import ResourcePool


class SharingContainer(Container):
    """A container that knows its course up to the end of a stage only.

    A tick has two halves: first every container turns to what it does in that tick, then the storage says how
    much each gets, and all execute it.
    """

    __slots__ = ("_begun", "_out_of_work", "_stage", "_stage_end", "_stages", "_storage")

    def __init__(
        self, number: int, assignment: Any, pool: ResourcePool, tick: int, storage: SharedStorage
    ) -> None:
        super().__init__(number, assignment, pool, tick)
        self._storage = storage
        self._stage: Stage
        self._stages: list[Stage] = []
        self._stage_end = -1
        self._begun: list[Operator] = []
        self._out_of_work = False

    # ------------------------------------------------------------------ before anybody executes the tick

    def turn(self, tick: int) -> None:
        """Look what *tick* is for; takes a place at the storage, or gives it back."""
        if tick > self.op_end:
            self._look_ahead()
        if tick > self._stage_end and self._stages:
            self._storage.leave(self)
            self._stage = stage = self._stages.pop(0)
            if stage.speed:
                self._storage.join(self, stage.speed, stage.ticks, tick)
            else:
                self._lay(tick, stage.ticks, Stretch(0, 0, 0, 0.0, 0.0))

    def follow(self, tick: int, access: Access, rate: int) -> None:
        """Work out the dates anew: from *tick* on it gets so much of the storage."""
        length = access.ticks_left(rate)
        if self.suspend_ticks is not None:
            self.due = tick + length - 1
            return
        length_of_tick = self._storage.tick_length
        self._lay(tick, length, Stretch(access.done, rate, access.need, length_of_tick, access.speed))
        self.due = min(self.oom_at, self.op_end, self._stage_end + 1)

    def _look_ahead(self) -> None:
        """Find the next operator that takes a tick; those before it are begun together with it (compat)."""
        compat, length, costs = self._storage.compat, self._storage.tick_length, self.pool.costs
        for position in range(self._position, len(self.operators)):
            operator = self.operators[position]
            self._begun.append(operator)
            lead = costs.start_ticks if costs is not None and position == 0 else 0
            speed = DISK_SCAN_GB_SEC if costs is None else costs.reading_speed(operator, self.pool_id)
            self._stages = stages_of(operator.segments, self.cpu, length, lead, speed, compat=compat)
            if self._stages:
                self._endless = compat and is_endless(operator.segments, self.cpu, length, speed)
                return
        self._out_of_work = True

    def _lay(self, tick: int, length: int, growth: Stretch) -> None:
        """Set it on its way through the rest of a stage, which takes *length* ticks from *tick* on."""
        old, memory, pool = self.course, self._stage.memory, self.pool
        before = self.level if old is None else old.memory(tick - 1)
        self.course = course = Course(self.number, before, (Phase(0, length, memory),), tick, growth)
        if old is not None:
            old.last = tick - 1
        pool.ledger.begin(course)
        constant = 0 if memory is not None and memory > self.ram else None
        over = growth.first_above(self.ram, length) if memory is None else constant
        self.oom_at = NEVER if over is None else tick + over
        last = length if over is None else over
        peak = course.memory(tick + last - 1) if last else 0.0
        pool.peaks += peak - self.peak
        self.peak = peak
        self._stage_end = tick + length - 1
        self.op_end = NEVER if self._stages else self._stage_end

    # ------------------------------------------------------------------ the tick itself

    def advance(self, tick: int) -> None:
        """Execute *tick*, in which something happens."""
        for operator in self._begun:
            self._position += 1
            operator.transition(RUNNING)
        self._begun.clear()
        if self._out_of_work:
            told = "an operator of zero ticks ends its container"
            raise IllegalStepError(told, self.container_id, "StopIteration")
        if tick == self.oom_at:
            return  # frozen; the pool kills it in this tick
        if tick == self.op_end:
            self._end_operator(tick)
        self._plan(tick)

    def _plan(self, tick: int) -> None:
        super()._plan(tick)
        if not self.completed:
            self.due = min(self.due, self._stage_end + 1)

    def _end_operator(self, tick: int) -> None:
        self._storage.leave(self)
        super()._end_operator(tick)

    def _leave(self, last: int) -> None:
        self._storage.leave(self)
        super()._leave(last)

    def suspend(self, tick: int) -> None:
        """Begin to write its allocation to the storage."""
        super().suspend(tick)
        if self.suspend_ticks:
            self._storage.join(self, DISK_SCAN_GB_SEC, self.suspend_ticks, tick)

    def release(self, tick: int) -> None:
        """It is written out."""
        self._storage.leave(self)
        super().release(tick)
