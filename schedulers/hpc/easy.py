"""EASY backfilling (Lifka 1995; Mu'alem and Feitelson 2001).

Jobs start in the order of the queue while they fit. The first that does not, the head, is promised the
earliest date at which enough hosts will be free if every running job uses its whole walltime (the *shadow*
date); hosts that are free then and that it does not need are *extra*. Another waiting job starts now if it
fits, and ends by the shadow date or uses extra hosts only. The orders of the queue and of backfilling are
chosen separately.

Jobs without walltime end at dates past ``FOREVER``, in the order of their starts. If the shadow date is one
of these, jobs with a walltime end before it, and no other does: inf <= inf is no reason to start a job.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass

from batpy.protocol import hostset
from batpy.schedulers.api import FOREVER, Job, Plan, View
from batpy.schedulers.hosts import to_mask
from batpy.schedulers.hpc.base import HpcOptions, HpcPolicy, reach, start_on_timeline, take
from batpy.schedulers.hpc.orders import Order, check_order, parse_order
from batpy.schedulers.hpc.waiting import JobList, WaitingIndex


@dataclass(frozen=True)
class EasyOptions(HpcOptions):
    """Options of ``easy``.

    Attributes:
        order: of the queue; the first job that does not fit is the head, which has the reservation.
        backfill: order in which the jobs behind the head are tried for backfilling.
    """

    order: str = "fcfs"
    backfill: str = "fcfs"

    def __post_init__(self) -> None:
        check_order(self.order)
        check_order(self.backfill)


class Easy(HpcPolicy):
    """EASY: only the head of the queue has a reservation."""

    Options = EasyOptions

    def __init__(self, options: EasyOptions) -> None:
        super().__init__(options)
        self._texts = options.order, options.backfill
        self._order: Order = parse_order(options.order, 1)
        self._backfill: Order = parse_order(options.backfill, 1)
        self._named = False  # hosts have to be named: some are closed, or consecutive ones are wanted
        self._resorted = False  # keys change with time
        self._queue = JobList()  # by order; its first is the head
        self._index = WaitingIndex()  # by backfilling order
        self._ends: list[tuple[int, int, int]] = []  # (end, serial, hosts it frees) of running jobs
        self._head: Job | None = None
        self._promised = False  # the two below are those of the head, and nothing was freed since
        self._shadow = 0
        self._extra = 0

    def begin(self, view: View) -> Plan | None:
        """Learn the platform and the resolution."""
        super().begin(view)
        self._order, self._backfill = (parse_order(text, view.ticks_per_second) for text in self._texts)
        self._named = bool(self._closures) or self._consecutive
        self._resorted = self._order.dynamic or self._backfill.dynamic
        return None

    def decide(self, view: View) -> Plan | None:
        """Start what can be started without delaying the head."""
        if self._named:
            return self._decide_on_timeline(view)
        if view.disturbed:
            self._recount(view)
        else:
            ends = self._ends
            for job in view.ended:
                del ends[bisect_left(ends, (job.end, job.serial))]
        if self._resorted:
            return self._decide_resorted(view)
        arrived = view.arrived
        if self._head is None:  # nobody waits
            if not arrived:
                return None
            if self._order.arrival or len(arrived) == 1:
                return self._start_at_once(view, arrived)
        elif not view.ended and not view.disturbed:
            # Nothing was freed, so what could not start before still cannot: try what is new.
            if not arrived:
                return None
            if self._order.arrival or not self._overtakes(self._head, arrived):
                return self._try_new(view, arrived)
        if arrived:
            self._enqueue(arrived)
        return self._pass(view, None)

    # ------------------------------------------------------------------ hosts are counted

    def _start_at_once(self, view: View, arrived: list[Job]) -> Plan | None:
        """Nobody waits: start new jobs in order while they fit; the next is the head."""
        plan = Plan(view)
        for position, job in enumerate(arrived):
            if job.res > plan.free_count:
                self._enqueue(arrived[position:])
                return self._pass(view, plan)
            self._start(plan, job, view)
        return plan

    def _overtakes(self, head: Job, arrived: list[Job]) -> bool:
        """True if a new job comes before the head in the order of the queue."""
        key = self._order.key
        least = key(head, 0)
        return any(key(job, 0) < least for job in arrived)

    def _enqueue(self, jobs: list[Job]) -> None:
        for job in jobs:
            self._index.add(self._backfill.key(job, 0), job)
            self._queue.push(self._order.key(job, 0), job)
        if len(self._queue) > 64 + 4 * len(self._index):
            self._queue.purge()  # most were backfilled and would stay behind a head that is never passed

    def _start(self, plan: Plan, job: Job, view: View) -> None:
        res, length = job.res, job.length
        taken = self._choose(plan.free, res)
        if taken is None:
            raise AssertionError(f"{job.id}: fewer hosts than counted")
        # The end the core will give it.
        end = view.now + length if length < FOREVER else FOREVER + view.started + len(plan.starts)
        insort(self._ends, (end, job.serial, res))
        take(plan, job, taken)

    def _pass(self, view: View, plan: Plan | None) -> Plan | None:
        """Start from the head while it fits, then backfill the whole queue."""
        queue, index = self._queue, self._index
        free = view.free_count if plan is None else plan.free_count
        head = self._head
        if head is None or view.arrived or view.disturbed:
            head = queue.head()
        while head is not None and head.res <= free:
            if plan is None:
                plan = Plan(view)
            index.discard(head)
            self._start(plan, head, view)
            free = plan.free_count
            head = queue.head()
        self._head = head
        self._promised = False
        if head is None or index.least_request() > free:
            return plan
        if plan is None:
            plan = Plan(view)
        limit = self._promise(head, free, view.now)
        scan, extra = index.scan(), self._extra
        first = len(plan.starts)
        while plan.free_count:
            job = scan.next(plan.free_count, limit, extra)
            if job is None:
                break
            if job.length > limit:
                extra -= job.res
            self._start(plan, job, view)
        self._extra = extra
        for job, _ in plan.starts[first:]:
            index.discard(job)
        return plan

    def _promise(self, head: Job, free: int, now: int) -> int:
        """Know the shadow date of the head and the extra hosts at that date.

        Returns:
            How long a job may be to end by the shadow date.
        """
        if not self._promised:
            self._promised = True
            self._shadow, self._extra = self._reserve(free - head.res)
        return self._shadow - now if self._shadow < FOREVER else FOREVER - 1

    def _reserve(self, room: int) -> tuple[int, int]:
        ends = iter(self._ends)
        for end, _, count in ends:
            room += count
            if room >= 0:
                for other, _, more in ends:
                    if other != end:
                        break
                    room += more
                return end, room
        # Too many hosts are away. When they come back is not known: keep nothing that may stay for ever.
        return FOREVER, 0

    def _try_new(self, view: View, arrived: list[Job]) -> Plan | None:
        now, free, head = view.now, view.free_count, self._head
        assert head is not None
        plan: Plan | None = None
        if len(arrived) > 1:
            arrived = self._backfill.sort(arrived, now)
        for job in arrived:
            if job.res <= free:
                limit = self._promise(head, free, now)
                if job.length <= limit or job.res <= self._extra:
                    if job.length > limit:
                        self._extra -= job.res
                    if plan is None:
                        plan = Plan(view)
                    self._start(plan, job, view)
                    free = plan.free_count
                    continue
            self._enqueue([job])
        return plan

    def _recount(self, view: View) -> None:
        """Hosts went or came, or a start was refused: take nothing over from before."""
        down = view.down
        self._ends = sorted(
            (job.end, job.serial, hostset.size(hostset.difference(job.hosts, down))) for job in view.running
        )
        self._queue.purge()

    def _decide_resorted(self, view: View) -> Plan | None:
        """Keys change with time: sort and walk the whole queue."""
        now, queue = view.now, self._order.sort(list(view.queue), view.now)
        if not queue or not view.free_count:
            return None
        plan, position = Plan(view), 0
        while position < len(queue) and queue[position].res <= plan.free_count:
            self._start(plan, queue[position], view)
            position += 1
        if position + 1 >= len(queue) or not plan.free_count:
            return plan
        self._promised = False
        limit = self._promise(queue[position], plan.free_count, now)
        for job in self._backfill.sort(queue[position + 1 :], now):
            if job.res <= plan.free_count and (job.length <= limit or job.res <= self._extra):
                if job.length > limit:
                    self._extra -= job.res
                self._start(plan, job, view)
        return plan

    # ------------------------------------------------------------------ hosts are named

    def _decide_on_timeline(self, view: View) -> Plan | None:
        """The same with the head promised named hosts, from which others stay away."""
        waiting = list(view.queue)
        if not waiting:
            return None
        now, choose, plan = view.now, self._choose, Plan(view)
        timeline = self._timeline(view)
        queue = self._order.sort(waiting, now)
        position = 0
        while position < len(queue) and start_on_timeline(timeline, plan, queue[position], now, choose):
            position += 1
        if position == len(queue):
            return plan
        head = queue[position]
        promise = timeline.earliest(head.res, reach(head), choose)
        if promise is not None:
            timeline.occupy(promise[0], promise[0] + reach(head), to_mask(promise[1]))
        for job in self._backfill.sort(queue[position + 1 :], now):
            start_on_timeline(timeline, plan, job, now, choose)
        return self._wake_when_opened(plan, view)
