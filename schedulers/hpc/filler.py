"""Filler: start whatever fits, in order of the queue, and reserve nothing; wide jobs may wait for long."""

from __future__ import annotations

from dataclasses import dataclass

from batpy.schedulers.api import FOREVER, Plan, View
from batpy.schedulers.hpc.base import HpcOptions, HpcPolicy, start_on_timeline, take
from batpy.schedulers.hpc.orders import Order, check_order, parse_order
from batpy.schedulers.hpc.waiting import WaitingIndex


@dataclass(frozen=True)
class FillerOptions(HpcOptions):
    """Options of ``filler``.

    Attributes:
        order: in which waiting jobs are tried.
    """

    order: str = "fcfs"

    def __post_init__(self) -> None:
        check_order(self.order)


class Filler(HpcPolicy):
    """First fit over the whole queue, without reservations."""

    Options = FillerOptions

    def __init__(self, options: FillerOptions) -> None:
        super().__init__(options)
        self._order_text = options.order
        self._order: Order = parse_order(options.order, 1)
        self._waiting = WaitingIndex()

    def begin(self, view: View) -> Plan | None:
        """Learn the platform and the resolution."""
        self._order = parse_order(self._order_text, view.ticks_per_second)
        return super().begin(view)

    def decide(self, view: View) -> Plan | None:
        """Start every job that fits."""
        if self._closures or self._order.dynamic:
            return self._decide_by_walk(view)
        arrived = view.arrived
        if len(arrived) > 1:
            arrived = self._order.sort(arrived, view.now)
        if view.ended or view.disturbed:
            for job in arrived:
                self._waiting.add(self._order.key(job, view.now), job)
            return self._walk_index(view) if len(self._waiting) and view.free_count else None
        plan: Plan | None = None  # nothing was freed: only what is new can fit
        for job in arrived:
            plan_free, count = (view.free, view.free_count) if plan is None else (plan.free, plan.free_count)
            taken = self._choose(plan_free, job.res) if job.res <= count else None
            if taken is None:
                self._waiting.add(self._order.key(job, view.now), job)
                continue
            if plan is None:
                plan = Plan(view)
            take(plan, job, taken)
        return plan

    def _walk_index(self, view: View) -> Plan:
        plan, choose = Plan(view), self._choose
        scan = self._waiting.scan()
        while plan.free_count:
            job = scan.next(plan.free_count, FOREVER, 0)
            if job is None:
                break
            taken = choose(plan.free, job.res)
            if taken is not None:
                take(plan, job, taken)
        for job, _ in plan.starts:
            self._waiting.discard(job)
        return plan

    def _decide_by_walk(self, view: View) -> Plan | None:
        """The plain way: orders that change with time, and closures."""
        queue = self._order.sort(list(view.queue), view.now)
        if not queue or not view.free_count:
            return self._wake_when_opened(Plan(view), view) if queue else None
        plan = Plan(view)
        timeline = self._timeline(view) if self._closures else None
        for job in queue:
            if job.res > plan.free_count:
                continue
            if timeline is not None:
                start_on_timeline(timeline, plan, job, view.now, self._choose)
            else:
                plan.start(job, choose=self._choose)
        return self._wake_when_opened(plan, view) if len(plan.starts) < len(queue) else plan
