"""Messages as Batsim's JSON: its names, its structure, dates in seconds.

Reading ignores unknown members and refuses what is missing or mistyped; every refusal says which event,
which field, which rule. Dates round to the nearest tick. Source: Batsim 4.2.1.
"""

from __future__ import annotations

import re
from functools import reduce
from operator import or_
from typing import Any

import msgspec

from batpy.base.dates import EXACT, nearest_tick
from batpy.base.errors import LocalProtocolError, RemoteProtocolError, one_line
from batpy.protocol.forms import MAX_BYTES, MAX_TICK, MAX_TICKS_PER_SECOND, RULES, FormError
from batpy.protocol.json_shapes import READERS, WRITERS, Seconds
from batpy.protocol.messages import Event, Message, SimulationBegins

DEFAULT_TICKS_PER_SECOND = 1_000_000


class _Said(msgspec.Struct):
    """One event as written, in Batsim's order of keys."""

    timestamp: float
    type: str
    data: Any


class _Envelope(msgspec.Struct):
    now: float
    events: list[_Said]


_Received: Any = msgspec.defstruct(
    "Received",
    [("now", Seconds), ("events", list[reduce(or_, READERS)])],  # type: ignore[misc]
)
_BEGINS = next(said for said, (kind, _) in READERS.items() if kind is SimulationBegins)
# What msgspec and Python raise on hostile bytes: malformed or mistyped, not UTF-8, nested without end.
_UNREADABLE = (msgspec.MsgspecError, UnicodeError, RecursionError, OverflowError)


class JsonCodec:
    """Reads and writes messages as Batsim's JSON.

    Args:
        ticks_per_second: the run's resolution. A SIMULATION_BEGINS that carries the ``batpy`` key, said or
            heard, replaces it from that message on.
        float6: print every number that is not an integer with exactly six decimals, as Batsim does; dates
            are then exact to 1 us only, smaller values of user objects are lost.
    """

    name = "json"

    def __init__(self, ticks_per_second: int = DEFAULT_TICKS_PER_SECOND, float6: bool = False) -> None:
        self.ticks_per_second = ticks_per_second
        self.float6 = float6
        # Date of the last message written: the tick, and the number that stood for it.
        self._said = (0, 0.0)
        self._decode = msgspec.json.Decoder(_Received).decode
        self._encode = msgspec.json.Encoder().encode

    def encode_message(self, message: Message) -> bytes:
        """One UTF-8 JSON text; equal messages give equal bytes.

        Raises:
            LocalProtocolError: an event is none of the vocabulary, or holds what JSON cannot say.
        """
        events = message.events
        if events and type(events[0]) is SimulationBegins and events[0].batpy is not None:
            self.ticks_per_second = events[0].batpy.ticks_per_second
        ticks_per_second = self.ticks_per_second
        said = []
        try:
            for event in events:
                name, write = WRITERS[type(event)]
                said.append(_Said(event.timestamp / ticks_per_second, name, write(event, ticks_per_second)))
            now = message.now / ticks_per_second
            self._said = (message.now, round(now, 6) if self.float6 else now)
            envelope = _Envelope(now, said)
            if self.float6:
                return self._encode(_with_six_decimals(msgspec.to_builtins(envelope)))
            return self._encode(envelope)
        except (*_UNREADABLE, KeyError, TypeError, ValueError, ArithmeticError) as error:
            index = min(len(said), len(events) - 1)
            problem = f"{type(error).__name__}: {error}"
            raise LocalProtocolError(f"events[{index}] cannot be written as JSON: {problem}") from error

    def decode_message(self, data: bytes) -> Message:
        """Read one message.

        Raises:
            RemoteProtocolError: naming event index, type, field and rule.
        """
        if len(data) > MAX_BYTES:
            raise RemoteProtocolError(f"a message of {len(data)} bytes is larger than {MAX_BYTES}")
        try:
            received = self._decode(data)
        except _UNREADABLE as error:
            raise RemoteProtocolError(_explain(data, error)) from None
        said = received.events
        if said and type(said[0]) is _BEGINS:
            self._adopt(said[0].data)
        return self._translate(data, received.now, said)

    def _adopt(self, begins: Any) -> None:
        """Use the resolution that a SIMULATION_BEGINS offers; a bad one is refused when it is translated."""
        offer = begins.batpy
        if offer is not None and 1 <= offer.ticks_per_second <= MAX_TICKS_PER_SECOND:
            self.ticks_per_second = offer.ticks_per_second

    def _translate(self, data: bytes, now_seconds: float, said: list[Any]) -> Message:
        ticks_per_second = self.ticks_per_second
        exact = now_seconds * ticks_per_second
        if exact > MAX_TICK:
            raise RemoteProtocolError(f"now: {now_seconds!r} s is out of range")
        now = round(exact) if exact < EXACT else nearest_tick(now_seconds, ticks_per_second)
        if now < self._said[0] and now_seconds >= self._said[1]:
            # The number we said ourselves, back from the peer: coarser than a tick far from 0.
            now = self._said[0]
        events: list[Event] = []
        index = 0
        try:
            for index, one in enumerate(said):
                seconds = one.timestamp
                ticks = now
                if seconds < now_seconds:
                    ticks = min(nearest_tick(seconds, ticks_per_second), now)
                elif seconds > now_seconds and seconds * ticks_per_second > now + 0.5:
                    # Noise below half a tick passes; the very same number does, however it is rounded.
                    problem = f"{seconds!r} is later than the message's now {now_seconds!r}"
                    raise RemoteProtocolError(_place(data, index, "timestamp", problem))
                kind, read = READERS[type(one)]
                event = read(ticks, one.data, ticks_per_second)
                if event is not None:
                    if kind in RULES:
                        RULES[kind](event)
                    events.append(event)
        except FormError as error:
            path = f"data.{error.path}".rstrip(".")
            raise RemoteProtocolError(_place(data, index, path, error.problem)) from None
        return Message(now, events)


def _with_six_decimals(tree: Any) -> Any:
    """The same tree with every float replaced by its text in Batsim's format."""
    if isinstance(tree, float):
        return msgspec.Raw(b"%.6f" % tree)
    if isinstance(tree, dict):
        return {key: _with_six_decimals(value) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [_with_six_decimals(value) for value in tree]
    return tree


# --------------------------------------------------------------------------- refusals in one line

_AT = re.compile(r"^(?P<problem>.*?)(?: - at `\$\.?(?P<path>.*)`)?$", re.DOTALL)
_MISSING = re.compile(r"^Object missing required field `(?P<name>.*)`$")
_EVENT = re.compile(r"^events\[(?P<index>\d+)\]\.?(?P<rest>.*)$")


def _explain(data: bytes, error: Exception) -> str:
    """Turn the decoder's complaint into index, type, field and rule."""
    if isinstance(error, RecursionError):
        return "the message is nested too deeply"
    if not isinstance(error, msgspec.ValidationError):
        return f"the message is not JSON: {error}"
    parts = _AT.match(str(error))
    assert parts is not None  # the pattern matches any text
    path, problem = parts["path"] or "", parts["problem"]
    missing = _MISSING.match(problem)
    if missing is not None:
        path, problem = f"{path}.{missing['name']}".lstrip("."), "is missing"
    elif problem:
        problem = problem[0].lower() + problem[1:]
    event = _EVENT.match(path)
    if event is None:
        return f"{path}: {problem}" if path else f"the message: {problem}"
    if event["rest"] == "type" and problem.startswith("invalid value"):
        problem = "no event of this protocol has that name"
    return _place(data, int(event["index"]), event["rest"], problem)


def _place(data: bytes, index: int, path: str, problem: str) -> str:
    """``events[2] EXECUTE_JOB: data.alloc: '3-1' ends before it begins``."""
    name = ""
    try:
        name = msgspec.json.decode(data)["events"][index]["type"]
    except (*_UNREADABLE, LookupError, TypeError):
        pass  # the event has no readable type: its index must do
    head = f"events[{index}]" + (f" {name}" if isinstance(name, str) and name else "")
    return one_line(": ".join(part for part in (head, path, problem) if part))
