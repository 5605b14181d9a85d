"""Streams as Spark packs its event logs, told apart by their first bytes.

Block formats of the Java libraries that Spark uses: zstd-jni (zstd frames), lz4-java's LZ4BlockOutputStream,
snappy-java's SnappyOutputStream, Ning's compress-lzf; also gzip and LZ4 frames, which tools of users write.
The libraries for zstd, lz4 and snappy are optional (extra ``spark``).
"""

from __future__ import annotations

import importlib
import io
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, Any, cast

from batpy.base.errors import InputError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

LZ4_BLOCK = b"LZ4Block"
LZ4_FRAME = b"\x04\x22\x4d\x18"
SNAPPY = b"\x82SNAPPY\x00"
ZSTD = b"\x28\xb5\x2f\xfd"
GZIP = b"\x1f\x8b"
LZF = b"ZV"
LONGEST_MAGIC = 8
LARGEST_BLOCK = 1 << 30
"""Bytes in one block; a larger length is damage."""


class DamagedStreamError(Exception):
    """A packed stream is cut off or damaged; what came before is good."""


DAMAGE = (EOFError, OSError, zlib.error, DamagedStreamError)
"""What reading a stream of :func:`unpacked` may raise when the file is damaged."""


def is_packed(head: bytes) -> bool:
    """True for the first bytes of a stream that :func:`unpacked` unpacks."""
    return head.startswith((LZ4_BLOCK, LZ4_FRAME, SNAPPY, ZSTD, GZIP)) or _is_lzf(head)


def unpacked(raw: IO[bytes], source: str) -> IO[bytes]:
    """The content of a stream, unpacked if it is packed, read as it comes.

    Args:
        raw: at its beginning.
        source: the file as the user named it.

    Raises:
        InputError: the library for its format is not installed.
        DamagedStreamError, EOFError, OSError: later, from reading.
    """
    stream = io.BufferedReader(cast(io.RawIOBase, raw), 1 << 16) if not hasattr(raw, "peek") else raw
    head = stream.peek(LONGEST_MAGIC)[:LONGEST_MAGIC]
    if head.startswith(ZSTD):
        library = _library("zstandard", "zstd", source)
        reader = library.ZstdDecompressor().stream_reader(stream, read_across_frames=True)
        return _buffered(_Translated(reader, library.ZstdError))
    if head.startswith(LZ4_BLOCK):
        return _blocks(_lz4_blocks(stream, _library("lz4.block", "lz4", source)))
    if head.startswith(LZ4_FRAME):
        library = _library("lz4.frame", "lz4", source)
        return _buffered(_Translated(library.open(stream), RuntimeError))
    if head.startswith(SNAPPY):
        return _blocks(_snappy_blocks(stream, _library("snappy", "snappy", source)))
    if head.startswith(GZIP):
        return _blocks(_gzip_chunks(stream))
    if _is_lzf(head):
        return _blocks(_lzf_blocks(stream))
    return stream


def _library(module: str, name: str, source: str) -> Any:
    packages = {"zstd": "zstandard", "lz4": "lz4", "snappy": "python-snappy"}
    try:
        return importlib.import_module(module)
    except ImportError:
        raise InputError(
            f"is packed with {name}: install the package {packages[name]} "
            "(pip install 'batpy-sim[spark]'), or unpack the file first",
            source=source,
        ) from None


def _is_lzf(head: bytes) -> bool:
    return head[:2] == LZF and head[2:3] in (b"\x00", b"\x01")


class _Blocks(io.RawIOBase):
    """A readable stream over chunks that a generator makes."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, target: WriteableBuffer, /) -> int:
        view = memoryview(target)
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = memoryview(chunk)
        count = min(len(view), len(self._rest))
        view[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count


class _Translated(io.RawIOBase):
    """A reader of a library whose own error becomes ours."""

    def __init__(self, reader: Any, error: type[Exception]) -> None:
        self._reader = reader
        self._error = error

    def readable(self) -> bool:
        return True

    def readinto(self, target: WriteableBuffer, /) -> int:
        try:
            return int(self._reader.readinto(target))
        except self._error as why:
            raise DamagedStreamError(str(why)) from None


def _buffered(raw: Any) -> IO[bytes]:
    return io.BufferedReader(raw, 1 << 18)


def _blocks(chunks: Iterator[bytes]) -> IO[bytes]:
    return _buffered(_Blocks(chunks))


def _exactly(stream: IO[bytes], count: int, *, may_end: bool = False) -> bytes:
    if not 0 <= count <= LARGEST_BLOCK:
        raise DamagedStreamError(f"a block of {count} bytes")
    data = stream.read(count)
    if len(data) < count and not (may_end and not data):
        raise DamagedStreamError("ends inside a block")
    return data


def _call(unpack: Callable[[], bytes], length: int | None) -> bytes:
    """What a library makes of one block; whatever it raises is damage."""
    try:
        data = unpack()
    except Exception as why:  # each library has errors of its own
        raise DamagedStreamError(str(why)) from None
    if length is not None and len(data) != length:
        raise DamagedStreamError(f"a block of {len(data)} bytes instead of {length}")
    return data


def _gzip_chunks(stream: IO[bytes]) -> Iterator[bytes]:
    """Gzip members; unlike ``gzip.GzipFile``, what comes before a cut is not lost."""
    data = stream.read(1 << 16)
    while data:
        member = zlib.decompressobj(wbits=31)
        while not member.eof:
            if not data:
                raise DamagedStreamError("ends inside a gzip member")
            yield member.decompress(data)
            data = member.unused_data or stream.read(1 << 16)
        data = data.lstrip(b"\0")  # padding is legal after a member


def _lz4_blocks(stream: IO[bytes], library: Any) -> Iterator[bytes]:
    """lz4-java: magic, token, packed length, length, checksum, data; an empty block ends a member."""
    while header := _exactly(stream, 21, may_end=True):
        magic, token, packed, length, _ = struct.unpack("<8sBiiI", header)
        method = token & 0xF0
        if magic != LZ4_BLOCK or method not in (0x10, 0x20) or length > LARGEST_BLOCK:
            raise DamagedStreamError("not an LZ4 block")
        data = _exactly(stream, packed)
        if not length:
            continue  # the end of one member; Spark appends further ones
        if method == 0x10:
            yield data
        else:
            yield _call(lambda: library.decompress(data, uncompressed_size=length), length)  # noqa: B023


def _snappy_blocks(stream: IO[bytes], library: Any) -> Iterator[bytes]:
    """snappy-java: a header of 16 bytes, then blocks, each after its length; members may follow."""
    while size := _exactly(stream, 4, may_end=True):
        if size == SNAPPY[:4]:
            if not (size + _exactly(stream, 12)).startswith(SNAPPY):
                raise DamagedStreamError("not a Snappy header")
            continue
        data = _exactly(stream, struct.unpack(">i", size)[0])
        yield _call(lambda: bytes(library.uncompress(data)), None)  # noqa: B023


def _lzf_blocks(stream: IO[bytes]) -> Iterator[bytes]:
    """compress-lzf: ``ZV``, 0 or 1, length; if packed also the unpacked length; data."""
    while header := _exactly(stream, 5, may_end=True):
        magic, kind, count = struct.unpack(">2sBH", header)
        if magic != LZF or kind > 1:
            raise DamagedStreamError("not an LZF block")
        if not kind:
            yield _exactly(stream, count)
            continue
        (length,) = struct.unpack(">H", _exactly(stream, 2))
        data = _exactly(stream, count)
        yield _call(lambda: _lzf(data), length)  # noqa: B023


def _lzf(data: bytes) -> bytes:
    """One packed LZF block: runs of literals, and copies of what was written before."""
    out = bytearray()
    at = 0
    while at < len(data):
        control = data[at]
        at += 1
        if control < 32:
            out += data[at : at + control + 1]
            at += control + 1
            continue
        length = control >> 5
        if length == 7:
            length += data[at]
            at += 1
        back = len(out) - ((control & 31) << 8 | data[at]) - 1
        at += 1
        if back < 0:
            raise DamagedStreamError("a copy from before the block")
        for index in range(back, back + length + 2):  # may overlap what it writes
            out.append(out[index])
    return bytes(out)
