"""Platforms given as a number of hosts."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from batpy.base.errors import InputError
from batpy.platforms.builders import cluster, fat_tree, hosts, racks
from batpy.platforms.load import load_platform
from batpy.platforms.platform import Platform


@pytest.mark.parametrize("count", [1, 10, 11, 1000])
def test_ids_follow_the_lexicographic_order_of_names(count: int) -> None:
    platform = hosts(count)
    names = [host.name for host in platform.compute]
    assert names == sorted(names)
    assert [host.id for host in platform.compute] == list(range(count))
    assert (platform.source, platform.storage, platform.master) == (f"hosts={count}", (), None)


def test_quantities_are_those_asked_for_and_told_to_schedulers() -> None:
    (host,) = hosts(1, cores=4, memory=2**30, gpus=2, speed=5e9).compute
    assert (host.cores, host.memory, host.gpus, host.speeds) == (4, 2**30, 2, (5e9,))
    assert host.properties == {"role": "", "memory": str(2**30), "gpus": "2"}
    (plain,) = hosts(1).compute
    assert plain.properties == {"role": ""}


def test_mmax_limits_a_number_of_hosts() -> None:
    assert len(load_platform(128, mmax=64).compute) == 64
    assert len(load_platform(32, mmax=64).compute) == 32


@pytest.mark.parametrize(
    "wrong", [{"cores": 0}, {"gpus": -1}, {"memory": -1}, {"speed": 0.0}, {"speed": -1.0}]
)
def test_impossible_quantities_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match=r"^hosts=4: "):
        load_platform(4, **wrong)  # type: ignore[arg-type]


def test_impossible_counts_and_file_options_are_refused() -> None:
    with pytest.raises(InputError, match="at least one host"):
        load_platform(0)
    with pytest.raises(InputError, match="more than 1000000 hosts"):
        load_platform(10**12)
    with pytest.raises(InputError, match="only for platforms read from a file"):
        load_platform(4, master_host="a")


def test_a_number_of_hosts_needs_no_xml_reader() -> None:
    code = "import sys; from batpy.platforms.load import load_platform; load_platform(4); print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert not {"defusedxml", "xml.etree.ElementTree", "batpy.platforms.simgrid"} & set(loaded.split())


def crossed(platform: Platform, source: int, target: int) -> list[str]:
    assert platform.network is not None
    return [platform.network.links[link].name for link in platform.network.route(source, target).links]


def test_cluster_joins_its_hosts_over_links_and_a_backbone() -> None:
    platform = cluster(12, bandwidth=1e9, latency=1e-6, backbone=(5e9, 1e-3), cores=4)
    assert platform.network is not None
    assert crossed(platform, 2, 11) == ["host02_UP", "backbone", "host11_DOWN"]
    assert crossed(platform, 2, 2) == ["host02_UP", "backbone", "host02_DOWN"]
    assert platform.network.route(2, 11).latency == pytest.approx(1002e-6)
    assert (platform.source, platform.compute[0].cores) == ("cluster=12", 4)
    plain = cluster(3).network
    assert plain is not None
    assert len(plain.links) == 6


def test_fat_tree_is_the_one_a_file_describes(tmp_path: Path) -> None:
    file = tmp_path / "p.xml"
    file.write_text(
        '<platform version="4.1"><cluster id="c" prefix="n1" suffix="" radical="0-5" speed="1Gf" '
        'bw="125MBps" lat="50us" topology="FAT_TREE" topo_parameters="2;3,2;1,2;2,1"/></platform>'
    )
    built, read = fat_tree((3, 2), (1, 2), (2, 1)), load_platform(file)
    for source in range(6):
        for target in range(6):
            assert crossed(built, source, target) == crossed(read, source, target)


def test_racks_have_as_much_uplink_as_hosts_unless_told_otherwise() -> None:
    platform = racks(3, 4, bandwidth=1e9)
    assert platform.network is not None
    assert crossed(platform, 0, 3) == ["host_0_UP", "host_3_DOWN"]
    assert crossed(platform, 0, 11) == ["host_0_UP", "rack_0_UP", "rack_2_DOWN", "host_11_DOWN"]
    bandwidths = {link.name: link.bandwidth for link in platform.network.links}
    assert (bandwidths["host_5_UP"], bandwidths["rack_1_UP"]) == (1e9, 4e9)
    assert platform.source == "racks=3x4"


@pytest.mark.parametrize(
    "build",
    [
        lambda: cluster(0),
        lambda: cluster(4, bandwidth=0.0),
        lambda: cluster(4, latency=-1.0),
        lambda: cluster(4, backbone=(float("inf"), 0.0)),
        lambda: fat_tree((2, 2), (1,), (1, 1)),
        lambda: fat_tree((2, 0), (1, 1), (1, 1)),
        lambda: racks(0, 4),
        lambda: racks(2, 4, uplink=0.0),
    ],
)
def test_impossible_networks_are_refused(build: Callable[[], Platform]) -> None:
    with pytest.raises(ValueError, match=r"at least|above 0|one number"):
        build()
