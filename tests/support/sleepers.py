"""Runs of policies that switch hosts, on the real simulator; every decision can be watched."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from playback import JobList, Journal
from powered import host

from batpy.platforms.platform import Platform
from batpy.protocol import messages as m
from batpy.schedulers import make_scheduler
from batpy.schedulers.api import Plan, View
from batpy.schedulers.core import SchedulerCore
from batpy.simulator.config import SimulatorConfig
from batpy.simulator.core import Simulator, run

Watch = Callable[[Any, View, Plan | None], None]
"""Called with the policy, the view and the plan after each decision, before the plan is said."""


def watched(core: SchedulerCore, watch: Watch) -> SchedulerCore:
    decide, policy = core._decide, core._policy

    def and_watch(view: View) -> Plan | None:
        plan = decide(view)
        watch(policy, view, plan)
        return plan

    core._decide = and_watch
    return core


def play_policy(
    spec: str,
    platform: Platform,
    jobs: Sequence[Mapping[str, Any]],
    profiles: Mapping[str, Any],
    *,
    watch: Watch | None = None,
    base: Path | None = None,
    events: Sequence[Any] = (),
    **options: Any,
) -> Journal:
    """Run a policy to the end, in a strict simulator with energy; the records."""
    journal = Journal()
    core = make_scheduler(spec, base=base)
    if watch is not None:
        watched(core, watch)
    config = SimulatorConfig(**{"energy": True, **options})
    simulator = Simulator(platform, [JobList(jobs, profiles)], journal, config, events)

    def ask(request: m.Message) -> m.Message:
        return core.handle(request)

    run(simulator, ask)
    simulator.check()
    return journal


def mixed_park(ways: Sequence[tuple[float, float] | None]) -> Platform:
    """Hosts by how many seconds they take to be switched off and on; None: they cannot sleep."""
    hosts = []
    for id_, way in enumerate(ways):
        if way is None:
            hosts.append(host(id_, speeds=(1e8,), properties={"role": "", "wattage_per_state": "30:30:100"}))
        else:
            hosts.append(host(id_, speeds=(1e8, 1e-3, 1 / way[0], 1 / way[1])))
    return Platform("mixed", tuple(hosts))
