"""Conversions between the seconds that files use and the integer ticks used inside."""

from __future__ import annotations

DEFAULT_TICKS_PER_SECOND = 1_000_000


def to_ticks(seconds: float, ticks_per_second: int) -> int:
    """The tick nearest to a date or a limit given by a file."""
    return round(seconds * ticks_per_second)


def limit_ticks(seconds: float, ticks_per_second: int) -> int:
    """As :func:`to_ticks`, but never 0: a limit that was given stays a limit."""
    return max(1, round(seconds * ticks_per_second))


def plain(seconds: float) -> float:
    """The same number, as an integer where it is one, so that files show ``20`` and not ``20.0``."""
    return int(seconds) if seconds == int(seconds) else seconds


def text_of(seconds: float) -> str:
    """Shortest text that reads back as the same number, without a needless ``.0``."""
    return repr(plain(seconds))
