"""Clusters, racks and fat trees written in one line, in an experiment file and on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from batpy.base.errors import InputError
from batpy.cli.commands.simulate import configure, experiment_tree
from batpy.cli.experiment import from_tree, load_experiment
from batpy.cli.main import main
from batpy.platforms.blueprint import Blueprint, fat_tree_shape, rack_shape
from batpy.platforms.load import load_platform
from batpy.platforms.platform import Platform

GIGABIT = 125e6


def crossed(platform: Platform, a: int, b: int) -> list[tuple[float, float]]:
    """Bandwidth and latency of each link between two hosts."""
    assert platform.network is not None
    return [
        (platform.network.links[link].bandwidth, platform.network.links[link].latency)
        for link in platform.network.route(a, b).links
    ]


def test_each_kind_has_its_hosts_and_its_links() -> None:
    cluster = load_platform(Blueprint("cluster", "8", 1e9, 1e-3, 2e9, 5e-3), cores=2, speed=3e9)
    assert (len(cluster.compute), cluster.compute[0].cores, cluster.compute[7].speeds) == (8, 2, (3e9,))
    assert crossed(cluster, 0, 7) == [(1e9, 1e-3), (2e9, 5e-3), (1e9, 1e-3)]
    racks = load_platform(Blueprint("racks", "4x16", uplink=5e9))
    assert len(racks.compute) == 64
    assert [bandwidth for bandwidth, _ in crossed(racks, 0, 15)] == [GIGABIT] * 2
    assert [bandwidth for bandwidth, _ in crossed(racks, 0, 16)] == [GIGABIT, 5e9, 5e9, GIGABIT]
    tree = load_platform(Blueprint("fat_tree", "4,4;1,2;1,2"))
    assert len(tree.compute) == 16
    assert len(crossed(tree, 0, 3)) < len(crossed(tree, 0, 15))
    assert (cluster.source, racks.source, tree.source) == (
        "cluster=8",
        "racks=4x16",
        "fat_tree=2;4,4;1,2;1,2",
    )


def test_shapes_are_read_in_their_usual_spellings() -> None:
    assert rack_shape("4x16") == rack_shape(" 4 X 16 ") == (4, 16)
    expected = ([4, 4], [1, 2], [1, 2])
    for text in ("4,4;1,2;1,2", "2;4,4;1,2;1,2", "4x4;1x2;1x2", "4, 4 ; 1,2; 1,2"):
        assert fat_tree_shape(text) == expected


def test_the_first_hosts_are_kept_of_a_larger_platform() -> None:
    platform = load_platform(Blueprint("racks", "4x16"), mmax=20)
    assert [host.id for host in platform.compute] == list(range(20))
    assert len(crossed(platform, 0, 19)) == 4


@pytest.mark.parametrize(
    ("blueprint", "said"),
    [
        (Blueprint("racks", "4"), "racks=4: want RACKSxHOSTS, such as 4x16, got '4'"),
        (Blueprint("racks", "4x4", backbone=1e9), "racks=4x4: backbone is not for racks; it has bandwidth, "),
        (Blueprint("cluster", "4", backbone_latency=1.0), "cluster=4: backbone_latency needs a backbone"),
        (Blueprint("cluster", "4", bandwidth=0.0), "cluster=4: bandwidths must be above 0"),
        (Blueprint("fat_tree", "9999,9999;1,1;1,1"), "fat_tree=9999,9999;1,1;1,1: want from 1 to 1000000 "),
    ],
)
def test_what_cannot_be_built_is_told_in_one_line(blueprint: Blueprint, said: str) -> None:
    with pytest.raises(InputError) as refusal:
        load_platform(blueprint)
    assert str(refusal.value).startswith(said)
    assert "\n" not in str(refusal.value)


def platform_of(*flags: str) -> dict[str, Any]:
    arguments = configure().parse_args(["-w", "w.json", *flags])
    tree: dict[str, Any] = experiment_tree(arguments)["platform"]
    return tree


def test_the_flag_says_the_same_as_the_table() -> None:
    assert platform_of("-p", "128") == {"hosts": 128}
    assert platform_of("-p", "cluster[hosts=128, bandwidth=10Gbps]") == {
        "cluster": 128,
        "bandwidth": "10Gbps",
    }
    assert platform_of("-p", "racks[shape=4x16,cores=2]", "--gpus", "1") == {
        "racks": "4x16",
        "cores": 2,
        "gpus": 1,
    }
    assert platform_of("-p", "fat_tree[shape=4x4;1x2;1x2]")["fat_tree"] == "4x4;1x2;1x2"
    assert platform_of("-p", 'fat_tree[shape="4,4;1,2;1,2"]')["fat_tree"] == "4,4;1,2;1,2"
    assert platform_of("-p", "clusters.xml") == {"file": "clusters.xml"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cluster", "cluster[hosts=...]: the option 'hosts' is needed"),
        ("cluster[hosts=many]", "--platform cluster: must be a whole number of at least 1, got 'many'"),
        ("cluster[hosts=4,speeed=1Gf]", "--platform speeed: unknown key; did you mean 'speed'?"),
        ("cluster[hosts=4,uplink=1Gbps]", "--platform uplink: is only for platforms given as racks"),
        (
            "rack[shape=4x4]",
            "rack[shape=4x4]: no such kind of platform; choose from cluster, racks, fat_tree",
        ),
        ("racks[shape=4]", "--platform racks: want RACKSxHOSTS, such as 4x16, got '4'"),
        ("racks[shape=4x4", "'racks[shape=4x4': the options do not end with ']'"),
    ],
)
def test_a_malformed_flag_is_told_in_one_line(
    text: str, said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["simulate", "-p", text, "-w", "sample:composed.json", "-e", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.startswith(f"batpy: error: {said}")


def test_an_experiment_runs_on_racks_and_keeps_what_it_was_told(tmp_path: Path) -> None:
    profiles = {"p": {"type": "parallel_homogeneous", "cpu": 0, "com": 125e6}}
    jobs = [{"id": "0", "subtime": 0, "res": 2, "profile": "p"}]
    (tmp_path / "w.json").write_text(json.dumps({"nb_res": 4, "jobs": jobs, "profiles": profiles}))
    (tmp_path / "e.toml").write_text(
        'platform = { racks = "2x2", bandwidth = "1Gbps", latency = 0 }\n[[workload]]\nfile = "w.json"\n'
        '[scheduler.s]\nalgorithm = "fcfs"\n'
    )
    assert main(["run", str(tmp_path / "e.toml"), "--quiet", "--output", str(tmp_path / "out")]) == 0
    header, row = (tmp_path / "out/jobs.csv").read_text().splitlines()
    assert dict(zip(header.split(","), row.split(","), strict=True))["execution_time"] == "1.000000"
    told = json.loads((tmp_path / "out/experiment.json").read_text())["platform"]
    assert (told["racks"], told["bandwidth"], "cluster" in told) == ("2x2", 125e6, False)


def test_units_and_numbers_mean_the_same(tmp_path: Path) -> None:
    def source(**keys: Any) -> Any:
        tree = {
            "platform": {"cluster": 4, **keys},
            "workload": [{"generator": "uniform"}],
            "scheduler": {"s": {"algorithm": "fcfs"}},
        }
        return from_tree(tree, source="e", name="e", cwd=tmp_path).platform.source

    assert source(bandwidth="10Gbps", latency="1ms") == source(bandwidth=1.25e9, latency=1e-3)
    assert source() == Blueprint("cluster", "4")


def test_set_changes_the_kind_of_platform(tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(
        "platform.hosts = 4\n[[workload]]\ngenerator = 'x'\n[scheduler.s]\nalgorithm = 'fcfs'\n"
    )
    settings = ["platform.hosts=", "platform.racks=2x8"]
    config = load_experiment(str(tmp_path / "e.toml"), settings)
    assert config.platform.source == Blueprint("racks", "2x8")


def test_kinds_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "platforms"]) == 0
    text = capsys.readouterr().out
    for name in ("cluster[hosts=128", "racks[shape=4x16]", "fat_tree[shape=4x4;1x2;1x2]", "uplink=BANDWIDTH"):
        assert name in text
