"""The emulated worker in real time: the same core as in a simulation, driven by this machine's clock.

Every date in a result is the promised one; ``result_sent`` is when it was really sent, and the difference is
the lag. Sleeps until the next event or message, never spins.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

import msgspec

from batpy.base.errors import RemoteProtocolError
from batpy.base.serving import NANOS
from batpy.cli.interrupts import Interrupts
from batpy.models.inference.actions import AnyAction, Result
from batpy.models.inference.fleet import Fleet
from batpy.protocol.extensions import WorkerAction
from batpy.protocol.messages import DecisionRefused, Event, Message
from batpy.protocol.vocabulary import NAME_OF
from batpy.simulator.worker_wire import ACTIONS, to_wire, to_worker, why_malformed

PROMISE = NANOS // 1000
"""Lag that an idle core keeps to at the 99.9th percentile."""
REPORT_EVERY = 10 * NANOS
WORKER = 0
_MICRO = 1000
_LONGEST = 1_000_000  # us


def system_clock() -> Callable[[], int]:
    """A clock in nanoseconds that never goes back and began as the system's own (since 1970)."""
    shift = time.time_ns() - time.monotonic_ns()
    return lambda: time.monotonic_ns() + shift


class Lag(msgspec.Struct, frozen=True):
    """How late results were sent, in nanoseconds, rounded up to microseconds."""

    results: int
    median: int
    p999: int
    most: int

    def __str__(self) -> str:
        def text(nanos: int) -> str:
            return f"{nanos / 1e6:.3f} ms"

        kept = "" if self.p999 <= PROMISE else " (more than the promised 1 ms)"
        figures = f"median {text(self.median)}, p99.9 {text(self.p999)}{kept}, max {text(self.most)}"
        return f"{self.results} results, lag {figures}"


class LagMeter:
    """Counts lags by the microsecond, so that its memory is bounded."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self._results = 0

    def add(self, nanos: int) -> None:
        """A result was sent that late."""
        micros = min(-(-nanos // _MICRO), _LONGEST)
        self._counts[micros] = self._counts.get(micros, 0) + 1
        self._results += 1

    def read(self) -> Lag:
        """What was counted so far."""
        return Lag(self._results, self._share(1, 2), self._share(999, 1000), self._share(1, 1))

    def _share(self, numerator: int, denominator: int) -> int:
        """The smallest lag that this share of the results keeps to."""
        wanted, seen = -(-self._results * numerator // denominator), 0
        for micros in sorted(self._counts):
            seen += self._counts[micros]
            if seen >= wanted:
                return micros * _MICRO
        return 0


class Desk(Protocol):
    """Where messages come from and go to; see ``batpy.transport.zeromq.AnswerLater``."""

    def receive(self, timeout_s: float | None, /) -> tuple[bytes, Message | RemoteProtocolError] | None:
        """The next message and who sent it."""

    def send(self, peer: bytes, message: Message, /) -> None:
        """Send to who was heard."""


class RealTimeWorker:
    """Serves any number of controllers, each with its own ids.

    What is no action, or breaks the types of the worker API, is answered with DECISION_REFUSED.

    Args:
        fleet: has the one worker ``WORKER``.
        clock: nanoseconds, never going back.
        report: told the lag every ten seconds in which results were late, and at the end.
    """

    def __init__(
        self, fleet: Fleet, desk: Desk, clock: Callable[[], int], report: Callable[[Lag], None]
    ) -> None:
        self._fleet = fleet
        self._desk = desk
        self._clock = clock
        self._report = report
        self._serial = 0
        # Our id of each action without a result: who sent it, and its own id and host.
        self._asked: dict[int, tuple[bytes, int, int]] = {}
        self._open: set[tuple[bytes, int]] = set()
        self.lag = LagMeter()
        self._recent = LagMeter()
        self._report_at = 0

    def serve(self, interrupts: Interrupts) -> None:
        """Serve until interrupted: then what runs comes to its end, what is queued is cancelled.

        A second interrupt cancels what runs, too. Every action accepted has its result in the end.
        """
        fleet = self._fleet
        self._report_at = self._clock() + REPORT_EVERY
        try:
            while True:
                with interrupts.let_through():
                    heard = self._wait(fleet.due)
                self._turn(heard)
        except KeyboardInterrupt:
            interrupts.pending = False
            self._tell(fleet.shut_down(self._clock()))
        try:
            while fleet.outstanding:
                with interrupts.let_through():
                    heard = self._wait(fleet.due)
                self._turn(heard)
        except KeyboardInterrupt:
            interrupts.pending = False
            self._tell(fleet.shut_down(self._clock(), immediate=True))
        self._report(self.lag.read())

    def _wait(self, due: int | None) -> tuple[bytes, Message | RemoteProtocolError] | None:
        left = None if due is None else max(0, due - self._clock()) / NANOS
        return self._desk.receive(left)

    def _turn(self, heard: tuple[bytes, Message | RemoteProtocolError] | None) -> None:
        """Take a message, or none, and tell what is over."""
        actions = [] if heard is None else self._take(*heard)
        self._tell(self._fleet.step(self._clock(), actions))

    def _take(self, peer: bytes, message: Message | RemoteProtocolError) -> list[AnyAction]:
        if isinstance(message, RemoteProtocolError):
            self._refuse(peer, "", str(message))
            return []
        actions = []
        for event in message.events:
            action = self._accept(peer, event)
            if isinstance(action, str):
                self._refuse(peer, NAME_OF[type(event)], action)
            else:
                actions.append(action)
        return actions

    def _accept(self, peer: bytes, event: Event) -> AnyAction | str:
        """The action under an id of ours, or the rule that it breaks."""
        if not isinstance(event, ACTIONS):
            return "a worker takes actions only"
        assert isinstance(event, WorkerAction)
        reason = why_malformed(event)
        if reason is None and (peer, event.id) in self._open:
            reason = f"id {event.id} is that of an action without a result yet"
        if reason is not None:
            return reason
        self._serial += 1
        self._asked[self._serial] = (peer, event.id, event.host)
        self._open.add((peer, event.id))
        return to_worker(event, self._serial, WORKER)

    def _refuse(self, peer: bytes, what: str, reason: str) -> None:
        now = self._clock()
        self._desk.send(peer, Message(now, [DecisionRefused(now, what, reason)]))

    def _tell(self, results: list[Result]) -> None:
        """Send results, one message a peer."""
        if not results:
            return
        now = self._clock()
        by_peer: dict[bytes, list[Event]] = {}
        for result in results:
            peer, id_, host = self._asked.pop(result.id)
            self._open.discard((peer, id_))
            by_peer.setdefault(peer, []).append(to_wire(result, now, id_, host, now))
            self.lag.add(now - result.sent)
            self._recent.add(now - result.sent)
        for peer, events in by_peer.items():
            self._desk.send(peer, Message(now, events))
        if now >= self._report_at:
            lag, self._recent = self._recent.read(), LagMeter()
            self._report_at = now + REPORT_EVERY
            if lag.p999 > PROMISE:
                self._report(lag)
