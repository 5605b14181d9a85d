"""A pool: a machine with CPUs and memory that runs containers. Order inside a tick: Eudoxia c62122c."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter, itemgetter
from typing import Any, Literal, Protocol

from batpy.base.pipelines import IllegalStepError, Priority
from batpy.models.containers.clock import RunClock
from batpy.models.containers.container import Container
from batpy.models.containers.contention import SharingContainer
from batpy.models.containers.costs import Costs
from batpy.models.containers.memory import Course, MemoryLedger
from batpy.models.containers.pipeline import Operator
from batpy.models.containers.plans import Planner
from batpy.models.containers.storage import SharedStorage

NOISE = 1e-6
"""Room, relative to a pool's memory, that rounding of the running sum cannot use up."""


_number = attrgetter("number")


Evacuation = Literal["kill", "suspend"]
"""How a pool is vacated: its containers are killed at once (error ``revoked``), or each is written out when
its operator is done, unless it was the last."""


class ExecutionResult:
    """The end of a container, as a policy is told about it in the next tick.

    Attributes:
        ops: all operators of the container.
        error: None, ``OOM``, ``timeout`` or, when its pool was taken away, ``revoked``.
    """

    __slots__ = ("container_id", "cpu", "error", "ops", "pool_id", "priority", "ram")

    def __init__(
        self,
        ops: list[Operator],
        cpu: float,
        ram: float,
        priority: Priority,
        pool_id: int,
        container_id: str | None = None,
        error: str | None = None,
    ) -> None:
        self.ops = ops
        self.cpu = cpu
        self.ram = ram
        self.priority = priority
        self.pool_id = pool_id
        self.container_id = container_id
        self.error = error

    def failed(self) -> bool:
        """Whether it was killed."""
        return self.error is not None


class Observer(Protocol):
    """Who is told what happens in the pools, as it happens."""

    def suspend(self, tick: int, container: Container) -> None: ...
    def start(self, tick: int, container: Container) -> None: ...
    def suspended(self, tick: int, container: Container) -> None: ...


class ResourcePool:
    """One pool.

    Attributes:
        pool_id: its index.
        max_cpu_pool, max_ram_pool: its size, in CPUs and GB.
        avail_cpu_pool, avail_ram_pool: what is not allocated.
        active: running containers by number, in the order of their starts.
        suspending_containers, suspended_containers: in the order in which they came there; the last never
            shrinks.
        num_completed: containers that ended well.
        container_tick_times: ticks of every container that ended.
        cost: stays 0; the original has no cost model.
        awake: containers in which something is due in this tick.
        due: those of them that are to be executed, with the new ones.
        moved: others whose next date is another one now, since the shared storage became faster or slower.
        planned, started: of the last tick: those whose next date is to be noted, and those that are new.
        excess_at: tick in which the sum is going to pass the pool's memory.
        peaks: sum of what the active containers reach at most before their next dates.
        tight: after the last tick that was looked at, whether the sum may pass the pool's memory before
            something is due again.
        deadlines: whether a time limit must be looked at in this tick.
    """

    def __init__(
        self,
        pool_id: int,
        cpus: float,
        ram_gb: float,
        clock: RunClock,
        planner: Planner,
        *,
        single: bool = False,
        overcommit: bool = False,
        costs: Costs | None = None,
        storage: SharedStorage | None = None,
    ) -> None:
        self.pool_id = pool_id
        self.max_cpu_pool = self.avail_cpu_pool = cpus
        self.max_ram_pool = self.avail_ram_pool = ram_gb
        self.clock = clock
        self.active: dict[int, Container] = {}
        self.suspending_containers: list[Container] = []
        self.suspended_containers: list[Container] = []
        self.num_completed = 0
        self.container_tick_times: list[int] = []
        self.cost = 0
        self.awake: list[Container] = []
        self.due: list[Container] = []
        self.moved: list[Container] = []
        self.planned: list[Container] = []
        self.started: list[Container] = []
        self.excess_at: int | None = None
        self.deadlines = False
        self._single = single
        self._overcommit = overcommit
        self.ledger = MemoryLedger()
        self.peaks: float = 0.0
        self.tight = False
        self.evacuating: Evacuation | None = None
        self._withheld: tuple[float, float] | None = None
        self._leak: float = 0.0
        self._suspended_now: list[Container] = []
        self.plan_of = planner.plan
        self.costs = costs
        self._storage = storage

    # ------------------------------------------------------------------ what a policy may ask

    @property
    def active_containers(self) -> list[Container]:
        """Running containers in the order of their starts."""
        return list(self.active.values())

    @property
    def consumed_ram_gb(self) -> float:
        """GB used after the last tick that was executed, as the original sums it up."""
        return self.ledger.value(self.clock.done)

    def get_consumed_ram_gb(self) -> float:
        """GB used after the last tick that was executed."""
        return self.consumed_ram_gb

    def get_allocated_ram_gb(self) -> float:
        """GB promised to containers."""
        return self.max_ram_pool - self.avail_ram_pool

    def get_container_by_id(self, container_id: str) -> Container | None:
        """The active container of that id."""
        number = container_id[1:] if isinstance(container_id, str) else ""
        found = self.active.get(int(number)) if number.isascii() and number.isdigit() else None
        return found if found is not None and found.container_id == container_id else None

    # ------------------------------------------------------------------ hosts that come and go

    @property
    def is_open(self) -> bool:
        """Whether containers may be started here."""
        return self._withheld is None

    @property
    def is_vacant(self) -> bool:
        """Whether no container holds anything here."""
        return not self.active and not self.suspending_containers

    def withdraw(self, how: Evacuation) -> None:
        """Show nothing free from now on, and vacate the pool from the next tick on."""
        self.evacuating = how
        if self._withheld is None:
            self._withheld = (self.avail_cpu_pool, self.avail_ram_pool)
            self.avail_cpu_pool = self.avail_ram_pool = 0

    def restore(self) -> None:
        """Show what is free again; an evacuation that goes on stops."""
        self.evacuating = None
        if self._withheld is not None:
            self.avail_cpu_pool, self.avail_ram_pool = self._withheld
            self._withheld = None

    def _withhold(self) -> None:
        """Keep back what became free in this tick."""
        if self._withheld is not None:
            cpu, ram = self._withheld
            self._withheld = (cpu + self.avail_cpu_pool, ram + self.avail_ram_pool)
            self.avail_cpu_pool = self.avail_ram_pool = 0

    def _leave_between_operators(self, tick: int, observer: Observer) -> None:
        """Suspend every container whose operator ended in the last tick."""
        for container in list(self.active.values()):
            if container.can_suspend_container():
                self._write(tick, container, observer)

    def _revoke(self, tick: int) -> list[Container]:
        living = [container for container in self.active.values() if not container.completed]
        for container in living:
            container.kill(tick, "revoked")
        return living

    # ------------------------------------------------------------------ one tick

    def run(
        self,
        tick: int,
        suspensions: Sequence[Any],
        assignments: Sequence[Any],
        next_number: Any,
        observer: Observer,
    ) -> list[Container]:
        """Execute *tick*; returns the containers that ended, in the order of their starts."""
        self.prepare(tick, suspensions, assignments, next_number, observer)
        return self.execute(tick, observer)

    def prepare(
        self,
        tick: int,
        suspensions: Sequence[Any],
        assignments: Sequence[Any],
        next_number: Any,
        observer: Observer,
    ) -> None:
        """Follow the orders of a tick; ``due`` are then the containers in which something happens."""
        awake, self.awake = self.awake, []
        if suspensions:
            self._suspend(tick, suspensions, observer)
        if self.evacuating == "suspend":
            self._leave_between_operators(tick, observer)
        due = [container for container in awake if container.due == tick and container.suspend_ticks is None]
        if len(due) > 1:
            due.sort(key=_number)
        self.started = self._start(tick, assignments, next_number, observer) if assignments else []
        due += self.started
        self.due = due

    def execute(self, tick: int, observer: Observer) -> list[Container]:
        """Execute a prepared tick; returns the containers that ended, in the order of their starts."""
        if self.suspending_containers:
            self._write_out(tick, observer)
        due = self.due
        for container in due:
            container.advance(tick)
        ended = self._end_tick(tick, due)
        self.planned = due
        if self._suspended_now:
            self.planned = [*due, *self._suspended_now]
            self._suspended_now = []
        if self.moved:
            self.planned = [*self.planned, *self.moved]
            self.moved = []
        if self._withheld is not None:
            self._withhold()
        return ended

    def _end_tick(self, tick: int, due: list[Container]) -> list[Container]:
        """Kill what must not live on, and free what the ended ones had."""
        for container in due:
            if container.oom_at == tick:
                container.kill(tick, "OOM")
        # ``peaks`` does not count the tick in which a container passes its own allocation: it was killed.
        self.tight = self.peaks + self._leak > self.max_ram_pool * (1 - NOISE)
        killed = self._relieve(tick, due) if self.tight else []
        if self.deadlines:
            killed += self._kill_timed_out(tick)
        if self.evacuating == "kill":
            killed += self._revoke(tick)
        ended = [container for container in due if container.completed]
        if killed:
            ended = sorted({*ended, *killed}, key=_number)
        if ended:
            self._remove(tick, ended)
        return ended

    def _suspend(self, tick: int, suspensions: Sequence[Any], observer: Observer) -> None:
        for order in suspensions:
            container = self.get_container_by_id(order.container_id)
            if container is None:
                raise IllegalStepError(
                    f"no active container {order.container_id} in pool {self.pool_id}",
                    str(order.container_id),
                    "AttributeError",
                )
            if not container.can_suspend_container():
                raise IllegalStepError("Container cannot be suspended right now", container.container_id)
        for order in suspensions:
            container = self.get_container_by_id(order.container_id)
            if container is None:
                raise IllegalStepError(
                    "Container is suspended twice", str(order.container_id), "AttributeError"
                )
            self._write(tick, container, observer)

    def _write(self, tick: int, container: Container, observer: Observer) -> None:
        """Begin to write a container out."""
        container.suspend(tick)
        self._leak += container.level
        self._suspended_now.append(container)
        self.suspending_containers.append(container)
        del self.active[container.number]
        observer.suspend(tick, container)
        self.clock.note_suspension()

    def _start(
        self, tick: int, assignments: Sequence[Any], next_number: Callable[[], int], observer: Observer
    ) -> list[Container]:
        cpus: float = 0
        ram: float = 0
        for order in assignments:
            cpus += order.cpu
            ram += order.ram
        if not cpus <= self.avail_cpu_pool:
            raise IllegalStepError("Overallocated CPU in assignment", f"pool {self.pool_id}")
        if not self._overcommit and not ram <= self.avail_ram_pool:
            raise IllegalStepError("Overallocated RAM in assignment", f"pool {self.pool_id}")
        started = []
        for order in assignments:
            if self._single and len(order.ops) != 1:
                rule = "Assignment must have exactly 1 operator when multi_operator_containers is False"
                raise IllegalStepError(rule, f"pool {self.pool_id}")
            container = self._make(next_number(), order, tick)
            self.avail_cpu_pool -= order.cpu
            self.avail_ram_pool -= order.ram
            self.active[container.number] = container
            started.append(container)
            observer.start(tick, container)
        return started

    def _make(self, number: int, order: Any, tick: int) -> Container:
        if self._storage is None:
            return Container(number, order, self, tick)
        return SharingContainer(number, order, self, tick, self._storage)

    def share(self, tick: int, container: SharingContainer) -> None:
        """Its dates changed before *tick* is executed; something may be due in it now."""
        if container in self.due:
            return
        if container.suspend_ticks is None and container.due == tick:
            self.due.append(container)
            self.due.sort(key=_number)
        else:
            self.moved.append(container)

    def _write_out(self, tick: int, observer: Observer) -> None:
        """End the suspensions whose count comes to 0 in this tick."""
        over = [container for container in self.suspending_containers if container.due == tick]
        for container in over:
            container.release(tick)
            self.avail_cpu_pool += container.cpu
            self.avail_ram_pool += container.ram
            if not self.clock.compat:
                self.ledger.add(0.0 - container.level, tick)
                self._leak -= container.level
                container.level = 0.0
        for container in over:
            self.suspending_containers.remove(container)
            self.suspended_containers.append(container)
            observer.suspended(tick, container)
            self.clock.note_suspension()

    def _relieve(self, tick: int, due: Sequence[Container]) -> list[Container]:
        """Kill by score until the sum is within the pool's memory, if it is not; returns the victims."""
        well = {c.number: c.course for c in due if c.completed and c.error is None and c.course is not None}
        consumed = self.ledger.value_within(tick, well)
        for container in due:
            if container.error == "OOM" and container.course is not None:
                consumed += 0.0 - container.course.memory(tick)
        if consumed <= self.max_ram_pool:
            return []
        scored = []
        for container in self.active.values():
            level = container.memory_at(tick)
            if not container.completed and level > 0:
                scored.append((level * (level / container.ram), level, container))
        scored.sort(key=itemgetter(0), reverse=True)
        victims = []
        for _, level, container in scored:
            if consumed <= self.max_ram_pool:
                break
            container.kill(tick, "OOM")
            consumed += 0.0 - level
            victims.append(container)
        return victims

    def _kill_timed_out(self, tick: int) -> list[Container]:
        self.deadlines = False
        late = [
            container
            for container in self.active.values()
            if not container.completed
            and any(op.pipeline.status.has_timed_out() for op in container.operators)
        ]
        for container in late:
            container.kill(tick, "timeout")
        return late

    def _remove(self, tick: int, ended: Sequence[Container]) -> None:
        for container in ended:
            self.avail_cpu_pool += container.cpu
            self.avail_ram_pool += container.ram
            if container.error is None:
                self.num_completed += 1
            self.container_tick_times.append(container.ticks_elapsed())
            del self.active[container.number]
        self._reconcile(tick)

    def _reconcile(self, tick: int) -> None:
        """Sum up anew, as the original does whenever a container leaves."""
        courses: list[Course] = [c.course for c in self.active.values() if c.course is not None]
        if self.clock.compat:
            self._leak = 0.0
            self.ledger.reset(tick, courses)
        else:
            self.ledger.reset(tick, courses, [container.level for container in self.suspending_containers])
        if not self.active:
            self.peaks = 0.0

    def look_ahead(self, tick: int) -> int | None:
        """First tick after *tick* in which the sum passes the pool's memory before anything else happens."""
        if not self.active or not self.tight:
            return None
        horizon = min(container.due for container in self.active.values()) - 1
        return self.ledger.first_excess(tick, horizon, self.max_ram_pool)
