"""The random workload of Eudoxia, number for number (numpy PCG64).

Draw order and formulas: commit c62122c, ``WorkloadGenerator``. For every pipeline of a batch one uniform for
its priority, one for its shape (queries too), and one normal for its number of operators unless it is a
query; after the batch one normal for the wait. The next batch comes one tick after the wait is over.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING

from batpy.base.errors import InputError
from batpy.base.pipelines import Priority
from batpy.workloads.pipelines.parameters import Parameters
from batpy.workloads.pipelines.pipeline import OperatorSpec, PipelineSpec, Shape, make_shape
from batpy.workloads.pipelines.segment import Segment

if TYPE_CHECKING:
    from numpy.random import Generator

QUERY_SEGMENT = Segment(15, "linear3", None, 35)
# From the most I/O-heavy to the most CPU-heavy, and where one ends and the next begins on the scale of
# Normal(cpu_io_ratio, 1).
PROTOTYPES = (
    Segment(1, "const", None, 55),
    Segment(2, "sqrt", None, 55),
    Segment(5, "linear3", None, 45),
    Segment(15, "linear3", None, 37.5),
    Segment(20, "linear7", None, 30),
    Segment(40, "linear7", None, 20),
    Segment(80, "squared", None, 10),
)
CUTS = (-1.0, -0.5, 0.0, 0.5, 1.0, 1.5)

_PRIORITIES = (Priority.INTERACTIVE, Priority.QUERY, Priority.BATCH_PIPELINE)
_SHAPES = ("linear", "branch_in", "branch_out")


class PipelineGenerator:
    """Draws batches of pipelines; ids are p1, p2, ... in order of arrival.

    In compat mode every operator of a pipeline that is no query is the most I/O-heavy prototype, as in the
    original, where ``cpu_io_ratio`` has no effect. Otherwise that is the first operator only, and each other
    one is drawn from Normal(cpu_io_ratio, 1), never the most I/O-heavy one (the rule that the original's code
    has for the further segments of an operator, which it never makes).

    Args:
        random: the generator to draw from, ``numpy.random.default_rng(random_seed)`` for equal numbers.
    """

    def __init__(self, parameters: Parameters, random: Generator) -> None:
        if parameters.num_segs != 1:
            raise InputError("must be 1: an operator has one segment", path="num_segs")
        self._random = random
        self._compat = parameters.is_compat
        self._batch = parameters.num_pipelines
        self._operators = parameters.num_operators
        self._ratio = parameters.cpu_io_ratio
        self._wait_mean = int(parameters.waiting_seconds_mean * parameters.ticks_per_second)
        mix = (parameters.interactive_prob, parameters.query_prob, parameters.batch_prob)
        self._priority_cuts = _cumulative(mix, "interactive_prob")
        weights = (
            parameters.dag_linear_prob,
            parameters.dag_branch_in_prob,
            parameters.dag_branch_out_prob,
        )
        self._shape_cuts = _cumulative(weights, "dag_linear_prob")
        self._next = 0
        self._count = 0
        self._shapes: dict[tuple[str, int], Shape] = {}

    def next_tick(self) -> int:
        """Tick of the next batch."""
        return self._next

    def take(self, tick: int) -> Sequence[PipelineSpec]:
        """The batch that arrives at *tick*."""
        if tick < self._next:
            return ()
        batch = [self._draw() for _ in range(self._batch)]
        wait = int(self._random.normal(self._wait_mean, self._wait_mean / 4))
        if wait <= 0:
            wait = self._wait_mean
        self._next = tick + wait + 1
        return batch

    def _draw(self) -> PipelineSpec:
        priority = _PRIORITIES[bisect_right(self._priority_cuts, self._random.random())]
        kind = _SHAPES[bisect_right(self._shape_cuts, self._random.random())]
        self._count += 1
        name = f"p{self._count}"
        if priority is Priority.QUERY:
            return PipelineSpec(name, priority, self._shape_of("query", 1))
        size = max(1, int(self._random.normal(self._operators, self._operators / 4)))
        if self._compat:
            return PipelineSpec(name, priority, self._shape_of(kind, size))
        segments = [PROTOTYPES[0], *(self._draw_segment() for _ in range(size - 1))]
        return PipelineSpec(name, priority, make_shape(_operators(kind, segments)))

    def _draw_segment(self) -> Segment:
        value = max(-1.0, self._random.normal(self._ratio))
        return PROTOTYPES[sum(value >= cut for cut in CUTS)]

    def _shape_of(self, kind: str, size: int) -> Shape:
        shape = self._shapes.get((kind, size))
        if shape is None:
            segments = [QUERY_SEGMENT if kind == "query" else PROTOTYPES[0]] * size
            shape = self._shapes[kind, size] = make_shape(_operators(kind, segments))
        return shape


def _operators(kind: str, segments: Sequence[Segment]) -> list[OperatorSpec]:
    """A chain, or a fan into the last operator, or a fan out of the first."""
    last = len(segments) - 1

    def parents(position: int) -> tuple[int, ...]:
        if kind == "branch_in":
            return tuple(range(last)) if position == last else ()
        if position == 0:
            return ()
        return (0,) if kind == "branch_out" else (position - 1,)

    return [OperatorSpec(f"op{i + 1}", (segment,), parents(i)) for i, segment in enumerate(segments)]


def _cumulative(weights: Sequence[float], key: str) -> list[float]:
    """Normalised cumulative weights, computed as numpy's ``choice`` does.

    A choice is the first index whose cumulative weight exceeds a uniform number.
    """
    import numpy as np

    array = np.array(weights)
    total = np.sum(array, dtype=float)
    if (array < 0).any() or not total > 0:
        told = f"weights must not be negative and need a positive sum, got {list(weights)}"
        raise InputError(told, path=key)
    cumulative = (array / total).cumsum()
    return [float(value) for value in cumulative / cumulative[-1]]
