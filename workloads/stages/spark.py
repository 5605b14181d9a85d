"""Importer of Spark event logs (Spark 2.2 to 3.5 and what vendors make of it).

One JSON object a line; files may be packed, rolled, cut off (``containers``). Events that are not needed,
those of extensions among them, are passed over without being parsed: only their line must be whole.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from batpy.base.errors import InputError
from batpy.workloads.stages import spark_events as events
from batpy.workloads.stages.containers import Log, find_logs, lines_of
from batpy.workloads.stages.graph import Application
from batpy.workloads.stages.spark_log import SparkLog
from batpy.workloads.stages.tally import Tally

MALFORMED = "line that is not a Spark event in JSON"
WRONG_FIELD = "event with a missing or malformed field"
CUT_LINE = "last line cut off"

_NAME = re.compile(rb'\s*\{\s*"Event"\s*:\s*"([^"\\]*)"')
_DECODERS = {
    name: msgspec.json.Decoder(kind)
    for name, kind in {
        b"SparkListenerApplicationStart": events.ApplicationStart,
        b"SparkListenerApplicationEnd": events.ApplicationEnd,
        b"SparkListenerEnvironmentUpdate": events.Environment,
        b"SparkListenerResourceProfileAdded": events.ProfileAdded,
        b"SparkListenerExecutorAdded": events.ExecutorAdded,
        b"SparkListenerExecutorRemoved": events.ExecutorRemoved,
        b"SparkListenerJobStart": events.JobStart,
        b"SparkListenerJobEnd": events.JobEnd,
        b"SparkListenerStageSubmitted": events.StageEvent,
        b"SparkListenerStageCompleted": events.StageEvent,
        b"SparkListenerTaskEnd": events.TaskEnd,
    }.items()
}


class _Named(msgspec.Struct):
    name: str = msgspec.field(name="Event")


_NAMED = msgspec.json.Decoder(_Named)


def read_spark(paths: Sequence[str | Path], tally: Tally, *, keep_tasks: bool = False) -> list[Application]:
    """Read event logs: files, folders and zip archives; one application a log.

    Args:
        tally: takes the account; in strict mode the first flaw is refused.
        keep_tasks: keep the wall time of each task (``durations_us``).

    Raises:
        InputError: unreadable, no event log, or a flaw in strict mode, with file and line.
    """
    return [_read_log(log, tally, keep_tasks) for log in find_logs(paths)]


def _read_log(log: Log, tally: Tally, keep_tasks: bool) -> Application:
    state = SparkLog(log.source, log.label, tally, keep_tasks)
    seen = 0
    for piece in log.pieces:
        state.source = piece.shown
        last: tuple[int, bytes, msgspec.DecodeError] | None = None
        for number, line in lines_of(piece, tally):
            if last is not None:
                _malformed(piece.shown, last, tally)
                last = None
            try:
                seen += _take(state, line, number)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as why:
                error = why if isinstance(why, msgspec.DecodeError) else msgspec.DecodeError(str(why))
                last = number, line, error
        if last is not None:
            _malformed(piece.shown, last, tally, final=not last[1].endswith(b"\n"))
    state.source = log.source
    if not seen:
        problem = "not a Spark event log: no line is an event such as SparkListenerApplicationStart"
        raise InputError(problem, source=log.source)
    return state.application()


def _take(state: SparkLog, line: bytes, number: int) -> int:
    """Take the event of a line; 0 for a blank one."""
    match = _NAME.match(line)
    if match is not None:
        decoder = _DECODERS.get(match[1])
        if decoder is None:
            # Not parsed, so at least it must end as an object does.
            if not line.rstrip().endswith(b"}"):
                raise msgspec.DecodeError("the object does not end")
            return 1
    else:
        if not line.strip():
            return 0
        name = _NAMED.decode(line).name
        decoder = _DECODERS.get(name.encode())
        if decoder is None:
            return 1
    state.take(decoder.decode(line), number)
    return 1


def _malformed(
    source: str, what: tuple[int, bytes, msgspec.DecodeError], tally: Tally, *, final: bool = False
) -> None:
    number, _, why = what
    if isinstance(why, msgspec.ValidationError):
        tally.skip(WRONG_FIELD, source, number, detail=str(why).replace("`$.", "`"))
    else:
        tally.skip(CUT_LINE if final else MALFORMED, source, number, detail=str(why))
