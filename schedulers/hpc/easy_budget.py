"""EASY backfilling under an energy budget, after Dutot, Georgiou, Glesser, Lefevre, Poquet and Rais (2017),
"Towards Energy Budget Control in HPC": their ``energyBud``.

A budget in joules for a period that begins at date 0 becomes available at a constant rate. A job is started
only if, with it, no more than what is available by then will have been consumed at any date until the end of
the period. What is to come is bounded from above: a job draws the full watts of its hosts until its walltime
(one without walltime, for ever), other hosts their idle watts. So energy has to be saved up before jobs that
draw more than the rate can start. The head of the queue is promised a date at which both its hosts and its
energy will be there, and backfilling leaves both alone. What jobs did not use is found by asking the
simulator how much was consumed.

What is available is exceeded only by what no start decides: where the hosts draw more than the rate while
nothing runs, until they sleep and that is made up for. No job starts meanwhile. After the period there is no
limit, so every job ends.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from batpy.base.dates import nearest_tick
from batpy.base.errors import InputError
from batpy.protocol.messages import Answer, Event, Query
from batpy.schedulers.api import Plan, View
from batpy.schedulers.hpc.board import Board, awake_first
from batpy.schedulers.hpc.easy_sleep import EasySleep, EasySleepOptions
from batpy.schedulers.hpc.energy import EnergyBudget
from batpy.schedulers.power import HostPower, read_power
from batpy.schedulers.timeline import FOREVER


@dataclass(frozen=True)
class EasyBudgetOptions(EasySleepOptions):
    """Options of ``easy_budget``.

    Attributes:
        budget_joules: what all hosts together may consume in the period.
        period_seconds: length of the period, which begins at date 0; the budget becomes available evenly.
        measured: ask the simulator for the joules consumed whenever energy keeps a job from starting; else
            jobs count as having drawn their hosts' full watts.
        idle_seconds: how long a host has to be idle before it is switched off; none: it never is.
    """

    budget_joules: float = field(kw_only=True)
    period_seconds: float = field(kw_only=True)
    measured: bool = True
    idle_seconds: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("budget_joules", "period_seconds"):
            if getattr(self, name) <= 0:
                raise InputError(f"must be more than 0, got {getattr(self, name)}", path=name)


class EasyBudget(EasySleep):
    """EASY that starts jobs only while an energy budget allows; needs energy."""

    Options = EasyBudgetOptions
    name = "easy_budget"

    def __init__(self, options: EasyBudgetOptions) -> None:
        super().__init__(options)
        self._budget_options = options
        self._budget: EnergyBudget
        self._answered = False
        self._asked_at = -1

    def hear(self, event: Event) -> None:
        """Take what was measured."""
        super().hear(event)
        if isinstance(event, Answer) and event.consumed_energy is not None:
            self._answered = True
            self._budget.measured(event.consumed_energy, event.timestamp)

    def decide(self, view: View) -> Plan | None:
        """Start jobs that the budget allows, then switch hosts."""
        plan = super().decide(view)
        now = view.now
        if plan is not None and self._slots and now < self._budget.period:
            # Energy comes with time, and nothing is said when it is there.
            date = min(start for start, _, _ in self._slots.values())
            if self._is_late(view):
                # A host is waited for, and that will be said: not to be asked for at every tick.
                date = max(date, now + view.ticks_per_second)
            if now < date < FOREVER:
                plan.wake(date)
            if self._budget_options.measured and not self._answered and self._asked_at < now:
                self._asked_at = now
                plan.say(Query(now, {"consumed_energy": {}}))
        self._answered = False
        return plan

    def _is_late(self, view: View) -> bool:
        """True if a host or the end of a job was expected before."""
        now = view.now
        return any(way.until <= now for way in self._power.ways) or any(
            job.end <= now for job in view.running
        )

    def _known_power(self, view: View) -> HostPower:
        power = super()._known_power(view)
        options, scale = self._budget_options, view.ticks_per_second
        # A storage host without figures counts as drawing nothing.
        storage = [read_power([record], scale) for record in view.greeting.storage_resources]
        other = sum(one.kinds[0].watts[one.kinds[0].computes_in][0] for one in storage if one is not None)
        period = max(nearest_tick(options.period_seconds, scale), 1)
        self._budget = EnergyBudget(options.budget_joules, period, scale, power, other)
        self._check_rate(self._budget)
        return power

    def _check_rate(self, budget: EnergyBudget) -> None:
        sleeps = self._delay is not None
        least, rate = budget.least_watts(asleep=sleeps), budget.rate_watts
        if rate < least:
            state = "asleep" if sleeps else "idle"
            told = f"budget_joules / period_seconds is {rate:.6g} W, but the hosts draw {least:.6g} W {state}"
            advice = "raise it" if sleeps else "raise it, or set idle_seconds to switch idle hosts off"
            problem = f"{told}, so no job could start before the period ends; {advice}"
            raise InputError(problem, source=self.name)

    # ------------------------------------------------------------------ what the budget forbids

    def _open(self, view: View) -> None:
        self._budget.open(view)

    def _board(self, view: View, plan: Plan) -> Board:
        now, power = view.now, self._power
        soon = max((date for date, _ in power.ready(now)), default=now) + 1
        choose = awake_first(power, self._choose, self._consecutive)
        return Board(self._timeline(view), plan, choose, now, soon, self._budget)

    def _wake(self, plan: Plan, mask: int, *, kept: bool) -> None:
        super()._wake(plan, mask, kept=kept)
        self._budget.wake(mask, kept=kept)

    def _wake_reserve(self, plan: Plan, sleepers: int, count: int) -> None:
        while count > 0 and sleepers:
            host = sleepers & -sleepers
            if not self._budget.allows_wake(host):
                return
            self._wake(plan, host, kept=False)
            sleepers ^= host
            count -= 1

    def _sleep(self, plan: Plan, mask: int) -> None:
        if mask and self._budget.sleep(mask):
            super()._sleep(plan, mask)

    def _sleep_until(self, plan: Plan, mask: int, start: int) -> None:
        if self._budget.sleep(mask, start):
            super()._sleep(plan, mask)
