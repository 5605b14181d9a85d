"""``batpy simulate``: the platform process alone, for a scheduler that runs elsewhere."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import Any

from batpy.base.errors import EXIT_DONE, InputError
from batpy.base.plugins import parse_spec
from batpy.cli.batsim_flags import add_batsim_flags, execution_context
from batpy.cli.config import NAMELESS
from batpy.cli.flags import add_result_flags, add_simulation_flags, simulation_flag, simulation_tree
from batpy.cli.parser import CommandParser, pairs
from batpy.platforms.blueprint import KINDS

DEFAULT_ENDPOINT = "tcp://localhost:28000"
DEFAULT_OUTPUT = "results/simulate"
SOURCE = "simulate"  # where complaints say the experiment stands, until the flag is known
_PLATFORM_HELP = (
    "SimGrid XML file, number of hosts, or a kind such as cluster[hosts=128] (batpy list platforms)"
)
_NAMED = re.compile(r"([A-Za-z0-9_.-]+)=(.+)", re.DOTALL)


def configure() -> CommandParser:
    """The arguments of the command: ours, and Batsim 4's own under its names."""
    parser = CommandParser("simulate", "Simulate a platform for a scheduler that already runs.")
    add = parser.add_argument
    add("-p", "--platform", required=True, metavar="FILE|N|KIND[...]", help=_PLATFORM_HELP)
    add(
        *("-w", "--workload"),
        action="append",
        default=[],
        metavar="[ID=]FILE",
        help="SWF or Batsim JSON workload, or [ID=]sample:NAME; may be repeated",
    )
    add(
        *("-s", "--endpoint", "--socket-endpoint"),
        default=DEFAULT_ENDPOINT,
        metavar="ENDPOINT",
        help=f"where the scheduler listens (default: {DEFAULT_ENDPOINT})",
    )
    add("-m", "--master-host", metavar="NAME", help="the master, if no host has that role")
    add("-r", "--add-role-to-hosts", action="append", default=[], metavar="H1,H2:ROLE", help="roles of hosts")
    add("--cores", type=int, help="cores of a host")
    add("--memory", help="memory of a host, such as 64GiB")
    add("--gpus", type=int, help="GPUs of a host")
    add("--swf", action="append", default=[], metavar="KEY=VALUE", help="option of the SWF reader")
    add(
        "--wants",
        action="append",
        metavar="EXTENSION",
        help="protocol extension the scheduler cannot ask for",
    )
    add("--compat", choices=("pybatsim",), help="the scheduler is built on pybatsim")
    add("--seed", type=int, help="seed of every random stream")
    add_simulation_flags(parser)
    add_batsim_flags(parser)
    add_result_flags(parser, DEFAULT_OUTPUT, "-e", "--export")
    return parser


def execute(arguments: argparse.Namespace) -> int:
    """Simulate to the end and print the summary."""
    output = arguments.output or DEFAULT_OUTPUT
    if arguments.dump_execution_context:
        print(execution_context(arguments.endpoint, output))
        return EXIT_DONE
    if arguments.verbosity == "quiet":
        arguments.quiet = True
    if not arguments.quiet:
        for note in arguments.notes:
            print(f"batpy: note: {note}", file=sys.stderr)

    from batpy.cli.experiment import from_tree
    from batpy.cli.places import check_inputs

    tree = experiment_tree(arguments)
    try:
        config = from_tree(tree, source=SOURCE, name="simulate", cwd=Path.cwd())
        check_inputs(config)
    except InputError as why:
        flag = _flag_of(why.path or "") if why.source == SOURCE else None
        if flag is None:
            raise
        raise InputError(why.problem, source=flag) from None

    from batpy.cli.report import run_and_report

    return run_and_report(config, arguments, Path(output), mode="processes")


# Where keys of an experiment come from, if not from a flag of their name.
_FLAGS = {
    "platform.hosts": "--platform",
    "platform.file": "--platform",
    "platform.master": "--master-host",
    "platform.roles": "--add-role-to-hosts",
    "platform.cores": "--cores",
    "platform.memory": "--memory",
    "platform.gpus": "--gpus",
    "workload.id": "--workload",
    "workload.file": "--workload",
}


def _flag_of(path: str) -> str | None:
    """The flag that the key at *path* of the experiment was made from; None for the experiment itself."""
    table, _, key = re.sub(r"\[\d+\]", "", path).partition(".")
    if table == "scheduler":
        key = key.partition(".")[2]
    name, _, inner = key.partition(".")
    if name == "swf":
        return f"--swf {inner}".rstrip()
    known = _FLAGS.get(f"{table}.{name}")
    if table == "platform" and known is None:
        return f"--platform {name}".rstrip()
    return known or simulation_flag(name or table)


def experiment_tree(arguments: argparse.Namespace) -> dict[str, Any]:
    """The experiment that the flags describe, in the words of an experiment file.

    Raises:
        InputError: a role, a workload or an SWF option that is not written as it should be, or no workload.
    """
    swf = pairs(arguments.swf, "--swf")
    tree: dict[str, Any] = {
        "platform": _platform(arguments),
        "simulation": simulation_tree(arguments),
        "workload": _workloads(arguments.workload, swf),
        "scheduler": {NAMELESS: _scheduler(arguments)},
    }
    if not tree["workload"] and not arguments.dynamic_jobs:
        problem = (
            "there must be at least one, unless the scheduler registers the jobs (--enable-dynamic-jobs)"
        )
        raise InputError(problem, source="--workload")
    if arguments.seed is not None:
        tree["seed"] = arguments.seed
    return tree


def _platform(arguments: argparse.Namespace) -> dict[str, Any]:
    what: str = arguments.platform
    told = {
        "master": arguments.master_host,
        "cores": arguments.cores,
        "memory": arguments.memory,
        "gpus": arguments.gpus,
        "roles": _roles(arguments.add_role_to_hosts) or None,
    }
    return _platform_text(what) | {key: value for key, value in told.items() if value is not None}


def _platform_text(what: str) -> dict[str, Any]:
    """The keys of ``[platform]`` that the text of the flag stands for."""
    if Path(what).exists():
        return {"file": what}
    if what.isascii() and what.isdigit():
        return {"hosts": int(what)}
    kind = what.partition("[")[0].strip()
    shape = KINDS.get(kind)
    if shape is None:
        if re.fullmatch(r"\w+\[.*\]", what):
            raise InputError(f"no such kind of platform; choose from {', '.join(KINDS)}", source=what)
        return {"file": what}
    name, options = parse_spec(what)
    if shape not in options:
        raise InputError(f"the option {shape!r} is needed", source=f"{name}[{shape}=...]")
    numbers = (shape, "cores", "gpus") if kind == "cluster" else ("cores", "gpus")
    told: dict[str, Any] = {}
    for key, value in options.items():
        digits = key in numbers and value.isascii() and value.isdigit()
        told[kind if key == shape else key] = int(value) if digits else value
    return told


def _roles(texts: list[str]) -> dict[str, str]:
    roles: dict[str, str] = {}
    for text in texts:
        hosts, colon, role = text.rpartition(":")
        if not colon or not hosts or not role:
            raise InputError(f"want HOST,HOST:ROLE, got {text!r}", source="--add-role-to-hosts")
        for host in hosts.split(","):
            if host in roles:
                raise InputError(f"host {host!r} is given two roles", source="--add-role-to-hosts")
            roles[host] = role
    return roles


def _workloads(texts: list[str], swf: dict[str, str]) -> list[dict[str, Any]]:
    told = [_workload(text) for text in texts]
    # Beside logs there may be workloads of Batsim's; without a log, the options are refused.
    logs = [one for one in told if not one["file"].endswith((".json", ".json.gz"))]
    for one in (logs or told) if swf else ():
        one["swf"] = swf
    return told


def _workload(text: str) -> dict[str, Any]:
    named = _NAMED.fullmatch(text)
    # A file whose own name has an equals sign is still a file.
    told: dict[str, Any] = {"file": text}
    if named is not None and not Path(text).exists():
        told = {"id": named[1], "file": named[2]}
    return told


def _scheduler(arguments: argparse.Namespace) -> dict[str, Any]:
    told = {"endpoint": arguments.endpoint, "wants": arguments.wants, "compat": arguments.compat}
    return {key: value for key, value in told.items() if value is not None}
