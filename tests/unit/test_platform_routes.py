"""What links and routes of a platform file mean, and what is refused with file, line and element."""

from __future__ import annotations

import pickle
from itertools import pairwise
from pathlib import Path

import pytest

from batpy.base.errors import InputError
from batpy.platforms.load import load_platform
from batpy.platforms.network import FanNetwork, Link, Route
from batpy.platforms.routing.network import ZoneNetwork
from batpy.platforms.units import BANDWIDTHS, TIMES, quantity


def read(tmp_path: Path, inside: str, version: str = "4.1") -> ZoneNetwork:
    file = tmp_path / "p.xml"
    file.write_text(f'<platform version="{version}">\n{inside}\n</platform>')
    network = load_platform(file, source="p.xml").network
    assert isinstance(network, ZoneNetwork)
    return network


def zone(inside: str, routing: str = "Full", name: str = "z") -> str:
    return f'<zone id="{name}" routing="{routing}">\n{inside}\n</zone>'


def hosts(*names: str) -> str:
    return "".join(f'<host id="{name}" speed="1Gf"/>' for name in names)


def links(*names: str, policy: str = "SHARED") -> str:
    return "".join(
        f'<link id="{name}" bandwidth="1MBps" latency="1ms" sharing_policy="{policy}"/>' for name in names
    )


def route(source: str, target: str, *names: str, more: str = "", tag: str = "route") -> str:
    crossed = "".join(f'<link_ctn id="{name}"/>' for name in names)
    return f'<{tag} src="{source}" dst="{target}" {more}>{crossed}</{tag}>'


def between(source: str, target: str, gateways: str, *names: str, tag: str = "zoneRoute") -> str:
    left, right = gateways.split()
    return route(source, target, *names, more=f'gw_src="{left}" gw_dst="{right}"', tag=tag)


def crossed(network: ZoneNetwork, source: str, target: str) -> list[str]:
    return [network.links[link].name for link in network.route_by_name(source, target).links]


def latency(network: ZoneNetwork, source: str, target: str) -> float:
    return network.route_by_name(source, target).latency


def refusal(tmp_path: Path, inside: str) -> str:
    with pytest.raises(InputError) as refused:
        read(tmp_path, inside)
    line = str(refused.value)
    assert "\n" not in line
    return line


def missing(network: ZoneNetwork, source: str, target: str) -> str:
    with pytest.raises(InputError) as refused:
        network.route_by_name(source, target)
    return str(refused.value)


def cluster(more: str = "", radical: str = "0-3", name: str = "c", prefix: str = "n") -> str:
    return (
        f'<cluster id="{name}" prefix="{prefix}" suffix="" radical="{radical}" speed="1Gf" bw="1MBps" '
        f'lat="1ms" {more}/>'
    )


# ------------------------------------------------------------------ units


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("120Mbps", 15e6),
        ("2.25GBps", 2.25e9),
        ("1KiBps", 1024.0),
        ("8Kibps", 1024.0),
        ("8kbps", 1000.0),
        ("1.25E9", 1.25e9),
        ("56Gbps", 7e9),
        ("1kBps", 1e3),
    ],
)
def test_bandwidths_tell_bits_from_bytes_and_powers_of_two(text: str, value: float) -> None:
    assert quantity(text, BANDWIDTHS, "") == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "value"), [("50us", 50e-6), ("1.5E-9s", 1.5e-9), ("2m", 120.0), ("3", 3.0), ("1w", 604800.0)]
)
def test_times_without_a_unit_are_seconds(text: str, value: float) -> None:
    assert quantity(text, TIMES, "") == pytest.approx(value, rel=1e-15)


# ------------------------------------------------------------------ links and routes of one zone


def test_a_route_is_symmetrical_unless_it_says_no(tmp_path: Path) -> None:
    inside = hosts("a", "b", "c") + links("x", "y") + route("a", "b", "x", "y")
    network = read(tmp_path, zone(inside + route("b", "c", "x", more='symmetrical="NO"')))
    assert (crossed(network, "a", "b"), crossed(network, "b", "a")) == (["x", "y"], ["y", "x"])
    assert crossed(network, "b", "c") == ["x"]
    assert crossed(network, "c", "b") == []
    assert latency(network, "a", "b") == pytest.approx(2e-3)


@pytest.mark.parametrize("policy", ["SPLITDUPLEX", "FULLDUPLEX"])
def test_directions_of_split_links_are_swapped_on_the_way_back(tmp_path: Path, policy: str) -> None:
    way = (
        '<route src="a" dst="b"><link_ctn id="s" direction="UP"/><link_ctn id="t" direction="DOWN"/></route>'
    )
    network = read(tmp_path, zone(hosts("a", "b") + links("s", "t", policy=policy) + way))
    assert crossed(network, "a", "b") == ["s_UP", "t_DOWN"]
    assert crossed(network, "b", "a") == ["t_UP", "s_DOWN"]


def test_half_of_a_split_link_can_be_named_and_stays_itself_on_the_way_back(tmp_path: Path) -> None:
    network = read(
        tmp_path, zone(hosts("a", "b") + links("s", policy="SPLITDUPLEX") + route("a", "b", "s_UP"))
    )
    assert (crossed(network, "a", "b"), crossed(network, "b", "a")) == (["s_UP"], ["s_UP"])


def test_fatpipe_links_are_not_shared(tmp_path: Path) -> None:
    network = read(tmp_path, zone(hosts("a") + links("f", policy="FATPIPE") + links("s")))
    assert {link.name: link.shared for link in network.links} == {
        "__loopback__": False,
        "f": False,
        "s": True,
    }


def test_a_host_reaches_itself_by_its_route_or_the_loopback(tmp_path: Path) -> None:
    network = read(tmp_path, zone(hosts("a", "b") + links("x") + route("a", "a", "x")))
    assert crossed(network, "a", "a") == ["x"]
    (loopback,) = network.route_by_name("b", "b").links
    assert network.links[loopback] == Link("__loopback__", 1e10, 0.0, shared=False)


def test_zone_without_routing_connects_its_hosts_for_nothing(tmp_path: Path) -> None:
    network = read(tmp_path, zone(hosts("a", "b"), "None"))
    assert (crossed(network, "a", "b"), latency(network, "a", "b")) == ([], 0.0)
    assert crossed(network, "a", "a") == []


def test_vivaldi_latency_is_the_distance_plus_both_heights(tmp_path: Path) -> None:
    inside = """<peer id="a" speed="1f" coordinates="3 4 1" bw_in="1MBps" bw_out="2MBps"/>
    <host id="b" speed="1f" coordinates="0 0 0.5"/><host id="c" speed="1f"/>"""
    network = read(tmp_path, zone(inside, "Vivaldi"))
    assert latency(network, "a", "b") == pytest.approx(6.5e-3)
    assert (crossed(network, "a", "b"), crossed(network, "b", "a")) == (["link_a_UP"], ["link_a_DOWN"])
    bandwidths = {link.name: link.bandwidth for link in network.links}
    assert (bandwidths["link_a_UP"], bandwidths["link_a_DOWN"]) == (2e6, 1e6)
    assert latency(network, "a", "a") == pytest.approx(2e-3)
    assert "no route from 'a' to 'c'" in missing(network, "a", "c")


def test_floyd_and_dijkstra_search_the_fewest_links_and_break_ties_as_simgrid(tmp_path: Path) -> None:
    square = hosts("d", "a", "c", "b") + links("ab", "ac", "bd", "cd")
    square += "".join(route(*pair, pair) for pair in ("ab", "ac", "bd", "cd"))
    floyd, dijkstra = (read(tmp_path, zone(square, routing)) for routing in ("Floyd", "Dijkstra"))
    assert (crossed(floyd, "a", "d"), crossed(floyd, "d", "a")) == (["ac", "cd"], ["cd", "ac"])
    assert (crossed(dijkstra, "a", "d"), crossed(dijkstra, "b", "c")) == (["ab", "bd"], ["ab", "ac"])
    assert crossed(floyd, "a", "a") == ["__loopback__"]


def test_island_of_a_searched_zone_has_no_route(tmp_path: Path) -> None:
    network = read(tmp_path, zone(hosts("a", "b", "c") + links("x") + route("a", "b", "x"), "Dijkstra"))
    assert missing(network, "a", "c") == "p.xml:2: zone 'z': no route from 'a' to 'c'"


def test_large_floyd_zones_are_searched_from_one_source_at_a_time(tmp_path: Path) -> None:
    names = [f"h{number}" for number in range(400)]
    chain = "".join(route(a, b, f"l{a}") for a, b in pairwise(names))
    network = read(tmp_path, zone(hosts(*names) + links(*(f"l{a}" for a in names)) + chain, "Floyd"))
    assert crossed(network, "h3", "h0") == ["lh2", "lh1", "lh0"]
    assert len(crossed(network, "h0", "h399")) == 399


# ------------------------------------------------------------------ clusters


def test_cluster_crosses_limiter_link_and_backbone_once_each_way(tmp_path: Path) -> None:
    network = read(tmp_path, cluster('bb_bw="1GBps" bb_lat="2ms" limiter_link="1MBps"', "0,7"))
    there = ["c_link_0_limiter", "c_link_0_UP", "c_backbone", "c_link_7_DOWN", "c_link_7_limiter"]
    assert crossed(network, "n0", "n7") == there
    assert latency(network, "n0", "n7") == pytest.approx(4e-3)


def test_cluster_host_without_loopback_goes_out_and_in_again(tmp_path: Path) -> None:
    assert crossed(read(tmp_path, cluster('bb_bw="1GBps"')), "n1", "n1") == [
        "c_link_1_UP",
        "c_backbone",
        "c_link_1_DOWN",
    ]
    network = read(tmp_path, cluster('bb_bw="1GBps" loopback_bw="5MBps" loopback_lat="1us"'))
    assert crossed(network, "n1", "n1") == ["c_link_1_loopback"]


def test_shared_cluster_links_carry_both_directions(tmp_path: Path) -> None:
    network = read(tmp_path, cluster('sharing_policy="SHARED"'))
    assert (crossed(network, "n0", "n1"), crossed(network, "n0", "n0")) == (
        ["c_link_0", "c_link_1"],
        ["c_link_0"],
    )


def test_clusters_meet_at_their_routers(tmp_path: Path) -> None:
    inside = cluster('bb_bw="1GBps"') + cluster('router_id="exit"', name="d", prefix="m") + links("x")
    network = read(tmp_path, zone(inside + between("c", "d", "nc_router exit", "x")))
    assert crossed(network, "n2", "m3") == ["c_link_2_UP", "c_backbone", "x", "d_link_3_DOWN"]
    assert crossed(network, "m3", "n2") == ["d_link_3_UP", "x", "c_backbone", "c_link_2_DOWN"]


def test_cabinets_and_host_links_share_the_backbone_of_their_zone(tmp_path: Path) -> None:
    inside = (
        """<cabinet id="k" prefix="k" suffix="" radical="0-1" speed="1f" bw="1MBps" lat="1ms"/>
    <backbone id="bb" bandwidth="1MBps" latency="5ms"/>"""
        + hosts("h")
        + links("u", "v")
    )
    network = read(tmp_path, zone(inside + '<host_link id="h" up="u" down="v"/>', "Cluster"))
    assert crossed(network, "k1", "k0") == ["link_k1_UP", "bb", "link_k0_DOWN"]
    assert (crossed(network, "k0", "h"), crossed(network, "h", "h")) == (
        ["link_k0_UP", "bb", "v"],
        ["u", "bb", "v"],
    )


def test_links_of_a_cluster_can_be_named_in_routes(tmp_path: Path) -> None:
    inside = cluster() + zone(hosts("h"), name="y") + between("c", "y", "nc_router h", "c_link_0_UP")
    assert crossed(read(tmp_path, zone(inside)), "n1", "h") == ["c_link_1_UP", "c_link_0_UP"]


def test_torus_prefers_ahead_half_way_round_but_not_to_the_origin(tmp_path: Path) -> None:
    network = read(tmp_path, cluster('topology="TORUS" topo_parameters="4"'))
    assert crossed(network, "n0", "n2") == ["c_link_from_0_to_1_UP", "c_link_from_1_to_2_UP"]
    assert crossed(network, "n2", "n0") == ["c_link_from_1_to_2_DOWN", "c_link_from_0_to_1_DOWN"]
    assert crossed(network, "n3", "n1") == ["c_link_from_3_to_0_UP", "c_link_from_0_to_1_UP"]
    assert crossed(network, "n1", "n1") == []


def test_fan_tells_the_arms_of_a_star_and_nothing_elsewhere(tmp_path: Path) -> None:
    network = read(tmp_path, cluster('bb_bw="1GBps" bb_lat="2ms" limiter_link="1MBps"'))
    assert isinstance(network, FanNetwork)
    a, b = network.fan(0), network.fan(3)
    assert a is not None
    assert b is not None
    assert (a.star, a.middle) == (b.star, b.middle)
    assert a.up + a.middle + b.down == network.route(0, 3).links
    assert a.up_latency + a.middle_latency + b.down_latency == pytest.approx(network.route(0, 3).latency)
    assert read(tmp_path, cluster('topology="TORUS" topo_parameters="4"')).fan(0) is None
    assert read(tmp_path, zone(hosts("a"))).fan(0) is None


# ------------------------------------------------------------------ zones in zones


def test_gateways_are_walked_to_through_every_zone(tmp_path: Path) -> None:
    left = zone(hosts("a", "b") + links("ab") + route("a", "b", "ab"), name="x")
    middle = zone(hosts("c", "d") + links("cd") + route("c", "d", "cd"), name="y")
    right = zone(hosts("e", "f") + links("ef") + route("e", "f", "ef"), name="w")
    ways = links("xy", "yw") + between("x", "y", "b c", "xy") + between("y", "w", "d e", "yw")
    network = read(tmp_path, zone(left + middle + right + ways, "Floyd"))
    assert crossed(network, "a", "f") == ["ab", "xy", "cd", "yw", "ef"]
    assert crossed(network, "f", "a") == ["ef", "yw", "cd", "xy", "ab"]


def test_router_that_no_route_mentions_stands_for_its_zone(tmp_path: Path) -> None:
    left = zone(hosts("a", "b") + '<router id="r"/>', name="x")
    inside = left + zone(hosts("c"), name="y") + links("xy") + between("x", "y", "r c", "xy")
    network = read(tmp_path, zone(inside))
    assert crossed(network, "a", "c") == ["xy"]
    assert crossed(network, "a", "b") == []


def test_missing_part_of_a_way_names_the_zone_that_lacks_it(tmp_path: Path) -> None:
    left = zone(hosts("a", "b"), "Dijkstra", name="x")
    inside = left + zone(hosts("c"), name="y") + links("xy") + between("x", "y", "b c", "xy")
    assert missing(read(tmp_path, zone(inside)), "a", "c") == "p.xml:3: zone 'x': no route from 'a' to 'c'"


def test_a_way_that_a_full_zone_does_not_say_costs_nothing_and_is_told_at_load(tmp_path: Path) -> None:
    told: list[str] = []
    file = tmp_path / "p.xml"
    inside = hosts("a", "b", "c") + links("x") + route("a", "b", "x")
    file.write_text(f'<platform version="4.1">\n{zone(inside)}\n</platform>')
    platform = load_platform(file, source="p.xml", notice=told.append)
    assert platform.network is not None
    assert platform.network.route(0, 2) == Route((), 0.0)
    assert told[-1] == (
        "p.xml:2: zone 'z': no route is written from 'a' to 'c' and between 3 more pairs of hosts; "
        "bytes take no time there (as in SimGrid 3.32)"
    )
    told.clear()
    inside += route("a", "c", "x") + route("b", "c", "x")
    file.write_text(f'<platform version="4.1">\n{zone(inside)}\n</platform>')
    load_platform(file, source="p.xml", notice=told.append)
    assert not any("no route" in line for line in told)


def test_zones_that_no_route_connects_do_not_reach_each_other(tmp_path: Path) -> None:
    network = read(tmp_path, zone(zone(hosts("a"), name="x") + zone(hosts("b"), name="y")))
    assert missing(network, "a", "b") == "p.xml:2: zone 'z': no route from 'a' to 'b'"


def test_bypasses_are_taken_in_their_direction_only(tmp_path: Path) -> None:
    inside = hosts("a", "b") + links("x", "y") + route("a", "b", "x")
    network = read(tmp_path, zone(inside + route("a", "b", "y", tag="bypassRoute")))
    assert (crossed(network, "a", "b"), crossed(network, "b", "a")) == (["y"], ["x"])
    left = zone(zone(hosts("a"), name="x1"), name="x")
    right = zone(zone(hosts("c", "d") + links("cd") + route("c", "d", "cd"), name="y1"), name="y")
    ways = links("xy", "q") + between("x", "y", "a c", "xy")
    ways += between("x1", "y1", "a d", "q", tag="bypassZoneRoute")
    network = read(tmp_path, zone(left + right + ways))
    assert (crossed(network, "a", "c"), crossed(network, "c", "a")) == (["q", "cd"], ["xy"])


def test_rules_of_version_3_are_written_out_for_every_pair(tmp_path: Path) -> None:
    inside = cluster(name="AS_p", prefix="p-").replace("speed", "power")
    inside += cluster(name="AS_q", prefix="q-").replace("speed", "power")
    inside += links("link_p", "link_q")
    rule = '<ASroute src="^AS_(.*)$" dst="^AS_(.*)$" gw_src="$1src-AS_$1src_router" '
    rule += 'gw_dst="$1dst-AS_$1dst_router"><link_ctn id="link_$1src"/><link_ctn id="link_$1dst"/></ASroute>'
    network = read(tmp_path, f'<AS id="z" routing="RuleBased">{inside}{rule}</AS>', "3")
    assert crossed(network, "p-1", "q-0") == ["AS_p_link_1_UP", "link_p", "link_q", "AS_q_link_0_DOWN"]


def test_routes_survive_pickling_and_a_full_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network = read(tmp_path, cluster('bb_bw="1GBps"'))
    monkeypatch.setattr("batpy.platforms.routing.network.CACHED_ROUTES", 3)
    first = [network.route(a, b) for a in range(4) for b in range(4)]
    assert first == [network.route(a, b) for a in range(4) for b in range(4)]
    again = pickle.loads(pickle.dumps(network))
    assert first == [again.route(a, b) for a in range(4) for b in range(4)]


# ------------------------------------------------------------------ refusals

TWO = zone(hosts("a", "b"), name="x") + zone(hosts("c", "d"), name="y") + links("l", "m")


@pytest.mark.parametrize(
    ("inside", "said"),
    [
        (zone(hosts("a", "b") + "\n" + route("a", "b", "s")), "4: link_ctn 's': there is no link 's'"),
        (
            zone(hosts("a", "b") + links("s", policy="SPLITDUPLEX") + route("a", "b", "s")),
            "3: link_ctn 's': link 's' is SPLITDUPLEX, say which: 's_UP' or 's_DOWN'",
        ),
        (
            zone(
                hosts("a", "b")
                + links("s")
                + '<route src="a" dst="b"><link_ctn id="s" direction="UP"/></route>'
            ),
            "3: link_ctn 's': link 's' has no direction: it is not SPLITDUPLEX",
        ),
        (zone(hosts("a") + links("s") + route("a", "q", "s")), "3: route 'a' -> 'q': dst: there is no host"),
        (zone(hosts("a", "b") + route("a", "b")), "3: route 'a' -> 'b': needs at least one link_ctn"),
        (
            zone(hosts("a", "b") + links("s", "t") + route("a", "b", "s") + "\n" + route("b", "a", "t")),
            "4: route 'b' -> 'a': there is already a route, of line 3 (a route is symmetrical unless",
        ),
        (
            zone(hosts("a") + links("s") + "\n" + links("s")),
            "4: link 's': there is already a link 's', of line 3",
        ),
        (
            zone(hosts("a") + links("s_UP") + links("s", policy="SPLITDUPLEX")),
            "3: link 's': there is already a link 's_UP'",
        ),
        (
            zone(cluster() + links("c_link_0_UP")),
            "3: link 'c_link_0_UP': there is already a link 'c_link_0_UP', made by a cluster",
        ),
        (zone(TWO + between("x", "y", "c a", "l")), "7: zoneRoute 'x' -> 'y': the gateways are swapped"),
        (zone(TWO + between("x", "y", "a b", "l")), "7: zoneRoute 'x' -> 'y': gw_dst 'b' is not in zone 'y'"),
        (zone(TWO + between("x", "y", "a q", "l")), "7: zoneRoute 'x' -> 'y': gw_dst: there is no host or"),
        (zone(TWO + between("x", "q", "a c", "l")), "7: zoneRoute 'x' -> 'q': there is no zone 'q'"),
        (zone(TWO + between("x", "x", "a b", "l")), "7: zoneRoute 'x' -> 'x': leads from a zone to itself"),
        (
            zone(TWO + between("x", "y", "a c", "l") + between("y", "x", "c a", "m")),
            "7: zoneRoute 'y' -> 'x': there is already a route, of line 7",
        ),
        (zone(TWO + route("a", "c", "l")), "7: route 'a' -> 'c': src 'a' is not directly in zone 'z'"),
        (zone(TWO + zone("", name="x")), "7: zone 'x': there is already a zone 'x'"),
        (zone(hosts("a") + '<router id="a"/>'), "3: router 'a': there is already a host or router 'a'"),
        (zone(cluster() + '<router id="n2"/>'), "3: router 'n2': there is already a host or router 'n2'"),
        (
            zone(hosts("a", "b") + links("s") + route("a", "b", "s"), "None"),
            "3: route 'a' -> 'b': zone 'z' has",
        ),
        (zone(hosts("a"), "Fuzzy"), "2: zone 'z': routing 'Fuzzy' is not known; known: Full, Floyd"),
        (zone(hosts("a") + '<link id="l" bandwidth="1Gf"/>'), "3: link 'l': bandwidth '1Gf' has the unknown"),
        (zone(hosts("a") + '<link id="l" bandwidth="0"/>'), "3: link 'l': bandwidth must be above 0"),
        (zone(hosts("a") + '<link id="l" latency="1s"/>'), "3: link 'l': needs the attribute bandwidth"),
        (
            zone(hosts("a") + '<link id="l" bandwidth="1MBps" latency="1Gs"/>'),
            "3: link 'l': latency '1Gs' has the unknown unit 'Gs'",
        ),
        (
            zone(hosts("a") + '<link id="l" bandwidth="1MBps" sharing_policy="WIFI"/>'),
            "3: link 'l': sharing_policy 'WIFI' is not known; known: SHARED, FATPIPE, SPLITDUPLEX",
        ),
        (zone('<host id="a" speed="1f" coordinates="1 2"/>', "Vivaldi"), "3: host 'a': coordinates must be"),
        (zone(cluster().replace('bw="1MBps"', "")), "3: cluster 'c': needs the attribute bw"),
        (zone(cluster('bb_lat="1ms"')), "3: cluster 'c': bb_lat without bb_bw"),
        (zone(cluster('topology="RING"')), "3: cluster 'c': topology 'RING' is not known"),
        (
            zone(cluster('topology="TORUS" topo_parameters="4,2"')),
            "3: cluster 'c': topo_parameters '4,2' makes 8 hosts, but the radical names 4",
        ),
        (
            zone(cluster('topology="TORUS" topo_parameters="4,0"')),
            "3: cluster 'c': topo_parameters '4,0' is not",
        ),
        (
            zone(cluster('topology="FAT_TREE" topo_parameters="2;4;1;1"')),
            "3: cluster 'c': topo_parameters '2;4;1;1' has 2 level(s)",
        ),
        (
            zone(cluster('topology="DRAGONFLY" topo_parameters="4,1;1,1;1,1;1"')),
            "3: cluster 'c': topo_parameters '4,1;1,1;1,1;1' has more groups than a chassis has routers",
        ),
        (
            zone('<cabinet id="k" prefix="k" radical="0-1" speed="1f" bw="1MBps" lat="1ms"/>'),
            "3: cabinet 'k': a cabinet needs a zone with routing Cluster, but it is in zone 'z'",
        ),
        (
            zone(hosts("h") + links("u") + '<host_link id="h" up="u" down="v"/>', "Cluster"),
            "3: host_link 'h': down: there is no link 'v'",
        ),
        (
            zone(hosts("h") + links("u") + '<host_link id="g" up="u" down="u"/>', "Cluster"),
            "3: host_link 'g': there is no host 'g' in zone 'z'",
        ),
        (
            f'<AS id="z" routing="RuleBased">{TWO}{between("(a+)+$", "y", "a c", "l", tag="ASroute")}</AS>',
            "6: ASroute '(a+)+$' -> 'y': RuleBased pattern '(a+)+$' is not supported",
        ),
    ],
)
def test_malformed_network_is_refused_with_line_and_element(tmp_path: Path, inside: str, said: str) -> None:
    assert refusal(tmp_path, inside).startswith(f"p.xml:{said}")


def test_undefined_link_in_a_large_cluster_is_found_at_load(tmp_path: Path) -> None:
    inside = cluster(radical="0-9999") + zone(hosts("h"), name="y") + between("c", "y", "nc_router h", "q")
    assert "there is no link 'q'" in refusal(tmp_path, zone(inside))
