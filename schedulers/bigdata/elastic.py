"""How wide an elastic job runs, and when it pays to stop it so that it goes on wider: pure functions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping


def slowest_speed(hosts: Iterable[Mapping[str, object]]) -> float | None:
    """Flops per second of the slowest host, or None if SIMULATION_BEGINS does not tell (Batsim)."""
    speeds: list[float] = []
    for host in hosts:
        told = host.get("speed")
        first = told[0] if isinstance(told, list) and told else told
        if isinstance(first, (int, float)) and first > 0:
            speeds.append(float(first))
    return min(speeds, default=None)


def time_left(
    flops: float,
    width: int,
    speed: float | None,
    elapsed: float,
    walltime: float | None,
    seconds: float = 0.0,
) -> float:
    """Seconds that a job which started *elapsed* seconds ago has still to run, at most.

    Args:
        flops: its work at its start; computing on *width* hosts at *speed* bounds it if both are known.
        walltime: seconds, or None.
        seconds: what it has to do beside that, as time on one host.

    Returns:
        infinity if nothing is known.
    """
    bounds = [math.inf]
    if (speed is not None and flops > 0) or (seconds > 0 and flops == 0):
        alone = flops / speed if speed is not None else 0.0
        bounds.append((alone + seconds) / width - elapsed)
    if walltime is not None:
        bounds.append(walltime - elapsed)
    return max(0.0, min(bounds))


def gain_of_growing(left: float, width: int, wider: int) -> float:
    """Seconds by which a job with *left* seconds to run on *width* hosts ends earlier on *wider* ones."""
    return left * (1.0 - width / wider) if wider > width else 0.0
