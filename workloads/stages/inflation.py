"""Work inflation: more executors make the tasks of a query take longer, all together.

With W(e) seconds of task time on e executors, and e0 of them the fewest that were measured::

    W(e) = W(e0) * (1 + a * (e / e0 - 1))

one ``a`` for each query and size. It is a straight line in e: two counts tell it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from batpy.base.errors import InputError
from batpy.workloads.stages.roofline import Entry


class Inflation(Entry, frozen=True):
    """The inflation of one query at one size.

    Attributes:
        query: its name.
        bytes: it read, where it was measured.
        executors: e0, the fewest that it was measured on.
        a: share by which work grows for each e0 executors more; below 0 if it shrinks.
    """

    query: str
    executors: float
    a: float
    bytes: int = 0

    def factor(self, executors: float, recorded: float) -> float:
        """What work recorded on *recorded* executors is multiplied by on *executors*.

        Raises:
            InputError: the line falls to 0 there: this is too far from where it was measured.
        """
        there, here = (1 + self.a * (count / self.executors - 1) for count in (executors, recorded))
        if there <= 0 or here <= 0:
            problem = f"inflation of {self.query}: no work would be left on {executors:g} executors"
            raise InputError(f"{problem}; it was measured from {self.executors:g} on")
        return there / here


def fit_inflation(measured: Mapping[float, float], query: str = "", size: int = 0) -> Inflation:
    """The line through measured work, which for more than two counts fits best in relative terms.

    Args:
        measured: work (in any unit) by number of executors.

    Raises:
        InputError: fewer than two counts, or a number that is not above 0.
    """
    if len(measured) < 2:
        raise InputError(f"inflation of {query or 'a query'} needs two counts of executors")
    if not all(0 < number < math.inf for pair in measured.items() for number in pair):
        raise InputError(f"inflation of {query or 'a query'}: executors and work must be above 0")
    counts = sorted(measured)
    first = counts[0]
    steps = [count / first - 1 for count in counts]
    weights = [measured[first] / measured[count] for count in counts]
    # The normal equations of base * weight + slope * step * weight = weight of the first, for all counts.
    both = sum(weight * weight * step for weight, step in zip(weights, steps, strict=True))
    ones = sum(weight * weight for weight in weights)
    squares = sum((weight * step) ** 2 for weight, step in zip(weights, steps, strict=True))
    left = sum(weights)
    right = sum(weight * step for weight, step in zip(weights, steps, strict=True))
    base = squares * left - both * right
    slope = ones * right - both * left
    if base <= 0:
        raise InputError(f"inflation of {query or 'a query'}: the measured work fits no line")
    return Inflation(query=query, executors=first, a=float(f"{slope / base:.9g}"), bytes=size)
