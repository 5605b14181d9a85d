"""Ticks as decimal seconds, by integer arithmetic alone: a date is never rounded through a float.

Batsim's tables print dates with C's ``%f`` (six decimals), which is exact at the default resolution of
1,000,000 ticks a second. A finer resolution gets the digits it needs; one that has no finite decimal form
(7 or 30 ticks a second) is rounded to the sixth decimal, ties to even.
"""

from __future__ import annotations

from collections.abc import Callable

DIGITS = 6
# A resolution that needs more decimals than this is rounded like one that has no finite decimal form.
MOST_DIGITS = 12

ToText = Callable[[int], str]


def divide_to_even(numerator: int, denominator: int) -> int:
    """The integer nearest to the quotient, ties to even; *denominator* is positive."""
    quotient, rest = divmod(numerator, denominator)
    double = 2 * rest
    if double > denominator or (double == denominator and quotient & 1):
        quotient += 1
    return quotient


def ratio_text(numerator: int, denominator: int) -> str:
    """A quotient with six decimals, correctly rounded; ``nan`` for a zero *denominator*, as C prints it."""
    if denominator == 0:
        return "nan"
    return _pointed(DIGITS)(divide_to_even(numerator * 10**DIGITS, denominator))


def fixed_text(ticks_per_second: int) -> ToText:
    """A function that writes ticks as seconds with a fixed number of decimals, six or more."""
    for digits in range(DIGITS, MOST_DIGITS + 1):
        units, rest = divmod(10**digits, ticks_per_second)
        if rest == 0:
            return _pointed(digits) if units == 1 else _scaled(_pointed(digits), units)
    point = _pointed(DIGITS)
    return lambda ticks: point(divide_to_even(ticks * 10**DIGITS, ticks_per_second))


def shortened(fixed: str) -> str:
    """The same decimal without the zeros that say nothing: ``1451.000000`` becomes ``1451``."""
    return fixed.rstrip("0").rstrip(".")


def _scaled(point: ToText, units: int) -> ToText:
    """A function for ticks that are each worth several units of the last decimal."""
    return lambda ticks: point(ticks * units)


def _pointed(digits: int) -> ToText:
    """A function that sets the decimal point *digits* places from the right."""
    one = 10**digits
    zeros = "." + "0" * digits

    def text(units: int) -> str:
        if units % one == 0:
            return f"{units // one}{zeros}"
        if units < 0:
            return "-" + text(-units)
        figures = str(units) if units >= one else str(units).zfill(digits + 1)
        return f"{figures[:-digits]}.{figures[-digits:]}"

    return text
