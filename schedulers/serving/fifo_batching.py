"""First come, first served, in batches: the baseline that controllers with deadlines are measured against."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from batpy.base.serving import NO_LATEST, ClientStatus
from batpy.protocol import extensions as x
from batpy.schedulers.serving.base import Card, Controller, Request


@dataclass(frozen=True, slots=True)
class FifoOptions:
    """Options of ``fifo_batching``.

    Attributes:
        max_batch: largest batch; 0 for the model's own.
        drop_late: refuse (with 4) what can no longer be in time when its turn comes.
    """

    max_batch: int = 0
    drop_late: bool = True

    def __post_init__(self) -> None:
        if self.max_batch < 0:
            raise ValueError("max_batch must be at least 0")


class Line:
    """What waits for one GPU, and what it does."""

    def __init__(self, card: Card) -> None:
        self.card = card
        self.busy = False
        self.line: deque[Request] = deque()
        self.of_model: dict[int, deque[Request]] = {}


class FifoBatching(Controller):
    """Each model has a GPU of its own, given out round robin; the GPU serves the oldest request first.

    As many waiting requests of the same model as a batch holds go with it. Weights that are not there are
    copied first, and the least recently used ones make room; nothing else runs on that GPU meanwhile.
    """

    Options = FifoOptions

    def __init__(self, options: FifoOptions | None = None) -> None:
        super().__init__()
        self._options = options or FifoOptions()
        self._lines: list[Line] = []
        self._place: dict[int, Line] = {}
        self._changed: dict[int, Line] = {}

    def ready(self) -> None:
        """Place the models."""
        self._lines = [Line(card) for card in self.cards]
        for place, model in enumerate(sorted(self.models)):
            self._place[model] = self._lines[place % len(self._lines)]

    def arrived(self, request: Request) -> None:
        """Queue it at its model's GPU."""
        line = self._place[request.model]
        if self.models[request.model].num_weights_pages > line.card.pages:
            self.answer(request, ClientStatus.ERROR)
            return
        line.line.append(request)
        line.of_model.setdefault(request.model, deque()).append(request)
        self._changed[id(line)] = line

    def work(self) -> None:
        """Have every idle GPU at which something changed do the next thing."""
        changed, self._changed = self._changed, {}
        for line in changed.values():
            if not line.busy:
                self._next(line)

    def _next(self, line: Line) -> None:
        waiting = line.line
        while waiting:
            first = waiting[0]
            if first.taken:
                waiting.popleft()
            elif (
                self._options.drop_late
                and self.now + self.exec_time(first.model, first.batch) > first.deadline
            ):
                waiting.popleft()
                line.of_model[first.model].popleft()
                self.answer(first, ClientStatus.TIMEOUT)
            elif first.model in line.card.resident:
                self._run(line, first.model)
                return
            else:
                self._fetch(line, first.model)
                return

    def _run(self, line: Line, model: int) -> None:
        largest = self.models[model].supported_batch_sizes[-1]
        if self._options.max_batch:
            largest = min(largest, self._options.max_batch)
        waiting = line.of_model[model]
        batch = [waiting.popleft()]
        size = batch[0].batch
        while waiting and size + waiting[0].batch <= largest:
            size += waiting[0].batch
            batch.append(waiting.popleft())
        line.busy = True
        self.infer(line.card, model, batch, NO_LATEST, lambda _: self._free(line))

    def _fetch(self, line: Line, model: int) -> None:
        card = line.card
        while card.free < self.models[model].num_weights_pages:
            self.evict(card, next(iter(card.resident)))
        line.busy = True

        def loaded(result: x.ActionResult) -> None:
            if result.status:
                for request in line.of_model.pop(model):
                    request.taken = True
                    self.answer(request, result.status)
            self._free(line)

        self.load(card, model, loaded)

    def _free(self, line: Line) -> None:
        line.busy = False
        self._changed[id(line)] = line
