"""Both codecs: what is written reads back equal, in one form of bytes; hostile bytes are refused."""

from __future__ import annotations

import contextlib
import json
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batpy.base.errors import LocalProtocolError, RemoteProtocolError
from batpy.protocol import hostset
from batpy.protocol import messages as m
from batpy.protocol.codec import AnyCodec, Codec, codec_of, make_codec
from batpy.protocol.hostset import HostSet
from batpy.protocol.vocabulary import MACHINE_NOTICES, PLAIN_NOTICES, WORDS

# Float seconds are exact below 2**52 ticks whatever the resolution.
LAST = 2**51
texts = st.text(st.characters(codec="utf-8"), max_size=8)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
trees = st.recursive(
    scalars, lambda one: st.lists(one, max_size=3) | st.dictionaries(texts, one, max_size=3), max_leaves=6
)
objects = st.dictionaries(texts, trees, max_size=3)
hosts = st.sets(st.integers(0, 40), max_size=12).map(hostset.from_ids)
some_hosts = st.sets(st.integers(0, 40), min_size=1, max_size=12).map(hostset.from_ids)
ticks = st.integers(0, LAST)
leaves = st.fixed_dictionaries({"profile_name": texts, "progress": st.floats(0, 1)})
progress = st.recursive(
    leaves,
    lambda node: st.fixed_dictionaries(
        {"profile_name": texts, "current_task_index": st.integers(-1, 99), "current_task": node}
    ),
    max_leaves=3,
)
io_jobs = st.builds(m.IoJob, some_hosts, texts, st.none() | objects)


def of_type(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a field, from its type alone."""
    simple = {
        str: texts,
        bool: st.booleans(),
        int: st.integers(0, 2**63),
        float: st.floats(allow_nan=False, allow_infinity=False),
        type(None): st.none(),
        Any: trees,
    }
    if hint == HostSet:
        return hosts
    if hint in simple:
        return simple[hint]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (Union, UnionType):
        return st.one_of([of_type(one) for one in arguments])
    if origin is tuple and arguments[-1] is ...:
        return st.lists(of_type(arguments[0]), max_size=2).map(tuple)
    if origin is list:
        return st.lists(of_type(arguments[0]), max_size=2)
    if origin is dict:
        return st.dictionaries(texts, of_type(arguments[1]), max_size=2)
    fields = {f.name: of_type(f.type) for f in msgspec.structs.fields(hint)}
    return st.fixed_dictionaries(fields).map(lambda values: hint(**values))


# Fields whose rule is narrower than their type.
NARROW: dict[tuple[type[m.Event], str], st.SearchStrategy[Any]] = {
    (m.SimulationBegins, "batpy"): st.none()
    | st.builds(m.Offer, texts, st.sampled_from([1, 7, 1000, 10**6]), st.just(("sharing",))),
    (m.JobKilled, "job_progress"): st.dictionaries(texts, progress, max_size=3),
    (m.ResourceStateChanged, "state"): st.integers(0, 20).map(str),
    (m.SetResourceState, "state"): st.integers(-1, 10**18),
    (m.SetResourceState, "resources"): some_hosts,
    (m.CallMeLater, "at"): ticks,
    (m.Query, "requests"): st.dictionaries(texts, objects, min_size=1, max_size=2),
    (m.KillJob, "job_ids"): st.lists(texts, min_size=1, max_size=3),
    (m.ExecuteJob, "alloc"): some_hosts,
    (m.ExecuteJob, "mapping"): st.none()
    | st.dictionaries(st.integers(0, 9).map(str), st.integers(0, 9), max_size=4),
    (m.ExecuteJob, "additional_io_job"): st.none() | io_jobs,
}


def _notify(timestamp: int) -> st.SearchStrategy[m.Event]:
    words = texts.filter(lambda word: word not in MACHINE_NOTICES | PLAIN_NOTICES)
    generic = st.builds(
        lambda word, extra, when: m.Notify(timestamp, word, None, {**extra, "type": word, "timestamp": when}),
        words,
        objects,
        ticks,
    )
    plain = st.builds(lambda word: m.Notify(timestamp, word), st.sampled_from(sorted(PLAIN_NOTICES)) | words)
    machine = st.builds(
        lambda word, which: m.Notify(timestamp, word, which), st.sampled_from(sorted(MACHINE_NOTICES)), hosts
    )
    return plain | machine | generic


def _answer(timestamp: int) -> st.SearchStrategy[m.Event]:
    joules = st.floats(allow_nan=False, allow_infinity=False)
    return st.builds(lambda value: m.Answer(timestamp, value), joules) | st.builds(
        lambda value: m.Answer(timestamp, None, value), objects
    )


def events_of(kind: type[m.Event], timestamp: int) -> st.SearchStrategy[m.Event]:
    if kind is m.Notify:
        return _notify(timestamp)
    if kind is m.Answer:
        return _answer(timestamp)
    fields = {f.name: NARROW.get((kind, f.name), of_type(f.type)) for f in msgspec.structs.fields(kind)[1:]}
    return st.fixed_dictionaries(fields).map(lambda values: kind(timestamp, **values))


@st.composite
def messages(draw: st.DrawFn, kinds: list[type[m.Event]] | None = None) -> m.Message:
    now = draw(ticks)
    chosen = kinds or draw(st.lists(st.sampled_from([word.kind for word in WORDS]), max_size=4))
    return m.Message(now, [draw(events_of(kind, draw(st.integers(0, now)))) for kind in chosen])


@pytest.fixture(params=["json", "msgpack"], scope="module")
def name(request: pytest.FixtureRequest) -> str:
    """Name of a codec; each example makes its own, since a codec remembers the resolution it heard."""
    return str(request.param)


@pytest.mark.parametrize("word", WORDS, ids=lambda word: word.name)
@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_every_word_reads_back_equal(name: str, word: Any, data: st.DataObject) -> None:
    codec = make_codec(name)
    message = data.draw(messages([word.kind]))
    assert codec.decode_message(codec.encode_message(message)) == message


@given(message=messages())
@settings(max_examples=60, deadline=None)
def test_a_message_has_one_writing_and_it_tells_its_codec(name: str, message: m.Message) -> None:
    codec = make_codec(name)
    first = codec.encode_message(message)
    assert codec.encode_message(codec.decode_message(first)) == first
    assert codec_of(first) == codec.name


@given(message=messages())
@settings(max_examples=60, deadline=None)
def test_both_codecs_carry_the_same(message: m.Message) -> None:
    far = AnyCodec()
    first, second = make_codec("json"), make_codec("msgpack")
    assert far.decode_message(first.encode_message(message)) == far.decode_message(
        second.encode_message(message)
    )


@given(message=messages(), data=st.data())
@settings(max_examples=80, deadline=None)
def test_changed_bytes_are_read_or_refused_as_the_peers_fault(
    name: str, message: m.Message, data: st.DataObject
) -> None:
    codec = make_codec(name)
    raw = bytearray(codec.encode_message(message))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(raw)))
        length = data.draw(st.integers(0, 4))
        raw[at : at + length] = data.draw(st.binary(max_size=4))
    _read_or_refuse(codec, bytes(raw))


@given(message=messages(), data=st.data())
@settings(max_examples=80, deadline=None)
def test_changed_values_are_read_or_refused_as_the_peers_fault(
    message: m.Message, data: st.DataObject
) -> None:
    codec = make_codec("json")
    tree = json.loads(codec.encode_message(message))
    parent: Any = None
    node: Any = tree
    key: Any = None
    while isinstance(node, dict | list) and node and data.draw(st.booleans()):
        parent = node
        key = data.draw(st.sampled_from(sorted(node) if isinstance(node, dict) else range(len(node))))
        node = node[key]
    value = data.draw(trees)
    if parent is None:
        tree = value
    else:
        parent[key] = value
    _read_or_refuse(codec, json.dumps(tree).encode())


def _read_or_refuse(codec: Codec, raw: bytes) -> None:
    refusal = "one line"
    try:
        message = AnyCodec().decode_message(raw)
    except RemoteProtocolError as error:
        message, refusal = m.Message(0, []), str(error)
    assert refusal.isprintable()
    # Such as an integer that MessagePack has no word for.
    with contextlib.suppress(LocalProtocolError):
        codec.encode_message(message)
