"""The model of rigid jobs by Lublin and Feitelson.

U. Lublin and D. G. Feitelson, "The workload on parallel supercomputers: modeling the characteristics of rigid
jobs", Journal of Parallel and Distributed Computing 63(11), 2003. Sizes: serial jobs apart, the logarithm of
the size is two-stage uniform, powers of two favoured. Run times: the logarithm is hyper-gamma, with the
weight of the short gamma falling linearly with the size. Arrivals: the logarithm of the rush-hour interval is
gamma, stretched over a daily cycle of half hours whose weights come from a second gamma.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from batpy.workloads.columns import ColumnWorkload, Labels
from batpy.workloads.generators.build import Drawn, above, at_least, share, workload_of

SLOTS = 48
SLOT_SECONDS = 1800.0
# The weights of the daily cycle begin at this half hour and are wrapped around midnight.
FIRST_SLOT = 11
# Longer ones are drawn again: e^12 s is 45 hours, e^13 s is five days.
LOG_LONGEST_RUN = 12.0
LOG_LONGEST_INTERVAL = 13.0


@dataclass(frozen=True, slots=True)
class Kind:
    """Published parameters of one kind of jobs.

    Attributes:
        serial, power: shares of serial jobs and of jobs on a power of two of hosts.
        low, high: log2 of the smallest and of the largest parallel job; ``high`` belongs to a machine of
            2 ** high hosts and is replaced by that of the machine asked for.
        step: how far below ``high`` the two uniforms meet.
        low_share: share of the lower uniform.
        short, long: shape and scale of the two gammas of the logarithm of the run time.
        slope, offset: weight of the short gamma is ``slope * hosts + offset``.
        rush: shape and scale of the gamma of the logarithm of the interval in rush hours.
        rush_ratio: multiplies that shape, from rush hours to all hours.
        day: shape and scale of the gamma behind the daily cycle.
    """

    serial: float
    power: float
    low: float
    high: float
    step: float
    low_share: float
    short: tuple[float, float]
    long: tuple[float, float]
    slope: float
    offset: float
    rush: tuple[float, float]
    rush_ratio: float
    day: tuple[float, float]


ALL = Kind(
    0.244, 0.576, 0.8, 7.0, 2.5, 0.86,
    (4.2, 0.94), (312.0, 0.03), -0.0054, 0.78,
    (10.2303, 0.4871), 1.0225, (8.1737, 3.9631),
)  # fmt: skip
BATCH = Kind(
    0.2927, 0.6686, 1.2, 7.0, 2.0, 0.875,
    (6.57, 0.823), (639.1, 0.0156), -0.003, 0.6986,
    (6.0415, 0.8531), 1.0519, (6.1271, 5.2740),
)  # fmt: skip
INTERACTIVE = Kind(
    0.1541, 0.625, 1.0, 5.5, 2.5, 0.705,
    (3.8351, 0.6605), (7.073, 0.6856), -0.0118, 0.9156,
    (6.5510, 0.6621), 0.9797, (8.9186, 3.6680),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Lublin:
    """Lublin and Feitelson's model (2003) of rigid jobs, with its published parameters.

    Attributes:
        jobs: how many.
        hosts: machine size, 2 at least. The published sizes are for 128 hosts; for others the two uniforms
            keep their distance from the top, as the authors advise. Interactive jobs stay 1.5 octaves below.
        kinds: ``all`` draws from one set of parameters; ``both`` mixes batch and interactive jobs, each with
            its own arrivals, in queues 1 and 0 as the authors' program does; ``batch`` or ``interactive``
            draws one of the two.
        start_hour: hour of the day at date 0.
        interarrival_factor: multiplies every interval; below 1 the load rises.
        walltime_factor: walltime as a multiple of the run time; 0 (the model has none) for no walltime.
    """

    jobs: int = 1000
    hosts: int = 128
    kinds: Literal["all", "both", "batch", "interactive"] = "all"
    start_hour: int = 0
    interarrival_factor: float = 1.0
    walltime_factor: float = 0.0

    def __post_init__(self) -> None:
        at_least("jobs", self.jobs, 1)
        at_least("hosts", self.hosts, 2)
        share("start_hour / 24", self.start_hour / 24)
        above("interarrival_factor", self.interarrival_factor, 0)
        if self.walltime_factor != 0:
            above("walltime_factor", self.walltime_factor, 1)

    def generate(self, rng: random.Random, id: str, ticks_per_second: int) -> ColumnWorkload:
        """Draw the jobs in the order of their arrival: next arrival of the same kind, size, run time."""
        streams = [
            (_arrivals(kind, self.start_hour, rng), kind, Labels(queue=queue, fields={"queue": queue}))
            for kind, queue in _KINDS[self.kinds]
        ]
        dates = [next(arrivals) for arrivals, _, _ in streams]
        jobs = []
        for _ in range(self.jobs):
            turn = dates.index(min(dates))
            arrivals, kind, labels = streams[turn]
            date, dates[turn] = dates[turn], next(arrivals)
            size = draw_size(kind, self.hosts, rng)
            run = draw_run_time(kind, size, rng)
            walltime = run * self.walltime_factor
            jobs.append(Drawn(date * self.interarrival_factor, run, size, walltime, labels))
        first = min(job.submit for job in jobs)
        jobs = [Drawn(job.submit - first, job.run, job.res, job.walltime, job.labels) for job in jobs]
        text = f"Lublin and Feitelson 2003, {self.kinds} jobs"
        options = {"submit": "interarrival_factor", "run": "kinds", "walltime": "walltime_factor"}
        return workload_of(jobs, id, "lublin", self.hosts, ticks_per_second, text, options)


_KINDS = {
    "all": [(ALL, "0")],
    "both": [(INTERACTIVE, "0"), (BATCH, "1")],
    "batch": [(BATCH, "1")],
    "interactive": [(INTERACTIVE, "0")],
}


def draw_size(kind: Kind, hosts: int, rng: random.Random) -> int:
    """Hosts of one job: 1, a power of two, or 2 to a two-stage uniform power, rounded; at most *hosts*."""
    choice = rng.random()
    if choice <= kind.serial:
        return 1
    high = max(1.0, math.log2(hosts) - (ALL.high - kind.high))
    low = min(kind.low, high)
    middle = min(max(low, high - kind.step), high)
    ends = (low, middle) if rng.random() <= kind.low_share else (middle, high)
    power = rng.uniform(*ends)
    if choice <= kind.serial + kind.power:
        power = math.floor(power + 0.5)
    return min(hosts, math.floor(2**power + 0.5))


def draw_run_time(kind: Kind, size: int, rng: random.Random) -> float:
    """Run time of one job in whole seconds; large jobs draw from the long gamma more often."""
    short_share = min(1.0, max(0.0, kind.slope * size + kind.offset))
    while True:
        shape, scale = kind.short if rng.random() <= short_share else kind.long
        logarithm = rng.gammavariate(shape, scale)
        if logarithm <= LOG_LONGEST_RUN:
            return float(math.floor(math.exp(logarithm)))


def daily_weights(kind: Kind) -> list[float]:
    """Relative rate of arrivals in each half hour of a day from midnight; their mean is 1."""
    shape, scale = kind.day
    weights = [0.0] * SLOTS
    for slot in range(FIRST_SLOT, FIRST_SLOT + SLOTS):
        part = gamma_cdf((slot + 0.5) / scale, shape) - gamma_cdf((slot - 0.5) / scale, shape)
        weights[(slot - 1) % SLOTS] = part
    mean = math.fsum(weights) / SLOTS
    return [weight / mean for weight in weights]


def _arrivals(kind: Kind, start_hour: int, rng: random.Random) -> Iterator[float]:
    """Dates in whole seconds. An interval is drawn in slots of average weight and spent slot by slot."""
    weights = daily_weights(kind)
    shape, scale = kind.rush[0] * kind.rush_ratio, kind.rush[1]
    slot = start_hour * SLOTS // 24 % SLOTS
    day_slots, spent = 0, 0.0
    while True:
        logarithm = rng.gammavariate(shape, scale)
        while logarithm > LOG_LONGEST_INTERVAL:
            logarithm = rng.gammavariate(shape, scale)
        spent += math.exp(logarithm) / SLOT_SECONDS
        while spent > weights[slot]:
            spent -= weights[slot]
            slot = (slot + 1) % SLOTS
            day_slots += 1
        yield math.floor((day_slots + spent / weights[slot]) * SLOT_SECONDS)


def gamma_cdf(x: float, shape: float) -> float:
    """Distribution function of the gamma distribution with scale 1: the regularised lower incomplete gamma.

    By its power series, whose terms are all positive; it converges for every x, fast enough below
    ``shape + 50``.
    """
    if x <= 0:
        return 0.0
    term = total = 1.0 / shape
    divisor = shape
    while term > total * 1e-15:
        divisor += 1
        term *= x / divisor
        total += term
    return min(1.0, total * math.exp(shape * math.log(x) - x - math.lgamma(shape)))
