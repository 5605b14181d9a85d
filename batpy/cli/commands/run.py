"""``batpy run``: an experiment file, in one process or in several."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Literal

from batpy.base.errors import InputError
from batpy.cli.flags import add_result_flags, add_simulation_flags, simulation_tree
from batpy.cli.parser import CommandParser

_EPILOG = """\
--set takes a value in TOML's syntax, or else as a text; an empty value takes the key away:
  batpy run exp.toml --set simulation.time_step=60 --set scheduler.easy.algorithm='easy[order=sjf]'
  batpy run exp.toml --set workload.0.file=log.swf.gz --set platform.hosts=256
Relative paths in the file start from its own folder, those in --set from the working folder, and so do all
those of an experiment.json."""
_EXPERIMENT = "a TOML file, sample:NAME, or the experiment.json of a run"


def configure() -> CommandParser:
    """The arguments of the command."""
    parser = CommandParser("run", "Run an experiment file.", _EPILOG)
    parser.add_argument("experiment", metavar="EXPERIMENT", help=_EXPERIMENT)
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
    add_pipeline_flags(parser)
    add_simulation_flags(parser)
    add_result_flags(parser, "the experiment's output, or results/NAME", "-o")
    return parser


def add_pipeline_flags(parser: CommandParser) -> None:
    """Add the flags of ``batpy pipelines run`` that Eudoxia's own command has."""
    group = parser.add_argument_group(
        "pipelines", "With a parameter file of Eudoxia instead of an experiment."
    )
    group.add_argument("-w", "--workload", metavar="TRACE.csv", help="a trace (default: generate one)")
    group.add_argument(
        *("-i", "--import"),
        dest="imports",
        action="append",
        default=[],
        metavar="MODULE",
        help="a file or module with policies of your own",
    )
    group.add_argument("--compat", choices=("eudoxia",), help="keep the original's faults")


def execute(arguments: argparse.Namespace) -> int:
    """Run the experiment and print its summary."""
    from batpy.cli.samples import EXPERIMENT_ENDING, locate
    from batpy.workloads.pipelines.parameters import is_parameter_path

    if is_parameter_path(located := str(locate(arguments.experiment, Path(), EXPERIMENT_ENDING))):
        from batpy.pipelines.command import run_parameters

        return run_parameters(arguments, located)
    if arguments.workload or arguments.imports or arguments.compat:
        told = "is an experiment; --workload, --import and --compat are for parameter files of pipelines"
        raise InputError(told, source=arguments.experiment)

    from batpy.cli.experiment import load_experiment
    from batpy.cli.places import check_inputs

    settings = list(arguments.settings)
    if arguments.seed is not None:
        settings.append(f"seed={arguments.seed}")
    config = load_experiment(arguments.experiment, settings, simulation=simulation_tree(arguments))
    check_inputs(config)

    output = (
        Path(arguments.output)
        if arguments.output is not None
        else config.output or Path("results", config.name)
    )
    mode: Literal["embedded", "processes"] = "processes" if arguments.processes else "embedded"

    from batpy.cli.report import run_and_report

    return run_and_report(config, arguments, output, mode=mode, pin=not arguments.no_pin)
