"""The in-memory link that encodes: what goes through it is what processes would see."""

from __future__ import annotations

import pytest

from batpy.base.errors import LocalProtocolError
from batpy.protocol import messages as m
from batpy.protocol.codec import make_codec
from batpy.transport.encoded import EncodedLink
from batpy.transport.link import Link

BEGINS = m.Message(
    0, [m.SimulationBegins(0, 1, 1, 0, False, True, {}, [], [], {}, {}, m.Offer("1", 7, ("sharing",)))]
)


class Echo:
    """Answers each request with one decision at its own date, and remembers what it heard."""

    def __init__(self) -> None:
        self.heard: list[m.Message] = []

    def handle(self, message: m.Message) -> m.Message:
        self.heard.append(message)
        return m.Message(message.now + 1, [m.RejectJob(message.now, "w!1")])


@pytest.mark.parametrize("name", ["json", "msgpack"])
def test_both_sides_get_equal_objects_but_not_the_same(name: str) -> None:
    core = Echo()
    link: Link = EncodedLink(core, make_codec(name, 7))
    assert link.ask(BEGINS) == m.Message(1, [m.RejectJob(0, "w!1")])
    request = m.Message(3, [m.JobSubmitted(2, "w!1", {"id": "w!1", "res": 1.5})])
    assert link.ask(request) == m.Message(4, [m.RejectJob(3, "w!1")])
    assert core.heard == [BEGINS, request]
    assert core.heard[1] is not request


def test_a_core_that_breaks_the_rules_is_told() -> None:
    link = EncodedLink(Echo(), make_codec("msgpack"))
    link.ask(BEGINS)
    with pytest.raises(LocalProtocolError, match="scheduler said decisions while the conversation is ending"):
        link.ask(m.Message(9, [m.SimulationEnds(9)]))
