"""Integer time: a run has one resolution, and floats are rounded once, at the edge."""

from __future__ import annotations

import math

DEFAULT_TICKS_PER_SECOND = 1_000_000
# Float noise taken off before a computed duration is rounded up, relative to the duration.
NOISE = 1e-9


def round_up(exact: float) -> int:
    """Smallest tick at or after *exact* ticks, with float noise of 1e-9 relative taken off first."""
    nearest = round(exact)
    if nearest == exact or abs(exact - nearest) <= NOISE * max(1.0, abs(exact)):
        return nearest
    return math.ceil(exact)
