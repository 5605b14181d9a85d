"""How near a task is to its data, and what logs call it."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping


class Locality(enum.IntEnum):
    """Nearest first: in the reader's process (a cache), on its node, in its rack, elsewhere."""

    PROCESS = 0
    NODE = 1
    RACK = 2
    OFF_RACK = 3


YARN = {Locality.NODE: "NODE_LOCAL", Locality.RACK: "RACK_LOCAL", Locality.OFF_RACK: "OFF_SWITCH"}
"""Names in YARN's interfaces and in ``.jhist`` files."""
SPARK = {
    Locality.PROCESS: "PROCESS_LOCAL",
    Locality.NODE: "NODE_LOCAL",
    Locality.RACK: "RACK_LOCAL",
    Locality.OFF_RACK: "ANY",
}
"""Names in Spark's event logs, which also know ``NO_PREF``: the task has no place it would rather be."""
COUNTERS = {
    Locality.NODE: "DATA_LOCAL_MAPS",
    Locality.RACK: "RACK_LOCAL_MAPS",
    Locality.OFF_RACK: "OTHER_LOCAL_MAPS",
}
"""Names of MapReduce's job counters."""

_NAMES = {name: level for names in (YARN, SPARK, COUNTERS) for level, name in names.items()}


def level_named(name: str) -> Locality | None:
    """The level that a log's name means; None for ``NO_PREF`` and for names that tell no level."""
    return _NAMES.get(name)


def histogram(levels: Iterable[int]) -> dict[Locality, int]:
    """Number of reads (or tasks) at each level; all four levels are keys."""
    counts = dict.fromkeys(Locality, 0)
    for level in levels:
        counts[Locality(level)] += 1
    return counts


def histogram_of_log(names: Mapping[str, int]) -> dict[Locality, int]:
    """The histogram of a log's names, such as ``Stage.locality``; tasks without a preference are left out."""
    counts = dict.fromkeys(Locality, 0)
    for name, count in names.items():
        level = level_named(name)
        if level is not None:
            counts[level] += count
    return counts
