"""The processes of a hop: an echo and who stands before it, with our messages or with bare bytes.

Run as ``hops.py ROLE ENDPOINT [ENDPOINT-BEHIND]``.
"""

from __future__ import annotations

import sys

import zmq

from batpy.broker.core import BrokerCore
from batpy.broker.registry import make_policy
from batpy.broker.service import Broker
from batpy.broker.tenants import TenantConfig
from batpy.protocol import messages as m
from batpy.protocol.codec import make_codec
from batpy.transport.zeromq import ZmqLink, serve


class Echo:
    """A scheduler that takes note and says nothing."""

    def handle(self, message: m.Message, /) -> m.Message:
        return m.Message(message.now, [])


class Nowhere:
    """A sink."""

    def write(self, record: object, /) -> None:
        """Drop it."""


def echo(endpoint: str) -> None:
    serve(Echo(), endpoint)


def broker(endpoint: str, scheduler: str) -> None:
    tenants = [TenantConfig("hpc", ("w0",))]
    core = BrokerCore(make_policy("priority"), "priority", tenants, Nowhere())
    with ZmqLink(scheduler, make_codec("json", 1_000_000), 30) as link:
        serve(Broker(core, [link]), endpoint)


def bare_echo(endpoint: str) -> None:
    socket = zmq.Context.instance().socket(zmq.REP)
    socket.bind(endpoint)
    while (text := socket.recv()) != b"end":
        socket.send(text)
    socket.send(b"end")
    socket.close()


def bare_forwarder(endpoint: str, scheduler: str) -> None:
    front, back = (zmq.Context.instance().socket(kind) for kind in (zmq.REP, zmq.REQ))
    back.connect(scheduler)
    front.bind(endpoint)
    text = b""
    while text != b"end":
        text = front.recv()
        back.send(text)
        front.send(back.recv())
    front.close()
    back.close()


if __name__ == "__main__":
    roles = {"echo": echo, "broker": broker, "bare-echo": bare_echo, "bare-forwarder": bare_forwarder}
    roles[sys.argv[1]](*sys.argv[2:])
