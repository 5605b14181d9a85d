"""The file that holds a journal: records of one family in the order they happened, as MessagePack.

A plain sequence of MessagePack arrays. The first is ``[magic, version]``, each of the others is one record:
its tag, then its fields in the order of its class. Nothing in it depends on the machine: equal runs give
equal bytes. An integer that MessagePack cannot hold (a date beyond 2**63 ticks) is written as an extension of
type 1, its decimal digits.

A family is a pair of subclasses: ``batpy.results.journal`` is the simulator's, ``sharing_journal`` the
broker's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Generic, TypeVar

import msgspec

from batpy.base.errors import InputError, one_line
from batpy.base.files import unwritable
from batpy.protocol.records import Record

SHARING_JOURNAL = "sharing.journal"
"""The broker's; that of the simulator is ``batpy.results.journal.JOURNAL``."""
VERSION = 1
# The writer hands its records to the system whenever this many have gathered (about 50 KiB).
BUNCH = 1024
# No record is longer: a longer one is taken for damage.
MOST_RECORD_BYTES = 64 * 1024 * 1024
# No park is larger: a larger one is taken for damage.
MOST_HOSTS = 10_000_000
BIG_INTEGER = 1

_READ_BYTES = 256 * 1024

R = TypeVar("R", bound=Record)


class RecordWriter(Generic[R]):
    """A sink that streams records to a file.

    Records are handed to the system each 1,024 records, on ``flush`` and on ``close``; what was handed over
    stays readable even if the process is killed the next moment. A record must not be changed once written:
    it may be encoded later.

    Args:
        path: the file; an older one is replaced.

    Raises:
        InputError: the file cannot be written (here and in every method).
    """

    magic: ClassVar[str]

    def __init__(self, path: str | Path) -> None:
        self._path = str(path)
        self._pending: list[R] = []
        self._failure: InputError | None = None
        self._encode = msgspec.msgpack.Encoder().encode
        try:
            self._file: BinaryIO = open(path, "wb", buffering=0)  # noqa: SIM115 - closed by close()
        except OSError as error:
            raise unwritable(self._path, error) from None
        self._put(memoryview(msgspec.msgpack.encode([self.magic, VERSION])))

    def write(self, record: R) -> None:
        """Take the next record."""
        pending = self._pending
        pending.append(record)
        if len(pending) >= BUNCH:
            self.flush()

    def write_many(self, records: Sequence[R]) -> bytes | None:
        """Take the next records and hand them to the system.

        Returns:
            the records as one MessagePack array, or None if a date is too large for plain MessagePack.
        """
        if self._pending:
            self.flush()
        return self._put_all(records)

    def flush(self) -> None:
        """Hand everything written so far to the system."""
        pending, self._pending = self._pending, []
        self._put_all(pending)

    def _put_all(self, records: Sequence[R]) -> bytes | None:
        """Write the bytes of the records one after the other.

        They are encoded as one array, whose head is then left out: a call for each costs three times more.

        Raises:
            TypeError: a record that no journal can hold; all others are written before.
        """
        try:
            data = self._encode(records)
        except (OverflowError, TypeError):
            self._put_each(records)
            return None
        count = len(records)
        # Length of an array's head in MessagePack: fixarray, array 16, array 32.
        self._put(memoryview(data)[1 if count < 16 else 3 if count < 2**16 else 5 :])
        return data

    def _put_each(self, records: Sequence[R]) -> None:
        parts: list[bytes] = []
        failure: TypeError | None = None
        for record in records:
            try:
                parts.append(self._encode_any(record))
            except TypeError as why:
                failure = why
        self._put(memoryview(b"".join(parts)))
        if failure is not None:
            raise failure

    def _encode_any(self, record: R) -> bytes:
        try:
            return self._encode(record)
        except (OverflowError, TypeError):
            return _encode_big(record)

    def _put(self, view: memoryview) -> None:
        if self._failure is not None:
            # Half a record may stand at the end: nothing may follow it, even if there is room again.
            raise self._failure
        try:
            while view:
                view = view[self._file.write(view) :]
        except OSError as error:
            self._failure = unwritable(self._path, error)
            raise self._failure from None

    def lock(self) -> None:
        """Show others that the file is being written, until it is closed or this process is over.

        See ``is_written``. Where the system offers no locks, nothing happens.
        """
        _try_lock(self._file)

    def close(self) -> None:
        """Flush and close; harmless when called again."""
        if not self._file.closed:
            try:
                self.flush()
            finally:
                self._file.close()


def is_written(path: str | Path) -> bool:
    """Does a process still hold the lock of the file's writer?"""
    try:
        with open(path, "rb") as file:
            return not _try_lock(file)
    except OSError:
        return False


def _try_lock(file: BinaryIO) -> bool:
    """Lock the file as long as it is open; False if another process has."""
    try:
        import fcntl
    except ImportError:  # not a Unix
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks
    return True


class RecordReader(Generic[R]):
    """Reads a journal record by record, in bounded memory.

    Iterate it once; then the attributes say how the file ends.

    Attributes:
        path: the file as it was named.
        records: number of records read so far.
        offset: where the last whole record ends, in bytes.
        truncated: bytes of an unfinished record at the end of the file; the mark of a killed run.
        complete: the last record is the closing marker.

    Raises:
        InputError: while iterating, for a file that is missing, no journal, or damaged; names the byte and
            the number of the record (from 1).
    """

    magic: ClassVar[str]
    family: ClassVar[Any]
    """The union of its record types."""
    closing: ClassVar[type[Record]]
    """Its closing marker."""

    def __init__(self, path: str | Path) -> None:
        self.path = self._path = str(path)
        self._decoder: msgspec.msgpack.Decoder[R] = msgspec.msgpack.Decoder(self.family)
        self.records = 0
        self.offset = 0
        self.truncated = 0
        self.complete = False

    def implausible(self, record: R) -> str:
        """What no run can have written although it decodes; "" if nothing.

        Those who read records rely on it: hosts are counted in arrays, ticks are divided by the resolution.
        """
        raise NotImplementedError

    def check(self) -> None:
        """Look at the beginning of the file only.

        Raises:
            InputError: the file is missing or is no journal.
        """
        for _ in type(self)(self.path):
            return

    def __iter__(self) -> Iterator[R]:
        try:
            with open(self._path, "rb") as file:
                yield from self._read(file)
        except OSError as error:
            why = error.strerror or str(error)
            raise InputError(f"cannot read the journal: {why}", source=self._path) from None

    def _read(self, file: BinaryIO) -> Iterator[R]:
        frames = self._frames(file)
        self._check_head(next(frames, b""))
        implausible, closing = self.implausible, self.closing
        for frame in frames:
            if self.complete:
                raise self._damaged("a record follows the closing marker", len(frame))
            record = self._decode(frame)
            if problem := implausible(record):
                raise self._damaged(problem, len(frame))
            self.records += 1
            self.complete = type(record) is closing
            yield record

    def _frames(self, file: BinaryIO) -> Iterator[bytes]:
        """The bytes of each whole MessagePack value, and ``truncated`` at the end."""
        import msgpack

        scanner = msgpack.Unpacker(max_buffer_size=MOST_RECORD_BYTES + _READ_BYTES)
        pending = b""
        while chunk := file.read(_READ_BYTES):
            try:
                scanner.feed(chunk)
            except msgpack.BufferFull:
                raise self._damaged(f"longer than {MOST_RECORD_BYTES} bytes") from None
            pending += chunk
            base = self.offset
            while True:
                try:
                    scanner.skip()
                except msgpack.OutOfData:
                    break
                except (ValueError, msgpack.UnpackException):
                    raise self._damaged("not MessagePack") from None
                end = scanner.tell()
                frame = pending[self.offset - base : end - base]
                self.offset = end
                yield frame
            pending = pending[self.offset - base :]
        self.truncated = len(pending)
        if pending:
            self._check_tail(pending)

    def _check_head(self, frame: bytes) -> None:
        try:
            head = msgspec.msgpack.decode(frame)
        except msgspec.DecodeError:
            head = None
        if not (isinstance(head, list) and len(head) == 2 and head[0] == self.magic):
            raise InputError(
                f"not a journal: it must begin with [{self.magic!r}, version]", source=self._path
            )
        if head[1] != VERSION:
            raise InputError(
                f"journal of version {head[1]!r}, this program reads version {VERSION}", source=self._path
            )

    def _check_tail(self, tail: bytes) -> None:
        """An unfinished record is the mark of a killed run; unfinished nonsense is damage."""
        try:
            self._decoder.decode(tail)
        except msgspec.ValidationError as error:
            if "ext" not in str(error):
                raise self._damaged(str(error)) from None
        except msgspec.DecodeError:
            pass

    def _decode(self, frame: bytes) -> R:
        try:
            return self._decoder.decode(frame)
        except msgspec.ValidationError as error:
            try:
                return self._decode_big(frame)
            except (msgspec.ValidationError, ValueError):
                raise self._damaged(str(error), len(frame)) from None
        except msgspec.DecodeError as error:
            raise self._damaged(str(error), len(frame)) from None

    def _damaged(self, why: str, length: int = 0) -> InputError:
        return InputError(
            f"damaged journal: {one_line(why)}",  # the decoder quotes what it found, ends of line too
            source=self._path,
            path=f"byte {self.offset - length}, record {self.records + 1}",
        )

    def _decode_big(self, frame: bytes) -> R:
        tree = msgspec.msgpack.Decoder(ext_hook=_integer).decode(frame)
        record: R = msgspec.convert(tree, self.family)
        return record


def _encode_big(record: Record) -> bytes:
    """The bytes of a record that holds an integer beyond 64 bits, or a text of a class of its own."""

    def storable(value: Any) -> Any:
        if isinstance(value, str):
            return str(value)
        if isinstance(value, int) and not -(2**63) <= value < 2**64:
            return msgspec.msgpack.Ext(BIG_INTEGER, str(value).encode())
        if isinstance(value, (list, tuple)):
            return [storable(item) for item in value]
        if isinstance(value, dict):
            return {key: storable(item) for key, item in value.items()}
        return value

    fields = [getattr(record, name) for name in record.__struct_fields__]
    return msgspec.msgpack.encode([record.__struct_config__.tag, *map(storable, fields)])


def _integer(code: int, data: memoryview) -> int:
    """An integer beyond 64 bits, read back."""
    if code != BIG_INTEGER:
        raise ValueError(f"unknown extension type {code}")
    return int(bytes(data))
