"""First come, first served: the first waiting job starts as soon as it fits, and nobody overtakes it."""

from __future__ import annotations

from collections import deque

from batpy.schedulers.api import Job, Plan, View
from batpy.schedulers.hpc.base import HpcOptions, HpcPolicy, start_on_timeline, take


class Fcfs(HpcPolicy):
    """Strict order of arrival, no backfilling."""

    Options = HpcOptions

    def __init__(self, options: HpcOptions) -> None:
        super().__init__(options)
        self._queue: deque[Job] = deque()

    def decide(self, view: View) -> Plan | None:
        """Start jobs in order until one does not fit."""
        queue = self._queue
        queue.extend(view.arrived)
        if view.disturbed:  # a job may have come back to its place
            self._queue = queue = deque(sorted(queue, key=lambda job: job.serial))
        if not queue:
            return None
        if self._closures:
            return self._decide_on_timeline(view)
        choose = self._choose
        plan: Plan | None = None
        free, count = view.free, view.free_count
        while queue and queue[0].res <= count:
            taken = choose(free, queue[0].res)
            if taken is None:
                break
            if plan is None:
                plan = Plan(view)
            take(plan, queue.popleft(), taken)
            free, count = plan.free, plan.free_count
        return plan

    def _decide_on_timeline(self, view: View) -> Plan | None:
        queue, plan = self._queue, Plan(view)
        timeline = self._timeline(view)
        while queue and start_on_timeline(timeline, plan, queue[0], view.now, self._choose):
            queue.popleft()
        return self._wake_when_opened(plan, view) if queue else plan
