"""``batpy audit``: the journal of a run checked again, without a simulator."""

from __future__ import annotations

import argparse
import sys

from batpy.base.errors import EXIT_BAD_INPUT, EXIT_DONE
from batpy.cli.parser import CommandParser

_DESCRIPTION = """\
Check the journal of a run again: no host holds two exclusive jobs, no job starts before its submission, every
job ends once, and the tables say what the journal says. Of a run with a broker: no host has two schedulers'
jobs, no job starts before its hosts are vacated and prepared, all work and all core time are accounted for.
Exit code 0 if no law is broken, else 2."""


def configure() -> CommandParser:
    """The arguments of the command."""
    parser = CommandParser("audit", _DESCRIPTION)
    parser.add_argument("folder", metavar="DIR", help="folder of the results")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing; the exit code tells")
    return parser


def execute(arguments: argparse.Namespace) -> int:
    """Audit and print the findings."""
    from batpy.results.audit import audit

    found = audit(arguments.folder)
    if arguments.json:
        sys.stdout.write(found.to_json().decode())
    elif not arguments.quiet:
        for line in found.lines():
            print(line)
    return EXIT_DONE if found.passed else EXIT_BAD_INPUT
