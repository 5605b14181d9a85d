"""Properties of routes: symmetry where it was written, paths that hang together where they are computed."""

from __future__ import annotations

import math
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batpy.platforms import builders
from batpy.platforms.load import load_platform
from batpy.platforms.network import Network
from batpy.platforms.routing.network import ZoneNetwork

OTHER = {"_UP": "_DOWN", "_DOWN": "_UP"}


def network_of(inside: str) -> ZoneNetwork:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "p.xml"
        file.write_text(f'<platform version="4.1">{inside}</platform>')
        network = load_platform(file).network
    assert isinstance(network, ZoneNetwork)
    return network


def names(network: Network, source: int, target: int) -> list[str]:
    return [network.links[link].name for link in network.route(source, target).links]


def turned(way: list[str]) -> list[str]:
    """The way back over the same cables."""
    return [re.sub("_(UP|DOWN)$", lambda end: OTHER[end[0]], name) for name in reversed(way)]


@st.composite
def nested_zones(draw: st.DrawFn) -> str:
    """Leaf zones and clusters in a Full zone, all routes symmetrical, over links of every policy."""
    inside, gates = [], []
    for number in range(draw(st.integers(1, 4))):
        name = f"z{number}"
        if draw(st.booleans()):
            option = draw(st.sampled_from(("", 'bb_bw="1GBps" bb_lat="1ms"', 'limiter_link="1MBps"')))
            inside.append(
                f'<cluster id="{name}" prefix="{name}-" suffix="" radical="0-2" speed="1Gf" bw="1MBps" '
                f'lat="{draw(st.integers(1, 9))}us" {option}/>'
            )
            gates.append(f"{name}-{name}_router")
            continue
        hosts = [f"{name}h{host}" for host in range(draw(st.integers(1, 4)))]
        pairs = [(a, b) for at, a in enumerate(hosts) for b in hosts[at + 1 :]]
        text = "".join(f'<host id="{host}" speed="1Gf"/>' for host in hosts)
        text += ways(draw, pairs, name, "route", {})
        inside.append(f'<zone id="{name}" routing="Full">{text}</zone>')
        gates.append(draw(st.sampled_from(hosts)))
    zones = [f"z{number}" for number in range(len(gates))]
    pairs = [(a, b) for at, a in enumerate(zones) for b in zones[at + 1 :]]
    text = "".join(inside) + ways(draw, pairs, "w", "zoneRoute", dict(zip(zones, gates, strict=True)))
    return f'<zone id="w" routing="Full">{text}</zone>'


def ways(draw: st.DrawFn, pairs: list[tuple[str, str]], name: str, tag: str, gates: dict[str, str]) -> str:
    links, routes = [], []
    for number, (source, target) in enumerate(pairs):
        crossings = []
        for part in range(draw(st.integers(1, 3))):
            link, policy = (
                f"{name}l{number}_{part}",
                draw(st.sampled_from(("SHARED", "SPLITDUPLEX", "FATPIPE"))),
            )
            latency = draw(st.integers(0, 1000))
            links.append(
                f'<link id="{link}" bandwidth="1MBps" latency="{latency}us" sharing_policy="{policy}"/>'
            )
            way = draw(st.sampled_from(("UP", "DOWN"))) if policy == "SPLITDUPLEX" else "NONE"
            crossings.append(f'<link_ctn id="{link}" direction="{way}"/>')
        ends = f'gw_src="{gates[source]}" gw_dst="{gates[target]}"' if gates else ""
        routes.append(f'<{tag} src="{source}" dst="{target}" {ends}>{"".join(crossings)}</{tag}>')
    return "".join(links) + "".join(routes)


@settings(max_examples=60, deadline=None)
@given(nested_zones())
def test_symmetrical_routes_go_back_over_the_same_cables(inside: str) -> None:
    network = network_of(inside)
    count = inside.count("<host ") + 3 * inside.count("<cluster ")
    for source in range(count):
        for target in range(count):
            there = network.route(source, target)
            back = network.route(target, source)
            if source != target:
                assert names(network, target, source) == turned(names(network, source, target))
            assert there.latency == pytest.approx(back.latency)
            assert there.latency == pytest.approx(sum(network.links[link].latency for link in there.links))


@settings(max_examples=60, deadline=None)
@given(st.data(), st.lists(st.integers(1, 5), min_size=1, max_size=3))
def test_torus_routes_step_from_neighbour_to_neighbour_the_shortest_way(
    data: st.DataObject, sizes: list[int]
) -> None:
    count = math.prod(sizes)
    network = network_of(
        f'<cluster id="c" prefix="n" suffix="" radical="100-{99 + count}" speed="1Gf" bw="1MBps" lat="1us" '
        f'topology="TORUS" topo_parameters="{",".join(map(str, sizes))}"/>'
    )
    source, target = (data.draw(st.integers(0, count - 1)) for _ in range(2))
    way, at = names(network, source, target), source
    for name in way:
        parts = re.fullmatch(r"c_link_from_(\d+)_to_(\d+)_(UP|DOWN)", name)
        assert parts is not None
        here, there = (1, 2) if parts[3] == "UP" else (2, 1)
        assert at == int(parts[here])
        at = int(parts[there])
    assert at == target
    shortest, left, right = 0, source, target
    for size in sizes:
        gap = (left - right) % size
        shortest += min(gap, size - gap)
        left, right = left // size, right // size
    assert len(way) == shortest


@settings(max_examples=60, deadline=None)
@given(st.data(), st.lists(st.tuples(*[st.integers(1, 4)] * 3), min_size=1, max_size=3))
def test_fat_tree_routes_climb_to_the_first_common_switch_and_down_again(
    data: st.DataObject, levels: list[tuple[int, int, int]]
) -> None:
    children, parents, ports = ([level[column] for level in levels] for column in range(3))
    platform = builders.fat_tree(children, parents, ports)
    network = platform.network
    assert network is not None
    count = len(platform.hosts)
    source, target = (data.draw(st.integers(0, count - 1)) for _ in range(2))
    way, at = names(network, source, target), source
    for name in way:
        parts = re.fullmatch(r"link_from_(-?\d+)_(-?\d+)_\d+_(UP|DOWN)", name)
        assert parts is not None
        lower, upper = int(parts[1]), int(parts[2])
        assert at == (lower if parts[3] == "UP" else upper)
        at = upper if parts[3] == "UP" else lower
    assert at == target
    level = next(
        at
        for at in range(1, len(levels) + 1)
        if source // math.prod(children[:at]) == target // math.prod(children[:at])
    )
    assert [name.rpartition("_")[2] for name in way] == ["UP"] * level + ["DOWN"] * level


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 5), st.integers(1, 6), st.data())
def test_rack_routes_leave_a_rack_only_for_another_one(count: int, size: int, data: st.DataObject) -> None:
    network = builders.racks(count, size, uplink=2e8).network
    assert network is not None
    source, target = (data.draw(st.integers(0, count * size - 1)) for _ in range(2))
    way = [f"host_{source}_UP", f"host_{target}_DOWN"]
    if source // size != target // size:
        way[1:1] = [f"rack_{source // size}_UP", f"rack_{target // size}_DOWN"]
    assert names(network, source, target) == way
    assert all(
        network.links[link].bandwidth == (2e8 if network.links[link].name.startswith("rack") else 125e6)
        for link in network.route(source, target).links
    )
