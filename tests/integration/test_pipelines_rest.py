"""External schedulers over HTTP: the recorded conversations, and peers that misbehave."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from pipeline_recorded import differences, load
from rest_server import rest_server

import batpy
from batpy.base.errors import InputError, PeerError, RemoteProtocolError

pytestmark = pytest.mark.integration

PARAMETERS = {"duration": 5, "ticks_per_second": 10, "scheduler_algo": "rest", "waiting_seconds_mean": 1.0}


def without_random_ids(log: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Bodies as text, operator ids numbered in the order in which they were first seen."""
    names: dict[str, str] = {}

    def walk(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: walk(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [walk(inner) for inner in value]
        if isinstance(value, str) and (value.count("-") == 4 or "/op" in value):
            return names.setdefault(value, f"id{len(names)}")
        return value

    return [(line["path"], json.dumps(walk(line["body"]))) for line in log]


@pytest.mark.parametrize("name", ["rest_a", "rest_b", "rest_c"])
def test_recorded_conversations(name: str, shared: Path) -> None:
    folder = shared / "golden" / "eudoxia"
    recorded = load(folder, name)
    lines = [json.loads(line) for line in (folder / "rest_wire_log.jsonl").read_text().splitlines()]
    begins = [number for number, line in enumerate(lines) if line["path"] == "/init"]
    begin = begins[["rest_a", "rest_b", "rest_c"].index(name)]
    end = min([number for number in begins if number > begin], default=len(lines))
    with rest_server() as server:
        changes = {"rest_scheduler_addr": server.address}
        assert differences(recorded, folder / recorded["config"], folder / recorded["trace"], **changes) == []
    server.log[0]["body"]["params"]["rest_scheduler_addr"] = "127.0.0.1:18080"
    assert without_random_ids(server.log) == without_random_ids(lines[begin:end])


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (b"", "truncated"),
        (b'{"suspensions": []}', "missing required field `assignments`"),
        (b'{"suspensions": [], "assignments": [{}]}', r"\$.assignments\[0\]"),
        (
            b'{"suspensions": [], "assignments": [{"operator_ids": ["x"], "cpu": 1, "ram_gb": 1,'
            b' "pool_id": 0, "priority": "QUERY", "is_resume": false, "force_run": false}]}',
            "no such operator 'x'",
        ),
    ],
)
def test_a_bad_answer_is_refused_with_its_place(answer: bytes, told: str) -> None:
    with rest_server(answer=answer) as server, pytest.raises(RemoteProtocolError, match=told):
        batpy.run_simulator(PARAMETERS | {"rest_scheduler_addr": server.address})


def test_a_status_that_is_not_2xx_ends_the_run() -> None:
    with rest_server(status=500) as server, pytest.raises(RemoteProtocolError, match="status 500"):
        batpy.run_simulator(PARAMETERS | {"rest_scheduler_addr": server.address})


def test_nobody_there() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(PeerError, match="cannot be reached"):
        batpy.run_simulator(PARAMETERS | {"rest_scheduler_addr": f"127.0.0.1:{port}"})


@pytest.mark.parametrize(
    "address",
    ["", "x", ":80", "localhost:99999", "http://x:80", "a b:80", "a\0b:80", "x:8 0", "x" * 300 + ":8"],
)
def test_an_address_that_is_none(address: str) -> None:
    with pytest.raises(InputError, match="rest_scheduler_addr: must be HOST:PORT"):
        batpy.run_simulator(PARAMETERS | {"rest_scheduler_addr": address})


def test_a_host_that_no_name_can_be() -> None:
    with pytest.raises(PeerError, match="cannot be reached"):
        batpy.run_simulator(PARAMETERS | {"rest_scheduler_addr": "x" * 100 + ":80"})


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (b"", "cannot be reached"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}", "broke off its answer to /init"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{", "broke off its answer to /init"),
    ],
    ids=["nothing", "too short", "half a chunk"],
)
def test_a_peer_that_goes_away_within_its_answer(answer: bytes, told: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        import threading

        def close_all() -> None:
            for _ in range(1 if answer else 2):
                connection = listener.accept()[0]
                if answer:
                    asked = b""
                    while not asked.endswith(b"}}"):  # unread bytes would reset the connection
                        asked += connection.recv(1 << 16)
                    connection.sendall(answer)
                connection.close()

        thread = threading.Thread(target=close_all, daemon=True)
        thread.start()
        with pytest.raises(PeerError, match=told):
            batpy.run_simulator(
                PARAMETERS | {"rest_scheduler_addr": f"127.0.0.1:{listener.getsockname()[1]}"}
            )
        thread.join(5)
