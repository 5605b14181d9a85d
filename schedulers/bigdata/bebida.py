"""Big Data jobs on whatever hosts there are, as in Bebida: elastic, preemptible, never lost.

The policy of pybatsim 3.2.1's ``schedBebida`` (IEEE BigData 2017), told as rules:

- First come, first served. A job made of parts that scale takes as many free hosts as there are, up to its
  request and at least one. Any other job (a delay, say: its time does not depend on hosts) waits until it
  has all it asked for, and nobody overtakes it; it is refused if it asks for more than there are.
- Hosts that the broker takes back are vacated by killing the jobs on them. What is left of such a job is
  registered and takes its place in the order of arrival again; the part that was running restarts.
- A job on fewer hosts than it asked for is stopped, to go on wider, when free hosts would let it end earlier
  by more than a restart costs; there the running part keeps its progress.
- While a stopped job is on its way back, only older ones start; but if a job whose hosts were taken is still
  there after a moment (a broker may grant it a period of grace), free hosts do not wait for it.
- Once no job is left and none will be submitted, registration is over.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Literal

from batpy.protocol.messages import Event
from batpy.schedulers.api import FOREVER, Job, Plan, View
from batpy.schedulers.bigdata.elastic import gain_of_growing, slowest_speed, time_left
from batpy.schedulers.bigdata.lives import JobLives
from batpy.schedulers.bigdata.storage_io import PfsTraffic
from batpy.schedulers.hosts import first_fit

NOBODY = FOREVER
"""Greater than the serial number of any job."""
MOMENTS_PER_SECOND = 1000
"""A kill that takes longer than a moment is one with a period of grace."""


@dataclass(frozen=True)
class BebidaOptions:
    """Options of ``bebida``.

    Attributes:
        variant: ``none`` moves no data; ``pfs`` moves what profiles read and write (``io_reads``,
            ``io_writes``) from and to the one storage host.
        rebalance: ``gain`` stops a narrow job when that pays, ``always`` whenever it can grow (as pybatsim
            does), ``never`` leaves jobs as they started.
        restart_cost: seconds that stopping and restarting a job is taken to cost.
    """

    variant: Literal["none", "pfs"] = "none"
    rebalance: Literal["gain", "always", "never"] = "gain"
    restart_cost: float = 5.0

    def __post_init__(self) -> None:
        if self.restart_cost < 0:
            raise ValueError(f"restart_cost must not be negative, got {self.restart_cost:g}")


class Bebida:
    """First come, first served with elastic allocations; what is killed comes back."""

    Options = BebidaOptions
    registers = True
    elastic = True
    wants = ("machine_events", "refusals", "sharing")

    def __init__(self, options: BebidaOptions) -> None:
        self._options = options
        self._lives: JobLives
        self._traffic: PfsTraffic | None = None
        self._speed: float | None = None
        self._waiting: list[tuple[int, Job]] = []  # a heap by order of arrival of the original jobs

    def begin(self, view: View) -> Plan:
        """Learn profiles and hosts.

        Raises:
            InputError: jobs cannot be registered here, or the variant does not fit the platform.
        """
        self._lives = JobLives(view, "bebida")
        if self._options.variant == "pfs":
            self._traffic = PfsTraffic(view, self._lives.registrar)
        self._speed = slowest_speed(view.greeting.compute_resources)
        plan = Plan(view)
        self._lives.end_registration(view, plan)
        return plan

    def hear(self, event: Event) -> None:
        """Take in reports of kills, and notices."""
        self._lives.hear(event)

    def decide(self, view: View) -> Plan:
        """One step."""
        plan, lives = Plan(view), self._lives
        for job, attempt in lives.update(view, plan):
            heapq.heappush(self._waiting, (attempt.serial, job))
        if plan.free_count and (self._waiting or lives.narrow):
            self._place(view, plan)
        lives.end_registration(view, plan)
        return plan

    # ------------------------------------------------------------------ what to do

    def _place(self, view: View, plan: Plan) -> None:
        """Give free hosts to narrow and waiting jobs in order of arrival."""
        lives, waiting = self._lives, self._waiting
        limit = self._limit(view, plan)
        narrow = [] if self._options.rebalance == "never" else list(lives.narrow.values())
        narrow.sort(key=lambda job: lives.attempt(job).serial, reverse=True)
        budget, growing = plan.free_count, False
        while budget:
            first_waiting = waiting[0][0] if waiting else NOBODY
            first_narrow = lives.attempt(narrow[-1]).serial if narrow else NOBODY
            if min(first_waiting, first_narrow) >= limit:
                return
            if first_narrow < first_waiting:
                job = narrow.pop()
                width = lives.widths[job.id]
                more = min(job.res - width, budget)
                if self._pays(view, job, width, width + more):
                    lives.stop(view, plan, job, keep=True)
                    budget -= more
                    growing = True
            elif growing or not self._start(plan, waiting[0][1]):
                return
            else:
                heapq.heappop(waiting)
                budget = plan.free_count

    def _limit(self, view: View, plan: Plan) -> int:
        """Serial number of the oldest job on its way back: nothing younger starts before it."""
        limit, moment = NOBODY, max(1, view.ticks_per_second // MOMENTS_PER_SECOND)
        for attempt, dying_since in self._lives.coming_back():
            if dying_since is not None:
                if view.now >= dying_since + moment:
                    continue
                plan.wake(dying_since + moment)
            limit = min(limit, attempt.serial)
        return limit

    def _start(self, plan: Plan, job: Job) -> bool:
        """Start a job on what is free, if that is enough for it."""
        attempt = self._lives.attempt(job)
        width = min(job.res, plan.free_count) if attempt.tree.scales else job.res
        picked = first_fit(plan.free, width)
        if picked is None:
            return False
        hosts = picked[0]
        io_job = self._traffic.io_job(plan, attempt, hosts) if self._traffic is not None else None
        plan.start_on(job, hosts, io_job)
        self._lives.started(job, width)
        return True

    def _pays(self, view: View, job: Job, width: int, wider: int) -> bool:
        """Is the job over so much earlier on more hosts that stopping it pays?"""
        if self._options.rebalance == "always":
            return True
        scale = view.ticks_per_second
        walltime = None if job.walltime is None else job.walltime / scale
        tree = self._lives.attempt(job).tree
        elapsed = (view.now - job.start) / scale
        left = time_left(tree.flops, width, self._speed, elapsed, walltime, tree.seconds)
        return gain_of_growing(left, width, wider) > self._options.restart_cost
