"""The command itself: finding sub-commands, one line per error, exit codes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from batpy import __version__
from batpy.base.errors import InputError, PeerError
from batpy.cli import main as command
from batpy.cli.main import COMMANDS, main

Capture = pytest.CaptureFixture[str]


def raising(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def dispatch(_arguments: list[str]) -> int:
        raise error

    monkeypatch.setattr(command, "_dispatch", dispatch)


def only_error(capsys: Capture) -> str:
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (InputError("is wrong", source="a.swf", line=3), 2, "batpy: error: a.swf:3: is wrong\n"),
        (InputError("two\nlines"), 2, "batpy: error: two lines\n"),
        (PeerError("nobody answers"), 3, "batpy: error: nobody answers\n"),
        (KeyboardInterrupt(), 130, "batpy: error: interrupted\n"),
        (OSError(28, "No space left on device", "out/jobs.csv"), 2, "batpy: error: out/jobs.csv: No space"),
        (
            ZeroDivisionError("by zero"),
            70,
            "batpy: a bug in batpy: ZeroDivisionError: by zero; please",
        ),
    ],
)
def test_errors_are_one_line_and_an_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture, error: BaseException, code: int, said: str
) -> None:
    monkeypatch.delenv("BATPY_DEBUG", raising=False)
    raising(monkeypatch, error)
    assert main([]) == code
    assert only_error(capsys).startswith(said)


def test_bugs_show_their_traceback_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATPY_DEBUG", "1")
    raising(monkeypatch, ZeroDivisionError("by zero"))
    with pytest.raises(ZeroDivisionError):
        main([])


def test_help_names_every_command_and_version_tells_it(capsys: Capture) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(f"  {name} " in text for name in COMMANDS)
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"batpy {__version__}\n"
    assert main([]) == 2


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(capsys: Capture, name: str) -> None:
    assert main([name, "--help"]) == 0
    assert f"usage: batpy {name}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rum"], "batpy: error: rum: no such command; did you mean 'run'? (see batpy --help)\n"),
        (
            ["run"],
            "batpy: error: run: the following arguments are required: EXPERIMENT (see",
        ),
        (["run", "x", "--embeded"], "batpy: error: run: unrecognized arguments: --embeded (see"),
        (
            ["run", "x", "--embedded", "--processes"],
            "batpy: error: run: argument --processes: not allowed",
        ),
        (["run", "nowhere.toml"], "batpy: error: nowhere.toml: cannot be read: No such file or directory\n"),
        (
            ["simulate", "-p", "4", "-w", "x", "--codec", "xml"],
            "batpy: error: simulate: argument --codec: inv",
        ),
        (["simulate", "-p", "4"], "batpy: error: --workload: there must be at least one"),
        (
            ["simulate", "-p", "4", "-E", "-w", "sample:composed.json"],
            "batpy: error: --energy: needs a platform file whose hosts say what they draw",
        ),
        (
            ["simulate", "-p", "4", "-w", "x", "--mmax", "-1"],
            "batpy: error: --mmax: must be a whole number of at least 0, got -1",
        ),
        (
            ["simulate", "-p", "4", "-w", "x", "-r", "a"],
            "batpy: error: --add-role-to-hosts: want HOST,",
        ),
        (["simulate", "-p", "4", "-w", "x", "--swf", "a"], "batpy: error: --swf: want key=value, got 'a'"),
        (["simulate", "-p", "4", "-w", "x", "--sched-cfg-file", "no"], "batpy: error: no: cannot be read"),
        (["list", "planets"], "batpy: error: list: argument what: invalid choice: 'planets'"),
        (["scheduler", "fcfs", "--deadline", "0"], "batpy: error: scheduler: argument --deadline: must be"),
        (["audit", "nowhere"], "batpy: error: nowhere"),
    ],
)
def test_wrong_arguments_are_one_line_and_exit_2(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert only_error(capsys).startswith(said)


def test_module_runs_as_a_program() -> None:
    command = [sys.executable, "-P", "-m", "batpy", "--version"]
    shown = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (shown.returncode, shown.stdout, shown.stderr) == (0, f"batpy {__version__}\n", "")


def test_a_reader_that_has_gone_is_no_complaint() -> None:
    code = "import sys; from batpy.cli.main import main; sys.exit(main(['list', 'schedulers']))"
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    with process.stderr as stderr:
        assert stderr.read() == b""
    assert process.wait() == 141


def test_commands_that_are_not_asked_for_are_not_imported() -> None:
    code = "import sys; from batpy.cli.main import main; main(['list', 'platforms']); print(*sys.modules)"
    shown = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True
    ).stdout
    loaded = set(shown.splitlines()[-1].split())
    unwanted = {"rich", "zmq", "numpy", "networkx", "procset", "typer", "batpy.cli.compose", "defusedxml"}
    assert not loaded & unwanted


def test_the_help_tells_every_exit_code(capsys: Capture) -> None:
    assert main(["--help"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    for words in ("0 done", "2 bad input", "3 a process died", "70 a bug in batpy (BATPY_DEBUG=1", "130 "):
        assert words in told
