"""``batpy scheduler``: a scheduler as a process of its own."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from batpy.base.errors import EXIT_DONE
from batpy.cli.outcome import EXIT_INTERRUPTED
from batpy.cli.parser import CommandParser, positive_seconds

DEFAULT_BIND = "tcp://127.0.0.1:28000"
_EPILOG = """\
  batpy scheduler fcfs
  batpy scheduler 'easy[order=sjf]' --bind tcp://127.0.0.1:28001
  batpy scheduler './my_policy.py:NarrowFirst[limit=8]'
batpy list schedulers tells which there are, and their options."""


def configure() -> CommandParser:
    """The arguments of the command."""
    parser = CommandParser("scheduler", "Serve a scheduler to one simulation, then leave.", _EPILOG)
    parser.add_argument("spec", metavar="ALGORITHM[key=value,...]", help="its name, or FILE.py:CLASS")
    parser.add_argument(
        "--bind", default=DEFAULT_BIND, metavar="ENDPOINT", help=f"where to listen (default: {DEFAULT_BIND})"
    )
    parser.add_argument(
        "--deadline",
        type=positive_seconds,
        metavar="SECONDS",
        help="longest silence of the simulator (default: any)",
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="do not tell where it listens")
    # For processes that batpy starts itself: end with it, and remove this folder if it cannot.
    parser.add_argument("--leash", type=Path, help=argparse.SUPPRESS)
    return parser


def execute(arguments: argparse.Namespace) -> int:
    """Serve until the simulation ends."""
    from batpy.cli.compose import serve_scheduler
    from batpy.cli.places import told_at
    from batpy.transport.endpoint import check_endpoint

    with told_at("--bind"):
        check_endpoint(arguments.bind, bind=True)
    if arguments.leash is not None:
        from batpy.cli.children import hold_leash

        hold_leash(arguments.leash)

    def ready(endpoint: str) -> None:
        if not arguments.quiet:
            print(f"batpy: {arguments.spec} listens on {endpoint}", file=sys.stderr, flush=True)

    try:
        serve_scheduler(arguments.spec, bind=arguments.bind, deadline=arguments.deadline, ready=ready)
    except KeyboardInterrupt:
        if arguments.leash is None:
            raise
        return EXIT_INTERRUPTED  # who started us knows
    return EXIT_DONE
