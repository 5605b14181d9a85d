"""Complaints name the key of the experiment, or the flag, that led to what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from batpy.cli.config import SimulationConfig
from batpy.cli.experiment import load_experiment
from batpy.cli.main import main
from batpy.simulator.config import SimulatorConfig

ROW = "1 1 0 5 2 -1 -1 2 20 -1 1 1 1 1 1 1 -1 -1\n"
EXPERIMENT = """
[platform]
hosts = 4
[[workload]]
file = "log.swf"
[scheduler.mine]
algorithm = "fcfs"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.swf").write_text(ROW)
    (tmp_path / "my.toml").write_text(EXPERIMENT)
    (tmp_path / "mine.py").write_text(
        "from dataclasses import dataclass\n"
        "@dataclass(frozen=True)\n"
        "class Narrow:\n"
        "    limit: int = 4\n"
        "    def decide(self, view):\n"
        "        return None\n"
    )
    return tmp_path


def complaint(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 2
    return capsys.readouterr().err.removeprefix("batpy: error: ").rstrip("\n")


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (["scheduler.mine.algorithm=eazy"], "my.toml: scheduler.mine.algorithm: eazy: no such scheduler"),
        (
            ["scheduler.mine.algorithm=mine.py:Narrow[limit=x]"],
            "my.toml: scheduler.mine.algorithm: mine.py:Narrow[limit=x]: must be a whole number, got 'x'",
        ),
        (
            ["workload.0.file=", "workload.0.generator=lublin[jobs=x]"],
            "my.toml: workload[0].generator: lublin[jobs=x]: must be a whole number, got 'x'",
        ),
        (["broker.policy=nobody"], "my.toml: broker.policy: nobody: no such sharing policy"),
        (["workload.0.file=c.swf"], "my.toml: workload[0].file: c.swf: cannot be read: No such file"),
        (
            ["platform.hosts=", "platform.file=c.xml"],
            "my.toml: platform.file: c.xml: cannot be read: No such file",
        ),
        (["platform.hosts=", "platform.file=log.swf"], "my.toml: platform.file: log.swf: is no platform"),
        (
            ["simulation.energy=true"],
            "my.toml: simulation.energy: needs a platform file whose hosts say what they draw",
        ),
        (["workload.0.file=sample:kth-sp2"], "my.toml: workload[0].file: 'sample:kth-sp2': there is no"),
        (['simulation.events=["e.txt"]'], "my.toml: simulation.events: e.txt: cannot be read: No such file"),
    ],
)
def test_an_experiment_names_the_key(
    folder: Path, capsys: pytest.CaptureFixture[str], settings: list[str], told: str
) -> None:
    flags = [word for setting in settings for word in ("--set", setting)]
    assert complaint(capsys, "run", "my.toml", "-o", "out", *flags).startswith(told)
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["run", "my.toml", "--warm-up", "x"], "--warm-up: 'x' is neither seconds nor"),
        (["run", "my.toml", "--cool-down", "-1"], "--cool-down: '-1' is neither seconds nor"),
        (
            ["run", "my.toml", "--warm-up", "60%", "--cool-down", "60%"],
            "--warm-up, --cool-down: warm-up and cool-down leave out every job",
        ),
        (["scheduler", "fcfs", "--bind", "here"], "--bind: here: an endpoint is tcp://HOST:PORT"),
        (["workload", "describe", "log.swf", "--swf", "foo=1"], "--swf foo: no such setting"),
        (["simulate", "-p", "4", "-w", "c.swf"], "--workload: c.swf: cannot be read: No such file"),
        (["simulate", "-p", "c.xml", "-w", "log.swf"], "--platform: c.xml: cannot be read: No such file"),
        (["simulate", "-p", "4", "-w", "log.swf", "--events", "e"], "--events: e: cannot be read: No such"),
    ],
)
def test_flags_are_named(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    assert complaint(capsys, *arguments).startswith(told)


def test_samples_are_offered_where_they_will_do(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = complaint(capsys, "run", "my.toml", "--set", "workload.0.file=sample:no")
    assert "sample:kth-sp2-5000.swf.gz" in told
    assert not any(word in told for word in (".toml)", ".xml", ".txt"))
    told = complaint(capsys, "run", "my.toml", "--set", "platform.hosts=", "--set", "platform.file=sample:no")
    assert told.endswith("(there are: sample:energy-4.xml, sample:shared-pfs.xml)")
    assert "sample:kth-sp2, sample:serving-clockwork, " in complaint(capsys, "run", "sample:no")


def test_an_unknown_key_is_told_with_each_known_one_once(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = complaint(capsys, "run", "my.toml", "--set", "platform.memory=1GiB", "--set", "platform.host=3")
    known = told.partition("(known: ")[2].rstrip(")").split(", ")
    assert len(known) == len(set(known)) > 5


@pytest.mark.parametrize(
    ("name", "content", "looks"),
    [
        ("log.swf", ROW, "it looks like an SWF log"),
        ("log.txt", "; Version: 2.2\n" + ROW, "it looks like an SWF log"),
        ("w.json", '{"nb_res": 1, "jobs": [], "profiles": {}}', "it looks like a Batsim workload"),
        ("w.txt", '{"nb_res": 1, "jobs": [], "profiles": {}}', "it looks like a Batsim workload"),
        ("p.xml", "<platform/>", "it looks like XML"),
        ("e.txt", '{"timestamp": 1, "type": "x"}\n', "it looks like a file of external events"),
    ],
)
def test_a_file_that_is_no_experiment_is_told_with_what_it_looks_like(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, content: str, looks: str
) -> None:
    (folder / name).write_text(content)
    told = complaint(capsys, "run", name)
    assert told.startswith(f"{name}: is no experiment, {looks}")
    assert "TOML" in told


@pytest.mark.parametrize("content", ["{", "[]", "[" * 100000])
def test_a_json_file_that_is_no_experiment_is_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    (folder / "x.json").write_text(content)
    assert complaint(capsys, "run", "x.json").startswith("x.json: ")


def test_what_a_run_kept_runs_again_and_gives_the_same(folder: Path) -> None:
    assert main(["run", "my.toml", "-q", "-o", "a", "--seed", "3"]) == 0
    assert main(["run", "a/experiment.json", "-q", "-o", "b"]) == 0
    for name in ("journal.msgpack", "jobs.csv", "summary.json"):
        assert (folder / "a" / name).read_bytes() == (folder / "b" / name).read_bytes()


def test_the_screen_names_scheduler_hosts_and_what_is_too_wide(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "log.swf").write_text(ROW + ROW.replace("1 1 0 5 2 -1 -1 2", "2 2 0 5 8 -1 -1 8"))
    assert main(["run", "my.toml", "-o", "a", "--set", "scheduler.mine.algorithm=easy[order=sjf]"]) == 0
    told, notes = capsys.readouterr()
    rows = dict(line.split(None, 1) for line in told.splitlines() if len(line.split()) > 1)
    assert (rows["scheduler"], rows["hosts"]) == ("easy[order=sjf]", "4")
    assert "note: workload w0: 1 of its 2 jobs ask for more than the 4 hosts" in notes


def test_a_run_that_finished_nothing_has_no_makespan(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "log.swf").write_text(ROW.replace("1 1 0 5 2 -1 -1 2", "1 1 0 5 8 -1 -1 8"))
    assert main(["run", "my.toml", "-o", "a"]) == 0
    [line] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("makespan")]
    assert line.split() == ["makespan", "-"]


@pytest.mark.parametrize("command", ["run", "simulate", "scheduler", "audit"])
def test_quiet_has_a_short_name(capsys: pytest.CaptureFixture[str], command: str) -> None:
    assert main([command, "--help"]) == 0
    assert "-q, --quiet" in capsys.readouterr().out


def test_the_help_of_run_tells_where_paths_start(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--help"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "Relative paths in the file start from its own folder, those in --set from the working" in told


def test_what_an_experiment_leaves_out_is_what_the_simulator_does_by_itself(folder: Path) -> None:
    config, alone = SimulationConfig(), SimulatorConfig()
    assert load_experiment("my.toml").simulation == config
    both = set(SimulationConfig.__struct_fields__) & set(SimulatorConfig.__struct_fields__)
    assert {"strict", "storage_sharing", "latency", "energy"} <= both
    assert {name for name in both if (getattr(config, name) or False) != getattr(alone, name)} <= {
        "sched_config"  # an empty text
    }
    assert (config.sched_config, config.resolution) == (alone.sched_config, alone.ticks_per_second)
