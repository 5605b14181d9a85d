"""Command-line parsing whose complaints are the same one line as every other complaint.

The standard library's argparse is used on purpose: typer, with its imports, costs a tenth of a second at
every start, a quarter of what a run of 10,000 jobs may take.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from typing import Any, NoReturn

from batpy.base.errors import InputError


class CommandParser(argparse.ArgumentParser):
    """An argument parser that raises instead of printing its usage and leaving.

    Args:
        command: name of the sub-command.
        description: what it does.
        epilog: examples, shown as they are written.
        options: of ``argparse.ArgumentParser``, which makes the parsers of commands inside commands.
    """

    def __init__(
        self, command: str = "", description: str | None = None, epilog: str | None = None, **options: Any
    ) -> None:
        options.setdefault("prog", f"batpy {command}")
        super().__init__(
            description=description,
            epilog=epilog,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            **options,
        )

    def error(self, message: str) -> NoReturn:
        """Complain about the arguments.

        Raises:
            InputError: always.
        """
        raise InputError(f"{message} (see {self.prog} --help)", source=self.prog.removeprefix("batpy "))


def positive_seconds(text: str) -> float:
    """A finite number above 0, for ``type=``."""
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"must be a number of seconds above 0, got {text!r}")
    return value


def not_empty(text: str) -> str:
    """A text, for ``type=``; an empty one is most often a variable that was not set."""
    if not text:
        raise argparse.ArgumentTypeError("must not be empty")
    return text


def pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    """``key=value`` texts of a repeated option as a mapping.

    Raises:
        InputError: a text without ``=``, or a key given twice.
    """
    found: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise InputError(f"want key=value, got {text!r}", source=option)
        if key in found:
            raise InputError(f"{key!r} is given twice", source=option)
        found[key] = value
    return found
