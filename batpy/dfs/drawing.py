"""Random numbers that are the same on every machine and in every version.

Only raw bits are taken from a generator: numpy promises those of its bit generators, not those of its
distributions, and Python those of the Mersenne Twister. What is made of them here is integer arithmetic.
"""

from __future__ import annotations

import random

import numpy as np
from numpy.typing import NDArray

Rng = np.random.Generator | random.Random
Words = NDArray[np.uint64]
"""Uniform on [0, 2**32); 64 bits wide, so that a product with a bound below 2**32 fits."""


def words(rng: Rng, *shape: int) -> Words:
    """So many words, drawn in row-major order: two calls give what one for both would give, row by row."""
    count = int(np.prod(shape, dtype=np.int64))
    if isinstance(rng, random.Random):
        raw = np.frombuffer(rng.randbytes(4 * count), dtype="<u4").astype(np.uint64)
    else:
        raw = np.asarray(rng.bit_generator.random_raw(count), dtype=np.uint64) >> np.uint64(32)
    return raw.reshape(shape)


def below(word: Words, bound: NDArray[np.int64] | int) -> NDArray[np.int64]:
    """Integers in [0, bound), by multiplication (Lemire 2019); 0 where the bound is 0.

    Args:
        bound: less than 2**31. Each number is as likely as any other within bound / 2**32.
    """
    return ((word * np.asarray(bound, dtype=np.uint64)) >> np.uint64(32)).astype(np.int64)


def fractions(rng: Rng, *shape: int) -> NDArray[np.float64]:
    """Uniform on (0, 1), never at an end."""
    return (words(rng, *shape).astype(np.float64) + 0.5) / 2.0**32


def some_of(rng: Rng, count: int, population: int) -> NDArray[np.int64]:
    """*count* different numbers below *population*, in the order drawn (Fisher and Yates)."""
    assert 0 <= count <= population
    numbers = np.arange(population, dtype=np.int64)
    draws = words(rng, count)
    for place in range(count):
        other = place + int(below(draws[place : place + 1], population - place)[0])
        numbers[place], numbers[other] = numbers[other], numbers[place]
    return numbers[:count]
