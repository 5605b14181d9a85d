"""The folder a run writes to: what may be replaced, and what must never be touched."""

from __future__ import annotations

from pathlib import Path

from batpy.base.errors import InputError

POLICY = """\
The folder is made if it is not there. If it holds an earlier run of batpy (told by its journal), that run's
files are replaced and all others left alone; any other folder that is not empty is refused."""


def check_output(folder: Path, *, overwrite: bool = True) -> None:
    """Refuse a folder that must not be written to. Changes nothing.

    Args:
        overwrite: the files of an earlier run may be replaced.

    Raises:
        InputError: a file, a folder that holds something else, or an earlier run that is to be kept.
    """
    from batpy.results.journal import JOURNAL

    try:
        if not folder.exists():
            return
        if not folder.is_dir():
            raise InputError("is a file; the results need a folder", source=str(folder))
        if next(folder.iterdir(), None) is None:
            return
    except OSError as why:
        raise InputError(f"cannot be read: {why.strerror or why}", source=str(folder)) from None
    if not (folder / JOURNAL).is_file():
        problem = "holds files but no run of batpy, so it is left alone; choose another folder with --output"
        raise InputError(problem, source=str(folder))
    if not overwrite:
        problem = "holds an earlier run, which is to be kept; choose another folder with --output"
        raise InputError(problem, source=str(folder))
