"""Pipelines of a run: operators with their states, and what a policy may ask about them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from zlib import crc32

from batpy.base.pipelines import IllegalStepError, OperatorState, Priority
from batpy.workloads.pipelines.pipeline import PipelineSpec, dag_order
from batpy.workloads.pipelines.segment import Segment

PENDING = OperatorState.PENDING
ASSIGNED = OperatorState.ASSIGNED
RUNNING = OperatorState.RUNNING
SUSPENDING = OperatorState.SUSPENDING
COMPLETED = OperatorState.COMPLETED
FAILED = OperatorState.FAILED

# state -> states that may follow (Eudoxia c62122c)
MOVES: dict[OperatorState, tuple[OperatorState, ...]] = {
    PENDING: (ASSIGNED,),
    ASSIGNED: (RUNNING, SUSPENDING, FAILED),
    RUNNING: (COMPLETED, FAILED),
    SUSPENDING: (PENDING,),
    COMPLETED: (),
    FAILED: (ASSIGNED,),
}


class Estimate:
    """What an estimator says about an operator; ``mem_peak_gb`` is None if it says nothing."""

    __slots__ = ("mem_peak_gb",)

    def __init__(self, mem_peak_gb: float | None = None) -> None:
        self.mem_peak_gb = mem_peak_gb


NO_ESTIMATE = Estimate()


class Operator:
    """One operator of a pipeline.

    Attributes:
        name: ``op1`` and so on, or what the trace calls it.
        id: unique in a run and the same in every run.
        pipeline: the one it belongs to.
        parents, children: its neighbours in the DAG.
        segments: its work; the ground truth, which a wire never shows.
        estimate: what the run's estimator said at arrival.
        place: index of the pool in which it was completed.
        queued: free for a policy's own count of the queues it stands in.
    """

    __slots__ = (
        "_hash",
        "children",
        "estimate",
        "index",
        "name",
        "parents",
        "pipeline",
        "place",
        "queued",
        "segments",
        "value",
    )

    def __init__(self, name: str = "", segments: Sequence[Segment] = ()) -> None:
        self.name = name
        self.index = 0
        # Set by add_operator, before anybody looks.
        self.pipeline: Pipeline = None  # type: ignore[assignment]
        self.parents: list[Operator] = []
        self.children: list[Operator] = []
        self.segments = segments
        self.value = PENDING
        self.estimate = NO_ESTIMATE
        self.queued = 0
        self.place: int | None = None
        self._hash: int | None = None

    def __hash__(self) -> int:
        """Equal in every run, so that a policy's sets of operators are walked in the same order, too."""
        if self._hash is None:
            known = self.pipeline is not None
            self._hash = hash((hash(self.pipeline), self.index)) if known else object.__hash__(self)
        return self._hash

    @property
    def id(self) -> str:
        """Unique in a run and the same in every run."""
        return f"{self.pipeline.unique_id}/{self.label}"

    @property
    def label(self) -> str:
        """``op`` and its number by definition, which events and tables show."""
        return f"op{self.index + 1}"

    @property
    def values(self) -> Sequence[Segment]:
        """The segments, under the original's other name for them."""
        return self.segments

    def add_segment(self, segment: Segment) -> None:
        """Append to its work; before the run only."""
        self.segments = [*self.segments, segment]

    def get_segments(self) -> Sequence[Segment]:
        """Its work, in order."""
        return self.segments

    def state(self) -> OperatorState:
        """Where it stands."""
        return self.value

    def parents_complete(self) -> bool:
        """Whether all that it needs is done."""
        return all(parent.value is COMPLETED for parent in self.parents)

    def transition(self, new_state: OperatorState) -> None:
        """Move to *new_state*.

        Raises:
            IllegalStepError: the move is not in the table, or it would run before its parents are complete.
        """
        old = self.value
        if new_state not in MOVES[old]:
            raise IllegalStepError(f"Cannot transition from {old.value} to {new_state.value}", self.id)
        if new_state is RUNNING:
            for parent in self.parents:
                if parent.value is not COMPLETED:
                    raise IllegalStepError("Dependencies not satisfied", self.id)
        self.value = new_state
        status = self.pipeline._status or self.pipeline.status  # hot
        status.version += 1
        counts = status.state_counts
        counts[old] -= 1
        counts[new_state] += 1


class OperatorDag:
    """The operators of a pipeline; iterating walks in DAG order, as everybody does."""

    __slots__ = ("_order", "nodes")

    def __init__(self) -> None:
        self.nodes: list[Operator] = []
        self._order: list[Operator] | None = None

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[Operator]:
        return iter(self.in_order())

    @property
    def roots(self) -> list[Operator]:
        """Operators without parents, as they were defined."""
        return [node for node in self.nodes if not node.parents]

    @property
    def node_lookup(self) -> dict[str, Operator]:
        """Id to operator, in order of definition."""
        return {node.id: node for node in self.nodes}

    def in_order(self) -> list[Operator]:
        """All operators in DAG order."""
        if self._order is None:
            nodes = self.nodes
            parents = [[parent.index for parent in node.parents] for node in nodes]
            children = [[child.index for child in node.children] for node in nodes]
            self._order = [nodes[position] for position in dag_order(parents, children)]
        return self._order

    def add(self, node: Operator) -> None:
        """Append a node whose parents are in."""
        node.index = len(self.nodes)
        self.nodes.append(node)
        self._order = None

    def fill(self, nodes: list[Operator], order: Sequence[int]) -> None:
        """Take nodes over whose order is known."""
        self.nodes = nodes
        self._order = [nodes[position] for position in order]


class RuntimeStatus:
    """What changes about a pipeline, and the questions a policy asks.

    Attributes:
        state_counts: operators in each state.
        arrival_tick, start_tick, finish_tick: None before they are known; the second is the first tick of its
            first container.
        version: grows with every change of a state.
        deadline: first tick at which it is timed out; None without a limit.
    """

    __slots__ = (
        "_clock",
        "arrival_tick",
        "deadline",
        "finish_tick",
        "pipeline",
        "start_tick",
        "state_counts",
        "version",
    )

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        self.state_counts = dict.fromkeys(OperatorState, 0)
        self.state_counts[PENDING] = len(pipeline.values)
        self.arrival_tick: int | None = None
        self.start_tick: int | None = None
        self.version = 0
        self.finish_tick: int | None = None
        self.deadline: int | None = None
        self._clock: Any = None

    def arrive(self, tick: int, deadline: int | None, clock: Any) -> None:
        """Note the arrival.

        Raises:
            IllegalStepError: it arrived before.
        """
        if self.arrival_tick is not None:
            raise IllegalStepError("arrival_tick already recorded", self.pipeline.pipeline_id)
        self.arrival_tick, self.deadline, self._clock = tick, deadline, clock

    @property
    def operator_states(self) -> dict[Operator, OperatorState]:
        """Operator to state, in DAG order."""
        return {op: op.value for op in self.pipeline.values}

    def get_ops(
        self, states: OperatorState | Iterable[OperatorState], require_parents_complete: bool = False
    ) -> list[Operator]:
        """Operators in one of *states*, in DAG order; only those whose parents are complete if asked."""
        wanted = (states,) if isinstance(states, OperatorState) else tuple(states)
        order = self.pipeline.unique_order()
        if not require_parents_complete:
            return [op for op in order if op.value in wanted]
        return [op for op in order if op.value in wanted and op.parents_complete()]

    def is_pipeline_successful(self) -> bool:
        """Whether every operator is complete."""
        return self.state_counts[COMPLETED] == len(self.pipeline.values.nodes)

    def has_timed_out(self) -> bool:
        """Whether it passed its time limit without being complete."""
        return (
            self.deadline is not None
            and self._clock.now_ticks >= self.deadline
            and not self.is_pipeline_successful()
        )

    def get_latency_ticks(self) -> int:
        """Ticks from arrival to finish; both must be known."""
        assert self.arrival_tick is not None
        assert self.finish_tick is not None
        return self.finish_tick - self.arrival_tick


class Pipeline:
    """One pipeline of a run.

    Attributes:
        pipeline_id: as the trace or the generator says.
        unique_id: the same, with a number if another pipeline of the run had it before.
        values: its operators, a DAG.
        status: what ``runtime_status()`` gives.
    """

    __slots__ = ("_hash", "_status", "pipeline_id", "priority", "unique_id", "values")

    def __init__(self, pipeline_id: str, priority: Priority) -> None:
        self.pipeline_id = pipeline_id
        self.unique_id = pipeline_id
        self.priority = priority
        self.values = OperatorDag()
        self._status: RuntimeStatus | None = None
        self._hash = crc32(pipeline_id.encode(errors="replace"))

    def __hash__(self) -> int:
        """Equal in every run, so that a policy's sets of pipelines are walked in the same order, too."""
        return self._hash

    @property
    def status(self) -> RuntimeStatus:
        """The mutable part; made when it is first asked for, after all operators are in."""
        if self._status is None:
            self._status = RuntimeStatus(self)
        return self._status

    def runtime_status(self) -> RuntimeStatus:
        """The mutable part, as policies ask for it."""
        return self.status

    def add_operator(self, operator: Operator, parents: Iterable[Operator] | None = None) -> None:
        """Add an operator that needs *parents*, which must be in already."""
        assert operator.pipeline is None, "the operator belongs to a pipeline already"
        operator.pipeline = self
        operator.name = operator.name or f"op{len(self.values) + 1}"
        for parent in parents or ():
            assert parent.pipeline is self, "Parent not in DAG"
            parent.children.append(operator)
            operator.parents.append(parent)
        self.values.add(operator)

    def new_operator(self, parents: Iterable[Operator] | None = None) -> Operator:
        """Make an operator and add it."""
        operator = Operator()
        self.add_operator(operator, parents)
        return operator

    def unique_order(self) -> Iterable[Operator]:
        """The operators in DAG order, each once."""
        order = self.values.in_order()
        return order if len(order) == len(self.values.nodes) else dict.fromkeys(order)


def from_spec(spec: PipelineSpec) -> Pipeline:
    """A pipeline of a run from its description."""
    pipeline = Pipeline(spec.pipeline_id, spec.priority)
    nodes: list[Operator] = []
    for described in spec.shape.operators:
        operator = Operator(described.name, described.segments)
        operator.index, operator.pipeline = len(nodes), pipeline
        if described.parents:
            operator.parents = [nodes[parent] for parent in described.parents]
        nodes.append(operator)
    for operator, children in zip(nodes, spec.shape.children, strict=True):
        if children:
            operator.children = [nodes[child] for child in children]
    pipeline.values.fill(nodes, spec.shape.order)
    return pipeline
