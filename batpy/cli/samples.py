"""Files that ship with the package, named ``sample:NAME``."""

from __future__ import annotations

from pathlib import Path

from batpy.base.errors import InputError
from batpy.cli.tables import closest

PREFIX = "sample:"
WORKLOAD_ENDINGS = (".swf", ".swf.gz", ".swf.zip", ".json", ".json.gz")
EXPERIMENT_ENDING = ".toml"


def folder() -> Path:
    """Where the samples lie."""
    from batpy.workloads import samples

    return Path(samples.__path__[0])


def names(*endings: str) -> list[str]:
    """Names of the samples with one of these endings; all of them without."""
    files = (file for file in folder().iterdir() if file.is_file() and file.suffix not in ("", ".py"))
    return sorted(file.name for file in files if not endings or file.name.endswith(endings))


def locate(written: str, base: Path, *endings: str) -> Path:
    """Where the file a user wrote lies.

    A file that exists wins, whatever its name; else ``sample:NAME`` is a file of the package.

    Args:
        written: a path, or ``sample:NAME``.
        base: folder that relative paths start from.
        endings: of the samples that will do, all if none is given; that of experiments may be left out.

    Raises:
        InputError: there is no sample of that name. A plain path is not checked: its reader does that.
    """
    path = base / written
    if not written.startswith(PREFIX) or path.exists():
        return path
    name = written.removeprefix(PREFIX)
    files = {file.removesuffix(EXPERIMENT_ENDING): file for file in names(*endings)}
    found = files.get(name.removesuffix(EXPERIMENT_ENDING))
    if found is not None:
        return folder() / found
    known = ", ".join(f"{PREFIX}{shown}" for shown in files)
    raise InputError(
        f"there is no sample {name!r}{closest(name, list(files))} (there are: {known})", source=written
    )
