"""Orders of a queue: named ones, and weighted sums of what is known of a job.

| name | first is |
|---|---|
| ``fcfs`` / ``lcfs`` | the first / last to arrive |
| ``sjf`` / ``ljf`` | the shortest / longest walltime (none given: the longest) |
| ``narrowest`` / ``widest`` | the fewest / most hosts |
| ``smallest_area``, ``saf`` / ``largest_area``, ``laf`` | the smallest / largest hosts x walltime |
| ``expansion_factor``, ``xf`` | the largest (waiting + walltime) / walltime; changes as time goes by |

A weighted sum is written ``2*wait-0.5*walltime+10*res``; its terms are ``wait`` and ``walltime`` in seconds,
``res`` in hosts, ``area`` in host-seconds and ``expansion``; the largest sum is first. A job without
walltime counts with that of the ``FOREVER`` tick. Equal keys keep the order of arrival.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec

from batpy.schedulers.api import Job

Key = Callable[[Job, int], float]
"""Sorts ascending; the second argument is the clock, which only a ``dynamic`` order looks at."""


class Order(msgspec.Struct, frozen=True):
    """An order as the user named it.

    Attributes:
        dynamic: keys of waiting jobs change with time, not all alike.
        arrival: it is the order of arrival.
    """

    text: str
    key: Key
    dynamic: bool = False
    arrival: bool = False

    def sort(self, jobs: list[Job], now: int) -> list[Job]:
        """Jobs by (key, arrival)."""
        if self.arrival:
            return sorted(jobs, key=lambda job: job.serial)
        key = self.key
        return sorted(jobs, key=lambda job: (key(job, now), job.serial))


def _expansion(job: Job, now: int) -> float:
    length = max(job.length, 1)
    return (now - job.submitted + length) / length


_NAMED: dict[str, Order] = {
    "fcfs": Order("fcfs", lambda _job, _now: 0, arrival=True),
    "lcfs": Order("lcfs", lambda job, _now: -job.serial),
    "sjf": Order("sjf", lambda job, _now: job.length),
    "ljf": Order("ljf", lambda job, _now: -job.length),
    "narrowest": Order("narrowest", lambda job, _now: job.res),
    "widest": Order("widest", lambda job, _now: -job.res),
    "smallest_area": Order("smallest_area", lambda job, _now: job.res * job.length),
    "largest_area": Order("largest_area", lambda job, _now: -job.res * job.length),
    "expansion_factor": Order("expansion_factor", lambda job, now: -_expansion(job, now), dynamic=True),
}
ORDER_ALIASES = {"saf": "smallest_area", "laf": "largest_area", "xf": "expansion_factor"}
_FEATURES = ("wait", "walltime", "res", "area", "expansion")
_TERM = r"([+-])(?:([0-9.]+(?:[eE][+-]?[0-9]+)?)\*)?([a-z]+)"

ORDER_NAMES = tuple(_NAMED)


def parse_order(text: str, ticks_per_second: int) -> Order:
    """The order a text names.

    Raises:
        ValueError: it names none.
    """
    named = _NAMED.get(ORDER_ALIASES.get(text, text))
    return named if named is not None else _weighted(text, ticks_per_second)


def check_order(text: str) -> None:
    """Refuse a text that names no order, before the resolution of the run is known."""
    parse_order(text, 1)


def _weighted(text: str, ticks_per_second: int) -> Order:
    import re

    pattern = re.compile(_TERM)
    body = text.replace(" ", "")
    if body and body[0] not in "+-":
        body = "+" + body
    weights: dict[str, float] = {}
    position = 0
    while position < len(body):
        term = pattern.match(body, position)
        if term is None or term[3] not in _FEATURES:
            break
        weight = _weight(term[2], text)
        weights[term[3]] = weights.get(term[3], 0.0) + (weight if term[1] == "+" else -weight)
        position = term.end()
    if position < len(body) or not weights:
        raise ValueError(
            f"{text!r} is no order; choose from {', '.join(ORDER_NAMES)}, "
            f"or write a sum such as 2*wait-walltime of {', '.join(_FEATURES)}"
        )
    return Order(text, _weighted_key(weights, ticks_per_second), dynamic="expansion" in weights)


def _weight(text: str | None, whole: str) -> float:
    try:
        weight = 1.0 if text is None else float(text)
    except ValueError:
        weight = math.nan
    if not math.isfinite(weight):
        raise ValueError(f"{whole!r}: {text!r} is not a weight")
    return weight


def _weighted_key(weights: dict[str, float], ticks_per_second: int) -> Key:
    per_second = 1.0 / ticks_per_second
    # Waiting grows alike for all jobs, so that its part of the order does not depend on the clock.
    arrival = weights.get("wait", 0.0) * per_second
    walltime = weights.get("walltime", 0.0) * per_second
    res = weights.get("res", 0.0)
    area = weights.get("area", 0.0) * per_second
    expansion = weights.get("expansion", 0.0)

    def key(job: Job, now: int) -> float:
        least = arrival * job.submitted - walltime * job.length - res * job.res - area * job.res * job.length
        return least - expansion * _expansion(job, now) if expansion else least

    return key
