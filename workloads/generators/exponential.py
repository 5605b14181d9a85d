"""Poisson arrivals with independent sizes and run times: the plain model of queueing studies."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Literal

from batpy.workloads.columns import ColumnWorkload, Labels
from batpy.workloads.generators.build import Drawn, above, at_least, workload_of


@dataclass(frozen=True, slots=True)
class Exponential:
    """Poisson arrivals, sizes log-uniform or powers of two, run times exponential or log-normal.

    Attributes:
        jobs: how many.
        hosts: machine size.
        load: offered load that sets the mean interval between submissions; used if ``interarrival`` is 0.
        interarrival: mean interval in seconds, or 0 to follow from ``load``.
        sizes: ``powers`` draws 1, 2, 4, ... up to ``max_size`` equally often, ``log_uniform`` any size with
            equal chances per octave.
        max_size: largest job; 0 for the whole machine.
        run_times: ``exponential``, or ``lognormal`` with the deviation of the logarithm in ``sigma``.
        mean_run_time: seconds; both kinds have this mean.
        sigma: of the log-normal run times.
        max_run_time: seconds; longer ones are drawn again, so the mean falls a little; 0 for no limit.
        overestimate: walltimes are the run time times a number drawn evenly from (1, overestimate]; 0 for
            no walltimes.
        users: jobs are given evenly to this many users.
    """

    jobs: int = 1000
    hosts: int = 128
    load: float = 0.7
    interarrival: float = 0.0
    sizes: Literal["powers", "log_uniform"] = "powers"
    max_size: int = 0
    run_times: Literal["exponential", "lognormal"] = "exponential"
    mean_run_time: float = 3600.0
    sigma: float = 1.5
    max_run_time: float = 0.0
    overestimate: float = 3.0
    users: int = 10

    def __post_init__(self) -> None:
        for name, value, minimum in (
            ("jobs", self.jobs, 1),
            ("hosts", self.hosts, 1),
            ("interarrival", self.interarrival, 0),
            ("max_size", self.max_size, 0),
            ("sigma", self.sigma, 0),
            ("users", self.users, 1),
        ):
            at_least(name, value, minimum)
        above("load", self.load, 0)
        above("mean_run_time", self.mean_run_time, 0)
        if self.max_size > self.hosts:
            raise ValueError(f"max_size must be at most hosts ({self.hosts}), got {self.max_size}")
        if self.max_run_time != 0:
            at_least("max_run_time", self.max_run_time, self.mean_run_time / 10)
        if self.overestimate != 0:
            above("overestimate", self.overestimate, 1)

    def generate(self, rng: random.Random, id: str, ticks_per_second: int) -> ColumnWorkload:
        """Draw the jobs one after the other: interval, size, run time, walltime, user."""
        interval = self.interarrival or self._mean_size() * self.mean_run_time / (self.load * self.hosts)
        labels = [Labels(user=str(user), fields={"user": str(user)}) for user in range(1, self.users + 1)]
        jobs, now = [], 0.0
        for index in range(self.jobs):
            if index:
                now += rng.expovariate(1 / interval)
            size = self._size(rng)
            run = self._run_time(rng)
            walltime = 0.0
            if self.overestimate:
                # At the run time itself Batsim would kill the job.
                walltime = run * (1 + (self.overestimate - 1) * (1 - rng.random()))
            jobs.append(Drawn(now, run, size, walltime, rng.choice(labels)))
        options = {
            "submit": "interarrival" if self.interarrival else "mean_run_time / load",
            "run": "mean_run_time",
            "walltime": "overestimate",
        }
        text = "Poisson arrivals"
        return workload_of(jobs, id, "exponential", self.hosts, ticks_per_second, text, options)

    def _largest(self) -> int:
        return self.max_size or self.hosts

    def _size(self, rng: random.Random) -> int:
        largest = self._largest()
        if self.sizes == "powers":
            return 1 << rng.randrange(largest.bit_length())
        return min(largest, int(2 ** (rng.random() * math.log2(largest + 1))))

    def _mean_size(self) -> float:
        """Exact mean of :meth:`_size`."""
        largest = self._largest()
        if self.sizes == "powers":
            return float((1 << largest.bit_length()) - 1) / largest.bit_length()
        octaves = math.log2(largest + 1)
        return sum(size * math.log2((size + 1) / size) for size in range(1, largest + 1)) / octaves

    def _run_time(self, rng: random.Random) -> float:
        while True:
            if self.run_times == "exponential":
                run = rng.expovariate(1 / self.mean_run_time)
            else:
                run = rng.lognormvariate(math.log(self.mean_run_time) - self.sigma**2 / 2, self.sigma)
            if not self.max_run_time or run <= self.max_run_time:
                # Whole milliseconds, so that files stay readable.
                return max(0.001, round(run, 3))
