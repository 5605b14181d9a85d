"""The simulator's side of recorded Batsim conversations, fed to our ``fcfs``.

The recorded scheduler was a strict FCFS on the lowest-numbered free machines, with scripted kills, timers,
metadata and one scripted rejection (of w0!9 in transcript 02, which would fit): EXECUTE_JOB decisions and
rejections of jobs larger than the platform are compared.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from batpy.protocol import hostset
from batpy.protocol.json_codec import JsonCodec
from batpy.protocol.messages import Event, ExecuteJob, Hello, RejectJob
from batpy.schedulers import make_scheduler

TRANSCRIPTS = ["02_delays_kill_metadata_reject", "03_killmix_progress", "05_external_events"]
# Fits, and was rejected by the script all the same.
SCRIPTED_REJECTIONS = {"02_delays_kill_metadata_reject": {"w0!9"}}


def recorded(shared: Path, name: str) -> list[dict[str, Any]]:
    text = (shared / "golden/batsim/transcripts" / f"{name}.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def starts_of(raw: str) -> list[tuple[str, str]]:
    """What a recorded reply starts, as (job, canonical allocation)."""
    events = json.loads(raw)["events"]
    return [
        (event["data"]["job_id"], hostset.to_text(hostset.parse(event["data"]["alloc"])))
        for event in events
        if event["type"] == "EXECUTE_JOB"
    ]


def rejections_of(raw: str) -> set[str]:
    return {event["data"]["job_id"] for event in json.loads(raw)["events"] if event["type"] == "REJECT_JOB"}


def without(starts: list[tuple[str, str]], jobs: set[str]) -> list[tuple[str, str]]:
    return [start for start in starts if start[0] not in jobs]


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_fcfs_starts_what_the_recorded_scheduler_started(shared: Path, name: str) -> None:
    codec, core = JsonCodec(1_000_000), make_scheduler("fcfs")
    scripted = SCRIPTED_REJECTIONS.get(name, set())
    said: list[Event] = []
    sizes: dict[str, int] = {}
    nb_hosts = 0
    rejected: set[str] = set()
    compared = 0
    for line in recorded(shared, name):
        if line["from"] == "simulator":
            heard = json.loads(line["raw"])
            for event in heard["events"]:
                if event["type"] == "JOB_SUBMITTED":
                    sizes[event["data"]["job_id"]] = event["data"]["job"]["res"]
                if event["type"] == "SIMULATION_BEGINS":
                    nb_hosts = event["data"]["nb_compute_resources"]
            message = codec.decode_message(line["raw"].encode())
            reply = core.handle(message)
            assert reply.now == message.now
            said = reply.events
            continue
        ours = [(e.job_id, hostset.to_text(e.alloc)) for e in said if isinstance(e, ExecuteJob)]
        theirs = starts_of(line["raw"])
        assert without(ours, scripted) == theirs, f"message {line['seq']}"
        compared += len(theirs)
        assert not any(isinstance(event, Hello) for event in said), "the real Batsim knows no HELLO"
        rejected |= {event.job_id for event in said if isinstance(event, RejectJob)}
        assert rejections_of(line["raw"]) - scripted <= rejected
    assert rejected == {job for job, size in sizes.items() if size > nb_hosts}
    assert compared >= 7
