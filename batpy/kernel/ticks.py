"""Integer time: a run has one resolution, and floats are rounded once, at the edge."""

from __future__ import annotations

import math

DEFAULT_TICKS_PER_SECOND = 1_000_000
# Float noise taken off before a computed duration is rounded up, relative to the duration.
NOISE = 1e-9


def seconds_text(ticks: int, ticks_per_second: int) -> str:
    """A date or duration for people: seconds, exact where six digits suffice, such as ``12.5 s``."""
    whole, rest = divmod(ticks, ticks_per_second)
    if not rest:
        return f"{whole} s"
    fraction = f"{rest / ticks_per_second:.9f}".rstrip("0").removeprefix("0")
    return f"{whole}{fraction if len(fraction) > 1 else ''} s"


def round_up(exact: float) -> int:
    """Smallest tick at or after *exact* ticks, with float noise of 1e-9 relative taken off first."""
    nearest = round(exact)
    if nearest == exact or abs(exact - nearest) <= NOISE * max(1.0, abs(exact)):
        return nearest
    return math.ceil(exact)
