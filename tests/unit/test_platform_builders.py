"""Platforms given as a number of hosts."""

from __future__ import annotations

import subprocess
import sys

import pytest

from batpy.base.errors import InputError
from batpy.platforms.builders import hosts
from batpy.platforms.load import load_platform


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
    with pytest.raises(InputError, match="more than 10000000 hosts"):
        load_platform(10**12)
    with pytest.raises(InputError, match="only for platforms read from a file"):
        load_platform(4, master_host="a")


def test_a_number_of_hosts_needs_no_xml_reader() -> None:
    code = "import sys; from batpy.platforms.load import load_platform; load_platform(4); print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert not {"defusedxml", "xml.etree.ElementTree", "batpy.platforms.simgrid"} & set(loaded.split())
