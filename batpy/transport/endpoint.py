"""Addresses as users write them: ``tcp://HOST:PORT`` and ``ipc://PATH``."""

from __future__ import annotations

import socket
import stat
from pathlib import Path

from batpy.base.errors import InputError


def check_endpoint(endpoint: str, *, bind: bool) -> None:
    """Refuse what cannot be an address for that use.

    Raises:
        InputError: with the rule that the address breaks.
    """
    scheme, separator, rest = endpoint.partition("://")
    if not separator or scheme not in ("tcp", "ipc") or not rest:
        raise InputError("an endpoint is tcp://HOST:PORT or ipc://PATH", source=endpoint)
    if scheme == "ipc":
        if rest != "*" and bind:
            _check_free(endpoint, Path(rest))
        return
    host, colon, port = rest.rpartition(":")
    wild = port == "*" and bind
    if not colon or not host or not (wild or (port.isascii() and port.isdigit() and int(port) < 65536)):
        raise InputError("the part after tcp:// must be HOST:PORT, a port is at most 65535", source=endpoint)
    if not bind and (host == "*" or int(port) == 0):
        raise InputError(
            "* and port 0 are for the side that binds; name a host and its port", source=endpoint
        )


def _check_free(endpoint: str, path: Path) -> None:
    """Binding an ipc path removes what is there: allow that for a socket nobody listens on, only."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return
    if not stat.S_ISSOCK(mode):
        raise InputError("there is a file of that name that is not a socket", source=endpoint)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return
    raise InputError("the address is in use, another process listens there", source=endpoint)
