"""Tables and summary made by a process beside the simulator, from the journal's own bytes.

On a machine with two cores this takes their cost off the run. The journal is not affected: it is written by
the simulator's process, and whatever happens to this one, tables and summary can be made from it again.
"""

from __future__ import annotations

import os
import signal
import struct
import threading
from pathlib import Path
from typing import BinaryIO

import msgspec

from batpy.base.errors import BatpyError
from batpy.protocol.records import AnyRecord
from batpy.results.fold import JobFold
from batpy.results.summary import SUMMARY, SummaryBuilder, Trim
from batpy.results.tables import TableWriter
from batpy.results.timing import Timing

# A frame: its length, then records as one MessagePack array, or after a length of 0 the timing as JSON.
_LENGTH = struct.Struct("=I")
_PIPE_BYTES = 1 << 20


def is_possible() -> bool:
    """True where a second core is free for it and the process can be copied safely."""
    has_fork = hasattr(os, "fork") and hasattr(os, "sched_getaffinity")
    return has_fork and len(os.sched_getaffinity(0)) > 1 and threading.active_count() == 1


class TableProcess:
    """The simulator's end: sends records, and learns at the end whether the tables are there.

    Args:
        folder: where the tables go; it must exist.
        trim: what the metrics leave out at both ends.
    """

    def __init__(self, folder: Path, trim: Trim) -> None:
        reading, writing = os.pipe()
        self._pid = os.fork()
        if not self._pid:
            os.close(writing)
            _be_the_process(reading, folder, trim)
        os.close(reading)
        self._pipe: BinaryIO | None = os.fdopen(writing, "wb", buffering=0)

    def send(self, records: bytes | None) -> None:
        """Pass on records, as one MessagePack array; without them (None) the process is given up."""
        if self._pipe is None:
            return
        if records is None:
            self._give_up()
            return
        try:
            self._write(_LENGTH.pack(len(records)), records)
        except OSError:
            self._give_up()

    def finish(self, timing: Timing | None) -> bool:
        """Wait for the tables; False if they have to be made from the journal instead."""
        if self._pipe is None:
            return False
        try:
            self._write(_LENGTH.pack(0), msgspec.json.encode(timing or Timing()))
        except OSError:
            self._give_up()
            return False
        self._pipe.close()
        self._pipe = None
        return os.waitpid(self._pid, 0)[1] == 0

    def _write(self, *parts: bytes) -> None:
        assert self._pipe is not None
        for part in parts:
            view = memoryview(part)
            while view:
                view = view[self._pipe.write(view) :]

    def _give_up(self) -> None:
        if self._pipe is not None:
            os.kill(self._pid, signal.SIGKILL)
            self._pipe.close()
            self._pipe = None
            os.waitpid(self._pid, 0)


def _be_the_process(reading: int, folder: Path, trim: Trim) -> None:
    """The other end, in the copied process; never returns."""
    code = 1
    try:
        # Who interrupts a run means the simulator: it closes the pipe, and the tables so far are finished.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        with os.fdopen(reading, "rb", buffering=_PIPE_BYTES) as pipe:
            _make_tables(pipe, folder, trim)
        code = 0
    except (BatpyError, OSError, msgspec.MsgspecError):
        pass  # the simulator's process makes the tables from the journal, and says what is wrong
    finally:
        os._exit(code)


def _make_tables(pipe: BinaryIO, folder: Path, trim: Trim) -> None:
    fold = JobFold(keep_busy_steps=not trim.is_nothing)
    tables, summary = TableWriter(folder, fold), SummaryBuilder(fold, trim)
    decode = msgspec.msgpack.Decoder(list[AnyRecord]).decode
    timing = Timing()
    while head := pipe.read(_LENGTH.size):
        (length,) = _LENGTH.unpack(head)
        if not length:
            timing = msgspec.json.decode(pipe.read(), type=Timing)
            break
        fold.write_many(decode(pipe.read(length)))
    tables.close(timing)
    if fold.begins is not None:
        summary.result().write(folder / SUMMARY)
