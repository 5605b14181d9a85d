"""``batpy simulate``: its flags say the same as an experiment file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from batpy.cli.commands.simulate import configure, experiment_tree
from batpy.cli.experiment import from_tree, load_experiment


def tree(*arguments: str) -> dict[str, Any]:
    return experiment_tree(configure().parse_args(arguments))


def test_batsims_own_command_line_is_understood(tmp_path: Path) -> None:
    (tmp_path / "cfg").write_text("text")
    told = tree(
        *("-p", "p.xml", "-w", "a.json", "-w", "b=b.json", "-e", "out", "-s", "tcp://h:1"),
        *("-m", "boss", "-r", "x,y:storage", "-r", "z:master", "--mmax", "3", "--mmax-workload"),
        *("--events", "e.txt", "--events", "f.txt", "--forward-profiles-on-submission"),
        *("--enable-dynamic-jobs", "--acknowledge-dynamic-jobs", "--enable-profile-reuse"),
        *("--enable-compute-sharing", "--disable-storage-sharing", "--forward-unknown-events"),
        *("--sched-cfg-file", str(tmp_path / "cfg"), "--sg-cfg", "a:b", "--swf", "strict=true"),
    )
    assert told == {
        "platform": {
            "file": "p.xml",
            "master": "boss",
            "roles": {"x": "storage", "y": "storage", "z": "master"},
        },
        "simulation": {
            "mmax": 3,
            "mmax_workload": True,
            "events": ["e.txt", "f.txt"],
            "forward_profiles": True,
            "dynamic_jobs": True,
            "acknowledge_dynamic_jobs": True,
            "profile_reuse": True,
            "compute_sharing": True,
            "storage_sharing": False,
            "forward_unknown_events": True,
            "sched_config": "text",
        },
        "workload": [
            {"file": "a.json", "swf": {"strict": "true"}},
            {"id": "b", "file": "b.json", "swf": {"strict": "true"}},
        ],
        "scheduler": {"scheduler": {"endpoint": "tcp://h:1"}},
    }


def test_flags_left_out_say_nothing() -> None:
    assert tree("-p", "16", "-w", "a.swf") == {
        "platform": {"hosts": 16},
        "simulation": {},
        "workload": [{"file": "a.swf"}],
        "scheduler": {"scheduler": {"endpoint": "tcp://localhost:28000"}},
    }


@pytest.mark.parametrize("flag", ["-s", "--endpoint", "--socket-endpoint"])
def test_endpoint_has_three_names(flag: str) -> None:
    told = tree("-p", "1", "-w", "a", flag, "ipc://x")
    assert told["scheduler"]["scheduler"]["endpoint"] == "ipc://x"


def test_a_file_whose_name_has_an_equals_sign_is_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("load=0.9.swf").touch()
    assert tree("-p", "1", "-w", "load=0.9.swf")["workload"] == [{"file": "load=0.9.swf"}]


def test_a_folder_named_like_a_number_of_hosts_is_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("16").touch()
    assert tree("-p", "16", "-w", "a")["platform"] == {"file": "16"}


def test_flags_and_file_give_the_same_experiment(tmp_path: Path) -> None:
    flags = tree(
        *("-p", "4", "-w", "w0=a.swf", "--time-step", "60", "--lenient"),
        *("--codec", "msgpack", "--seed", "3"),
    )
    text = """
    seed = 3
    [platform]
    hosts = 4
    [simulation]
    time_step = 60
    strict = false
    codec = "msgpack"
    [[workload]]
    file = "a.swf"
    [scheduler.scheduler]
    endpoint = "tcp://localhost:28000"
    """
    (tmp_path / "x.toml").write_text(text)
    file = load_experiment("x.toml", cwd=tmp_path)
    assert from_tree(flags, source="x.toml", name="x", cwd=tmp_path) == file
