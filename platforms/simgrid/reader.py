"""The passes in a row: file, descriptions, numbered hosts, network."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from batpy.platforms.platform import Platform
from batpy.platforms.simgrid.numbering import Choices, number_hosts
from batpy.platforms.simgrid.wiring import wire
from batpy.platforms.simgrid.xml_tree import parse_file
from batpy.platforms.simgrid.zones import ZoneReader


def read_simgrid(
    path: Path, choices: Choices, *, source: str | None = None, notice: Callable[[str], None]
) -> Platform:
    """Read a SimGrid platform file.

    Args:
        source: the file as the user named it, for complaints and the journal.
        notice: told one line about each thing that was ignored or assumed.

    Raises:
        InputError: with file, line and element.
    """
    named = str(path) if source is None else source
    reader = ZoneReader(named, notice)
    described = reader.platform(parse_file(path, named))
    platform = number_hosts(described, named, choices, notice)
    hosts = [host.name for host in platform.hosts]
    others = () if platform.master is None else (platform.master,)
    network = wire(described, named, hosts, others, notice)
    return msgspec.structs.replace(platform, network=network)
