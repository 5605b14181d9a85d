"""``batpy workload calibrate``: parameters of the job models from recorded applications."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from batpy.base.errors import InputError
from batpy.cli.parser import not_empty

if TYPE_CHECKING:
    from batpy.workloads.stages.calibration_form import Calibration
    from batpy.workloads.stages.graph import Application
    from batpy.workloads.stages.roofline import Bandwidth, Figures

_EXPLAINED = """\
  batpy workload calibrate spark-logs/*.zstd -o calibration.json
  batpy workload calibrate logs/ --read-bandwidth 2e9/all --network-bandwidth 1.25e9 -o calibration.json
  batpy workload predict calibration.json application.zstd --executors 40
Bandwidths are those of microbenchmarks, in bytes per second of each slot, each host (the default) or the
whole park (/slot, /host, /all); those that are not given are taken from the logs: what the fastest tenth of
the stages got while it waited for data.
Errors are relative. Stages: mean of the absolute errors of stages of more than a second that had their
slots for themselves. Makespan: from the application's own amounts. Profile: from the stage times of another
run of the application."""
BANDWIDTHS = (
    ("read", "read-bandwidth", "of the storage that input is read from"),
    ("write", "write-bandwidth", "of the storage that output is written to"),
    ("net", "network-bandwidth", "of the network, for shuffled data"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the action."""
    parser.epilog = _EXPLAINED
    add = parser.add_argument
    add("files", nargs="+", type=not_empty, metavar="LOG", help="Spark event logs, other logs, or graphs")
    add("-o", "--output", type=not_empty, metavar="OUT", help="file to write: .json or .json.gz")
    add("--overwrite", action="store_true", help="replace OUT if it exists")
    add("--json", action="store_true", help="print the calibration as JSON")
    add_figures(parser, "1e9")


def add_figures(parser: argparse.ArgumentParser, speed: str | None) -> None:
    """Add the flags that tell what a platform can do."""
    default = f"default: {speed}" if speed else "default: as calibrated"
    parser.add_argument("--speed", metavar="FLOPS", help=f"flops per second of a slot ({default})")
    default = "default: from the logs" if speed else "default: as calibrated"
    for _, flag, meaning in BANDWIDTHS:
        parser.add_argument(f"--{flag}", metavar="BYTES[/slot|/host|/all]", help=f"{meaning} ({default})")


def execute(arguments: argparse.Namespace) -> None:
    """Do what was asked for.

    Raises:
        InputError: a bad option, no log that can be used, or an output that cannot be written.
    """
    from batpy.models.dag.predicted import makespan_error, transfer_error
    from batpy.workloads.stages.calibration import Given, calibrate, hash_logs
    from batpy.workloads.stages.calibration_form import calibration_json, write_calibration
    from batpy.workloads.stages.calibration_rows import runs_of
    from batpy.workloads.stages.tally import Tally

    output = None if arguments.output is None else check_output(arguments.output, arguments)
    given = Given(speed=speed_of(arguments, 1e9), **bandwidths_of(arguments))
    used, applications, lines = read_logs(arguments.files)
    tally = Tally()
    runs = runs_of(applications, tally)
    source = arguments.files[0]
    found = calibrate(runs, given, makespan_error, transfer_error, hash_logs(used), source=source)
    lines += tally.report()
    if output is not None:
        write_calibration(found, output)
        lines.append(f"calibration written to {output}")
    # Whoever reads JSON gets nothing else on standard output.
    for line in lines:
        print(line, file=sys.stderr if arguments.json else sys.stdout)
    if arguments.json:
        print(calibration_json(found).decode(), end="")
    else:
        _show(found)


def check_output(written: str, arguments: argparse.Namespace) -> Path:
    """The file to write.

    Raises:
        InputError: no JSON, or it exists and may not be replaced.
    """
    output = Path(written)
    if not output.name.lower().removesuffix(".gz").endswith(".json"):
        raise InputError("the name must end in .json or .json.gz", source=written)
    if output.exists():
        if not arguments.overwrite:
            raise InputError("exists; name another file, or say --overwrite", source=written)
        if any(Path(file).exists() and output.samefile(file) for file in arguments.files):
            raise InputError("would overwrite a file that is read; name another", source=written)
    return output


def speed_of(arguments: argparse.Namespace, default: float) -> float:
    """The speed that was given.

    Raises:
        InputError: no number above 0.
    """
    from batpy.workloads.stages.roofline import MOST

    if arguments.speed is None:
        return default
    try:
        speed = float(arguments.speed)
    except ValueError:
        speed = 0.0
    if not 1 <= speed <= MOST:
        raise InputError(f"must be flops per second from 1 on, got {arguments.speed!r}", source="--speed")
    return speed


def bandwidths_of(arguments: argparse.Namespace) -> dict[str, Bandwidth]:
    """The bandwidths that were given, by resource.

    Raises:
        InputError: one is none.
    """
    from batpy.workloads.stages.roofline import Bandwidth

    found = {}
    for name, flag, _ in BANDWIDTHS:
        text = getattr(arguments, flag.replace("-", "_"))
        if text is not None:
            try:
                found[name] = Bandwidth.parse(text)
            except InputError as why:
                raise InputError(why.problem, source=f"--{flag}") from None
    return found


def read_logs(files: Sequence[str]) -> tuple[list[str], list[Application], list[str]]:
    """The files that can be used, their applications, and a line for each that cannot, or flaw.

    Raises:
        InputError: none can be used.
    """
    from batpy.workloads.stages.importing import ImportOptions, import_graph

    options = ImportOptions(keep_tasks=True)
    used, left_out = list(files), list[str]()
    try:
        imported = import_graph(used, None, options)
    except InputError as problem:
        first = problem
    else:
        return used, list(imported.graph.applications), imported.report()
    used = []
    for file in files:
        try:
            import_graph([file], None, options)
        except InputError as why:
            left_out.append(f"left out: {why}")
        else:
            used.append(file)
    if not used or len(used) == len(files):
        raise first
    imported = import_graph(used, None, options)
    return used, list(imported.graph.applications), [*left_out, *imported.report()]


def print_table(rows: Iterable[Sequence[str]], left: int = 1) -> None:
    """Print rows of cells, the first columns, so many, to the left, the others to the right."""
    table = [list(row) for row in rows]
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    for row in table:
        cells = [
            cell.ljust(width) if column < left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())


def percent(error: float | None, *, signed: bool = True) -> str:
    """A relative error in percent."""
    if error is None:
        return "-"
    return f"{100 * error:+.1f} %" if signed else f"{100 * error:.1f} %"


def _show(found: Calibration) -> None:
    print(f"{found.stages} stages learnt from; mean error {percent(found.stage_error, signed=False)}\n")
    parameters: list[tuple[str, str, str]] = [("parameter", "value", "unit")]
    units = {"k_cpu": "flops/s", "task_overhead": "s/task", "stage_overhead": "s/stage"}
    for name in ("k_cpu", "k_read", "k_write", "k_net", "task_overhead", "stage_overhead", "overlap"):
        value = f"{getattr(found.parameters, name):.4g}"
        parameters.append((name, value, units.get(name, "" if name in found.seen else "not seen")))
    print_table(parameters)
    print()
    print_table([("platform", "value", "of each", "from"), *figure_rows(found.figures)])
    print()
    print_table(_errors(found), left=2)
    for one in found.inflation:
        print(f"\ninflation of {one.query}: a = {one.a:.4g} from {one.executors:g} executors on", end="")
    if found.inflation:
        print()


def figure_rows(figures: Figures) -> list[tuple[str, str, str, str]]:
    """A row for each figure of a platform: name, value, scope, and where it is from."""
    rows = [("speed", f"{figures.speed:.4g} flops/s", "slot", "given")]
    for name, _, _ in BANDWIDTHS:
        bandwidth = getattr(figures, name)
        rows.append((name, f"{bandwidth.rate:.4g} B/s", bandwidth.scope, bandwidth.basis))
    return rows


def _errors(found: Calibration) -> list[tuple[Any, ...]]:
    rows: list[tuple[str, ...]] = [("left out", "application", "stages", "makespan", "profile")]
    for id, error in found.makespan_errors.items():
        rows.append(("nothing", id, "", percent(error), "-"))
    for one in found.left_out:
        stages = (
            "-" if one.stage_error is None else f"{percent(one.stage_error, signed=False)} ({one.stages})"
        )
        errors = percent(one.makespan_error), percent(one.profile_error)
        rows.append((f"the {one.kind}", one.application, stages, *errors))
    return rows
