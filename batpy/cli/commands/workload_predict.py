"""``batpy workload predict``: recorded applications on other platforms, as a calibration has it."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from batpy.base.errors import InputError
from batpy.cli.commands.workload_calibrate import (
    add_figures,
    bandwidths_of,
    figure_rows,
    percent,
    print_table,
    read_logs,
    speed_of,
)
from batpy.cli.parser import not_empty

if TYPE_CHECKING:
    from batpy.models.dag.predicted import Predicted, Target
    from batpy.workloads.stages.calibration_form import Calibration
    from batpy.workloads.stages.calibration_rows import Run

_EXPLAINED = """\
  batpy workload predict calibration.json application.zstd
  batpy workload predict calibration.json application.zstd --executors 40 --hosts 10
  batpy workload predict calibration.json application.zstd --read-bandwidth 1e9/all --json
Recorded times change as the calibrated model does from the platform of the record, which is the one that was
calibrated, to the one that the flags tell; with --model, times are those of the model alone. A stage's
columns cpu, read, write, net and overhead are the seconds that it would need for each alone; the longest
dominates."""
_SHOWN = ("cpu", "read", "write", "net", "overhead")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the action."""
    parser.epilog = _EXPLAINED
    add = parser.add_argument
    add("calibration", type=not_empty, metavar="CALIBRATION", help="file of batpy workload calibrate")
    add("files", nargs="+", type=not_empty, metavar="LOG", help="Spark event logs, other logs, or graphs")
    some = parser.add_mutually_exclusive_group()
    some.add_argument("--executors", metavar="N", help="as large as the recorded ones, all the time")
    some.add_argument("--slots", metavar="N", help="tasks that can run at one time (default: as recorded)")
    add("--hosts", metavar="N", help="for bandwidths of each host (default: in proportion to executors)")
    add("--model", action="store_true", help="leave out what the model does not explain")
    add("--json", action="store_true", help="print the figures as JSON")
    add_figures(parser, None)


def execute(arguments: argparse.Namespace) -> None:
    """Do what was asked for.

    Raises:
        InputError: a bad option, an input that cannot be used, or no application that can be predicted.
    """
    from batpy.workloads.stages.calibration_form import read_calibration
    from batpy.workloads.stages.calibration_rows import runs_of
    from batpy.workloads.stages.tally import Tally

    calibration = read_calibration(arguments.calibration)
    _, applications, lines = read_logs(arguments.files)
    trees = []
    left_out: list[InputError] = []
    for run in runs_of(applications, Tally()):
        target, flags = _target(run, calibration, arguments)
        try:
            found = _predict(run, calibration, target, arguments)
        except InputError as why:
            left_out.append(why)
        else:
            trees.append(_tree(run, found, target, flags))
    if not trees:
        raise left_out[0]
    lines += [f"left out: {why}" for why in left_out]
    if arguments.json:
        for line in lines:
            print(line, file=sys.stderr)
        print(json.dumps(trees, indent=2))
        return
    for line in lines:
        print(line)
    for index, tree in enumerate(trees):
        if index or lines:
            print()
        _show(tree)


def _predict(run: Run, calibration: Calibration, target: Target, arguments: argparse.Namespace) -> Predicted:
    from batpy.models.dag.predicted import predict

    anchor = None if arguments.model else calibration.figures
    return predict(run.application, calibration.parameters, target, anchor=anchor)


def _target(run: Run, calibration: Calibration, arguments: argparse.Namespace) -> tuple[Target, list[str]]:
    """The platform, and what of it is far outside the calibrated range."""
    import msgspec

    from batpy.models.dag.predicted import Target
    from batpy.workloads.stages.calibration import inflation_for

    known = calibration.figures
    figures = msgspec.structs.replace(
        known, speed=speed_of(arguments, known.speed), **bandwidths_of(arguments)
    )
    executors, slots, hosts = (
        _count(getattr(arguments, name), f"--{name}") for name in ("executors", "slots", "hosts")
    )
    inflation = 1.0
    application = run.application
    if executors is not None:
        if not run.executors or not application.slots:
            problem = f"application {application.id} has no recorded executors; say --slots"
            raise InputError(problem, source="--executors")
        slots = max(1, round(executors * application.slots / run.executors))
        inflation = inflation_for(calibration.inflation, run, executors)
        if hosts is None:
            hosts = max(1, -(-executors * max(1, application.hosts) // run.executors))
    flags = calibration.outside(
        executors=executors or (0 if slots else run.executors),
        slots=slots or application.slots,
        bytes=run.amount,
    )
    return Target(figures, slots, hosts, inflation), flags


def _count(text: str | None, flag: str) -> int | None:
    if text is None:
        return None
    if not (text.isdecimal() and text.isascii() and len(text) <= 6 and int(text)):
        raise InputError(f"must be a number from 1 to 999999, got {text!r}", source=flag)
    return int(text)


def _tree(run: Run, found: Predicted, target: Target, flags: list[str]) -> dict[str, Any]:
    from batpy.workloads.stages.calibration_rows import work_of

    stages = []
    for stage in run.application.stages:
        key = stage.id, stage.attempt
        work = work_of(run.application, stage)
        line = found.stages[key]
        stages.append(
            {
                "stage": f"{stage.id}" + (f".{stage.attempt}" if stage.attempt else ""),
                "tasks": stage.done,
                "recorded_s": None if work is None else work.wall,
                "predicted_s": found.walls[key],
                **{name: getattr(line, name) for name in _SHOWN},
                "dominating": line.dominating,
            }
        )
    return {
        "application": run.application.id,
        "slots": target.slots or run.application.slots,
        "hosts": target.hosts or run.application.hosts,
        "figures": figure_rows(target.figures),
        "inflation": target.inflation,
        "recorded_s": found.recorded,
        "makespan_s": found.makespan,
        "error": found.error,
        "flags": flags,
        "stages": stages,
    }


def _show(tree: dict[str, Any]) -> None:
    print(f"{tree['application']}: {tree['slots']} slots on {tree['hosts']} hosts")
    for flag in tree["flags"]:
        print(flag)
    head = ("stage", "tasks", "recorded, s", "predicted, s", *_SHOWN, "dominating")
    rows = [head]
    for stage in tree["stages"]:
        seconds = (stage["recorded_s"], stage["predicted_s"], *(stage[name] for name in _SHOWN))
        cells = ("-" if value is None else f"{value:.2f}" for value in seconds)
        rows.append((stage["stage"], str(stage["tasks"]), *cells, stage["dominating"]))
    print_table(rows)
    recorded = tree["recorded_s"]
    beside = "" if recorded is None else f"; recorded {recorded:.1f} s ({percent(tree['error'])})"
    print(f"makespan {tree['makespan_s']:.1f} s{beside}")
