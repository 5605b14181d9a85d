"""An in-memory link that sends every message through a real codec: what processes see, without sockets."""

from __future__ import annotations

from batpy.protocol.codec import AnyCodec, Codec
from batpy.protocol.conversation import Conversation, Speaker
from batpy.protocol.messages import Message
from batpy.transport.link import Core


class EncodedLink:
    """Calls a core directly, but with bytes in between and the conversation watched on both sides.

    Args:
        core: who answers.
        codec: the requester's; the far side answers in the same format with a codec of its own.
        speaker: the requester's role.
    """

    def __init__(self, core: Core, codec: Codec, speaker: Speaker = Speaker.SIMULATOR) -> None:
        self._core = core
        self._near: Codec = codec
        self._far: Codec = AnyCodec()
        self._asking = Conversation(speaker, Speaker.SCHEDULER)
        self._answering = Conversation(Speaker.SCHEDULER, Speaker.BROKER)

    def ask(self, message: Message) -> Message:
        """See ``Link``."""
        self._asking.say(message)
        request = self._far.decode_message(self._near.encode_message(message))
        self._answering.hear(request)
        answer = self._core.handle(request)
        self._answering.say(answer)
        reply = self._near.decode_message(self._far.encode_message(answer))
        self._asking.hear(reply)
        return reply

    def close(self) -> None:
        """Nothing to give back."""
