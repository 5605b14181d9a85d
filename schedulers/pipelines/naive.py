"""First come, first served with whole pools and no retries; Eudoxia's ``naive``."""

from __future__ import annotations

from collections import deque
from typing import Any

from batpy.base.pipelines import ASSIGNABLE_STATES, OperatorState
from batpy.schedulers.pipelines.api import Assignment, register_scheduler, register_scheduler_init


@register_scheduler_init(key="naive")
def prepare(s: Any) -> None:
    """One line of pipelines."""
    s.waiting_queue = deque()
    s.revoked = set()
    s.returned_pools = s.executor.returned_pools
    s.multi_operator_containers = s.params["multi_operator_containers"]


@register_scheduler(key="naive", waits_for_events=True)
def decide(s: Any, results: list[Any], pipelines: list[Any]) -> tuple[list[Any], list[Any]]:
    """Give each pool that has something free, all of it, to the next pipeline that can use it.

    A pipeline that was looked at goes to the end of the line, also when it could not run, so the line
    rotates; a complete, failed or timed-out one leaves it for good.
    """
    if not results and not pipelines and s.returned_pools == s.executor.returned_pools:
        return [], []
    s.returned_pools = s.executor.returned_pools
    line = s.waiting_queue
    line.extend(pipelines)
    for result in results:
        if result.failed():
            (s.revoked.update if result.error == "revoked" else s.revoked.difference_update)(result.ops)
    assignments = []
    again: list[Any] = []
    for pool in s.executor.pools:
        cpu, ram = pool.avail_cpu_pool, pool.avail_ram_pool
        if cpu <= 0 or ram <= 0:
            continue
        while line:
            pipeline = line.popleft()
            status = pipeline.runtime_status()
            failed = status.state_counts[OperatorState.FAILED] > 0
            if failed and s.revoked:  # a container whose pool was taken away did not fail
                failed = not s.revoked.issuperset(status.get_ops(OperatorState.FAILED))
            if failed or status.is_pipeline_successful() or status.has_timed_out():
                continue
            again.append(pipeline)
            if s.multi_operator_containers:
                ops = status.get_ops(ASSIGNABLE_STATES)
            else:
                ops = status.get_ops(ASSIGNABLE_STATES, require_parents_complete=True)[:1]
            if ops:
                assignments.append(
                    Assignment(ops, cpu, ram, pipeline.priority, pool.pool_id, pipeline.pipeline_id)
                )
                break
    line.extend(again)
    return [], assignments
