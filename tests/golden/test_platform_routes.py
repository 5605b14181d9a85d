"""Routes of every platform file of the inputs, and the facts Batsim's specification states of them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from batpy.base.errors import InputError
from batpy.platforms.load import load_platform
from batpy.platforms.network import Network
from batpy.platforms.platform import Platform

FOLDERS = ("batsim", "batsim-examples/platforms", "simgrid-examples", "bugs")
EXAMPLES = "batsim-examples/platforms"

# file -> links; then of the routes among 12 hosts spread over the platform (from each to itself included):
# how many there are, how many are missing, links crossed in all, sum of their latencies in microseconds.
# Compared with SimGrid 3.32 link by link by test_platform_oracle, but for version 3.
ROUTES = {
    "batsim/artcupelli-platform01.xml": (1, 1, 0, 1, 0.0),
    "batsim/artcupelli-platform02.xml": (38, 144, 0, 432, 86400.0),
    "batsim/batsimpy-cluster_1.xml": (134, 144, 0, 432, 86400.0),
    "batsim/batsimpy-energy_com_hosts_2.xml": (5, 9, 0, 9, 604.808),
    "batsim/batsimpy-energy_hosts_2.xml": (1, 4, 0, 2, 0.0),
    "batsim/batsimpy-hosts_2.xml": (1, 4, 0, 2, 0.0),
    "batsim/falafels-multiple-zones.xml": (18, 144, 0, 140, 24497.44),
    "batsim/g5k-graphene.xml": (589, 144, 0, 964, 6654.018),
    "batsim/gridgym-platform.xml": (102, 144, 0, 432, 86400.0),
    "batsim/lanl-platform_1490.xml": (2986, 144, 0, 432, 0.0),
    "batsim/migcube-platform.xml": (3143, 144, 0, 1492, 183600.0),
    "batsim/nadeen-20machines.xml": (1, 144, 0, 12, 0.0),
    "batsim/naikelin-fat_tree.xml": (71, 144, 0, 12, 0.0),
    "batsim/naikelin-small_platform.xml": (12, 16, 0, 70, 25275.488),
    "batsim/sdsrl-platform-8.xml": (1, 64, 0, 8, 0.0),
    "batsim/tanaxer-three_multicore_hosts.xml": (2, 9, 0, 9, 600.0),
    "batsim/wrench-four_hosts_energy.xml": (6, 16, 0, 16, 240.0),
    "batsim-examples/platforms/cluster512.xml": (1030, 144, 0, 432, 86400.0),
    "batsim-examples/platforms/cluster512_pfs.xml": (1033, 144, 0, 432, 86400.0),
    "batsim-examples/platforms/cluster_energy_128.xml": (262, 144, 0, 432, 86400.0),
    "batsim-examples/platforms/cluster_locality_32x16.xml": (1028, 144, 0, 432, 72288.0),
    "batsim-examples/platforms/cluster_locality_4x128.xml": (1028, 144, 0, 432, 72288.0),
    "batsim-examples/platforms/cluster_locality_8x16.xml": (260, 144, 0, 432, 72288.0),
    "batsim-examples/platforms/cluster_locality_8x64.xml": (1028, 144, 0, 432, 72288.0),
    "batsim-examples/platforms/energy_platform.xml": (12, 16, 0, 70, 25275.488),
    "batsim-examples/platforms/energy_platform_homogeneous.xml": (12, 16, 0, 70, 25275.488),
    "batsim-examples/platforms/energy_platform_homogeneous_no_net.xml": (1, 49, 0, 0, 0.0),
    "batsim-examples/platforms/energy_platform_homogeneous_no_net_1.xml": (1, 1, 0, 0, 0.0),
    "batsim-examples/platforms/energy_platform_homogeneous_no_net_128.xml": (1, 144, 0, 0, 0.0),
    "batsim-examples/platforms/energy_platform_homogeneous_no_net_256.xml": (1, 144, 0, 0, 0.0),
    "batsim-examples/platforms/energy_platform_homogeneous_no_net_512.xml": (1, 144, 0, 0, 0.0),
    "batsim-examples/platforms/graphene.xml": (589, 144, 0, 964, 6654.018),
    "batsim-examples/platforms/properties_example.xml": (15, 49, 0, 139, 27200.0),
    "batsim-examples/platforms/simple_coalloc_platform.xml": (9, 144, 0, 276, 15994.656),
    "batsim-examples/platforms/small_platform.xml": (12, 16, 0, 70, 25275.488),
    "batsim-examples/platforms/small_platform_pfs0.xml": (12, 25, 0, 53, 17928.598),
    "batsim-examples/platforms/small_platform_usage_replay.xml": (12, 16, 0, 70, 25275.488),
    "simgrid-examples/cluster_and_one_host.xml": (6, 9, 0, 16, 40600.0),
    "simgrid-examples/cluster_backbone.xml": (202, 144, 0, 432, 86400.0),
    "simgrid-examples/cluster_crossbar.xml": (131073, 144, 0, 288, 14400.0),
    "simgrid-examples/cluster_dragonfly.xml": (967, 144, 0, 1582, 35950.0),
    "simgrid-examples/cluster_fat_tree.xml": (81, 144, 0, 484, 23600.0),
    "simgrid-examples/cluster_torus.xml": (85, 144, 0, 252, 12000.0),
    "simgrid-examples/config.xml": (4, 4, 0, 8, 300.0),
    "simgrid-examples/crosstraffic.xml": (3, 4, 0, 4, 20000.0),
    "simgrid-examples/dogbone.xml": (6, 16, 0, 28, 240000.0),
    "simgrid-examples/energy_platform.xml": (2, 9, 0, 9, 0.0),
    "simgrid-examples/g5k.xml": (3143, 144, 0, 1492, 183600.0),
    "simgrid-examples/hosts_with_disks.xml": (4, 9, 0, 9, 900.0),
    "simgrid-examples/multicore_machine.xml": (1, 1, 0, 1, 0.0),
    "simgrid-examples/onelink.xml": (2, 4, 0, 4, 20000.0),
    "simgrid-examples/prop.xml": (14, 29, 20, 81, 15400.0),
    "simgrid-examples/ptask_L07.xml": (9, 64, 0, 52, 4194330000200.0),
    "simgrid-examples/small_platform.xml": (25, 49, 0, 203, 646571.754),
    "simgrid-examples/small_platform_fatpipe.xml": (5, 16, 0, 12, 1200.0),
    "simgrid-examples/small_platform_with_routers.xml": (15, 25, 0, 105, 38620.86),
    "simgrid-examples/three_multicore_hosts.xml": (2, 9, 0, 9, 600.0),
    "simgrid-examples/two_peers.xml": (5, 4, 0, 8, 99597.43),
    "bugs/batsim51_platform.xml": (2, 4, 0, 4, 0.0),
    "bugs/batsim62_two_core.xml": (1, 1, 0, 1, 0.0),
}

# Zones that no route connects, and where that is told.
MISSING = {
    "simgrid-examples/prop.xml": "6: zone 'AS0': no route from 'host1' to 'node-0.simgrid.org'",
}

# Hosts of one zone without a written route: free as in SimGrid 3.32, and told when the file is loaded.
GAPS = {
    "batsim/batsimpy-energy_hosts_2.xml": "4: zone 'AS0': no route is written from '0' to '1' and between 1 ",
    "batsim/batsimpy-hosts_2.xml": "4: zone 'AS0': no route is written from '0' to '1' and between 1 more",
    "batsim/falafels-multiple-zones.xml": "5: zone 'zone1': no route is written from 'Xayah' to 'Nidalee'",
    "batsim/nadeen-20machines.xml": "5: zone 'multiple_machines': no route is written from 'node_0' to",
    "batsim/naikelin-fat_tree.xml": "6: zone 'cluster_compute': no route is written from 'c0' to 'c1' and",
    "batsim/sdsrl-platform-8.xml": "4: zone 'AS0': no route is written from '0' to '1' and between 55 ",
    "simgrid-examples/dogbone.xml": "23: zone 'AS0': no route is written from 'S1' to 'S2' and between 3 ",
    "simgrid-examples/ptask_L07.xml": "4: zone 'AS0': no route is written from 'cpu1' to 'cpu4' and",
    "simgrid-examples/small_platform_fatpipe.xml": "4: zone 'AS0': no route is written from 'Ruby' to 'Java'",
}

REFUSED = {
    "batsim/fogedge-d_test_plat.xml": "fogedge-d_test_plat.xml:3: platform: a deployment file",
    "batsim/elastisim-crossbar.xml": "elastisim-crossbar.xml:6: host 'Batch_system': ",
}


def network_of(platform: Platform) -> Network:
    assert platform.network is not None
    return platform.network


def spread(platform: Platform) -> list[int]:
    count = len(platform.hosts)
    return list(range(0, count, max(1, count // 12)))[:12]


def measured(platform: Platform, *, strict: bool = False) -> tuple[int, int, int, int, float]:
    network, chosen = network_of(platform), spread(platform)
    found = missing = crossed = 0
    latency = 0.0
    for source in chosen:
        for target in chosen:
            try:
                route = network.route(source, target)
            except InputError:
                if strict:
                    raise
                missing += 1
                continue
            found += 1
            crossed += len(route.links)
            latency += route.latency
    return len(network.links), found, missing, crossed, round(latency * 1e6, 3)


def test_every_platform_of_the_inputs_is_covered(shared: Path) -> None:
    present = {
        file.relative_to(shared / "data").as_posix()
        for folder in FOLDERS
        for file in (shared / "data" / folder).glob("*.xml")
    }
    assert present == ROUTES.keys() | REFUSED.keys()
    assert MISSING.keys() == {file for file, figures in ROUTES.items() if figures[2]}


@pytest.mark.parametrize("file", ROUTES)
def test_links_and_routes_of_every_platform(shared: Path, file: str) -> None:
    assert measured(load_platform(shared / "data" / file)) == ROUTES[file]


@pytest.mark.parametrize("file", MISSING)
def test_first_missing_route_is_told_with_zone_and_line(shared: Path, file: str) -> None:
    platform = load_platform(shared / "data" / file, source=Path(file).name)
    with pytest.raises(InputError) as refusal:
        measured(platform, strict=True)
    assert str(refusal.value) == f"{Path(file).name}:{MISSING[file]}"


def test_hosts_without_a_written_route_are_told_for_these_files_and_no_others(shared: Path) -> None:
    found = {}
    for file in ROUTES:
        told: list[str] = []
        load_platform(shared / "data" / file, source=Path(file).name, notice=told.append)
        lines = [line for line in told if "no route is written" in line]
        if lines:
            found[file] = lines[0]
    assert found.keys() == GAPS.keys()
    for file, line in found.items():
        assert line.startswith(f"{Path(file).name}:{GAPS[file]}")


@pytest.mark.parametrize("file", REFUSED)
def test_file_that_is_no_usable_platform_is_refused_with_its_line(shared: Path, file: str) -> None:
    with pytest.raises(InputError) as refusal:
        load_platform(shared / "data" / file, source=Path(file).name)
    assert str(refusal.value).startswith(REFUSED[file])


# ------------------------------------------------------------------ facts of the specification


def names(network: Network, links: tuple[int, ...]) -> list[str]:
    return [network.links[link].name for link in links]


def test_cluster_without_loopback_crosses_its_own_link_and_the_backbone(shared: Path) -> None:
    network = network_of(load_platform(shared / "data" / EXAMPLES / "cluster512.xml"))
    route = network.route(0, 0)
    assert names(network, route.links) == [
        "my_cluster_1_link_0_UP",
        "my_cluster_1_backbone",
        "my_cluster_1_link_0_DOWN",
    ]
    assert route.latency == pytest.approx(600e-6)
    assert network.route(0, 511).latency == pytest.approx(600e-6)


def test_storage_of_the_cluster_is_reached_at_15_megabytes_per_second(shared: Path) -> None:
    platform = load_platform(shared / "data" / EXAMPLES / "cluster512_pfs.xml")
    network = network_of(platform)
    (pfs,) = platform.storage
    route = network.route(0, pfs.id)
    assert min(network.links[link].bandwidth for link in route.links) == 15e6
    # One flow of 1e7 bytes from a0 to pfs0 takes 0.668266667 s.
    assert route.latency + 1e7 / 15e6 == pytest.approx(0.668266667, abs=5e-10)


def test_solo_parallel_task_of_the_small_platform_follows_from_its_routes(shared: Path) -> None:
    network = network_of(load_platform(shared / "data" / EXAMPLES / "small_platform.xml"))
    pairs = [(a, b) for a in range(4) for b in range(4) if a != b]
    load: dict[int, float] = {}
    for pair in pairs:
        for link in network.route(*pair).links:
            load[link] = load.get(link, 0.0) + 1e6
    work = max(carried / network.links[link].bandwidth for link, carried in load.items())
    latency = max(network.route(*pair).latency for pair in pairs)
    assert latency + work == pytest.approx(0.835643929, abs=5e-10)
    loopback = network.links[network.route(2, 2).links[0]]
    assert (loopback.bandwidth, loopback.latency) == pytest.approx((498e6, 15e-6))
    assert not loopback.shared


def test_master_is_reached_by_name(shared: Path) -> None:
    # A control message costs the latency to the master, 15 us on this platform.
    from batpy.platforms.routing.network import ZoneNetwork

    platform = load_platform(shared / "data" / EXAMPLES / "small_platform.xml")
    network = platform.network
    assert isinstance(network, ZoneNetwork)
    assert platform.master is not None
    assert network.route_by_name(platform.master, platform.master).latency == pytest.approx(15e-6)


def test_platforms_without_a_network_cost_nothing(shared: Path) -> None:
    network = network_of(
        load_platform(shared / "data" / EXAMPLES / "energy_platform_homogeneous_no_net_128.xml")
    )
    assert all(
        (network.route(a, b).links, network.route(a, b).latency) == ((), 0.0) for a, b in ((0, 0), (3, 99))
    )


def test_cluster_of_ten_thousand_hosts_loads_in_two_seconds(tmp_path: Path) -> None:
    file = tmp_path / "large.xml"
    file.write_text(
        '<platform version="4.1"><cluster id="c" prefix="n" suffix="" radical="0-9999" speed="1Gf" '
        'bw="125MBps" lat="50us" bb_bw="2.25GBps" bb_lat="500us"/></platform>'
    )
    begin = time.process_time()
    network = network_of(load_platform(file))
    assert len(network.route(0, 9999).links) == 3
    assert time.process_time() - begin < 2.0
