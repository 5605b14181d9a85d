"""An energy budget: joules that become available at a constant rate, and what is planned to be drawn.

All in whole numbers: power in microwatts, energy in microwatts times ticks. Every figure is an upper bound: a
running job draws the full watts of its hosts until its walltime, a host that is on draws its idle watts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from batpy.schedulers.api import View
from batpy.schedulers.hosts import to_mask
from batpy.schedulers.hpc.board import Slot
from batpy.schedulers.power import HostPower, Kind
from batpy.schedulers.timeline import BEYOND, CountTimeline

MICRO = 1_000_000

Step = tuple[int, int, int]
"""This much power more, from a date to another."""


def microwatts(watts: float) -> int:
    """Rounded up, float noise taken off first."""
    return math.ceil(watts * MICRO - 1e-4)


class EnergyBudget:
    """Whether what is planned stays within the budget at every date of its period.

    Args:
        joules: what may be consumed from date 0 to the end of the period; at a date t before, no more than
            t / period of it.
        period: ticks.
        other_watts: power of hosts that are not scheduled (storage).
    """

    def __init__(
        self, joules: float, period: int, ticks_per_second: int, power: HostPower, other_watts: float
    ) -> None:
        self._total = math.floor(joules * MICRO) * ticks_per_second
        self._scale = ticks_per_second
        self.period = period
        self._power = power
        self._other = microwatts(other_watts)
        self._now = 0
        self._spent = 0
        self._spent_until = 0
        # What is drawn by what is decided; and with the slots of waiting jobs.
        self._drawn = CountTimeline(0, 0)
        self._planned = CountTimeline(0, 0)
        self._over: int | None = None  # see over_until; None: not known

    # ------------------------------------------------------------------ the past

    def settle(self, now: int) -> None:
        """Count what was drawn until now, by the upper bound of what was decided."""
        drawn = self._drawn
        for start, end, watts in _pieces(drawn, self._spent_until, now):
            self._spent += watts * (end - start)
        self._spent_until = max(now, self._spent_until)

    def measured(self, joules: float, date: int) -> None:
        """What all hosts had consumed at *date* is known: the bound becomes tighter."""
        if date >= self._spent_until:
            self.settle(date)
            self._spent = min(self._spent, math.ceil(joules * MICRO) * self._scale)

    # ------------------------------------------------------------------ the future

    def open(self, view: View) -> None:
        """A decision begins: know what will be drawn if nothing is decided."""
        now = self._now = view.now
        self.settle(now)
        base = CountTimeline(now, self._base())
        for way in self._power.ways:
            until = max(way.until, now + 1)
            for kind, count in self._by_kind(way.mask):
                there = kind.sleep if way.sleeps else kind.computes_in
                change = _watts(kind, kind.off if way.sleeps else kind.on) - _idle(kind, there)
                base.add(now, until, count * change)
        for job in view.running:
            base.add(now, max(job.end, now + 1), self._busy(to_mask(job.hosts)))
        self._drawn = base
        self._planned = _copy(base)
        self._over = None

    def over_until(self) -> int:
        """First date from which all that is planned keeps the budget for good; now, if it does already."""
        if self._over is not None:
            return self._over
        rate, period, over = self._total, self.period, self._now
        excess = self._spent * period - rate * self._now
        for start, end, watts in _pieces(self._planned, self._now, period):
            growth = watts * period - rate
            before, excess = excess, excess + growth * (end - start)
            if excess > 0:
                over = end
            elif before > 0:
                over = start - before // growth
        self._over = over
        return over

    def allows(self, slot: Slot) -> bool:
        """True if a job in this slot leaves the budget kept at every date."""
        return self._allows(self._slot_steps(slot))

    def earliest(self, slot: Slot) -> int:
        """First date from the slot's start on at which it would be allowed, were its hosts kept.

        The later it starts the less it has used by any date, so the first date is found by halving.
        """
        start, end, mask = slot
        # If its hosts are switched on after the period, nothing forbids it.
        last = max(self.period + max(max(kind.on_ticks, 1) for kind in self._power.kinds), start)
        first, length = start, end - start
        while first < last:
            middle = (first + last) // 2
            if self.allows((middle, middle + length, mask)):
                last = middle
            else:
                first = middle + 1
        return first

    def hold(self, slot: Slot) -> None:
        """Count the slot in."""
        self._plan(self._slot_steps(slot))

    def drop(self, slot: Slot) -> None:
        """Count it out again."""
        self._plan(self._slot_steps(slot), -1)

    def start(self, slot: Slot) -> None:
        """A job starts in this slot now."""
        steps = self._slot_steps(slot)
        _add(self._drawn, steps)
        self._plan(steps)

    def wake(self, mask: int, *, kept: bool) -> None:
        """Hosts are switched on now; *kept*: for slots, which count that already."""
        steps = list(self._waking(mask, self._now, BEYOND))
        _add(self._drawn, steps)
        if not kept:
            self._plan(steps)

    def allows_wake(self, mask: int) -> bool:
        """True if these hosts may be switched on without need."""
        return self._allows(list(self._waking(mask, self._now, BEYOND)))

    def sleep(self, mask: int, until: int | None = None) -> bool:
        """Switch hosts off now if that keeps the budget, or if it is not kept anyway; whether it was done.

        Args:
            until: a slot needs them on again from then on.
        """
        falling = list(self._falling_asleep(mask))
        steps = list(falling)
        if until is not None:
            for kind, _ in self._by_kind(mask):
                steps += self._waking(mask & kind.mask, until - max(kind.on_ticks, 1), BEYOND)
        if self.over_until() <= self._now and not self._allows(steps):
            return False
        _add(self._drawn, falling)
        self._plan(steps)
        return True

    # ------------------------------------------------------------------ figures

    def least_watts(self, *, asleep: bool) -> float:
        """What all hosts draw that are idle, or asleep where they can be."""
        total = self._other
        for kind, count in self._by_kind(-1):
            total += count * _idle(kind, kind.sleep if asleep and kind.sleep >= 0 else kind.computes_in)
        return total / MICRO

    @property
    def rate_watts(self) -> float:
        """How fast the budget becomes available."""
        return self._total / self.period / MICRO

    def _by_kind(self, mask: int) -> Iterator[tuple[Kind, int]]:
        for kind in self._power.kinds:
            count = (kind.mask & mask).bit_count()
            if count:
                yield kind, count

    def _base(self) -> int:
        """Everything idle, asleep where it is or will be once it is there."""
        asleep = self._power.asleep_mask | self._power.on_the_way(sleeps=True)
        total = self._other
        for kind, count in self._by_kind(~asleep):
            total += count * _idle(kind, kind.computes_in)
        for kind, count in self._by_kind(asleep):
            total += count * _idle(kind, kind.sleep)
        return total

    def _busy(self, mask: int) -> int:
        """What hosts that are on draw more when they compute."""
        return sum(
            count * (_watts(kind, kind.computes_in) - _idle(kind, kind.computes_in))
            for kind, count in self._by_kind(mask)
        )

    def _slot_steps(self, slot: Slot) -> list[Step]:
        start, end, mask = slot
        asleep = self._power.asleep_mask | self._power.on_the_way(sleeps=True)
        steps = [(start, min(end, BEYOND), self._busy(mask))]
        for kind in self._power.kinds:
            if there := kind.mask & mask & asleep:
                steps += self._waking(there, start - max(kind.on_ticks, 1), BEYOND)
        return steps

    def _waking(self, mask: int, start: int, end: int) -> Iterator[Step]:
        """From asleep to on: the way, and idle from then on."""
        for kind, count in self._by_kind(mask):
            there = start + max(kind.on_ticks, 1)
            asleep = _idle(kind, kind.sleep)
            yield start, there, count * (_watts(kind, kind.on) - asleep)
            yield there, end, count * (_idle(kind, kind.computes_in) - asleep)

    def _falling_asleep(self, mask: int) -> Iterator[Step]:
        for kind, count in self._by_kind(mask):
            there = self._now + max(kind.off_ticks, 1)
            idle = _idle(kind, kind.computes_in)
            yield self._now, there, count * (_watts(kind, kind.off) - idle)
            yield there, BEYOND, count * (_idle(kind, kind.sleep) - idle)

    def _plan(self, steps: list[Step], sign: int = 1) -> None:
        _add(self._planned, steps, sign)
        self._over = None

    def _allows(self, steps: list[Step]) -> bool:
        """True if with this, too, the budget is kept, and nothing is added before it is kept at all."""
        if self._now >= self.period:
            return True
        over = self.over_until()
        if over > min(start for start, _, _ in steps):
            return False
        curve = _copy(self._planned)
        _add(curve, steps)
        spent, period, total = self._spent, self.period, self._total
        for start, end, watts in _pieces(curve, self._now, period):
            spent += watts * (end - start)
            if end > over and spent * period > total * end:
                return False
        return True


def _idle(kind: Kind, pstate: int) -> int:
    return microwatts(kind.watts[pstate][0])


def _watts(kind: Kind, pstate: int) -> int:
    return microwatts(kind.watts[pstate][1])


def _copy(curve: CountTimeline) -> CountTimeline:
    other = CountTimeline(0, 0)
    other.times, other.counts = curve.times.copy(), curve.counts.copy()
    return other


def _add(curve: CountTimeline, steps: list[Step], sign: int = 1) -> None:
    first = curve.times[0]
    for start, end, watts in steps:
        if watts and end > start:
            curve.add(max(start, first), end, sign * watts)


def _pieces(curve: CountTimeline, since: int, until: int) -> Iterator[Step]:
    """The parts of a curve between two dates."""
    times, counts = curve.times, curve.counts
    for position, start in enumerate(times):
        end = until if position + 1 == len(times) else min(times[position + 1], until)
        first = max(start, since)
        if first < end:
            yield first, end, counts[position]
