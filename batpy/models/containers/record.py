"""What happened in a run: counts, dates and events, enough for every statistic."""

from __future__ import annotations

from typing import Any, NamedTuple

from batpy.base.pipelines import Priority
from batpy.models.containers.container import Container
from batpy.models.containers.pipeline import COMPLETED, Operator, Pipeline


class ContainerEvent(NamedTuple):
    """One event; ``done`` are the operators that were complete at the end of the container."""

    tick: int
    kind: str
    container: Container
    error: str | None = None
    done: tuple[Operator, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """A row for tables, with the fields its kind has."""
        row: dict[str, Any] = {
            "tick": self.tick,
            "ev": self.kind,
            "container": self.container.container_id,
            "pool": self.container.pool_id,
        }
        if self.kind == "start":
            row |= {
                "pipeline": self.container.get_pipeline_id(),
                "ops": [op.label for op in self.container.operators],
                "cpu": self.container.cpu,
                "ram": self.container.ram,
            }
        elif self.kind == "end":
            row |= {"error": self.error, "done_ops": [op.label for op in self.done]}
        return row


class RunRecord:
    """Filled while a run goes on.

    Attributes:
        pipelines: all that arrived, in order.
        events: of a tick first the starts and suspensions by pool, then the suspensions that are over, then
            the ends.
        finished, timed_out: pipelines by priority, in order.
        assignments, suspensions: what the policy returned, counted.
        samples: (allocated, consumed) GB over all pools after the tick of every whole second, and for how
            many seconds one after the other.
    """

    def __init__(self) -> None:
        self.pipelines: list[Pipeline] = []
        self.events: list[ContainerEvent] = []
        self.finished: dict[Priority, list[Pipeline]] = {priority: [] for priority in Priority}
        self.timed_out: dict[Priority, list[Pipeline]] = {priority: [] for priority in Priority}
        self.assignments = 0
        self.suspensions = 0
        self.failures: dict[str, int] = {}
        self.samples: list[tuple[float, float, int]] = []
        self._written_out: list[ContainerEvent] = []
        self._names: dict[str, int] = {}

    def arrive(self, pipeline: Pipeline) -> None:
        """A pipeline is there; one that uses a name again gets a number for its ids."""
        name = pipeline.pipeline_id
        uses = self._names.get(name, 0)
        self._names[name] = uses + 1
        if uses:
            pipeline.unique_id = f"{name}#{uses + 1}"
        self.pipelines.append(pipeline)

    def suspend(self, tick: int, container: Container) -> None:
        """A container begins to be written out."""
        self.events.append(ContainerEvent(tick, "suspend", container))

    def start(self, tick: int, container: Container) -> None:
        """A container starts."""
        last = None
        for operator in container.operators:
            if operator.pipeline is not last:
                last = operator.pipeline
                if last.status.start_tick is None:
                    last.status.start_tick = tick
        self.events.append(ContainerEvent(tick, "start", container))

    def suspended(self, tick: int, container: Container) -> None:
        """A container is written out; told after the starts of all pools."""
        self._written_out.append(ContainerEvent(tick, "suspended", container))

    def flush(self) -> None:
        """The pools executed a tick: suspensions that ended come after everything that began."""
        if self._written_out:
            self.events += self._written_out
            self._written_out.clear()

    def end(self, tick: int, container: Container) -> None:
        """A container is over, well or not."""
        error = container.error
        done = tuple([op for op in container.operators if op.value is COMPLETED])
        self.events.append(ContainerEvent(tick, "end", container, error, done))
        if error is not None:
            self.failures[error] = self.failures.get(error, 0) + 1

    def finish(self, pipeline: Pipeline) -> None:
        """A pipeline is complete."""
        self.finished[pipeline.priority].append(pipeline)

    def time_out(self, pipeline: Pipeline) -> None:
        """A pipeline passed its limit and is given up."""
        self.timed_out[pipeline.priority].append(pipeline)

    def sample(self, allocated: float, consumed: float, count: int = 1) -> None:
        """The memory of all pools at *count* whole seconds."""
        self.samples.append((allocated, consumed, count))
