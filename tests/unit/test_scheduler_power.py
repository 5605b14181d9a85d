"""What a scheduler knows of its hosts' power, and how a policy switches hosts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from core_talk import names, tell
from mini_simulator import Work, submission
from playback import job
from powered import SPEEDS, WATTS, park
from sleepers import play_policy

from batpy.base.errors import InputError, RemoteProtocolError
from batpy.protocol import messages as m
from batpy.schedulers.api import Plan, View
from batpy.schedulers.core import SchedulerCore
from batpy.schedulers.power import read_power

ON, ASLEEP = 0, 1


def record(id_: int, **changes: Any) -> dict[str, Any]:
    properties = {"wattage_per_state": WATTS, "sleep_pstates": "1:2:3"}
    told = {"id": id_, "name": f"h{id_}", "state": "idle", "properties": properties, "speed": SPEEDS}
    return {**told, "pstate": 0, **changes}


def greet(core: SchedulerCore, *records: dict[str, Any], batsim: bool = False) -> list[m.Event]:
    offer = None if batsim else m.Offer("0", 1)
    event = m.SimulationBegins(
        0, len(records), len(records), 0, False, True, {}, list(records), [], {"w0": "w"}, {}, offer
    )
    return core.handle(m.Message(0, [event])).events


class Scripted:
    """Does what it was given for a date, and remembers the view."""

    def __init__(self, *plans: tuple[int, Any]) -> None:
        self.plans = dict(plans)
        self.view: View

    def decide(self, view: View) -> Plan | None:
        self.view = view
        plan = Plan(view)
        if view.now in self.plans:
            self.plans.pop(view.now)(plan)
        return plan


def test_hosts_are_grouped_by_their_figures_and_ways_are_whole_ticks() -> None:
    slow = record(1, speed=(1e8, 1e-3, 0.3, 0.05))
    power = read_power([record(0), slow, record(2)], 1000)
    assert power is not None
    assert [(kind.mask, kind.off_ticks, kind.on_ticks) for kind in power.kinds] == [
        (0b101, 2000, 20_000),
        (0b010, 3334, 20_000),  # 3333.3 ticks end at the next one
    ]
    assert power.kinds[0].watts[0] == (30, 100)
    assert (power.kinds[0].computes_in, power.kinds[0].sleep) == (0, 1)


def test_a_host_without_figures_means_that_nothing_is_known() -> None:
    assert read_power([record(0), {"id": 1, "name": "h1", "properties": {}}], 1) is None
    assert read_power([], 1) is None


@pytest.mark.parametrize("properties", [
    {"wattage_per_state": "a:b"},
    {"wattage_per_state": WATTS, "sleep_pstates": "1:2"},
    {"wattage_per_state": WATTS, "sleep_pstates": "1:2:9"},
    {"wattage_per_state": "30:100", "sleep_pstates": "0:0:0"},
])  # fmt: skip
def test_figures_that_cannot_be_read_name_the_host(properties: dict[str, str]) -> None:
    with pytest.raises(RemoteProtocolError, match="SIMULATION_BEGINS: host 'h4': wattage_per_state"):
        read_power([record(4, properties=properties)], 1)


def test_hosts_that_sleep_or_are_switched_are_not_free() -> None:
    policy = Scripted(
        (1, lambda plan: plan.switch(((1, 2),), ASLEEP)), (9, lambda plan: plan.switch(((1, 1),), ON))
    )
    core = SchedulerCore(policy, "s")
    greet(core, record(0), record(1), record(2))
    assert names(tell(core, 1, m.RequestedCall(1))) == ["SetResourceState"]
    view = policy.view
    assert view.power is not None
    assert (view.free, view.free_count, view.power.switching_off) == (((0, 0),), 1, ((1, 2),))
    assert view.availability().free_at(1 + 2 + 20) == ((0, 2),)
    tell(core, 3, m.ResourceStateChanged(3, ((1, 2),), "1"))
    assert (view.free, view.power.asleep, view.disturbed) == (((0, 0),), ((1, 2),), True)
    assert names(tell(core, 9, m.RequestedCall(9))) == ["SetResourceState"]
    assert (view.power.switching_on, view.power.asleep) == (((1, 1),), ((2, 2),))
    assert view.power.ready(9) == [(29, 0b100), (29, 0b010)]
    tell(core, 29, m.ResourceStateChanged(29, ((1, 1),), "0"))
    assert (view.free, view.free_count) == (((0, 1),), 2)


def test_a_host_that_returns_asleep_is_not_free() -> None:
    core = SchedulerCore(policy := Scripted((1, lambda plan: plan.switch(((0, 0),), ASLEEP))), "s")
    greet(core, record(0), record(1))
    tell(core, 1, m.RequestedCall(1))
    tell(core, 3, m.ResourceStateChanged(3, ((0, 0),), "1"))
    tell(core, 4, m.Notify(4, "event_machine_unavailable", ((0, 1),)))
    tell(core, 5, m.Notify(5, "event_machine_available", ((0, 1),)))
    assert policy.view.free == ((1, 1),)


def test_a_host_that_wakes_up_while_it_is_away_is_free_when_it_returns() -> None:
    core = SchedulerCore(policy := Scripted((1, lambda plan: plan.switch(((0, 0),), ON))), "s")
    greet(core, record(0, pstate=ASLEEP), record(1))
    policy.plans[1] = lambda plan: plan.switch(((0, 0),), ON)
    tell(core, 1, m.RequestedCall(1))
    tell(core, 4, m.Notify(4, "event_machine_unavailable", ((0, 0),)))
    tell(core, 21, m.ResourceStateChanged(21, ((0, 0),), "0"))
    assert policy.view.free == ((1, 1),)
    tell(core, 30, m.Notify(30, "event_machine_available", ((0, 0),)))
    assert policy.view.free == ((0, 1),)


def test_how_long_a_way_takes_is_learnt_from_a_batsim_that_does_not_tell() -> None:
    core = SchedulerCore(policy := Scripted((1, lambda plan: plan.switch(((0, 0),), ASLEEP))), "s")
    told = record(0)
    del told["speed"], told["pstate"]
    greet(core, told, batsim=True)
    tell(core, 1, m.RequestedCall(1))
    power = policy.view.power
    assert power is not None
    [kind] = power.kinds
    assert (kind.off_ticks, kind.on_ticks) == (-1, -1)
    tell(core, 8, m.ResourceStateChanged(8, ((0, 0),), "1"))
    assert (kind.off_ticks, kind.on_ticks) == (7, -1)


def test_a_host_that_is_busy_cannot_be_switched_off() -> None:
    def start_and_sleep(plan: Plan) -> None:
        plan.start(policy.view.queue[0])
        plan.switch(((0, 1),), ASLEEP)

    policy = Scripted((1, start_and_sleep))
    core = SchedulerCore(policy, "s")
    greet(core, record(0), record(1))
    with pytest.raises(InputError, match="hosts 0 cannot be switched off: not free"):
        tell(core, 1, submission(1, Work("w0!0", 1, 1, 5, 5)))


def test_hosts_on_their_way_cannot_be_switched_again() -> None:
    policy = Scripted(
        (1, lambda plan: plan.switch(((0, 0),), ASLEEP)), (2, lambda plan: plan.switch(((0, 0),), ON))
    )
    core = SchedulerCore(policy, "s")
    greet(core, record(0))
    tell(core, 1, m.RequestedCall(1))
    with pytest.raises(InputError, match="hosts 0 are being switched"):
        tell(core, 2, m.RequestedCall(2))


@pytest.mark.parametrize("hosts", [(), ((1, 0),), ((0, 1), (2, 2))])
def test_hosts_to_switch_are_a_canonical_set(hosts: Any) -> None:
    core = SchedulerCore(Scripted((1, lambda plan: plan.switch(hosts, ASLEEP))), "s")
    greet(core, record(0), record(1), record(2))
    with pytest.raises(InputError, match="hosts must be ascending intervals"):
        tell(core, 1, m.RequestedCall(1))


def test_a_refused_switch_ends_the_run_with_the_reason() -> None:
    core = SchedulerCore(Scripted(), "mine")
    greet(core, record(0))
    with pytest.raises(InputError, match="mine: SET_RESOURCE_STATE was refused: energy is off"):
        tell(core, 1, m.DecisionRefused(1, "SET_RESOURCE_STATE", "energy is off"))


@dataclass(frozen=True)
class Slowest:
    """A user's policy: first come first served, on hosts slowed down to pstate 1."""

    def decide(self, view: View) -> Plan:
        plan = Plan(view)
        if not view.started:
            plan.switch(view.hosts, 1)
        for waiting in view.queue:
            plan.start(waiting)
        return plan


def test_a_policy_may_slow_hosts_down(tmp_path: Any) -> None:
    two = park(1, speeds=(1e8, 5e7), properties={"role": "", "wattage_per_state": "10:20, 5:10"})
    profiles = {"p": {"type": "parallel_homogeneous", "cpu": 1e9, "com": 0}}
    core = f"{__file__}:Slowest"
    journal = play_policy(core, two, [job(0, 1, profile="p")], profiles, base=tmp_path)
    # The start comes before the change, and the task goes on at the lower speed.
    assert journal.spans() == {"w0!0": (1, 21, "COMPLETED_SUCCESSFULLY")}
