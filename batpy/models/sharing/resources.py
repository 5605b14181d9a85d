"""Capacities of hosts and links as flat arrays: hosts first, then links."""

from __future__ import annotations

from collections.abc import Iterable

from batpy.platforms.network import Link
from batpy.platforms.platform import Platform


class Resources:
    """What tasks share. A resource is an index: host ids first, then ``n_hosts`` + index of the link.

    Args:
        hosts: (flops per second and core, cores) of each host.
        links: the links, as the network numbers them.

    Attributes:
        capacity: flops per second of a whole host, bytes per second of a link.
        speed: flops per second of one core of each host.
        cores: number of cores of each host.
        fat: 1 where each flow may use the whole capacity (FATPIPE), else 0.
    """

    def __init__(self, hosts: Iterable[tuple[float, int]], links: Iterable[Link] = ()) -> None:
        pairs = list(hosts)
        self.speed = [float(speed) for speed, _ in pairs]
        self.cores = [cores for _, cores in pairs]
        self.n_hosts = len(pairs)
        self.capacity = [speed * cores for speed, cores in zip(self.speed, self.cores, strict=True)]
        self.fat = bytearray(self.n_hosts)
        for link in links:
            self.capacity.append(float(link.bandwidth))
            self.fat.append(not link.shared)

    @classmethod
    def of(cls, platform: Platform) -> Resources:
        """Hosts of a platform in their initial pstates, and its links."""
        links = platform.network.links if platform.network is not None else ()
        return cls(((host.speeds[host.pstate], host.cores) for host in platform.hosts), links)

    def __len__(self) -> int:
        return len(self.capacity)

    def set_speed(self, host: int, speed: float) -> None:
        """Change the speed of one core of *host*, in flops per second."""
        self.speed[host] = speed
        self.capacity[host] = speed * self.cores[host]
