"""How a tenant numbers the hosts it may ever see: from 0, without gaps, in the park's order.

pybatsim takes for granted that hosts are numbered like that. Storage hosts follow the compute hosts in the
park and so they do for every tenant.
"""

from __future__ import annotations

from bisect import bisect_right

from batpy.protocol import hostset
from batpy.protocol.hostset import HostSet


class HostMap:
    """Translates sets of hosts between the park's ids and a tenant's own.

    Args:
        hosts: the park's ids of the hosts that the tenant sees.

    Attributes:
        hosts: as given.
        size: how many they are.
    """

    def __init__(self, hosts: HostSet) -> None:
        self.hosts = hosts
        self.size = hostset.size(hosts) if hosts else 0
        self._same = not hosts or (len(hosts) == 1 and hosts[0][0] == 0)
        self._firsts = [first for first, _ in hosts]
        self._places: list[int] = []  # own id of the first host of each interval
        place = 0
        for first, last in hosts:
            self._places.append(place)
            place += last - first + 1

    def to_own(self, hosts: HostSet) -> HostSet:
        """Own ids of those of *hosts* that the tenant sees."""
        if self._same and hosts and hosts[-1][1] < self.size:
            return hosts
        seen = hostset.intersection(hosts, self.hosts)
        if self._same:
            return seen
        own: list[tuple[int, int]] = []
        for first, last in seen:
            k = bisect_right(self._firsts, first) - 1
            shift = self._places[k] - self._firsts[k]
            own.append((first + shift, last + shift))
        return hostset.normalise(own)

    def to_park(self, hosts: HostSet) -> HostSet:
        """The park's ids of own *hosts*.

        Raises:
            ValueError: the tenant sees no such host; the text names it.
        """
        if hosts and (hosts[-1][1] >= self.size or hosts[0][0] < 0):
            wrong = hosts[-1][1] if hosts[-1][1] >= self.size else hosts[0][0]
            there = f"it sees hosts 0-{self.size - 1}" if self.size else "it sees no host"
            raise ValueError(f"host {wrong} does not exist for it; {there}")
        if self._same:
            return hosts
        park: list[tuple[int, int]] = []
        for first, last in hosts:
            k = bisect_right(self._places, first) - 1
            low = first
            while low <= last:
                shift = self._firsts[k] - self._places[k]
                end = min(last, self.hosts[k][1] - shift)
                park.append((low + shift, end + shift))
                low, k = end + 1, k + 1
        return hostset.normalise(park)

    def one_to_park(self, host: int) -> int:
        """The park's id of one own host."""
        return self.to_park(((host, host),))[0][0]
