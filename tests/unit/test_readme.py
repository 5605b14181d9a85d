"""The README says what the code does: its figure is drawn from the code, its examples are run."""

from __future__ import annotations

import csv
import re
import shlex
from pathlib import Path

import pytest
from mini_simulator import MiniSimulator, Work

from batpy.cli.experiment import load_experiment
from batpy.cli.main import main
from batpy.protocol.conversation import figure
from batpy.protocol.hostset import to_text
from batpy.schedulers.closures import place_closures, read_closures
from batpy.schedulers.registry import make_scheduler

JOBS = "exponential[jobs=300,hosts=128,load=1.0,mean_run_time=100,overestimate=0]"
README = Path(__file__).resolve().parents[2] / "README.md"


def block(name: str) -> str:
    """The fenced text between two markers."""
    found = re.search(rf"<!-- {name} -->\n```\w*\n(.*?)```\n<!-- /{name} -->", README.read_text(), re.DOTALL)
    assert found is not None, f"the README has no block {name}"
    return found[1]


def test_figure_is_the_one_drawn_from_the_table() -> None:
    assert block("conversation").rstrip("\n") == figure(), (
        "paste what batpy.protocol.conversation.figure() says"
    )


def test_experiment_loads(tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text(block("experiment"))
    config = load_experiment("my.toml", cwd=tmp_path)
    assert config.schedulers["mine"].algorithm == "fcfs"
    workload = config.workloads[0].file
    assert workload is not None
    assert workload.path.is_file()


def test_swapping_the_scheduler_changes_one_line(tmp_path: Path) -> None:
    lines = block("swap").splitlines()
    [removed] = [line[1:] for line in lines if line.startswith("-")]
    [added] = [line[1:] for line in lines if line.startswith("+")]
    before = block("experiment")
    assert before.count(removed) == 1
    (tmp_path / "my.toml").write_text(before.replace(removed, added))
    scheduler = load_experiment("my.toml", cwd=tmp_path).schedulers["mine"]
    assert (scheduler.algorithm, scheduler.endpoint) == (None, "tcp://localhost:28000")


def test_its_policy_runs_its_experiment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my_policy.py").write_text(block("policy"))
    Path("my.toml").write_text(block("experiment"))
    [command] = re.findall(r"^    batpy (run .*my_policy.py.*)$", README.read_text(), re.MULTILINE)
    arguments = [*shlex.split(command), "--set", "workload.0.file=", "--set", f"workload.0.generator={JOBS}"]
    assert main([*arguments, "--quiet"]) == 0, capsys.readouterr().err
    assert main(["audit", "results/my"]) == 0
    with open("results/my/jobs.csv", newline="") as table:
        rows = list(csv.DictReader(table))
    assert {row["final_state"] for row in rows} == {"COMPLETED_SUCCESSFULLY"}
    wide = [row for row in rows if int(row["requested_number_of_resources"]) > 8]
    assert wide
    assert len(rows) == 300
    for row in wide:  # "those wider than the limit run alone": nobody else is there when one starts
        start = float(row["starting_time"])
        others = [(float(r["starting_time"]), float(r["finish_time"])) for r in rows if r is not row]
        assert not any(begin < start < end for begin, end in others)


def test_its_shared_park_loads_and_its_big_data_scheduler_is_swapped_by_one_line(tmp_path: Path) -> None:
    before = block("shared")
    [removed] = [line[1:] for line in block("swap-shared").splitlines() if line.startswith("-")]
    [added] = [line[1:] for line in block("swap-shared").splitlines() if line.startswith("+")]
    (tmp_path / "my.toml").write_text(before)
    config = load_experiment("my.toml", cwd=tmp_path)
    assert config.broker is not None
    assert config.broker.policy == "bebida[prolog=oar_yarn_2017]"
    assert [w.scheduler for w in config.workloads] == ["hpc", "bigdata"]
    assert before.count(removed) == 1
    (tmp_path / "my.toml").write_text(before.replace(removed, added))
    swapped = load_experiment("my.toml", cwd=tmp_path).schedulers
    assert swapped["hpc"] == config.schedulers["hpc"]
    assert (swapped["bigdata"].algorithm, swapped["bigdata"].endpoint) == (None, "tcp://localhost:28002")


@pytest.mark.parametrize("name", ["shared-bebida", "shared-pfs", "shared-static", "shared-priority"])
def test_the_shared_samples_run_and_pass_the_audit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert main(["run", f"sample:{name}", "--quiet", "-o", str(tmp_path / "out")]) == 0, capsys.readouterr()
    assert main(["audit", str(tmp_path / "out")]) == 0, capsys.readouterr()


def test_its_calendar_is_loaded_and_kept(tmp_path: Path) -> None:
    (tmp_path / "closed.toml").write_text(block("calendar"))
    requests = read_closures(tmp_path / "closed.toml")
    closures = place_closures(requests, ((0, 31),), 1, "closed.toml")
    assert [(c.start, c.end, to_text(c.hosts), c.label) for c in closures.after(0)] == [
        (3600, 7200, "28-31", "course"),
        (86400, 90000, "8-15 20", ""),
    ]
    for name in ("easy", "fcfs", "conservative", "filler"):
        assert f"`{name}" in README.read_text()
        core = make_scheduler(f"{name}[calendar=closed.toml]", base=tmp_path)
        outcome = MiniSimulator(core, 32, [Work("w0!1", 3000, 32, 600, 601)]).run()
        assert outcome.starts == {"w0!1": 7200}  # 3000 + 601 lies inside the reservation


def test_commands_and_flags_it_names_exist(capsys: pytest.CaptureFixture[str]) -> None:
    text = README.read_text()
    named = set(re.findall(r"^    batpy (\w+)|`batpy (\w+)", text, re.MULTILINE))
    commands = {first or second for first, second in named}
    assert {"run", "simulate", "scheduler", "workload", "list", "audit"} <= commands
    for command in commands:
        for line in re.findall(rf"^    batpy {command}\b.*", text, re.MULTILINE):
            words = line.split()[2:]
            inner = [words[0]] if command == "workload" else []
            assert main([command, *inner, "--help"]) == 0
            help_text = capsys.readouterr().out
            for flag in re.findall(r" (--?[a-z][a-z-]*)", line.partition("#")[0]):
                assert re.search(rf"(?<![\w-]){flag}(?![\w-])", help_text), f"{command} {inner} has no {flag}"


def test_flags_of_batsim_it_names_are_those_of_simulate(capsys: pytest.CaptureFixture[str]) -> None:
    [listed] = re.findall(
        r"knows Batsim's flags by their names \((.*?), \.\.\.\)", README.read_text(), re.DOTALL
    )
    flags = re.findall(r"`(-[^`]+)`", listed)
    assert len(flags) > 5
    assert main(["simulate", "--help"]) == 0
    help_text = capsys.readouterr().out
    assert [flag for flag in flags if f"{flag} " not in help_text] == []
