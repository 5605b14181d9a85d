"""Energy of hosts: watts follow pstate and load, joules are watts over time.

Rules: SimGrid 3.32's host energy plug-in. Without load a host draws its idle watts; with a load u in (0, 1]
it draws epsilon + u x (full - epsilon), all three those of its present pstate. A host consumes whether or not
a job holds it.

A host is looked at when somebody asks for its energy, when its pstate changes, when a task leaves it, and
when a task comes to it as to its first host. The load that it has just before a look counts for the whole
time since the look before: a task of several hosts that comes between two looks, that pays its latency first
or that others slow down, is charged as if its last rate had been its rate since then. Batsim 4.2.1 looks at
all hosts whenever a job starts or ends and whenever a pstate changes; its recorded figures are these and not
the exact integrals.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from batpy.models.sharing.task import Date, between
from batpy.platforms.power import PowerProfile, PowerState

# Dates that lie closer together than this are the same, in ticks.
SAME_TICKS = 1e-6


class EnergyModel:
    """Pstate, load, power and energy of every host.

    Work is done only where something changes, however many hosts are looked at. A date may lie before the
    last one given for a host or for the
    total (ends have exact dates, decisions have ticks): what was drawn since then is taken back.

    Args:
        profiles: of each host; None for one without figures, which counts as drawing nothing.
        pstates: the pstate each host begins in.
        ticks_per_second: resolution of the dates.

    Attributes:
        pstate: present pstate of each host.
        load: present load of each host, in [0, 1].
        watts: present power of each host.
        least_watts: sum of the epsilon watts of all present pstates (Batsim's ``wattmin``).
    """

    def __init__(
        self, profiles: Sequence[PowerProfile | None], pstates: Sequence[int], ticks_per_second: float
    ) -> None:
        self._profiles = profiles
        self._scale = ticks_per_second
        self.pstate = list(pstates)
        self.load = [0.0] * len(profiles)
        self._states = [
            PowerState(0.0, 0.0, 0.0) if profile is None else profile.states[pstate]
            for profile, pstate in zip(profiles, pstates, strict=True)
        ]
        self.watts = [state.idle for state in self._states]
        self.least_watts = sum(state.epsilon for state in self._states)
        self._joules = [0.0] * len(profiles)
        self._since: list[Date] = [(0, 0.0)] * len(profiles)
        # Loads that have changed since the last look at their hosts: (when, load).
        self._coming: dict[int, tuple[Date, float]] = {}
        self._looked: Date = (0, 0.0)
        self._looked_at: list[Date] = [(0, 0.0)] * len(profiles)
        self._total = 0.0
        self._total_watts = sum(self.watts)
        self._total_since: Date = (0, 0.0)

    def set_load(self, date: Date, host: int, load: float) -> None:
        """The load of a host is another one from *date* on; see the class for what that means."""
        self._coming[host] = (date, load)

    def visit(self, date: Date, hosts: Iterable[int]) -> None:
        """A task comes to or leaves these hosts: they are looked at."""
        for host in hosts:
            self._look(date, host)

    def set_pstate(self, date: Date, host: int, pstate: int, load: float | None = None) -> None:
        """A host is in another pstate from *date* on, under the same load or under *load*."""
        self._look(date, host)
        if host in self._coming:
            self.load[host] = self._coming.pop(host)[1]
        if load is not None:
            self.load[host] = load
        profile = self._profiles[host]
        assert profile is not None
        self.least_watts -= self._states[host].epsilon
        self.pstate[host] = pstate
        self._states[host] = profile.states[pstate]
        self.least_watts += self._states[host].epsilon
        self._draw(date, host)

    def look(self, date: Date, *, after: bool = True) -> None:
        """Look at all hosts, after or before what happens at this very date."""
        if self._coming:
            self._take_over(date, list(self._coming), -1.0 if after else SAME_TICKS)
        self._looked = max(self._looked, date)

    def joules(self, date: Date, hosts: Iterable[int]) -> float:
        """What these hosts have consumed from 0 to *date*, the date of the last look."""
        spent = 0.0
        for host in hosts:
            spent += self._joules[host] + self.watts[host] * self._seconds(self._since[host], date)
        return spent

    def total(self, date: Date) -> float:
        """What all hosts have consumed from 0 to *date*, the date of the last look."""
        return self._total + self._total_watts * self._seconds(self._total_since, date)

    def check(self) -> None:
        """Recompute what is redundant and compare."""
        date = self._total_since
        spent, total = self.joules(date, range(len(self.watts))), self.total(date)
        assert abs(spent - total) <= 1e-9 * max(1.0, abs(total)), f"hosts {spent} J, together {total} J"
        assert abs(sum(self.watts) - self._total_watts) <= 1e-9 * max(1.0, self._total_watts)
        least = sum(state.epsilon for state in self._states)
        assert abs(least - self.least_watts) <= 1e-9 * max(1.0, least)

    def _look(self, date: Date, host: int) -> None:
        self._take_over(date, (host,))
        self._looked_at[host] = max(self._looked_at[host], date)

    def _take_over(self, date: Date, hosts: Iterable[int], margin: float = SAME_TICKS) -> None:
        """Loads that came so many ticks before *date* count from the last look on."""
        coming = self._coming
        for host in hosts:
            if host in coming and between(coming[host][0], date) > margin:
                self.load[host] = coming.pop(host)[1]
                self._draw(max(self._looked, self._looked_at[host]), host)

    def _draw(self, date: Date, host: int) -> None:
        """Add up what was drawn until *date*, and find the new power."""
        state, load = self._states[host], self.load[host]
        watts = state.epsilon + load * (state.full - state.epsilon) if load > 0 else state.idle
        old = self.watts[host]
        self._joules[host] += old * self._seconds(self._since[host], date)
        self._since[host] = date
        self._total += self._total_watts * self._seconds(self._total_since, date)
        self._total_since = date
        self._total_watts += watts - old
        self.watts[host] = watts

    def _seconds(self, first: Date, last: Date) -> float:
        return between(first, last) / self._scale
