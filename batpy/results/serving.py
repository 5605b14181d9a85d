"""Tables of ML serving, ``requests.csv`` and ``actions.csv``: what a run with requests adds.

The columns that both have are named as in Clockwork's own telemetry; dates and durations are seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TextIO

from batpy.base.files import unwritable
from batpy.base.serving import NANOS
from batpy.protocol.records import ActionAsked, ActionEnded, RequestArrived, RequestEnded, RunBegins
from batpy.results.decimals import fixed_text, shortened
from batpy.results.journal import JOURNAL, JournalReader
from batpy.results.laws_serving import LEFT, RequestCount

REQUESTS = "requests.csv"
ACTIONS = "actions.csv"
SERVING_TABLES = (REQUESTS, ACTIONS)

REQUESTS_HEADER = "t,request_id,result,model_id,batch_size,arrival,latency,deadline,deadline_met\n"
ACTIONS_HEADER = (
    "t,action_id,action_type,status,worker_id,gpu_id,model_id,batch_size,"
    "worker_exec_begin,worker_exec_duration,worker_exec_complete,worker_action_received,worker_result_sent\n"
)


def write_serving_tables(folder: str | Path, into: str | Path | None = None) -> RequestCount | None:
    """Make both tables from the journal of a run; None, and no table, for one without requests and actions.

    ``t`` is the date of the answer or of the result; ``result`` is what the client was told, -1 for nothing.
    ``latency`` and ``deadline`` count from the arrival.

    Args:
        into: where the tables go, if not beside the journal.

    Raises:
        InputError: the journal cannot be read, or a table not be written.
    """
    journal, folder = Path(folder) / JOURNAL, Path(folder if into is None else into)
    fold = _Fold()
    with ExitStack() as stack:
        files: dict[str, TextIO] = {}
        try:
            for name, row in fold.rows(JournalReader(journal)):
                if not files:
                    for table, header in ((REQUESTS, REQUESTS_HEADER), (ACTIONS, ACTIONS_HEADER)):
                        files[table] = stack.enter_context(open(folder / table, "w", encoding="utf-8"))
                        files[table].write(header)
                files[name].write(row)
        except OSError as why:
            raise unwritable(folder / REQUESTS, why) from None
    return fold.count if files else None


class _Fold:
    """Turns records into rows, in the order in which requests and actions end."""

    def __init__(self) -> None:
        self.count = RequestCount()
        self._requests: dict[str, RequestArrived] = {}
        self._actions: dict[int, ActionAsked] = {}

    def rows(self, records: JournalReader) -> Iterator[tuple[str, str]]:
        """Name of the table and row."""
        second = 1
        ticks = fixed_text(1)
        for record in records:
            if type(record) is RunBegins:
                second = record.ticks_per_second
                ticks = fixed_text(second)
            elif type(record) is RequestArrived:
                self._requests[record.request] = record
                self.count.arrived += 1
            elif type(record) is RequestEnded:
                request = self._requests.pop(record.request, None)
                if request is None:
                    continue  # the laws say so
                in_time = record.time * NANOS // second <= request.deadline
                self.count.end(record.status, in_time=in_time)
                arrival = request.time * NANOS // second
                cells = (
                    shortened(ticks(record.time)),
                    _cell(record.request),
                    str(record.status),
                    str(request.model),
                    str(request.batch),
                    shortened(ticks(request.time)),
                    "" if record.status == LEFT else shortened(ticks(record.time - request.time)),
                    _seconds(request.deadline - arrival),
                    str(int(in_time and not record.status)),
                )
                yield REQUESTS, ",".join(cells) + "\n"
            elif type(record) is ActionAsked:
                self._actions[record.id] = record
            elif type(record) is ActionEnded:
                asked = self._actions.pop(record.id, None)
                if asked is not None:
                    yield ACTIONS, _action_row(shortened(ticks(record.time)), asked, record, second)


def _action_row(date: str, asked: ActionAsked, record: ActionEnded, second: int) -> str:
    done = record.begin >= 0
    numbers = (asked.gpu, asked.model, asked.batch)
    cells = (
        date,
        str(record.id),
        asked.action,
        str(record.status),
        str(record.host),
        *("" if number < 0 else str(number) for number in numbers),
        _seconds(record.begin) if done else "",
        _seconds(record.end - record.begin) if done else "",
        _seconds(record.end) if done else "",
        _seconds(asked.time * NANOS // second),
        _seconds(record.sent),
    )
    return ",".join(cells) + "\n"


def _seconds(nanos: int) -> str:
    return shortened(_NANOS_TEXT(nanos))


_NANOS_TEXT = fixed_text(NANOS)


def _cell(text: str) -> str:
    """A text as a cell; user-given names may hold anything."""
    if not any(letter in text for letter in ',"\r\n'):
        return text
    return '"' + text.replace('"', '""') + '"'
