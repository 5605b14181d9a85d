"""From a checked configuration to a finished run and what is printed about it."""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from batpy.base.errors import InputError, one_line
from batpy.cli.outcome import RunOutcome
from batpy.cli.output import check_output
from batpy.cli.progress import make_progress

if TYPE_CHECKING:
    from batpy.cli.config import ExperimentConfig
    from batpy.results.summary import Summary, Trim


def run_and_report(
    config: ExperimentConfig,
    arguments: argparse.Namespace,
    output: Path,
    *,
    mode: Literal["embedded", "processes"],
    pin: bool = False,
) -> int:
    """Run an experiment and print its summary.

    Args:
        arguments: with the flags of ``batpy.cli.flags.add_result_flags``.

    Returns:
        The exit code of the command.

    Raises:
        BatpyError: bad input, found before anything was written.
    """
    from batpy.cli.compose import run_experiment
    from batpy.results.summary import Trim

    try:
        trim = Trim.parse(arguments.warm_up, arguments.cool_down)
    except InputError as why:
        flags = "--warm-up, --cool-down" if why.path == "trim" else f"--{why.path}"
        raise InputError(why.problem, source=flags) from None
    check_output(output, overwrite=not arguments.no_overwrite)
    with make_progress(arguments.quiet) as progress:
        outcome = run_experiment(
            config,
            mode=mode,
            output=output,
            progress=progress,
            pin=pin,
            overwrite=not arguments.no_overwrite,
        )
    return _report(outcome, arguments, trim, _about(config))


def _about(config: ExperimentConfig) -> list[tuple[str, str]]:
    """What was run, for the screen: the policy of the broker if there is one, and the schedulers."""
    rows = [("broker", config.broker.policy)] if config.broker is not None else []
    several = len(config.schedulers) > 1
    for name, scheduler in config.schedulers.items():
        which = scheduler.algorithm or f"the one at {scheduler.endpoint}"
        rows.append(("scheduler", f"{name}: {which}" if several else which))
    return rows


def _report(
    outcome: RunOutcome, arguments: argparse.Namespace, trim: Trim, about: list[tuple[str, str]]
) -> int:
    if not arguments.quiet:
        for notice in outcome.notices:
            _tell(f"note: {notice}")
    summary = _trimmed(outcome, trim)
    if arguments.json and summary is not None:
        sys.stdout.write(summary.to_json().decode())
    elif not arguments.quiet:
        # Where the run was over before its first job there is nothing to show but dashes.
        if summary is not None and (outcome.outcome == "done" or summary.jobs.submitted):
            _show(summary, about, groups=arguments.groups)
        print(f"results in {outcome.folder}")
    if outcome.outcome != "done":
        _tell(f"error: {outcome.reason or outcome.outcome}")
    return outcome.exit_code


def _tell(text: str) -> None:
    with suppress(OSError):  # a run that is done is done, whoever hears of it
        print(f"batpy: {one_line(text)}", file=sys.stderr, flush=True)


def _trimmed(outcome: RunOutcome, trim: Trim) -> Summary | None:
    if outcome.summary is None or trim.is_nothing:
        return outcome.summary
    from batpy.results.summary import SUMMARY, summarise

    summary = summarise(outcome.folder, trim)
    summary.write(outcome.folder / SUMMARY)
    return summary


def _show(summary: Summary, about: list[tuple[str, str]], *, groups: bool) -> None:
    from batpy.results.screen import render, to_text

    if not sys.stdout.isatty():
        sys.stdout.write(to_text(summary, groups=groups, about=about))
        return
    from rich.console import Console

    render(summary, Console(), groups=groups, about=about)
