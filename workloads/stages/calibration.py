"""Calibration: from logs to the parameters of the job models, with errors on what was left out.

Three passes: what the platform can do (``calibration_platform``), what stages make of it
(``calibration_fit``), and how work grows with executors (``inflation``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from batpy._version import __version__
from batpy.base.errors import InputError
from batpy.workloads.stages.calibration_fit import Fit, fit
from batpy.workloads.stages.calibration_form import Calibration, LeftOut, LogFile, Range, rounded
from batpy.workloads.stages.calibration_platform import figures_from
from batpy.workloads.stages.calibration_rows import Run, rows_of
from batpy.workloads.stages.inflation import Inflation, fit_inflation
from batpy.workloads.stages.roofline import Bandwidth, Figures, Parameters, StageWork, roofline

LONG = 1.0
"""Seconds; errors are told of stages that take longer."""
SAME_SIZE = 0.1
"""Runs of a query whose input differs by no more than this share have the same size."""


@dataclass(frozen=True, slots=True)
class Given:
    """Figures of the platform from microbenchmarks; None: from the logs."""

    speed: float = 1e9
    read: Bandwidth | None = None
    write: Bandwidth | None = None
    net: Bandwidth | None = None


Makespan = Callable[[Run, Parameters, Figures], float | None]
"""Relative error of the predicted makespan of a run."""
Transfer = Callable[[Run, Run, Parameters, Figures, float], float | None]
"""The same from the stage times of the first run, on the executors of the second, which is predicted; the
work of the first is multiplied by the last argument."""


def calibrate(
    runs: Sequence[Run],
    given: Given,
    makespan: Makespan,
    transfer: Transfer,
    logs: Sequence[LogFile] = (),
    *,
    source: str = "calibration",
) -> Calibration:
    """Calibrate on all runs, and on all but some to tell the errors on these.

    Args:
        makespan, transfer: judge whole applications; stages are judged here.
        source: for complaints.

    Raises:
        InputError: no stage can be learnt from.
    """
    if not rows_of(runs):
        raise InputError("no stage to learn from: it takes recorded times and processor times", source=source)
    figures, found = _learn(runs, given)
    parameters = rounded(found.parameters)
    whole = {run.application.id: makespan(run, parameters, figures) for run in runs}
    return rounded(
        Calibration(
            batpy=__version__,
            numpy=np.__version__,
            logs=tuple(logs),
            parameters=parameters,
            figures=figures,
            seen=found.seen,
            stages=len(rows_of(runs)),
            range=_range(runs),
            stage_error=_stage_error(rows_of(runs), parameters, figures),
            makespan_errors={id: error for id, error in whole.items() if error is not None},
            left_out=(
                *_without_applications(runs, given, makespan),
                *_without_runs(runs, given, makespan, transfer),
            ),
            inflation=tuple(inflations(runs)),
        )
    )


def _learn(runs: Sequence[Run], given: Given) -> tuple[Figures, Fit]:
    figures = figures_from(runs, speed=given.speed, read=given.read, write=given.write, net=given.net)
    return figures, fit(rows_of(runs), figures)


def _range(runs: Sequence[Run]) -> Range:
    def ends(values: list[int]) -> tuple[int, int]:
        known = [value for value in values if value] or [0]
        return min(known), max(known)

    return Range(
        executors=ends([run.executors for run in runs]),
        slots=ends([run.application.slots for run in runs]),
        bytes=ends([run.amount for run in runs]),
    )


def _judged(rows: Sequence[StageWork]) -> list[StageWork]:
    return [row for row in rows if row.kept is None and row.wall is not None and row.wall > LONG]


def _stage_error(rows: Sequence[StageWork], parameters: Parameters, figures: Figures) -> float | None:
    errors = [
        abs(roofline(row, parameters, figures).wall / row.wall - 1)
        for row in _judged(rows)
        if row.wall is not None
    ]
    return sum(errors) / len(errors) if errors else None


def _without_applications(runs: Sequence[Run], given: Given, makespan: Makespan) -> list[LeftOut]:
    """Errors on each run, learnt from the runs of all other applications."""
    told = []
    for family in dict.fromkeys(run.family for run in runs):
        others = [run for run in runs if run.family != family]
        if rows_of(others):
            figures, found = _learn(others, given)
            told += [
                _errors("application", run, others, found.parameters, figures, makespan)
                for run in runs
                if run.family == family
            ]
    return told


def _without_runs(runs: Sequence[Run], given: Given, makespan: Makespan, transfer: Transfer) -> list[LeftOut]:
    """Errors on each run, learnt from the other runs of its application."""
    told = []
    for run in runs:
        others = [other for other in runs if other.family == run.family and other is not run]
        if not rows_of(others):
            continue
        figures, found = _learn(others, given)
        lines = inflations(others)
        whole = []
        for other in others:
            try:
                factor = inflation_for(lines, other, run.executors)
            except InputError:  # the line falls to nothing there
                factor = 1.0
            whole.append(transfer(other, run, found.parameters, figures, factor))
        known = [error for error in whole if error is not None]
        profile = max(known, key=abs) if known else None
        told.append(_errors("run", run, others, found.parameters, figures, makespan, profile))
    return told


def _errors(
    kind: str,
    run: Run,
    others: Sequence[Run],
    parameters: Parameters,
    figures: Figures,
    makespan: Makespan,
    profile: float | None = None,
) -> LeftOut:
    return LeftOut(
        kind="run" if kind == "run" else "application",
        application=run.application.id,
        trained=len(rows_of(others)),
        stages=len(_judged(run.rows)),
        stage_error=_stage_error(run.rows, parameters, figures),
        makespan_error=makespan(run, parameters, figures),
        profile_error=profile,
    )


def inflations(runs: Sequence[Run]) -> list[Inflation]:
    """The inflation of each application that was recorded on two or more counts of executors, by size."""
    groups: list[list[Run]] = []
    for run in sorted(runs, key=lambda run: (run.family, _read(run), run.application.id)):
        first = groups[-1][0] if groups else None
        if first is None or first.family != run.family or _read(run) > _read(first) * (1 + SAME_SIZE):
            groups.append([])
        groups[-1].append(run)
    found = []
    for group in groups:
        work: dict[float, list[float]] = {}
        for run in group:
            if run.executors and (seconds := sum(stage.wall_us for stage in run.application.stages) / 1e6):
                work.setdefault(run.executors, []).append(seconds)
        if len(work) > 1:
            mean = {count: sum(values) / len(values) for count, values in work.items()}
            found.append(fit_inflation(mean, group[0].family, _read(group[0])))
    return found


def _read(run: Run) -> int:
    return sum(stage.input_bytes for stage in run.application.stages)


def inflation_for(calibrated: Sequence[Inflation], run: Run, executors: int) -> float:
    """What the work of a run is multiplied by on so many executors; 1 if its inflation was not calibrated.

    Raises:
        InputError: nothing would be left of it.
    """
    if not run.executors or not executors:
        return 1.0
    for known in calibrated:
        if known.query == run.family and abs(_read(run) - known.bytes) <= SAME_SIZE * max(known.bytes, 1):
            return known.factor(executors, run.executors)
    return 1.0


def hash_logs(paths: Sequence[str | Path]) -> list[LogFile]:
    """The files of logs, those in folders one by one, each with the hash of what is in it.

    Raises:
        InputError: unreadable.
    """
    files: list[Path] = []
    for path in map(Path, paths):
        files += sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    found = []
    for file in files:
        try:
            with file.open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as why:
            raise InputError(f"cannot be read: {why.strerror or why}", source=str(file)) from None
        found.append(LogFile(file=file.name, sha256=digest))
    return sorted(found, key=lambda log: (log.file, log.sha256))
