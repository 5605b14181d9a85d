"""Where waiting jobs are placed: EASY's steps on named hosts, some of which first have to be switched on.

A *slot* keeps hosts for a job that cannot start yet. Slots are kept from one decision to the next and move
only forward in time, so that a job starts no later than it was first promised.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from batpy.protocol import hostset
from batpy.schedulers.api import Job, Plan
from batpy.schedulers.hosts import Chooser, from_mask, to_mask
from batpy.schedulers.hpc.base import reach
from batpy.schedulers.power import HostPower
from batpy.schedulers.timeline import HostTimeline

Slot = tuple[int, int, int]
"""Start, end, and the mask of its hosts."""


class Energy(Protocol):
    """What the board asks of an energy budget."""

    def allows(self, slot: Slot) -> bool:
        """True if a job in this slot leaves the budget kept at every date."""
        ...

    def earliest(self, slot: Slot) -> int:
        """First date from the slot's start on at which it would be allowed, were its hosts kept."""
        ...

    def hold(self, slot: Slot) -> None:
        """Count the slot in."""
        ...

    def drop(self, slot: Slot) -> None:
        """Count it out again."""
        ...

    def start(self, slot: Slot) -> None:
        """A job starts in this slot now."""
        ...


class Board:
    """The placement of one decision.

    Args:
        timeline: which hosts are free when; those that sleep, once they can be on.
        soon: jobs that can start before this date are not stopped by those that cannot start now.
        energy: a budget that placements have to respect, if there is one.

    Attributes:
        slots: of jobs that wait, by serial.
    """

    def __init__(
        self, timeline: HostTimeline, plan: Plan, choose: Chooser, now: int, soon: int, energy: Energy | None
    ) -> None:
        self._timeline = timeline
        self._plan = plan
        self._choose = choose
        self._now = now
        self._soon = soon
        self._energy = energy
        self.slots: dict[int, Slot] = {}
        # No job larger than this can start soon.
        self._most = max(
            mask.bit_count() for date, mask in zip(timeline.times, timeline.masks, strict=True) if date < soon
        )

    def keep(self, slots: Mapping[int, Slot]) -> bool:
        """Take over the slots of an earlier decision; False if they cannot all be (use another board)."""
        for serial, (start, end, mask) in slots.items():
            if start < self._now or mask & ~self._timeline.window(start, end - start):
                return False
            if self._energy is not None and not self._energy.allows((start, end, mask)):
                return False
            self._hold(serial, (start, end, mask))
        return True

    def place(self, order: list[Job], backfill: Iterable[Job]) -> None:
        """Start what can start now and give slots to what can start soon, and to the head."""
        head: Job | None = None
        for job in order:
            if not self._take(job):
                head = job
                break
        if head is None:
            return
        for serial, slot in list(self.slots.items()):
            if slot[0] >= self._soon and serial != head.serial:
                self._drop(serial)  # of a job that was the head and was overtaken
        if head.serial not in self.slots:
            self._reserve(head)
        before = {job.serial for job in order[: order.index(head) + 1]}
        for job in backfill:
            if job.serial not in before:
                self._take(job)

    def _take(self, job: Job) -> bool:
        """Start a job or give it a slot soon; an older slot moves forward if it can. False: none is soon."""
        slot = self.slots.get(job.serial)
        if slot is None:
            if job.res > self._most:
                return False
            found = self._find(job, self._soon)
        else:
            self._drop(job.serial)
            found = self._find(job, slot[0]) or slot
        if found is None:
            return False
        if found[0] == self._now:
            self._timeline.occupy(*found)
            if self._energy is not None:
                self._energy.start(found)
            self._plan.start(job, from_mask(found[2]))
        else:
            self._hold(job.serial, found)
        return found[0] < self._soon

    def _find(self, job: Job, before: int) -> Slot | None:
        """The first slot before a date, or None."""
        found = self._timeline.earliest(job.res, reach(job), self._choose, before=before)
        if found is None:
            return None
        slot = (found[0], found[0] + reach(job), to_mask(found[1]))
        return slot if self._energy is None else self._affordable(job, slot, before)

    def _affordable(self, job: Job, slot: Slot, before: int | None) -> Slot | None:
        """The first slot for which there is enough energy, from *slot* on."""
        assert self._energy is not None
        while not self._energy.allows(slot):
            if before is not None:
                if before <= self._soon:
                    return None  # when it would be is nobody's question
                last = before - 1
                if not self._energy.allows((last, last + slot[1] - slot[0], slot[2])):
                    return None  # nor is it before: the later, the less it has used by any date
            date = self._energy.earliest(slot)
            found = self._timeline.earliest(job.res, reach(job), self._choose, before=before, after=date)
            if found is None:
                return None
            moved = (found[0], found[0] + reach(job), to_mask(found[1]))
            if moved == slot:
                break  # the budget cannot be kept whatever is done: the date is the end of its period
            slot = moved
        return slot

    def _reserve(self, head: Job) -> None:
        found = self._timeline.earliest(head.res, reach(head), self._choose)
        if found is None:
            return
        slot: Slot | None = (found[0], found[0] + reach(head), to_mask(found[1]))
        if self._energy is not None and slot is not None:
            slot = self._affordable(head, slot, None)
        if slot is not None:
            self._hold(head.serial, slot)

    def _hold(self, serial: int, slot: Slot) -> None:
        self.slots[serial] = slot
        self._timeline.occupy(*slot)
        if self._energy is not None:
            self._energy.hold(slot)

    def _drop(self, serial: int) -> None:
        slot = self.slots.pop(serial)
        self._timeline.vacate(*slot)
        if self._energy is not None:
            self._energy.drop(slot)


def awake_first(power: HostPower, choose: Chooser, consecutive: bool) -> Chooser:
    """A chooser that takes sleeping hosts only where those that are on do not suffice."""
    away = from_mask(power.asleep_mask | power.on_the_way(sleeps=True))
    if not away:
        return choose

    def pick(free: hostset.HostSet, count: int) -> tuple[hostset.HostSet, hostset.HostSet] | None:
        awake = hostset.difference(free, away)
        missing = count - hostset.size(awake)
        if missing <= 0:
            taken = choose(awake, count)
            if taken is not None:
                return taken
        if consecutive:
            return choose(free, count)
        woken = choose(hostset.intersection(free, away), missing)
        if woken is None:
            return None
        taken_hosts = hostset.union(awake, woken[0])
        return taken_hosts, hostset.difference(free, taken_hosts)

    return pick
