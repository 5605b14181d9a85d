"""Where an event log lies: in one file, in the pieces of a rolled log, in a folder or a zip archive."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from batpy.base.errors import InputError
from batpy.base.files import refuse_special
from batpy.workloads.stages.codecs import DAMAGE, unpacked
from batpy.workloads.stages.tally import Tally

ZIP_MAGIC = b"PK\x03\x04"
ROLLED = re.compile(
    r"(?:.*?_)??events_(?P<number>\d+)_(?P<app>.+?)(?:\.(?:zstd|lz4|snappy|lzf|gz))?(?P<compact>\.compact)?"
)
"""Pieces of a rolled log: ``events_<n>_<app>[.codec][.compact]``, perhaps with something before it."""
LEGACY = re.compile(r"EVENT_LOG_(?P<number>\d+)")
_OTHERS = re.compile(
    r"appstatus_.*|\..*|_.*|SPARK_VERSION_.*|COMPRESSION_CODEC_.*|APPLICATION_COMPLETE", re.I
)
CUT = "packed stream that is cut or damaged; what came before was read"


@dataclass(frozen=True, slots=True)
class Piece:
    """One file of a log, or one member of a zip archive."""

    path: Path
    source: str
    member: str = ""

    @property
    def name(self) -> str:
        return (self.member or self.path.name).rpartition("/")[2]

    @property
    def folder(self) -> str:
        """What the pieces of one log have in common."""
        inside = self.member.rpartition("/")[0]
        return f"{self.path}!{inside}" if self.member else str(self.path.parent)

    @property
    def shown(self) -> str:
        return f"{self.source}!{self.member}" if self.member else self.source


@dataclass(frozen=True, slots=True)
class Log:
    """An event log: its pieces in the order in which they were written."""

    pieces: tuple[Piece, ...]

    @property
    def source(self) -> str:
        return self.pieces[0].shown

    @property
    def label(self) -> str:
        """A name for an application whose log does not name it."""
        rolled = ROLLED.fullmatch(self.pieces[0].name)
        if rolled:
            return rolled["app"]
        if LEGACY.fullmatch(self.pieces[0].name):  # its folder has the name
            return re.split(r"[/!]", self.pieces[0].folder)[-1]
        return re.sub(r"(\.(zstd|lz4|snappy|lzf|gz|inprogress|json))+$", "", self.pieces[0].name)


def find_logs(paths: Sequence[str | Path]) -> list[Log]:
    """Logs in files, folders and zip archives, in the order given; pieces of one log are put together.

    Raises:
        InputError: no such file, a folder without a log, or a damaged archive.
    """
    pieces: list[Piece] = []
    for written in paths:
        found = list(_pieces(Path(written), str(written)))
        if not found:
            raise InputError("holds no event log", source=str(written))
        pieces += found
    groups: dict[tuple[str, str], list[Piece]] = {}
    for index, piece in enumerate(pieces):
        rolled, legacy = ROLLED.fullmatch(piece.name), LEGACY.fullmatch(piece.name)
        own = f"#{index}"  # not a piece: a log by itself
        key = rolled["app"] if rolled else "EVENT_LOG" if legacy else own
        groups.setdefault((piece.folder, key), []).append(piece)
    return [Log(tuple(_in_order(group))) for group in groups.values()]


def _in_order(pieces: list[Piece]) -> list[Piece]:
    """Numeric order; a compacted piece stands for itself and all before it (Spark 3.0)."""
    if len(pieces) == 1:
        return pieces
    numbered = []
    for piece in pieces:
        match = ROLLED.fullmatch(piece.name) or LEGACY.fullmatch(piece.name)
        assert match is not None  # else it is alone
        compact = bool(match.groupdict().get("compact"))
        numbered.append((int(match["number"]), not compact, piece))
    numbered.sort(key=lambda entry: (*entry[:2], entry[2].name))
    first = max((number for number, plain, _ in numbered if not plain), default=-1)
    return [piece for number, plain, piece in numbered if number > first or (number == first and not plain)]


def _pieces(path: Path, source: str) -> Iterator[Piece]:
    refuse_special(path, source)
    try:
        if path.is_dir():
            for child in sorted(path.iterdir()):
                if child.is_dir() or not _OTHERS.fullmatch(child.name):
                    yield from _pieces(child, f"{source.rstrip('/')}/{child.name}")
            return
        with path.open("rb") as raw:
            magic = raw.read(4)
    except OSError as why:
        raise InputError(f"cannot be read: {why.strerror or why}", source=source) from None
    if magic != ZIP_MAGIC:
        yield Piece(path, source)
        return
    import zipfile

    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError) as why:
        raise InputError(f"damaged zip archive: {why}", source=source) from None
    for name in sorted(names):
        base = name.rpartition("/")[2]
        if base and not name.startswith("__MACOSX/") and not _OTHERS.fullmatch(base):
            yield Piece(path, source, name)


@contextmanager
def open_piece(piece: Piece) -> Iterator[IO[bytes]]:
    """The unpacked content of a piece.

    Raises:
        InputError: cannot be read, or the library for its format is not installed.
    """
    with ExitStack() as stack:
        try:
            if piece.member:
                import zipfile

                try:
                    archive = stack.enter_context(zipfile.ZipFile(piece.path))
                    raw: IO[bytes] = stack.enter_context(archive.open(piece.member))
                except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as why:
                    raise InputError(f"damaged or protected: {why}", source=piece.shown) from None
            else:
                raw = stack.enter_context(piece.path.open("rb"))
        except OSError as why:
            raise InputError(f"cannot be read: {why.strerror or why}", source=piece.shown) from None
        yield unpacked(raw, piece.shown)


def lines_of(piece: Piece, tally: Tally) -> Iterator[tuple[int, bytes]]:
    """Numbered lines of a piece, as it comes; damage ends it and is counted."""
    import zipfile

    number = 0
    with open_piece(piece) as stream:
        try:
            for line in stream:
                number += 1
                yield number, line
        except (*DAMAGE, zipfile.BadZipFile) as why:
            tally.repair(CUT, piece.shown, number + 1, detail=str(why))
