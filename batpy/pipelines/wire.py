"""A run's side of the conversation with a scheduler behind the protocol.

What happened in tick t is told in tick t + 1. A container can be written out between two of its operators
only, and a peer cannot know that moment: SUSPEND_CONTAINER is kept until it comes. Decisions stamped later
than the message they answer are kept until their date, and the peer is asked again no earlier than its
reply's ``now``; what happens meanwhile is told then.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any, cast

from batpy._version import __version__
from batpy.base.errors import RemoteProtocolError
from batpy.base.pipelines import Priority
from batpy.models.containers.engine import PipelineRun
from batpy.models.containers.pipeline import Operator, Pipeline
from batpy.models.containers.pool import ExecutionResult
from batpy.protocol.extensions import (
    ContainerCompleted,
    ContainerEnded,
    ContainerFailed,
    ContainerSuspended,
    CreateContainer,
    PipelinePriority,
    PipelineSubmitted,
    PipelineView,
    SuspendContainer,
)
from batpy.protocol.messages import (
    CallMeLater,
    Event,
    Hello,
    Message,
    Offer,
    RequestedCall,
    SimulationBegins,
    SimulationEnds,
)
from batpy.schedulers.pipelines.api import Assignment, Suspend
from batpy.schedulers.pipelines.snapshot import pipeline_view, pool_view
from batpy.transport.link import Link


class WirePolicy:
    """Asks the other end of a link; a ``ContainerPolicy``.

    Args:
        params: parameters, shown to the peer as the configuration.

    Raises:
        RemoteProtocolError: the peer does not want pipelines.
    """

    every_tick = False

    def __init__(self, run: PipelineRun, link: Link, params: dict[str, Any]) -> None:
        self.wake_at: int | None = None
        self._run = run
        self._link = link
        self._operators: dict[str, Operator] = {}
        self._known: dict[str, tuple[Pipeline, tuple[int, bool]]] = {}
        self._results: list[ExecutionResult] = []
        self._arrived: list[Pipeline] = []
        self._suspended = [0] * len(run.executor.pools)
        self._to_suspend: dict[str, tuple[SuspendContainer, int]] = {}
        self._over: set[str] = set()
        self._calls: list[int] = []
        self._held: list[tuple[int, int, Event]] = []
        self._serial = 0
        self._free_at = 0
        self._begin(params)

    # ------------------------------------------------------------------ the conversation

    def _begin(self, params: dict[str, Any]) -> None:
        per_second = self._run.parameters.ticks_per_second
        pools = [
            {
                "id": pool.pool_id,
                "name": f"pool{pool.pool_id}",
                "state": "idle",
                "properties": {"cores": str(pool.max_cpu_pool), "memory_gb": str(pool.max_ram_pool)},
            }
            for pool in self._run.executor.pools
        ]
        begins = SimulationBegins(
            0,
            nb_resources=len(pools),
            nb_compute_resources=len(pools),
            nb_storage_resources=0,
            allow_compute_sharing=True,
            allow_storage_sharing=True,
            config=params,
            compute_resources=pools,
            storage_resources=[],
            workloads={},
            profiles={},
            batpy=Offer(__version__, per_second, ("pipelines",)),
        )
        reply = self._link.ask(Message(0, [begins]))
        hello = reply.events[0] if reply.events else None
        if not isinstance(hello, Hello) or "pipelines" not in hello.wants:
            raise RemoteProtocolError("the scheduler's HELLO does not want pipelines")
        self._take(reply.events[1:], reply.now)

    def end(self) -> None:
        """Tell that the run is over."""
        now = max(self._free_at, self._run.parameters.max_ticks)
        self._link.ask(Message(now, [SimulationEnds(now)]))

    def step(
        self, results: list[ExecutionResult], pipelines: list[Pipeline]
    ) -> tuple[Sequence[Suspend], Sequence[Assignment]]:
        """Tell what happened, if anything did, and give what is decided for this tick."""
        tick = self._run.clock.now_ticks
        self._results += results
        self._over.update(str(result.container_id) for result in results)
        self._arrived += pipelines
        for pipeline in pipelines:
            self._operators.update((op.id, op) for op in pipeline.values)
        if tick >= self._free_at and (events := self._news(tick)):
            reply = self._link.ask(Message(tick, events))
            self._take(reply.events, reply.now)
        decisions = self._due(tick)
        self._plan(tick)
        return decisions

    def _plan(self, tick: int) -> None:
        dates = [date for date in (self._held[0][0] if self._held else None,) if date is not None]
        dates += self._calls[:1]
        if self._results or self._arrived:
            dates.append(self._free_at)
        self.wake_at = max(tick + 1, min(dates)) if dates else None

    # ------------------------------------------------------------------ what is told

    def _news(self, tick: int) -> list[Event]:
        events: list[Event] = []
        while self._calls and self._calls[0] <= tick:
            heappop(self._calls)
            events.append(RequestedCall(tick))
        for result in self._results:
            kind = ContainerFailed if result.failed() else ContainerCompleted
            events.append(
                kind(
                    tick,
                    tick=tick,
                    ops=tuple(op.id for op in result.ops),
                    cpu=result.cpu,
                    ram=result.ram,
                    priority=cast(PipelinePriority, result.priority.name),
                    pool_id=result.pool_id,
                    container_id=str(result.container_id),
                    error=result.error,
                )
            )
        for pool in self._run.executor.pools:
            for container in pool.suspended_containers[self._suspended[pool.pool_id] :]:
                events.append(ContainerSuspended(tick, tick, container.container_id, pool.pool_id))
            self._suspended[pool.pool_id] = len(pool.suspended_containers)
        told = bool(events) and not isinstance(events[-1], RequestedCall)
        changed = self._changes() if told or self._arrived else ()
        for pipeline in self._arrived:
            view = pipeline_view(pipeline)
            self._remember(pipeline, view)
            fields = {name: getattr(view, name) for name in view.__struct_fields__}
            events.append(PipelineSubmitted(tick, tick=tick, **fields))
        self._results, self._arrived = [], []
        last = events[-1] if events else None
        if isinstance(last, (PipelineSubmitted, ContainerEnded, ContainerSuspended)):
            last.pipelines = changed
            last.pools = tuple(map(pool_view, self._run.executor.pools))
        return events

    def _changes(self) -> tuple[PipelineView, ...]:
        """The new state of every pipeline that changed since it was told."""
        views = []
        for pipeline, told in list(self._known.values()):
            status = pipeline.status
            if (status.version, status.has_timed_out()) != told:
                view = pipeline_view(pipeline)
                self._remember(pipeline, view)
                views.append(view)
        return tuple(views)

    def _remember(self, pipeline: Pipeline, view: PipelineView) -> None:
        name = pipeline.unique_id
        if view.is_complete or view.timed_out:
            self._known.pop(name, None)
        else:
            self._known[name] = (pipeline, (pipeline.status.version, view.timed_out))

    # ------------------------------------------------------------------ what is decided

    def _take(self, decisions: Sequence[Event], now: int) -> None:
        self._free_at = now
        for decision in decisions:
            if isinstance(decision, CallMeLater):
                heappush(self._calls, decision.at)
            elif isinstance(decision, (CreateContainer, SuspendContainer)):
                self._serial += 1
                heappush(self._held, (decision.timestamp, self._serial, decision))
            else:
                raise RemoteProtocolError(f"a pipeline run cannot do {type(decision).__name__}")

    def _due(self, tick: int) -> tuple[list[Suspend], list[Assignment]]:
        assignments = []
        while self._held and self._held[0][0] <= tick:
            decision = heappop(self._held)[2]
            if isinstance(decision, CreateContainer):
                assignments.append(self._assignment(decision))
            elif isinstance(decision, SuspendContainer):
                self._to_suspend[decision.container_id] = (decision, tick)
        return self._suspend_now(tick), assignments

    def _suspend_now(self, tick: int) -> list[Suspend]:
        """Suspensions whose containers stand between two operators; those that are over are forgotten."""
        ready = []
        pools = self._run.executor.pools
        for name, (order, since) in list(self._to_suspend.items()):
            if not 0 <= order.pool_id < len(pools):
                raise RemoteProtocolError(f"SUSPEND_CONTAINER: there is no pool {order.pool_id}")
            container = pools[order.pool_id].get_container_by_id(name)
            if container is None:
                if name in self._over:
                    del self._to_suspend[name]
                elif tick > since:  # one that is created in the same tick is there in the next
                    told = f"no container {name} runs in pool {order.pool_id}"
                    raise RemoteProtocolError(f"SUSPEND_CONTAINER: {told}")
            elif container.can_suspend_container():
                del self._to_suspend[name]
                self._over.add(name)
                ready.append(Suspend(name, order.pool_id))
        return ready

    def _assignment(self, order: CreateContainer) -> Assignment:
        unknown = [name for name in order.operator_ids if name not in self._operators]
        if unknown:
            raise RemoteProtocolError(f"CREATE_CONTAINER: no such operator {unknown[0]!r}")
        ops = [self._operators[name] for name in order.operator_ids]
        return Assignment(
            ops=ops,
            cpu=order.cpu,
            ram=order.ram_gb,
            priority=Priority[order.priority],
            pool_id=order.pool_id,
            pipeline_id=ops[0].pipeline.pipeline_id if ops else "",
            is_resume=order.is_resume,
            force_run=order.force_run,
        )
