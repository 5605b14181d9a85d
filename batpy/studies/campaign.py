"""A study carried out: its runs, then ``runs.csv``, ``summary.json`` and the figure."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from batpy._version import __version__
from batpy.base.errors import InputError
from batpy.base.files import unwritable
from batpy.studies.figures import can_draw
from batpy.studies.pool import Apply, workers
from batpy.studies.runs import FOLDER_OF_RUNS, INPUTS_OF_RUNS, RunSpec, carry_out
from batpy.studies.study import Findings, Row, Study

RUNS, SUMMARY = "runs.csv", "summary.json"
Told = Callable[[str, int, int], None]
"""Told the title of what goes on, how many items are done and how many there are."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How a study is carried out.

    Attributes:
        seeds: repetitions.
        jobs: processes at most.
        keep: leave the folders of all runs in place.
        inputs: the user's files.
    """

    seed: int
    seeds: int
    jobs: int
    keep: bool
    inputs: tuple[Path, ...] = ()


class _Workshop:
    """See ``batpy.studies.study.Workshop``."""

    def __init__(self, settings: Settings, folder: Path, apply: Apply, told: Told) -> None:
        self.seed = settings.seed
        self.seeds = settings.seeds
        self.inputs: Sequence[Path] = settings.inputs
        self._keep = settings.keep
        self._folder = folder
        self._apply = apply
        self._told = told

    def run(self, specs: Sequence[RunSpec], title: str) -> list[Row]:
        names = {spec.name for spec in specs}
        assert len(names) == len(specs), "names of runs must differ"
        return self.map(partial(carry_out, folder=self._folder, keep=self._keep), specs, title)

    def map(self, function: Callable[[Any], Any], items: Sequence[Any], title: str) -> list[Any]:
        done = 0

        def one_more() -> None:
            nonlocal done
            done += 1
            self._told(title, done, len(items))

        self._told(title, 0, len(items))
        return self._apply(function, items, one_more)


def conduct(study: Study, settings: Settings, folder: Path, told: Told) -> tuple[Findings, list[Path]]:
    """Carry a study out and write its files.

    Args:
        folder: made if it is not there.

    Returns:
        What was found, and the files that were written.

    Raises:
        InputError: the folder cannot be written to, or an input is no good.
        BatpyError: a run failed.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as why:
        raise unwritable(folder, why) from None
    with workers(settings.jobs) as apply:
        findings = study.carry_out(_Workshop(settings, folder, apply, told))
    if not settings.keep:
        for name in (INPUTS_OF_RUNS, FOLDER_OF_RUNS):
            _remove_if_empty(folder / name)
    return findings, write(study, settings, findings, folder)


def write(study: Study, settings: Settings, findings: Findings, folder: Path) -> list[Path]:
    """Write the tables, and the figure if there is something to draw it with; the files that were written."""
    runs, summary = folder / RUNS, folder / SUMMARY
    try:
        with runs.open("w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, list(findings.rows[0]), lineterminator="\n")
            table.writeheader()
            table.writerows(findings.rows)
        text = json.dumps(summary_tree(study, settings, findings), indent=2) + "\n"
        summary.write_text(text, encoding="utf-8")
        written = [runs, summary]
        if findings.figure is not None and can_draw():
            figure = folder / f"{study.name}.png"
            findings.figure(figure)
            written.append(figure)
    except OSError as why:
        raise unwritable(folder, why) from None
    return written


def summary_tree(study: Study, settings: Settings, findings: Findings) -> dict[str, Any]:
    """What ``summary.json`` holds: no date, no path, so that equal studies give equal bytes."""
    return {
        "version": __version__,
        "study": study.name,
        "seed": settings.seed,
        "seeds": settings.seeds,
        "checks": [
            {
                "name": check.name,
                "measured": check.measured,
                "half_width_95": check.half_width,
                "low": check.low,
                "high": check.high,
                "source": check.source,
                "required": check.required,
                "verdict": check.verdict,
            }
            for check in findings.checks
        ],
        "figures": dict(findings.figures),
        "notes": list(findings.notes),
        "parameters": [
            {"name": p.name, "value": p.value, "origin": p.origin, "reason": p.reason}
            for p in study.parameters
        ],
        "limits": list(study.limits),
    }


def _remove_if_empty(folder: Path) -> None:
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def check_folder(folder: Path) -> None:
    """Refuse a folder in which there is something else than an earlier study.

    Raises:
        InputError: then.
    """
    if not folder.exists():
        return
    if not folder.is_dir():
        raise InputError("is a file; the results need a folder", source=str(folder))
    names = {entry.name for entry in folder.iterdir()}
    if SUMMARY not in names and not names <= {RUNS, INPUTS_OF_RUNS, FOLDER_OF_RUNS}:
        problem = "holds files but no study, so it is left alone; choose another folder with --output"
        raise InputError(problem, source=str(folder))
