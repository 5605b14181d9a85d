"""What every transport offers to the two sides of a conversation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from batpy.protocol.messages import Message


class Core(Protocol):
    """A pure process core that answers: a scheduler or a broker. Knows no socket and no wall clock."""

    def handle(self, message: Message, /) -> Message:
        """Take one request, give its reply."""
        ...


class Link(Protocol):
    """The asking side of a conversation."""

    def ask(self, message: Message, /) -> Message:
        """Send a request and return its reply.

        Raises:
            PeerError: nobody answered within the link's deadline.
            RemoteProtocolError: the reply is malformed or illegal.
        """
        ...

    def close(self) -> None:
        """Give back what the link holds; never waits."""
        ...


class InProcessLink:
    """Calls a core directly: objects pass as they are, nothing is serialised."""

    def __init__(self, core: Core) -> None:
        self.ask: Callable[[Message], Message] = core.handle

    def close(self) -> None:
        """Nothing to give back."""
