"""Statistics of a run, under Eudoxia's names and by its formulas, and those that its users miss."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from batpy.base.pipelines import IllegalStepError, Priority
from batpy.models.containers.pipeline import Pipeline

if TYPE_CHECKING:
    from batpy.models.containers.engine import PipelineRun

WEIGHTS = {Priority.QUERY: 10, Priority.INTERACTIVE: 5, Priority.BATCH_PIPELINE: 1}
"""How much a second of latency counts in the adjusted latency, unless the user says otherwise."""


@dataclass(frozen=True, slots=True)
class PipelineStats:
    """One class of pipelines; latencies are of the finished ones, NaN if there is none."""

    arrival_count: int
    completion_count: int
    timeout_count: int
    mean_latency_seconds: float
    p99_latency_seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Field to value."""
        return {
            "arrival_count": self.arrival_count,
            "completion_count": self.completion_count,
            "timeout_count": self.timeout_count,
            "mean_latency_seconds": self.mean_latency_seconds,
            "p99_latency_seconds": self.p99_latency_seconds,
        }


@dataclass(frozen=True, slots=True)
class UsageStats:
    """What the original's statistics lack. Times in seconds, NaN if there is nothing to take a mean of.

    Attributes:
        mean_queueing_delay_seconds, p99_queueing_delay_seconds: from the arrival of a pipeline to the start
            of its first container, over the pipelines that have one.
        cpu_utilisation_percent: CPUs allocated, suspensions included, of all CPUs over the whole run.
        container_seconds: life of all containers, each from its start until its resources are free.
        cpu_seconds, ram_gb_seconds: the same times their allocations.
        lost_cpu_seconds: the part of ``cpu_seconds`` in containers that were killed.
        cost: ``container_seconds`` times the parameter ``cost_per_container_second``.
    """

    mean_queueing_delay_seconds: float
    p99_queueing_delay_seconds: float
    cpu_utilisation_percent: float
    container_seconds: float
    cpu_seconds: float
    ram_gb_seconds: float
    lost_cpu_seconds: float
    cost: float

    def to_dict(self) -> dict[str, Any]:
        """Field to value."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class SimulatorStats:
    """Statistics of a run.

    Attributes:
        pipelines_created: arrivals.
        containers_completed: containers that ended well; ``throughput`` is that per second.
        p99_latency: 99th percentile, in seconds, of the time in a container, killed ones included.
        assignments, suspensions: as the policy ordered them.
        usage: what the original does not tell.
        mean_memory_allocated_percent, mean_memory_consumed_percent: means over the whole seconds.
    """

    pipelines_created: int
    containers_completed: int
    throughput: float
    p99_latency: float
    assignments: int
    suspensions: int
    failures: int
    failure_error_counts: dict[str, int]
    mean_memory_allocated_percent: float
    mean_memory_consumed_percent: float
    pipelines_all: PipelineStats
    pipelines_query: PipelineStats
    pipelines_interactive: PipelineStats
    pipelines_batch: PipelineStats
    usage: UsageStats | None = None

    def to_dict(self) -> dict[str, Any]:
        """Everything; the two memory means too, which the original leaves out."""
        table: dict[str, Any] = {}
        for name in self.__slots__:
            value = getattr(self, name)
            if isinstance(value, (PipelineStats, UsageStats)):
                value = value.to_dict()
            if value is not None:
                table[name] = value
        return table

    def adjusted_latency(
        self,
        weights: Mapping[Priority, float] | None = None,
        divide_by_completion_rate: bool = True,
        unfinished_penalty_seconds: float | None = None,
    ) -> float:
        """Mean latency in seconds, weighted by priority; smaller is better.

        Args:
            weights: of a second of each priority; 10, 5, 1 if None.
            divide_by_completion_rate: make it worse by the share of pipelines that did not finish.
            unfinished_penalty_seconds: count each of those with this latency instead.

        Raises:
            IllegalStepError: both corrections are asked for.
        """
        if divide_by_completion_rate and unfinished_penalty_seconds is not None:
            raise IllegalStepError(
                "divide_by_completion_rate and unfinished_penalty_seconds exclude each other"
            )
        weights = WEIGHTS if weights is None else weights
        classes = {
            Priority.QUERY: self.pipelines_query,
            Priority.INTERACTIVE: self.pipelines_interactive,
            Priority.BATCH_PIPELINE: self.pipelines_batch,
        }
        total = count = 0.0
        for priority, stats in classes.items():
            weight, done = weights[priority], stats.completion_count
            if done:
                total += weight * done * stats.mean_latency_seconds
                count += weight * done
            if unfinished_penalty_seconds is not None:
                left = stats.arrival_count - done
                total += weight * left * unfinished_penalty_seconds
                count += weight * left
        if not count:
            return math.inf
        if divide_by_completion_rate:
            return total / count / (self.pipelines_all.completion_count / self.pipelines_all.arrival_count)
        return total / count


def compute_statistics(run: PipelineRun) -> SimulatorStats:
    """Statistics of a run that came to its end.

    Raises:
        IllegalStepError: no container ended (compat mode, where the original fails; NaN otherwise).
    """
    record, executor, parameters = run.record, run.executor, run.parameters
    ticks = executor.container_tick_times()
    if not ticks and parameters.is_compat:
        rule = "no container ended (index -1 is out of bounds for axis 0 with size 0)"
        raise IllegalStepError(rule, "p99_latency", "IndexError")
    per_second = parameters.ticks_per_second
    memory = sum(pool.max_ram_pool for pool in executor.pools)
    completed = executor.num_completed()
    classes = {
        priority: _class_stats(
            sum(pipeline.priority is priority for pipeline in record.pipelines),
            record.finished[priority],
            len(record.timed_out[priority]),
            per_second,
        )
        for priority in Priority
    }
    everything = [pipeline for finished in record.finished.values() for pipeline in finished]
    late = sum(map(len, record.timed_out.values()))
    return SimulatorStats(
        pipelines_created=len(record.pipelines),
        containers_completed=completed,
        throughput=completed / parameters.duration if parameters.duration else math.nan,
        p99_latency=percentile(ticks, per_second),
        assignments=record.assignments,
        suspensions=record.suspensions,
        failures=sum(record.failures.values()),
        failure_error_counts=dict(record.failures),
        mean_memory_allocated_percent=_mean_percent(record.samples, 0, memory),
        mean_memory_consumed_percent=_mean_percent(record.samples, 1, memory),
        pipelines_all=_class_stats(len(record.pipelines), everything, late, per_second),
        pipelines_query=classes[Priority.QUERY],
        pipelines_interactive=classes[Priority.INTERACTIVE],
        pipelines_batch=classes[Priority.BATCH_PIPELINE],
        usage=_usage(run),
    )


def _usage(run: PipelineRun) -> UsageStats:
    parameters = run.parameters
    end = parameters.max_ticks
    life = cpu = ram = lost = 0.0
    for event in run.record.events:
        if event.kind == "start":
            container = event.container
            last = container.suspended_at if container.suspend_ticks is not None else container.ended
            ticks = (end if last is None else last + 1) - container.started
            life += ticks
            cpu += ticks * container.cpu
            ram += ticks * container.ram
            lost += ticks * container.cpu if container.error is not None else 0
    delays = [
        pipeline.status.start_tick - (pipeline.status.arrival_tick or 0)
        for pipeline in run.record.pipelines
        if pipeline.status.start_tick is not None
    ]
    per_second = parameters.ticks_per_second
    whole = sum(pool.max_cpu_pool for pool in run.executor.pools) * end
    return UsageStats(
        mean_queueing_delay_seconds=float(np.mean(delays)) / per_second if delays else math.nan,
        p99_queueing_delay_seconds=percentile(delays, per_second),
        cpu_utilisation_percent=100 * cpu / whole if whole else math.nan,
        container_seconds=life / per_second,
        cpu_seconds=cpu / per_second,
        ram_gb_seconds=ram / per_second,
        lost_cpu_seconds=lost / per_second,
        cost=life / per_second * parameters.cost_per_container_second,
    )


def _class_stats(
    arrivals: int, finished: Sequence[Pipeline], timed_out: int, per_second: int
) -> PipelineStats:
    latencies = [pipeline.status.get_latency_ticks() for pipeline in finished]
    mean = float(np.mean(latencies)) / per_second if latencies else math.nan
    return PipelineStats(arrivals, len(latencies), timed_out, mean, percentile(latencies, per_second))


def percentile(ticks: Sequence[float], per_second: float, q: float = 99) -> float:
    """A percentile in seconds with numpy's linear interpolation; NaN of nothing."""
    return float(np.percentile(ticks, q)) / per_second if ticks else math.nan


def _mean_percent(samples: Sequence[tuple[float, float, int]], column: int, whole: float) -> float:
    """Mean of 100 * sample / whole over the seconds."""
    if not samples or not whole:
        return math.nan
    percents = [100.0 * sample[column] / whole for sample in samples]
    seconds = [sample[2] for sample in samples]
    if sum(seconds) > 10_000_000:
        return float(np.average(percents, weights=seconds))
    return float(np.mean(np.repeat(percents, seconds)))  # rounded as the original rounds it
