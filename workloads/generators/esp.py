"""The ESP-2 job mix (Effective System Performance benchmark) and its light variant, for any machine size."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

from batpy.workloads.columns import ColumnWorkload, Labels
from batpy.workloads.generators.build import Drawn, above, at_least, workload_of

# Type, share of the machine, number of jobs, seconds in ESP-2, seconds in the light variant.
TYPES = (
    ("A", 0.03125, 75, 267, 22),
    ("B", 0.0625, 9, 322, 27),
    ("C", 0.5, 3, 534, 45),
    ("D", 0.25, 3, 616, 51),
    ("E", 0.5, 3, 315, 26),
    ("F", 0.0625, 9, 1846, 154),
    ("G", 0.125, 6, 1334, 111),
    ("H", 0.1582, 6, 1067, 89),
    ("I", 0.03125, 24, 1432, 119),
    ("J", 0.0625, 24, 725, 60),
    ("K", 0.0957, 15, 487, 41),
    ("L", 0.125, 36, 366, 30),
    ("M", 0.25, 15, 187, 15),
    ("Z", 1.0, 2, 100, 10),
)
# When the jobs that need the whole machine come, in ESP-2; the light variant is as much shorter as its jobs.
FULL_MACHINE_DATES = (2400.0, 7200.0)
_LIGHT = 1 / 12


@dataclass(frozen=True, slots=True)
class Esp:
    """ESP-2: 230 jobs of 14 types in a random order, the two full-machine jobs late.

    Attributes:
        hosts: machine size; a type's share is rounded to the nearest whole number of hosts, at least 1.
        variant: ``esp2`` or ``light``, which is about 12 times shorter.
        interval: seconds between two submissions of the shuffled jobs; 0 submits them all at date 0.
        walltime_factor: walltime as a multiple of the run time; 0 for none. At exactly 1 Batsim kills a
            delay job at its end, so 1 is not accepted.
    """

    hosts: int = 128
    variant: Literal["esp2", "light"] = "esp2"
    interval: float = 0.0
    walltime_factor: float = 1.5

    def __post_init__(self) -> None:
        at_least("hosts", self.hosts, 1)
        at_least("interval", self.interval, 0)
        if self.walltime_factor != 0:
            above("walltime_factor", self.walltime_factor, 1)

    def generate(self, rng: random.Random, id: str, ticks_per_second: int) -> ColumnWorkload:
        """Make the mix; only the order of the jobs is random."""
        light = self.variant == "light"
        late = iter(date * (_LIGHT if light else 1.0) for date in FULL_MACHINE_DATES)
        jobs, shuffled = [], []
        for name, part, count, seconds, light_seconds in TYPES:
            run = float(light_seconds if light else seconds)
            labels = Labels(queue=name, fields={"queue": name})
            size = max(1, round(part * self.hosts))
            for _ in range(count):
                job = Drawn(0.0, run, size, run * self.walltime_factor, labels)
                if name == "Z":
                    jobs.append(Drawn(next(late), run, size, job.walltime, labels))
                else:
                    shuffled.append(job)
        rng.shuffle(shuffled)
        jobs += [
            Drawn(position * self.interval, job.run, job.res, job.walltime, job.labels)
            for position, job in enumerate(shuffled)
        ]
        text = f"ESP-2 job mix, variant {self.variant}"
        options = {"submit": "interval", "walltime": "walltime_factor"}
        return workload_of(jobs, id, "esp", self.hosts, ticks_per_second, text, options)
