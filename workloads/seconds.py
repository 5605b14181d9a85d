"""Conversions between the seconds that files use and the integer ticks used inside."""

from __future__ import annotations

import math

from batpy.base.dates import MAX_SECONDS, nearest_tick

DEFAULT_TICKS_PER_SECOND = 1_000_000
MAX_NUMBER = 1e30
"""No date, duration or amount of work is larger; sums of larger ones would leave the range of floats."""
MAX_INTEGER = 2**53
"""No count is larger: beyond it floats skip integers."""


def number_problem(value: object) -> str | None:
    """What keeps *value*, as JSON gave it, from being a finite number; None if nothing does."""
    if value is None:
        return "missing; a number is required"
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -math.inf < value < math.inf:
        return f"must be a finite number, got {value!r}"
    # Compared, not converted: an integer may be too large for a float.
    return None if -MAX_NUMBER <= value <= MAX_NUMBER else f"must be at most {MAX_NUMBER:g}"


def seconds_problem(value: float) -> str | None:
    """What keeps a number of at least 0 from being a date or a duration; None if nothing does."""
    return None if value <= MAX_SECONDS else f"must be at most {MAX_SECONDS:g} seconds, got {value!r}"


def to_ticks(seconds: float, ticks_per_second: int) -> int:
    """The tick nearest to a date or a limit given by a file."""
    return nearest_tick(seconds, ticks_per_second)


def limit_ticks(seconds: float, ticks_per_second: int) -> int:
    """As :func:`to_ticks`, but never 0: a limit that was given stays a limit."""
    return max(1, nearest_tick(seconds, ticks_per_second))


def plain(seconds: float) -> float:
    """The same number, as an integer where it is one, so that files show ``20`` and not ``20.0``."""
    return int(seconds) if seconds == int(seconds) else seconds


def text_of(seconds: float) -> str:
    """Shortest text that reads back as the same number, without a needless ``.0``."""
    return repr(plain(seconds))
