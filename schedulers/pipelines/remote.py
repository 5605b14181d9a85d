"""A snapshot policy behind the protocol: messages in, messages out, pure.

The mirror keeps the last word on every pipeline and all pools; what the policy orders is noted in it at once.
"""

from __future__ import annotations

from typing import NoReturn

import msgspec

from batpy._version import __version__
from batpy.base.blame import FAILURES, blame
from batpy.base.errors import InputError, RemoteProtocolError, one_line
from batpy.base.plugins import Registry
from batpy.protocol.extensions import (
    ContainerCompleted,
    ContainerEnded,
    ContainerFailed,
    ContainerSuspended,
    CreateContainer,
    PipelineSubmitted,
    PipelineView,
    PoolView,
    SuspendContainer,
)
from batpy.protocol.messages import Event, Hello, Message, SimulationBegins, SimulationEnds
from batpy.schedulers.pipelines.snapshot import Orders, ResultView, Snapshot, SnapshotPolicy

WANTS = ("pipelines",)


def _is_policy(target: object) -> bool:
    return callable(getattr(target, "schedule", None))


POLICIES: Registry[SnapshotPolicy] = Registry(
    "pipeline policy", group="batpy.pipeline_policies", accepts=_is_policy
)
POLICIES.register("reference", "batpy.schedulers.pipelines.reference:ReferencePolicy")


class PipelineSchedulerCore:
    """Answers a pipeline run with what a snapshot policy decides.

    Args:
        policy: the decisions.
        name: what the scheduler calls itself, and what complaints name.
    """

    def __init__(self, policy: SnapshotPolicy, name: str) -> None:
        self.name = name
        self._policy = policy
        self._ticks_per_second: int | None = None
        self._pipelines: dict[str, PipelineView] = {}
        self._home: dict[str, str] = {}
        self._pools: tuple[PoolView, ...] = ()

    def handle(self, message: Message, /) -> Message:
        """Fold one message into the mirror, ask the policy, say its orders.

        Raises:
            RemoteProtocolError: the peer said something that cannot be.
            InputError: a user's policy failed or returned something impossible.
        """
        if self._ticks_per_second is None:
            return Message(message.now, self._greet(message))
        results: list[ResultView] = []
        new: list[str] = []
        tick = 0
        for event in message.events:
            if isinstance(event, SimulationEnds):
                return Message(message.now, [])
            if not isinstance(event, (PipelineSubmitted, ContainerEnded, ContainerSuspended)):
                continue
            tick = event.tick
            self._fold(event, results, new)
        if not message.events:
            return Message(message.now, [])
        orders = self._ask(tick, self._ticks_per_second, results, new)
        return Message(message.now, self._say(message.now, orders))

    def _greet(self, message: Message) -> list[Event]:
        begins = message.events[0] if len(message.events) == 1 else None
        if not isinstance(begins, SimulationBegins):
            raise RemoteProtocolError("the first message must hold SIMULATION_BEGINS and nothing else")
        if begins.batpy is None or "pipelines" not in begins.batpy.extensions:
            raise RemoteProtocolError("events[0] SIMULATION_BEGINS: batpy.extensions does not name pipelines")
        self._ticks_per_second = begins.batpy.ticks_per_second
        return [Hello(message.now, self.name, __version__, WANTS)]

    def _fold(
        self,
        event: PipelineSubmitted | ContainerEnded | ContainerSuspended,
        results: list[ResultView],
        new: list[str],
    ) -> None:
        if isinstance(event, PipelineSubmitted):
            view = PipelineView(
                event.pipeline_id,
                event.priority,
                event.arrival_tick,
                event.is_complete,
                event.has_failures,
                event.timed_out,
                event.operators,
            )
            self._pipelines[event.pipeline_id] = view
            self._home.update((operator.id, event.pipeline_id) for operator in event.operators)
            new.append(event.pipeline_id)
        for view in event.pipelines:
            if view.pipeline_id in self._pipelines:
                self._pipelines[view.pipeline_id] = view
        if isinstance(event, (ContainerCompleted, ContainerFailed)):
            results.append(
                ResultView(
                    event.ops,
                    event.cpu,
                    event.ram,
                    event.priority,
                    event.pool_id,
                    event.container_id,
                    event.error,
                )
            )
        if event.pools is not None:
            self._pools = event.pools

    def _ask(self, tick: int, ticks_per_second: int, results: list[ResultView], new: list[str]) -> Orders:
        fresh = set(new)
        snapshot = Snapshot(
            tick=tick,
            sim_time_seconds=tick / ticks_per_second,
            results=tuple(results),
            new_pipelines=tuple(self._pipelines[name] for name in new),
            other_pipelines=tuple(view for name, view in self._pipelines.items() if name not in fresh),
            pools=self._pools,
        )
        for name in [name for name, view in self._pipelines.items() if view.is_complete or view.timed_out]:
            del self._pipelines[name]
        try:
            orders = self._policy.schedule(snapshot)
        except FAILURES as why:
            self._blame(why)
        try:
            return msgspec.convert(orders, Orders, from_attributes=True)
        except msgspec.ValidationError as why:
            raise InputError(f"schedule() must return Orders: {one_line(why)}", source=self.name) from None

    def _blame(self, why: BaseException) -> NoReturn:
        raise blame(why, "schedule()", type(self._policy).__module__, self.name) from why

    def _say(self, now: int, orders: Orders) -> list[Event]:
        decisions: list[Event] = [
            SuspendContainer(now, order.container_id, order.pool_id) for order in orders.suspensions
        ]
        for order in orders.assignments:
            decisions.append(
                CreateContainer(
                    now,
                    order.operator_ids,
                    order.cpu,
                    order.ram_gb,
                    order.pool_id,
                    order.priority,
                    order.is_resume,
                    order.force_run,
                )
            )
            for name in order.operator_ids:
                self._note_assigned(name)
        return decisions

    def _note_assigned(self, name: str) -> None:
        view = self._pipelines.get(self._home.get(name, ""))
        if view is not None:
            operators = tuple(
                msgspec.structs.replace(operator, state="assigned", is_assignable_state=False)
                if operator.id == name
                else operator
                for operator in view.operators
            )
            self._pipelines[view.pipeline_id] = msgspec.structs.replace(view, operators=operators)
