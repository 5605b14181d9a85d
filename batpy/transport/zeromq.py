"""Request and reply over ZeroMQ, as Batsim has it: the asker connects (REQ), the answerer binds (REP).

The only place that imports ``zmq``. One frame a message, either codec. Nobody waits for ever unless told to,
nothing spins, and closing never waits, except for the very last reply (a bounded time).

There is no refusal on the wire: a replier that hears something malformed or illegal raises
RemoteProtocolError and closes; its peer sees the connection close and raises PeerError within a moment.
"""

from __future__ import annotations

import errno
import select
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import zmq
from zmq.utils.monitor import recv_monitor_message

from batpy.base.errors import InputError, PeerError, RemoteProtocolError
from batpy.protocol.codec import AnyCodec, Codec
from batpy.protocol.conversation import Conversation, Speaker, Stage
from batpy.protocol.forms import MAX_BYTES
from batpy.protocol.messages import Message
from batpy.transport.endpoint import check_endpoint
from batpy.transport.link import Core

# First a plain wait, which costs one call; only a silent peer makes us look at the monitor too.
_PLAIN_WAIT_MS = 100
_RECONNECT_MS = 20
# The last reply may take that long to leave before the socket closes.
LAST_WORD_MS = 2000

_WATCHED = (
    zmq.Event.CONNECTED
    | zmq.Event.ACCEPTED
    | zmq.Event.DISCONNECTED
    | zmq.Event.HANDSHAKE_SUCCEEDED
    | zmq.Event.HANDSHAKE_FAILED_NO_DETAIL
    | zmq.Event.HANDSHAKE_FAILED_PROTOCOL
)


class _Port:
    """One socket, its context and its monitor: opens, waits with a deadline, closes."""

    def __init__(self, kind: int, endpoint: str, *, bind: bool) -> None:
        check_endpoint(endpoint, bind=bind)
        self._context = zmq.Context()
        self._own_path: Path | None = None
        try:
            self.socket: zmq.Socket[bytes] = self._context.socket(kind)
            self.socket.linger = 0
            self.socket.setsockopt(zmq.MAXMSGSIZE, MAX_BYTES)
            self.socket.setsockopt(zmq.RECONNECT_IVL, _RECONNECT_MS)
            self.socket.setsockopt(zmq.RCVTIMEO, _PLAIN_WAIT_MS)
            if "[" in endpoint:
                self.socket.setsockopt(zmq.IPV6, 1)
            self._monitor = self.socket.get_monitor_socket(_WATCHED)
            (self.socket.bind if bind else self.socket.connect)(endpoint)
        except zmq.ZMQError as error:
            self.close()
            raise InputError(_why(error, bind=bind), source=endpoint) from None
        self.endpoint = self.socket.getsockopt_string(zmq.LAST_ENDPOINT) if bind else endpoint
        if bind and endpoint.startswith("ipc://") and endpoint != "ipc://*":
            self._own_path = Path(endpoint.removeprefix("ipc://"))
        self._both = zmq.Poller()
        self._both.register(self.socket, zmq.POLLIN)
        self._both.register(self._monitor, zmq.POLLIN)

    def receive(
        self, deadline_s: float | None, on_event: Callable[[int, int], None], lost: Callable[[], bool]
    ) -> list[bytes] | None:
        """Frames of the next message, or None past the deadline or when the peer is lost.

        Args:
            deadline_s: how long to wait, None for ever.
            on_event: called with each monitor event and its value.
            lost: tells, when all events that happened were shown, whether the peer is gone for good.
        """
        begin = time.monotonic()
        if deadline_s is None or deadline_s * 1000 > _PLAIN_WAIT_MS:
            try:
                return self.socket.recv_multipart()
            except zmq.Again:
                pass
        while True:
            gone = lost()
            left = None if deadline_s is None else max(0.0, begin + deadline_s - time.monotonic())
            wait = None if left is None else int(left * 1000) + (left > 0)
            ready = dict(self._both.poll(0 if gone else wait))
            if self.socket in ready:
                return self.socket.recv_multipart()
            if gone or not ready:
                return None
            while self._monitor.poll(0):
                event: Any = recv_monitor_message(self._monitor)
                on_event(event["event"], event["value"])

    def receive_soon(self, timeout_s: float | None) -> list[bytes] | None:
        """Frames of the next message, or None after *timeout_s*, kept to some 0.1 ms (ZeroMQ's own: 1 ms)."""
        end = None if timeout_s is None else time.monotonic() + timeout_s
        descriptor = int(self.socket.getsockopt(zmq.FD))
        while True:
            # Looking resets the descriptor, which tells of changes only: look, wait, look again.
            if int(self.socket.getsockopt(zmq.EVENTS)) & zmq.POLLIN:
                return self.socket.recv_multipart()
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                return None
            select.select([descriptor], [], [], left)

    def close(self, linger_ms: int = 0) -> None:
        """Give everything back; waits at most *linger_ms* for what was sent.

        May be called again after an interrupt broke it off: each step looks whether it is done.
        """
        if self._context.closed:
            return
        if self._own_path is not None:
            # The library leaves its file behind. Removed while we still listen, when it is surely ours.
            self._own_path.unlink(missing_ok=True)
            self._own_path = None
        monitor = getattr(self, "_monitor", None)
        if monitor is not None and not monitor.closed:
            if not self.socket.closed:
                self.socket.disable_monitor()
            monitor.close(linger=0)
        if hasattr(self, "socket") and not self.socket.closed:
            self.socket.close(linger=linger_ms)
        self._context.term()


def _why(error: zmq.ZMQError, *, bind: bool) -> str:
    """What a failed bind or connect means, and what to do."""
    known: dict[int | None, str] = {
        errno.EADDRINUSE: "the address is in use, another process listens there; stop it or choose another",
        errno.ENODEV: "a binding side names an address of this machine or *, not a host name",
        errno.EADDRNOTAVAIL: "this machine does not have that address",
        errno.EACCES: "no permission to use that address",
        errno.ENOENT: "the folder of that path does not exist",
        errno.ENAMETOOLONG: "the path is too long for a socket",
    }
    verb = "bind to" if bind else "connect to"
    return known.get(error.errno, f"cannot {verb} that endpoint: {error.strerror}")


def _single(frames: list[bytes]) -> bytes:
    if len(frames) != 1:
        raise RemoteProtocolError(f"a message is one frame, not {len(frames)}")
    return frames[0]


class _PortOwner:
    """One end of a connection: closes its port, at the end of a ``with`` block too."""

    _port: _Port

    def close(self) -> None:
        """Close the connection; never waits."""
        self._port.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class ZmqLink(_PortOwner):
    """The asking side: connects to an endpoint where a scheduler or a broker binds. A ``Link``.

    Which of the two starts first does not matter. ``ask`` is ``post`` and ``collect`` in one: a broker
    posts to all its peers first and collects their replies after.

    Args:
        endpoint: ``tcp://HOST:PORT`` or ``ipc://PATH``.
        codec: format to speak; the peer answers in the same one.
        deadline_s: longest wait for one reply, None for ever.
        name: the peer as error texts call it.
        speaker: our role.

    Raises:
        InputError: the endpoint is not one.
    """

    def __init__(
        self,
        endpoint: str,
        codec: Codec,
        deadline_s: float | None = 30.0,
        name: str = "scheduler",
        speaker: Speaker = Speaker.SIMULATOR,
    ) -> None:
        self.endpoint = endpoint
        self.name = name
        self._codec = codec
        self._deadline_s = deadline_s
        self._conversation = Conversation(speaker, Speaker.SCHEDULER)
        self._state = "nothing listens there"
        self._answered = False
        self._port = _Port(zmq.REQ, endpoint, bind=False)

    def ask(self, message: Message) -> Message:
        """See ``Link``."""
        self.post(message)
        return self.collect()

    def post(self, message: Message) -> None:
        """Send a request; ``collect`` its reply before the next one."""
        self._conversation.say(message)
        self._port.socket.send(self._codec.encode_message(message))

    def collect(self) -> Message:
        """The reply to the request posted last.

        Raises:
            PeerError: nobody answered within the deadline, or the peer closed the connection.
            RemoteProtocolError: the reply is malformed or illegal.
        """
        frames = self._port.receive(self._deadline_s, self._watch, self._lost)
        if frames is None:
            raise PeerError(self._loss())
        try:
            reply = self._codec.decode_message(_single(frames))
            self._conversation.hear(reply)
        except RemoteProtocolError as error:
            raise RemoteProtocolError(f"{self.name} at {self.endpoint}: {error}") from None
        self._answered = True
        return reply

    def _watch(self, event: int, _value: int) -> None:
        """Follow the state of the connection."""
        if event == zmq.Event.HANDSHAKE_SUCCEEDED:
            self._state = "silent"
        elif event == zmq.Event.CONNECTED and self._state != "silent":
            self._state = "what listens there does not speak ZeroMQ"
        elif event == zmq.Event.DISCONNECTED and self._state == "silent":
            self._state = "lost"

    def _lost(self) -> bool:
        """True once a peer that was there is gone: a new one at that address would know nothing."""
        return self._state == "lost"

    def _loss(self) -> str:
        # Schedulers built on pybatsim read JSON only, and fail or wait for ever if asked otherwise.
        packed = self._codec.name == "msgpack" and not self._answered
        hint = "; it may not know MessagePack: try --codec json" if packed else ""
        if self._state == "lost":
            return f"{self.name} at {self.endpoint} closed the connection before it answered{hint}"
        within = f"within {self._deadline_s:g} s"
        if self._state == "silent":
            return f"{self.name} at {self.endpoint} is connected but did not answer {within}{hint}"
        return f"{self.name}: nobody answered at {self.endpoint} {within} ({self._state})"


class Replier(_PortOwner):
    """The answering side: binds an endpoint and lets a core answer until SIMULATION_ENDS.

    Args:
        endpoint: where to bind; ``tcp://127.0.0.1:*`` takes a free port (see ``endpoint`` afterwards).
        deadline_s: longest silence of the peer before PeerError, None for ever. A peer that closes the
            connection in the middle of a conversation is noticed at once in either case.
        first_deadline_s: the same for its first message; by default *deadline_s*.
        name: the peer as error texts call it.
        codec: reads the requests; by default either format, answered in kind.

    Raises:
        InputError: the endpoint is not one, or is in use.
    """

    def __init__(
        self,
        endpoint: str,
        *,
        deadline_s: float | None = None,
        first_deadline_s: float | None = None,
        name: str = "simulator",
        codec: Codec | None = None,
    ) -> None:
        self._deadline_s = deadline_s
        self._first_deadline_s = deadline_s if first_deadline_s is None else first_deadline_s
        self.name = name
        self._codec: Codec = AnyCodec() if codec is None else codec
        self._connections: set[int] = set()
        self._any_closed = False
        self._conversation = Conversation(Speaker.SCHEDULER, Speaker.BROKER)
        self._port = _Port(zmq.REP, endpoint, bind=True)
        self.endpoint = self._port.endpoint

    def serve(self, core: Core) -> None:
        """Answer requests with *core*, until it has answered SIMULATION_ENDS; then close.

        Raises:
            PeerError: the peer stayed silent too long or closed the connection.
            RemoteProtocolError: a request is malformed or illegal.
        """
        try:
            while not self._conversation.over:
                request = self._receive()
                reply = core.handle(request)
                self._conversation.say(reply)
                self._port.socket.send(self._codec.encode_message(reply))
        except BaseException:
            self.close()
            raise
        self._port.close(LAST_WORD_MS)

    def _receive(self) -> Message:
        first = self._conversation.stage is Stage.NEW
        deadline_s = self._first_deadline_s if first else self._deadline_s
        frames = self._port.receive(deadline_s, self._watch, self._lost)
        if frames is None:
            raise PeerError(self._loss(deadline_s, first=first))
        try:
            request = self._codec.decode_message(_single(frames))
            self._conversation.hear(request)
        except RemoteProtocolError as error:
            raise RemoteProtocolError(f"{self.name} at {self.endpoint}: {error}") from None
        return request

    def _watch(self, event: int, value: int) -> None:
        """Keep the set of open connections."""
        if event == zmq.Event.ACCEPTED:
            self._connections.add(value)
        elif event == zmq.Event.DISCONNECTED:
            self._connections.discard(value)
            self._any_closed = True

    def _lost(self) -> bool:
        """True once a conversation has begun and no connection is left."""
        return self._conversation.stage is not Stage.NEW and self._any_closed and not self._connections

    def _loss(self, deadline_s: float | None, *, first: bool) -> str:
        if self._lost():
            return f"{self.name} at {self.endpoint} closed the connection before SIMULATION_ENDS"
        silence = "nobody asked anything" if first else f"{self.name} was silent"
        return f"{silence} at {self.endpoint} for {deadline_s:g} s"


class AnswerLater(_PortOwner):
    """The answering side of peers that do not wait: each may send any time, and hears when there is news.

    Binds a ROUTER; its peers connect DEALERs. Each is answered in the format of its own last message. What is
    sent to a peer that has gone is lost.

    Args:
        endpoint: where to bind; see ``Replier``.
        ticks_per_second: resolution of the dates in messages.

    Raises:
        InputError: the endpoint is not one, or is in use.
    """

    def __init__(self, endpoint: str, ticks_per_second: int) -> None:
        self._scale = ticks_per_second
        self._codecs: dict[bytes, AnyCodec] = {}
        self._port = _Port(zmq.ROUTER, endpoint, bind=True)
        self._port.socket.setsockopt(zmq.RCVTIMEO, 0)
        self.endpoint = self._port.endpoint

    def receive(self, timeout_s: float | None) -> tuple[bytes, Message | RemoteProtocolError] | None:
        """The next message and its peer, or None if none comes within *timeout_s* (None: for ever).

        A malformed one is given as the error, so that its peer can be told.
        """
        frames = self._port.receive_soon(timeout_s)
        if frames is None:
            return None
        peer, *parts = frames
        codec = self._codecs.get(peer)
        if codec is None:
            codec = self._codecs[peer] = AnyCodec(self._scale)
        try:
            return peer, codec.decode_message(_single(parts))
        except RemoteProtocolError as error:
            return peer, error

    def send(self, peer: bytes, message: Message) -> None:
        """Send to a peer that was heard; never waits."""
        with suppress(zmq.Again):  # it reads nothing and its queue is full
            self._port.socket.send_multipart([peer, self._codecs[peer].encode_message(message)], zmq.NOBLOCK)

    def finish(self) -> None:
        """Close when what was sent has left, within a bounded time."""
        self._port.close(LAST_WORD_MS)


def serve(
    core: Core,
    endpoint: str,
    *,
    deadline_s: float | None = None,
    first_deadline_s: float | None = None,
    name: str = "simulator",
    on_bound: Callable[[str], None] | None = None,
) -> None:
    """Bind, tell the real endpoint to *on_bound*, answer until SIMULATION_ENDS. See ``Replier``."""
    with Replier(endpoint, deadline_s=deadline_s, first_deadline_s=first_deadline_s, name=name) as replier:
        if on_bound is not None:
            on_bound(replier.endpoint)
        replier.serve(core)
