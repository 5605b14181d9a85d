"""``batpy workload replay``: how far the levels of the job model are from recorded applications."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from batpy.base.errors import InputError
from batpy.cli.parser import not_empty

if TYPE_CHECKING:
    from batpy.workloads.stages.graph import Application

_EXPLAINED = """\
  batpy workload replay spark-logs/*.zstd
Each application runs again on its recorded executors, its jobs after their recorded think times. Shown are
the error of its makespan and, in brackets, the mean absolute error of its jobs longer than a second, in
percent: task takes the recorded task times, q16 and q4 draw them from tables of quantiles (the mean of
--draws replays), even gives all tasks of a stage the same."""
HEADERS = ("application", "recorded, s")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the action."""
    parser.epilog = _EXPLAINED
    parser.add_argument("files", nargs="+", type=not_empty, metavar="FILE", help="Spark event logs or graphs")
    parser.add_argument("--draws", type=int, default=5, metavar="N", help="replays to average (default: 5)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")


def execute(arguments: argparse.Namespace) -> None:
    """Do what was asked for.

    Raises:
        InputError: an input that cannot be used, or no application that can be compared.
    """
    from batpy.workloads.stages.importing import ImportOptions, import_graph

    if arguments.draws < 1:
        raise InputError(f"must be at least 1, got {arguments.draws}", source="--draws")
    imported = import_graph(arguments.files, None, ImportOptions(keep_tasks=True))
    rows: list[dict[str, Any]] = []
    left_out: list[str] = []
    for application in imported.graph.applications:
        try:
            rows.append(_figures(application, arguments.draws))
        except InputError as why:
            left_out.append(f"left out: {why}")
    if not rows:
        raise InputError(left_out[0].removeprefix("left out: "), source=arguments.files[0])
    if arguments.json:
        print(json.dumps(rows, indent=2))
        return
    for line in (*imported.report(), *left_out):
        print(line)
    _show(rows)


def _figures(application: Application, draws: int) -> dict[str, Any]:
    from batpy.models.dag.replay import LEVELS, replay_error

    kept = all(len(stage.durations_us) == stage.done for stage in application.stages)
    row: dict[str, Any] = {"application": application.id}
    for level in LEVELS:
        if level == "task" and not kept:
            continue
        found = replay_error(application, level, draws=draws)
        row["recorded_s"] = found.recorded_us / 1e6
        row[level] = {"error": found.error, "job_error": found.job_error}
    return row


def _show(rows: list[dict[str, Any]]) -> None:
    from batpy.models.dag.replay import LEVELS

    table = [[*HEADERS, *LEVELS]]
    for row in rows:
        cells = [row["application"], f"{row['recorded_s']:.1f}"]
        table.append([*cells, *(_cell(row.get(level)) for level in LEVELS)])
    widths = [max(len(line[column]) for line in table) for column in range(len(table[0]))]
    for line in table:
        first, *others = (cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        print("  ".join((first.strip().ljust(widths[0]), *others)))


def _cell(figures: dict[str, float | None] | None) -> str:
    if figures is None:
        return "-"
    error, jobs = figures["error"], figures["job_error"]
    assert error is not None
    return f"{100 * error:+.1f} %" + ("" if jobs is None else f" ({100 * jobs:.1f})")
