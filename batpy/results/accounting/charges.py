"""Amounts per tenant and host that are told for whole sets of hosts at once."""

from __future__ import annotations

from itertools import accumulate

from batpy.protocol.hostset import HostSet

KINDS = ("useful", "lost", "reexecuted", "unfinished", "lent")
USEFUL, LOST, REEXECUTED, UNFINISHED, LENT = range(5)


class Charges:
    """Sums of host-ticks; a charge costs as much as its hosts have intervals."""

    def __init__(self, hosts: int, tenants: int) -> None:
        self._hosts = hosts
        # Differences between a host and the one before it.
        self._steps = [[[0] * (hosts + 1) for _ in KINDS] for _ in range(tenants)]

    def add(self, tenant: int, kind: int, hosts: HostSet, ticks: int) -> None:
        """So many ticks on each of *hosts*."""
        if ticks:
            steps = self._steps[tenant][kind]
            for first, last in hosts:
                steps[first] += ticks
                steps[last + 1] -= ticks

    def of(self, tenant: int, kind: int) -> list[int]:
        """Ticks of each host."""
        return list(accumulate(self._steps[tenant][kind][: self._hosts]))
