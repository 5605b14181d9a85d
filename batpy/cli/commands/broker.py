"""``batpy broker``: several schedulers on one park, as a process of its own."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

from batpy.base.errors import EXIT_DONE
from batpy.cli.outcome import EXIT_INTERRUPTED
from batpy.cli.parser import CommandParser
from batpy.cli.tenancy import SWITCHES

DEFAULT_BIND = "tcp://127.0.0.1:28000"
_OUTPUT = (
    "where its journal goes; if that is batpy simulate's folder, the tables of a shared run are made there"
)
_EPILOG = """\
  batpy broker --scheduler hpc=tcp://127.0.0.1:28001 --scheduler bda=tcp://127.0.0.1:28002 \\
      --route w0=hpc --route w1=bda --policy bebida --dynamic-jobs bda --wants bda=sharing
The schedulers are served in the order given: the first has the highest rank.
batpy list policies tells which policies there are, and their options."""


def configure() -> CommandParser:
    """The arguments of the command."""
    parser = CommandParser("broker", "Let several schedulers share the park of one simulation.", _EPILOG)
    parser.add_argument(
        "--bind", default=DEFAULT_BIND, metavar="ENDPOINT", help=f"where to listen (default: {DEFAULT_BIND})"
    )
    parser.add_argument(
        "--scheduler", action="append", default=[], metavar="NAME=ENDPOINT", help="one that runs there"
    )
    parser.add_argument(
        "--route", action="append", default=[], metavar="WORKLOAD=NAME", help="whose jobs a workload's are"
    )
    parser.add_argument(
        "--policy", default="priority", metavar="NAME[key=value,...]", help="how to share (default: priority)"
    )
    parser.add_argument(
        "--wants", action="append", default=[], metavar="NAME=WORD+WORD",
        help="what a scheduler that cannot say HELLO wants: sharing, refusals, machine_events",
    )  # fmt: skip
    helps = {
        "dynamic_jobs": "it may register jobs",
        "acknowledge_dynamic_jobs": "it hears of the jobs that it registered",
        "profile_reuse": "profiles outlive the jobs that use them",
        "forward_profiles": "submissions carry the profile",
        "split_kill_ack": "a kill's answer names only jobs that were running (for pybatsim)",
        "droppable": "the run goes on without it when it fails",
    }
    for option in SWITCHES:
        parser.add_argument(
            f"--{option.replace('_', '-')}", action="append", default=[], metavar="NAME", help=helps[option]
        )
    parser.add_argument(
        "--strict", action="store_true",
        help="a scheduler has failed if the simulator refuses its decision; for batpy simulate --lenient",
    )  # fmt: skip
    parser.add_argument("--codec", choices=("json", "msgpack"), default="json", help="towards the schedulers")
    parser.add_argument("--float6", action="store_true", help="JSON numbers with six decimals, as Batsim's")
    parser.add_argument(
        "--deadline", type=seconds_or_ever, default=60.0, metavar="SECONDS",
        help="longest silence of a scheduler (default: 60; 0 for any)",
    )  # fmt: skip
    parser.add_argument("--output", "-o", type=Path, metavar="DIR", help=_OUTPUT)
    parser.add_argument("--quiet", "-q", action="store_true", help="do not tell where it listens")
    # For processes that batpy starts itself: end with it, and remove this folder if it cannot.
    parser.add_argument("--leash", type=Path, help=argparse.SUPPRESS)
    return parser


def seconds_or_ever(text: str) -> float:
    """A number of seconds, 0 for ever, for ``type=``."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"must be a number of seconds of at least 0, got {text!r}")
    return value


def execute(arguments: argparse.Namespace) -> int:
    """Serve until the simulation ends."""
    from batpy.cli.serve_broker import serve_broker

    if arguments.leash is not None:
        from batpy.cli.children import hold_leash

        hold_leash(arguments.leash)

    def ready(endpoint: str) -> None:
        if not arguments.quiet:
            print(f"batpy: the broker listens on {endpoint}", file=sys.stderr, flush=True)

    try:
        serve_broker(arguments, ready)
    except KeyboardInterrupt:
        if arguments.leash is None:
            raise
        return EXIT_INTERRUPTED  # who started us knows
    return EXIT_DONE
