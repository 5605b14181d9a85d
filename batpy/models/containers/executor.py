"""The executor: all pools, and which of them must be looked at in a tick."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from numbers import Real
from typing import Any

from batpy.base.pipelines import IllegalStepError
from batpy.kernel.agenda import Agenda
from batpy.models.containers.clock import RunClock
from batpy.models.containers.container import Container
from batpy.models.containers.contention import SharingContainer
from batpy.models.containers.costs import costs_of, storage_of
from batpy.models.containers.exact import compensated_sum
from batpy.models.containers.memory import NEVER
from batpy.models.containers.plans import Planner
from batpy.models.containers.pool import Evacuation, Observer, ResourcePool
from batpy.models.containers.storage import SharedStorage
from batpy.workloads.pipelines.parameters import Parameters


class Executor:
    """The pools of a run. A policy sees this object.

    Args:
        sizes: CPUs and GB of each pool; by default all are alike, as the parameters say.

    Attributes:
        num_pools, cpus_per_pool, ram_gb_per_pool: as in the parameters, unless sizes of pools are given.
        pools: the pools by index.
        returned_pools: how often a pool that was taken away came back.
    """

    def __init__(
        self,
        parameters: Parameters,
        clock: RunClock,
        agenda: Agenda,
        sizes: Sequence[tuple[float, float]] | None = None,
    ) -> None:
        if sizes is None:
            sizes = [(parameters.cpus_per_pool, parameters.ram_gb_per_pool)] * parameters.num_pools
        self.num_pools = len(sizes)
        self.cpus_per_pool = parameters.cpus_per_pool
        self.ram_gb_per_pool = parameters.ram_gb_per_pool
        self.ticks_per_second = parameters.ticks_per_second
        self.tick_length_secs = parameters.tick_length
        self.clock = clock
        self.returned_pools = 0
        planner = Planner(parameters.tick_length, compat=clock.compat)
        costs, self._storage = costs_of(parameters), storage_of(parameters)
        self.pools = [
            ResourcePool(
                index,
                cpus,
                ram_gb,
                clock,
                planner,
                single=not parameters.multi_operator_containers,
                overcommit=parameters.allow_memory_overcommit,
                costs=costs,
                storage=self._storage,
            )
            for index, (cpus, ram_gb) in enumerate(sizes)
        ]
        self._agenda = agenda
        self._next_number = count(1).__next__
        self._limited = parameters.limit_ticks > 0
        self._busy: set[int] = set()
        self._is_stirred = False

    # ------------------------------------------------------------------ what a policy may ask

    def get_pool_id_with_max_avail_ram(self) -> int:
        """Index of the pool with the most memory that is not allocated; the lowest of equals."""
        return max(range(self.num_pools), key=lambda index: (self.pools[index].avail_ram_pool, -index))

    def num_completed(self) -> int:
        """Containers that ended well."""
        return sum(pool.num_completed for pool in self.pools)

    def container_tick_times(self) -> list[int]:
        """Ticks of all containers that ended, by pool."""
        return [ticks for pool in self.pools for ticks in pool.container_tick_times]

    def get_allocated_ram_gb(self) -> float:
        """GB promised to containers, in all pools."""
        return compensated_sum(pool.get_allocated_ram_gb() for pool in self.pools)

    def get_consumed_ram_gb(self) -> float:
        """GB used, in all pools."""
        done = self.clock.done
        return compensated_sum([pool.ledger.value(done) for pool in self.pools])

    @property
    def suspension_changes(self) -> int:
        """Suspensions that began or ended so far: a policy may save the walk through all pools."""
        return self.clock.suspension_changes

    def still_from(self) -> int:
        """First tick from which on no pool's memory moves, as long as nothing happens."""
        return max(
            (c.course.rest for pool in self.pools for c in pool.active.values() if c.course is not None),
            default=0,
        )

    # ------------------------------------------------------------------ one tick

    @property
    def is_busy(self) -> bool:
        """Whether something is due in this tick."""
        return bool(self._busy) or self._is_stirred

    def run(
        self, tick: int, suspensions: Sequence[Any], assignments: Sequence[Any], observer: Observer
    ) -> list[Container]:
        """Execute *tick*; returns the containers that ended, by pool, then in the order of their starts."""
        orders = self._by_pool(suspensions, assignments)
        busy = sorted(self._busy.union(orders) if orders else self._busy)
        self._busy.clear()
        self._is_stirred = False
        if self._storage is not None:
            return self._run_shared(tick, busy, orders, self._storage, observer)
        ended: list[Container] = []
        nothing: tuple[list[Any], list[Any]] = ([], [])
        for index in busy:
            pool = self.pools[index]
            to_suspend, to_start = orders.get(index, nothing)
            if self._limited and to_start:
                pool.deadlines = True
            ended += pool.run(tick, to_suspend, to_start, self._next_number, observer)
            self._plan(pool, tick)
        return ended

    def _run_shared(
        self,
        tick: int,
        busy: Sequence[int],
        orders: Mapping[int, tuple[list[Any], list[Any]]],
        storage: SharedStorage,
        observer: Observer,
    ) -> list[Container]:
        """``run`` where all pools share a storage: who is at it must be known before anybody reads."""
        for index in busy:
            self._prepare(self.pools[index], tick, orders.get(index, ([], [])), observer)
        for index in busy:
            for container in self.pools[index].due:
                if isinstance(container, SharingContainer):
                    container.turn(tick)
        touched = set(busy)
        for container in storage.settle(tick):
            pool = container.pool
            if pool.pool_id not in touched:
                touched.add(pool.pool_id)
                self._prepare(pool, tick, ([], []), observer)
            pool.share(tick, container)
        ended: list[Container] = []
        for index in sorted(touched):
            ended += self.pools[index].execute(tick, observer)
            self._plan(self.pools[index], tick)
        if storage.has_news:
            self._agenda.at(tick + 1, self._wake_storage)
        return ended

    def _prepare(
        self, pool: ResourcePool, tick: int, orders: tuple[list[Any], list[Any]], observer: Observer
    ) -> None:
        if self._limited and orders[1]:
            pool.deadlines = True
        pool.awake = list(dict.fromkeys(pool.awake))  # a date may go to and fro
        pool.prepare(tick, *orders, self._next_number, observer)

    def _by_pool(
        self, suspensions: Sequence[Any], assignments: Sequence[Any]
    ) -> dict[int, tuple[list[Any], list[Any]]]:
        orders: dict[int, tuple[list[Any], list[Any]]] = {}
        for column, given in enumerate((suspensions, assignments)):
            for order in given:
                index = order.pool_id
                if not self._is_pool(index):
                    if self.clock.compat:
                        continue  # the original ignores it silently
                    raise IllegalStepError(f"there is no pool {index!r}", "pool_id")
                orders.setdefault(int(index), ([], []))[column].append(order)
        return orders

    def _is_pool(self, index: Any) -> bool:
        """Whether it equals the index of a pool: 0, 0.0, numpy's."""
        is_number = isinstance(index, (int, float, Real))
        return is_number and 0 <= index < self.num_pools and index == int(index)

    def withdraw(self, index: int, how: Evacuation) -> None:
        """Take a pool away with the next tick; see ``ResourcePool.withdraw``."""
        self.pools[index].withdraw(how)
        self._busy.add(index)

    def restore(self, index: int) -> None:
        """Give a pool back, with what is free in it."""
        self.pools[index].restore()
        self.returned_pools += 1

    # ------------------------------------------------------------------ what comes next

    def _plan(self, pool: ResourcePool, tick: int) -> None:
        """Have the pool looked at again when something is due in it."""
        agenda = self._agenda
        for container in pool.planned:
            if tick < container.due < NEVER:
                agenda.at(container.due, self._wake, container)
        if self._limited:
            for container in pool.started:
                self._plan_deadlines(container, tick)
        pool.excess_at = None
        if pool.tight and (excess := pool.look_ahead(tick)) is not None:
            pool.excess_at = excess
            agenda.at(excess, self._wake_pool, (pool, excess))

    def _plan_deadlines(self, container: Container, tick: int) -> None:
        for deadline in {op.pipeline.status.deadline for op in container.operators}:
            if deadline is not None and deadline > tick:
                self._agenda.at(deadline, self._wake_deadline, container)

    def _wake(self, container: Container) -> None:
        if container.due == self._agenda.now:
            container.pool.awake.append(container)
            self._busy.add(container.pool.pool_id)

    def _wake_storage(self, _: None) -> None:
        self._is_stirred = True

    def _wake_pool(self, subject: tuple[ResourcePool, int]) -> None:
        pool, tick = subject
        if pool.excess_at == tick:
            self._busy.add(pool.pool_id)

    def _wake_deadline(self, container: Container) -> None:
        if not container.completed and container.suspend_ticks is None:
            container.pool.deadlines = True
            self._busy.add(container.pool.pool_id)
