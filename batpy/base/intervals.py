"""Sets of whole numbers as sorted intervals, and the text they are written in: ``0-3 5 8-9``.

Rooms that may not see each other read the same text: hosts of messages, of event files and of calendars.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

Intervals = tuple[tuple[int, int], ...]
"""Disjoint, non-adjacent, ascending pairs ``(first, last)``, both included."""

_SHORT = 200
"""Characters of a text that is worth remembering: the same few allocations are said over and over."""

LONGEST_NUMBER = 18
"""Digits of a number: what is longer is a mistake, and need not fit in 64 bits."""


def parse_intervals(text: str) -> Intervals:
    """Read ``0-3 5``; overlaps and any order are accepted, as Batsim does.

    Raises:
        ValueError: naming the element that is not ``a`` or ``a-b`` with 0 <= a <= b.
    """
    return _remembered(text) if len(text) <= _SHORT else _read(text)


def _read(text: str) -> Intervals:
    if _is_number(text):
        return ((int(text), int(text)),)
    low, _, high = text.partition("-")
    if _is_number(low) and _is_number(high) and int(low) <= int(high):
        return ((int(low), int(high)),)
    pairs = []
    for part in text.split():
        low, dash, high = part.partition("-")
        if not _is_number(low) or (dash and not _is_number(high)):
            raise ValueError(f"{part!r} is not a host id or an interval a-b")
        first = int(low)
        last = int(high) if dash else first
        if last < first:
            raise ValueError(f"{part!r} ends before it begins")
        pairs.append((first, last))
    return merge_intervals(pairs)


_remembered = lru_cache(maxsize=4096)(_read)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= LONGEST_NUMBER


def merge_intervals(pairs: Iterable[tuple[int, int]]) -> Intervals:
    """Sort and merge arbitrary pairs."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(pairs):
        if merged and first <= merged[-1][1] + 1:
            if last > merged[-1][1]:
                merged[-1] = (merged[-1][0], last)
        else:
            merged.append((first, last))
    return tuple(merged)
