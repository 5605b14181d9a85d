"""The laws of ML serving, checked on records one by one: nothing is lost, nothing happens twice.

Shares no code with the emulated workers. Every request ends in exactly one way, every action has exactly one
result, and a GPU copies one model and runs one batch at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from batpy.base.serving import NANOS
from batpy.protocol.records import (
    ActionAsked,
    ActionEnded,
    AnyRecord,
    Record,
    RequestArrived,
    RequestEnded,
    RunBegins,
    RunEnds,
)
from batpy.results.laws import Finding

LEFT = -1
"""Status of a request that is still queued at the end."""
# Of these a GPU does one at a time.
_SERIAL = ("LOAD_WEIGHTS", "INFER")


class RequestCount:
    """How requests ended.

    Attributes:
        arrived: all of them: the sum of the other four at the end of a run.
        refused: answered with another status than success; ``queued``: never answered.
    """

    def __init__(self) -> None:
        self.arrived = self.in_time = self.late = self.refused = self.queued = 0

    def end(self, status: int, *, in_time: bool) -> None:
        """A request ended."""
        if status == LEFT:
            self.queued += 1
        elif status:
            self.refused += 1
        elif in_time:
            self.in_time += 1
        else:
            self.late += 1

    def __str__(self) -> str:
        parts = f"{self.in_time} answered in time, {self.late} late, {self.refused} refused"
        return f"{self.arrived} requests: {parts}, {self.queued} still queued at the end"


class ServingLaws:
    """Checks records in their order; other records than those of serving pass."""

    def __init__(self) -> None:
        self.count = RequestCount()
        self._second = 1
        self._open: dict[str, RequestArrived] = {}
        self._over: set[str] = set()
        self._actions: dict[int, ActionAsked] = {}
        # End of what was done last, by host, GPU and kind of action.
        self._busy_until: dict[tuple[int, int, str], int] = {}
        # Inputs computed less those answered with success, by model.
        self._unanswered: dict[int, int] = {}
        self._checks: dict[type[Record], Callable[[Any], Iterator[Finding]]] = {
            RequestArrived: self._arrival,
            RequestEnded: self._response,
            ActionAsked: self._action,
            ActionEnded: self._result,
            RunEnds: self._closing,
        }

    def check(self, record: AnyRecord) -> Iterator[Finding]:
        """Every law the next record breaks."""
        if type(record) is RunBegins:
            self._second = record.ticks_per_second
        elif checker := self._checks.get(type(record)):
            yield from checker(record)

    def remarks(self) -> Iterator[str]:
        """How the requests ended, if there were any."""
        if self.count.arrived:
            yield str(self.count)

    def _nanos(self, record: AnyRecord) -> int:
        return record.time * NANOS // self._second

    def _arrival(self, record: RequestArrived) -> Iterator[Finding]:
        if record.request in self._open or record.request in self._over:
            yield _finding("request-twice", record.request, record, "it has arrived before")
        self._open[record.request] = record
        self.count.arrived += 1

    def _response(self, record: RequestEnded) -> Iterator[Finding]:
        request = self._open.pop(record.request, None)
        if request is None:
            over = record.request in self._over
            text = "it has ended before" if over else "it has not arrived"
            yield _finding(
                "request-ends-twice" if over else "response-to-nothing", record.request, record, text
            )
            return
        self._over.add(record.request)
        self.count.end(record.status, in_time=self._nanos(record) <= request.deadline)
        if not record.status:
            left = self._unanswered.get(request.model, 0) - request.batch
            self._unanswered[request.model] = left
            if left < 0:
                text = f"answered with success, but model {request.model} has computed {-left} too few"
                yield _finding("answer-from-nowhere", record.request, record, text)
                self._unanswered[request.model] = 0

    def _action(self, record: ActionAsked) -> Iterator[Finding]:
        if record.id in self._actions:
            yield _finding("action-twice", f"action {record.id}", record, "one of this id has no result yet")
        self._actions[record.id] = record

    def _result(self, record: ActionEnded) -> Iterator[Finding]:
        subject = f"action {record.id}"
        asked = self._actions.pop(record.id, None)
        if asked is None or asked.host != record.host:
            yield _finding("result-of-nothing", subject, record, f"host {record.host} has no such action")
            return
        if not self._nanos(asked) <= record.sent <= self._nanos(record):
            text = f"over at {record.sent} ns, outside the time between its action and its result"
            yield _finding("result-at-wrong-time", subject, record, text)
        if record.begin < 0 or record.status:
            return
        if not self._nanos(asked) <= record.begin <= record.end <= record.sent:
            text = f"from {record.begin} to {record.end} ns, told at {record.sent} ns"
            yield _finding("result-at-wrong-time", subject, record, text)
        if asked.action in _SERIAL:
            lane = (asked.host, asked.gpu, asked.action)
            if record.begin < self._busy_until.get(lane, 0):
                text = f"GPU {asked.gpu} of host {asked.host} was busy until {self._busy_until[lane]} ns"
                yield _finding("gpu-does-two-things", subject, record, text)
            self._busy_until[lane] = record.end
        if asked.action == "INFER":
            self._unanswered[asked.model] = self._unanswered.get(asked.model, 0) + asked.batch

    def _closing(self, record: RunEnds) -> Iterator[Finding]:
        if record.outcome != "done":
            return
        for request in self._open:
            yield _finding("request-without-end", request, record, "the run is done")
        for id_, asked in self._actions.items():
            text = f"{asked.action} of tick {asked.time}, the run is done"
            yield _finding("action-without-result", f"action {id_}", record, text)


def _finding(rule: str, subject: str, record: AnyRecord, text: str) -> Finding:
    return Finding(rule, subject, text, record.time)
