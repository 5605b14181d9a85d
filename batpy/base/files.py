"""Texts that a user names a file of: read whole, the same way in every room."""

from __future__ import annotations

import re
import stat
from pathlib import Path
from typing import Any

from batpy.base.errors import InputError

GZIP_MAGIC = b"\x1f\x8b"


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


def read_text(path: str | Path, source: str | None = None) -> str:
    """The text of a file in UTF-8, with or without a byte order mark, plain or gzipped.

    Every line of it ends in ``\\n``, whatever ends those of the file.

    Args:
        source: the file as the user named it; the path if None.

    Raises:
        InputError: no such file, not a plain file, not readable, damaged, or not UTF-8.
    """
    source = str(path) if source is None else source
    refuse_special(path, source)
    try:
        data = Path(path).read_bytes()
        if data.startswith(GZIP_MAGIC):
            data = _unpacked(data, source)
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("is not a text in UTF-8", source=source) from None
    except (OSError, ValueError) as why:  # ValueError: a NUL in the name
        problem = getattr(why, "strerror", None) or why
        raise InputError(f"cannot be read: {problem}", source=source) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def unwritable(path: str | Path, why: OSError) -> InputError:
    """The complaint about a file that cannot be written."""
    return InputError(f"cannot write: {why.strerror or why}", source=str(path))


def _unpacked(data: bytes, source: str) -> bytes:
    import gzip
    import zlib

    try:
        return gzip.decompress(data)
    except (EOFError, OSError, zlib.error) as why:
        raise InputError(f"damaged archive: {why}", source=source) from None


def read_toml(path: str | Path, source: str | None = None) -> dict[str, Any]:
    """The tree of a TOML file.

    Args:
        source: the file as the user named it; the path if None.

    Raises:
        InputError: as ``read_text``; or not well-formed, with the line.
    """
    import tomllib

    source = str(path) if source is None else source
    text = read_text(path, source)
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise InputError("not well-formed TOML: nested too deeply", source=source) from None
    except tomllib.TOMLDecodeError as why:
        place = re.search(r" \(at line (\d+), column \d+\)$", str(why))
        line = int(place[1]) if place else text.count("\n") + 1
        problem = str(why)[: place.start()] if place else str(why).removesuffix(" (at end of document)")
        raise InputError(f"not well-formed TOML: {problem}", source=source, line=line) from None
    except ValueError:
        raise InputError("not well-formed TOML: a number has too many digits", source=source) from None
