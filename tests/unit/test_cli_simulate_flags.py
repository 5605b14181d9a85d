"""``batpy simulate``: its flags say the same as an experiment file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from batpy import __version__
from batpy.cli.commands.simulate import configure, experiment_tree
from batpy.cli.experiment import from_tree, load_experiment
from batpy.cli.main import main


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


@pytest.mark.parametrize("flag", ["-E", "--energy"])
def test_energy_has_two_names(flag: str) -> None:
    assert tree("-p", "1", "-w", "a", flag)["simulation"] == {"energy": True}


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


BASE = ("simulate", "-p", "4", "-w", "x")


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--no-sched",), "--no-sched: is not in this version; have a scheduler started"),
        (("--batexec",), "--batexec: is not in this version"),
        (("-W", "a.dax"), "-W: workflows are unsupported"),
        (("--WS", "a.dax", "3"), "--WS: workflows are unsupported"),
        (("--workflow-jobs-limit", "3"), "--workflow-jobs-limit: workflows are unsupported"),
        (("--ignore-beyond-last-workflow",), "--ignore-beyond-last-workflow: workflows are unsupported"),
        (("--enable-redis",), "--enable-redis: Redis is unsupported"),
        (("--redis-hostname", "h"), "--redis-hostname: Redis is unsupported"),
        (("--config-file", "c.json"), "--config-file: unsupported; say what it says with --forward-profiles"),
        (("--pfs-host", "h"), "--pfs-host: unsupported; say --add-role-to-hosts HOST:storage"),
        (("--time-step", "-1"), "--time-step: must be a number of seconds of at least 0, got -1.0"),
        (("--time-step", "1e-9"), "--time-step: is shorter than a tick"),
        (("--cores", "0"), "--cores: must be a whole number of at least 1, got 0"),
        (("--memory", "much"), "--memory: "),
        (("-m", "boss"), "--master-host: is only for platforms read from a file"),
        (("-r", "h:storage"), "--add-role-to-hosts: is only for platforms read from a file"),
        (("-w", "w0=y"), "--workload: there is already a workload 'w0'"),
        (("-w", "sample:no"), "--workload: 'sample:no': there is no sample"),
        (("-s", "nowhere"), "--endpoint: 'nowhere': "),
        (("--wants", "x"), "--wants: choose from "),
        (("--seed", "-1"), "--seed: must be a whole number of at least 0, got -1"),
        (("--swf", "max_job=1"), "--swf max_job: no such setting"),
        (("--resolution", "0"), "--resolution: must be a whole number of at least 1, got 0"),
    ],
)
def test_a_flag_that_cannot_be_used_is_named_as_a_flag(
    capsys: pytest.CaptureFixture[str], flags: tuple[str, ...], said: str
) -> None:
    assert main([*BASE, *flags]) == 2
    out, err = capsys.readouterr()
    assert err.startswith(f"batpy: error: {said}")
    assert (out, err.count("\n")) == ("", 1)


def test_a_flag_that_is_refused_needs_no_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--batexec"]) == 2
    assert capsys.readouterr().err.startswith("batpy: error: --batexec: is not in this version")


def test_flags_without_effect_are_accepted_and_noted_once() -> None:
    simgrid = ("--sg-cfg", "a:b", "--sg-cfg", "c:d", "--sg-log", "x")
    tracing = ("--disable-schedule-tracing", "--disable-machine-state-tracing")
    told = configure().parse_args([*BASE[1:], *simgrid, *tracing, "-v", "debug"])
    assert told.notes == [
        "--sg-cfg: is for SimGrid and has no effect",
        "--sg-log: is for SimGrid and has no effect",
        "--disable-schedule-tracing: no Paj\u00e9 trace is written, with or without it",
        "--disable-machine-state-tracing: machine_states.csv is written all the same",
    ]
    assert tree(*BASE[1:]) == experiment_tree(told)


def test_time_sharing_is_the_old_name_of_compute_sharing() -> None:
    assert tree(*BASE[1:], "--allow-time-sharing")["simulation"] == {"compute_sharing": True}


@pytest.mark.parametrize("flags", [("-q",), ("--quiet",), ("-v", "quiet")])
def test_quiet_says_nothing_but_the_error(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, flags: tuple[str, ...]
) -> None:
    nobody = ("-s", f"ipc://{tmp_path}/s", "--deadline", "0.05", "-e", str(tmp_path / "out"))
    assert main(["simulate", "-p", "4", "-w", "sample:composed.json", "--sg-cfg", "x", *nobody, *flags]) == 3
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)


def test_a_scheduler_that_never_came_is_named_by_its_endpoint_and_no_table_is_shown(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    output = tmp_path / "out"
    nobody = ("-s", f"ipc://{tmp_path}/s", "--deadline", "0.05", "--export", str(output))
    assert main(["simulate", "-p", "4", "-w", "sample:composed.json", *nobody]) == 3
    out, err = capsys.readouterr()
    assert out == f"results in {output}\n"
    error = f"batpy: error: the scheduler: nobody answered at ipc://{tmp_path}/s within 0.05 s"
    assert err.splitlines()[-1].startswith(error)


def test_versions_and_context_are_printed_instead_of_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--version"]) == 0
    assert capsys.readouterr().out == f"batpy {__version__}\n"
    assert main(["simulate", "--simgrid-version"]) == 0
    assert "without SimGrid" in capsys.readouterr().out
    assert main([*BASE, "-s", "tcp://h:1", "-e", "there", "--dump-execution-context"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "socket_endpoint": "tcp://h:1",
        "redis_enabled": False,
        "redis_hostname": "127.0.0.1",
        "redis_port": 6379,
        "redis_prefix": "default",
        "export_prefix": "there",
        "external_scheduler": True,
    }


def test_swf_options_are_for_the_logs_among_the_workloads() -> None:
    flags = ["-p", "4", "-w", "log.swf.gz", "-w", "b=apps.json", "--swf", "max_jobs=9"]
    tree = experiment_tree(configure().parse_args(flags))
    assert tree["workload"] == [
        {"file": "log.swf.gz", "swf": {"max_jobs": "9"}},
        {"id": "b", "file": "apps.json"},
    ]
