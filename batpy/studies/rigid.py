"""HPC workloads of studies: rigid jobs that fill a given part of a park in a given time."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Mix:
    """What jobs are drawn from; times in seconds.

    Attributes:
        hosts: of the park.
        largest: powers of two up to it are drawn equally often as sizes.
        shortest, longest: run times are log-uniform between them.
        overestimate: walltimes are the run time times a number drawn evenly from (1, overestimate].
        load: the work of all jobs over ``hosts * horizon``.
        horizon: when all is meant to be over.
        submissions: dates are drawn evenly until then.
    """

    hosts: int
    largest: int
    shortest: float
    longest: float
    overestimate: float
    load: float
    horizon: float
    submissions: float


@dataclass(frozen=True, slots=True)
class RigidJob:
    """One job; times in seconds."""

    submit: float
    size: int
    run: float
    walltime: float


def draw(mix: Mix, rng: random.Random) -> list[RigidJob]:
    """Jobs in order of submission, the first at date 0. Their work falls short of what is asked for by less
    than that of one job.
    """
    wanted, work = mix.load * mix.hosts * mix.horizon, 0.0
    sizes = int(math.log2(mix.largest)) + 1
    drawn: list[tuple[int, float, float]] = []
    while True:
        size = 1 << rng.randrange(sizes)
        run = round(mix.shortest * (mix.longest / mix.shortest) ** rng.random(), 1)
        if drawn and work + size * run > wanted:
            break
        work += size * run
        walltime = round(run * (1 + (mix.overestimate - 1) * (1 - rng.random())), 1)
        # A delay job that is as long as its walltime is killed at its end.
        drawn.append((size, run, max(walltime, run + 0.1)))
    dates = sorted(round(rng.random() * mix.submissions, 1) for _ in drawn)
    dates[0] = 0.0
    return [RigidJob(date, *job) for date, job in zip(dates, drawn, strict=True)]


def disturbed(jobs: list[RigidJob], sigma: float, rng: random.Random) -> list[RigidJob]:
    """The same jobs with run times as another repetition measures them: times a log-normal number, mean 1."""
    out = []
    for job in jobs:
        run = job.run * rng.lognormvariate(-(sigma**2) / 2, sigma)
        out.append(RigidJob(job.submit, job.size, round(min(run, job.walltime * 0.999), 3), job.walltime))
    return out


def workload(jobs: list[RigidJob], hosts: int) -> dict[str, Any]:
    """A workload file of delay jobs."""
    return {
        "nb_res": hosts,
        "jobs": [
            {
                "id": str(number),
                "subtime": job.submit,
                "res": job.size,
                "walltime": job.walltime,
                "profile": f"p{number}",
            }
            for number, job in enumerate(jobs)
        ],
        "profiles": {f"p{number}": {"type": "delay", "delay": job.run} for number, job in enumerate(jobs)},
    }
