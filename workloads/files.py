"""Opening workload files: plain, gzip and zip, told apart by their first bytes and not by their names."""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from batpy.base.errors import InputError
from batpy.base.files import refuse_special

GZIP_MAGIC = b"\x1f\x8b"
ZIP_MAGIC = b"PK\x03\x04"


@contextmanager
def open_binary(path: str | Path, source: str | None = None) -> Iterator[IO[bytes]]:
    """Open a file for reading, unpacked.

    Args:
        path: the file.
        source: its name as the user wrote it, for complaints.

    Raises:
        InputError: no such file, not readable, damaged archive, or a zip that holds several workloads; also
            for damage that only shows while the stream is read.
    """
    source = source if source is not None else str(path)
    refuse_special(path, source)
    try:
        with open(path, "rb") as raw, _unpacked(raw, source) as stream:
            yield stream
    except OSError as why:
        raise InputError(f"cannot be read: {why.strerror or why}", source=source) from None
    except (EOFError, zlib.error) as why:
        raise InputError(f"damaged archive: {why}", source=source) from None


@contextmanager
def open_text(path: str | Path, source: str | None = None) -> Iterator[io.TextIOWrapper]:
    """Open a text file line by line, any line ending; bytes that are not UTF-8 become U+FFFD."""
    with open_binary(path, source) as stream:
        yield io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace")


def read_bytes(path: str | Path, source: str | None = None, limit: int = -1) -> bytes:
    """The unpacked content of a file, or its first *limit* bytes."""
    with open_binary(path, source) as stream:
        return stream.read(limit)


@contextmanager
def _unpacked(raw: IO[bytes], source: str) -> Iterator[IO[bytes]]:
    magic = raw.read(4)
    raw.seek(0)
    if magic.startswith(GZIP_MAGIC):
        import gzip

        with gzip.GzipFile(fileobj=raw) as stream:
            yield io.BufferedReader(stream, 1 << 16)
    elif magic == ZIP_MAGIC:
        with _only_member(raw, source) as stream:
            yield stream
    else:
        yield raw


@contextmanager
def _only_member(raw: IO[bytes], source: str) -> Iterator[IO[bytes]]:
    import zipfile

    try:
        with zipfile.ZipFile(raw) as archive:
            names = [name for name in archive.namelist() if _is_content(name)]
            chosen = names if len(names) == 1 else [n for n in names if n.lower().endswith((".swf", ".json"))]
            if len(chosen) != 1:
                raise InputError(
                    f"must hold exactly one workload, holds {len(names)} files: {', '.join(names[:5])}",
                    source=source,
                )
            with archive.open(chosen[0]) as stream:
                yield stream
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as why:
        raise InputError(f"damaged or protected zip archive: {why}", source=source) from None


def _is_content(name: str) -> bool:
    return (
        not name.endswith("/")
        and not name.startswith("__MACOSX/")
        and not os.path.basename(name).startswith(".")
    )


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write a file; a name that ends in ``.gz`` is packed, the same bytes every time.

    Raises:
        InputError: the file cannot be written.
    """
    path = Path(path)
    if path.suffix == ".gz":
        import gzip

        content = gzip.compress(content, compresslevel=9, mtime=0)
    try:
        path.write_bytes(content)
    except OSError as why:
        raise InputError(f"cannot be written: {why.strerror or why}", source=str(path)) from None
