"""Every recorded message of Batsim 4.2.1 and pybatsim 3.2.1 is read, and written again as it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from batpy.protocol.codec import make_codec
from batpy.protocol.conversation import Conversation, Speaker
from batpy.protocol.json_codec import JsonCodec

NAMES = [
    "01_delays_pybatsim_easyBackfill",
    "02_delays_kill_metadata_reject",
    "03_killmix_progress",
    "04_dynamic_register_ack",
    "05_external_events",
    "07_mixed_profiles_pybatsim_fillerSched",
    "08_bebida_no-io_dynamic_resubmit",
    "13_walltime_pybatsim_easyBackfill",
]


@pytest.fixture(params=NAMES)
def lines(request: pytest.FixtureRequest, shared: Path) -> list[dict[str, Any]]:
    path = shared / "golden/batsim/transcripts" / f"{request.param}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


def tree(raw: str | bytes, *, to_us: bool) -> Any:
    """Parsed JSON; schedulers compute dates in floats, so theirs are compared at the microsecond."""
    return json.loads(raw, parse_float=(lambda text: round(float(text), 6)) if to_us else float)


def test_each_message_is_written_again_as_the_same_json(lines: list[dict[str, Any]]) -> None:
    codec = JsonCodec(float6=True)
    assert len(lines) > 20
    for line in lines:
        raw = line["raw"]
        again = codec.encode_message(codec.decode_message(raw.encode()))
        by_scheduler = line["from"] == "scheduler"
        assert tree(again, to_us=by_scheduler) == tree(raw, to_us=by_scheduler)


def test_batsims_messages_are_written_again_byte_for_byte(lines: list[dict[str, Any]]) -> None:
    codec = JsonCodec(float6=True)
    for line in lines:
        if line["from"] == "simulator":
            assert codec.encode_message(codec.decode_message(line["raw"].encode())) == line["raw"].encode()


def test_each_message_survives_both_codecs(lines: list[dict[str, Any]]) -> None:
    reader, packed, plain = JsonCodec(), make_codec("msgpack"), make_codec("json")
    for line in lines:
        message = reader.decode_message(line["raw"].encode())
        assert packed.decode_message(packed.encode_message(message)) == message
        assert plain.decode_message(plain.encode_message(message)) == message


def test_recorded_conversations_are_legal(lines: list[dict[str, Any]]) -> None:
    reader = JsonCodec()
    asking = Conversation(Speaker.SIMULATOR, Speaker.SCHEDULER)
    for line in lines:
        message = reader.decode_message(line["raw"].encode())
        (asking.say if line["from"] == "simulator" else asking.hear)(message)
    assert asking.over
