"""The README says what the code does: its figure is drawn from the code, its examples are run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from batpy.cli.experiment import load_experiment
from batpy.cli.main import main
from batpy.protocol.conversation import figure
from batpy.schedulers.registry import make_scheduler

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


def test_policy_of_a_users_file_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "my_policy.py").write_text(block("policy"))
    make_scheduler("my_policy.py:NarrowFirst[limit=8]", base=tmp_path)


def test_commands_and_flags_it_names_exist(capsys: pytest.CaptureFixture[str]) -> None:
    text = README.read_text()
    named = set(re.findall(r"^    batpy (\w+)|`batpy (\w+)", text, re.MULTILINE))
    commands = {first or second for first, second in named}
    assert {"run", "simulate", "scheduler", "workload", "list", "audit"} <= commands
    for command in commands:
        assert main([command, "--help"]) == 0
        help_text = capsys.readouterr().out
        for line in re.findall(rf"^    batpy {command} .*", text, re.MULTILINE):
            for flag in re.findall(r" (--?[a-z][a-z-]*)", line):
                assert flag in help_text or command == "workload", f"{command} has no {flag}"
