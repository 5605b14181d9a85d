"""Synthetic workloads: published models and benchmark mixes, drawn from a given source of random numbers.

A generator is a frozen dataclass of its parameters; ``generate(rng, id, ticks_per_second)`` makes the
workload.
"""

from __future__ import annotations

import random
from typing import Protocol

from batpy.base.errors import InputError
from batpy.base.plugins import Registry
from batpy.workloads.columns import ColumnWorkload
from batpy.workloads.seconds import DEFAULT_TICKS_PER_SECOND


class Generator(Protocol):
    """Parameters of a model that can make a workload."""

    def generate(self, rng: random.Random, id: str, ticks_per_second: int) -> ColumnWorkload:
        """Make a workload; equal random states give equal workloads."""
        ...


GENERATORS: Registry[Generator] = Registry("generator", group="batpy.generators")
GENERATORS.register("lublin", "batpy.workloads.generators.lublin:Lublin")
GENERATORS.register("exponential", "batpy.workloads.generators.exponential:Exponential")
GENERATORS.register("esp", "batpy.workloads.generators.esp:Esp")


def generate(
    spec: str, rng: random.Random, id: str = "w0", *, ticks_per_second: int = DEFAULT_TICKS_PER_SECOND
) -> ColumnWorkload:
    """Make the workload that a text such as ``lublin[jobs=1000,hosts=128]`` asks for.

    Args:
        spec: name and parameters of the generator.
        rng: where its random numbers come from; nothing else is random.
        id: workload id.
        ticks_per_second: the run's resolution.

    Raises:
        InputError: no such generator, or a parameter that cannot be used.
    """
    generator = GENERATORS.make(spec)
    try:
        workload = generator.generate(rng, id, ticks_per_second)
    except ValueError as why:
        raise InputError(str(why), source=spec) from None
    except ArithmeticError:
        problem = "its dates and durations leave the range of numbers; give less extreme options"
        raise InputError(problem, source=spec) from None
    workload.source = spec
    return workload
