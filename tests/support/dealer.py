"""A controller under test: a DEALER that talks to a real-time worker, with deadlines."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

import zmq

from batpy.base.serving import NANOS
from batpy.protocol.codec import make_codec
from batpy.protocol.extensions import ActionResult
from batpy.protocol.messages import Event, Message

DEADLINE_S = 20.0


class Dealer:
    """Sends actions, gathers what comes back."""

    def __init__(self, endpoint: str, codec: str = "msgpack") -> None:
        self._context = zmq.Context()
        self.socket = self._context.socket(zmq.DEALER)
        self.socket.linger = 0
        self.socket.connect(endpoint)
        self._codec = make_codec(codec, NANOS)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._context.destroy(linger=0)

    def say(self, *events: Event) -> None:
        self.socket.send(self._codec.encode_message(Message(0, list(events))))

    def hear(self) -> Message:
        if not self.socket.poll(int(DEADLINE_S * 1000)):
            raise AssertionError("the worker said nothing")
        return self._codec.decode_message(self.socket.recv())

    def results(self, count: int) -> list[ActionResult]:
        """The next *count* results, in their order."""
        found: list[ActionResult] = []
        end = time.monotonic() + DEADLINE_S
        while len(found) < count and time.monotonic() < end:
            for event in self.hear().events:
                assert isinstance(event, ActionResult)
                found.append(event)
        assert len(found) == count
        return found
