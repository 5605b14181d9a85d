"""The names of a platform file: nodes, zones and links, each defined once; hosts of clusters by number."""

from __future__ import annotations

from collections.abc import Collection

from batpy.base.errors import InputError
from batpy.platforms.routing.links import LinkTable
from batpy.platforms.simgrid.zones import ClusterDescription

# Names that clusters give to their links look like this (SimGrid 3.32); only such names can meet theirs.
_MADE_ENDS = ("_UP", "_DOWN", "_limiter", "_loopback", "_backbone")
_MADE_MIDDLE = "_link_"


class Names:
    """Who is called what.

    Args:
        source: the file as the user named it.
        hosts: names of all hosts.

    Attributes:
        links: name to number of the links written one by one.
        duplex: names of SPLITDUPLEX links, which are two.
        loopback: number of the link from a node to itself.
        zones: name to index.
    """

    def __init__(self, source: str, hosts: Collection[str]) -> None:
        self.source = source
        self.links: dict[str, int] = {}
        self.duplex: set[str] = set()
        self.loopback = 0
        self.zones: dict[str, int] = {}
        self._hosts = hosts
        self._nodes: dict[str, int] = {}
        self._places: dict[str, tuple[int, str]] = {}
        self._batches: list[tuple[int, ClusterDescription]] = []
        self._batched: dict[str, int] | None = None
        self._table: LinkTable | None = None
        self._made: dict[str, int] | None = None

    def fail(self, line: int, title: str, problem: str) -> InputError:
        """The complaint about an element."""
        return InputError(problem, source=self.source, line=line, path=title)

    def add_link(self, name: str, number: int, line: int, title: str) -> None:
        """Define a link.

        Raises:
            InputError: there is one of that name.
        """
        if name in self.links:
            first = self._places[name][0]
            raise self.fail(line, title, f"there is already a link {name!r}, of line {first}")
        self.links[name] = number
        self._places[name] = (line, title)

    def add_zone(self, name: str, index: int, line: int, title: str) -> None:
        """Define a zone.

        Raises:
            InputError: there is one of that name.
        """
        if name in self.zones:
            raise self.fail(line, title, f"there is already a zone {name!r}")
        self.zones[name] = index

    def add_node(self, name: str, node: int, line: int, title: str, *, is_host: bool) -> None:
        """Define a host or router.

        Raises:
            InputError: a router is called as another router or a host.
        """
        if not is_host and (name in self._nodes or name in self._hosts):
            raise self.fail(line, title, f"there is already a host or router {name!r}")
        self._nodes[name] = node

    def add_batch(self, first: int, cluster: ClusterDescription) -> None:
        """Define the hosts of a cluster or cabinet, numbered from *first* in the order of its radical."""
        self._batches.append((first, cluster))
        self._batched = None

    def find_node(self, name: str) -> int | None:
        """The node of a host or router."""
        node = self._nodes.get(name)
        if node is not None:
            return node
        if self._batched is None:
            self._batched = {}
            for first, cluster in self._batches:
                names = cluster.names()
                self._batched.update(zip(names, range(first, first + len(names)), strict=True))
        return self._batched.get(name)

    def check_links(self, table: LinkTable) -> None:
        """Take the links that clusters made, and look whether one is called as a link written.

        Raises:
            InputError: a link is defined twice.
        """
        self._table = table
        suspects = [name for name in self.links if name.endswith(_MADE_ENDS) or _MADE_MIDDLE in name]
        if not suspects or len(table) == len(self.links) + 1:
            return
        for name in suspects:
            if name in self._made_links():
                line, title = self._places[name]
                raise self.fail(line, title, f"there is already a link {name!r}, made by a cluster")

    def find_link(self, name: str) -> int | None:
        """The number of a link, also of one that a cluster made."""
        number = self.links.get(name)
        return self._made_links().get(name) if number is None else number

    def no_link(self, name: str) -> str:
        """The problem with *name*, which is no link."""
        if name in self.duplex:
            return f"link {name!r} is SPLITDUPLEX, say which: {name + '_UP'!r} or {name + '_DOWN'!r}"
        return f"there is no link {name!r}"

    def _made_links(self) -> dict[str, int]:
        if self._made is None:
            made = () if self._table is None else self._table.make()
            listed = len(self.links) + 1
            self._made = {link.name: number for number, link in enumerate(made) if number >= listed}
        return self._made
