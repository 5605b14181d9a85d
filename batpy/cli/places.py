"""Complaints about what an experiment names, told with the key (or the flag) that named it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from batpy.base.errors import InputError

if TYPE_CHECKING:
    from batpy.cli.config import ExperimentConfig, InputFile


@contextmanager
def told_at(source: str, path: str | None = None) -> Iterator[None]:
    """Put *source* and *path* in front of what is wrong with the bad input found in this block.

    Raises:
        InputError: with the place.
    """
    try:
        yield
    except InputError as why:
        raise InputError(str(why), source=source or None, path=path) from why


def check_inputs(config: ExperimentConfig) -> None:
    """Refuse files that are not there, and energy of hosts that cannot say what they draw, before anything
    is read.

    What is wrong inside a file is told with the file's own name and line instead.

    Raises:
        InputError: with the experiment and the path of the key.
    """
    if config.simulation.energy and config.platform.file is None:
        problem = (
            "needs a platform file whose hosts say what they draw "
            "(platform.file, a SimGrid XML with wattage_per_state), such as sample:energy-4.xml"
        )
        raise InputError(problem, source=config.source or None, path="simulation.energy")
    for path, file in _files(config):
        try:
            file.path.stat()
        except (OSError, ValueError) as why:  # ValueError: a NUL in the name
            problem = f"{file.written}: cannot be read: {getattr(why, 'strerror', None) or why}"
            raise InputError(problem, source=config.source or None, path=path) from None
    if config.platform.file is not None:
        _check_platform(config, config.platform.file)


def _check_platform(config: ExperimentConfig, file: InputFile) -> None:
    """What is no XML at all is told with what it looks like."""
    from batpy.base.files import GZIP_MAGIC
    from batpy.cli.experiment_file import what_it_is

    if not file.path.is_file():
        return  # its reader says what it is
    with file.path.open("rb") as stream:
        head = stream.read(1000).removeprefix(b"\xef\xbb\xbf").lstrip()
    if head and not head.startswith((b"<", GZIP_MAGIC, b"PK")) and (looks := what_it_is(file.path)):
        problem = f"{file.written}: is no platform (SimGrid XML), it looks like {looks}"
        raise InputError(problem, source=config.source or None, path="platform.file")


def _files(config: ExperimentConfig) -> Iterator[tuple[str, InputFile]]:
    if config.platform.file is not None:
        yield "platform.file", config.platform.file
    for index, workload in enumerate(config.workloads):
        if workload.file is not None:
            yield f"workload[{index}].file", workload.file
    for file in config.simulation.events:
        yield "simulation.events", file
