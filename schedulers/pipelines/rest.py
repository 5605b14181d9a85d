"""Eudoxia's interface for external schedulers: the run asks an HTTP server, with JSON bodies.

``POST /init`` once with the parameters, then ``POST /schedule`` in a tick with arrivals or results, or when
``rest_poll_interval`` simulated seconds went by since the last call. Bodies: ``snapshot.py``.
"""

from __future__ import annotations

import http.client
import math
import re
from typing import Any

import msgspec

from batpy.base.errors import InputError, PeerError, RemoteProtocolError, one_line
from batpy.schedulers.pipelines.api import register_scheduler, register_scheduler_init
from batpy.schedulers.pipelines.session import SnapshotSession
from batpy.schedulers.pipelines.snapshot import Orders

DEADLINE_S = 60.0
"""Longest wait for an answer, in seconds of wall time."""
LONGEST_ANSWER = 1 << 28


_HOST = re.compile(r"[\w.-]{1,253}|\[[0-9A-Fa-f:.]+\]")


class RestPeer:
    """An HTTP server; the connection is kept while it lets us.

    Args:
        address: ``HOST:PORT``.
    """

    def __init__(self, address: str, deadline_s: float = DEADLINE_S) -> None:
        host, colon, port = address.rpartition(":")
        fits = colon and _HOST.fullmatch(host) and port.isascii() and port.isdigit() and int(port) < 65536
        if not fits:
            raise InputError(f"must be HOST:PORT, got {address!r}", path="rest_scheduler_addr")
        self._address = address
        self._connection = http.client.HTTPConnection(host.strip("[]"), int(port), timeout=deadline_s)

    def post(self, path: str, body: bytes) -> bytes:
        """Send *body* and return the answer's.

        Raises:
            PeerError: nobody answers there, or not in time, or not to the end.
            RemoteProtocolError: the answer's status is not 2xx, or it is not HTTP.
        """
        try:
            try:
                return self._exchange(path, body)
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                # A kept connection that the server closed meanwhile; a new one tells whether it lives.
                self._connection.close()
                return self._exchange(path, body)
        except TimeoutError:
            raise PeerError(f"the scheduler at {self._address} did not answer {path} in time") from None
        except http.client.IncompleteRead:
            raise PeerError(f"the scheduler at {self._address} broke off its answer to {path}") from None
        except (OSError, UnicodeError) as why:  # the second: no name of a host
            told = one_line(getattr(why, "strerror", None) or why)
            raise PeerError(f"the scheduler at {self._address} cannot be reached: {told}") from None
        except http.client.HTTPException as why:
            told = f"the scheduler at {self._address} answered {path} with bad HTTP: {one_line(why)}"
            raise RemoteProtocolError(told) from None

    def _exchange(self, path: str, body: bytes) -> bytes:
        headers = {"Content-Type": "application/json"}
        self._connection.request("POST", path, body=body, headers=headers)
        response = self._connection.getresponse()
        answer = response.read(LONGEST_ANSWER)
        if len(answer) == LONGEST_ANSWER:
            told = f"the scheduler at {self._address} answered {path} with more than {LONGEST_ANSWER} bytes"
            raise RemoteProtocolError(told)
        if response.length:
            raise http.client.IncompleteRead(answer, response.length)
        if not 200 <= response.status < 300:
            told = f"the scheduler at {self._address} answered {path} with status {response.status}"
            raise RemoteProtocolError(told)
        return answer

    def close(self) -> None:
        """Give the connection back."""
        self._connection.close()


@register_scheduler_init(key="rest")
def prepare(s: Any) -> None:
    """Tell the server the parameters."""
    s.peer = RestPeer(s.params["rest_scheduler_addr"])
    s.at_end.append(s.peer.close)
    s.interval = s.params["rest_poll_interval"]
    s.last_call = 0.0
    s.session = SnapshotSession()
    s.peer.post("/init", msgspec.json.encode({"params": s.params}))
    s.wake_at = _next_poll(s)


@register_scheduler(key="rest", waits_for_events=True)
def decide(s: Any, results: list[Any], pipelines: list[Any]) -> tuple[list[Any], list[Any]]:
    """Ask the server at HOST:PORT (rest_scheduler_addr) in a tick with news, or when it is time to."""
    now = s.clock.now_seconds
    if not pipelines and not results and now - s.last_call < s.interval:
        return [], []
    body = msgspec.json.encode(s.session.show(s, results, pipelines))
    orders = decode_orders(s.peer.post("/schedule", body))
    s.last_call = now
    s.wake_at = _next_poll(s)
    try:
        return s.session.decide(orders)  # type: ignore[no-any-return]
    except InputError as why:
        raise RemoteProtocolError(f"the scheduler's answer to /schedule: {why}") from None


def _next_poll(s: Any) -> int:
    """First tick after this one at which the interval is over, compared as ``decide`` does."""
    per_second = s.clock.ticks_per_second
    tick = max(s.clock.now_ticks + 1, math.floor((s.last_call + s.interval) * per_second) - 1)
    while tick / per_second - s.last_call < s.interval:
        tick += 1
    return int(tick)


def decode_orders(body: bytes) -> Orders:
    """An answer's orders.

    Raises:
        RemoteProtocolError: with the path to the bad field.
    """
    try:
        return msgspec.json.decode(body, type=Orders)
    except (msgspec.DecodeError, UnicodeDecodeError) as why:
        raise RemoteProtocolError(f"the scheduler's answer to /schedule: {one_line(why)}") from None
