"""The folder a run writes to: what may be replaced, and what must never be touched."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from batpy.base.errors import InputError

EXPERIMENT = "experiment.json"
"""What was run, beside its results."""

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
        names = [entry.name for entry in folder.iterdir()]
    except OSError as why:
        raise InputError(f"cannot be read: {why.strerror or why}", source=str(folder)) from None
    if not names:
        return
    # A run that was killed at once has no journal yet.
    if JOURNAL not in names and not all(map(_is_ours, names)):
        problem = "holds files but no run of batpy, so it is left alone; choose another folder with --output"
        raise InputError(problem, source=str(folder))
    if not overwrite:
        problem = "holds an earlier run, which is to be kept; choose another folder with --output"
        raise InputError(problem, source=str(folder))


def _is_ours(name: str) -> bool:
    ours = (EXPERIMENT, "broker.log", "sharing.journal")
    return name in ours or (name.startswith("scheduler-") and name.endswith(".log"))


@contextmanager
def claim(folder: Path, *, overwrite: bool = True) -> Iterator[None]:
    """Make the folder and keep other runs out of it, as long as the block lasts.

    The lock is on the folder itself: it leaves no file behind, and the system drops it with the process.

    Raises:
        InputError: the folder cannot be made or must not be written to, or another run writes to it.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
    except OSError as why:
        problem = f"cannot prepare the output folder: {why.strerror or why}"
        raise InputError(problem, source=str(folder)) from None
    try:
        _lock(handle, folder)
        check_output(folder, overwrite=overwrite)  # again, now that nobody else can change it
        yield
    finally:
        os.close(handle)


def _lock(handle: int, folder: Path) -> None:
    try:
        import fcntl
    except ImportError:  # not a Unix
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        problem = "another run is writing to this folder; wait for its end, or choose another with --output"
        raise InputError(problem, source=str(folder)) from None
    except OSError:
        return  # a file system without locks
