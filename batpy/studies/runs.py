"""One run of a study: an ordinary run of batpy, made from plain values, so that any process can do it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from batpy.base.errors import BatpyError, InputError
from batpy.cli.compose import run_experiment
from batpy.cli.experiment import from_tree
from batpy.cli.progress import Progress
from batpy.results.summary import Summary

INPUTS_OF_RUNS, FOLDER_OF_RUNS = "inputs", "runs"
"""Folders, in that of the study, with one folder for each run."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A run that came to its end.

    Attributes:
        folder: its journals and tables.
        summary: as ``summary.json``.
    """

    folder: Path
    summary: Summary


Measure = Callable[[Finished], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class RunSpec:
    """One run.

    Attributes:
        name: unique in the study; becomes a folder.
        labels: first columns of its row.
        experiment: the tree of an experiment file; its workloads name *files*.
        files: JSON workloads by name.
        measure: a function of a module that reads figures off the finished run.
    """

    name: str
    labels: Mapping[str, Any]
    experiment: Mapping[str, Any]
    files: Mapping[str, Any]
    measure: Measure


def carry_out(spec: RunSpec, folder: Path, *, keep: bool) -> dict[str, Any]:
    """Run it; its labels and figures.

    Args:
        folder: gets ``inputs/NAME`` and ``runs/NAME``.
        keep: leave both there; otherwise they are removed once the figures are read.

    Raises:
        BatpyError: the run did not come to its end.
    """
    inputs, output = folder / INPUTS_OF_RUNS / spec.name, folder / FOLDER_OF_RUNS / spec.name
    inputs.mkdir(parents=True, exist_ok=True)
    for name, content in spec.files.items():
        (inputs / name).write_text(json.dumps(content), encoding="utf-8")
    source = f"study run {spec.name}"
    config = from_tree(_copied(spec.experiment), source=source, name=spec.name, cwd=inputs)
    outcome = run_experiment(config, mode="embedded", output=output, progress=Progress(), pin=False)
    if outcome.outcome == "interrupted":
        raise KeyboardInterrupt
    if outcome.outcome != "done" or outcome.summary is None:
        raise InputError(outcome.reason or outcome.outcome, source=source)
    try:
        figures = spec.measure(Finished(output, outcome.summary))
    except BatpyError as why:
        raise InputError(str(why), source=source) from None
    if not keep:
        shutil.rmtree(inputs)
        shutil.rmtree(output)
    return {**spec.labels, **figures}


def _copied(tree: Mapping[str, Any]) -> dict[str, Any]:
    """A deep copy: reading an experiment takes its tree apart."""
    copied: dict[str, Any] = json.loads(json.dumps(tree))
    return copied
