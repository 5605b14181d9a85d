"""How much the durations of a GPU vary, fitted to measured samples; off unless it is asked for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True)
class Jitter:
    """Durations are those of the profile times a random factor of mean 1, lognormal.

    Clockwork's samples (60 inferences each of three models, 16 loads each of four) have relative standard
    deviations from 0.1 % to 0.6 %.

    Attributes:
        exec_sd, load_sd: relative standard deviation.
        outlier_probability: of a duration that is longer by ``outlier_factor`` on top.
    """

    exec_sd: float = 0.0
    load_sd: float = 0.0
    outlier_probability: float = 0.0
    outlier_factor: float = 1.0

    def __post_init__(self) -> None:
        for name in ("exec_sd", "load_sd"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be from 0 to 1")
        if not 0 <= self.outlier_probability <= 1:
            raise ValueError("outlier_probability must be from 0 to 1")
        if not 1 <= self.outlier_factor <= 1000:
            raise ValueError("outlier_factor must be from 1 to 1000")

    def lasting(self, nanos: int, sd: float, random: Random) -> int:
        """One duration, in whole nanoseconds."""
        spread = math.log1p(sd * sd)
        factor = math.exp(random.gauss(0.0, 1.0) * math.sqrt(spread) - spread / 2)
        if self.outlier_probability and random.random() < self.outlier_probability:
            factor *= self.outlier_factor
        return round(nanos * factor)
