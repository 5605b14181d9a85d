"""The simulator's side of a conversation of Batsim with pybatsim's ``schedBebida``, fed to our ``bebida``.

The recorded names of registered profiles differ from ours; starts, kills and what is registered do not.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from batpy.protocol import hostset
from batpy.protocol import messages as m
from batpy.protocol.json_codec import JsonCodec
from batpy.schedulers import make_scheduler

NAME = "08_bebida_no-io_dynamic_resubmit"


def compared(event: m.Event, names: dict[str, str]) -> Any:
    """What has to be equal; profiles by what they do."""
    match event:
        case m.ExecuteJob():
            return "start", event.job_id, hostset.to_text(event.alloc)
        case m.KillJob():
            return "kill", event.job_ids
        case m.RegisterProfile():
            names[event.profile_name] = json.dumps(event.profile, sort_keys=True)
            return "profile", event.workload_name, names[event.profile_name]
        case m.RegisterJob(job=job):
            fields = {key: value for key, value in job.items() if key not in ("profile", "parent_job")}
            return "job", event.job_id, fields, names[job["profile"]]
        case m.SetJobMetadata():
            return "metadata", event.job_id, event.metadata
        case m.Notify():
            return "notify", event.type
    return event


def test_bebida_says_what_the_recorded_scheduler_said(shared: Path) -> None:
    codec, core = JsonCodec(1_000_000), make_scheduler("bebida")
    text = (shared / "golden/batsim/transcripts" / f"{NAME}.jsonl").read_text()
    said: list[m.Event] = []
    ours: dict[str, str] = {}
    theirs: dict[str, str] = {}
    count = 0
    for line in map(json.loads, text.splitlines()):
        message = codec.decode_message(line["raw"].encode())
        if line["from"] == "simulator":
            said = core.handle(message).events
            continue
        assert not any(isinstance(event, m.Hello) for event in said), "the real Batsim knows no HELLO"
        assert [compared(event, ours) for event in said] == [compared(e, theirs) for e in message.events], (
            f"message {line['seq']}"
        )
        count += len(said)
    assert count == 10
