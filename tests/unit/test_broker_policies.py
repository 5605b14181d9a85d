"""The shipped policies and what handing hosts over costs."""

from __future__ import annotations

import pytest
from broker_talk import BDA, HPC, Talk

from batpy.base.errors import InputError
from batpy.broker.policy import ParkView, SharingPolicy
from batpy.broker.prolog import PRESETS, HandOver, hand_over
from batpy.broker.registry import make_policy
from batpy.broker.tenants import TenantConfig
from batpy.protocol import hostset


def begun(spec: str, *tenants: str, hosts: int = 10) -> SharingPolicy:
    policy = make_policy(spec)
    policy.begin(ParkView(tenants, ((0, hosts - 1),), hosts, 1))
    return policy


def shares(spec: str, *tenants: str, hosts: int = 10) -> list[str]:
    policy = begun(spec, *tenants, hosts=hosts)
    return [hostset.to_text(policy.visible(rank)) for rank in range(len(tenants))]


def refused(spec: str, *tenants: str, hosts: int = 10) -> str:
    with pytest.raises(InputError) as told:
        begun(spec, *tenants, hosts=hosts)
    return str(told.value)


# ------------------------------------------------------------------------- static


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("hpc:0-5 bda:6-9", ["0-5", "6-9"]),
        ("hpc:0-2+8 bda:3-7", ["0-2 8", "3-7"]),
        ("bda:6 hpc:3", ["0-2", "3-8"]),
        ("hpc:0.7 bda:0.3", ["0-6", "7-9"]),
        ("hpc:0.25 bda:0.75", ["0-1", "2-9"]),
        ("hpc:0.5 bda:0.25", ["0-4", "5-7"]),
        ("hpc:5-5 bda:6-6", ["5", "6"]),
        ("", ["0-4", "5-9"]),
    ],
)
def test_shares_are_hosts_or_counts_or_parts(text: str, told: list[str]) -> None:
    assert shares(f"static[shares={text}]" if text else "static", "hpc", "bda") == told


def test_equal_parts_fill_the_park_whatever_their_number() -> None:
    assert shares("static", "a", "b", "c") == ["0-2", "3-6", "7-9"]
    assert shares("static", *"abcdefg", hosts=7) == list("0123456")


SAY = "is not TENANT:SHARE, each tenant once, such as hpc:0-63 or hpc:0.5"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("hpc", f"'hpc' {SAY}"),
        ("hpc:", f"'hpc:' {SAY}"),
        ("hpc:x bda:2", f"'hpc:x' {SAY}"),
        ("hpc:-1 bda:2", f"'hpc:-1' {SAY}"),
        ("hpc:1 hpc:2", f"'hpc:2' {SAY}"),
        ("hpc:1", "the share of scheduler 'bda' is missing"),
        ("hpc:1 bda:2 web:3", "there is no scheduler 'web'; choose from hpc, bda"),
        ("hpc:0 bda:2", "the share of scheduler 'hpc' is empty"),
        ("hpc:0.01 bda:0.9", "the share of scheduler 'hpc' is empty"),
        ("hpc:0-4 bda:4-9", "the shares of schedulers 'hpc' and 'bda' both have host 4"),
        ("hpc:8 bda:4-9", "the shares of schedulers 'hpc' and 'bda' both have host 4"),
        ("hpc:8 bda:8", "the shares add up to 16 hosts, the park has 10"),
        ("hpc:0-10 bda:2", "the share of scheduler 'hpc' has host 10, the park 0-9"),
        ("hpc:0.9 bda:0.4", "the parts of the park add up to 1.3; together they can be 1 at most"),
        ("hpc:5-2 bda:1", "'5-2' is no set of hosts such as 0-63+70"),
        ("hpc:1- bda:1", "'1-' is no set of hosts such as 0-63+70"),
        ("hpc:1+ bda:1", "'1+' is no set of hosts such as 0-63+70"),
        ("hpc:1++2 bda:1", "'1++2' is no set of hosts such as 0-63+70"),
        ("hpc:1.2.3 bda:1", "'1.2.3' is no part of the park such as 0.5"),
        ("hpc:1. bda:0.5", "the parts of the park add up to 1.5; together they can be 1 at most"),
        # On a park this small the sum would fit, rounded.
        ("hpc:0.5 bda:0.52", "the parts of the park add up to 1.02; together they can be 1 at most"),
        ("hpc:0-99999999999999999999 bda:1", "is no set of hosts such as 0-63+70"),
        (
            "hpc:99999999999999999999 bda:1",
            "the shares add up to 100000000000000000000 hosts, the park has 10",
        ),
    ],
)
def test_a_bad_share_is_one_line(text: str, told: str) -> None:
    said = refused(f"static[shares={text}]", "hpc", "bda")
    assert said.startswith("static[shares=")
    assert told in said
    assert "\n" not in said


# ------------------------------------------------------------------------- bebida, priority


def test_bebida_is_for_two() -> None:
    begun("bebida", "hpc", "bda")
    for tenants in (("hpc",), ("hpc", "bda", "web")):
        assert refused("bebida", *tenants) == (
            f"bebida: is for two schedulers, HPC first; there are {len(tenants)} "
            f"({', '.join(tenants)}); priority takes any number"
        )


def test_a_policy_that_cannot_serve_these_tenants_ends_the_run_before_it_begins() -> None:
    with pytest.raises(InputError, match="bebida: is for two schedulers"):
        Talk("bebida", HPC, BDA, TenantConfig("web", ("w",)))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("prolog=slow", "choose from ideal, oar_yarn_2017, k3s_drain_2024"),
        ("prolog_base=-1", "prolog_base must be a number from 0 to 1e9, got -1"),
        ("epilog_per_node=1e10", "epilog_per_node must be a number from 0 to 1e9, got 1e+10"),
        ("prolog_width=-2", "prolog_width must be a number from 0 to 1e9, got -2"),
        ("recommission=nan", "must be a finite number, got 'nan'"),
        ("grace=9,timeout=3", "the timeout (3 s) must not be shorter than the grace (9 s)"),
        ("on_timeout=wait", "choose from seize, cancel, fail"),
        ("lazy=perhaps", "lazy"),
        ("speed=1", "no such option"),
    ],
)
def test_a_bad_option_is_one_line(options: str, told: str) -> None:
    for policy in ("bebida", "priority"):
        with pytest.raises(InputError) as why:
            make_policy(f"{policy}[{options}]")
        assert told in str(why.value)
        assert "\n" not in str(why.value)


# ------------------------------------------------------------------------- prolog and epilog


def test_a_duration_is_a_base_and_a_part_for_each_round_of_hosts() -> None:
    model = HandOver(prolog_base=3, prolog_per_node=2, prolog_width=4, epilog_base=1, epilog_per_node=5)
    assert [model.prolog(nodes) for nodes in (0, 1, 4, 5, 8, 9)] == [0, 5, 5, 7, 7, 9]
    # A width of 0: all at once.
    assert [model.epilog(nodes) for nodes in (0, 1, 100)] == [0, 6, 6]


def test_patience_grows_with_each_host_and_nothing_is_for_ever() -> None:
    assert HandOver(timeout=10, timeout_per_node=2).patience(3) == 16
    assert HandOver(timeout=0, timeout_per_node=15).patience(2) == 30
    assert HandOver(timeout=0).patience(2) is None


def test_the_presets_are_those_of_their_sources() -> None:
    assert list(PRESETS) == ["ideal", "oar_yarn_2017", "k3s_drain_2024"]
    ideal, oar, k3s = PRESETS.values()
    assert (ideal.prolog(8), ideal.epilog(8), ideal.grace, ideal.recommission) == (0, 0, 0, 0)
    # 26 % of a one-minute job, for both together, however many hosts.
    assert oar.prolog(8) + oar.epilog(8) == pytest.approx(15.6)
    assert oar.prolog(1) == oar.prolog(100)
    # One node after the other; 5 s of grace and 15 s of time each.
    assert (k3s.prolog(8), k3s.grace, k3s.patience(8)) == (40, 5, 120)


def test_what_is_given_replaces_what_the_preset_says() -> None:
    assert hand_over("oar_yarn_2017", epilog_base=0.0, grace=None) == HandOver(prolog_base=10.4)
    with pytest.raises(ValueError, match="prolog_base must be"):
        hand_over("ideal", prolog_base=-1.0)
