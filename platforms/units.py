"""Quantities with units, as SimGrid and users of experiment files write them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

_QUANTITY = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([A-Za-z]*)")
_LETTERS = ("", "k", "M", "G", "T", "P", "E", "Z", "Y")
_WORDS = ("", "kilo", "mega", "giga", "tera", "peta", "exa", "zetta", "yotta")

# A speed without a unit is in flops (SimGrid 3.32).
FLOPS = {"": 1.0}
FLOPS.update({f"{letter}f": 1000.0**power for power, letter in enumerate(_LETTERS)})
FLOPS.update({f"{word}flops": 1000.0**power for power, word in enumerate(_WORDS)})

BYTES = {"": 1.0}
BYTES.update({f"{letter}B": 1000.0**power for power, letter in enumerate(_LETTERS)})
BYTES.update({f"{letter.upper()}iB": 1024.0**power for power, letter in enumerate(_LETTERS) if letter})

# A bandwidth without a unit is in bytes per second; ``bps`` are bits per second (SimGrid 3.32). ``KBps`` is
# in its manual but not in its code; it can only mean one thing.
BANDWIDTHS = {"": 1.0}
for _power, _letter in enumerate(_LETTERS):
    for _prefix in (_letter, _letter.upper()):
        BANDWIDTHS.update({f"{_prefix}Bps": 1000.0**_power, f"{_prefix}bps": 1000.0**_power / 8})
    if _letter:
        _prefix = f"{_letter.upper()}i"
        BANDWIDTHS.update({f"{_prefix}Bps": 1024.0**_power, f"{_prefix}bps": 1024.0**_power / 8})

# A time without a unit is in seconds (SimGrid 3.32).
TIMES = {"": 1.0, "w": 604800.0, "d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0}
TIMES |= {"ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12}


def quantity(text: str, units: Mapping[str, float], example: str) -> float:
    """The value of ``number unit``, in the base unit of *units*.

    Args:
        text: such as ``76.296Mf``; blanks around and inside are tolerated.
        units: unit name to its factor; ``""`` for a bare number.
        example: a well-formed value, for the complaint.

    Raises:
        ValueError: one line that quotes *text*; also for negative and infinite values.
    """
    match = _QUANTITY.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text.strip()!r} is not a number with a unit, such as {example}")
    number, unit = match.groups()
    factor = units.get(unit)
    if factor is None:
        known = ", ".join(sorted((name for name in units if name), key=lambda name: units[name])[:8])
        raise ValueError(f"{text.strip()!r} has the unknown unit {unit!r}; known: {known}, ...")
    value = float(number) * factor
    if value < 0 or not math.isfinite(value):
        raise ValueError(f"{text.strip()!r} must be finite and at least 0")
    return value


def speeds(text: str) -> tuple[float, ...]:
    """Flops per second of each pstate, from a comma list such as ``100Mf, 50Mf, 0.1429f``.

    Raises:
        ValueError: one line that quotes the bad item.
    """
    return tuple([quantity(item, FLOPS, "76.296Mf") for item in text.split(",")])


def size_bytes(text: str) -> int:
    """Bytes of a size such as ``64GB`` (10^9) or ``64GiB`` (2^30); a bare number is in bytes.

    Raises:
        ValueError: one line that quotes *text*.
    """
    return round(quantity(text, BYTES, "64GiB"))
