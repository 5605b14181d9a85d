"""The reference policy in this process; how a run is shown in snapshots, and their orders carried out.

Used in process; over HTTP the same snapshots travel as JSON (``rest.py``).
"""

from __future__ import annotations

from typing import Any

from batpy.base.errors import InputError
from batpy.base.pipelines import Priority
from batpy.schedulers.pipelines.api import Assignment, Suspend, register_scheduler, register_scheduler_init
from batpy.schedulers.pipelines.reference import ReferencePolicy
from batpy.schedulers.pipelines.snapshot import Orders, Snapshot, pipeline_view, pool_view, result_view


class SnapshotSession:
    """Remembers which pipelines were shown.

    A pipeline is new once and then among the others; after the call that showed it complete or timed out it
    is shown no more.
    """

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}
        self._operators: dict[str, Any] = {}

    def show(self, s: Any, results: list[Any], pipelines: list[Any]) -> Snapshot:
        """What the policy is to see in this tick."""
        for pipeline in pipelines:
            self._operators.update((op.id, op) for op in pipeline.values)
        snapshot = Snapshot(
            tick=s.clock.now_ticks,
            sim_time_seconds=s.clock.now_seconds,
            results=tuple(map(result_view, results)),
            new_pipelines=tuple(map(pipeline_view, pipelines)),
            other_pipelines=tuple(map(pipeline_view, self._known.values())),
            pools=tuple(map(pool_view, s.executor.pools)),
        )
        self._known.update((pipeline.unique_id, pipeline) for pipeline in pipelines)
        for view in (*snapshot.new_pipelines, *snapshot.other_pipelines):
            if view.is_complete or view.timed_out:
                del self._known[view.pipeline_id]
        return snapshot

    def decide(self, orders: Orders) -> tuple[list[Suspend], list[Assignment]]:
        """Orders with ids as decisions about the run's own operators.

        Raises:
            InputError: an operator that nobody knows, with the path to it.
        """
        suspensions = [Suspend(order.container_id, order.pool_id) for order in orders.suspensions]
        assignments = []
        for index, order in enumerate(orders.assignments):
            ops = []
            for name in order.operator_ids:
                if name not in self._operators:
                    path = f"assignments[{index}].operator_ids"
                    raise InputError(f"no such operator {name!r}", path=path)
                ops.append(self._operators[name])
            assignments.append(
                Assignment(
                    ops=ops,
                    cpu=order.cpu,
                    ram=order.ram_gb,
                    priority=Priority[order.priority],
                    pool_id=order.pool_id,
                    pipeline_id=ops[0].pipeline.pipeline_id if ops else "",
                    is_resume=order.is_resume,
                    force_run=order.force_run,
                )
            )
        return suspensions, assignments


@register_scheduler_init(key="reference")
def prepare(s: Any) -> None:
    """The reference policy in this process."""
    s.session = SnapshotSession()
    s.policy = ReferencePolicy()


@register_scheduler(key="reference", waits_for_events=True)
def decide(s: Any, results: list[Any], pipelines: list[Any]) -> tuple[list[Any], list[Any]]:
    """Give each free pool whole to the first operator that is ready; the example for external schedulers."""
    if not results and not pipelines:
        return [], []
    return s.session.decide(s.policy.schedule(s.session.show(s, results, pipelines)))  # type: ignore[no-any-return]
