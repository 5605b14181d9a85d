"""Bounds of dates and durations, the same wherever a user writes one."""

MAX_SECONDS = 1e18
"""Ten times the latest date of Batsim's own example workloads; anything beyond it is a mistake."""

EXACT = 2.0**53
"""Below it, every whole number is a float."""


def nearest_tick(seconds: float, ticks_per_second: int) -> int:
    """The tick nearest to a date or duration in seconds.

    Past 2**53 ticks a product of floats would lose whole ticks: whole seconds are multiplied as integers.
    """
    product = seconds * ticks_per_second
    if -EXACT < product < EXACT:
        return round(product)
    whole = int(seconds)
    return whole * ticks_per_second + round((seconds - whole) * ticks_per_second)
