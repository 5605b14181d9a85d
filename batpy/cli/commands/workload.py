"""``batpy workload``: look at workloads, change their format, make new ones, import logs."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from batpy.base.errors import EXIT_DONE, InputError
from batpy.cli.commands import workload_calibrate, workload_import, workload_predict, workload_replay
from batpy.cli.parser import CommandParser, pairs

if TYPE_CHECKING:
    from batpy.workloads.job import Workload

# As in an experiment with one workload that has no name, so that both generate the same jobs.
WORKLOAD_ID = "w0"
_GENERATE = """\
  batpy workload generate 'lublin[jobs=1000]' jobs.json --seed 7
batpy list generators tells which there are, and their options. The same generator as the first workload of an
experiment of the same seed gives the same jobs."""


def configure() -> CommandParser:
    """The arguments of the command."""
    parser = CommandParser("workload", "Describe, convert, generate or import workloads.")
    inner = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    _configure_describe(inner.add_parser("describe", help="counts, load, sizes, run times, anomalies"))
    _configure_convert(inner.add_parser("convert", help="SWF to Batsim's JSON, or back"))
    generate = inner.add_parser("generate", help="make a synthetic workload", epilog=_GENERATE)
    generate.add_argument("spec", metavar="GENERATOR[key=value,...]", help="what to generate")
    _add_output(generate)
    generate.add_argument("--seed", type=int, default=0, help="seed of the random numbers (default: 0)")
    workload_import.configure(
        inner.add_parser("import", help="logs of Spark, Hadoop and workflows into a stage graph or jobs")
    )
    workload_replay.configure(
        inner.add_parser("replay", help="how well job models tell the times of recorded applications")
    )
    workload_calibrate.configure(
        inner.add_parser("calibrate", help="parameters of job models from recorded applications")
    )
    workload_predict.configure(
        inner.add_parser("predict", help="times of recorded applications on other platforms")
    )
    return parser


def execute(arguments: argparse.Namespace) -> int:
    """Do what was asked for."""
    actions = {
        "describe": _describe,
        "convert": _convert,
        "generate": _generate,
        "import": workload_import.execute,
        "replay": workload_replay.execute,
        "calibrate": workload_calibrate.execute,
        "predict": workload_predict.execute,
    }
    actions[arguments.action](arguments)
    return EXIT_DONE


def _configure_describe(parser: argparse.ArgumentParser) -> None:
    _add_input(parser)
    parser.add_argument(
        "--hosts", type=int, help="hosts to compute the load for (default: the workload's own)"
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def _configure_convert(parser: argparse.ArgumentParser) -> None:
    _add_input(parser)
    _add_output(parser)


def _add_input(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="SWF or Batsim JSON workload, or sample:NAME")
    parser.add_argument(
        "--swf", action="append", default=[], metavar="KEY=VALUE", help="option of the SWF reader"
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "output", metavar="OUT", help="file to write: .swf or .json, perhaps with .gz after it"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace OUT if it exists")
    parser.add_argument(
        "--run-time",
        choices=("exact", "walltime"),
        default="exact",
        help="SWF: refuse jobs whose run time only a simulation tells (default), or take their walltime",
    )


def _read(arguments: argparse.Namespace) -> Workload:
    from batpy.workloads.load import load_workload

    swf = pairs(arguments.swf, "--swf")
    try:
        return load_workload(_input(arguments), WORKLOAD_ID, source=arguments.file, swf=swf, swf_path="--swf")
    except InputError as why:
        if not (why.path or "").startswith("--swf."):
            raise
        raise InputError(why.problem, source=(why.path or "").replace(".", " ", 1)) from None


def _input(arguments: argparse.Namespace) -> Path:
    from batpy.cli.samples import WORKLOAD_ENDINGS, locate

    return locate(arguments.file, Path.cwd(), *WORKLOAD_ENDINGS)


def _describe(arguments: argparse.Namespace) -> None:
    from batpy.workloads.describe import describe

    if arguments.hosts is not None and arguments.hosts < 1:
        raise InputError(f"must be at least 1, got {arguments.hosts}", source="--hosts")
    description = describe(_read(arguments), nb_res=arguments.hosts)
    if arguments.json:
        print(json.dumps(description.to_json(), indent=2))
        return
    rows = description.to_rows()
    width = max(len(label) for label, _ in rows)
    for label, value in rows:
        print(f"{label:<{width}}  {value}")


def _convert(arguments: argparse.Namespace) -> None:
    from batpy.workloads.convert import format_of, write_workload

    format_of(arguments.output)
    output = Path(arguments.output)
    if output.exists() and output.samefile(_input(arguments)):
        raise InputError("would overwrite the workload that is read; name another file", source=str(output))
    _check_output(arguments)
    workload = _read(arguments)
    note = f"converted from {Path(arguments.file).name}"
    write_workload(workload, output, run_time=arguments.run_time, note=note)
    _tell(workload, output)


def _generate(arguments: argparse.Namespace) -> None:
    from batpy.kernel.streams import stream
    from batpy.workloads.convert import format_of, write_workload
    from batpy.workloads.generators import generate

    format_of(arguments.output)
    _check_output(arguments)
    if arguments.seed < 0:
        raise InputError(f"must be at least 0, got {arguments.seed}", source="--seed")
    workload = generate(arguments.spec, stream(arguments.seed, "workload", WORKLOAD_ID), WORKLOAD_ID)
    output = Path(arguments.output)
    note = f"generated by {arguments.spec}, seed {arguments.seed}"
    write_workload(workload, output, run_time=arguments.run_time, note=note)
    _tell(workload, output)


def _check_output(arguments: argparse.Namespace) -> None:
    if Path(arguments.output).exists() and not arguments.overwrite:
        raise InputError("exists; name another file, or say --overwrite", source=arguments.output)


def _tell(workload: Workload, output: Path) -> None:
    for line in workload.report():
        print(line)
    print(f"{len(workload)} jobs written to {output}")
