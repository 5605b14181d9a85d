"""The coarse model: no blocks, only which share of a phase's bytes comes from near and from far.

Each node of a job reads the same share of the phase: a fraction from its own disk, one from the disks of the
job's other nodes, one from the disks of nodes outside of the job, each of them alike. What a write sends is
spread alike in the same way. Real loads are uneven, since blocks are whole and replicas fall where they fall;
a *skew* tells how much more than its even share the most loaded resource of a kind has.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from batpy.base.errors import InputError
from batpy.dfs.coarse_loads import NODE_KINDS, RACK_KINDS, Fractions, Skew, mask, read_loads, write_loads
from batpy.dfs.drawing import Rng, below, fractions, words
from batpy.dfs.locality import Locality, histogram_of_log
from batpy.dfs.traffic import Floats, Loads, Traffic


@dataclass(frozen=True)
class Draw:
    """What one phase that reads has: its fractions, and how uneven its loads are."""

    shares: Fractions
    skew: Skew = field(default_factory=Skew)


@dataclass(frozen=True)
class CoarseModel:
    """How the fractions of a phase are drawn.

    Attributes:
        mean: the fractions on average.
        spread: ``fixed``: always the mean; ``uniform``: the node's fraction is drawn within *width* of its
            mean, the others keep their ratio; ``dirichlet``: drawn with parameters *concentration* * mean;
            ``recorded``: one of *reads* (each with a skew of its own), as ``fit`` makes them.
        skew: of reads, for the forms that are not recorded.
        writes: one of them is the skew of a phase that writes; even if there are none.
    """

    mean: Fractions
    spread: Literal["fixed", "uniform", "dirichlet", "recorded"] = "fixed"
    width: float = 0.0
    concentration: float = 100.0
    skew: Skew = field(default_factory=Skew)
    reads: tuple[Draw, ...] = ()
    writes: tuple[Skew, ...] = ()

    def __post_init__(self) -> None:
        if self.spread == "uniform" and not 0 <= self.width <= min(self.mean.node, 1 - self.mean.node):
            raise InputError("width: the node's fraction must stay from 0 to 1")
        if self.concentration <= 0:
            raise InputError("concentration: must be above 0")
        if self.spread == "recorded" and not self.reads:
            raise InputError("a recorded model needs some phases that read")

    def draw(self, rng: Rng) -> Draw:
        """A phase that reads."""
        if self.spread == "recorded":
            return self.reads[_one_of(rng, len(self.reads))]
        return Draw(self._shares(rng), self.skew)

    def draw_write(self, rng: Rng) -> Skew:
        """A phase that writes."""
        return self.writes[_one_of(rng, len(self.writes))] if self.writes else Skew()

    def _shares(self, rng: Rng) -> Fractions:
        mean = self.mean
        if self.spread == "fixed":
            return mean
        if self.spread == "dirichlet":
            shares = (mean.node, mean.in_job, mean.out_of_job)
            parts = [_gamma(rng, self.concentration * share) if share > 0 else 0.0 for share in shares]
            total = sum(parts)
            return Fractions(*(part / total for part in parts)) if total > 0 else mean
        node = mean.node + self.width * (2 * float(fractions(rng, 1)[0]) - 1)
        rest = mean.in_job + mean.out_of_job
        share = mean.in_job / rest if rest else 0.5
        return Fractions(node, (1 - node) * share, (1 - node) * (1 - share))


NOTEBOOK = CoarseModel(Fractions(0.60, 0.25, 0.15))
"""The guess of the first notes on Bebida in simulation: 60 % own disk, 25 % in the job, 15 % outside."""
BEBIDA_2017 = CoarseModel(Fractions(0.70, 0.30 * 25 / 40, 0.30 * 15 / 40), "uniform", 0.10)
"""What the later simulator had, "observed in Bebida experiments": 70 +- 10 % on the node, uniform. The rest
is shared between in and outside of the job as in ``NOTEBOOK``: the experiments did not tell them apart."""

PRESETS: dict[str, CoarseModel] = {"notebook": NOTEBOOK, "bebida2017": BEBIDA_2017}


def model_from_log(locality: Mapping[str, int], job: int, cluster: int) -> CoarseModel:
    """A model of the locality histogram of a log, such as ``Stage.locality`` summed over stages.

    A log does not tell whether remote data came from the job's nodes; replicas fall on any node alike, so
    the job's others get their share of the remote reads: (job - 1) / (cluster - 1).

    Args:
        job, cluster: number of nodes of the job and of the cluster.

    Raises:
        InputError: no task of the histogram had a preference.
    """
    counts = histogram_of_log(locality)
    total = sum(counts.values())
    if not total:
        raise InputError("no task of this log tells how near its data was")
    node = (counts[Locality.PROCESS] + counts[Locality.NODE]) / total
    inside = (job - 1) / (cluster - 1) if cluster > 1 else 0.0
    return CoarseModel(Fractions(node, (1 - node) * inside, (1 - node) * (1 - inside)).possible(job, cluster))


# ------------------------------------------------------------------------------- fit to the fine model


@dataclass(frozen=True, eq=False)
class Sample:
    """A phase of the fine model.

    Attributes:
        job: nodes of the job.
        volume: bytes that it read or wrote itself (replicas not counted).
    """

    job: tuple[int, ...]
    volume: int
    traffic: Traffic

    def fractions(self) -> Fractions:
        """Where its bytes came from; all from the own disk if it read none."""
        reads, inside = self.traffic.reads, mask(self.traffic.topology, self.job)
        total = float(reads.bytes.sum())
        if not total:
            return Fractions(1.0, 0.0, 0.0)
        own = reads.source == reads.target
        near = ~own & inside[reads.source]
        node, in_job = float(reads.bytes[own].sum()) / total, float(reads.bytes[near].sum()) / total
        return Fractions(node, in_job, max(0.0, 1.0 - node - in_job))


def fit(reads: Sequence[Sample], writes: Sequence[Sample] = (), replication: int = 3) -> CoarseModel:
    """The coarse model of some phases of the fine one, all of one cluster, job size and volume per node.

    Recorded are, of each phase that reads, its fractions and the skew of each kind of load: the largest over
    what the coarse model gives with those fractions; of each phase that writes, its skew. A draw keeps what
    was recorded together, since the slowest of several uneven resources decides: mean fractions with mean
    skews miss the mean time by up to 19 %, draws of records by what the number of phases leaves to chance.

    Raises:
        InputError: there are no reads.
    """
    if not reads:
        raise InputError("a fit of the coarse model needs some phases that read")
    draws = []
    for sample in reads:
        shares = sample.fractions()
        even = read_loads(sample.traffic.topology, sample.job, sample.volume, shares)
        draws.append(Draw(shares, _skew(sample, even)))
    count = len(draws)
    node = sum(draw.shares.node for draw in draws) / count
    in_job = sum(draw.shares.in_job for draw in draws) / count
    mean = Fractions(node, in_job, max(0.0, 1 - node - in_job))
    skews = [
        _skew(sample, write_loads(sample.traffic.topology, sample.job, sample.volume, replication))
        for sample in writes
    ]
    return CoarseModel(mean, "recorded", reads=tuple(draws), writes=tuple(skews))


def _skew(sample: Sample, even: Loads) -> Skew:
    inside, real = mask(sample.traffic.topology, sample.job), sample.traffic.loads()
    return Skew(
        {kind: _ratio(getattr(real, kind)[inside], getattr(even, kind)[inside]) for kind in NODE_KINDS},
        {kind: _ratio(getattr(real, kind)[~inside], getattr(even, kind)[~inside]) for kind in NODE_KINDS},
        {kind: _ratio(getattr(real, kind), getattr(even, kind).mean(keepdims=True)) for kind in RACK_KINDS},
    )


def _ratio(real: Floats, expected: Floats) -> float:
    top = float(expected.max(initial=0.0))
    return float(real.max(initial=0.0)) / top if top > 0 else 1.0


def _one_of(rng: Rng, count: int) -> int:
    return int(below(words(rng, 1), count)[0])


def _gamma(rng: Rng, shape: float) -> float:
    """A draw of the gamma law with scale 1 (Marsaglia and Tsang 2000)."""
    if shape < 1:
        return _gamma(rng, shape + 1) * math.pow(float(fractions(rng, 1)[0]), 1 / shape)
    center = shape - 1 / 3
    while True:
        one, other, draw = fractions(rng, 3).tolist()
        normal = math.sqrt(-2 * math.log(one)) * math.cos(2 * math.pi * other)
        cube = (1 + normal / math.sqrt(9 * center)) ** 3
        if cube > 0 and math.log(draw) < normal * normal / 2 + center * (1 - cube + math.log(cube)):
            return center * cube
