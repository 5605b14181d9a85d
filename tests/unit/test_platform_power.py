"""What power properties of hosts mean, and that a wrong one is named with its host."""

from __future__ import annotations

import pytest

from batpy.base.errors import InputError
from batpy.platforms.platform import Host
from batpy.platforms.power import PowerState, SleepState, power_of


def host(speeds: tuple[float, ...] = (1e8,), **properties: str) -> Host:
    return Host(0, "Mercury", speeds=speeds, properties={"role": "", **properties})


def test_two_values_have_no_step_between_idle_and_running() -> None:
    profile = power_of(host((1e8, 5e7), wattage_per_state="95:190.5, 93.0:92:170"))
    assert profile.states == (PowerState(95, 95, 190.5), PowerState(93, 92, 170))
    assert (profile.sleeps, profile.computing) == ((), (0, 1))


def test_older_name_is_read_and_the_newer_one_wins() -> None:
    assert power_of(host(watt_per_state="100:120:200")).states[0].full == 200
    both = host(watt_per_state="1:2", wattage_per_state="3:4")
    assert power_of(both).states[0] == PowerState(3, 3, 4)


def test_pstates_named_by_sleep_states_are_not_for_computing() -> None:
    speeds = (1e8, 5e7, 1e-3, 0.5, 0.05)
    profile = power_of(host(speeds, wattage_per_state="1:2,1:2,1:1,3:3,4:4", sleep_pstates=" 2:3:4 "))
    assert profile.sleeps == (SleepState(2, 3, 4),)
    assert profile.computing == (0, 1)


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ({}, "host 'Mercury': energy needs the property wattage_per_state"),
        (
            {"wattage_per_state": "1:2,1:2"},
            "host 'Mercury': property wattage_per_state: has 2 item(s), but the host has 3 speed(s)",
        ),
        (
            {"wattage_per_state": "1:2,1,1:2"},
            "host 'Mercury': property wattage_per_state: '1' is not idle:full",
        ),
        ({"watt_per_state": "1:2,1:2:3:4,1:2"}, "host 'Mercury': property watt_per_state: '1:2:3:4' is not"),
        (
            {"wattage_per_state": "1:2,a:b,1:2"},
            "host 'Mercury': property wattage_per_state: 'a:b' is not",
        ),
        (
            {"wattage_per_state": "1:2,-1:2,1:2"},
            "host 'Mercury': property wattage_per_state: '-1:2' is not",
        ),
        ({"wattage_per_state": "1:2,1:nan,1:2"}, "host 'Mercury': property wattage_per_state: '1:nan' is"),
        (
            {"wattage_per_state": "1:2,1:2,1:2", "sleep_pstates": "1:2"},
            "host 'Mercury': property sleep_pstates: '1:2' is not sleep:off:on",
        ),
        (
            {"wattage_per_state": "1:2,1:2,1:2", "sleep_pstates": "0:1:7"},
            "host 'Mercury': property sleep_pstates: '0:1:7': the host has no pstate 7",
        ),
        (
            {"wattage_per_state": "1:2,1:2,1:2", "sleep_pstates": "0:0:1"},
            "host 'Mercury': property sleep_pstates: pstate 0 is named twice",
        ),
        (
            {"wattage_per_state": "1:2,1:2,1:2", "sleep_pstates": "1:2:2"},
            "host 'Mercury': property sleep_pstates: '1:2:2': pstate 2 has speed 0",
        ),
        (
            {"wattage_per_state": "1:2,1:2,1:2", "sleep_pstates": "2:0:1"},
            "host 'Mercury': property sleep_pstates: names every pstate",
        ),
    ],
)
def test_wrong_figures_are_named_with_host_and_property(properties: dict[str, str], said: str) -> None:
    with pytest.raises(InputError) as refused:
        power_of(host((1.0, 1.0, 0.0), **properties), "p.xml")
    assert str(refused.value).startswith(f"p.xml: {said}")
    assert "\n" not in str(refused.value)
