"""Starts that wait for their hosts: which of them are worth another look, and what they claim together."""

from __future__ import annotations

from batpy.broker.desk import Start
from batpy.protocol import hostset
from batpy.protocol.hostset import HostSet


class WaitingStarts:
    """Held starts in the order in which they began to wait.

    A start that could not begin cannot begin later either, unless something about one of its own hosts has
    changed for the better: so only those are tried again that have such a host, and those that are new.

    Attributes:
        claims: by tenant, hosts that its starts wait for.
    """

    def __init__(self, nb_tenants: int) -> None:
        self.claims: list[HostSet] = [() for _ in range(nb_tenants)]
        self._claimed = [0] * nb_tenants  # hosts of the waiting starts, those of two counted twice
        self._starts: dict[int, Start] = {}
        self._new: set[int] = set()
        self._freed: HostSet = ()

    def __contains__(self, start: Start) -> bool:
        return start.serial in self._starts

    def add(self, start: Start) -> None:
        """A start waits from now on."""
        rank = start.tenant.rank
        self._starts[start.serial] = start
        self._new.add(start.serial)
        self.claims[rank] = hostset.union(self.claims[rank], start.hosts)
        self._claimed[rank] += hostset.size(start.hosts)

    def remove(self, start: Start) -> None:
        """A start waits no longer."""
        rank = start.tenant.rank
        del self._starts[start.serial]
        self._new.discard(start.serial)
        disjoint = self._claimed[rank] == hostset.size(self.claims[rank])
        self._claimed[rank] -= hostset.size(start.hosts)
        if disjoint:
            self.claims[rank] = hostset.difference(self.claims[rank], start.hosts)
        else:
            left = [s.hosts for s in self._starts.values() if s.tenant.rank == rank]
            self.claims[rank] = hostset.normalise(pair for hosts in left for pair in hosts)

    def freed(self, hosts: HostSet) -> None:
        """Hosts came out of a use, were vacated, lent, or are back in the park."""
        if self._starts:
            self._freed = hostset.union(self._freed, hosts)

    def worth_trying(self) -> list[Start]:
        """Starts that may be able to begin by now, in order; each change is answered with them once."""
        new, freed = self._new, self._freed
        self._freed = ()
        if not new and not freed:
            return []
        self._new = set()
        low, high = (freed[0][0], freed[-1][1]) if freed else (0, -1)
        return [
            start
            for serial, start in self._starts.items()
            if serial in new
            or (
                start.hosts[0][0] <= high
                and start.hosts[-1][1] >= low
                and hostset.intersection(start.hosts, freed)
            )
        ]
