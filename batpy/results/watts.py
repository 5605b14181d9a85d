"""What hosts draw as far as their states tell it: recomputed for the audit, with nothing of the simulator."""

from __future__ import annotations

from collections.abc import Iterator

from batpy.protocol import hostset
from batpy.protocol.hostset import HostSet
from batpy.protocol.records import EnergyBegins, HostPower

AWAKE, SLEEPS, SWITCHES_OFF, SWITCHES_ON = range(4)
# Sums of watts and joules: rest by kind, then least and most of all hosts.
_IDLE, _SLEEPING, _SWITCHING, _LEAST, _MOST = range(5)


class Watts:
    """States of hosts, and what they draw in them.

    Args:
        hosts: how many there are.
        ticks_per_second: resolution of the dates.
        begins: their figures and first pstates.

    Attributes:
        powers: figures of each host, None for one without (it draws nothing).
        pstate: present pstate of each host.
        does: ``AWAKE``, ``SLEEPS``, ``SWITCHES_OFF`` or ``SWITCHES_ON``.
        jobs: number of jobs on each host.
        is_told: the journal tells watts; older ones do not.
    """

    def __init__(self, hosts: int, ticks_per_second: int, begins: EnergyBegins) -> None:
        self._second = ticks_per_second
        self.is_told = bool(begins.powers)
        self.powers: list[HostPower | None] = [None] * hosts
        self.pstate = [0] * hosts
        self.does = [AWAKE] * hosts
        self.jobs = [0] * hosts
        self._running = 0
        self._date = (0, 0.0)
        self._sums = [0.0] * 5
        self._joules = [0.0] * 5
        # All hosts at their most, and what ends between ticks may be off by.
        self._peak = self._slack = 0.0
        for power in begins.powers:
            for host in self.existing(power.hosts):
                self.powers[host] = power
                self._peak += max(max(state) for state in power.watts)
        for pstate, ids in begins.pstates:
            for host in self.existing(ids):
                self.pstate[host] = pstate
                known = self.powers[host]
                if known is not None and not 0 <= pstate < len(known.watts):
                    self.powers[host] = None
        for host in self.existing(begins.sleeping):
            self.does[host] = SLEEPS
        for host in range(hosts):
            self._count(host, 1)

    def existing(self, hosts: HostSet) -> Iterator[int]:
        """Those of the hosts that there are, ascending; another law finds the others."""
        return hostset.ids(hostset.intersection(hosts, ((0, len(self.does) - 1),)))

    def advance(self, time: int, lag: float = 0.0) -> None:
        """Everything goes on as it is until a tick, or so many ticks before it (*lag* is negative).

        Dates may go back by less than a tick: what was drawn since then is taken back.
        """
        seconds = (time - self._date[0] + (lag - self._date[1])) / self._second
        self._date = (time, lag)
        if seconds:
            sums = self._sums
            for i, joules in enumerate(self._joules):
                self._joules[i] = joules + sums[i] * seconds
            if not self._running:
                # Nothing computes, so that what is drawn is known.
                extra = sum(sums[:_LEAST]) - sums[_MOST]
                self._joules[_MOST] += extra * seconds

    def hold(self, host: int, jobs: int) -> None:
        """So many jobs more (less) run on a host."""
        self._count(host, -1)
        self.jobs[host] += jobs
        self._running += jobs
        self._count(host, 1)
        power = self.powers[host]
        if power is not None and jobs < 0:
            self._slack += max(power.watts[self.pstate[host]]) / self._second

    def bring(self, host: int, pstate: int, does: int) -> None:
        """A host is in another state."""
        self._count(host, -1)
        self.pstate[host], self.does[host] = pstate, does
        self._count(host, 1)

    @property
    def rest(self) -> tuple[float, float, float]:
        """Joules of hosts without a job: idle, sleeping, switching."""
        idle, sleeping, switching = self._joules[:_LEAST]
        return idle, sleeping, switching

    @property
    def least(self) -> float:
        """The least joules that all hosts can have drawn."""
        return self._joules[_LEAST]

    @property
    def most(self) -> float:
        """The most joules that all hosts can have drawn.

        While a job runs, it may put load on every host that is awake: its additional I/O job may have others.
        """
        return self._joules[_MOST]

    def ticks(self, count: int) -> float:
        """What all hosts draw at most in so many ticks."""
        return self._peak * count / self._second

    def slack(self, joules: float) -> float:
        """What the rest may be off by because ends between ticks are told in either order."""
        return 1e-9 * joules + self._slack

    def _count(self, host: int, sign: int) -> None:
        power = self.powers[host]
        if power is None:
            return
        idle, epsilon, full = power.watts[self.pstate[host]]
        sums, does = self._sums, self.does[host]
        if does == AWAKE:
            if self.jobs[host]:
                sums[_LEAST] += sign * min(idle, epsilon, full)
            else:
                sums[_IDLE] += sign * idle
                sums[_LEAST] += sign * idle
            sums[_MOST] += sign * max(idle, epsilon, full)
            return
        # A switch keeps one core busy.
        drawn = idle if does == SLEEPS else epsilon + (full - epsilon) / power.cores
        for place in (_SLEEPING if does == SLEEPS else _SWITCHING, _LEAST, _MOST):
            sums[place] += sign * drawn
