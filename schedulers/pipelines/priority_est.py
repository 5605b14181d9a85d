"""``priority`` with the memory that the estimator expects instead of a tenth of a pool."""

from __future__ import annotations

import math
from typing import Any

from batpy.schedulers.pipelines import priority
from batpy.schedulers.pipelines.api import register_scheduler, register_scheduler_init
from batpy.schedulers.pipelines.jobs import Job


def estimated_size(free: priority.FreePools, index: int, job: Job) -> tuple[float, float]:
    """A tenth of the CPUs, and the largest estimated peak of the job's operators, rounded up to whole GB.

    Operators of a container run one after the other, so the largest counts. Without an estimate for each of
    them, and for a job that was suspended, a tenth of the memory.
    """
    cpu, ram = free.tenth(index)
    peaks = [op.estimate.mem_peak_gb for op in job.ops]
    if job.retry is None and None not in peaks:
        ram = max(1, math.ceil(max(peaks)))
    return free.fit(index, cpu, ram)


@register_scheduler_init(key="priority-est")
def prepare(s: Any) -> None:
    """As ``priority``."""
    priority.prepare(s)
    s.fresh_size = estimated_size


@register_scheduler(key="priority-est", waits_for_events=True)
def decide(s: Any, results: list[Any], pipelines: list[Any]) -> tuple[list[Any], list[Any]]:
    """As ``priority``."""
    return priority.decide(s, results, pipelines)
