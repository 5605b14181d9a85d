"""What an external policy sees, and what it may answer: the bodies of Eudoxia's REST interface.

The records of pipelines, operators, pools and containers are those of the protocol. Edges, times and sizes of
operators stay hidden.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import msgspec

from batpy.base.pipelines import ASSIGNABLE_STATES, OperatorState
from batpy.protocol.extensions import (
    ContainerView,
    Estimate,
    Number,
    OperatorView,
    PipelinePriority,
    PipelineView,
    PoolView,
)


class ResultView(msgspec.Struct, frozen=True):
    """The end of a container; ``error`` is None, ``OOM`` or ``timeout``."""

    ops: tuple[str, ...]
    cpu: Number
    ram: Number
    priority: PipelinePriority
    pool_id: int
    container_id: str | None
    error: str | None


class Snapshot(msgspec.Struct, frozen=True):
    """All that is shown in one call.

    Attributes:
        new_pipelines: arrived since the last call; ``other_pipelines`` are the earlier ones that are not
            over and, once, those that are.
    """

    tick: int
    sim_time_seconds: float
    results: tuple[ResultView, ...]
    new_pipelines: tuple[PipelineView, ...]
    other_pipelines: tuple[PipelineView, ...]
    pools: tuple[PoolView, ...]


class SuspendOrder(msgspec.Struct, frozen=True):
    """Write a container out."""

    container_id: str
    pool_id: int


class AssignOrder(msgspec.Struct, frozen=True):
    """Run operators in one new container."""

    operator_ids: tuple[str, ...]
    cpu: Number
    ram_gb: Number
    pool_id: int
    priority: PipelinePriority
    is_resume: bool
    force_run: bool


class Orders(msgspec.Struct, frozen=True):
    """The answer; both keys are required."""

    suspensions: tuple[SuspendOrder, ...]
    assignments: tuple[AssignOrder, ...]


class SnapshotPolicy(Protocol):
    """A policy that decides from snapshots alone."""

    def schedule(self, snapshot: Snapshot) -> Orders: ...


def pipeline_view(pipeline: Any) -> PipelineView:
    """A pipeline of a run as it is shown."""
    status = pipeline.runtime_status()
    return PipelineView(
        pipeline_id=pipeline.unique_id,
        priority=pipeline.priority.name,
        arrival_tick=status.arrival_tick,
        is_complete=status.is_pipeline_successful(),
        has_failures=status.state_counts[OperatorState.FAILED] > 0,
        timed_out=status.has_timed_out(),
        operators=tuple(operator_view(op) for op in pipeline.unique_order()),
    )


def operator_view(operator: Any) -> OperatorView:
    """An operator of a run as it is shown."""
    state = operator.state()
    return OperatorView(
        id=operator.id,
        state=state.value,
        is_assignable_state=state in ASSIGNABLE_STATES,
        parents_complete=operator.parents_complete(),
        estimate=Estimate(operator.estimate.mem_peak_gb),
    )


def pool_view(pool: Any) -> PoolView:
    """A pool of a run as it is shown."""
    return PoolView(
        pool_id=pool.pool_id,
        max_cpu=pool.max_cpu_pool,
        max_ram_gb=pool.max_ram_pool,
        avail_cpu=pool.avail_cpu_pool,
        avail_ram_gb=pool.avail_ram_pool,
        consumed_ram_gb=pool.consumed_ram_gb,
        active_containers=container_views(pool.active_containers),
        suspending_containers=container_views(pool.suspending_containers),
        suspended_containers=container_views(pool.suspended_containers),
    )


def container_views(containers: Iterable[Any]) -> tuple[ContainerView, ...]:
    """Containers of a run as they are shown."""
    return tuple(
        ContainerView(
            container_id=container.container_id,
            pipeline_id=container.get_pipeline_id(),
            operator_ids=tuple(op.id for op in container.operators),
            cpu=container.assignment.cpu,
            ram_gb=container.assignment.ram,
            current_memory_gb=container.get_current_memory_usage(),
            priority=container.priority.name,
        )
        for container in containers
    )


def result_view(result: Any) -> ResultView:
    """The end of a container as it is shown."""
    return ResultView(
        ops=tuple(op.id for op in result.ops),
        cpu=result.cpu,
        ram=result.ram,
        priority=result.priority.name,
        pool_id=result.pool_id,
        container_id=result.container_id,
        error=result.error,
    )
