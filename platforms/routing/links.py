"""Link numbers of a platform: blocks of links that are made together are numbered by arithmetic."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from batpy.platforms.network import Link

# SimGrid 3.32: from a host to itself where nothing else is said; 10 GB/s, no latency, not shared.
LOOPBACK = Link("__loopback__", 1e10, 0.0, shared=False)


class Block(Protocol):
    """Links that are made together; the objects exist only once somebody asks for them."""

    def __len__(self) -> int: ...

    def make(self) -> Sequence[Link]:
        """All of them, in the order of their numbers."""
        ...


class ListedLinks:
    """Links that were written one by one."""

    def __init__(self) -> None:
        self._links: list[Link] = []

    def __len__(self) -> int:
        return len(self._links)

    def append(self, link: Link) -> int:
        """Add *link* and return its number within the block."""
        self._links.append(link)
        return len(self._links) - 1

    def make(self) -> Sequence[Link]:
        return self._links


class PrivateLinks:
    """Links of hosts that are all alike: *per_host* kinds for each of *labels*, then those they share.

    Args:
        labels: what tells the hosts apart in the names of links.
        kinds: for each link of a host, the link with the place of the label as ``{}`` in its name.
        common: links that are there once.
    """

    def __init__(self, labels: Collection[str], kinds: Sequence[Link], common: Sequence[Link] = ()) -> None:
        self._labels = labels
        self._kinds = kinds
        self._common = common

    def __len__(self) -> int:
        return len(self._labels) * len(self._kinds) + len(self._common)

    def make(self) -> Sequence[Link]:
        made = []
        for label in self._labels:
            for kind in self._kinds:
                before, after = kind.name.split("{}")
                made.append(Link(before + label + after, kind.bandwidth, kind.latency, kind.shared))
        return [*made, *self._common]


class LinkTable:
    """All links of a platform, block after block."""

    def __init__(self) -> None:
        self._blocks: list[Block] = []
        self._count = 0
        self._made: tuple[Link, ...] | None = None

    def __len__(self) -> int:
        return self._count

    def add(self, block: Block) -> int:
        """Number the links of *block*; no link may join it later. Returns the number of its first link."""
        first = self._count
        self._blocks.append(block)
        self._count += len(block)
        self._made = None
        return first

    def make(self) -> tuple[Link, ...]:
        """All links in the order of their numbers; made once."""
        if self._made is None:
            self._made = tuple([link for block in self._blocks for link in block.make()])
            assert len(self._made) == self._count
        return self._made
