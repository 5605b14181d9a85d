"""ML serving inside a simulation: requests arrive, actions go to emulated workers, results come back.

Compute hosts with GPUs are workers. They keep nanoseconds whatever the run's resolution: what happens between
two ticks has its exact date in the results, and is told at the next tick. Actions that are said at one tick
are taken together, so that evictions come before loads and loads before inferences whatever their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from batpy.base.errors import RemoteProtocolError
from batpy.base.serving import NANOS
from batpy.models.inference.actions import AnyAction, Result
from batpy.models.inference.flavour import REQUIREMENT, Flavour
from batpy.models.inference.fleet import Fleet
from batpy.models.inference.jitter import Jitter
from batpy.models.inference.worker import Store
from batpy.protocol import extensions as x
from batpy.protocol import messages as m
from batpy.protocol import records as r
from batpy.protocol.vocabulary import NAME_OF
from batpy.simulator.worker_wire import ACTIONS, to_wire, to_worker, why_malformed
from batpy.workloads.serving.requests import Request, RequestWorkload
from batpy.workloads.serving.worker_config import WorkerConfig

if TYPE_CHECKING:
    from batpy.simulator.core import Simulator

SERVING = "serving"
UNANSWERED = -1
"""Status, in the journal, of a request that is still queued at the end."""

_Reason = str | None


@dataclass(frozen=True)
class ServingSetup:
    """What a simulation with requests is given.

    Attributes:
        workloads: of requests.
        store: where workers find models.
        config: memory of every worker; None for the default.
        jitter: how durations vary; None for not at all.
    """

    workloads: Sequence[RequestWorkload]
    store: Store
    config: WorkerConfig | None = None
    flavour: Flavour = REQUIREMENT
    jitter: Jitter | None = None


class Serving:
    """The requests and workers of one simulation.

    Args:
        source_is_dry: called when the last request of a workload has arrived.

    Attributes:
        workers: GPUs of each host that has some, by host id.
        open: requests without an answer, by id; the value is their deadline, nanoseconds.
    """

    def __init__(self, simulator: Simulator, setup: ServingSetup, source_is_dry: Callable[[], None]) -> None:
        self._sim = simulator
        self._source_is_dry = source_is_dry
        self.setup = setup
        self._scale = simulator.config.ticks_per_second
        self.workers = {host.id: host.gpus for host in simulator.platform.compute if host.gpus}
        self._fleet = Fleet(
            self.workers,
            setup.store,
            setup.config,
            flavour=setup.flavour,
            jitter=setup.jitter,
            seed=simulator.config.seed,
        )
        self.open: dict[str, int] = {}
        self._answered: set[str] = set()
        self._actions: dict[int, int] = {}  # id of each action without a result, and its host
        self._said: list[AnyAction] = []
        self._wake_at: int | None = None

    # ------------------------------------------------------------------ time

    def _nanos(self, ticks: int) -> int:
        return ticks * NANOS // self._scale

    def _tick(self, nanos: int) -> int:
        """The first tick at or after a date."""
        return -(-nanos * self._scale // NANOS)

    @property
    def busy(self) -> bool:
        """Is there a request without an answer, or an action without a result?"""
        return bool(self.open or self._actions)

    # ------------------------------------------------------------------ requests

    def begin(self) -> None:
        """Begin to wait for the first request of each workload."""
        for workload in self.setup.workloads:
            requests = workload.requests()
            self._wait(requests, next(requests, None))

    def _wait(self, requests: Iterator[Request], first: Request | None) -> None:
        """Wait for the next date of a workload: all its requests of that date arrive together."""
        if first is None:
            self._source_is_dry()
            return
        batch, following = [first], next(requests, None)
        while following is not None and following.time == first.time:
            batch.append(following)
            following = next(requests, None)
        self._sim.agenda.at(first.time, self._arrive, (batch, requests, following))

    def _arrive(self, subject: tuple[list[Request], Iterator[Request], Request | None]) -> None:
        batch, requests, following = subject
        sim, now = self._sim, self._sim.now
        if SERVING not in sim.wants:
            raise RemoteProtocolError(
                f"request {batch[0].id} is for a scheduler that wants serving (in its HELLO, or in wants)"
            )
        for request in batch:
            deadline = self._nanos(now) + request.slo
            self.open[request.id] = deadline
            sim.write(r.RequestArrived(now, request.id, request.model_id, request.batch_size, deadline))
            sim.outbox.append(
                x.InferenceRequested(
                    now, request.id, request.model_id, request.batch_size, request.input_size, deadline
                )
            )
        self._wait(requests, following)

    def respond(self, decision: x.InferenceResponse) -> _Reason:
        """INFERENCE_RESPONSE: the last word on a request."""
        id_ = decision.request_id
        if id_ in self._answered:
            return f"request {id_} was answered before"
        if id_ not in self.open:
            return f"request {id_} did not arrive"
        if decision.status < 0:
            return f"status must not be negative, got {decision.status}"
        del self.open[id_]
        self._answered.add(id_)
        self._sim.write(r.RequestEnded(self._sim.now, id_, decision.status))
        return None

    def give_up(self) -> bool:
        """Nothing will happen any more: requests without an answer stay queued. Was there one?"""
        left = list(self.open)
        for id_ in left:
            self._sim.write(r.RequestEnded(self._sim.now, id_, UNANSWERED))
        self.open.clear()
        return bool(left)

    # ------------------------------------------------------------------ actions

    def appliers(self) -> dict[type[m.Event], Callable[[Any], _Reason]]:
        """What applies the decisions of serving."""
        return {x.InferenceResponse: self.respond, **dict.fromkeys(ACTIONS, self.act)}

    def act(self, action: x.WorkerAction) -> _Reason:
        """An action for a worker."""
        sim = self._sim
        reason = why_malformed(action) or self._why_not(action)
        if reason is not None:
            return reason
        self._actions[action.id] = action.host
        sim.write(
            r.ActionAsked(
                sim.now,
                action.id,
                action.host,
                NAME_OF[type(action)],
                getattr(action, "gpu_id", -1),
                getattr(action, "model_id", -1),
                getattr(action, "batch_size", -1),
            )
        )
        if not self._said:
            sim.agenda.at(sim.now, self._submit)
        self._said.append(to_worker(action, action.id, action.host))
        return None

    def _why_not(self, action: x.WorkerAction) -> _Reason:
        if action.host not in self.workers:
            return f"host {action.host} is no compute host with GPUs"
        if action.id in self._actions:
            return f"id {action.id} is that of an action without a result yet"
        return None

    def _submit(self, _: None) -> None:
        said, self._said = self._said, []
        self._step(said)

    def _wake(self, tick: int) -> None:
        if self._wake_at == tick:
            self._wake_at = None
            self._step([])

    def _step(self, actions: list[AnyAction]) -> None:
        for result in self._fleet.step(self._nanos(self._sim.now), actions):
            self._tell(result)
        due = self._fleet.due
        if due is not None and self._actions:
            tick = max(self._sim.now + 1, self._tick(due))
            if self._wake_at is None or tick < self._wake_at:
                self._wake_at = tick
                self._sim.agenda.at(tick, self._wake, tick)

    def _tell(self, result: Result) -> None:
        sim = self._sim
        del self._actions[result.id]
        step = result.inference.exec if result.inference is not None else result.timing
        begin, end = (-1, -1) if step is None else (step.begin, step.end)
        sim.write(r.ActionEnded(sim.now, result.id, result.worker, result.status, begin, end, result.sent))
        sim.outbox.append(to_wire(result, sim.now, result.id, result.worker, result.sent))
