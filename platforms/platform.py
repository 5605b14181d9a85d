"""What a platform is made of. Plain data: numbering and checks are done by the readers."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from batpy.platforms.disks import Disk
from batpy.platforms.network import Network

# A slip such as a radical of 0-999999999999 must not fill the memory; so many hosts take some ten seconds.
MAX_HOSTS = 1_000_000


class Host(msgspec.Struct, frozen=True):
    """One machine.

    Attributes:
        id: number used on the wire and in tables.
        role: ``""`` for a compute host, or ``"storage"``.
        speeds: flops per second and core, one per pstate.
        cores: number of cores.
        pstate: initial pstate.
        memory: bytes, or None if not told.
        gpus: number of GPUs.
        properties: as the user wrote them; a ``role`` key is always present (Batsim 4.2.1).
        zone_properties: inherited from the zones around it, inner zones win.
        disks: in the order written.
    """

    id: int
    name: str
    role: str = ""
    speeds: tuple[float, ...] = (1e9,)
    cores: int = 1
    pstate: int = 0
    memory: int | None = None
    gpus: int = 0
    properties: Mapping[str, str] = msgspec.field(default_factory=lambda: {"role": ""})
    zone_properties: Mapping[str, str] = msgspec.field(default_factory=dict)
    disks: tuple[Disk, ...] = ()


class Platform(msgspec.Struct, frozen=True):
    """Hosts in id order: compute hosts first, then storage hosts (Batsim 4.2.1).

    Attributes:
        master: name of the unnumbered master host, or None if the platform has none.
        source: the file as the user named it, or ``hosts=N``.
        network: links and routes, or None if hosts exchange bytes for nothing.
    """

    source: str
    compute: tuple[Host, ...]
    storage: tuple[Host, ...] = ()
    master: str | None = None
    network: Network | None = None

    @property
    def hosts(self) -> tuple[Host, ...]:
        """All numbered hosts, in id order."""
        return self.compute + self.storage
