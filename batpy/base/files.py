"""What a path leads to, before it is opened."""

from __future__ import annotations

import stat
from pathlib import Path

from batpy.base.errors import InputError


def refuse_special(path: str | Path, source: str) -> None:
    """Refuse pipes, sockets and devices: readers look at an input more than once, and a pipe may never end.

    A path that leads nowhere or to a folder passes: opening it tells.

    Args:
        source: the file as the user named it.

    Raises:
        InputError: it is no file of the kind that can be read twice.
    """
    try:
        mode = Path(path).stat().st_mode
    except (OSError, ValueError):
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise InputError("is a pipe, a socket or a device; write its content to a file first", source=source)
