"""Shortest job first: of the operators that are ready, the one with the least work starts first.

In process it reads the operators' own segments, as any policy of Eudoxia may; see ``work_of``.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any

from batpy.base.pipelines import ASSIGNABLE_STATES
from batpy.schedulers.pipelines.api import Assignment, register_scheduler, register_scheduler_init

MAX_FAILURES = 3
"""Containers of an operator that may fail for lack of memory before it is given up."""


def work_of(operator: Any) -> float:
    """Seconds on one CPU, reading included."""
    return sum(
        float(segment.get_io_seconds() + segment.get_cpu_time(1)) for segment in operator.get_segments()
    )


@register_scheduler_init(key="sjf")
def prepare(s: Any) -> None:
    """One heap of ready operators by work, then in the order in which they became ready."""
    s.ready = []
    s.queued = set()
    s.order = 0
    s.failures = {}


@register_scheduler(key="sjf", waits_for_events=True)
def decide(s: Any, results: list[Any], pipelines: list[Any]) -> tuple[list[Any], list[Any]]:
    """Queue what became ready, then start the shortest ones while they fit."""
    touched = dict.fromkeys(pipelines)
    for result in results:
        for op in result.ops:
            touched[op.pipeline] = None
            if result.failed() and result.error != "revoked":
                s.failures[op] = s.failures.get(op, 0) + 1
    for pipeline in touched:
        for op in pipeline.runtime_status().get_ops(ASSIGNABLE_STATES, require_parents_complete=True):
            if op not in s.queued:
                s.queued.add(op)
                s.order += 1
                heappush(s.ready, (work_of(op), s.order, op))
    assignments = _start(s)
    # The head leaves when its time is over, and makes way for the next.
    s.wake_at = s.ready[0][2].pipeline.runtime_status().deadline if s.ready else None
    return [], assignments


def _start(s: Any) -> list[Any]:
    """A tenth of a pool for each operator, twice as much after each failure, on the first pool with room."""
    free = [(pool.avail_cpu_pool, pool.avail_ram_pool) for pool in s.executor.pools]
    assignments = []
    while s.ready:
        op = s.ready[0][2]
        failures = s.failures.get(op, 0)
        if failures > MAX_FAILURES or op.pipeline.runtime_status().has_timed_out():
            s.queued.discard(heappop(s.ready)[2])
            continue
        for index, (cpu, ram) in enumerate(free):
            pool = s.executor.pools[index]
            want_cpu = max(1, int(pool.max_cpu_pool / 10))
            want_ram = min(pool.max_ram_pool, max(1, int(pool.max_ram_pool / 10)) * 2**failures)
            if want_cpu <= cpu and want_ram <= ram:
                break
        else:
            break
        s.queued.discard(heappop(s.ready)[2])
        free[index] = (cpu - want_cpu, ram - want_ram)
        pipeline = op.pipeline
        assignments.append(
            Assignment([op], want_cpu, want_ram, pipeline.priority, index, pipeline.pipeline_id)
        )
    return assignments
