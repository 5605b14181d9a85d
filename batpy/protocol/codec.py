"""What a codec is, and how a replier follows the requester's choice of codec.

The requester chooses; the first byte of a message tells the two formats apart.
"""

from __future__ import annotations

from typing import Literal, Protocol

from batpy.base.errors import InputError
from batpy.protocol.json_codec import DEFAULT_TICKS_PER_SECOND, JsonCodec
from batpy.protocol.messages import Message
from batpy.protocol.packed_codec import PackedCodec

CodecName = Literal["json", "msgpack"]


class Codec(Protocol):
    """Message to bytes and back, and nothing else.

    Attributes:
        ticks_per_second: resolution of the run; follows the offer of a SIMULATION_BEGINS.
    """

    ticks_per_second: int

    @property
    def name(self) -> str: ...

    def encode_message(self, message: Message, /) -> bytes:
        """Raises LocalProtocolError for what cannot be said."""
        ...

    def decode_message(self, data: bytes, /) -> Message:
        """Raises RemoteProtocolError for what is malformed."""
        ...


def codec_of(first_bytes: bytes) -> CodecName:
    """Format of a message, by its first byte: a MessagePack array header, or anything else (JSON)."""
    first = first_bytes[0] if first_bytes else 0
    return "msgpack" if 0x90 <= first <= 0x9F or first in (0xDC, 0xDD) else "json"


def make_codec(
    name: str, ticks_per_second: int = DEFAULT_TICKS_PER_SECOND, *, float6: bool = False
) -> JsonCodec | PackedCodec:
    """The codec of that name, ``json`` or ``msgpack``.

    Raises:
        InputError: another name, or six decimals asked of MessagePack.
    """
    if name == "json":
        return JsonCodec(ticks_per_second, float6)
    if name == "msgpack" and not float6:
        return PackedCodec(ticks_per_second)
    if name == "msgpack":
        raise InputError("six-decimal numbers exist in codec json only", path="codec")
    raise InputError(f"unknown codec {name!r}, known are json and msgpack", path="codec")


class AnyCodec:
    """A replier's codec: reads either format, and answers in the format of the last message read."""

    def __init__(self, ticks_per_second: int = DEFAULT_TICKS_PER_SECOND, float6: bool = False) -> None:
        self._codecs: dict[str, JsonCodec | PackedCodec] = {
            "json": JsonCodec(ticks_per_second, float6),
            "msgpack": PackedCodec(ticks_per_second),
        }
        self._last = self._codecs["json"]

    @property
    def name(self) -> str:
        """Format of the last message read."""
        return self._last.name

    @property
    def ticks_per_second(self) -> int:
        """Resolution of the run, as last heard."""
        return self._last.ticks_per_second

    @ticks_per_second.setter
    def ticks_per_second(self, value: int) -> None:
        for codec in self._codecs.values():
            codec.ticks_per_second = value

    def decode_message(self, data: bytes) -> Message:
        """See ``Codec``; the next answers use the format of *data*."""
        chosen = self._codecs[codec_of(data)]
        if chosen is not self._last:
            chosen.ticks_per_second = self._last.ticks_per_second
            self._last = chosen
        return chosen.decode_message(data)

    def encode_message(self, message: Message) -> bytes:
        """See ``Codec``."""
        return self._last.encode_message(message)
