"""The clock that a policy sees, and the few facts that all parts of a run share."""

from __future__ import annotations

from batpy.models.containers.pipeline import Operator, Pipeline


class RunClock:
    """Where a run stands.

    Attributes:
        now_ticks: the tick that is being executed.
        done: the last tick whose containers were executed; in a policy's call the one before ``now_ticks``.
        tick_length: seconds of a tick.
        compat: whether the original's faults are wanted.
        news: whether this tick changed something that a policy that waits for events must see, apart from
            results: a suspension began or ended, an operator ended inside a container.
        suspension_changes: suspensions that began or ended so far.
        completed: pipelines that became complete and were not yet noted as finished.
    """

    __slots__ = (
        "compat",
        "completed",
        "done",
        "news",
        "now_ticks",
        "suspension_changes",
        "tick_length",
        "ticks_per_second",
    )

    def __init__(self, ticks_per_second: int, *, compat: bool) -> None:
        self.ticks_per_second = ticks_per_second
        self.tick_length = 1.0 / ticks_per_second
        self.compat = compat
        self.now_ticks = 0
        self.done = -1
        self.news = False
        self.suspension_changes = 0
        self.completed: list[Pipeline] = []

    @property
    def now_seconds(self) -> float:
        """Simulated time of this tick."""
        return self.now_ticks / self.ticks_per_second

    def note_suspension(self) -> None:
        """A suspension began or ended."""
        self.news = True
        self.suspension_changes += 1

    def note_completion(self, operator: Operator) -> None:
        """An operator is complete; its pipeline may be."""
        self.news = True
        pipeline = operator.pipeline
        if pipeline.status.is_pipeline_successful():
            self.completed.append(pipeline)
