"""Conservative backfilling (Mu'alem and Feitelson 2001): every job gets a reservation when it arrives.

A new job is given the earliest slot that delays nobody. When jobs end, often before they were to,
waiting jobs are taken up in order of arrival and each moves to the earliest slot that is left
(one pass of *compression*); its old slot is always there to fall back on, so no reservation is ever delayed
while walltimes hold and no host is lost. If hosts do go, or a job outlives its walltime, and the slots can no
longer be kept, all are planned anew.

A policy may be asked later than the date of a reservation (``time_step``, ``latency``): a slot that has begun
by then moves to the present, and the others stay, if that leaves enough hosts for all of them.
"""

from __future__ import annotations

from bisect import bisect_left, insort

from batpy.protocol import hostset
from batpy.schedulers.api import Job, Plan, View
from batpy.schedulers.hosts import from_mask, to_mask
from batpy.schedulers.hpc.base import HpcOptions, HpcPolicy, reach, take
from batpy.schedulers.timeline import BEYOND, CountTimeline, HostTimeline

Slot = tuple[int, int, int]
"""Start, end, and the mask of its hosts (0 while hosts are only counted)."""


class Conservative(HpcPolicy):
    """Conservative backfilling in order of arrival."""

    Options = HpcOptions

    def __init__(self, options: HpcOptions) -> None:
        super().__init__(options)
        self._queue: dict[int, Job] = {}  # by serial: order of arrival
        self._slots: dict[int, Slot] = {}  # reservations of waiting jobs, by serial
        self._ends: list[tuple[int, int]] = []  # (end of slot, serial) of running jobs
        self._least = BEYOND  # no slot that is counted begins before
        self._timeline_of_counts: CountTimeline | None = None
        self._overdue = False  # it has jobs that outlived their slots, and end a tick later than the present

    def decide(self, view: View) -> Plan | None:
        """Start the jobs whose reservation is now."""
        if self._closures or self._consecutive:
            return self._decide_on_hosts(view)
        if not view.disturbed and not view.arrived and not self._queue:
            if view.ended:
                self._give_back(view)
            return None
        timeline = self._timeline_of_counts
        if timeline is None or view.disturbed or (view.ended and self._overdue) or self._overrun(view):
            timeline = self._rebuild(view)
        else:
            timeline.advance(view.now)
            if view.ended:
                self._give_back(view)
            if self._least < view.now and not self._catch_up(timeline, view.now):
                timeline = self._rebuild(view)
            elif view.ended:
                self._compress(timeline, view.now)
        for job in view.arrived:
            if job.serial not in self._queue:
                self._queue[job.serial] = job
                self._reserve(timeline, job)
        return self._start_due(view)

    # ------------------------------------------------------------------ hosts are counted

    def _overrun(self, view: View) -> bool:
        """True if a job still runs at the end of its slot, apart from those that end right now."""
        over = {job.serial for job in view.ended}
        for end, serial in self._ends:
            if end > view.now:
                return False
            if serial not in over:
                return True
        return False

    def _give_back(self, view: View) -> None:
        """Take over jobs that ended; what is left of their slots is free."""
        timeline, now = self._timeline_of_counts, view.now
        for job in view.ended:
            end = job.start + reach(job)
            del self._ends[bisect_left(self._ends, (end, job.serial))]
            if timeline is not None and end > now:
                timeline.advance(now)
                usable = hostset.size(hostset.difference(job.hosts, view.down)) if view.down else job.res
                timeline.add(now, end, usable)

    def _catch_up(self, timeline: CountTimeline, now: int) -> bool:
        """Move the slots that have begun to *now*; False if there are not hosts enough for all slots then."""
        for serial, (start, end, _) in self._slots.items():
            if start < now:
                job = self._queue[serial]
                self._slots[serial] = (now, now + reach(job), 0)
                timeline.add(max(end, now), now + reach(job), -job.res)
        self._least = now
        return min(timeline.counts) >= 0

    def _compress(self, timeline: CountTimeline, now: int) -> None:
        for serial, job in self._queue.items():
            slot = self._slots.get(serial)
            if slot is None or slot[0] <= now:
                continue
            until = bisect_left(timeline.times, slot[0])
            if max(timeline.counts[:until]) < job.res:
                continue  # no earlier date has that many hosts
            timeline.add(slot[0], slot[1], job.res)
            start = timeline.earliest(job.res, reach(job), before=slot[0])
            if start is None:
                start = slot[0]
            self._slots[serial] = (start, start + reach(job), 0)
            self._least = min(self._least, start)
            timeline.add(start, start + reach(job), -job.res)

    def _reserve(self, timeline: CountTimeline, job: Job) -> None:
        start = timeline.earliest(job.res, reach(job))
        if start is None:  # too many hosts are away; planned anew when some return
            self._slots.pop(job.serial, None)
            return
        self._slots[job.serial] = (start, start + reach(job), 0)
        self._least = min(self._least, start)
        timeline.add(start, start + reach(job), -job.res)

    def _rebuild(self, view: View) -> CountTimeline:
        """Start from the hosts as they are; keep the slots if they can be kept, else plan all anew."""
        self._take_up(view)
        now, down = view.now, view.down
        self._ends = sorted((job.start + reach(job), job.serial) for job in view.running)

        releases = [
            (max(job.start + reach(job), now + 1), hostset.size(hostset.difference(job.hosts, down)))
            for job in view.running
        ]
        self._overdue = bool(self._ends) and self._ends[0][0] <= now
        timeline = CountTimeline(now, view.free_count, releases)
        for serial, slot in self._slots.items():
            if slot[1] > now:
                timeline.add(max(slot[0], now), slot[1], -self._queue[serial].res)
        if self._catch_up(timeline, now):
            self._compress(timeline, now)
            for serial, job in self._queue.items():
                if serial not in self._slots:
                    self._reserve(timeline, job)
        else:
            timeline = CountTimeline(now, view.free_count, releases)
            self._least = BEYOND
            for job in self._queue.values():
                self._reserve(timeline, job)
        self._timeline_of_counts = timeline
        return timeline

    def _take_up(self, view: View) -> None:
        """Make the queue what the view says, in order of arrival."""
        self._queue = {job.serial: job for job in view.queue}
        self._slots = {serial: slot for serial, slot in self._slots.items() if serial in self._queue}

    def _start_due(self, view: View) -> Plan | None:
        now = view.now
        if self._least > now:
            return None
        slots = self._slots
        due = [job for serial, job in self._queue.items() if serial in slots and slots[serial][0] == now]
        self._least = min((slot[0] for slot in slots.values() if slot[0] > now), default=BEYOND)
        if not due:
            return None
        plan = Plan(view)
        for job in due:
            taken = self._choose(plan.free, job.res)
            if taken is None:
                raise AssertionError(f"{job.id}: fewer hosts than reserved")
            take(plan, job, taken)
            insort(self._ends, (self._slots.pop(job.serial)[1], job.serial))
            del self._queue[job.serial]
        return plan

    # ------------------------------------------------------------------ hosts are named

    def _decide_on_hosts(self, view: View) -> Plan | None:
        self._take_up(view)
        if not self._queue:
            return None
        now, plan = view.now, Plan(view)
        timeline = self._keep_slots(view)
        if timeline is not None:
            if view.ended or view.disturbed:
                self._compress_on_hosts(timeline)
        else:
            timeline, self._slots = self._timeline(view), {}
        for job in self._queue.values():
            if job.serial not in self._slots:
                self._reserve_on_hosts(timeline, job)
        for serial, job in list(self._queue.items()):
            slot = self._slots.get(serial)
            if slot is not None and slot[0] == now:
                plan.start(job, from_mask(slot[2]))
                del self._queue[serial], self._slots[serial]
        return self._wake_when_opened(plan, view) if self._queue else plan

    def _keep_slots(self, view: View) -> HostTimeline | None:
        """The timeline with all slots taken out, or None if they cannot all be kept."""
        timeline = self._timeline(view)
        for start, end, mask in self._slots.values():
            if start < view.now or mask & ~timeline.window(start, end - start):
                return None
            timeline.occupy(start, end, mask)
        return timeline

    def _compress_on_hosts(self, timeline: HostTimeline) -> None:
        for serial, job in self._queue.items():
            slot = self._slots.get(serial)
            if slot is None:
                continue
            timeline.vacate(*slot)
            found = timeline.earliest(job.res, reach(job), self._choose, before=slot[0])
            if found is not None:
                slot = (found[0], found[0] + reach(job), to_mask(found[1]))
                self._slots[serial] = slot
            timeline.occupy(*slot)

    def _reserve_on_hosts(self, timeline: HostTimeline, job: Job) -> None:
        found = timeline.earliest(job.res, reach(job), self._choose)
        if found is not None:
            slot = (found[0], found[0] + reach(job), to_mask(found[1]))
            self._slots[job.serial] = slot
            timeline.occupy(*slot)
