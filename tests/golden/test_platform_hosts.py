"""Every platform file of the inputs yields the hosts it describes, or is refused for its own fault."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from batpy.base.errors import InputError
from batpy.platforms.load import load_platform
from batpy.platforms.platform import Host, Platform

FOLDERS = ("batsim", "batsim-examples/platforms", "simgrid-examples", "bugs")
G5K = ("adonis-1.grenoble.grid5000.fr", "violette-9.toulouse.grid5000.fr")
GRAPHENE = ("graphene-1001.nancy.grid5000.fr", "graphene-1144.nancy.grid5000.fr")

# file -> compute hosts, storage hosts, master, first and last compute host
HOSTS = {
    "batsim/artcupelli-platform01.xml": (1, 0, "master_host", "host01", "host01"),
    "batsim/artcupelli-platform02.xml": (16, 0, "master_host0", "a0", "a9"),
    "batsim/batsimpy-cluster_1.xml": (64, 0, "master_host0", "host0", "host9"),
    "batsim/batsimpy-energy_com_hosts_2.xml": (2, 1, "master_host", "0", "1"),
    "batsim/batsimpy-energy_hosts_2.xml": (2, 0, "master_host", "0", "1"),
    "batsim/batsimpy-hosts_2.xml": (2, 0, "master_host", "0", "1"),
    "batsim/falafels-multiple-zones.xml": (16, 0, None, "Bel'Veth", "Zac"),
    "batsim/g5k-graphene.xml": (144, 0, None, *GRAPHENE),
    "batsim/gridgym-platform.xml": (48, 0, "master_host0", "host0", "host9"),
    "batsim/lanl-platform_1490.xml": (1490, 0, "master_host0", "a0", "a999"),
    "batsim/migcube-platform.xml": (1528, 0, None, *G5K),
    "batsim/nadeen-20machines.xml": (20, 0, "master_host", "node_0", "node_9"),
    "batsim/naikelin-fat_tree.xml": (16, 0, "master_host0", "c0", "c9"),
    "batsim/naikelin-small_platform.xml": (4, 0, "master_host", "Bourassa", "Jupiter"),
    "batsim/sdsrl-platform-8.xml": (8, 0, "master_host", "0", "7"),
    "batsim/tanaxer-three_multicore_hosts.xml": (3, 0, None, "PM0", "PM2"),
    "batsim/wrench-four_hosts_energy.xml": (4, 0, None, "CloudHost1", "WMSHost"),
    "batsim-examples/platforms/cluster512.xml": (512, 0, "master_host0", "a0", "a99"),
    "batsim-examples/platforms/cluster512_pfs.xml": (512, 1, "master_host0", "a0", "a99"),
    "batsim-examples/platforms/cluster_energy_128.xml": (128, 0, "master_host0", "host0", "host99"),
    "batsim-examples/platforms/cluster_locality_32x16.xml": (513, 0, None, "ada10", "prolog25"),
    "batsim-examples/platforms/cluster_locality_4x128.xml": (513, 0, None, "algol100", "master_host0"),
    "batsim-examples/platforms/cluster_locality_8x16.xml": (129, 0, None, "algol10", "master_host0"),
    "batsim-examples/platforms/cluster_locality_8x64.xml": (513, 0, None, "algol100", "master_host0"),
    "batsim-examples/platforms/energy_platform.xml": (4, 0, "master_host", "Earth", "Venus"),
    "batsim-examples/platforms/energy_platform_homogeneous.xml": (4, 0, "master_host", "Earth", "Venus"),
    "batsim-examples/platforms/energy_platform_homogeneous_no_net.xml": (
        *(7, 0, "master_host", "host0", "host6"),
    ),
    "batsim-examples/platforms/energy_platform_homogeneous_no_net_1.xml": (
        *(1, 0, "master_host", "host0", "host0"),
    ),
    "batsim-examples/platforms/energy_platform_homogeneous_no_net_128.xml": (
        *(128, 0, "master_host", "host0", "host99"),
    ),
    "batsim-examples/platforms/energy_platform_homogeneous_no_net_256.xml": (
        *(256, 0, "master_host", "host0", "host99"),
    ),
    "batsim-examples/platforms/energy_platform_homogeneous_no_net_512.xml": (
        *(512, 0, "master_host", "host0", "host99"),
    ),
    "batsim-examples/platforms/graphene.xml": (144, 0, None, *GRAPHENE),
    "batsim-examples/platforms/properties_example.xml": (7, 0, "master_host", "host1", "node-4.simgrid.org"),
    "batsim-examples/platforms/simple_coalloc_platform.xml": (34, 0, "master_host", "host0", "lcst_host"),
    "batsim-examples/platforms/small_platform.xml": (4, 0, "master_host", "Bourassa", "Jupiter"),
    "batsim-examples/platforms/small_platform_pfs0.xml": (5, 0, "master_host", "Bourassa", "hosts_pfs0"),
    "batsim-examples/platforms/small_platform_usage_replay.xml": (4, 0, "master_host", "a", "d"),
    "bugs/batsim51_platform.xml": (2, 0, "master_host", "h0", "h1"),
    "bugs/batsim62_two_core.xml": (1, 0, "master_host", "multicore", "multicore"),
    "simgrid-examples/cluster_and_one_host.xml": (3, 0, None, "c-0.me", "host1"),
    "simgrid-examples/cluster_backbone.xml": (100, 0, None, "node-0.simgrid.org", "node-99.simgrid.org"),
    "simgrid-examples/cluster_crossbar.xml": (65536, 0, None, "node-0.simgrid.org", "node-9999.simgrid.org"),
    "simgrid-examples/cluster_dragonfly.xml": (120, 0, None, "node-0.simgrid.org", "node-99.simgrid.org"),
    "simgrid-examples/cluster_fat_tree.xml": (16, 0, None, "node-0.simgrid.org", "node-9.simgrid.org"),
    "simgrid-examples/cluster_torus.xml": (12, 0, None, "node-0.simgrid.org", "node-9.simgrid.org"),
    "simgrid-examples/config.xml": (2, 0, None, "alice", "bob"),
    "simgrid-examples/crosstraffic.xml": (2, 0, None, "C1", "S1"),
    "simgrid-examples/dogbone.xml": (4, 0, None, "C1", "S2"),
    "simgrid-examples/energy_platform.xml": (3, 0, None, "MyHost1", "MyHost3"),
    "simgrid-examples/g5k.xml": (1528, 0, None, *G5K),
    "simgrid-examples/hosts_with_disks.xml": (3, 0, None, "alice", "carl"),
    "simgrid-examples/multicore_machine.xml": (1, 0, None, "Tremblay", "Tremblay"),
    "simgrid-examples/onelink.xml": (2, 0, None, "C1", "S1"),
    "simgrid-examples/prop.xml": (7, 0, None, "host1", "node-4.simgrid.org"),
    "simgrid-examples/ptask_L07.xml": (8, 0, None, "cpu0", "cpu7"),
    "simgrid-examples/small_platform.xml": (7, 0, None, "Boivin", "Tremblay"),
    "simgrid-examples/small_platform_fatpipe.xml": (4, 0, None, "Java", "Tremblay"),
    "simgrid-examples/small_platform_with_routers.xml": (5, 0, None, "Bourassa", "Tremblay"),
    "simgrid-examples/three_multicore_hosts.xml": (3, 0, None, "PM0", "PM2"),
    "simgrid-examples/two_peers.xml": (2, 0, None, "100030591", "100036570"),
}

REFUSED = {
    "batsim/fogedge-d_test_plat.xml": "fogedge-d_test_plat.xml:3: platform: a deployment file",
    "batsim/elastisim-crossbar.xml": "elastisim-crossbar.xml:6: host 'Batch_system': ",
}


def test_every_platform_of_the_inputs_is_covered(shared: Path) -> None:
    present = {
        file.relative_to(shared / "data").as_posix()
        for folder in FOLDERS
        for file in (shared / "data" / folder).glob("*.xml")
    }
    assert present == HOSTS.keys() | REFUSED.keys()


@pytest.mark.parametrize("file", HOSTS)
def test_platform_yields_its_hosts_in_batsims_order(shared: Path, file: str) -> None:
    platform = load_platform(shared / "data" / file)
    compute, storage, master, first, last = HOSTS[file]
    assert (len(platform.compute), len(platform.storage), platform.master) == (compute, storage, master)
    assert (platform.compute[0].name, platform.compute[-1].name) == (first, last)
    assert [host.id for host in platform.hosts] == list(range(compute + storage))
    names = [host.name for host in platform.compute]
    assert names == sorted(set(names))
    assert all("role" in host.properties and max(host.speeds) > 0 for host in platform.compute)


@pytest.mark.parametrize("file", REFUSED)
def test_file_that_is_no_usable_platform_is_refused_with_its_line(shared: Path, file: str) -> None:
    with pytest.raises(InputError) as refusal:
        load_platform(shared / "data" / file, source=Path(file).name)
    assert str(refusal.value).startswith(REFUSED[file])
    assert "\n" not in str(refusal.value)


def test_missing_master_is_told_with_the_likely_one(shared: Path) -> None:
    file, told = shared / "data/batsim-examples/platforms/cluster_locality_8x16.xml", list[str]()
    load_platform(file, source="c.xml", notice=told.append)
    assert len(told) == 1
    assert "'master_host0'" in told[0]
    told.clear()
    platform = load_platform(file, source="c.xml", master_host="master_host0", notice=told.append)
    assert (len(platform.compute), platform.master, told) == (128, "master_host0", [])


def test_role_option_makes_a_storage_host_numbered_after_compute(shared: Path) -> None:
    file = shared / "data/batsim-examples/platforms/small_platform_pfs0.xml"
    platform = load_platform(file, roles={"hosts_pfs0": "storage"})
    assert [host.name for host in platform.compute] == ["Bourassa", "Fafard", "Ginette", "Jupiter"]
    assert [(host.id, host.name, host.properties["role"]) for host in platform.storage] == [
        (4, "hosts_pfs0", "storage")
    ]


def test_pstates_units_and_versions_of_the_traps(shared: Path) -> None:
    data = shared / "data"
    version_3 = load_platform(data / "batsim/migcube-platform.xml")
    assert {host.name: host.speeds for host in version_3.compute}["adonis-1.grenoble.grid5000.fr"] == (
        23.681e9,
    )
    missing_unit = load_platform(data / "batsim/batsimpy-energy_hosts_2.xml").compute[0]
    assert missing_unit.speeds == (0.0, 1000010.0, 1.0001, 0.1001)
    assert missing_unit.pstate == 1
    dot_only = load_platform(data / "batsim/batsimpy-energy_com_hosts_2.xml").storage[0]
    assert (dot_only.id, dot_only.role, dot_only.speeds) == (2, "storage", (0.0,))
    words = load_platform(data / "batsim/g5k-graphene.xml").compute[0]
    assert words.speeds == (16.673e9,)
    two_core = load_platform(data / "bugs/batsim62_two_core.xml").compute[0]
    assert (two_core.cores, two_core.speeds) == (2, (1e9,))
    sleeping_first = load_platform(data / "batsim/sdsrl-platform-8.xml").compute[0]
    assert (sleeping_first.speeds[0], sleeping_first.pstate) == (0.0, 1)


def test_cluster_properties_reach_the_hosts_and_their_zone(shared: Path) -> None:
    hosts = by_name(load_platform(shared / "data/batsim-examples/platforms/properties_example.xml"))
    node, host = hosts["node-0.simgrid.org"], hosts["host1"]
    assert node.properties == {"zone_name": "acme cluster", "role": ""}
    assert node.zone_properties == {"Foo": "bar", "zone_name": "acme cluster"}
    assert host.properties == {"Hdd": "180", "mem": "4", "role": ""}
    assert host.zone_properties == {"Foo": "bar", "bla": "bli"}


@pytest.mark.parametrize(
    ("transcript", "file", "mmax"),
    [
        ("01_delays_pybatsim_easyBackfill", "small_platform.xml", 0),
        ("03_killmix_progress", "small_platform.xml", 0),
        ("13_walltime_pybatsim_easyBackfill", "cluster512.xml", 64),
    ],
)
def test_hosts_are_those_batsim_told_its_scheduler(
    shared: Path, transcript: str, file: str, mmax: int
) -> None:
    recorded = shared / "golden/batsim/transcripts" / f"{transcript}.jsonl"
    first_line = recorded.read_text().splitlines()[0]
    begins = json.loads(json.loads(first_line)["raw"])["events"][0]["data"]
    platform = load_platform(shared / "data/batsim-examples/platforms" / file, mmax=mmax)
    assert [wire(host) for host in platform.compute] == begins["compute_resources"]
    assert [wire(host) for host in platform.storage] == begins["storage_resources"]
    assert len(platform.hosts) == begins["nb_resources"]


def wire(host: Host) -> dict[str, object]:
    return {
        "id": host.id,
        "name": host.name,
        "state": "idle",
        "properties": dict(host.properties),
        "zone_properties": dict(host.zone_properties),
    }


def by_name(platform: Platform) -> dict[str, Host]:
    return {host.name: host for host in platform.hosts}
