"""pybatsim 3.2.1, unmodified, at the other end of our link: its recorded answers come again."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from batpy.protocol.json_codec import JsonCodec
from batpy.transport.zeromq import ZmqLink

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(find_spec("batsim") is None, reason="pybatsim is not installed"),
]


@pytest.mark.parametrize("name", ["01_delays_pybatsim_easyBackfill", "13_walltime_pybatsim_easyBackfill"])
@pytest.mark.parametrize("float6", [False, True])
def test_easy_backfill_answers_as_it_was_recorded(
    name: str, float6: bool, shared: Path, tmp_path: Path
) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        endpoint = f"tcp://127.0.0.1:{probe.getsockname()[1]}"
    command = [sys.executable, "-m", "batsim.cmds.launcher", "easyBackfill", "-s", endpoint, "-t", "0"]
    reader = JsonCodec()
    lines = (shared / "golden/batsim/transcripts" / f"{name}.jsonl").read_text().splitlines()
    messages = [reader.decode_message(json.loads(line)["raw"].encode()) for line in lines]
    with (
        # Away from this checkout, whose folder `schedulers` would hide pybatsim's package of that name.
        subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=tmp_path
        ) as process,
        ZmqLink(endpoint, JsonCodec(float6=float6), 30, name="easyBackfill") as link,
    ):
        try:
            for request, recorded in zip(messages[::2], messages[1::2], strict=True):
                assert link.ask(request) == recorded
            assert process.wait(20) == 0
        finally:
            process.kill()
