"""Routes equal those of SimGrid's own Python package, for every platform of the inputs and for made-up ones.

Skipped where that package is not installed; it is never needed to use this one.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from batpy.base.errors import InputError
from batpy.platforms.load import load_platform
from batpy.platforms.network import Network

pytest.importorskip("simgrid")

SCRIPT = Path(__file__).resolve().parents[1] / "support" / "simgrid_routes.py"
SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
FOLDERS = ("batsim", "batsim-examples/platforms", "simgrid-examples", "bugs")
# Not a platform of this SimGrid: version 3, a deployment, a host without speed, and half a crossbar of hosts.
# Here part of a way is not written: SimGrid takes it as free, we say that it is missing.
PARTIAL = {"falafels-multiple-zones.xml"}
SKIPPED = {
    "migcube-platform.xml",
    "fogedge-d_test_plat.xml",
    "elastisim-crossbar.xml",
    "cluster_crossbar.xml",
}
FILES = sorted(
    file for folder in FOLDERS for file in (SHARED / folder).glob("*.xml") if file.name not in SKIPPED
)
CONFIG = re.compile(r"<config\b[^>]*/>|<config\b.*?</config>", re.DOTALL)
BEFORE = re.compile(r"^\s+")
HEAD = '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'


def compare(file: Path, tmp_path: Path, hosts: int = 24) -> int:
    """Routes compared, between up to so many *hosts*."""
    platform = load_platform(file)
    network = platform.network
    assert network is not None
    names = [host.name for host in platform.hosts]
    step = max(1, len(names) // hosts)
    chosen = [*range(0, len(names), step)][:hosts]
    asked = [(a, b) for a in chosen for b in chosen if not in_no_zone(network, a, b)]
    plain = tmp_path / "plain.xml"
    text = file.read_bytes().decode("utf-8", "replace")
    # Options of other SimGrid versions and blank lines at the top are refused there.
    plain.write_text(BEFORE.sub("", CONFIG.sub("", text)))
    answer = subprocess.run(
        [sys.executable, str(SCRIPT), str(plain)],
        input=json.dumps([(names[a], names[b]) for a, b in asked]),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    lines = [json.loads(line) for line in answer.stdout.splitlines() if line[:1] in "{[n"]
    assert len(lines) == len(asked) + 1, answer.stderr[-500:]
    theirs = lines[0]
    ours = {link.name: (link.bandwidth, link.latency) for link in network.links}
    assert ours.keys() | {"__loopback__"} == theirs.keys() | {"__loopback__"}
    for name in theirs.keys() & ours.keys():
        assert ours[name] == pytest.approx(tuple(theirs[name]), rel=1e-12), name
    for (a, b), found in zip(asked, lines[1:], strict=True):
        try:
            route = network.route(a, b)
        except InputError:
            # Where no route is written between zones, SimGrid says so or crosses nothing at all.
            assert file.name in PARTIAL or found is None or found == [[], 0.0], (names[a], names[b], found)
            continue
        ours_now = [network.links[link].name for link in route.links]
        if "Dijkstra" in text:
            # There SimGrid 3.32 puts the links of a way in another order, which means nothing.
            ours_now, found[0] = sorted(ours_now), sorted(found[0])
        assert ours_now == found[0], (names[a], names[b])
        assert route.latency == pytest.approx(found[1], rel=1e-12), (names[a], names[b])
    return len(asked)


def in_no_zone(network: Network, a: int, b: int) -> bool:
    """SimGrid aborts when asked for a route inside a zone without routing."""
    try:
        route = network.route(a, b)
    except InputError as error:
        return "routing None" in str(error)
    return not route.links and route.latency == 0.0 and a == b


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_routes_of_the_inputs_equal_simgrids(file: Path, tmp_path: Path) -> None:
    assert compare(file, tmp_path) >= 0


SIZES = (1, 2, 3, 4, 5)
OPTIONS = (
    "",
    'sharing_policy="SHARED"',
    'limiter_link="150MBps"',
    'loopback_bw="1GBps" loopback_lat="1us"',
    'limiter_link="150MBps" loopback_bw="1GBps" loopback_lat="0"',
)


def cluster(chance: random.Random, topology: str, parameters: str, hosts: int, name: str) -> str:
    first = chance.choice((0, 3))
    middle = first + hosts // 2
    radical = f"{first}-{first + hosts - 1}"
    if hosts > 3 and chance.random() < 0.3:
        radical = f"{middle}-{first + hosts - 1},{first}-{middle - 1}"
    backbone = 'bb_bw="2.25GBps" bb_lat="500us"' if topology == "FLAT" and chance.random() < 0.7 else ""
    option = chance.choice(OPTIONS)
    if topology == "FAT_TREE" and "limiter" in option:
        # SimGrid 3.32 gives two limiters one name where there are more switches than hosts.
        option = ""
    return (
        f'<cluster id="{name}" prefix="{name}-" suffix=".x" radical="{radical}" speed="1Gf" bw="125MBps" '
        f'lat="50us" topology="{topology}" topo_parameters="{parameters}" {backbone} {option}/>'
    )


def made_up_cluster(chance: random.Random, name: str) -> str:
    topology = chance.choice(("FLAT", "TORUS", "FAT_TREE", "DRAGONFLY"))
    if topology == "FLAT":
        return cluster(chance, topology, "", chance.randint(1, 12), name)
    if topology == "TORUS":
        sizes = [chance.choice((2, 3, 4, 5, 6)) for _ in range(chance.randint(1, 3))]
        hosts = 1
        for size in sizes:
            hosts *= size
        return cluster(chance, topology, ",".join(map(str, sizes)), hosts, name)
    if topology == "FAT_TREE":
        levels = chance.randint(1, 4)
        children, parents, ports = ([chance.choice((1, 2, 2, 3)) for _ in range(levels)] for _ in range(3))
        hosts = 1
        for size in children:
            hosts *= size
        lists = ";".join(",".join(map(str, numbers)) for numbers in (children, parents, ports))
        return cluster(chance, topology, f"{levels};{lists}", hosts, name)
    chassis, routers, nodes = (chance.choice(SIZES[:4]) for _ in range(3))
    groups = chance.randint(1, routers)
    cables = [chance.choice(SIZES[:3]) for _ in range(3)]
    text = f"{groups},{cables[0]};{chassis},{cables[1]};{routers},{cables[2]};{nodes}"
    return cluster(chance, topology, text, groups * chassis * routers * nodes, name)


@pytest.mark.parametrize("seed", range(60))
def test_made_up_clusters_route_as_simgrids(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    inside = "".join(made_up_cluster(chance, f"c{number}") for number in range(chance.randint(1, 2)))
    file = tmp_path / "made.xml"
    file.write_text(f'{HEAD}<platform version="4.1"><zone id="w" routing="Full">{inside}</zone></platform>')
    assert compare(file, tmp_path, hosts=60)


def made_up_zone(chance: random.Random, depth: int, name: str) -> tuple[str, list[str]]:
    """A zone with everything inside, and its nodes that can be gateways."""
    if depth and chance.random() < 0.7:
        return made_up_outer_zone(chance, depth, name)
    kind = chance.choice(("Full", "Floyd", "Dijkstra", "cluster", "Vivaldi"))
    if kind == "cluster":
        return cluster(chance, "FLAT", "", 3, name), [f"{name}-{name}_router.x"]
    if kind == "Vivaldi":
        nodes = [f"{name}p{number}" for number in range(3)]
        peers = "".join(
            f'<peer id="{node}" speed="1Gf" bw_in="{chance.randint(1, 9)}MBps" '
            f'bw_out="{chance.randint(1, 9)}MBps" '
            f'coordinates="{chance.randint(-9, 9)} {chance.randint(-9, 9)}.5 {chance.randint(0, 9)}"/>'
            for node in nodes
        )
        return f'<zone id="{name}" routing="Vivaldi">{peers}</zone>', nodes
    nodes = [f"{name}h{number}" for number in range(chance.randint(2, 7))]
    chance.shuffle(nodes)
    routers = chance.randint(0, 2) if kind != "Full" else 0
    hosts = "".join(f'<host id="{node}" speed="1Gf"/>' for node in nodes)
    hosts += "".join(f'<router id="{name}r{number}"/>' for number in range(routers))
    members = nodes + [f"{name}r{number}" for number in range(routers)]
    links, routes = edges(chance, kind, members, name)
    return f'<zone id="{name}" routing="{kind}">{hosts}{links}{routes}</zone>', members


def made_up_outer_zone(chance: random.Random, depth: int, name: str) -> tuple[str, list[str]]:
    kind = chance.choice(("Full", "Floyd"))
    inner = [
        (f"{name}z{number}", *made_up_zone(chance, depth - 1, f"{name}z{number}")) for number in range(3)
    ]
    gates = {zone: nodes for zone, _text, nodes in inner}
    links, routes = edges(chance, kind, list(gates), name, gates)
    text = "".join(text for _zone, text, _nodes in inner)
    return f'<zone id="{name}" routing="{kind}">{text}{links}{routes}</zone>', [
        node for nodes in gates.values() for node in nodes
    ]


def edges(
    chance: random.Random,
    kind: str,
    members: list[str],
    name: str,
    gates: dict[str, list[str]] | None = None,
) -> tuple[str, str]:
    """Links and routes that connect *members*: all pairs for Full, else a tree and some more."""
    if kind == "Full":
        pairs = [(a, b) for at, a in enumerate(members) for b in members[at + 1 :]]
    else:
        pairs = [(members[chance.randrange(at)], members[at]) for at in range(1, len(members))]
        pairs += [(a, b) for at, a in enumerate(members) for b in members[at + 1 :] if chance.random() < 0.3]
        pairs = list(dict.fromkeys(pairs))
        pairs = [(a, b) for a, b in pairs if (b, a) not in pairs or a < b]
    links, routes = [], []
    for number, (a, b) in enumerate(pairs):
        policy = chance.choice(("SHARED", "SPLITDUPLEX", "FATPIPE"))
        latency = chance.randint(1, 4) if kind == "Floyd" else chance.randint(1, 10**6)
        crossings = []
        for part in range(chance.choice((1, 1, 2))):
            link = f"{name}l{number}_{part}"
            links.append(
                f'<link id="{link}" bandwidth="1MBps" latency="{latency}us" sharing_policy="{policy}"/>'
            )
            way = f' direction="{chance.choice(("UP", "DOWN"))}"' if policy == "SPLITDUPLEX" else ""
            crossings.append(f'<link_ctn id="{link}"{way}/>')
        tag, ends = "route", f'src="{a}" dst="{b}"'
        if gates is not None:
            tag, ends = (
                "zoneRoute",
                f'{ends} gw_src="{chance.choice(gates[a])}" gw_dst="{chance.choice(gates[b])}"',
            )
        routes.append(f"<{tag} {ends}>{''.join(crossings)}</{tag}>")
    return "".join(links), "".join(routes)


@pytest.mark.parametrize("seed", range(60))
def test_made_up_nested_zones_route_as_simgrids(seed: int, tmp_path: Path) -> None:
    chance = random.Random(1000 + seed)
    file = tmp_path / "made.xml"
    text, _nodes = made_up_zone(chance, chance.randint(0, 2), "w")
    file.write_text(f'{HEAD}<platform version="4.1">{text}</platform>')
    assert compare(file, tmp_path, hosts=30)
