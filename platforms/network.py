"""The network of a platform: links, and the route between two hosts. Plain data; physics is in the models."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import msgspec


class Link(msgspec.Struct, frozen=True):
    """One direction of a connection, or a medium that all who cross it share.

    A SPLITDUPLEX link of a file is two of these, ``NAME_UP`` and ``NAME_DOWN`` (SimGrid 3.32).

    Attributes:
        bandwidth: bytes per second.
        latency: seconds.
        shared: True if flows share the bandwidth; False (FATPIPE) if each may use all of it.
    """

    name: str
    bandwidth: float
    latency: float
    shared: bool = True


class Route(msgspec.Struct, frozen=True):
    """How bytes get from one host to another.

    Attributes:
        links: indices into ``Network.links``, in order; a link may occur twice if it is crossed twice.
        latency: seconds, the sum over the links.
    """

    links: tuple[int, ...]
    latency: float


class Network(Protocol):
    """Links and routes of a platform; routes are found when asked for, memory stays linear in the hosts."""

    @property
    def links(self) -> tuple[Link, ...]:
        """All links; their position is their index."""
        ...

    def route(self, source: int, target: int) -> Route:
        """The route between two numbered hosts (ids of ``Platform.hosts``), from a host to itself included.

        Raises:
            InputError: the platform has no route between them.
        """
        ...


@runtime_checkable
class SureNetwork(Network, Protocol):
    """A network that knows whether a route may be missing."""

    @property
    def has_every_route(self) -> bool:
        """True if there surely is a route between any two hosts."""
        ...


class Fan(msgspec.Struct, frozen=True):
    """How one host of a star is attached, where every route of the star is ``up + middle + down``.

    The route from host a to another host b of the same star (same ``star``, ``middle`` and
    ``middle_latency``) crosses a's ``up``, the ``middle``, then b's ``down``; links may occur more than once.
    The route from a host to itself is not told by this.

    Attributes:
        star: number of the star, such as the index of its zone.
        up, middle, down: indices into ``Network.links``.
        up_latency, middle_latency, down_latency: seconds.
    """

    star: int
    up: tuple[int, ...]
    middle: tuple[int, ...]
    down: tuple[int, ...]
    up_latency: float
    middle_latency: float
    down_latency: float


@runtime_checkable
class FanNetwork(Network, Protocol):
    """A network that knows its stars, so that all-to-all traffic is counted per host, not per pair."""

    def fan(self, host: int) -> Fan | None:
        """How *host* is attached to its star, or None if it is in none."""
        ...
