"""Promises the memory of a pool to every container, and counts CPUs only; Eudoxia's ``overbook``."""

from __future__ import annotations

from typing import Any

from batpy.base.pipelines import ASSIGNABLE_STATES
from batpy.schedulers.pipelines.api import Assignment, register_scheduler, register_scheduler_init

MAX_FAILURES = 3
"""A pipeline is given up after so many failed containers."""


@register_scheduler_init(key="overbook")
def prepare(s: Any) -> None:
    """One line of operators, and the failures of each pipeline."""
    s.op_queue = []
    s.pipeline_failures = {}
    s.returned_pools = s.executor.returned_pools


@register_scheduler(key="overbook", waits_for_events=True)
def decide(s: Any, results: list[Any], pipelines: list[Any]) -> tuple[list[Any], list[Any]]:
    """Start ready operators, one CPU and the whole memory each, on the first pool with a free CPU."""
    if not results and not pipelines and s.returned_pools == s.executor.returned_pools:
        return [], []
    s.returned_pools = s.executor.returned_pools
    _update(s, results, pipelines)
    return [], _start(s)


def _update(s: Any, results: list[Any], pipelines: list[Any]) -> None:
    touched = {pipeline.pipeline_id: pipeline for pipeline in pipelines}
    for result in results:
        (operator,) = result.ops
        pipeline = operator.pipeline
        touched[pipeline.pipeline_id] = pipeline
        if result.failed() and result.error != "revoked":
            s.pipeline_failures[pipeline.pipeline_id] = s.pipeline_failures.get(pipeline.pipeline_id, 0) + 1
    queued = set(s.op_queue)
    for pipeline in touched.values():
        for op in pipeline.runtime_status().get_ops(ASSIGNABLE_STATES, require_parents_complete=True):
            if op not in queued:
                queued.add(op)
                s.op_queue.append(op)


def _start(s: Any) -> list[Any]:
    free = {pool.pool_id: pool.avail_cpu_pool for pool in s.executor.pools}
    assignments: list[Any] = []
    for position, op in enumerate(s.op_queue):
        pipeline = op.pipeline
        if s.pipeline_failures.get(pipeline.pipeline_id, 0) >= MAX_FAILURES:
            continue
        if pipeline.runtime_status().has_timed_out():
            continue
        index = next((index for index, cpus in free.items() if cpus >= 1), None)
        if index is None:
            s.op_queue = s.op_queue[position:]
            return assignments
        free[index] -= 1
        ram = s.executor.pools[index].max_ram_pool
        assignments.append(Assignment([op], 1, ram, pipeline.priority, index, pipeline.pipeline_id))
    s.op_queue = []
    return assignments
