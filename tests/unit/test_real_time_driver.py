"""The real-time driver with a clock and a desk of the test: dates, lag, interrupts; no socket, no sleep."""

from __future__ import annotations

from collections.abc import Callable

from inference_cases import INPUT, OneModel, ms

from batpy.cli.interrupts import Interrupts
from batpy.cli.worker import WORKER, Lag, LagMeter, RealTimeWorker
from batpy.models.inference.fleet import Fleet
from batpy.protocol.extensions import ActionResult, Infer, LoadModelFromDisk, LoadWeights
from batpy.protocol.messages import Event, Message


class Desk:
    """Messages at dates; waiting moves the clock, each wake-up is *late* nanoseconds late."""

    def __init__(self, said: list[tuple[int, list[Event]]], late: int = 0) -> None:
        self._said = said
        self._late = late
        self.now = 0
        self.sent: list[tuple[int, Event]] = []
        self.idle: Callable[[], None] | None = None

    def clock(self) -> int:
        return self.now

    def receive(self, timeout_s: float | None) -> tuple[bytes, Message] | None:
        wake = None if timeout_s is None else self.now + round(timeout_s * 1e9) + self._late
        if self._said and (wake is None or self._said[0][0] <= wake):
            date, events = self._said.pop(0)
            self.now = max(self.now, date)
            return b"peer", Message(self.now, events)
        if wake is None:
            raise KeyboardInterrupt
        self.now = wake
        return None

    def send(self, peer: bytes, message: Message) -> None:
        assert peer == b"peer"
        self.sent += [(message.now, event) for event in message.events]

    def results(self) -> list[ActionResult]:
        return [event for _, event in self.sent if isinstance(event, ActionResult)]


BEGIN: list[Event] = [LoadModelFromDisk(0, 1, 0, 0, "resnet50_v2"), LoadWeights(0, 2, 0, 0, 0)]


def infer(id_: int) -> Infer:
    return Infer(0, id_, 0, 0, 0, 1, INPUT)


def served(desk: Desk) -> list[Lag]:
    told: list[Lag] = []
    worker = RealTimeWorker(Fleet({WORKER: 1}, OneModel()), desk, desk.clock, told.append)
    worker.serve(Interrupts())
    return told


def test_dates_are_the_promised_ones_and_the_lag_is_told() -> None:
    desk = Desk([(0, BEGIN), (ms(20), [infer(3), infer(4)])], late=ms(2))
    [lag] = served(desk)
    steps = {result.id: result.inference.exec for result in desk.results() if result.inference is not None}
    assert (steps[3].begin, steps[3].end) == (ms(20), ms(23.322))
    assert (steps[4].begin, steps[4].end) == (ms(23.322), ms(26.644))
    assert [result.result_sent for result in desk.results()[1:]] == [ms(10.372), ms(25.322), ms(28.644)]
    assert (lag.results, lag.median, lag.most) == (4, ms(2), ms(2))
    assert str(lag).endswith("p99.9 2.000 ms (more than the promised 1 ms), max 2.000 ms")


def test_a_message_that_comes_while_a_result_is_overdue_finds_the_state_of_its_own_date() -> None:
    """The load is over at 8.372 ms; the worker wakes up late, and hears an inference first: it succeeds."""
    desk = Desk([(0, BEGIN), (ms(9), [infer(3)])], late=ms(5))
    served(desk)
    assert [(result.id, result.status) for result in desk.results()] == [(1, 0), (2, 0), (3, 0)]
    assert desk.results()[2].action_received == ms(9)


def test_an_interrupt_lets_what_runs_end_and_cancels_the_rest() -> None:
    desk = Desk([(0, BEGIN), (ms(20), [infer(3), infer(4), infer(5)])])
    interrupts = Interrupts()
    plain = desk.receive

    def receive(timeout_s: float | None) -> tuple[bytes, Message] | None:
        heard = plain(timeout_s)
        if heard is not None and desk.now == ms(20):
            interrupts.pending = True  # as a signal that comes while the message is handled
        return heard

    desk.receive = receive  # type: ignore[method-assign]
    worker = RealTimeWorker(Fleet({WORKER: 1}, OneModel()), desk, desk.clock, lambda lag: None)
    worker.serve(interrupts)
    assert [(result.id, result.status) for result in desk.results()[2:]] == [(4, 1), (5, 1), (3, 0)]


def test_the_meter_rounds_up_and_counts_in_bounded_memory() -> None:
    meter = LagMeter()
    assert meter.read() == Lag(0, 0, 0, 0)
    for nanos in (*[1] * 998, 2_500_000, 10**12):
        meter.add(nanos)
    assert meter.read() == Lag(1000, 1_000, 2_500_000, 1_000_000_000)
