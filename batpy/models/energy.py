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

A host that is being switched on or off does one flop in the pstate that stands for the way, and so keeps one
of its cores busy: its load is 1 / cores there, as for any task of one executor. (On hosts of one core, all
that Batsim's own platforms switch, that is full load; their ways draw the same watts under any load.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from batpy.models.energy_shares import IDLE, SLEEPING, SWITCHING, EnergyShares, Loads
from batpy.models.sharing.task import Date, between
from batpy.platforms.power import PowerProfile, PowerState

# Dates that lie closer together than this are the same, in ticks.
SAME_TICKS = 1e-6


class EnergyModel:
    """Pstate, load, power and energy of every host.

    Work is done only where something changes, however many hosts are looked at. A date may lie before the
    last one given for a host or for the total (ends have exact dates, decisions have ticks): what was drawn
    since then is taken back.

    Args:
        profiles: of each host; None for one without figures, which counts as drawing nothing.
        pstates: the pstate each host begins in.
        ticks_per_second: resolution of the dates.

    Attributes:
        pstate: present pstate of each host.
        load: present load of each host, in [0, 1].
        watts: present power of each host.
        least_watts: sum of the epsilon watts of all present pstates (Batsim's ``wattmin``).
        shares: whose the joules are.
        loads_on: tells the load of each job on a host; asked only where there may be several.
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
        # Loads of tasks on hosts that sleep or are being switched; they count when the host is awake again.
        self._hidden: dict[int, float] = {}
        # Loads that have changed since the last look at their hosts: (when, load), and whose they are.
        self._coming: dict[int, tuple[Date, float]] = {}
        self._coming_loads: dict[int, tuple[Date, Loads | None]] = {}
        self._looked: Date = (0, 0.0)
        self._looked_at: list[Date] = [(0, 0.0)] * len(profiles)
        self._total = 0.0
        self._total_watts = sum(self.watts)
        self._total_since: Date = (0, 0.0)
        self._kinds = [_kind(profile, pstate) for profile, pstate in zip(profiles, pstates, strict=True)]
        self.shares = EnergyShares(self.watts, self._kinds, ticks_per_second)
        self.loads_on: Callable[[int], Loads] | None = None

    def open(self, date: Date, job: str, hosts: Iterable[int], others: Iterable[int] = ()) -> None:
        """A job takes *hosts* at the date of the last look, and puts load on *others* too."""
        hosts = list(hosts)
        self.shares.open(date, job, hosts, others)
        for host in hosts:
            if self.load[host] > 0:
                # That of the others alone.
                self.shares.weigh(date, host, self._loads(host))

    def close(self, date: Date, job: str, hosts: Iterable[int], others: Iterable[int] = ()) -> float:
        """A job leaves its hosts at the date of the last look; returns its share of their joules."""
        return self.shares.close(date, job, hosts, others)

    def set_load(self, date: Date, host: int, load: float) -> None:
        """The load of a host is another one from *date* on; see the class for what that means.

        Or it is the same and made up of other parts, if several tasks are there.
        """
        if self._kinds[host] != IDLE:
            # Only an additional I/O job has tasks there, which Batsim 4.2.1 does not check.
            self._hidden[host] = load
            return
        if load != (self._coming[host][1] if host in self._coming else self.load[host]):
            self._coming[host] = (date, load)
        loads = self._loads(host)
        if loads is not None or self.shares.is_weighed(host) or host in self._coming_loads:
            self._coming_loads[host] = (date, loads)

    def _loads(self, host: int) -> Loads | None:
        if self.loads_on is None or not self.shares.is_split(host):
            return None
        return self.loads_on(host) or None

    def visit(self, date: Date, hosts: Iterable[int]) -> None:
        """A task comes to or leaves these hosts: they are looked at."""
        for host in hosts:
            self._look(date, host)

    def set_pstate(self, date: Date, host: int, pstate: int, load: float = 0.0) -> None:
        """A host is in another pstate from *date* on, under the load of its tasks.

        Args:
            load: that of the switching, for a pstate that stands for a way into or out of sleep.
        """
        self._look(date, host)
        if host in self._coming:
            self.load[host] = self._coming.pop(host)[1]
        profile = self._profiles[host]
        assert profile is not None
        self.least_watts -= self._states[host].epsilon
        self.pstate[host] = pstate
        self._states[host] = profile.states[pstate]
        was, self._kinds[host] = self._kinds[host], _kind(profile, pstate)
        if was == IDLE != self._kinds[host]:
            self._hidden[host] = self.load[host]
        if self._kinds[host] != IDLE:
            self.load[host] = load
        elif was != IDLE:
            self.load[host] = self._hidden.pop(host, 0.0)
            if self.load[host] > 0:
                self._coming_loads[host] = (date, self._loads(host))
        self.least_watts += self._states[host].epsilon
        self._draw(date, host)
        if host in self._coming_loads:
            self.shares.weigh(date, host, self._coming_loads.pop(host)[1])

    def look(self, date: Date, *, after: bool = True) -> None:
        """Look at all hosts, after or before what happens at this very date."""
        if self._coming or self._coming_loads:
            self._take_over(date, [*self._coming, *self._coming_loads], -1.0 if after else SAME_TICKS)
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
        running = self.shares.running(date)
        shared = running + self.shares.of_jobs + sum(self.shares.rest)
        assert abs(shared - total) <= 1e-9 * max(1.0, abs(total)), f"shares {shared} J, together {total} J"

    def _look(self, date: Date, host: int) -> None:
        self._take_over(date, (host,))
        self._looked_at[host] = max(self._looked_at[host], date)

    def _take_over(self, date: Date, hosts: Iterable[int], margin: float = SAME_TICKS) -> None:
        """Loads that came so many ticks before *date* count from the last look on."""
        coming, loads = self._coming, self._coming_loads
        for host in hosts:
            if host in coming and between(coming[host][0], date) > margin:
                self.load[host] = coming.pop(host)[1]
                self._draw(max(self._looked, self._looked_at[host]), host)
            if host in loads and between(loads[host][0], date) > margin:
                self.shares.weigh(max(self._looked, self._looked_at[host]), host, loads.pop(host)[1])

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
        self.shares.change(date, host, state.idle, watts, self._kinds[host])

    def _seconds(self, first: Date, last: Date) -> float:
        return between(first, last) / self._scale


def _kind(profile: PowerProfile | None, pstate: int) -> int:
    """What a host without a job does in a pstate."""
    for sleep in () if profile is None else profile.sleeps:
        if pstate == sleep.sleep:
            return SLEEPING
        if pstate in (sleep.off, sleep.on):
            return SWITCHING
    return IDLE
