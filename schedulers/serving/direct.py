"""The plainest controller: every request is a batch of its own, at once, on the next GPU in turn."""

from __future__ import annotations

from batpy.base.serving import NANOS, ClientStatus
from batpy.protocol import extensions as x
from batpy.schedulers.serving.base import Card, Controller, Request

PATIENCE = 10 * NANOS
"""An inference may start that much later than its request came (Clockwork's DIRECT controller)."""


class Direct(Controller):
    """Each request is a batch of its own on the next GPU; for tests of workers.

    A model is loaded on a GPU when its first request goes there; nothing is evicted. A request that finds no
    room for its model is refused with 1, one that fails with what the worker says.
    """

    def __init__(self) -> None:
        super().__init__()
        self._turn = 0
        self._waiting: dict[tuple[int, int, int], list[Request]] = {}

    def arrived(self, request: Request) -> None:
        """Send it to the GPU whose turn it is."""
        card = self.cards[self._turn % len(self.cards)]
        self._turn += 1
        key = (card.host, card.number, request.model)
        if request.model in card.resident:
            self._run(card, request)
        elif key in self._waiting:
            self._waiting[key].append(request)
        elif self.models[request.model].num_weights_pages > card.free:
            self.answer(request, ClientStatus.ERROR)
        else:
            self._waiting[key] = [request]

            def loaded(result: x.ActionResult) -> None:
                for waiting in self._waiting.pop(key):
                    if result.status:
                        self.answer(waiting, result.status)
                    else:
                        self._run(card, waiting)

            self.load(card, request.model, loaded)

    def _run(self, card: Card, request: Request) -> None:
        self.infer(card, request.model, [request], request.arrived + PATIENCE, _nothing)


def _nothing(_: x.ActionResult) -> None:
    """Nothing follows from the end of an inference."""
