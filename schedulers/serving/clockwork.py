"""Clockwork's controller: one action at a time, each with its time, and nothing that cannot be in time.

Source: Clockwork (OSDI'20), the INFER5 scheduler of its artifact, in own words and for one thread. Each model
has one queue per batch size, and every request stands in all of them. A GPU takes the strategy (model and
batch size) that must start soonest; loads follow unserved demand; the least recently used model makes room.
Differences: a model with a batch in flight is not evicted; demand and expiry as in ``demand``; a load goes
to the GPU with the least demand; requests are single inputs.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from heapq import heappop, heappush

from batpy.base.serving import NANOS, ClientStatus
from batpy.protocol import extensions as x
from batpy.schedulers.serving.base import Card, Controller, Request
from batpy.schedulers.serving.demand import CAPACITY, Demand
from batpy.schedulers.serving.estimates import SOON, Estimate, Tracker

_MS = NANOS // 1000
SCAN_EVERY = NANOS // 1000
"""Between two looks at what all models want; those that are nowhere are looked at at once."""


@dataclass(frozen=True, slots=True)
class ClockworkOptions:
    """Options of ``clockwork``; durations in milliseconds.

    Attributes:
        max_batch: largest batch.
        max_exec: batches that take longer are not used.
        schedule_ahead: how much work a GPU is sent in advance, and how much later than planned it may begin.
        buffer: kept free before a deadline, for the way back.
        load_within: weights must be there that soon after a request to be of use to it.
    """

    max_batch: int = 8
    max_exec: float = 250.0
    schedule_ahead: float = 10.0
    buffer: float = 5.0
    load_within: float = 25.0

    def __post_init__(self) -> None:
        if self.max_batch < 1:
            raise ValueError("max_batch must be at least 1")
        for name in ("max_exec", "schedule_ahead", "buffer", "load_within"):
            if not 0 <= getattr(self, name) <= 1e9:
                raise ValueError(f"{name} must be from 0 to 1e9 ms")


class _Model:
    """One model: its queues by batch size, its estimates, and where it is."""

    def __init__(self, sizes: tuple[int, ...], times: tuple[int, ...], load_time: int, pages: int) -> None:
        self.sizes = sizes
        self.queues: dict[int, deque[Request]] = {size: deque() for size in sizes}
        self.times = {size: Estimate(nanos) for size, nanos in zip(sizes, times, strict=True)}
        self.load_time = Estimate(load_time)
        self.pages = pages
        self.places: dict[int, _Seat] = {}


class _Seat:
    """One GPU: its work, its strategies, and what is on the way to it."""

    def __init__(self, index: int, card: Card) -> None:
        self.index = index
        self.card = card
        self.execs = Tracker()
        self.loads = Tracker()
        self.strategies: list[tuple[int, int, int, int]] = []  # (latest start, batch size, model, stamp)
        self.stamps: dict[int, int] = {}  # the strategies of a model that count
        self.active: dict[int, None] = {}  # models with news
        self.running: dict[int, int] = {}  # batches in flight, by model
        self.blocked = 0  # it has enough to do until then


class Clockwork(Controller):
    """Batches and loads that can be in time, the most urgent first; the rest is refused."""

    Options = ClockworkOptions

    def __init__(self, options: ClockworkOptions | None = None) -> None:
        self._options = options = options or ClockworkOptions()
        super().__init__(options.max_batch, round(options.max_exec * _MS))
        self._ahead = round(options.schedule_ahead * _MS)
        self._buffer = round(options.buffer * _MS)
        self._seats: list[_Seat] = []
        self._known: dict[int, _Model] = {}
        self._demand: Demand
        self._due: list[tuple[int, int, Request]] = []  # requests by internal deadline
        self._count = 0
        self._exec_demand: dict[str, float] = {}
        self._touched: dict[int, _Seat] = {}  # GPUs that may have something to begin
        self._blocked: list[tuple[int, int]] = []  # (date, GPU) of those that have enough to do until then
        self._asked: dict[int, None] = {}  # models with new requests since loads were looked at
        self._scan_at = 0

    def ready(self) -> None:
        """Set up GPUs and models."""
        self._seats = [_Seat(index, card) for index, card in enumerate(self.cards)]
        self._demand = Demand(len(self._seats))
        for number, model in self.models.items():
            self._known[number] = _Model(
                model.supported_batch_sizes,
                model.batch_size_exec_times_nanos,
                model.weights_load_time_nanos,
                model.num_weights_pages,
            )

    # ------------------------------------------------------------------ requests

    def arrived(self, request: Request) -> None:
        """Queue it for every batch size; from now on its deadline is the internal one."""
        model = self._known[request.model]
        if request.batch != 1 or model.pages > self.cards[0].pages:
            wrong = request.batch != 1
            self.answer(request, ClientStatus.INVALID_REQUEST if wrong else ClientStatus.ERROR)
            return
        slo, least = request.deadline - request.arrived, self._ahead + self._buffer
        exec_slo = max(slo - self._buffer, least)
        shortest = model.times[1].value
        late = model.load_time.value + shortest + least
        weights_slo = max(min(round(self._options.load_within * _MS), slo - late), least)
        request.deadline = request.arrived + exec_slo
        self._count += 1
        heappush(self._due, (request.deadline, self._count, request))
        for queue in model.queues.values():
            queue.append(request)
        execution = shortest * CAPACITY / exec_slo
        self._exec_demand[request.id] = execution
        loading = shortest * CAPACITY / weights_slo
        self._demand.add(request.id, request.model, execution, loading, request.arrived + weights_slo)
        self._asked[request.model] = None
        for seat in model.places.values():
            self._touch(seat, request.model)

    def _touch(self, seat: _Seat, number: int) -> None:
        """A model has news for a GPU."""
        seat.active[number] = None
        if seat.blocked <= self.now:
            self._touched[seat.index] = seat

    def _give_up(self) -> None:
        """Refuse what was not taken by its internal deadline."""
        due = self._due
        while due and (due[0][2].taken or due[0][0] < self.now):
            request = heappop(due)[2]
            if not request.taken:
                request.taken = True
                self._demand.begun(request.id)
                self._finished(request)
                self.answer(request, ClientStatus.TIMEOUT)
        if due:
            self.wake(due[0][0] + 1)

    def _finished(self, request: Request) -> None:
        self._demand.over(request.model, self._exec_demand.pop(request.id))

    def work(self) -> None:
        """Refuse, run, load."""
        self._give_up()
        self._demand.expire(self.now)
        blocked = self._blocked
        while blocked and blocked[0][0] <= self.now:
            date, index = heappop(blocked)
            if self._seats[index].blocked == date:
                self._touched[index] = self._seats[index]
        touched, self._touched = self._touched, {}
        for index in sorted(touched):
            self._run(touched[index])
        self._fetch()
        if blocked:
            self.wake(blocked[0][0])

    # ------------------------------------------------------------------ inferences

    def _run(self, seat: _Seat) -> None:
        """Send a GPU batches until it has enough to do."""
        horizon = self.now + self._ahead
        while (begin := seat.execs.available(self.now)) < horizon:
            for number in seat.active:
                self._plan_model(seat, number, self._options.max_batch)
            seat.active.clear()
            if not seat.strategies:
                return
            _, size, number, stamp = heappop(seat.strategies)
            if seat.stamps.get(number) != stamp:
                continue
            del seat.stamps[number]
            if number not in seat.card.resident:
                continue
            batch = _dequeue(self._known[number], size, begin)
            if batch:
                self._send(seat, number, batch, begin)
                seat.active[number] = None
            else:
                self._plan_model(seat, number, size - 1)
        seat.blocked = begin - self._ahead + 1
        heappush(self._blocked, (seat.blocked, seat.index))

    def _plan_model(self, seat: _Seat, number: int, largest: int) -> None:
        """Add a model's strategies up to a batch size, in the place of earlier ones."""
        self._count += 1
        stamp, model = self._count, self._known[number]
        seat.stamps[number] = stamp
        for size in model.sizes:
            if size > largest:
                break
            queue = model.queues[size]
            while queue and queue[0].taken:
                queue.popleft()
            if queue:
                heappush(seat.strategies, (queue[0].deadline - model.times[size].value, size, number, stamp))

    def _send(self, seat: _Seat, number: int, batch: list[Request], begin: int) -> None:
        model, now = self._known[number], self.now
        estimate = model.times[next(size for size in model.sizes if size >= len(batch))]
        action = self.next_id
        seat.execs.sent(action, estimate.value, now)
        seat.running[number] = seat.running.get(number, 0) + 1
        for request in batch:
            self._demand.begun(request.id)

        def over(result: x.ActionResult) -> None:
            step = None if result.inference is None else result.inference.exec
            seat.execs.over(action, result.result_sent if step is None else step.end)
            seat.running[number] -= 1
            if step is not None:
                estimate.add(step.duration)
            for request in batch:
                self._finished(request)
            seat.blocked = 0
            self._touch(seat, number)

        latest = max(now + SOON, begin) + self._ahead
        self.infer(seat.card, number, batch, latest, over)

    # ------------------------------------------------------------------ loads

    def _fetch(self) -> None:
        """Have GPUs load what is wanted most: models with requests that are nowhere, now and then all."""
        asked, self._asked = self._asked, {}
        scans = self.now >= self._scan_at
        if scans:
            self._scan_at = self.now + SCAN_EVERY
            self._demand.settle()
        wanted = self._demand.wanted(None if scans else filter(self._demand.is_cold, asked))
        if not wanted:
            return
        horizon = self.now + self._ahead
        seats = [seat for seat in self._seats if seat.loads.available(self.now) < horizon]
        for number in wanted:
            while seats and self._demand.priority(number) > 0 and self._fetch_one(number, seats):
                pass

    def _fetch_one(self, number: int, seats: list[_Seat]) -> bool:
        """Load a model on the GPU with the least demand of those that can take it; False if there is none.

        Args:
            seats: those that have not enough to load; one that has then is taken out.
        """
        model = self._known[number]
        free = sorted(
            (seat for seat in seats if seat.index not in model.places),
            key=lambda seat: self._demand.outstanding(seat.index),
        )
        for seat in free:
            if self._make_room(seat, model.pages):
                self._load(seat, number, seat.loads.available(self.now))
                if seat.loads.available(self.now) >= self.now + self._ahead:
                    seats.remove(seat)
                return True
        return False

    def _make_room(self, seat: _Seat, pages: int) -> bool:
        """Evict until there is room; unwanted models first, then those used least recently."""
        card = seat.card
        idle = [number for number in card.resident if not seat.running.get(number)]
        idle.sort(key=self._demand.is_wanted)
        if card.free + sum(self._known[number].pages for number in idle) < pages:
            return False
        for number in idle:
            if card.free >= pages:
                break
            self.evict(card, number)
            self._remove(seat, number)
        return True

    def _remove(self, seat: _Seat, number: int) -> None:
        del self._known[number].places[seat.index]
        self._demand.removed(number, seat.index)

    def _load(self, seat: _Seat, number: int, begin: int) -> None:
        model, action, now = self._known[number], self.next_id, self.now
        seat.loads.sent(action, model.load_time.value, now)
        model.places[seat.index] = seat
        self._demand.placed(number, seat.index)

        def over(result: x.ActionResult) -> None:
            seat.loads.over(action, result.result_sent)
            if result.timing is None:
                self._remove(seat, number)
                return
            model.load_time.add(result.timing.duration)
            self._touch(seat, number)

        self.load(seat.card, number, over, max(now + SOON, begin) + self._ahead)


def _dequeue(model: _Model, least: int, begin: int) -> list[Request]:
    """The largest batch that is full and can be in time, if it is no smaller than *least*; else none."""
    best = 0
    for size in model.sizes:
        queue, latest = model.queues[size], begin + model.times[size].value
        while queue and (queue[0].taken or queue[0].deadline < latest):
            queue.popleft()
        if len(queue) < size:
            break
        best = size
    if not best or best < least:
        return []
    batch: list[Request] = []
    queue = model.queues[best]
    while queue and len(batch) < best:
        request = queue.popleft()
        if not request.taken:
            request.taken = True
            batch.append(request)
    return batch
