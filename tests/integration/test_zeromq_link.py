"""ZeroMQ transport with real sockets and real processes: who answers, who is silent, who dies."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import zmq

from batpy.base.errors import InputError, PeerError, RemoteProtocolError
from batpy.protocol import messages as m
from batpy.protocol.codec import make_codec
from batpy.transport.zeromq import Replier, ZmqLink, serve

pytestmark = pytest.mark.integration

BEGINS = m.Message(0, [m.SimulationBegins(0, 1, 1, 0, False, True, {}, [], [], {}, {})])
# A scheduler process: answers, and on the second request does what its first argument says.
PEER = """
import os, sys, time
from batpy.protocol.messages import Message, RejectJob
from batpy.transport.zeromq import serve

class Core:
    asked = 0
    def handle(self, message):
        self.asked += 1
        if self.asked == 2 and sys.argv[1] == "die":
            os._exit(9)
        if self.asked == 2 and sys.argv[1] == "sleep":
            time.sleep(60)
        return Message(message.now, [])

serve(Core(), sys.argv[2], deadline_s=30, on_bound=lambda endpoint: print(endpoint, flush=True))
"""
# A simulator process: asks once, then does what its first argument says.
ASKER = """
import os, sys, time
from batpy.protocol.codec import make_codec
from batpy.protocol.messages import Message, SimulationBegins
from batpy.transport.zeromq import ZmqLink

with ZmqLink(sys.argv[2], make_codec("json"), 30) as link:
    if sys.argv[1] == "wait":
        print("waiting", flush=True)
    link.ask(Message(0, [SimulationBegins(0, 1, 1, 0, False, True, {}, [], [], {}, {})]))
    os._exit(9)
"""


class Steady:
    """Answers each request with one decision, the end with none."""

    def __init__(self) -> None:
        self.heard: list[m.Message] = []

    def handle(self, message: m.Message) -> m.Message:
        self.heard.append(message)
        ends = isinstance(message.events[0], m.SimulationEnds)
        return m.Message(message.now, [] if ends else [m.CallMeLater(message.now, message.now + 1)])


def event(now: int) -> m.Message:
    return m.Message(now, [m.RequestedCall(now)])


def ends(now: int) -> m.Message:
    return m.Message(now, [m.SimulationEnds(now)])


class Background:
    """Runs a function in a thread and keeps what it raised."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(work,))
        self._thread.start()

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            self.error = error

    def join(self) -> None:
        self._thread.join(20)
        assert not self._thread.is_alive()


Start = Callable[[str, str, str], subprocess.Popen[str]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start a Python process with a script and two arguments; ended with the test."""
    running: list[subprocess.Popen[str]] = []

    def run(script: str, what: str, endpoint: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", script, what, endpoint]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        running.append(process)
        return process

    yield run
    for process in running:
        process.kill()
        process.communicate()


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.parametrize("codec", ["json", "msgpack"])
@pytest.mark.parametrize("scheme", ["tcp", "ipc"])
def test_a_whole_conversation_in_either_codec(codec: str, scheme: str, tmp_path: Path) -> None:
    core = Steady()
    replier = Replier("tcp://127.0.0.1:*" if scheme == "tcp" else f"ipc://{tmp_path}/s", deadline_s=10)
    other = Background(lambda: replier.serve(core))
    with ZmqLink(replier.endpoint, make_codec(codec), 10) as link:
        assert link.ask(BEGINS) == m.Message(0, [m.CallMeLater(0, 1)])
        assert link.ask(event(5)) == m.Message(5, [m.CallMeLater(5, 6)])
        assert link.ask(ends(9)) == m.Message(9, [])
    other.join()
    assert other.error is None
    assert core.heard == [BEGINS, event(5), ends(9)]
    assert list(tmp_path.iterdir()) == []


def test_the_asking_side_may_start_first() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        endpoint = f"tcp://127.0.0.1:{probe.getsockname()[1]}"

    def late() -> None:
        time.sleep(0.4)
        serve(Steady(), endpoint, deadline_s=10)

    other = Background(late)
    with ZmqLink(endpoint, make_codec("json"), 10) as link:
        link.ask(BEGINS)
        link.ask(ends(1))
    other.join()
    assert other.error is None


def test_several_peers_think_at_the_same_time(start: Start) -> None:
    class Slow(Steady):
        def handle(self, message: m.Message) -> m.Message:
            time.sleep(0.3)
            return super().handle(message)

    repliers = [Replier("tcp://127.0.0.1:*", deadline_s=10) for _ in range(3)]
    others = [Background(lambda r=replier: r.serve(Slow())) for replier in repliers]  # type: ignore[misc]
    links = [ZmqLink(replier.endpoint, make_codec("msgpack"), 10) for replier in repliers]
    begin = time.monotonic()
    for message in (BEGINS, ends(1)):
        for link in links:
            link.post(message)
        for link in links:
            link.collect()
    assert time.monotonic() - begin < 3 * 2 * 0.3
    for link in links:
        link.close()
    for other in others:
        other.join()


def test_a_peer_that_never_comes_is_reported_after_the_deadline() -> None:
    begin = time.monotonic()
    with (
        ZmqLink("tcp://127.0.0.1:1", make_codec("json"), 0.5, name="scheduler easy") as link,
        pytest.raises(PeerError) as caught,
    ):
        link.ask(BEGINS)
    assert 0.4 < time.monotonic() - begin < 3
    assert (
        str(caught.value)
        == "scheduler easy: nobody answered at tcp://127.0.0.1:1 within 0.5 s (nothing listens there)"
    )


def test_a_peer_that_does_not_speak_zeromq_is_told_apart() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        endpoint = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        with (
            ZmqLink(endpoint, make_codec("json"), 0.7) as link,
            pytest.raises(PeerError, match="does not speak ZeroMQ"),
        ):
            link.ask(BEGINS)


def test_a_silent_peer_is_reported_after_the_deadline(start: Start) -> None:
    endpoint = first_line(start(PEER, "sleep", "tcp://127.0.0.1:*"))
    with ZmqLink(endpoint, make_codec("json"), 2) as link:
        link.ask(BEGINS)
        begin = time.monotonic()
        with pytest.raises(PeerError, match=r"is connected but did not answer within 2 s"):
            link.ask(event(1))
        assert 1.9 < time.monotonic() - begin < 5


def test_a_peer_that_dies_is_reported_long_before_the_deadline(start: Start) -> None:
    endpoint = first_line(start(PEER, "die", "tcp://127.0.0.1:*"))
    with ZmqLink(endpoint, make_codec("json"), 60) as link:
        link.ask(BEGINS)
        begin = time.monotonic()
        with pytest.raises(PeerError, match="closed the connection before it answered"):
            link.ask(event(1))
        assert time.monotonic() - begin < 5


@pytest.mark.parametrize(("codec", "hint"), [("json", False), ("msgpack", True)])
def test_a_peer_that_never_answered_may_not_know_the_format(codec: str, hint: bool) -> None:
    with Replier("tcp://127.0.0.1:*") as replier:  # connected, and silent
        link = ZmqLink(replier.endpoint, make_codec(codec), 0.5)
        with link, pytest.raises(PeerError, match="is connected but did not answer") as lost:
            link.ask(BEGINS)
    assert ("try --codec json" in str(lost.value)) is hint


def test_a_peer_that_has_answered_knows_the_format(start: Start) -> None:
    endpoint = first_line(start(PEER, "die", "tcp://127.0.0.1:*"))
    with ZmqLink(endpoint, make_codec("msgpack"), 60) as link:
        link.ask(BEGINS)
        with pytest.raises(PeerError, match=r"closed the connection before it answered$"):
            link.ask(event(1))


def test_a_peer_that_died_between_two_requests_is_reported(start: Start) -> None:
    process = start(PEER, "no", "tcp://127.0.0.1:*")
    with ZmqLink(first_line(process), make_codec("json"), 60) as link:
        link.ask(BEGINS)
        process.kill()
        process.wait()
        with pytest.raises(PeerError, match="closed the connection before it answered"):
            link.ask(event(1))


def test_a_replier_notices_that_its_simulator_died(start: Start) -> None:
    with Replier("tcp://127.0.0.1:*", deadline_s=60) as replier:
        start(ASKER, "die", replier.endpoint)
        begin = time.monotonic()
        with pytest.raises(PeerError, match="closed the connection before SIMULATION_ENDS"):
            replier.serve(Steady())
        assert time.monotonic() - begin < 10


def test_a_stranger_that_connects_and_leaves_does_not_end_the_run() -> None:
    replier = Replier("tcp://127.0.0.1:*", deadline_s=10)
    port = int(replier.endpoint.rsplit(":", 1)[1])
    other = Background(lambda: replier.serve(Steady()))
    socket.create_connection(("127.0.0.1", port)).close()
    with ZmqLink(replier.endpoint, make_codec("json"), 10) as link:
        link.ask(BEGINS)
        with socket.create_connection(("127.0.0.1", port)) as stranger:
            stranger.sendall(b"GET / HTTP/1.0\r\n\r\n")
        time.sleep(0.4)  # longer than the plain wait: the replier has looked at the connections
        link.ask(event(1))
        link.ask(ends(2))
    other.join()
    assert other.error is None


def test_a_silent_simulator_is_reported_after_the_deadline() -> None:
    replier = Replier("tcp://127.0.0.1:*", deadline_s=0.5, first_deadline_s=10)
    other = Background(lambda: replier.serve(Steady()))
    with ZmqLink(replier.endpoint, make_codec("json"), 10) as link:
        link.ask(BEGINS)
        other.join()
    assert isinstance(other.error, PeerError)
    assert str(other.error) == f"simulator was silent at {replier.endpoint} for 0.5 s"


def test_nobody_asking_is_reported_after_the_deadline() -> None:
    with (
        Replier("tcp://127.0.0.1:*", deadline_s=0.3) as replier,
        pytest.raises(PeerError, match=r"nobody asked anything at tcp://127.0.0.1:\d+ for 0.3 s"),
    ):
        replier.serve(Steady())


GARBAGE = [
    ([b"\x00\xff\x17"], "the message is not JSON"),
    ([b"{}", b"{}"], "a message is one frame, not 2"),
    ([b'{"now":1,"events":[{"timestamp":1,"type":"SING","data":{}}]}'], r"events\[0\] SING: type: no event"),
    ([b'{"now":1,"events":[]}'], "broker said no event while the conversation is new"),
]


@pytest.mark.parametrize(("frames", "text"), GARBAGE)
def test_a_garbage_request_ends_the_replier_with_one_line_and_the_peer_sees_it_close(
    frames: list[bytes], text: str
) -> None:
    replier = Replier("tcp://127.0.0.1:*", deadline_s=10, name="simulator")
    other = Background(lambda: replier.serve(Steady()))
    context = zmq.Context()
    with context, context.socket(zmq.REQ) as peer:
        peer.linger = 0
        peer.connect(replier.endpoint)
        peer.send_multipart(frames)
        other.join()
    assert isinstance(other.error, RemoteProtocolError)
    with pytest.raises(RemoteProtocolError, match=f"simulator at {replier.endpoint}: {text}"):
        raise other.error


def test_a_garbage_reply_names_peer_endpoint_and_field() -> None:
    context = zmq.Context()
    with context, context.socket(zmq.REP) as peer:
        peer.linger = 0
        port = peer.bind_to_random_port("tcp://127.0.0.1")

        def answer() -> None:
            peer.recv()
            peer.send(b'{"now":1,"events":[{"timestamp":1,"type":"EXECUTE_JOB","data":{"job_id":"w!1"}}]}')

        other = Background(answer)
        with (
            ZmqLink(f"tcp://127.0.0.1:{port}", make_codec("json"), 10, name="easy") as link,
            pytest.raises(RemoteProtocolError) as caught,
        ):
            link.ask(BEGINS)
        other.join()
    expected = f"easy at tcp://127.0.0.1:{port}: events[0] EXECUTE_JOB: data.alloc: is missing"
    assert str(caught.value) == expected


def test_a_replier_that_refuses_is_seen_closing_by_its_peer() -> None:
    class Broken(Steady):
        def handle(self, message: m.Message) -> m.Message:
            raise InputError("no such policy")

    replier = Replier("tcp://127.0.0.1:*", deadline_s=10)
    other = Background(lambda: replier.serve(Broken()))
    with (
        ZmqLink(replier.endpoint, make_codec("json"), 60) as link,
        pytest.raises(PeerError, match="closed the connection before it answered"),
    ):
        link.ask(BEGINS)
    other.join()
    assert isinstance(other.error, InputError)


@pytest.mark.parametrize("scheme", ["tcp", "ipc"])
def test_an_address_in_use_is_bad_input(scheme: str, tmp_path: Path) -> None:
    with Replier("tcp://127.0.0.1:*" if scheme == "tcp" else f"ipc://{tmp_path}/s") as first:
        with pytest.raises(InputError, match="the address is in use") as caught:
            Replier(first.endpoint)
        assert caught.value.source == first.endpoint


def test_a_socket_left_behind_by_a_killed_process_is_taken_over(start: Start, tmp_path: Path) -> None:
    endpoint = f"ipc://{tmp_path}/s"
    process = start(PEER, "no", endpoint)
    first_line(process)
    process.kill()
    process.wait()
    assert (tmp_path / "s").exists()
    with Replier(endpoint, deadline_s=0.2) as replier, pytest.raises(PeerError, match="nobody asked"):
        replier.serve(Steady())


@pytest.mark.parametrize(
    ("endpoint", "text"),
    [
        ("tcp://192.0.2.1:28765", "this machine does not have that address"),
        ("ipc:///no/such/folder/s", "the folder of that path does not exist"),
        ("ipc:///tmp/" + "x" * 200, "the path is too long for a socket"),
    ],
)
def test_an_address_that_cannot_be_bound_is_bad_input(endpoint: str, text: str) -> None:
    with pytest.raises(InputError) as caught:
        Replier(endpoint)
    assert str(caught.value) == f"{endpoint}: {text}"


def test_ctrl_c_interrupts_the_asking_side_at_once(start: Start) -> None:
    process = start(ASKER, "wait", "tcp://127.0.0.1:1")
    assert first_line(process) == "waiting"
    time.sleep(0.3)
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.wait(10)
    assert time.monotonic() - begin < 2


def test_ctrl_c_interrupts_the_answering_side_at_once(start: Start) -> None:
    process = start(PEER, "no", "tcp://127.0.0.1:*")
    first_line(process)
    time.sleep(0.3)
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.wait(10)
    assert time.monotonic() - begin < 2


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", range(4))
def test_closing_goes_on_where_an_interrupt_broke_it_off(
    monkeypatch: pytest.MonkeyPatch, step: int, when: str
) -> None:
    """Two signals close together: the first ends the wait, the second comes while the port closes."""
    done: list[str] = []

    def interrupted(kind: type, name: str) -> None:
        really = getattr(kind, name)

        def do(self: object, *arguments: object, **named: object) -> object:
            done.append(name)
            if len(done) == step + 1 and when == "before":
                raise KeyboardInterrupt
            result = really(self, *arguments, **named)
            if len(done) == step + 1:
                raise KeyboardInterrupt
            return result

        monkeypatch.setattr(kind, name, do)

    replier = Replier("tcp://127.0.0.1:*")
    interrupted(zmq.Socket, "disable_monitor")
    interrupted(zmq.Socket, "close")
    interrupted(zmq.Context, "term")
    with pytest.raises(KeyboardInterrupt):
        replier.close()
    replier.close()
    assert replier._port.socket.closed
    assert replier._port._monitor.closed
    assert replier._port._context.closed
