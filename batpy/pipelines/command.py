"""A run from the command line: parameter file in, statistics and tables out."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from batpy.base.errors import EXIT_DONE, InputError
from batpy.base.files import read_toml
from batpy.cli.flags import simulation_flag, simulation_tree
from batpy.cli.overrides import apply_overrides
from batpy.pipelines.imports import import_users
from batpy.pipelines.report import report_lines
from batpy.pipelines.simulate import Outcome, simulate
from batpy.pipelines.tables import FILES, statistics_table, write_tables
from batpy.workloads.pipelines.parameters import COMPAT_KEY, ParameterFile, is_flat, read_parameters


@dataclass(frozen=True, slots=True)
class RunOrder:
    """What to run and where to put it.

    Attributes:
        source: what complaints call the parameters.
        table: the parameters, overrides applied.
        workload: a trace, or None for the generator.
        output: folder for the tables, or None for none.
        endpoint: of a scheduler behind the protocol, instead of the one that the parameters name.
        deadline_s: longest wait for one of its replies.
    """

    source: str
    table: Mapping[str, Any]
    workload: Path | None = None
    imports: Sequence[str] = ()
    output: Path | None = None
    overwrite: bool = True
    as_json: bool = False
    quiet: bool = False
    endpoint: str | None = None
    codec: str = "json"
    deadline_s: float = 60.0


def read_table(path: str, settings: Sequence[str] = (), compat: str | None = None) -> dict[str, Any]:
    """A parameter file with changes to it.

    Raises:
        InputError: it is no parameter file.
    """
    table = read_toml(path)
    apply_overrides(table, settings)
    if not is_flat(table):
        raise InputError("is no parameter file of pipelines: it has tables inside", source=path)
    if compat is not None:
        table[COMPAT_KEY] = compat
    return table


def run_order(order: RunOrder) -> int:
    """Run it and print its statistics; returns the exit code.

    Raises:
        InputError: what cannot be used.
    """
    import_users(order.imports)
    file = read_parameters(order.table, name=order.source)
    if order.output is not None:
        check_folder(order.output, overwrite=order.overwrite)
    if not order.quiet:
        _warn(file.unknown, order.source)
    outcome = _simulate(file, order)
    limit = file.parameters.max_job_seconds
    if order.output is not None:
        write_tables(order.output, outcome.run, outcome.statistics)
    if order.as_json:
        print(json.dumps(statistics_table(outcome.statistics, limit), indent=2))
    elif not order.quiet:
        for line in report_lines(outcome.statistics, limit):
            print(line)
        if order.output is not None:
            print(f"tables in {order.output}")
    return EXIT_DONE


def _simulate(file: ParameterFile, order: RunOrder) -> Outcome:
    if order.endpoint is None:
        return simulate(file, order.workload)
    from batpy.protocol.codec import make_codec
    from batpy.transport.zeromq import ZmqLink

    codec = make_codec(order.codec, file.parameters.ticks_per_second)
    with ZmqLink(order.endpoint, codec, order.deadline_s) as link:
        return simulate(file, order.workload, link=link)


def _warn(unknown: Sequence[str], source: str) -> None:
    import sys

    if unknown:
        print(f"batpy: warning: {source}: unknown keys: {', '.join(unknown)}", file=sys.stderr)


def check_folder(folder: Path, *, overwrite: bool) -> None:
    """Refuse a folder that holds anything but an earlier run of this kind.

    Raises:
        InputError: it does, or it is a file.
    """
    try:
        if not folder.exists():
            return
        if not folder.is_dir():
            raise InputError("is a file; the results need a folder", source=str(folder))
        names = {entry.name for entry in folder.iterdir()}
    except OSError as why:
        raise InputError(f"cannot be read: {why.strerror or why}", source=str(folder)) from None
    if names and (not overwrite or FILES[0] not in names):
        raise InputError("holds something; name another folder", source=str(folder))


def run_parameters(arguments: argparse.Namespace, path: str) -> int:
    """What ``batpy run`` does with a parameter file that lies at *path*.

    Raises:
        InputError: a flag that means nothing here, or what ``run_order`` refuses.
    """
    given = [simulation_flag(key) for key in simulation_tree(arguments)]
    given += [flag for flag in ("--processes", "--no-pin") if getattr(arguments, flag[2:].replace("-", "_"))]
    if given:
        told = f"is a parameter file of pipelines, and {given[0]} is for experiments"
        hint = "two processes: batpy pipelines serve, and batpy pipelines run --endpoint"
        raise InputError(f"{told} ({hint})", source=arguments.experiment)
    changed = read_table(path, arguments.settings, arguments.compat)
    if arguments.seed is not None:
        changed["random_seed"] = arguments.seed
    output = None if arguments.output is None else Path(arguments.output)
    return run_order(
        RunOrder(
            source=arguments.experiment,
            table=changed,
            workload=None if arguments.workload is None else Path(arguments.workload),
            imports=arguments.imports,
            output=output,
            overwrite=not arguments.no_overwrite,
            as_json=arguments.json,
            quiet=arguments.quiet,
        )
    )


def parameters_as_toml(table: Mapping[str, Any]) -> str:
    """A flat table as TOML."""
    from batpy.pipelines.starter import toml_value

    return "".join(f"{name} = {toml_value(value)}\n" for name, value in table.items())
