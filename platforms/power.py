"""Power figures of a host, read from its properties only when energy is asked for: many files lack them.

Formats: SimGrid 3.32 host energy plug-in and Batsim 4.2.1 (``sleep_pstates``).
"""

from __future__ import annotations

import math

import msgspec

from batpy.base.errors import InputError
from batpy.platforms.platform import Host

# The newer name first; the older one is from before SimGrid 3.26.
WATTAGES = ("wattage_per_state", "watt_per_state")
SLEEPS = "sleep_pstates"


class PowerState(msgspec.Struct, frozen=True):
    """Watts of one pstate.

    Attributes:
        idle: nothing runs.
        epsilon: the limit when next to nothing runs; between it and *full*, watts grow with the load.
        full: all cores are busy.
    """

    idle: float
    epsilon: float
    full: float


class SleepState(msgspec.Struct, frozen=True):
    """A pstate in which the host sleeps, and the pstates that stand for the ways into it and out of it.

    A way takes the time of one flop at the speed of its pstate (Batsim 4.2.1).
    """

    sleep: int
    off: int
    on: int


class PowerProfile(msgspec.Struct, frozen=True):
    """What a host draws.

    Attributes:
        states: one per pstate.
        sleeps: in the order written; empty if the host cannot be switched off.
        computing: the pstates in which the host computes, in order: all that no sleep state names.
    """

    states: tuple[PowerState, ...]
    sleeps: tuple[SleepState, ...]
    computing: tuple[int, ...]


def power_of(host: Host, source: str | None = None) -> PowerProfile:
    """The power profile of *host*.

    Args:
        source: the platform as the user named it, for complaints.

    Raises:
        InputError: no figures, figures that do not fit the speeds, or sleep states that are not pstates;
            names host and property.
    """
    key = next((name for name in WATTAGES if name in host.properties), None)
    if key is None:
        problem = (
            f"energy needs the property {WATTAGES[0]}: idle:full or idle:epsilon:full watts of each pstate"
        )
        raise InputError(problem, source=source, path=f"host {host.name!r}")
    items = host.properties[key].split(",")
    if len(items) != len(host.speeds):
        told = f"has {len(items)} item(s), but the host has {len(host.speeds)} speed(s)"
        raise _fail(host, source, key, f"{told}; one is needed for each")
    states = tuple([_state(host, source, key, item) for item in items])
    sleeps = _sleeps(host, source)
    named = {pstate for state in sleeps for pstate in (state.sleep, state.off, state.on)}
    computing = tuple([pstate for pstate in range(len(states)) if pstate not in named])
    if not computing:
        raise _fail(host, source, SLEEPS, "names every pstate, so none is left to compute in")
    return PowerProfile(states, sleeps, computing)


def _state(host: Host, source: str | None, key: str, item: str) -> PowerState:
    parts = item.split(":")
    try:
        watts = [float(part) for part in parts]
    except ValueError:
        watts = []
    if len(watts) not in (2, 3) or not all(math.isfinite(value) and value >= 0 for value in watts):
        problem = f"{item.strip()!r} is not idle:full or idle:epsilon:full, in watts of at least 0"
        raise _fail(host, source, key, problem)
    # Two values: there is no step between idle and running (SimGrid 3.32).
    return PowerState(watts[0], watts[0] if len(watts) == 2 else watts[1], watts[-1])


def _sleeps(host: Host, source: str | None) -> tuple[SleepState, ...]:
    written = host.properties.get(SLEEPS, "")
    if not written.strip():
        return ()
    sleeps = []
    seen: set[int] = set()
    for item in written.split(","):
        parts = [part.strip() for part in item.split(":")]
        if len(parts) != 3 or not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
            problem = f"{item.strip()!r} is not sleep:off:on, three pstates"
            raise _fail(host, source, SLEEPS, problem)
        state = SleepState(*map(int, parts))
        for pstate in (state.sleep, state.off, state.on):
            if pstate >= len(host.speeds):
                problem = (
                    f"{item.strip()!r}: the host has no pstate {pstate}, only {len(host.speeds)} speed(s)"
                )
                raise _fail(host, source, SLEEPS, problem)
        for pstate in (state.off, state.on):
            if not host.speeds[pstate]:
                problem = (
                    f"{item.strip()!r}: pstate {pstate} has speed 0, so the way through it would never end"
                )
                raise _fail(host, source, SLEEPS, problem)
        if state.sleep in seen or state.sleep in (state.off, state.on):
            raise _fail(host, source, SLEEPS, f"pstate {state.sleep} is named twice")
        seen.add(state.sleep)
        sleeps.append(state)
    return tuple(sleeps)


def _fail(host: Host, source: str | None, key: str, problem: str) -> InputError:
    return InputError(problem, source=source, path=f"host {host.name!r}: property {key}")
