"""Cost of one event in each codec, both ways, and of a round trip over ZeroMQ."""

from __future__ import annotations

import threading
import timeit

import pytest

from batpy.protocol import messages as m
from batpy.protocol.codec import make_codec
from batpy.transport.zeromq import Replier, ZmqLink

pytestmark = pytest.mark.bench

JOB = {"id": "w0!1234", "subtime": 1234.5, "walltime": 3600, "res": 4, "profile": "delay10"}
EVENTS: list[m.Event] = [
    m.JobCompleted(5_000_000, "w0!12", "COMPLETED_SUCCESSFULLY", 0, ((0, 3), (17, 17))),
    m.JobSubmitted(5_000_000, "w0!1234", JOB),
    m.ExecuteJob(5_000_000, "w0!1234", ((0, 3),)),
]


@pytest.mark.parametrize("name", ["json", "msgpack"])
@pytest.mark.parametrize("size", [1, 3, 30])
def test_cost_of_an_event(name: str, size: int) -> None:
    codec = make_codec(name)
    message = m.Message(5_000_000, (EVENTS * size)[:size])
    raw = codec.encode_message(message)
    number = 20_000 // size
    writing = min(timeit.repeat(lambda: codec.encode_message(message), number=number, repeat=5))
    reading = min(timeit.repeat(lambda: codec.decode_message(raw), number=number, repeat=5))
    scale = 1e6 / number / size
    print(
        f"\n{name}: {size} events, {len(raw)} bytes, "
        f"{writing * scale:.2f} us to write and {reading * scale:.2f} us to read an event"
    )


@pytest.mark.parametrize("name", ["json", "msgpack"])
def test_cost_of_a_round_trip(name: str) -> None:
    class Core:
        def handle(self, message: m.Message) -> m.Message:
            return m.Message(message.now, [])

    replier = Replier("tcp://127.0.0.1:*", deadline_s=30)
    thread = threading.Thread(target=replier.serve, args=(Core(),))
    thread.start()
    begins = m.SimulationBegins(0, 1, 1, 0, False, True, {}, [], [], {}, {})
    with ZmqLink(replier.endpoint, make_codec(name), 30) as link:
        link.ask(m.Message(0, [begins]))
        number = 2000
        message = m.Message(5_000_000, EVENTS[:2])
        seconds = min(timeit.repeat(lambda: link.ask(message), number=number, repeat=3))
        link.ask(m.Message(5_000_000, [m.SimulationEnds(5_000_000)]))
    thread.join()
    print(f"\n{name}: {seconds / number * 1e6:.0f} us a round trip over tcp, both ends in one process")
