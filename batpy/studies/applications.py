"""Big Data workloads of studies: Spark applications as chains of stages, drawn natively by the simulator."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Final

INNER: Final = 15
"""Inner values of the table of task times that a ``stage_dag`` draws from."""


@dataclass(frozen=True, slots=True)
class Chain:
    """An application whose stages follow each other, each reading what the one before shuffled.

    Attributes:
        width: hosts that it asks for, one task at a time on each.
        stages: how many.
        tasks: of each stage.
        mean: seconds of a task.
        sigma: task times are log-normal; the deviation of their logarithm.
    """

    width: int
    stages: int
    tasks: int
    mean: float
    sigma: float

    @property
    def work(self) -> float:
        """Host-seconds of one application."""
        return self.stages * self.tasks * self.mean

    @property
    def stage_length(self) -> float:
        """Seconds of a stage on all the hosts that it asks for."""
        return self.tasks * self.mean / self.width


def task_times(mean: float, sigma: float) -> list[float]:
    """Minimum, inner 16-quantiles and maximum of a log-normal time; the ends are the 1/32-quantiles."""
    levels = [1 / 32, *(i / (INNER + 1) for i in range(1, INNER + 1)), 31 / 32]
    scale = mean * math.exp(-(sigma**2) / 2)
    return [round(scale * math.exp(sigma * NormalDist().inv_cdf(level)), 6) for level in levels]


def applications(chain: Chain, count: int, hosts: int) -> dict[str, Any]:
    """A workload file of that many applications, all submitted at date 0.

    They are Spark with its shuffle files on the hosts that wrote them, so that losing a host also loses the
    output of its finished tasks as long as the next stage reads it.
    """
    times = task_times(chain.mean, chain.sigma)
    stages = [
        {
            "id": number,
            "parents": [number - 1] if number else [],
            "tasks": chain.tasks,
            "times": times,
            "total": chain.tasks * chain.mean,
            "shuffle_write": 1e9 if number < chain.stages - 1 else 0,
        }
        for number in range(chain.stages)
    ]
    # One profile a job: the stream that draws its task times is named after it.
    names = [f"app{number}" for number in range(count)]
    profile = {
        "type": "stage_dag",
        "framework": "spark",
        "shuffle": "local",
        "slots": {"0": 1},
        "stages": stages,
    }
    return {
        "nb_res": hosts,
        "jobs": [{"id": name, "subtime": 0, "res": chain.width, "profile": name} for name in names],
        "profiles": {name: profile for name in names},
    }
