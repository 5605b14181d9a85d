"""One door to every kind of platform: a number of hosts, a blueprint, or a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from batpy.base.errors import InputError
from batpy.platforms.builders import DEFAULT_SPEED, hosts
from batpy.platforms.platform import Platform

if TYPE_CHECKING:
    from batpy.platforms.blueprint import Blueprint


def load_platform(
    what: int | Path | Blueprint,
    *,
    source: str | None = None,
    cores: int = 1,
    memory: int | None = None,
    gpus: int = 0,
    speed: float | None = None,
    mmax: int = 0,
    master_host: str | None = None,
    roles: Mapping[str, str] | None = None,
    notice: Callable[[str], None] = lambda _line: None,
) -> Platform:
    """The platform a user names.

    Args:
        what: a number of hosts, a description of a cluster, racks or a fat tree, or a SimGrid XML file.
        source: the file as the user named it.
        cores, memory, gpus: per host; with a file, for the hosts that do not say it themselves.
        speed: flops per second and core; not with a file.
        mmax: keep the first so many compute hosts; 0 for all (Batsim's ``--mmax``).
        master_host: name of the master unless a host has that role (Batsim's ``-m``); only with a file.
        roles: host name to ``master``, ``storage`` or ``compute_node``; only with a file.
        notice: told one line about each thing that was ignored or assumed.

    Raises:
        InputError: with file, line and element, or the option.
    """
    if mmax < 0:
        raise InputError(f"must be at least 0, got {mmax}", path="mmax")
    if isinstance(what, Path):
        if speed is not None:
            raise InputError("speed is not for platforms read from a file", source=source)
        # An XML reader is of no use to the many runs that give a number of hosts.
        from batpy.platforms.simgrid.numbering import Choices
        from batpy.platforms.simgrid.reader import read_simgrid

        choices = Choices(master_host, roles, mmax, cores, memory, gpus)
        return read_simgrid(what, choices, source=source, notice=notice)
    told = f"hosts={what}" if isinstance(what, int) else what.source
    if master_host is not None or roles:
        raise InputError("a master and roles are only for platforms read from a file", source=told)
    speed = DEFAULT_SPEED if speed is None else speed
    try:
        if isinstance(what, int):
            count = min(what, mmax) if mmax else what
            return hosts(count, cores=cores, memory=memory, gpus=gpus, speed=speed)
        platform = what.build(cores=cores, memory=memory, gpus=gpus, speed=speed)
    except ValueError as why:
        raise InputError(str(why), source=told) from None
    return msgspec.structs.replace(platform, compute=platform.compute[:mmax]) if mmax else platform
