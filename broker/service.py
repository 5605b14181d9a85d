"""The shell of a broker: it passes messages between the core and its peers, in process or over links.

All tenants that have news are posted to first, then their replies are collected in order of rank: they work
at the same time, and who is faster decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from batpy.base.errors import BatpyError
from batpy.broker.core import Asks, BrokerCore, Reply
from batpy.protocol.messages import Message
from batpy.transport.link import Link


@runtime_checkable
class SplitLink(Protocol):
    """A link whose request and reply are two calls."""

    def post(self, message: Message, /) -> None:
        """Send a request."""

    def collect(self) -> Message:
        """The reply to it."""


class Broker:
    """A broker that answers like a scheduler. A ``Core``.

    Args:
        core: decides.
        links: to the tenants, by rank.
    """

    def __init__(self, core: BrokerCore, links: Sequence[Link]) -> None:
        self.core = core
        self._links = links
        self._split = [link if isinstance(link, SplitLink) else None for link in links]

    def handle(self, message: Message, /) -> Message:
        """Answer one request of the simulator.

        Raises:
            BatpyError: a tenant failed, or the simulator said something that cannot be.
        """
        steps = self.core.steps(message)
        try:
            asks = next(steps)
            while True:
                asks = steps.send(self._ask(asks))
        except StopIteration as done:
            reply: Message = done.value
            return reply
        except BatpyError as why:
            self.core.finish("peer_lost" if why.exit_code == 3 else "refused", str(why))
            raise

    def _ask(self, asks: Asks) -> list[Reply]:
        if len(asks) == 1:
            rank, message = asks[0]
            try:
                return [self._links[rank].ask(message)]
            except BatpyError as why:
                return [why]
        replies: list[Reply] = []
        failed: dict[int, BatpyError] = {}
        for rank, message in asks:
            link = self._split[rank]
            if link is not None:
                try:
                    link.post(message)
                except BatpyError as why:
                    failed[rank] = why
        for rank, message in asks:
            link = self._split[rank]
            try:
                if rank in failed:
                    raise failed[rank]
                replies.append(link.collect() if link is not None else self._links[rank].ask(message))
            except BatpyError as why:
                replies.append(why)
        return replies

    def close(self) -> None:
        """Close the links to the tenants."""
        for link in self._links:
            link.close()
