"""``batpy study``: experiments that are shipped, each repeated by one command."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

from batpy.base.errors import EXIT_DONE, InputError
from batpy.cli.parser import CommandParser, not_empty

_DESCRIPTION = """\
Repeat a published experiment and compare. Without a name, list the studies. Writes runs.csv, summary.json
and a figure (with matplotlib: pip install 'batpy-sim[figures]'). Results do not depend on --jobs."""
_EPILOG = """\
examples:
  batpy study
  batpy study bebida-2017 --explain
  batpy study bebida-2024 -o results/2024 --seeds 100 --jobs 4
  batpy study bebida-2017 --keep && batpy audit results/bebida-2017/runs/hpc1-bda1-oar_yarn_2017-1

A figure outside its band is said plainly; it is a finding, and the exit code stays 0."""


def configure() -> CommandParser:
    """The arguments of the command."""
    parser = CommandParser("study", _DESCRIPTION, _EPILOG)
    add = parser.add_argument
    add("name", nargs="?", metavar="NAME", help="of the study; without it, list them")
    add("inputs", nargs="*", metavar="FILE", help="logs, for studies that take any")
    add("-o", "--output", type=not_empty, metavar="DIR", help="folder (default: results/NAME)")
    add("--seeds", type=_positive, metavar="N", help="repetitions; --explain tells of what")
    add("--seed", type=int, default=0, help="every random stream starts from it (default: 0)")
    add("--jobs", type=_positive, metavar="N", help="processes (default: one for each core)")
    add("--keep", action="store_true", help="keep the folders of all runs, with journals, for batpy audit")
    add("--explain", action="store_true", help="print the parameters with their reasons, and run nothing")
    add("--json", action="store_true", help="print summary.json (or the list)")
    add("-q", "--quiet", action="store_true", help="print nothing but errors (and the JSON, if asked for)")
    return parser


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be 1 or more, got {text!r}")
    return value


def execute(arguments: argparse.Namespace) -> int:
    """List, explain or carry out."""
    from batpy.studies.catalogue import STUDIES, load

    if arguments.name is None:
        studies = [load(name) for name in STUDIES]
        if arguments.json:
            print(json.dumps([{"name": study.name, "title": study.title} for study in studies], indent=2))
        elif not arguments.quiet:
            width = max(map(len, STUDIES))
            print("\n".join(f"{study.name:<{width}}  {study.title}" for study in studies))
        return EXIT_DONE
    study = load(arguments.name)
    if arguments.inputs and not study.inputs_mean:
        raise InputError("takes no files", source=study.name)
    if arguments.explain:
        from batpy.studies.report import parameter_lines

        print("\n".join(parameter_lines(study)))
        print(f"\n--seeds: {study.seeds_mean} (default: {study.seeds})")
        if study.inputs_mean:
            print(f"FILE: {study.inputs_mean}")
        return EXIT_DONE

    from batpy.studies.campaign import SUMMARY, Settings, check_folder, conduct
    from batpy.studies.figures import MISSING, can_draw
    from batpy.studies.report import finding_lines

    folder = Path(arguments.output) if arguments.output is not None else Path("results", study.name)
    check_folder(folder)
    settings = Settings(
        seed=arguments.seed,
        seeds=arguments.seeds or study.seeds,
        jobs=arguments.jobs or os.cpu_count() or 1,
        keep=arguments.keep,
        inputs=tuple(map(Path, arguments.inputs)),
    )
    findings, written = conduct(study, settings, folder, _Teller(arguments.quiet))
    if arguments.json:
        sys.stdout.write((folder / SUMMARY).read_text(encoding="utf-8"))
    elif not arguments.quiet:
        print("\n".join(finding_lines(study, findings)))
        print(f"written: {', '.join(map(str, written))}")
        if not can_draw():
            print(MISSING)
    return EXIT_DONE


class _Teller:
    """Tells on standard error how far a study is, every few seconds."""

    PAUSE = 5.0

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._due = time.monotonic() + self.PAUSE

    def __call__(self, title: str, done: int, of: int) -> None:
        if not self._quiet and time.monotonic() >= self._due:
            self._due = time.monotonic() + self.PAUSE
            print(f"batpy: {title}: {done} of {of}", file=sys.stderr, flush=True)
