"""Two pools, one for urgent work and one for the rest; Eudoxia's ``priority-pool``. Never suspends."""

from __future__ import annotations

from collections import deque
from typing import Any

from batpy.base.pipelines import ASSIGNABLE_STATES, IllegalStepError, Priority
from batpy.schedulers.pipelines.api import Assignment, register_scheduler, register_scheduler_init
from batpy.schedulers.pipelines.jobs import Job, SuspendedJobs, retry_of, unfinished

QUEUES = ((Priority.QUERY, Priority.INTERACTIVE), (Priority.BATCH_PIPELINE,))
"""Priorities that each pool serves, in order."""


@register_scheduler_init(key="priority-pool")
def prepare(s: Any) -> None:
    """Three lines of jobs."""
    if s.executor.num_pools != 2:
        raise IllegalStepError("Priority-by-pool scheduler requires 2 pools", "num_pools")
    s.queues = {priority: deque() for priority in Priority}
    s.suspended = SuspendedJobs(compat=s.compat)
    s.oom_failed_to_run = 0
    s.queued = set()
    # The original puts all operators in one job whatever the parameter says, and then the executor aborts.
    s.single = not s.compat and not s.params["multi_operator_containers"]


@register_scheduler(key="priority-pool", waits_for_events=True)
def decide(s: Any, results: list[Any], pipelines: list[Any]) -> tuple[list[Any], list[Any]]:
    """Queue what is new and what failed, then fill each pool."""
    if s.single:
        _queue_ready(s, results, pipelines)
    else:
        _queue_whole(s, results, pipelines)
    for job in s.suspended.returned(s.executor):
        s.queues[job.priority].append(job)
    if not any(s.queues.values()):
        return [], []
    return [], [order for index in (0, 1) for order in _fill(s, index)]


def _queue_whole(s: Any, results: list[Any], pipelines: list[Any]) -> None:
    for pipeline in pipelines:
        s.queues[pipeline.priority].append(Job(pipeline.priority, pipeline, list(pipeline.values)))
    for result in results:
        if result.failed():
            ops = unfinished(result.ops)
            if not ops:
                raise IllegalStepError("failed container has no incomplete operators", result.container_id)
            job = Job(result.priority, ops[0].pipeline, ops, retry_of(result))
            s.queues[result.priority].append(job)


def _queue_ready(s: Any, results: list[Any], pipelines: list[Any]) -> None:
    """One job for each operator whose parents are complete (repaired mode, solo containers)."""
    touched = dict.fromkeys(pipelines)
    retries = {}
    for result in results:
        for op in result.ops:
            touched[op.pipeline] = None
            if result.failed():
                retries[op] = retry_of(result)
    for pipeline in touched:
        for op in pipeline.runtime_status().get_ops(ASSIGNABLE_STATES, require_parents_complete=True):
            if op not in s.queued:
                s.queued.add(op)
                s.queues[pipeline.priority].append(Job(pipeline.priority, pipeline, [op], retries.get(op)))


def _fill(s: Any, index: int) -> list[Any]:
    pool = s.executor.pools[index]
    cpu, ram = pool.avail_cpu_pool, pool.avail_ram_pool
    assignments = []
    for priority in QUEUES[index]:
        queue = s.queues[priority]
        kept = []
        while queue:
            if queue[0].pipeline.runtime_status().has_timed_out():
                s.queued.difference_update(queue.popleft().ops)
                continue
            if cpu == 0 or ram == 0:
                break
            job = queue.popleft()
            size = _size(s, job, pool, cpu, ram)
            if size is None and not s.compat and job.retry.ram < pool.max_ram_pool:
                kept.append(job)
                continue
            s.queued.difference_update(job.ops)
            if size is None:
                s.oom_failed_to_run += 1
                continue
            name = job.pipeline.pipeline_id
            assignments.append(Assignment(job.ops, *size, job.priority, index, name))
            cpu -= size[0]
            ram -= size[1]
        queue.extendleft(reversed(kept))
    return assignments


def _size(s: Any, job: Job, pool: Any, cpu: float, ram: float) -> tuple[float, float] | None:
    """CPUs and memory for a job with *cpu* and *ram* free; None if it is not placed.

    In the original a retry takes what is left when twice its size is not free, so it may get less than what
    failed, again and again. In the repaired mode it waits, and is given up only after the whole memory of
    the pool was too little.
    """
    retry = job.retry
    if retry is not None and retry.error is not None:
        want_cpu, want_ram = 2 * retry.cpu, 2 * retry.ram
        if not s.compat:
            want_cpu, want_ram = min(want_cpu, pool.max_cpu_pool), min(want_ram, pool.max_ram_pool)
            enough = retry.ram < pool.max_ram_pool or retry.error != "OOM"
            return (want_cpu, want_ram) if enough and want_cpu <= cpu and want_ram <= ram else None
        if want_cpu / pool.max_cpu_pool >= 0.5 or want_ram / pool.max_ram_pool >= 0.5:
            return None
        return (cpu, ram) if want_cpu >= cpu or want_ram >= ram else (want_cpu, want_ram)
    if retry is not None and retry.cpu <= cpu and retry.ram <= ram:
        return (cpu, ram) if retry.cpu == cpu or retry.ram == ram else (retry.cpu, retry.ram)
    want_cpu, want_ram = max(1, int(pool.max_cpu_pool / 10)), max(1, int(pool.max_ram_pool / 10))
    return (cpu, ram) if want_cpu >= cpu or want_ram >= ram else (want_cpu, want_ram)
