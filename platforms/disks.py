"""Disks of hosts, as plain data: models of storage read them, Batsim's profiles do not."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class Disk(msgspec.Struct, frozen=True):
    """One disk of one host.

    Attributes:
        name: unique on its host.
        read_bandwidth, write_bandwidth: bytes per second, above 0.
        capacity: bytes, or None if not told.
        mount: where it is mounted on its host, or empty.
        properties: as the user wrote them.
    """

    name: str
    read_bandwidth: float
    write_bandwidth: float
    capacity: int | None = None
    mount: str = ""
    properties: Mapping[str, str] = msgspec.field(default_factory=dict)
