"""Messages as MessagePack: positional arrays ``[now, [[tag, timestamp, field, ...], ...]]``, dates in ticks.

The order of the fields is the classes' own, the tags are the vocabulary's: both are append-only. On reading,
missing last fields take their defaults and surplus ones are ignored, so that both ends may differ in version.
Sets of hosts are arrays of pairs; user-given objects (job, profile, properties) stay maps.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import msgpack
import msgspec
from msgspec.structs import astuple

from batpy.base.errors import LocalProtocolError, RemoteProtocolError
from batpy.protocol.forms import MAX_BYTES, RULES, FormError, check_hosts
from batpy.protocol.hostset import HostSet
from batpy.protocol.messages import Event, IoJob, Message, SimulationBegins
from batpy.protocol.vocabulary import BY_TAG, WORDS

# MessagePack integers: 292,000 years at 1 us, 292 at 1 ns. Runs that go on for longer need JSON.
MAX_TICK = 2**63 - 1
Tick = Annotated[int, msgspec.Meta(ge=0, le=MAX_TICK)]


# --------------------------------------------------------------------------- classes as positional arrays

# Our class to its twin that msgspec reads from an array, and back.
_TWIN: dict[type, Any] = {}
_ORIGINAL: dict[Any, type] = {}


def _twin(kind: type, tag: int | None = None) -> Any:
    """The class with the same fields, read from an array (whose first element is *tag* for an event)."""
    if kind not in _TWIN:
        members: list[tuple[str, Any] | tuple[str, Any, Any]] = []
        for field in msgspec.structs.fields(kind):
            hint = Tick if field.name == "timestamp" and issubclass(kind, Event) else _twin_type(field.type)
            members.append((field.name, hint) if field.required else (field.name, hint, field.default))
        # The tag's own name is never written (arrays have none), it must only differ from every field's.
        label = None if tag is None else "_tag"
        _TWIN[kind] = msgspec.defstruct(
            f"{kind.__name__}Array", members, array_like=True, tag=tag, tag_field=label
        )
        _ORIGINAL[_TWIN[kind]] = kind
    return _TWIN[kind]


def _twin_type(hint: Any) -> Any:
    """The same type with our classes inside it replaced by their twins."""
    origin = get_origin(hint)
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return _twin(hint)
    if origin in (Union, UnionType):
        return reduce(or_, [_twin_type(one) for one in get_args(hint)])
    if origin is tuple:
        return tuple[tuple(one if one is ... else _twin_type(one) for one in get_args(hint))]  # type: ignore[misc]
    return hint


def _holds_objects(kind: type) -> bool:
    """True if a field of the class holds objects of ours, which turn into arrays too."""
    return any(_twin_type(field.type) != field.type for field in msgspec.structs.fields(kind))


def _to_arrays(value: Any) -> Any:
    """Our objects as plain arrays, at any depth; user-given objects as they are."""
    if isinstance(value, msgspec.Struct):
        return [_to_arrays(field) for field in astuple(value)]
    if isinstance(value, tuple):
        return [_to_arrays(one) for one in value]
    return value


def _from_twins(value: Any) -> Any:
    """Our objects from their twins, at any depth."""
    kind = _ORIGINAL.get(type(value))
    if kind is not None:
        return kind(*[_from_twins(field) for field in astuple(value)])
    if isinstance(value, tuple):
        return tuple([_from_twins(one) for one in value])
    return value


_EVENT_TWINS = [_twin(word.kind, word.tag) for word in WORDS]
# Tag, and whether objects of ours are inside.
_WRITE: dict[type[Event], tuple[int, bool]] = {w.kind: (w.tag, _holds_objects(w.kind)) for w in WORDS}
_READ: dict[Any, tuple[Callable[..., Event], bool]] = {
    _TWIN[w.kind]: (w.kind, _holds_objects(w.kind)) for w in WORDS
}


def _host_checks() -> dict[type[Event], tuple[str, ...]]:
    """Names of the fields that hold sets of hosts, by class."""
    table = {}
    for word in WORDS:
        fields = msgspec.structs.fields(word.kind)
        names = tuple(f.name for f in fields if f.type in (HostSet, HostSet | None))
        if names:
            table[word.kind] = names
    return table


_HOST_FIELDS = _host_checks()
# A class, since msgspec compiles those once and other types at every conversion.
_FRAME: Any = msgspec.defstruct(
    "Frame",
    [("now", Tick), ("rows", list[reduce(or_, _EVENT_TWINS)])],  # type: ignore[misc]
    array_like=True,
)
# What the two libraries raise on hostile bytes.
_UNREADABLE = (ValueError, TypeError, OverflowError, RecursionError, UnicodeError, msgspec.MsgspecError)


def _no_extension(code: int, _data: bytes) -> None:
    raise ValueError(f"extension type {code} has no meaning here")


class PackedCodec:
    """Reads and writes messages as MessagePack.

    Args:
        ticks_per_second: kept for the callers' information; dates travel as ticks. A SIMULATION_BEGINS with
            the ``batpy`` key replaces it.
    """

    name = "msgpack"

    def __init__(self, ticks_per_second: int = 1_000_000) -> None:
        self.ticks_per_second = ticks_per_second
        self._pack = msgpack.Packer(use_bin_type=True).pack

    def encode_message(self, message: Message) -> bytes:
        """One array; equal messages give equal bytes.

        Raises:
            LocalProtocolError: an event is none of the vocabulary, or holds what MessagePack cannot say.
        """
        rows = []
        try:
            for event in message.events:
                tag, nested = _WRITE[type(event)]
                fields = astuple(event)
                rows.append([tag, *_to_arrays(fields)] if nested else [tag, *fields])
            self._adopt(message)
            packed: bytes = self._pack([message.now, rows])
            return packed
        except (KeyError, *_UNREADABLE) as error:
            index = min(len(rows), len(message.events) - 1)
            problem = f"{type(error).__name__}: {error}"
            raise LocalProtocolError(
                f"events[{index}] cannot be written as MessagePack: {problem}"
            ) from error

    def decode_message(self, data: bytes) -> Message:
        """Read one message.

        Raises:
            RemoteProtocolError: naming event index, type, field and rule.
        """
        if len(data) > MAX_BYTES:
            raise RemoteProtocolError(f"a message of {len(data)} bytes is larger than {MAX_BYTES}")
        try:
            # Lengths are bounded by the size of the data; depth by the library (512 levels).
            tree = msgpack.unpackb(data, max_bin_len=0, max_ext_len=0, ext_hook=_no_extension)
        except _UNREADABLE as error:
            problem = str(error) or type(error).__name__
            raise RemoteProtocolError(f"the message is not MessagePack: {problem}") from None
        try:
            frame = msgspec.convert(tree, _FRAME)
        except _UNREADABLE as error:
            raise RemoteProtocolError(_explain(tree, error)) from None
        message = Message(frame.now, _translate(frame.now, frame.rows))
        self._adopt(message)
        return message

    def _adopt(self, message: Message) -> None:
        events = message.events
        if events and type(events[0]) is SimulationBegins and events[0].batpy is not None:
            self.ticks_per_second = events[0].batpy.ticks_per_second


def _translate(now: int, twins: list[Any]) -> list[Event]:
    events: list[Event] = []
    try:
        for twin in twins:
            make, nested = _READ[type(twin)]
            event: Event = _from_twins(twin) if nested else make(*astuple(twin))
            kind = type(event)
            if kind in _HOST_FIELDS:
                _check_host_fields(event, _HOST_FIELDS[kind])
            if kind in RULES:
                RULES[kind](event)
            if event.timestamp > now:
                raise FormError("timestamp", f"{event.timestamp} is later than the message's now {now}")
            events.append(event)
    except FormError as error:
        index = len(events)
        place = f"events[{index}] {_tag_name(twins[index])}"
        raise RemoteProtocolError(
            ": ".join(part for part in (place, error.path, error.problem) if part)
        ) from None
    return events


def _check_host_fields(event: Event, names: tuple[str, ...]) -> None:
    for name in names:
        hosts = getattr(event, name)
        if hosts is not None:
            check_hosts(name, hosts)
    io_job = getattr(event, "additional_io_job", None)
    if isinstance(io_job, IoJob):
        check_hosts("additional_io_job.alloc", io_job.alloc)


# --------------------------------------------------------------------------- refusals in one line

_AT = re.compile(r"^(?P<problem>.*?)(?: - at `\$(?P<path>.*)`)?$", re.DOTALL)
_EVENT = re.compile(r"^\[1\]\[(?P<index>\d+)\](?:\[(?P<position>\d+)\])?(?P<rest>.*)$")
_NAME_OF_TWIN = {_TWIN[word.kind]: word.name for word in WORDS}


def _tag_name(twin: Any) -> str:
    return _NAME_OF_TWIN[type(twin)]


def _explain(tree: Any, error: Exception) -> str:
    """Turn the converter's complaint into index, type, field and rule."""
    parts = _AT.match(str(error))
    assert parts is not None  # the pattern matches any text
    path, problem = parts["path"] or "", parts["problem"]
    problem = problem[:1].lower() + problem[1:]
    event = _EVENT.match(path)
    if event is None:
        names = {"[0]": "now", "[1]": "events"}
        return f"{names.get(path, 'the message')}: {problem}"
    index = int(event["index"])
    row = tree[1][index]
    head = f"events[{index}]"
    tag = row[0] if isinstance(row, list) and row else None
    word = BY_TAG.get(tag) if type(tag) is int else None
    if word is None:
        return (
            f"{head}: {problem if tag is None else f'no event of this protocol has the number {tag!r:.40}'}"
        )
    if event["position"] is None:
        return f"{head} {word.name}: {_first_missing(word.kind, row, problem)}"
    field = msgspec.structs.fields(word.kind)[int(event["position"]) - 1].name
    return f"{head} {word.name}: {field}{event['rest']}: {problem}"


def _first_missing(kind: type[Event], row: list[Any], problem: str) -> str:
    fields = msgspec.structs.fields(kind)
    position = len(row) - 1
    if position < len(fields) and fields[position].required:
        return f"{fields[position].name}: is missing"
    return problem
