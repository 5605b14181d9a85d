"""What the shipped policies have in common: choice of hosts, closures, and planning on named hosts.

While hosts are interchangeable a policy counts them. With closures, or when consecutive hosts are wanted, it
plans on a ``HostTimeline`` instead: exact and slower.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from batpy.protocol.hostset import HostSet
from batpy.schedulers.api import FOREVER, Job, Plan, View
from batpy.schedulers.hosts import CHOOSERS, Chooser, to_mask
from batpy.schedulers.timeline import BEYOND, HostTimeline

if TYPE_CHECKING:
    from batpy.schedulers.closures import ClosureRequest, Closures


@dataclass(frozen=True)
class HpcOptions:
    """Options of every shipped policy.

    Attributes:
        hosts: ``first_fit`` takes the lowest-numbered free hosts, ``best_fit`` the shortest runs that do,
            ``contiguous`` consecutive hosts only (a job waits until there are).
        calendar: TOML or JSON file of advance reservations and planned outages.
    """

    hosts: Literal["first_fit", "contiguous", "best_fit"] = "first_fit"
    calendar: Path | None = None


class HpcPolicy:
    """Reads the common options; gives the ways to ask whether a job can start now."""

    def __init__(self, options: HpcOptions) -> None:
        self._choose: Chooser = CHOOSERS[options.hosts]
        self._consecutive = options.hosts == "contiguous"
        self._calendar = options.calendar
        self._requests: list[ClosureRequest] = []
        self._closures: Closures | None = None
        if options.calendar is not None:
            from batpy.schedulers.closures import read_closures

            self._requests = read_closures(options.calendar)

    def begin(self, view: View) -> Plan | None:
        """Learn the platform."""
        if self._requests:
            from batpy.schedulers.closures import place_closures

            self._closures = place_closures(
                self._requests, view.hosts, view.ticks_per_second, str(self._calendar)
            )
        return None

    def _timeline(self, view: View) -> HostTimeline:
        """What will be free when, closures taken out."""
        timeline = view.availability()
        now = view.now
        down = to_mask(view.down)
        closures = self._closures.after(now) if self._closures is not None else []
        for closure in closures:
            if closure.start <= now and closure.mask & down:
                # Away as planned, so it is expected back as planned.
                timeline.release(closure.end, closure.mask & down)
        for closure in closures:
            timeline.occupy(max(closure.start, now), closure.end, closure.mask)
        return timeline

    def _wake_when_opened(self, plan: Plan, view: View) -> Plan:
        """Nothing is said when a closure ends: ask to be called then. For plans that leave jobs waiting."""
        date = self._closures.next_end(view.now) if self._closures is not None else None
        if date is not None:
            plan.wake(date)
        return plan


def reach(job: Job) -> int:
    """Ticks a slot has to last for *job*.

    Of jobs without walltime, slots of later ones last longer: so one that arrives behind a job which waits
    for such an end does not "end" by then itself.
    """
    return BEYOND + job.serial if job.length >= FOREVER else max(job.length, 1)


def start_on_timeline(timeline: HostTimeline, plan: Plan, job: Job, now: int, choose: Chooser) -> bool:
    """Start *job* now if the chooser finds hosts that stay open until its end."""
    if job.res > plan.free_count:
        return False
    hosts = timeline.choose_at(now, job.res, reach(job), choose)
    if hosts is None:
        return False
    plan.start(job, hosts)
    timeline.occupy(now, now + reach(job), to_mask(hosts))
    return True


def take(plan: Plan, job: Job, taken: tuple[HostSet, HostSet]) -> None:
    """Start *job* on what a chooser took from ``plan.free``."""
    plan.starts.append((job, taken[0]))
    plan.free = taken[1]
    plan.free_count -= job.res
