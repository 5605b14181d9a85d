"""What every controller does: get to know the workers, keep actions and requests apart, say the answers.

At the beginning each model of the workloads is loaded from disk on every worker, and each worker is asked for
its memory. Requests that arrive meanwhile wait. All dates here are nanoseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from batpy.base.errors import InputError
from batpy.base.serving import NANOS, NO_LATEST, ClientStatus, LoadedModel
from batpy.protocol import extensions as x
from batpy.protocol.messages import Event
from batpy.schedulers.api import Plan, View


class Request(msgspec.Struct, eq=False):
    """A request without an answer; ``taken`` once it is part of an action."""

    id: str
    model: int
    batch: int
    size: int
    arrived: int
    deadline: int
    taken: bool = False


class Card:
    """One GPU of a worker, as its results told.

    Attributes:
        pages: of its weights cache; ``free``: those that this controller has not given out.
        resident: models whose weights are there, the one used least recently first.
    """

    def __init__(self, host: int, number: int, pages: int) -> None:
        self.host = host
        self.number = number
        self.pages = self.free = pages
        self.resident: dict[int, None] = {}

    def touch(self, model: int) -> None:
        """A model is used now."""
        if model in self.resident:
            del self.resident[model]
        self.resident[model] = None


class Controller:
    """A policy for ``SchedulerCore``; subclasses say what to do with requests and results.

    Attributes:
        now: the present date.
        cards: every GPU, by host and number.
        models: what is known of each model, by id.
    """

    wants = ("serving",)

    def __init__(self, max_batch_size: int = 32, max_exec_duration: int = NANOS) -> None:
        self._limits = (max_batch_size, max_exec_duration)
        self._wake_at: int | None = None
        self._call_at: int | None = None
        self.now = 0
        self.cards: list[Card] = []
        self.models: dict[int, LoadedModel] = {}
        self._view: View
        self._heard: list[Event] = []
        self._said: list[Event] = []
        self._serial = 0
        self._then: dict[int, Callable[[x.ActionResult], None]] = {}
        self._starting = 0

    # ------------------------------------------------------------------ what subclasses do

    def ready(self) -> None:
        """All workers are known."""

    def arrived(self, request: Request) -> None:
        """A request came."""
        raise NotImplementedError

    def work(self) -> None:
        """Everything that came is known: decide."""

    # ------------------------------------------------------------------ the policy

    def begin(self, view: View) -> Plan:
        """Ask the workers for what they are, and have them read all models."""
        greeting = view.greeting
        hosts = [record["id"] for record in greeting.compute_resources if record.get("gpus")]
        if not hosts:
            raise InputError("a controller needs hosts with GPUs (platform.gpus)", source=type(self).__name__)
        self._view = view
        rows = [
            profile
            for profiles in greeting.profiles.values()
            for profile in profiles.values()
            if profile.get("type") == "model"
        ]
        for host in hosts:
            for row in rows:
                self._ask_for_model(host, row)
            self._starting += 1
            self.act(x.GetWorkerState(view.now, 0, host), self._state)
        return self._plan()

    def hear(self, event: Event) -> None:
        """Keep an event until all of this instant are there."""
        self._heard.append(event)

    def decide(self, view: View) -> Plan | None:
        """Take what came, then decide."""
        self.now = view.now * NANOS // view.ticks_per_second
        if self._call_at is not None and view.now >= self._call_at:
            self._call_at = None
        heard, self._heard = self._heard, []
        requests: list[x.InferenceRequested] = []
        for event in heard:
            if isinstance(event, x.ActionResult):
                self._then.pop(event.id)(event)
            elif isinstance(event, x.InferenceRequested):
                requests.append(event)
        if self._starting:
            self._heard = [*requests]
            return self._plan()
        for event in requests:
            self._take(event)
        self.work()
        plan = self._plan()
        for job in view.arrived:
            plan.reject(job, "a controller of ML serving runs no jobs")
        return plan

    def _take(self, event: x.InferenceRequested) -> None:
        request = Request(
            event.request_id, event.model_id, event.batch_size, event.input_size, self.now, event.deadline
        )
        model = self.models.get(request.model)
        if model is None or not 0 < request.batch <= model.supported_batch_sizes[-1]:
            self.answer(request, ClientStatus.INVALID_REQUEST)
        else:
            self.arrived(request)

    def _plan(self) -> Plan:
        plan = Plan(self._view)
        if self._said:
            plan.also, self._said, plan.more = self._said, [], True
        if self._wake_at is not None:
            date, self._wake_at = max(self._view.now + 1, self._wake_at), None
            # Who is called earlier looks again then: calls for every later date would pile up.
            if self._call_at is None or date < self._call_at:
                self._call_at = date
                plan.wake(date)
        return plan

    # ------------------------------------------------------------------ the beginning

    def _ask_for_model(self, host: int, row: dict[str, Any]) -> None:
        first, copies, path = row["model_id"], row["copies"], row["path"]

        def loaded(result: x.ActionResult) -> None:
            if result.model is None:
                problem = f"host {host} cannot use model {path!r}: {result.message}"
                raise InputError(problem, source=type(self).__name__)
            self.models.update(dict.fromkeys(range(first, first + copies), result.model))
            self._started()

        self._starting += 1
        largest, longest = self._limits
        action = x.LoadModelFromDisk(
            self._view.now,
            0,
            host,
            first,
            path,
            no_of_copies=copies,
            max_batch_size=largest,
            max_exec_duration=longest,
        )
        self.act(action, loaded)

    def _state(self, result: x.ActionResult) -> None:
        assert result.memory is not None  # it cannot fail
        for gpu in result.memory.gpus:
            self.cards.append(Card(result.host, gpu.id, gpu.weights_cache_total_pages))
        self._started()

    def _started(self) -> None:
        self._starting -= 1
        if not self._starting:
            self.cards.sort(key=lambda card: (card.host, card.number))
            self.ready()

    # ------------------------------------------------------------------ what is said

    def wake(self, date: int) -> None:
        """Be asked again at a date at the latest; said anew at every decision."""
        tick = -(-date * self._view.ticks_per_second // NANOS)
        if self._wake_at is None or tick < self._wake_at:
            self._wake_at = tick

    @property
    def next_id(self) -> int:
        """The id of the next action."""
        return self._serial + 1

    def act(self, action: x.WorkerAction, then: Callable[[x.ActionResult], None]) -> None:
        """Send an action under a new id; ``then`` is called with its result."""
        self._serial += 1
        action.id = self._serial
        self._then[action.id] = then
        self._said.append(action)

    def answer(self, request: Request, status: int) -> None:
        """The last word on a request."""
        self._said.append(x.InferenceResponse(self._view.now, request.id, int(status)))

    def load(
        self, card: Card, model: int, then: Callable[[x.ActionResult], None], latest: int = NO_LATEST
    ) -> None:
        """Copy weights to a GPU; its pages must be free."""
        pages = self.models[model].num_weights_pages
        assert pages <= card.free
        card.free -= pages

        def over(result: x.ActionResult) -> None:
            if result.status:
                card.free += pages
            else:
                card.resident[model] = None
            then(result)

        self.act(x.LoadWeights(self._view.now, 0, card.host, model, card.number, latest=latest), over)

    def evict(self, card: Card, model: int) -> None:
        """Drop weights; their pages are free at once, since evictions come before loads."""
        del card.resident[model]
        card.free += self.models[model].num_weights_pages
        self.act(x.EvictWeights(self._view.now, 0, card.host, model, card.number), _evicted)

    def infer(
        self,
        card: Card,
        model: int,
        requests: list[Request],
        latest: int,
        over: Callable[[x.ActionResult], None],
    ) -> None:
        """Run requests as one batch and answer them with its status; ``over`` is called after that."""
        sizes = tuple(request.size for request in requests)

        def done(result: x.ActionResult) -> None:
            for request in requests:
                self.answer(request, result.status)
            over(result)

        for request in requests:
            request.taken = True
        card.touch(model)
        action = x.Infer(
            self._view.now,
            0,
            card.host,
            model,
            card.number,
            batch_size=sum(request.batch for request in requests),
            input_size=sum(sizes),
            latest=latest,
            input_sizes=sizes,
        )
        self.act(action, done)

    def exec_time(self, model: int, batch: int) -> int:
        """Profiled duration of a batch, padded to the next size."""
        known = self.models[model]
        sizes, times = known.supported_batch_sizes, known.batch_size_exec_times_nanos
        return next(nanos for size, nanos in zip(sizes, times, strict=True) if size >= batch)


def _evicted(result: x.ActionResult) -> None:
    """Only weights that are there are evicted, by the only one who does it."""
    if result.status:
        raise InputError(f"an eviction failed ({result.status}): {result.message}", source="serving")
