"""A run of pipelines: from arrival to arrival, from end to end, never through the ticks between them.

Order inside a tick (Eudoxia c62122c): arrivals, policy, pools, finished pipelines, time limits, samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from batpy.base.pipelines import IllegalStepError
from batpy.kernel.agenda import Agenda
from batpy.models.containers.clock import RunClock
from batpy.models.containers.container import Container
from batpy.models.containers.executor import Executor
from batpy.models.containers.pipeline import Estimate, Operator, Pipeline, from_spec
from batpy.models.containers.pool import Evacuation, ExecutionResult
from batpy.models.containers.record import RunRecord
from batpy.workloads.pipelines.parameters import Parameters
from batpy.workloads.pipelines.pipeline import PipelineSpec


class Arrivals(Protocol):
    """Where pipelines come from; see ``PipelineSource``, which may also give ``Pipeline`` objects."""

    def next_tick(self) -> int | None: ...
    def take(self, tick: int) -> Sequence[Any]: ...


class ContainerPolicy(Protocol):
    """Who decides.

    Attributes:
        every_tick: whether it must be asked in every tick; otherwise it is asked when there are arrivals or
            results, after a suspension began or ended, after an operator ended inside a container, and at
            ``wake_at``.
        wake_at: a tick at which it wants to be asked in any case.
    """

    every_tick: bool
    wake_at: int | None

    def step(
        self, results: list[ExecutionResult], pipelines: list[Pipeline]
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        """Suspensions and assignments for this tick."""
        ...


class Estimator(Protocol):
    """Who guesses what an operator needs, once, at its arrival."""

    def step(self, operator: Operator) -> Estimate: ...


class PipelineRun:
    """One run; ``run()`` goes to its end, ``advance()`` as far as one likes.

    Args:
        pool_sizes: CPUs and GB of each pool, where they are not all as the parameters say.

    Attributes:
        parameters, clock, executor: what the policy sees too.
        record: what happened; also after a run that broke off.
    """

    def __init__(
        self,
        parameters: Parameters,
        arrivals: Arrivals,
        *,
        estimator: Estimator | None = None,
        pool_sizes: Sequence[tuple[float, float]] | None = None,
    ) -> None:
        self.parameters = parameters
        self.clock = RunClock(parameters.ticks_per_second, compat=parameters.is_compat)
        self.agenda = Agenda()
        self.executor = Executor(parameters, self.clock, self.agenda, pool_sizes)
        self.record = RunRecord()
        self.policy: ContainerPolicy
        self._arrivals = arrivals
        self._estimator = estimator
        self._last = parameters.max_ticks - 1
        self._limit = parameters.limit_ticks or None
        self._outstanding: dict[str, Pipeline] = {}
        self._results: list[ExecutionResult] = []
        self._call_next = True
        self._tick = -1
        self._unwatched = 0  # first tick whose whole second was not sampled

    def run(self, policy: ContainerPolicy) -> RunRecord:
        """Go to the end of the run.

        Raises:
            IllegalStepError: the policy or the workload broke a rule of the model; ``record`` holds what
                came before.
        """
        self.policy = policy
        self.advance(self._last)
        return self.record

    @property
    def is_over(self) -> bool:
        """Whether the last tick is behind."""
        return self._tick >= self._last

    def advance(self, until: int) -> None:
        """Go through all ticks up to *until*; ``policy`` must be set."""
        until = min(until, self._last)
        while (tick := self.next_tick()) <= until:
            self._watch(tick - 1)
            self._tick = tick
            try:
                self._step(tick)
            except IllegalStepError as why:
                raise IllegalStepError(f"{why.rule}, in tick {tick}", why.subject, why.condition) from None
        if until > self._tick or until == self._last:
            self._tick = max(self._tick, until)
            if until >= 0:
                self._watch(until)
                self.clock.now_ticks = self.clock.done = until

    def withdraw(self, pool: int, how: Evacuation) -> None:
        """Take a pool away with the next tick; its containers leave it."""
        self.executor.withdraw(pool, how)
        self._call_next = True

    def restore(self, pool: int) -> None:
        """Give a pool back with the next tick."""
        self.executor.restore(pool)
        self._call_next = True

    def next_tick(self) -> int:
        """The next tick in which something can happen; after the last one if there is none."""
        tick = self._tick
        following = tick + 1
        if self._call_next or self.policy.every_tick:
            return following
        dates = [self._last + 1]
        if (arrival := self._arrivals.next_tick()) is not None:
            dates.append(arrival)
        if self.agenda.heap:
            dates.append(self.agenda.heap[0][0])
        if self.policy.wake_at is not None and self.policy.wake_at > tick:
            dates.append(self.policy.wake_at)
        return max(following, min(dates))

    # ------------------------------------------------------------------ one tick

    def _step(self, tick: int) -> None:
        clock = self.clock
        clock.now_ticks, clock.done = tick, tick - 1
        heap = self.agenda.heap
        while heap and heap[0][0] <= tick:
            self.agenda.step()
        arrival = self._arrivals.next_tick()
        arrived = self._arrive(tick) if arrival is not None and arrival <= tick else []
        suspensions: Sequence[Any] = ()
        assignments: Sequence[Any] = ()
        if arrived or self._call_next or self._is_asked(tick):
            suspensions, assignments = self.policy.step(self._results, arrived)
            self.record.assignments += len(assignments)
            self.record.suspensions += len(suspensions)
        self._results = []
        clock.news = False
        if suspensions or assignments or self.executor.is_busy:
            ended = self.executor.run(tick, suspensions, assignments, self.record)
            self.record.flush()
            self._results = [self._result(tick, container) for container in ended]
        clock.done = tick
        self._call_next = clock.news or bool(self._results)
        if self._results or not clock.compat:
            self._finish(tick)
        self._watch(tick)

    def _is_asked(self, tick: int) -> bool:
        wake = self.policy.wake_at
        return self.policy.every_tick or wake == tick

    def _arrive(self, tick: int) -> list[Pipeline]:
        arrived = []
        deadline = None if self._limit is None else tick + self._limit
        for given in self._arrivals.take(tick):
            pipeline = from_spec(given) if isinstance(given, PipelineSpec) else given
            if self._estimator is not None:
                for operator in pipeline.values:
                    operator.estimate = self._estimator.step(operator)
            pipeline.status.arrive(tick, deadline, self.clock)
            self.record.arrive(pipeline)
            if not self.clock.compat:
                # In the original a name that comes again takes the place of the earlier pipeline.
                pipeline.pipeline_id = pipeline.unique_id
            self._outstanding[pipeline.pipeline_id] = pipeline
            arrived.append(pipeline)
        return arrived

    def _result(self, tick: int, container: Container) -> ExecutionResult:
        order = container.assignment
        self.record.end(tick, container)
        return ExecutionResult(
            order.ops,
            order.cpu,
            order.ram,
            order.priority,
            container.pool_id,
            container.container_id,
            container.error,
        )

    def _finish(self, tick: int) -> None:
        """Note the finish of every outstanding pipeline that is complete.

        The original looks for them in ticks with a result only, so a pipeline that is complete before its
        container ends is late.
        """
        completed, self.clock.completed = self.clock.completed, []
        for pipeline in completed:
            if self._outstanding.get(pipeline.pipeline_id) is pipeline:
                pipeline.status.finish_tick = tick
                del self._outstanding[pipeline.pipeline_id]
                self.record.finish(pipeline)

    # ------------------------------------------------------------------ whole seconds

    def _watch(self, until: int) -> None:
        """Sample the memory and drop timed-out pipelines at every whole second up to tick *until*."""
        per_second = self.parameters.ticks_per_second
        first = -(-self._unwatched // per_second) * per_second
        self._unwatched = until + 1
        if first <= until:
            self._drop_timed_out(until // per_second * per_second)
            self._sample(first, until)
        if until == self._last:
            self.clock.done = until
            self._drop_timed_out(until)

    def _sample(self, first: int, until: int) -> None:
        """Sample the whole seconds from *first* on, all at once when no memory moves any more."""
        per_second = self.parameters.ticks_per_second
        executor, done = self.executor, self.clock.done
        allocated, still = executor.get_allocated_ram_gb(), executor.still_from()
        while first <= until:
            self.clock.done = first
            count = 1 if first < still else (until - first) // per_second + 1
            self.record.sample(allocated, executor.get_consumed_ram_gb(), count)
            first += count * per_second
        self.clock.done = done

    def _drop_timed_out(self, tick: int) -> None:
        if self._limit is None:
            return
        # In order of arrival, so the first that is in time ends the search; a pipeline under a used id keeps
        # the place of the earlier one.
        dropped = [
            name
            for name, pipeline in self._outstanding.items()
            if (pipeline.status.deadline or 0) <= tick and not pipeline.status.is_pipeline_successful()
        ]
        for name in dropped:
            self.record.time_out(self._outstanding.pop(name))
