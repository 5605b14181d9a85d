"""MessagePack codec: positional arrays, tolerance between versions, and how a refusal reads."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest

from batpy.base.errors import InputError, LocalProtocolError, RemoteProtocolError
from batpy.protocol import extensions as x
from batpy.protocol import messages as m
from batpy.protocol.codec import AnyCodec, codec_of, make_codec
from batpy.protocol.packed_codec import PackedCodec


def read(tree: Any) -> m.Message:
    return PackedCodec().decode_message(msgpack.packb(tree))


def test_a_message_is_an_array_of_integers_and_strings() -> None:
    job = {"id": "w!1", "res": 2}
    message = m.Message(9, [m.JobSubmitted(7, "w!1", job), m.ExecuteJob(9, "w!2", ((0, 3), (5, 5)))])
    assert msgpack.unpackb(PackedCodec().encode_message(message)) == [
        9,
        [[3, 7, "w!1", job, None], [12, 9, "w!2", [[0, 3], [5, 5]], None, None, None]],
    ]


def test_objects_of_ours_are_positional_at_any_depth_and_come_back_typed() -> None:
    operator = x.OperatorView("o1", "pending", True, True, x.Estimate(None))
    event = x.PipelineSubmitted(1, 0, "p1", "QUERY", 0, False, False, False, (operator,))
    raw = PackedCodec().encode_message(m.Message(1, [event]))
    assert msgpack.unpackb(raw)[1][0][9] == [["o1", "pending", True, True, [None]]]
    assert PackedCodec().decode_message(raw).events == [event]


def test_missing_last_fields_take_their_defaults_and_surplus_ones_are_ignored() -> None:
    assert read([5, [[12, 5, "w!1", [[0, 0]]]]]).events == [m.ExecuteJob(5, "w!1", ((0, 0),))]
    assert read([5, [[13, 5, "w!1", "new", 4]], "new"]).events == [m.RejectJob(5, "w!1")]


REFUSED = [
    (7, "the message: expected `array`, got `int`"),
    ([1], "the message: expected `array` of at least length 2, got 1"),
    ([1.5, []], "now: expected `int`, got `float`"),
    ([-1, []], "now: expected `int` >= 0"),
    ([2**63, []], "now: expected `int` <= 9223372036854775807"),
    ([1, {}], "events: expected `array`, got `object`"),
    ([1, [4]], "events[0]: expected `array`, got `int`"),
    ([1, [[]]], "events[0]: expected `array` of at least length 1, got 0"),
    ([1, [[999, 1]]], "events[0]: no event of this protocol has the number 999"),
    ([1, [["JOB", 1]]], "events[0]: no event of this protocol has the number 'JOB'"),
    ([1, [[2]]], "events[0] SIMULATION_ENDS: timestamp: is missing"),
    ([1, [[2, 1], [13, 1]]], "events[1] REJECT_JOB: job_id: is missing"),
    ([1, [[13, 1, 5]]], "events[0] REJECT_JOB: job_id: expected `str`, got `int`"),
    ([1, [[13, "1", "w"]]], "events[0] REJECT_JOB: timestamp: expected `int`, got `str`"),
    ([1, [[13, 2, "w"]]], "events[0] REJECT_JOB: timestamp: 2 is later than the message's now 1"),
    ([1, [[12, 1, "w", [[0, "3"]]]]], "events[0] EXECUTE_JOB: alloc[0][1]: expected `int`, got `str`"),
    ([1, [[12, 1, "w", [[3, 1]]]]], "events[0] EXECUTE_JOB: alloc: intervals must be ascending, disjoint"),
    ([1, [[12, 1, "w", [[0, 1], [2, 3]]]]], "events[0] EXECUTE_JOB: alloc: intervals must be ascending"),
    ([1, [[12, 1, "w", [[0, 2**40]]]]], "events[0] EXECUTE_JOB: alloc: host id 1099511627776 is larger"),
    ([1, [[12, 1, "w", []]]], "events[0] EXECUTE_JOB: alloc: the set of hosts is empty"),
    (
        [1, [[12, 1, "w", [[0, 1]], None, None, [[[3, 1]], "p", None]]]],
        "events[0] EXECUTE_JOB: additional_io_job.alloc: intervals",
    ),
    ([1, [[11, 1]]], "events[0] ANSWER: must hold exactly one of"),
    ([1, [[9, 1, "event_machine_available"]]], "events[0] NOTIFY: resources: is missing"),
    ([1, [[9, 1, "x", [[0, 1]]]]], "events[0] NOTIFY: resources: x has none"),
    ([1, [[9, 1, "x", None, {"type": "y", "a": 1}]]], "events[0] NOTIFY: content: must be the whole"),
    ([1, [[16, 1, "w!1", {"blob": b"\x00"}]]], "the message is not MessagePack: 1 exceeds max_bin_len(0)"),
    ([1, [[16, 1, "w!1", {1: 2}]]], "the message is not MessagePack: int is not allowed for map key"),
    (
        [1, [[16, 1, "w!1", {"blob": msgpack.ExtType(4, b"")}]]],
        "the message is not MessagePack: extension type 4 has no meaning here",
    ),
]


@pytest.mark.parametrize(("tree", "text"), REFUSED)
def test_bad_input_is_refused_with_its_place(tree: Any, text: str) -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        read(tree)
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\x92",
        b"\x92\x01\xdd\xff\xff\xff\xff",  # an array of four thousand million elements
        b"\x92\x01\xdb\xff\xff\xff\xff",  # a string of as many bytes
        b"\x92\x01" + b"\x91" * 100_000,
        b"\x92\x01\x90\x00",  # something follows
        b"\x92\x01\x91\x93\x0d\x01\xa1\xff",  # a string that is not UTF-8
        b"\xc1",
    ],
)
def test_bytes_that_are_not_messagepack_are_refused_without_allocating(raw: bytes) -> None:
    with pytest.raises(RemoteProtocolError, match="the message is not MessagePack: "):
        PackedCodec().decode_message(raw)


def test_what_cannot_be_said_is_our_own_fault() -> None:
    with pytest.raises(LocalProtocolError, match=r"events\[0\] cannot be written as MessagePack"):
        PackedCodec().encode_message(m.Message(1, [m.RegisterJob(1, "w!1", {"x": 2**70})]))
    again = PackedCodec()
    with pytest.raises(LocalProtocolError):
        again.encode_message(m.Message(1, [m.RegisterJob(1, "w!1", {"x": object()})]))
    # A failed writing leaves nothing behind.
    assert again.encode_message(m.Message(1, [])) == PackedCodec().encode_message(m.Message(1, []))


def test_a_replier_answers_in_the_format_of_the_request() -> None:
    far = AnyCodec()
    for name in ("msgpack", "json", "msgpack"):
        near = make_codec(name)
        far.decode_message(near.encode_message(m.Message(4, [m.RequestedCall(4)])))
        reply = far.encode_message(m.Message(4, []))
        assert (far.name, codec_of(reply)) == (name, name)


def test_a_replier_keeps_the_resolution_when_the_format_changes() -> None:
    far = AnyCodec()
    offer = m.Offer("1", 30)
    begins = m.SimulationBegins(0, 1, 1, 0, False, True, {}, [], [], {}, {}, offer)
    far.decode_message(PackedCodec().encode_message(m.Message(0, [begins])))
    assert far.decode_message(b'{"now": 2, "events": []}').now == 60


def test_codecs_are_chosen_by_name() -> None:
    assert (make_codec("json", 7).name, make_codec("msgpack").name) == ("json", "msgpack")
    with pytest.raises(InputError, match="unknown codec 'xml', known are json and msgpack"):
        make_codec("xml")
    with pytest.raises(InputError, match="json only"):
        make_codec("msgpack", float6=True)
