"""The statistics of a run as lines for people."""

from __future__ import annotations

from collections.abc import Iterator

from batpy.models.containers.statistics import PipelineStats, SimulatorStats
from batpy.pipelines.tables import adjusted


def report_lines(statistics: SimulatorStats, max_job_seconds: float) -> Iterator[str]:
    """One fact a line; latencies in seconds."""
    yield f"pipelines            {statistics.pipelines_created} arrived"
    for name, stats in (
        ("all", statistics.pipelines_all),
        ("query", statistics.pipelines_query),
        ("interactive", statistics.pipelines_interactive),
        ("batch", statistics.pipelines_batch),
    ):
        yield _class_line(name, stats)
    latency = adjusted(statistics, max_job_seconds)
    yield f"adjusted latency     {latency:.3f} s"
    completed = statistics.containers_completed
    yield f"containers           {completed} completed, {statistics.throughput:.4f} a second"
    yield f"                     99 % within {statistics.p99_latency:.3f} s"
    yield f"decisions            {statistics.assignments} assignments, {statistics.suspensions} suspensions"
    errors = ", ".join(f"{count} {error}" for error, count in statistics.failure_error_counts.items())
    yield f"failures             {statistics.failures}{f' ({errors})' if errors else ''}"
    yield (
        f"memory               {statistics.mean_memory_allocated_percent:.2f} % allocated, "
        f"{statistics.mean_memory_consumed_percent:.2f} % used"
    )
    if (usage := statistics.usage) is None:
        return
    yield f"CPUs                 {usage.cpu_utilisation_percent:.2f} % allocated"
    yield (
        f"queueing delay       mean {usage.mean_queueing_delay_seconds:.3f} s, "
        f"99 % within {usage.p99_queueing_delay_seconds:.3f} s"
    )
    cost = f", cost {usage.cost:.4f}" if usage.cost else ""
    yield (
        f"used                 {usage.container_seconds:.1f} container s, {usage.cpu_seconds:.1f} CPU s "
        f"({usage.lost_cpu_seconds:.1f} lost), {usage.ram_gb_seconds:.1f} GB s{cost}"
    )


def _class_line(name: str, stats: PipelineStats) -> str:
    line = f"  {name:<18} {stats.completion_count} of {stats.arrival_count} finished"
    if stats.timeout_count:
        line += f", {stats.timeout_count} timed out"
    if stats.completion_count:
        line += f"; latency mean {stats.mean_latency_seconds:.3f} s"
        line += f", 99 % within {stats.p99_latency_seconds:.3f} s"
    return line
