"""Energy and power states of one simulation: what SET_RESOURCE_STATE does, and what a job consumes.

Stands in front of the journal: what all hosts have consumed is told after each start, before each end, and
before and after each change of pstates; at the end of a whole run, where it went. Made only for runs with
energy. Rules: Batsim 4.2.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from batpy.base.errors import InputError
from batpy.kernel.ticks import round_up
from batpy.models.energy import EnergyModel
from batpy.models.sharing.task import Date, later
from batpy.platforms.platform import Platform
from batpy.platforms.power import PowerProfile, SleepState, power_of
from batpy.protocol import hostset
from batpy.protocol import messages as m
from batpy.protocol import records as r
from batpy.protocol.hostset import HostSet
from batpy.simulator.gate import Ignored

if TYPE_CHECKING:
    from batpy.models.parallel import ParallelModel
    from batpy.simulator.core import Simulator

# States of jobs that end by themselves, so between ticks.
_BY_ITSELF = frozenset((m.COMPLETED_SUCCESSFULLY, m.COMPLETED_FAILED))


class _Request(msgspec.Struct, eq=False):
    """One SET_RESOURCE_STATE whose hosts have not all reached their pstate.

    Attributes:
        left: hosts that have not.
    """

    hosts: HostSet
    state: int
    left: int


class _Switch(msgspec.Struct, eq=False):
    """Hosts of one request that arrive together.

    Attributes:
        sleep: they are being switched off.
        lag: exact date of arrival minus its tick, in ticks.
    """

    request: _Request
    hosts: list[int]
    sleep: bool
    lag: float


def power_profiles(platform: Platform) -> list[PowerProfile | None]:
    """Power figures of every host.

    Raises:
        InputError: a host's figures are wrong, or a compute host has none; names host and property.
    """
    profiles: list[PowerProfile | None] = []
    for host in platform.hosts:
        try:
            profile: PowerProfile | None = power_of(host, platform.source)
        except InputError:
            has_figures = any(name in host.properties for name in ("wattage_per_state", "watt_per_state"))
            if host.id < len(platform.compute) or has_figures:
                raise
            # Batsim asks compute hosts only for figures.
            profile = None
        if profile is not None and _way_of(profile, host.pstate) is not None:
            problem = f"starts in pstate {host.pstate}, which only stands for a way into or out of sleep"
            raise InputError(
                problem, source=platform.source, path=f"host {host.name!r}: property sleep_pstates"
            )
        profiles.append(profile)
    return profiles


class Power:
    """Pstates of the hosts and what they consume. It is a sink.

    Args:
        simulator: whose hosts these are.
        sink: takes the records, with those of the energy between them.

    Attributes:
        switching: number of hosts that are being switched on or off.
    """

    def __init__(self, simulator: Simulator, sink: r.Sink) -> None:
        self._sim = simulator
        self._platform = platform = simulator.platform
        self._scale = simulator.config.ticks_per_second
        self._profiles = power_profiles(platform)
        self.model = EnergyModel(self._profiles, [host.pstate for host in platform.hosts], self._scale)
        self._sink = sink.write
        self._tasks: ParallelModel | None = None
        self._spent_before: dict[str, float] = {}
        self._submitted = False
        self._told: Date = (0, 0.0)
        self._told_joules = 0.0
        # Target of each host that is being switched.
        self._ways: dict[int, int] = {}
        self.sleeping = [h for h in range(len(self._profiles)) if self._sleep_state(h) is not None]
        simulator.park.sleep(self.sleeping, True)

    @property
    def switching(self) -> int:
        """Number of hosts that are being switched on or off."""
        return len(self._ways)

    def watch(self, tasks: ParallelModel) -> None:
        """Tasks run on the hosts from now on, at the speeds of their present pstates."""
        self._tasks = tasks
        self.model.loads_on = self._loads_on
        for host, pstate in zip(self._platform.hosts, self.model.pstate, strict=True):
            if pstate != host.pstate:
                tasks.set_speed(host.id, host.speeds[pstate])

    def _loads_on(self, host: int) -> dict[str, float]:
        """Flops a second of each job on a host."""
        assert self._tasks is not None
        loads: dict[str, float] = {}
        for run, flops in self._tasks.users(host):
            loads[run.owner.id] = loads.get(run.owner.id, 0.0) + flops
        return loads

    # ------------------------------------------------------------------ records

    def write(self, record: r.AnyRecord) -> None:
        """Pass a record on, with what is measured because of it."""
        if type(record) is r.Started:
            self._sink(record)
            date: Date = (record.time, 0.0)
            self._look()
            hosts = list(hostset.ids(record.alloc))
            self._spent_before[record.job] = self.model.joules(date, hosts)
            self.model.open(date, record.job, hosts, self._others(record.job))
            self._measure("s", job=record.job)
        elif type(record) is r.Ended:
            self._job_ends(record)
            self._sink(record)
        else:
            if type(record) is r.RunEnds and record.outcome == "done":
                # Who stops a run may do so while hosts and links are being changed.
                self._end()
            self._sink(record)
            if type(record) is r.RunBegins:
                self._begin()
            elif type(record) is r.Submitted and not self._submitted:
                self._submitted = True
                self._look()
                self._measure("")

    def _begin(self) -> None:
        by_pstate: dict[int, list[int]] = {}
        for host, pstate in enumerate(self.model.pstate):
            by_pstate.setdefault(pstate, []).append(host)
        groups = tuple((pstate, hostset.from_ids(by_pstate[pstate])) for pstate in sorted(by_pstate))
        self._sink(r.EnergyBegins(0, groups, hostset.from_ids(self.sleeping), self._powers()))

    def _powers(self) -> tuple[r.HostPower, ...]:
        """Equal hosts together, in the order of their first ones."""
        groups: dict[tuple[PowerProfile, int, tuple[float, ...]], list[int]] = {}
        for host, profile in zip(self._platform.hosts, self._profiles, strict=True):
            if profile is not None:
                groups.setdefault((profile, host.cores, host.speeds), []).append(host.id)
        return tuple(
            [
                r.HostPower(
                    hostset.from_ids(ids),
                    cores,
                    speeds,
                    tuple([(state.idle, state.epsilon, state.full) for state in profile.states]),
                    tuple([(sleep.sleep, sleep.off, sleep.on) for sleep in profile.sleeps]),
                )
                for (profile, cores, speeds), ids in groups.items()
            ]
        )

    def _end(self) -> None:
        self._look()
        now, shares = self._sim.agenda.now, self.model.shares
        jobs = shares.running((now, 0.0)) + shares.of_jobs
        self._sink(r.EnergyEnds(now, self.model.total((now, 0.0)), jobs, *shares.rest))

    def _others(self, job: str) -> Sequence[int]:
        """Hosts of a job's additional I/O job."""
        run = self._sim.jobs.alive[job].run
        return () if run is None else run.io_hosts

    def _job_ends(self, record: r.Ended) -> None:
        entry = self._sim.jobs.alive[record.job]
        lag = 0.0
        if record.state in _BY_ITSELF and entry.run is not None:
            # The exact date: on hosts that draw hundreds of watts, a tick of a short job can be seen.
            lag = min(0.0, entry.run.carry)
        date = later((record.time, lag), 0.0)
        # The rates of those who go on are not yet others.
        self.model.look(date, after=False)
        hosts = list(hostset.ids(entry.alloc))
        spent = self.model.joules(date, hosts) - self._spent_before.pop(record.job)
        fair = self.model.close(date, record.job, hosts, self._others(record.job))
        self._measure("e", lag, record.job, spent, fair)

    def _measure(
        self, event: str, lag: float = 0.0, job: str = "", spent: float = 0.0, fair: float = 0.0
    ) -> None:
        now = self._sim.agenda.now
        date = later((now, lag), 0.0)
        if date < self._told:
            # Told in the order of decisions, which take place at ticks: the total must not go back.
            date, lag = self._told, min(0.0, self._told[0] - now + self._told[1])
        self._told = date
        # Of two looks within a tick the later may see a load less.
        self._told_joules = max(self._told_joules, self.model.total(date))
        least = self.model.least_watts
        self._sink(r.EnergyMeasured(now, event, self._told_joules, least, lag, job, spent, fair))

    def consumed(self) -> float:
        """What all hosts have consumed until now, in joules."""
        self._look()
        return self.model.total((self._sim.agenda.now, 0.0))

    def _look(self) -> None:
        """Look at all hosts now."""
        if self._tasks is not None:
            self._tasks.settle()
        self.model.look((self._sim.agenda.now, 0.0))

    # ------------------------------------------------------------------ power states

    def request(self, decision: m.SetResourceState) -> str | None:
        """Bring hosts to a pstate, or say which rule forbids it (then nothing changes)."""
        hosts, state, now = decision.resources, decision.state, self._sim.agenda.now
        reason = self._why_not(hosts, state)
        if reason is not None:
            return reason
        self._look()
        ways = [(host, self._way(host, state)) for host in hostset.ids(hosts)]
        going, coming = ([host for host, way in ways if way and way[0] is sleep] for sleep in (True, False))
        self._sim.park.sleep(going, True)
        off, on = hostset.from_ids(going), hostset.from_ids(coming)
        sleeps = self._is_sleep(hosts[0][0], state)
        self._sink(r.PstateAsked(now, hosts, state, False, off, on, sleeps))
        # Batsim 4.2.1 looks at the watts before it changes any of them.
        self._measure("p")
        request = _Request(hosts, state, len(going) + len(coming))
        switches: dict[tuple[bool, float], list[int]] = {}
        for host, way in ways:
            if way is None:
                self._set(host, state, (now, 0.0))
                continue
            sleep, pstate = way
            seconds = 1.0 / self._platform.hosts[host].speeds[pstate]
            switches.setdefault((sleep, seconds), []).append(host)
            self._ways[host] = state
            # One flop keeps one core busy, on hosts of several cores too.
            self.model.set_pstate((now, 0.0), host, pstate, 1.0 / self._platform.hosts[host].cores)
        if not request.left:
            self._done(request)
        for (sleep, seconds), group in switches.items():
            self._switch(request, group, sleep, seconds)
        return None

    def _switch(self, request: _Request, hosts: list[int], sleep: bool, seconds: float) -> None:
        """Hosts are on their way for so long."""
        ticks = seconds * self._scale
        length = max(round_up(ticks), 1)
        switch = _Switch(request, hosts, sleep, min(0.0, ticks - length))
        self._sim.agenda.at(self._sim.agenda.now + length, self._arrive, switch)

    def _arrive(self, switch: _Switch) -> None:
        """Hosts reach their pstate."""
        request, now = switch.request, self._sim.agenda.now
        for host in switch.hosts:
            del self._ways[host]
            self._set(host, request.state, later((now, switch.lag), 0.0))
        if not switch.sleep:
            self._sim.park.sleep(switch.hosts, False)
        self._sink(r.HostsSwitched(now, hostset.from_ids(switch.hosts), request.state, switch.sleep))
        request.left -= len(switch.hosts)
        if not request.left:
            self._done(request)

    def _done(self, request: _Request) -> None:
        sim = self._sim
        self._look()
        self._sink(r.PstateAsked(sim.agenda.now, request.hosts, request.state, True))
        self._measure("p")
        sim.outbox.append(m.ResourceStateChanged(sim.agenda.now, request.hosts, str(request.state)))

    def _set(self, host: int, pstate: int, date: Date) -> None:
        """A host is in a pstate; what runs there goes on at the new speed."""
        self.model.set_pstate(date, host, pstate)
        if self._tasks is not None and not self._is_sleep(host, pstate):
            self._tasks.set_speed(host, self._platform.hosts[host].speeds[pstate])

    # ------------------------------------------------------------------ rules

    def _why_not(self, hosts: HostSet, state: int) -> str | None:
        if not hosts:
            return "resources is empty; a pstate needs at least one host"
        missing = self._sim.park.missing(hosts)
        if missing is not None:
            return missing
        for host in hostset.ids(hosts):
            reason = self._host_why_not(host, state)
            if reason is not None:
                return reason
        return None

    def _host_why_not(self, host: int, state: int) -> str | None:
        profile = self._profiles[host]
        if profile is None:
            return f"host {host} has no power figures (property wattage_per_state), so its pstate stays"
        if not 0 <= state < len(profile.states):
            return f"host {host} has no pstate {state}, only 0-{len(profile.states) - 1}"
        if host in self._ways:
            return Ignored(f"host {host} is already on its way to pstate {self._ways[host]}")
        now_in = self.model.pstate[host]
        if self._sleep_state(host) is not None:
            if state not in profile.computing:
                return f"host {host} sleeps in pstate {now_in}, from where it cannot go to {state}"
        elif _way_of(profile, state) is not None and not self._is_sleep(host, state):
            return Ignored(f"pstate {state} of host {host} only stands for a way into or out of sleep")
        elif self._is_sleep(host, state) and self._sim.park.is_occupied(host):
            return f"host {host} runs a job, so it cannot be switched off"
        return None

    def _way(self, host: int, state: int) -> tuple[bool, int] | None:
        """(to sleep?, virtual pstate) of the way from the present pstate to *state*; None without a way."""
        asleep = self._sleep_state(host)
        if asleep is not None:
            return False, asleep.on
        profile = self._profiles[host]
        assert profile is not None
        for sleep in profile.sleeps:
            if sleep.sleep == state:
                return True, sleep.off
        return None

    def _is_sleep(self, host: int, state: int) -> bool:
        profile = self._profiles[host]
        return profile is not None and any(sleep.sleep == state for sleep in profile.sleeps)

    def _sleep_state(self, host: int) -> SleepState | None:
        """The sleep state the host is in, or None if it is in another pstate."""
        profile = self._profiles[host]
        if profile is not None and profile.sleeps:
            pstate = self.model.pstate[host]
            for sleep in profile.sleeps:
                if sleep.sleep == pstate:
                    return sleep
        return None


def _way_of(profile: PowerProfile, pstate: int) -> SleepState | None:
    """The sleep state that *pstate* is a way into or out of, or None."""
    for sleep in profile.sleeps:
        if pstate in (sleep.off, sleep.on):
            return sleep
    return None
