"""Platforms without a file."""

from __future__ import annotations

from batpy.platforms.platform import MAX_HOSTS, Host, Platform

DEFAULT_SPEED = 1e9


def hosts(
    count: int, *, cores: int = 1, memory: int | None = None, gpus: int = 0, speed: float = DEFAULT_SPEED
) -> Platform:
    """*count* hosts that are all alike.

    Names are padded with zeros (``host007``) so that their lexicographic order, which numbers the hosts of
    a file, is the order of their ids. What schedulers cannot learn otherwise is told as properties.

    Args:
        count: number of compute hosts.
        cores: per host.
        memory: bytes per host, or None if it does not matter.
        gpus: per host.
        speed: flops per second and core.

    Raises:
        ValueError: a count below 1, or a quantity that is negative.
    """
    if count > MAX_HOSTS:
        raise ValueError(f"more than {MAX_HOSTS} hosts")
    if count < 1 or cores < 1:
        raise ValueError("a platform has at least one host, and a host at least one core")
    if gpus < 0 or (memory is not None and memory < 0) or not speed > 0:
        raise ValueError("memory and gpus must be at least 0, speed above 0")
    properties = {"role": ""}
    if memory is not None:
        properties["memory"] = str(memory)
    if gpus:
        properties["gpus"] = str(gpus)
    digits = len(str(count - 1))
    zone: dict[str, str] = {}
    compute = [
        Host(i, f"host{i:0{digits}}", "", (speed,), cores, 0, memory, gpus, properties, zone)
        for i in range(count)
    ]
    return Platform(f"hosts={count}", tuple(compute))
