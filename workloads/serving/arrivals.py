"""Generators of requests: independent of how they are answered (open loop), so nothing is left out."""

from __future__ import annotations

import random
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from typing import Protocol

from batpy.base.plugins import Registry
from batpy.base.serving import NANOS
from batpy.workloads.serving.requests import (
    DEFAULT_SLO,
    MAX_ID,
    ModelCopies,
    Request,
    RequestWorkload,
    check_models,
)


class RequestGenerator(Protocol):
    """Parameters of a model that can make requests."""

    def models(self) -> tuple[ModelCopies, ...]:
        """What the clients use."""
        ...

    def requests(self, rng: random.Random, id: str, ticks_per_second: int) -> Iterator[Request]:
        """The requests by date; equal random states give equal requests."""
        ...


@dataclass(frozen=True, slots=True)
class Poisson:
    """Poisson arrivals, each for one of the copies of a model, all equally likely.

    Attributes:
        model: path of the model, as the worker finds it.
        rate: requests a second, over all copies.
        duration: seconds.
        copies: models of that path, with the ids from ``first`` on.
        slo: seconds after the arrival until which an answer counts.
        input_size: bytes, or 0 if inputs do not matter.
    """

    model: str
    rate: float
    duration: float
    copies: int = 1
    first: int = 0
    slo: float = DEFAULT_SLO
    input_size: int = 0

    def __post_init__(self) -> None:
        for name, least, most in (
            ("rate", 1e-9, 1e9),
            ("duration", 0, 1e9),
            ("copies", 1, MAX_ID),
            ("first", 0, MAX_ID),
            ("slo", 0, 1e9),
            ("input_size", 0, 2**62),
        ):
            if not least <= getattr(self, name) <= most:
                raise ValueError(f"{name} must be from {least:g} to {most:g}")

    def models(self) -> tuple[ModelCopies, ...]:
        """See ``RequestGenerator``."""
        return (ModelCopies(self.first, self.model, self.copies),)

    def requests(self, rng: random.Random, id: str, ticks_per_second: int) -> Iterator[Request]:
        """See ``RequestGenerator``."""
        slo, date, number = round(self.slo * NANOS), rng.expovariate(self.rate), 0
        while date <= self.duration:
            model = self.first + (rng.randrange(self.copies) if self.copies > 1 else 0)
            yield Request(f"{id}!{number}", round(date * ticks_per_second), model, 1, self.input_size, slo)
            number += 1
            date += rng.expovariate(self.rate)


REQUEST_GENERATORS: Registry[RequestGenerator] = Registry("generator of requests")
REQUEST_GENERATORS.register("poisson", Poisson)


def generate_requests(spec: str, rng: random.Random, id: str, *, ticks_per_second: int) -> RequestWorkload:
    """Make the workload that a text such as ``poisson[model=resnet50_v2,rate=600,duration=10]`` asks for.

    Args:
        rng: where its random numbers come from; each pass over the requests draws the same ones.

    Raises:
        InputError: no such generator, or a parameter that cannot be used.
    """
    generator = REQUEST_GENERATORS.make(spec)
    models = generator.models()
    check_models(models, spec)
    at_first = copy(rng)
    return RequestWorkload(id, spec, models, lambda: generator.requests(copy(at_first), id, ticks_per_second))
