"""Flags of Batsim's own command line that ``batpy simulate`` knows but does not need.

Scripts written for Batsim pass them; each is accepted with a note on what becomes of it, or refused with what
to do instead. Source: the help text of Batsim 4.2, and of 1.x and 2.x for the older ones.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any, NoReturn

from batpy._version import __version__
from batpy.base.errors import InputError

VERBOSITIES = ("quiet", "network-only", "information", "debug")

_LATER = "is not in this version"
_REFUSED: dict[tuple[str, ...], str] = {
    ("--no-sched", "--batexec"): f"{_LATER}; have a scheduler started: batpy scheduler filler",
    ("-W", "--workflow"): f"workflows are unsupported: this {_LATER}",
    ("--WS", "--workflow-start"): f"workflows are unsupported: this {_LATER}",
    ("--workflow-jobs-limit",): f"workflows are unsupported: this {_LATER}",
    ("--ignore-beyond-last-workflow",): f"workflows are unsupported: this {_LATER}",
    ("--enable-redis", "--redis-hostname", "--redis-port", "--redis-prefix"): (
        "Redis is unsupported; jobs and profiles travel in the messages "
        "(--forward-profiles-on-submission for the profiles)"
    ),
    ("--config-file",): (
        "unsupported; say what it says with --forward-profiles-on-submission, --enable-dynamic-jobs and "
        "--acknowledge-dynamic-jobs"
    ),
    ("--pfs-host", "--hpst-host"): "unsupported; say --add-role-to-hosts HOST:storage",
}
_NOTED: dict[tuple[str, ...], str] = {
    ("--disable-schedule-tracing",): "no Pajé trace is written, with or without it",
    ("--disable-machine-state-tracing",): "machine_states.csv is written all the same",
    ("--sg-cfg", "--sg-log"): "is for SimGrid and has no effect",
}


class _Refuse(argparse.Action):
    """Refuses its flag as soon as it is met, whatever else is missing."""

    def __call__(
        self,
        _parser: argparse.ArgumentParser,
        _namespace: argparse.Namespace,
        _values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> NoReturn:
        raise InputError(str(self.const), source=option_string)


class _Note(argparse.Action):
    """Keeps what is to be said about its flag."""

    def __call__(
        self,
        _parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        _values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        note = f"{option_string}: {self.const}"
        notes: list[str] = namespace.notes
        if note not in notes:
            namespace.notes = [*notes, note]


def add_batsim_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags; those without effect are left out of the help."""
    add = parser.add_argument
    add("-v", "--verbosity", choices=VERBOSITIES, default="information", help="as Batsim's; quiet is --quiet")
    add(
        "--dump-execution-context",
        action="store_true",
        help="print where the scheduler and the results are expected, as JSON, and leave",
    )
    add("--version", action="version", version=f"batpy {__version__}", help="tell the version, and leave")
    add(
        "--simgrid-version",
        action="version",
        version="none: batpy simulates by itself, without SimGrid",
        help="tell that there is no SimGrid, and leave",
    )
    add(
        "--allow-time-sharing",
        dest="compute_sharing",
        action="store_true",
        default=None,
        help=argparse.SUPPRESS,
    )
    parser.set_defaults(notes=[])
    for flags, reason in _REFUSED.items():
        add(
            *flags, action=_Refuse, nargs="*", const=reason, default=argparse.SUPPRESS, help=argparse.SUPPRESS
        )
    for flags, note in _NOTED.items():
        count = 1 if flags[0].startswith("--sg") else 0
        add(*flags, action=_Note, nargs=count, const=note, dest="notes", help=argparse.SUPPRESS)


def execution_context(endpoint: str, output: str) -> str:
    """What ``--dump-execution-context`` prints: Batsim's JSON object (robin reads it)."""
    context = {
        "socket_endpoint": endpoint,
        "redis_enabled": False,
        "redis_hostname": "127.0.0.1",
        "redis_port": 6379,
        "redis_prefix": "default",
        "export_prefix": output,
        "external_scheduler": True,
    }
    return json.dumps(context)
