"""Files that ship with the package, named ``sample:NAME``."""

from __future__ import annotations

from pathlib import Path

from batpy.base.errors import InputError
from batpy.cli.tables import closest

PREFIX = "sample:"


def folder() -> Path:
    """Where the samples lie."""
    from batpy.workloads import samples

    return Path(samples.__path__[0])


def names(*endings: str) -> list[str]:
    """Names of the samples with one of these endings; all of them without."""
    files = (file for file in folder().iterdir() if file.is_file() and file.suffix not in ("", ".py"))
    return sorted(file.name for file in files if not endings or file.name.endswith(endings))


def locate(written: str, base: Path, *, ending: str = "") -> Path:
    """Where the file a user wrote lies.

    A file that exists wins, whatever its name; else ``sample:NAME`` is a file of the package.

    Args:
        written: a path, or ``sample:NAME``.
        base: folder that relative paths start from.
        ending: may be left out of a sample's name.

    Raises:
        InputError: there is no sample of that name. A plain path is not checked: its reader does that.
    """
    path = base / written
    if not written.startswith(PREFIX) or path.exists():
        return path
    name = written.removeprefix(PREFIX)
    known = names(ending) if ending else names()
    for candidate in (name, name + ending):
        if candidate in known:
            return folder() / candidate
    raise InputError(
        f"there is no sample {name!r}{closest(name, known)} (there are: {', '.join(known)})", source=written
    )
