"""Random streams: one seed in, one named and independent generator for each consumer out."""

from __future__ import annotations

import hashlib
import random


def stream(seed: int, *path: str | int) -> random.Random:
    """A generator for one purpose, the same in every process, on every machine, in every version.

    Args:
        seed: the run's seed.
        path: names of the consumer, such as ``("workload", "spark", "arrivals")``. Adding a consumer
            never shifts the numbers another one draws.
    """
    label = "/".join(map(str, (seed, *path)))
    digest = hashlib.blake2b(label.encode(), digest_size=8).digest()
    return random.Random(int.from_bytes(digest, "big"))
