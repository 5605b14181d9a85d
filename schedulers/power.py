"""What a scheduler knows of its hosts' power: figures, and which compute, sleep or are being switched.

The figures are properties of the hosts in SIMULATION_BEGINS, as Batsim 4.2.1 forwards them:
``wattage_per_state`` (older name ``watt_per_state``) and ``sleep_pstates``. A way into or out of sleep lasts
one flop at the speed of its own pstate. Our simulator tells the speeds; the real Batsim does not, and then a
way counts as instantaneous until the first of its kind was seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import msgspec

from batpy.base.errors import InputError, RemoteProtocolError
from batpy.protocol import hostset
from batpy.protocol.hostset import HostSet
from batpy.protocol.messages import Json, SimulationBegins
from batpy.schedulers.hosts import from_mask, to_mask

# The newer name first.
WATTAGES = ("wattage_per_state", "watt_per_state")
SLEEPS = "sleep_pstates"
# Float noise taken off before a duration is rounded up, relative to it; as the simulator does.
NOISE = 1e-9

Watts = tuple[float, float]
"""Of a pstate: while nothing runs, and at most."""


class Kind(msgspec.Struct, eq=False):
    """Hosts with the same figures.

    Attributes:
        mask: which hosts (bit i is host i).
        watts: of each pstate.
        computes_in: the pstate in which they compute after they were switched on.
        sleep: the pstate they sleep in (the first that ``sleep_pstates`` names), or -1 if they cannot.
        off, on: pstates that stand for the ways into and out of it.
        off_ticks, on_ticks: how long these last, or -1 while that is not known.
        sleeps: every sleep pstate, with its way out.
    """

    mask: int
    watts: tuple[Watts, ...]
    computes_in: int
    sleep: int = -1
    off: int = -1
    on: int = -1
    off_ticks: int = 0
    on_ticks: int = 0
    sleeps: dict[int, int] = {}


class Way(msgspec.Struct, eq=False):
    """Hosts that are being switched by one request.

    Attributes:
        mask: which hosts.
        sleeps: they are being switched off.
        since: when that was asked for.
        until: when they are expected to be there.
    """

    mask: int
    sleeps: bool
    since: int
    until: int


class HostPower:
    """Power states of the compute hosts, as the protocol told them. Policies only read it.

    Attributes:
        kinds: the hosts by their figures, in order of their lowest host.
        ways: hosts that are being switched, in order of asking.
        asleep_mask: hosts that sleep.
        switching_mask: hosts that are being switched on or off.
    """

    def __init__(self, kinds: Iterable[Kind], asleep: int) -> None:
        self.kinds = tuple(kinds)
        self.ways: list[Way] = []
        self.asleep_mask = asleep
        self.switching_mask = 0

    @property
    def asleep(self) -> HostSet:
        """Hosts that sleep."""
        return from_mask(self.asleep_mask)

    @property
    def switching_off(self) -> HostSet:
        """Hosts that are on their way into sleep."""
        return from_mask(self.on_the_way(sleeps=True))

    @property
    def switching_on(self) -> HostSet:
        """Hosts that will compute soon."""
        return from_mask(self.on_the_way(sleeps=False))

    @property
    def away_mask(self) -> int:
        """Hosts that cannot compute now: they sleep or are being switched."""
        return self.asleep_mask | self.switching_mask

    def on_the_way(self, *, sleeps: bool) -> int:
        """Mask of the hosts on their way into sleep, or out of it."""
        mask = 0
        for way in self.ways:
            if way.sleeps is sleeps:
                mask |= way.mask
        return mask

    def ready(self, now: int) -> list[tuple[int, int]]:
        """When the hosts that cannot compute now could, were they asked to now: (date, mask)."""
        soon = now + 1
        dates = []
        for kind in self.kinds:
            if kind.sleep >= 0:
                ticks = max(kind.on_ticks, 1)
                if sleepers := self.asleep_mask & kind.mask:
                    dates.append((now + ticks, sleepers))
                for way in self.ways:
                    if there := way.mask & kind.mask:
                        date = max(way.until, soon)
                        dates.append((date + ticks if way.sleeps else date, there))
        return dates

    def sleeping_in(self, pstate: int) -> int:
        """Mask of the hosts for which that pstate is one of sleep."""
        mask = 0
        for kind in self.kinds:
            if pstate in kind.sleeps:
                mask |= kind.mask
        return mask

    # ------------------------------------------------------------------ for the mirror

    def ask(self, now: int, hosts: HostSet, state: int) -> int:
        """A SET_RESOURCE_STATE is being said; the mask of the hosts that stop to compute.

        Raises:
            InputError: a host cannot be brought to that pstate from where it is.
        """
        mask = to_mask(hosts)
        if mask & self.switching_mask:
            told = hostset.to_text(from_mask(mask & self.switching_mask))
            raise InputError(f"hosts {told} are being switched, so their pstate cannot be set now")
        going = 0
        for kind in self.kinds:
            if mine := mask & kind.mask:
                sleeps = state in kind.sleeps
                if sleeps and mine & self.asleep_mask:
                    told = hostset.to_text(from_mask(mine & self.asleep_mask))
                    raise InputError(f"hosts {told} sleep already, so they cannot be sent to pstate {state}")
                moving = mine if sleeps else mine & self.asleep_mask
                if moving:
                    ticks = kind.off_ticks if sleeps else kind.on_ticks
                    self.ways.append(Way(moving, sleeps, now, now + max(ticks, 1)))
                    self.switching_mask |= moving
                    self.asleep_mask &= ~moving
                    going |= moving if sleeps else 0
        return going

    def reached(self, now: int, hosts: HostSet) -> int:
        """A RESOURCE_STATE_CHANGED came; the mask of the hosts that can compute from now on."""
        mask, back, ways = to_mask(hosts), 0, []
        for way in self.ways:
            arrived = way.mask & mask
            if arrived:
                self._learn(way, arrived, now)
                self.switching_mask &= ~arrived
                if way.sleeps:
                    self.asleep_mask |= arrived
                else:
                    back |= arrived
                way.mask &= ~arrived
            if way.mask:
                ways.append(way)
        self.ways = ways
        return back

    def _learn(self, way: Way, arrived: int, now: int) -> None:
        for kind in self.kinds:
            if kind.mask & arrived:
                if way.sleeps and kind.off_ticks < 0:
                    kind.off_ticks = now - way.since
                elif not way.sleeps and kind.on_ticks < 0:
                    kind.on_ticks = now - way.since


def energy_is_off(begins: SimulationBegins) -> bool:
    """True if hosts cannot be switched: our simulator tells pstates in runs with energy only.

    The real Batsim does not tell.
    """
    hosts = begins.compute_resources
    return begins.batpy is not None and not any("pstate" in record for record in hosts)


def read_power(records: Iterable[Json], ticks_per_second: int) -> HostPower | None:
    """Power of the hosts of a SIMULATION_BEGINS, or None if any has no figures.

    Raises:
        RemoteProtocolError: figures that cannot be read; names the host.
    """
    kinds: dict[tuple[Any, ...], Kind] = {}
    asleep = 0
    for record in records:
        properties = record.get("properties") or {}
        watts = next((properties[name] for name in WATTAGES if name in properties), None)
        if watts is None:
            return None
        sleeps = properties.get(SLEEPS, "")
        speeds, pstate = tuple(record.get("speed") or ()), record.get("pstate", -1)
        key = (watts, sleeps, speeds, pstate)
        kind = kinds.get(key)
        if kind is None:
            try:
                kind = kinds[key] = _kind(watts, sleeps, speeds, pstate, ticks_per_second)
            except (ValueError, TypeError, IndexError, AttributeError, ArithmeticError):
                told = f"{WATTAGES[0]} {watts!r} and {SLEEPS} {sleeps!r} cannot be read together"
                raise RemoteProtocolError(f"SIMULATION_BEGINS: host {record.get('name')!r}: {told}") from None
        kind.mask |= 1 << record["id"]
        if pstate in kind.sleeps:
            asleep |= 1 << record["id"]
    return HostPower(kinds.values(), asleep) if kinds else None


def _kind(watts: str, sleeps: str, speeds: tuple[float, ...], pstate: int, scale: int) -> Kind:
    states: list[Watts] = []
    for item in watts.split(","):
        values = [float(value) for value in item.split(":")]
        states.append((values[0], max(values)))
    ways = [tuple(int(part) for part in item.split(":")) for item in sleeps.split(",") if item.strip()]
    named = {state for way in ways for state in way}
    computing = [state for state in range(len(states)) if state not in named]
    found = Kind(0, tuple(states), pstate if pstate in computing else computing[0])
    if ways:
        found.sleep, found.off, found.on = ways[0]
        found.off_ticks, found.on_ticks = (_ticks(speeds, state, scale) for state in ways[0][1:])
        found.sleeps = {way[0]: way[2] for way in ways}
        if max(named) >= len(states):
            raise ValueError("no such pstate")
    return found


def _ticks(speeds: tuple[float, ...], state: int, scale: int) -> int:
    """How long one flop takes, in whole ticks, or -1 if the speeds are not told."""
    if not speeds:
        return -1
    exact = scale / speeds[state]
    nearest = round(exact)
    if abs(exact - nearest) <= NOISE * max(1.0, exact):
        return max(nearest, 1)
    return math.ceil(exact)
