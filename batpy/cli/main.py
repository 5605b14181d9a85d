"""The ``batpy`` command: finds the sub-command, turns errors into one line and an exit code.

A sub-command is a module that is imported only when it is used. It offers ``configure() -> CommandParser``
and ``execute(arguments) -> int``.
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol, cast

from batpy._version import __version__
from batpy.base.errors import EXIT_BAD_INPUT, EXIT_DONE, BatpyError, InputError, one_line
from batpy.cli.interrupts import ignore_polite_kills, interrupt_on_polite_kills
from batpy.cli.outcome import EXIT_INTERRUPTED

EXIT_BUG = 70  # EX_SOFTWARE of sysexits.h
EXIT_BROKEN_PIPE = 141  # as a shell reports a process ended by SIGPIPE

# name -> module, one line
COMMANDS = {
    "run": ("batpy.cli.commands.run", "run an experiment file"),
    "simulate": ("batpy.cli.commands.simulate", "simulate a platform for a scheduler that already runs"),
    "scheduler": ("batpy.cli.commands.scheduler", "serve one of our schedulers, or your own, to a simulator"),
    "broker": ("batpy.cli.commands.broker", "let several schedulers share the park of one simulation"),
    "worker": ("batpy.cli.commands.worker", "emulate GPUs for ML serving, in real time"),
    "list": ("batpy.cli.commands.listing", "list schedulers, platforms, workloads or generators"),
    "workload": ("batpy.cli.commands.workload", "describe, convert or generate workloads"),
    "pipelines": ("batpy.cli.commands.pipelines", "simulate data pipelines in containers, and their tools"),
    "study": ("batpy.cli.commands.study", "repeat a published experiment and compare"),
    "audit": ("batpy.cli.commands.audit", "check the journal of a run again"),
}


class Command(Protocol):
    """What the module of a sub-command offers."""

    configure: Callable[[], argparse.ArgumentParser]
    execute: Callable[[argparse.Namespace], int]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: the arguments after ``batpy``; those of the process if None.

    Returns:
        0 done, 2 bad input or a breach of the protocol, 3 a process died or timed out, 70 a bug of ours,
        130 interrupted.
    """
    if argv is None:
        _prepare_process()
    try:
        code = _dispatch(list(sys.argv[1:] if argv is None else argv))
    except BatpyError as error:
        code = _complain(f"error: {one_line(error)}", error.exit_code)
    except KeyboardInterrupt:
        if argv is None:
            ignore_polite_kills()  # all that is left is to leave
        code = _complain("error: interrupted", EXIT_INTERRUPTED)
    except BrokenPipeError:
        code = EXIT_BROKEN_PIPE
    except SystemExit as leave:  # --help
        code = leave.code if isinstance(leave.code, int) else EXIT_DONE
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        code = _complain(f"error: {one_line(f'{place}{error.strerror or error}')}", EXIT_BAD_INPUT)
    except MemoryError:
        code = _complain("error: not enough memory", EXIT_BAD_INPUT)
    except BaseException as error:
        if os.environ.get("BATPY_DEBUG") == "1":
            raise
        name = type(error).__name__
        told = f"a bug in batpy: {name}: {one_line(error)}"
        code = _complain(f"{told}; please report it with what BATPY_DEBUG=1 shows", EXIT_BUG)
    if argv is None and code == EXIT_INTERRUPTED:
        ignore_polite_kills()
    return _flushed(code)


def _prepare_process() -> None:
    """Make standard streams and signals what the rest of the program expects."""
    interrupt_on_polite_kills()
    # A stream that is closed would leave its number to the first file that is opened.
    while (handle := os.open(os.devnull, os.O_RDWR)) < 3:
        os.set_inheritable(handle, True)
    os.close(handle)
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115 - as long as the process
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A name the terminal's encoding does not have must not end a run that is over.
        sys.stdout.reconfigure(errors="backslashreplace")


def _flushed(code: int) -> int:
    """Write out what was printed; the exit code that is right then."""
    try:
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # Whoever read our output has gone.
        _silence_stdout()
        return EXIT_BROKEN_PIPE
    except OSError as error:
        _silence_stdout()
        return _complain(f"error: standard output: {error.strerror or error}", code or EXIT_BAD_INPUT)


def _silence_stdout() -> None:
    """Python would complain once more while it shuts down."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _dispatch(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(_usage())
        return EXIT_DONE if arguments else EXIT_BAD_INPUT
    name = arguments[0]
    if name == "--version":
        print(f"batpy {__version__}")
        return EXIT_DONE
    if name not in COMMANDS:
        from batpy.cli.tables import closest

        raise InputError(f"no such command{closest(name, list(COMMANDS))} (see batpy --help)", source=name)
    command = cast(Command, importlib.import_module(COMMANDS[name][0]))
    return command.execute(command.configure().parse_args(arguments[1:]))


def _usage() -> str:
    lines = [f"  {name:<10} {meaning}" for name, (_, meaning) in COMMANDS.items()]
    return "\n".join(
        [
            "usage: batpy COMMAND ...",
            "",
            "Simulate how a machine park runs its jobs under a scheduler.",
            "",
            *lines,
            "",
            "batpy COMMAND --help says more; batpy --version tells the version.",
            "Exit codes: 0 done, 2 bad input or protocol breach, 3 a process died or timed out,",
            "70 a bug in batpy (BATPY_DEBUG=1 in the environment shows where), 130 interrupted.",
        ]
    )


def _complain(text: str, code: int) -> int:
    with suppress(OSError):  # then nobody can be told
        print(f"batpy: {text}", file=sys.stderr, flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
