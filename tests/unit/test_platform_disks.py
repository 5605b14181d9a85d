"""Disks of SimGrid files, in the newer and the older notation."""

from __future__ import annotations

from pathlib import Path

import pytest

from batpy.base.errors import InputError
from batpy.platforms.disks import Disk
from batpy.platforms.load import load_platform
from batpy.platforms.platform import Platform

TYPE = """<storage_type id="hdd" size="500GiB" content="files.txt">
    <model_prop id="Bwrite" value="30MBps"/><model_prop id="Bread" value="100MBps"/>
    <prop id="kind" value="spinning"/>
</storage_type>"""


def read(folder: Path, inside: str, version: str = "4.1") -> tuple[Platform, list[str]]:
    notices: list[str] = []
    path = folder / "p.xml"
    path.write_text(
        f'<platform version="{version}"><zone id="z" routing="Full">\n{inside}\n</zone></platform>'
    )
    return load_platform(path, source="p.xml", notice=notices.append), notices


def disks(folder: Path, inside: str, version: str = "4.1") -> dict[str, tuple[Disk, ...]]:
    return {host.name: host.disks for host in read(folder, inside, version)[0].hosts}


def test_a_disk_has_bandwidths_capacity_mount_and_properties(tmp_path: Path) -> None:
    [disk] = disks(
        tmp_path,
        '<host id="a" speed="1f"><disk id="d" read_bw="100MBps" write_bw="40Mbps">'
        '<prop id="size" value="500GiB"/><prop id="mount" value="/scratch"/><prop id="x" value="y"/>'
        "</disk></host>",
    )["a"]
    assert disk == Disk(
        "d", 100e6, 5e6, 500 * 2**30, "/scratch", {"size": "500GiB", "mount": "/scratch", "x": "y"}
    )


def test_hosts_without_disks_have_none_and_every_host_of_a_cluster_has_its_own(tmp_path: Path) -> None:
    found = disks(
        tmp_path,
        '<host id="a" speed="1f"/>'
        '<cluster id="c" prefix="n" suffix="" radical="0-1" speed="1f" bw="1" lat="0">'
        '<disk id="d" read_bw="2" write_bw="1"/></cluster>',
    )
    disk = Disk("d", 2.0, 1.0)
    assert found == {"a": (), "n0": (disk,), "n1": (disk,)}


def test_a_size_that_is_none_is_told_and_stays_a_property(tmp_path: Path) -> None:
    platform, notices = read(
        tmp_path,
        '<host id="a" speed="1f"><disk id="d" read_bw="2" write_bw="1">'
        '<prop id="size" value="big"/></disk></host>',
    )
    [disk] = platform.hosts[0].disks
    assert (disk.capacity, disk.properties) == (None, {"size": "big"})
    assert notices[0].startswith("p.xml:2: disk 'd': property size 'big' is not a number with a unit")


@pytest.mark.parametrize("version", ["3", "4", "4.1"])
def test_an_older_storage_is_a_disk_of_the_host_it_is_attached_to(tmp_path: Path, version: str) -> None:
    found = disks(
        tmp_path,
        f'<storage id="s" typeId="hdd" attach="b"><prop id="kind" value="old"/></storage>{TYPE}'
        '<host id="a" speed="1f"><mount storageId="s" name="/far"/></host>'
        '<host id="b" speed="1f"><mount storageId="s" name="/near"/></host>',
        version,
    )
    properties = {"content": "files.txt", "kind": "old"}
    assert found == {"a": (), "b": (Disk("s", 100e6, 30e6, 500 * 2**30, "/near", properties),)}


def test_the_oldest_notation_puts_figures_in_properties_and_disks_where_they_are_mounted(
    tmp_path: Path,
) -> None:
    found = disks(
        tmp_path,
        '<storage_type id="ssd" model="SSD" size="500"><prop id="Bread" value="200"/>'
        '<prop id="Bwrite" value="100"/></storage_type>'
        '<storage id="s" typeId="ssd"/><host id="a" power="1"><mount id="s" name="c:"/></host>',
        "3",
    )
    properties = {"model": "SSD", "Bread": "200", "Bwrite": "100"}
    assert found == {"a": (Disk("s", 200.0, 100.0, 500, "c:", properties),)}


def test_a_storage_may_be_attached_to_a_host_of_a_cluster(tmp_path: Path) -> None:
    found = disks(
        tmp_path,
        f'{TYPE}<storage id="s" typeId="hdd" attach="n1"/>'
        '<cluster id="c" prefix="n" suffix="" radical="0-1" speed="1f" bw="1" lat="0"/>',
    )
    assert [len(found[name]) for name in ("n0", "n1")] == [0, 1]


HOST = '<host id="a" speed="1f"/>'
BAD = [
    (
        '<host id="a" speed="1f">\n<disk id="d" write_bw="1"/></host>',
        "p.xml:3: disk 'd': needs the attribute read_bw",
    ),
    (
        '<host id="a" speed="1f"><disk id="d" read_bw="1" write_bw="0"/></host>',
        "p.xml:2: disk 'd': write_bw '0' must be above 0",
    ),
    (
        '<host id="a" speed="1f"><disk id="d" read_bw="1 parsec" write_bw="1"/></host>',
        "p.xml:2: disk 'd': read_bw '1 parsec' has the unknown unit 'parsec'",
    ),
    (
        '<host id="a" speed="1f"><disk id="d" read_bw="1" write_bw="1"/>\n'
        '<disk id="d" read_bw="1" write_bw="1"/></host>',
        "p.xml:3: disk 'd': host 'a' already has a disk of this name",
    ),
    (
        f'{HOST}<storage id="s" typeId="no" attach="a"/>',
        "p.xml:2: storage 's': there is no storage_type 'no'",
    ),
    (
        f'{HOST}{TYPE}<storage id="s" typeId="hdd" attach="b"/>',
        "p.xml:5: storage 's': there is no host 'b' to attach it to",
    ),
    (f'{HOST}{TYPE}<storage id="s" typeId="hdd"/>', "p.xml:5: storage 's': needs the attribute attach"),
    (
        f"{HOST}{TYPE}\n{TYPE}",
        "p.xml:6: storage_type 'hdd': there is already a storage_type 'hdd', of line 2",
    ),
    (
        '<host id="a" speed="1f">\n<mount storageId="s" name="/x"/></host>',
        "p.xml:3: mount: there is no storage 's' to mount",
    ),
    (
        f'{HOST}<storage_type id="t" size="1"><model_prop id="Bread" value="1"/></storage_type>',
        "p.xml:2: storage_type 't': needs a model_prop Bwrite",
    ),
    (
        f'{HOST}<storage_type id="t" size="x"><model_prop id="Bread" value="1"/>'
        '<model_prop id="Bwrite" value="1"/></storage_type>',
        "p.xml:2: storage_type 't': size 'x' is not a number with a unit",
    ),
]


@pytest.mark.parametrize(("inside", "said"), BAD)
def test_malformed_disks_are_refused_with_line_and_element(tmp_path: Path, inside: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, inside)
    assert str(caught.value).startswith(said)


def test_disks_of_the_examples(shared: Path) -> None:
    data = shared / "data"
    platform = load_platform(data / "simgrid-examples/hosts_with_disks.xml")
    assert {
        host.name: [(d.name, d.read_bandwidth, d.write_bandwidth) for d in host.disks]
        for host in platform.hosts
    } == {
        "alice": [("Disk1", 200e6, 80e6)],
        "bob": [("Disk1", 100e6, 40e6), ("Disk2", 200e6, 80e6)],
        "carl": [],
    }
    bob = platform.hosts[1].disks[0]
    assert (bob.capacity, bob.mount) == (500 * 2**30, "/scratch")
    wrench = load_platform(data / "batsim/wrench-four_hosts_energy.xml")
    [disk] = next(host for host in wrench.hosts if host.name == "WMSHost").disks
    assert (disk.name, disk.capacity, disk.mount) == ("hard_drive", 5000 * 2**30, "/")
