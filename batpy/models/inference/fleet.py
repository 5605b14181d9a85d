"""The emulated workers of a process: ``step(now, actions) -> results``, the same in both kinds of time.

Pure: no clock is read, nothing waits. The driver calls ``step`` when there are actions or when ``due`` says
so; coming late changes no date in any result, only when the results are told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from batpy.base.serving import WorkerStatus
from batpy.kernel.streams import stream
from batpy.models.inference.actions import NAMES, AnyAction, Result
from batpy.models.inference.clock import Clock
from batpy.models.inference.flavour import REQUIREMENT, Flavour
from batpy.models.inference.gpu import Gpu
from batpy.models.inference.jitter import Jitter
from batpy.models.inference.models import HostedModel, ModelTable
from batpy.models.inference.worker import Store, Worker
from batpy.workloads.serving.worker_config import WorkerConfig


class Fleet:
    """Workers with any number of GPUs, on one queue of events.

    Args:
        gpus: how many GPUs each worker has, by the worker's id.
        store: where models come from.
        config: memory of every worker.
        flavour: see ``Flavour``.
        jitter: how durations vary; not at all by default.
        seed: of the streams that jitter draws from, one for each GPU and kind of work.
    """

    def __init__(
        self,
        gpus: Mapping[int, int],
        store: Store,
        config: WorkerConfig | None = None,
        *,
        flavour: Flavour = REQUIREMENT,
        jitter: Jitter | None = None,
        seed: int = 0,
    ) -> None:
        config = config or WorkerConfig()
        self._clock = clock = Clock()
        self._serial = 0
        self._closed = False

        def gpu(worker: int, number: int, models: ModelTable) -> Gpu:
            randoms = None
            if jitter is not None:
                randoms = (
                    stream(seed, "gpu", worker, number, "exec"),
                    stream(seed, "gpu", worker, number, "load"),
                )
            return Gpu(number, clock, config, models, flavour, jitter or Jitter(), randoms)

        share: dict[HostedModel, HostedModel] = {}
        self.workers = {
            id_: Worker(count, clock, config, store, flavour, partial(gpu, id_), share)
            for id_, count in gpus.items()
        }

    @property
    def now(self) -> int:
        """The date reached, in nanoseconds."""
        return self._clock.now

    @property
    def due(self) -> int | None:
        """When something happens next if no action comes, or None."""
        return self._clock.due

    @property
    def outstanding(self) -> int:
        """How many accepted actions have no result yet."""
        return self._clock.outstanding

    def step(self, now: int, actions: Sequence[AnyAction] = ()) -> list[Result]:
        """Let time pass until *now* and take *actions* then; what is over, in the order in which it ended.

        Args:
            now: nanoseconds, never less than before.
            actions: of workers that there are.
        """
        clock = self._clock
        assert now >= clock.now, f"time goes back from {clock.now} to {now}"
        clock.reach(now)
        for action in actions:
            self._serial += 1
            if self._closed:
                clock.results.append(_refusal(action, now))
            else:
                clock.outstanding += 1
                self.workers[action.worker].submit(action, self._serial)
        clock.finish_instant()
        results, clock.results = clock.results, []
        return results

    def shut_down(self, now: int, *, immediate: bool = False) -> list[Result]:
        """Take no more actions, cancel those that are queued, and let those that run come to their end.

        Args:
            immediate: cancel those that run, too.
        """
        results = self.step(now)
        self._closed = True
        for worker in self.workers.values():
            worker.cancel(running=immediate)
        results += self._clock.results
        self._clock.results = []
        return results


def _refusal(action: AnyAction, now: int) -> Result:
    text = "the worker has shut down"
    return Result(
        action.id, action.worker, NAMES[type(action)], int(WorkerStatus.SHUTTING_DOWN), now, now, text
    )
