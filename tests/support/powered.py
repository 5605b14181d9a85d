"""Hosts with power figures for tests: those of Batsim's ``energy_platform_homogeneous.xml``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from playback import Greedy, JobList, Journal

from batpy.platforms.platform import Host, Platform
from batpy.protocol import messages as m
from batpy.simulator.config import SimulatorConfig
from batpy.simulator.core import Simulator, run

WATTS = "30:30:100, 9.75:9.75, 200.996721311:200.996721311, 425.1743849:425.1743849"
# Computes at 1e8 flops per second, sleeps, takes 2 s to fall asleep and 20 s to wake up.
SPEEDS = (1e8, 1e-3, 0.5, 0.05)


def host(id_: int, **changes: Any) -> Host:
    properties = {"role": "", "wattage_per_state": WATTS, "sleep_pstates": "1:2:3"}
    told = {"speeds": SPEEDS, "properties": properties, **changes}
    return Host(id_, f"host{id_}", **told)


def park(count: int, **changes: Any) -> Platform:
    return Platform("park", tuple(host(i, **changes) for i in range(count)))


Script = Mapping[float, Sequence[Callable[[int], m.Event]]]


class Scripted(Greedy):
    """Starts jobs as ``Greedy`` does, and says what the script says at its dates, in seconds."""

    def __init__(self, script: Script) -> None:
        ticks = {round(date * 1_000_000): list(makers) for date, makers in script.items()}
        super().__init__({date: _all(makers) for date, makers in ticks.items()})
        self._calls = sorted(date for date in ticks if date)

    def __call__(self, request: m.Message) -> m.Message:
        reply = super().__call__(request)
        calls, self._calls = self._calls, []
        return m.Message(reply.now, [*reply.events, *(m.CallMeLater(reply.now, date) for date in calls)])


def _all(makers: list[Callable[[int], m.Event]]) -> Callable[[int], list[m.Event]]:
    return lambda now: [make(now) for make in makers]


def to(state: int, first: int = 0, last: int | None = None) -> Callable[[int], m.Event]:
    """A SET_RESOURCE_STATE of some hosts."""
    return lambda now: m.SetResourceState(now, ((first, first if last is None else last),), state)


def ask(now: int) -> m.Event:
    return m.Query(now, {"consumed_energy": {}})


def simulate(
    platform: Platform,
    script: Script,
    jobs: Sequence[Mapping[str, Any]] = (),
    profiles: Mapping[str, Any] | None = None,
    **options: Any,
) -> tuple[Scripted, Journal]:
    """Run to the end with energy; what the scheduler heard, and the records."""
    journal, scheduler = Journal(), Scripted(script)
    workloads = [JobList(jobs, profiles or {})] if jobs else []
    simulator = Simulator(platform, workloads, journal, SimulatorConfig(energy=True, **options))
    run(simulator, scheduler)
    simulator.check()
    return scheduler, journal
