"""Pipelines as data: a DAG of operators, without any state of a run."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from batpy.base.pipelines import Priority
from batpy.workloads.pipelines.segment import Segment


class OperatorSpec(NamedTuple):
    """One operator.

    Attributes:
        name: as the trace calls it; the generator says ``op1`` and so on.
        segments: what it does, in order.
        parents: positions of the operators it needs, each smaller than its own.
    """

    name: str
    segments: tuple[Segment, ...]
    parents: tuple[int, ...] = ()


class Shape(NamedTuple):
    """The operators of a pipeline, and the order in which everybody walks through them.

    Pipelines of equal form share one object.

    Attributes:
        operators: in the order of their definition.
        order: positions in DAG order (see ``dag_order``).
        children: for each operator the positions of those that need it, in the order they were added.
    """

    operators: tuple[OperatorSpec, ...]
    order: tuple[int, ...]
    children: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class PipelineSpec:
    """A pipeline as a trace or the generator describes it."""

    pipeline_id: str
    priority: Priority
    shape: Shape


class PipelineSource(Protocol):
    """Where pipelines come from: a trace, the generator, or a user's program behind an adapter."""

    def next_tick(self) -> int | None:
        """Tick of the next arrivals; None when nothing will come any more."""
        ...

    def take(self, tick: int) -> Sequence[PipelineSpec]:
        """The pipelines that arrive at *tick*, in order, each given once."""
        ...


def make_shape(operators: Sequence[OperatorSpec]) -> Shape:
    """Join operators to a DAG; a parent must stand before its child."""
    children: list[list[int]] = [[] for _ in operators]
    for position, operator in enumerate(operators):
        for parent in operator.parents:
            children[parent].append(position)
    order = dag_order([operator.parents for operator in operators], children)
    return Shape(tuple(operators), tuple(order), tuple(map(tuple, children)))


def dag_order(parents: Sequence[Sequence[int]], children: Sequence[Sequence[int]]) -> list[int]:
    """Eudoxia's order of a DAG: a queue of ready nodes that starts with the roots as they were defined.

    A child is appended when the node taken is the last of its parents. A parent named twice counts twice as
    a child: the child is then appended by the first visit that completes its parents and, while it waits in
    the queue, once more.
    """
    ready = deque(position for position, above in enumerate(parents) if not above)
    taken: set[int] = set()
    order = []
    while ready:
        node = ready.popleft()
        taken.add(node)
        order.append(node)
        ready.extend(
            child
            for child in children[node]
            if child not in taken and all(parent in taken for parent in parents[child])
        )
    return order
