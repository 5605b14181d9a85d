"""EASY backfilling that switches idle hosts off, and on again for the queue.

A host that was idle for a while is switched off; one that the head of the queue was promised is, too, if it
can be back by then and sleeping saves energy. Some idle hosts may be kept on as a reserve, until no more jobs
are to come. A job that can start by the time at which all sleeping hosts could be on gets a slot, and its
hosts are switched on; the first that cannot is the head, with EASY's reservation, whose hosts are switched on
in time. Jobs are placed on hosts that are on wherever these suffice.

While walltimes hold and no host is lost, no job that has a slot starts later than it was first promised;
where an earlier end makes an earlier start possible, a sleeping host delays that by the time it takes to
be switched on. Hosts that cannot sleep (no ``sleep_pstates``) stay on.
"""

from __future__ import annotations

from dataclasses import dataclass

from batpy.base.dates import nearest_tick
from batpy.base.errors import InputError
from batpy.protocol.messages import Event, Notify
from batpy.schedulers.api import Job, Plan, View
from batpy.schedulers.hosts import from_mask, to_mask
from batpy.schedulers.hpc.base import HpcPolicy
from batpy.schedulers.hpc.board import Board, Slot, awake_first
from batpy.schedulers.hpc.easy import EasyOptions
from batpy.schedulers.hpc.orders import Order, parse_order
from batpy.schedulers.power import SLEEPS, WATTAGES, HostPower, Kind, energy_is_off
from batpy.schedulers.timeline import FOREVER


@dataclass(frozen=True)
class EasySleepOptions(EasyOptions):
    """Options of ``easy_sleep``.

    Attributes:
        idle_seconds: how long a host has to be idle before it is switched off; none: it never is.
        reserve: number of idle hosts that are kept on, or switched on again, for jobs to come; those that a
            waiting job is promised are not among them.
    """

    idle_seconds: float | None = 300.0
    reserve: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, value in (("idle_seconds", self.idle_seconds), ("reserve", self.reserve)):
            if value is not None and value < 0:
                raise InputError(f"must be 0 or more, got {value}", path=name)


class EasySleep(HpcPolicy):
    """EASY that switches idle hosts off after a delay and on again for the queue; needs energy."""

    Options: type[EasySleepOptions] = EasySleepOptions
    name = "easy_sleep"

    def __init__(self, options: EasySleepOptions) -> None:
        super().__init__(options)
        self._options = options
        self._order: Order = parse_order(options.order, 1)
        self._backfill: Order = parse_order(options.backfill, 1)
        self._power: HostPower
        self._delay: int | None = None  # ticks; None: nothing is switched off
        self._reserve = options.reserve
        self._slots: dict[int, Slot] = {}
        self._idle: list[tuple[int, int]] = []  # (since, mask) of idle hosts, longest idle first
        self._no_more_jobs = False

    def begin(self, view: View) -> Plan | None:
        """Learn the platform; hosts that are on are idle from now on."""
        super().begin(view)
        options, scale = self._options, view.ticks_per_second
        self._order, self._backfill = (parse_order(text, scale) for text in (options.order, options.backfill))
        if options.idle_seconds is not None:
            self._delay = nearest_tick(options.idle_seconds, scale)
        self._power = self._known_power(view)
        self._open(view)
        self._note_idle(to_mask(view.free), view.now)
        plan = Plan(view)
        if self._delay is not None or self._reserve:
            # Not now: jobs that are submitted at date 0 are not known yet.
            wanted = 0 if self._delay is None or self._power.asleep_mask else self._delay
            plan.wake(view.now + max(wanted, scale))
        return plan

    def hear(self, event: Event) -> None:
        """Know when no more jobs are to come."""
        if isinstance(event, Notify) and event.type == "no_more_static_job_to_submit":
            self._no_more_jobs = True

    def decide(self, view: View) -> Plan | None:
        """Start jobs, then switch hosts."""
        plan = Plan(view)
        waiting = view.queue
        self._open(view)
        if waiting:
            self._place(view, plan, list(waiting))
            self._wake_when_opened(plan, view)
        else:
            self._slots = {}
        self._switch(view, plan)
        return plan

    def _known_power(self, view: View) -> HostPower:
        """Power of the hosts.

        Raises:
            InputError: energy is off, or there is nothing to switch.
        """
        if energy_is_off(view.greeting):
            problem = "needs energy: set energy = true under [simulation], or give -E to batpy simulate"
            raise InputError(f"{problem}; or use easy", source=self.name)
        power = view.power
        if power is None:
            problem = f"every host needs power figures (property {WATTAGES[0]})"
            raise InputError(f"{problem}; give them in the platform file, or use easy", source=self.name)
        if self._delay is not None and not any(kind.sleep >= 0 for kind in power.kinds):
            problem = f"no host can be switched off (property {SLEEPS}: sleep:off:on pstates)"
            raise InputError(f"{problem}; give it in the platform file, or use easy", source=self.name)
        return power

    # ------------------------------------------------------------------ jobs

    def _open(self, view: View) -> None:
        """A decision begins."""

    def _board(self, view: View, plan: Plan) -> Board:
        now, power = view.now, self._power
        soon = max((date for date, _ in power.ready(now)), default=now) + 1
        choose = awake_first(power, self._choose, self._consecutive)
        return Board(self._timeline(view), plan, choose, now, soon, None)

    def _place(self, view: View, plan: Plan, waiting: list[Job]) -> None:
        here = {job.serial for job in waiting}
        board = self._board(view, plan)
        if not board.keep({serial: slot for serial, slot in self._slots.items() if serial in here}):
            self._open(view)
            board = self._board(view, plan)
        order = self._order.sort(waiting, view.now)
        board.place(order, self._backfill.sort(waiting, view.now))
        self._slots = board.slots

    # ------------------------------------------------------------------ hosts

    def _switch(self, view: View, plan: Plan) -> None:
        """Switch hosts on for the slots and the reserve, and off where they are idle for too long."""
        now, power = view.now, self._power
        used = self._wake_for_slots(plan, now)
        closed = self._closed(now)
        idle = to_mask(plan.free)
        self._note_idle(idle, now)
        waiting = len(view.queue) > len(plan.starts)
        if self._no_more_jobs and not (waiting or plan.starts or view.running):
            return  # what nobody waits for would only make the run longer
        out_of_use = used | closed | to_mask(view.down)
        coming = power.on_the_way(sleeps=False) & ~out_of_use
        spare = idle & ~out_of_use
        reserve = self._reserve if waiting or not self._no_more_jobs else 0
        extra = spare.bit_count() + coming.bit_count() - reserve
        if extra < 0:
            self._wake_reserve(plan, power.asleep_mask & ~out_of_use, -extra)
        if self._delay is None:
            return
        due = self._due(plan, now, spare, extra)
        off = _highest(due & spare, max(extra, 0)) | (due & closed & ~used)
        self._sleep(plan, off)
        self._sleep_until_used(plan, due & used, now)

    def _due(self, plan: Plan, now: int, spare: int, extra: int) -> int:
        """Hosts that are idle for long enough to be switched off; asks to be called when more will be."""
        assert self._delay is not None
        due, can_sleep = 0, self._can_sleep()
        for since, mask in self._idle:
            if since + self._delay <= now:
                due |= mask & can_sleep
            elif mask & can_sleep & (~spare if extra <= (due & spare).bit_count() else -1):
                plan.wake(since + self._delay)
                break
        return due

    def _wake_for_slots(self, plan: Plan, now: int) -> int:
        """Switch on what slots need by now; gives the mask of all hosts that slots keep."""
        used = awaken = 0
        for start, _, mask in self._slots.values():
            used |= mask
            for kind in self._power.kinds:
                if sleepers := mask & kind.mask & self._power.asleep_mask:
                    date = start - max(kind.on_ticks, 1)
                    if date <= now:
                        awaken |= sleepers
                    elif start < FOREVER:  # else a job without walltime has to end first
                        plan.wake(date)
        self._wake(plan, awaken, kept=True)
        return used

    def _note_idle(self, idle: int, now: int) -> None:
        groups = [(since, mask & idle) for since, mask in self._idle if mask & idle]
        for _, mask in groups:
            idle &= ~mask
        if idle:
            groups.append((now, idle))
        self._idle = groups

    def _closed(self, now: int) -> int:
        """Hosts of a reservation or an outage that is going on."""
        mask = 0
        if self._closures is not None:
            for closure in self._closures.within(now, now + 1):
                mask |= closure.mask
        return mask

    def _can_sleep(self) -> int:
        mask = 0
        for kind in self._power.kinds:
            if kind.sleep >= 0:
                mask |= kind.mask
        return mask

    def _wake_reserve(self, plan: Plan, sleepers: int, count: int) -> None:
        self._wake(plan, _lowest(sleepers, count), kept=False)

    def _sleep_until_used(self, plan: Plan, due: int, now: int) -> None:
        """Switch off hosts that slots keep, if they can be back by then and that saves energy."""
        for start, _, mask in sorted(self._slots.values()):
            kept, due = due & mask, due & ~mask
            for kind in self._power.kinds:
                if kept & kind.mask and _saves(kind, start - now):
                    self._sleep_until(plan, kept & kind.mask, start)

    def _sleep_until(self, plan: Plan, mask: int, start: int) -> None:  # noqa: ARG002 (for easy_budget)
        """Switch off hosts that a slot keeps from *start* on."""
        self._sleep(plan, mask)

    def _wake(self, plan: Plan, mask: int, *, kept: bool) -> None:  # noqa: ARG002 (for easy_budget)
        """Switch hosts on.

        Args:
            kept: slots keep them, so what that costs is counted already.
        """
        for kind in self._power.kinds:
            if mask & kind.mask:
                plan.switch(from_mask(mask & kind.mask), kind.computes_in)

    def _sleep(self, plan: Plan, mask: int) -> None:
        """Switch hosts off."""
        for kind in self._power.kinds:
            if kind.sleep >= 0 and mask & kind.mask:
                plan.switch(from_mask(mask & kind.mask), kind.sleep)


def _saves(kind: Kind, gap: int) -> bool:
    """True if a host that is not needed for so many ticks uses less when it sleeps meanwhile."""
    sleeping = gap - kind.off_ticks - kind.on_ticks
    if sleeping < 0 or kind.off_ticks < 0 or kind.on_ticks < 0:
        return False  # or not known yet
    watts = kind.watts
    spent = (
        watts[kind.off][1] * kind.off_ticks
        + watts[kind.sleep][0] * sleeping
        + watts[kind.on][1] * kind.on_ticks
    )
    return spent < watts[kind.computes_in][0] * gap


def _highest(mask: int, count: int) -> int:
    """The *count* highest-numbered hosts of a mask: jobs fill the platform from the lowest."""
    while mask.bit_count() > count:
        mask &= mask - 1
    return mask


def _lowest(mask: int, count: int) -> int:
    taken = 0
    while mask and count > 0:
        lowest = mask & -mask
        taken |= lowest
        mask ^= lowest
        count -= 1
    return taken
