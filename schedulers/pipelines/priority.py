"""Strict priorities over all pools, with suspension for queries; Eudoxia's ``priority``.

Starves low priorities by design. The original asks itself in every tick; nothing it does depends on the tick
alone, so this one waits for events. What differs in the repaired mode is said in ``_retry_anywhere``.
"""

from __future__ import annotations

from collections import deque
from heapq import heapify, heappop, heappush, heapreplace
from typing import Any

from batpy.base.pipelines import ASSIGNABLE_STATES, OperatorState, Priority
from batpy.schedulers.pipelines.api import Assignment, Suspend, register_scheduler, register_scheduler_init
from batpy.schedulers.pipelines.jobs import Job, Retry, SuspendedJobs, retry_of

ORDER = (Priority.QUERY, Priority.INTERACTIVE, Priority.BATCH_PIPELINE)


class FreePools:
    """The pools with something free, by most free memory, then lowest index; kept up as jobs are placed."""

    def __init__(self, pools: list[Any]) -> None:
        self._pools = pools
        self._heap: list[tuple[float, int]] = [
            (-pool.avail_ram_pool, pool.pool_id)
            for pool in pools
            if pool.avail_ram_pool > 0 and pool.avail_cpu_pool > 0
        ]
        heapify(self._heap)
        self.cpu: dict[int, float] = {}
        self.ram: dict[int, float] = {}

    def best(self) -> int | None:
        """Index of the pool to use next; None if all are full."""
        if not self._heap:
            return None
        return self._look(self._heap[0][1])

    def in_order(self) -> list[int]:
        """Indices of the pools with something free, the best first."""
        return [self._look(index) for _, index in sorted(self._heap)]

    def _look(self, index: int) -> int:
        if index not in self.cpu:
            pool = self._pools[index]
            self.cpu[index], self.ram[index] = pool.avail_cpu_pool, pool.avail_ram_pool
        return index

    def take(self, index: int, cpu: float, ram: float) -> None:
        """Use a part of a pool."""
        before = (-self.ram[index], index)
        self.cpu[index] -= cpu
        self.ram[index] -= ram
        left = self.cpu[index] > 0 and self.ram[index] > 0
        if before != self._heap[0]:
            self._heap.remove(before)
            heapify(self._heap)
            if left:
                heappush(self._heap, (-self.ram[index], index))
        elif left:
            heapreplace(self._heap, (-self.ram[index], index))
        else:
            heappop(self._heap)

    def default_size(self, index: int, job: Job) -> tuple[float, float]:  # noqa: ARG002 - others look at the job
        """A tenth of the pool, or everything that is free where a tenth is not."""
        return self.fit(index, *self.tenth(index))

    def tenth(self, index: int) -> tuple[float, float]:
        """A tenth of the pool, at least 1 of each."""
        pool = self._pools[index]
        return max(1, int(pool.max_cpu_pool / 10)), max(1, int(pool.max_ram_pool / 10))

    def fit(self, index: int, cpu: float, ram: float) -> tuple[float, float]:
        """That size, or everything that is free where one of the two is not."""
        if cpu >= self.cpu[index] or ram >= self.ram[index]:
            return self.cpu[index], self.ram[index]
        return cpu, ram


@register_scheduler_init(key="priority")
def prepare(s: Any) -> None:
    """Three lines of jobs."""
    s.multi_operator_containers = s.params["multi_operator_containers"]
    s.queues = {priority: deque() for priority in ORDER}
    s.suspended = SuspendedJobs(compat=s.compat)
    s.oom_failed_to_run = 0
    s.fresh_size = FreePools.default_size


@register_scheduler(key="priority", waits_for_events=True)
def decide(s: Any, results: list[Any], pipelines: list[Any]) -> tuple[list[Any], list[Any]]:
    """Queue what is new, place what fits, and choose victims if queries still wait."""
    if results or pipelines:
        _queue_touched(s, results, pipelines)
    for job in s.suspended.returned(s.executor):
        _append(s, job)
    assignments = _place(s) if any(s.queues.values()) else []
    waiting = len(s.queues[Priority.QUERY])
    return (_victims(s.executor.pools, waiting) if waiting else []), assignments


def _append(s: Any, job: Job) -> None:
    s.queues[job.priority].append(job)
    for op in job.ops:
        op.queued += 1


def _unqueue(job: Job) -> None:
    for op in job.ops:
        op.queued -= 1


def _queue_touched(s: Any, results: list[Any], pipelines: list[Any]) -> None:
    """Queue the assignable operators of new pipelines and of pipelines with results, once each."""
    touched = {pipeline.pipeline_id: pipeline for pipeline in pipelines}
    retries: dict[Any, Retry] = {}
    for result in results:
        retry = retry_of(result) if result.failed() else None
        pipeline = None
        for op in result.ops:
            if op.pipeline is not pipeline:
                pipeline = op.pipeline
                touched[pipeline.pipeline_id] = pipeline
            if retry is not None and op.state() is not OperatorState.COMPLETED:
                retries[op] = retry
    several = s.multi_operator_containers
    jobs = []
    for pipeline in touched.values():
        ops = pipeline.runtime_status().get_ops(ASSIGNABLE_STATES, require_parents_complete=not several)
        ops = [op for op in ops if not op.queued]
        groups = ([ops] if ops else []) if several else [[op] for op in ops]
        jobs += [Job(pipeline.priority, pipeline, group, retries.get(group[0])) for group in groups]
    for job in jobs:
        _append(s, job)


def _place(s: Any) -> list[Any]:
    """Place jobs in order of priority until no pool has anything free."""
    free = FreePools(s.executor.pools)
    assignments = []
    for priority in ORDER:
        queue = s.queues[priority]
        kept = []
        while queue:
            job = queue[0]
            if job.pipeline.runtime_status().has_timed_out():
                _unqueue(queue.popleft())
                continue
            index = free.best()
            if index is None:
                break
            queue.popleft()
            place = _choose(s, job, free, index)
            if place is None and not s.compat and _may_wait(s, job):
                kept.append(job)
                continue
            _unqueue(job)
            if place is not None:
                index, cpu, ram = place
                name = job.pipeline.pipeline_id
                assignments.append(Assignment(job.ops, cpu, ram, job.priority, index, name))
                free.take(index, cpu, ram)
        queue.extendleft(reversed(kept))
    return assignments


Place = tuple[int, float, float]
"""Index of a pool, CPUs, GB."""


def _choose(s: Any, job: Job, free: FreePools, best: int) -> Place | None:
    """Where the job goes and with what; None if it is not placed."""
    retry = job.retry
    if retry is not None and retry.error is not None:
        return _retry_in(s, retry, free, best) if s.compat else _retry_anywhere(s, retry, free)
    if retry is not None and retry.cpu < free.cpu[best] and retry.ram < free.ram[best]:
        return best, retry.cpu, retry.ram
    return (best, *s.fresh_size(free, best, job))


def _retry_in(s: Any, retry: Retry, free: FreePools, index: int) -> Place | None:
    """Twice what failed in that pool; what does not fit now, or would take half of it, is dropped."""
    pool = s.executor.pools[index]
    cpu, ram = 2 * retry.cpu, 2 * retry.ram
    if cpu > free.cpu[index] or ram > free.ram[index]:
        return None
    if cpu / pool.max_cpu_pool >= 0.5 or ram / pool.max_ram_pool >= 0.5:
        s.oom_failed_to_run += 1
        return None
    return index, cpu, ram


def _retry_anywhere(s: Any, retry: Retry, free: FreePools) -> Place | None:
    """Twice what failed, but no more than a pool has, in the first pool where it fits (repaired mode).

    What fits nowhere waits in its place.
    """
    for index in free.in_order():
        pool = s.executor.pools[index]
        cpu, ram = min(2 * retry.cpu, pool.max_cpu_pool), min(2 * retry.ram, pool.max_ram_pool)
        if cpu <= free.cpu[index] and ram <= free.ram[index]:
            return index, cpu, ram
    return None


def _may_wait(s: Any, job: Job) -> bool:
    """Whether a retry that was not placed has a chance later (repaired mode)."""
    retry = job.retry
    hopeless = (
        retry is not None
        and retry.error == "OOM"
        and all(retry.ram >= pool.max_ram_pool for pool in s.executor.pools)
    )
    if hopeless:
        s.oom_failed_to_run += 1
    return not hopeless


def _victims(pools: list[Any], wanted: int) -> list[Suspend]:
    """Up to *wanted* containers to suspend: pool after pool, each time the next that is no query's."""
    walks = [iter(pool.active_containers) for pool in pools]
    victims: list[Suspend] = []
    left = set(range(len(pools)))
    index = 0
    while len(victims) < wanted and left:
        container = next((c for c in walks[index] if c.priority is not Priority.QUERY), None)
        if container is None:
            left.discard(index)
        elif container.can_suspend_container():
            victims.append(Suspend(container.container_id, container.pool_id))
        index = (index + 1) % len(pools)
    return victims
