"""``batpy run``: an experiment file, in one process or in several."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Literal

from batpy.cli.flags import add_result_flags, add_simulation_flags, simulation_tree
from batpy.cli.parser import CommandParser

_EPILOG = """\
--set takes a value in TOML's syntax, or else as a text; an empty value takes the key away:
  batpy run exp.toml --set simulation.time_step=60 --set scheduler.easy.algorithm='easy[order=sjf]'
  batpy run exp.toml --set workload.0.file=log.swf.gz --set platform.hosts=256"""


def configure() -> CommandParser:
    """The arguments of the command."""
    parser = CommandParser("run", "Run an experiment file.", _EPILOG)
    parser.add_argument("experiment", metavar="EXPERIMENT", help="a TOML file, or sample:NAME")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--embedded", action="store_true", help="all in this process (default)")
    mode.add_argument(
        "--processes", action="store_true", help="simulator and scheduler as processes that talk over ZeroMQ"
    )
    parser.add_argument(
        "--set", dest="settings", action="append", default=[], metavar="KEY=VALUE", help="change one key"
    )
    parser.add_argument("--seed", type=int, help="seed of every random stream")
    parser.add_argument(
        "--no-pin", action="store_true", help="let the processes run on different cores (they take turns)"
    )
    add_simulation_flags(parser)
    add_result_flags(parser, "the experiment's output, or results/NAME", "-o")
    return parser


def execute(arguments: argparse.Namespace) -> int:
    """Run the experiment and print its summary."""
    from batpy.cli.experiment import load_experiment

    settings = list(arguments.settings)
    if arguments.seed is not None:
        settings.append(f"seed={arguments.seed}")
    config = load_experiment(arguments.experiment, settings, simulation=simulation_tree(arguments))

    output = (
        Path(arguments.output)
        if arguments.output is not None
        else config.output or Path("results", config.name)
    )
    mode: Literal["embedded", "processes"] = "processes" if arguments.processes else "embedded"

    from batpy.cli.report import run_and_report

    return run_and_report(config, arguments, output, mode=mode, pin=not arguments.no_pin)
