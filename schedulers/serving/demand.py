"""Which models are wanted where: the load tracker of Clockwork's controller, with its known slips repaired.

Each request adds demand to its model: for execution until it has an answer, for loading until it is taken or
its weights would come too late. Demand that the GPUs which have the model cannot serve is the model's
priority to be loaded once more; what is not above 0 is not loaded (the original looks at a pointer there and
goes on replicating, and the demand of its loads never expires).
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush

from batpy.base.serving import NANOS

CAPACITY = NANOS // 10
FLOOR = NANOS / 1000
"""Work that a GPU always counts as having, so that its weight is finite."""


class Demand:
    """Demand for models, spread over the GPUs that have them in proportion to how free these are."""

    def __init__(self, gpus: int) -> None:
        self._outstanding = [FLOOR] * gpus
        self._exec: dict[int, float] = {}
        self._load: dict[int, float] = {}
        self._places: dict[int, dict[int, float]] = {}  # model to GPU to share of its demand
        self._until: list[tuple[int, str, int, float]] = []
        self._counted: dict[str, tuple[int, float]] = {}  # request to its model and load demand
        self._latest: dict[int, int] = {}
        self._serial = 0
        self._changed: dict[int, None] = {}  # models whose demand is to be spread anew

    def add(self, request: str, model: int, execution: float, loading: float, until: int) -> None:
        """A request came; its loading counts until a date."""
        self._serial += 1
        self._latest[model] = self._serial
        self._load[model] = self._load.get(model, 0.0) + loading
        self._counted[request] = (model, loading)
        heappush(self._until, (until, request, model, loading))
        self._exec[model] = self._exec.get(model, 0.0) + execution
        self._changed[model] = None

    def begun(self, request: str) -> None:
        """It is taken or cancelled: nothing need be loaded for it."""
        counted = self._counted.pop(request, None)
        if counted is not None:
            model, loading = counted
            left = self._load[model] - loading
            if left > 1e-6:
                self._load[model] = left
            else:  # what is left is float noise
                del self._load[model]

    def over(self, model: int, execution: float) -> None:
        """A request has its answer."""
        left = self._exec[model] - execution
        self._exec[model] = left if left > 1e-6 else 0.0  # what is left then is float noise
        self._changed[model] = None

    def expire(self, now: int) -> None:
        """Forget loading that would come too late."""
        while self._until and self._until[0][0] <= now:
            self.begun(heappop(self._until)[1])

    def placed(self, model: int, gpu: int) -> None:
        """A GPU is to have the model."""
        self._places.setdefault(model, {})[gpu] = 0.0
        self._spread(model)

    def removed(self, model: int, gpu: int) -> None:
        """A GPU has it no longer."""
        places = self._places[model]
        self._outstanding[gpu] -= places.pop(gpu)
        self._spread(model)

    def settle(self) -> None:
        """Spread the demand of all models that changed; until then the GPUs' figures are older ones."""
        changed, self._changed = self._changed, {}
        for model in changed:
            self._spread(model)

    def is_cold(self, model: int) -> bool:
        """Is it nowhere?"""
        return not self._places.get(model)

    def is_wanted(self, model: int) -> bool:
        """Is there a request for it without an answer?"""
        return self._exec.get(model, 0.0) > 0

    def priority(self, model: int) -> float:
        """Demand that the GPUs which have it cannot serve."""
        served = sum(
            CAPACITY * share / self._outstanding[gpu] for gpu, share in self._places.get(model, {}).items()
        )
        return self._load.get(model, 0.0) - served

    def outstanding(self, gpu: int) -> float:
        """Demand that falls to a GPU."""
        return self._outstanding[gpu]

    def wanted(self, models: Iterable[int] | None) -> list[int]:
        """Those of *models* (all if None) with a priority above 0, the highest and then the latest first."""
        ranks = [
            (priority, self._latest[model], model)
            for model in (self._load if models is None else models)
            if (priority := self.priority(model)) > 0
        ]
        return [model for _, _, model in sorted(ranks, reverse=True)]

    def _spread(self, model: int) -> None:
        """Share a model's demand out to the GPUs that have it."""
        demand, places = self._exec.get(model, 0.0), self._places.get(model)
        if not places:
            return
        outstanding = self._outstanding
        for gpu, share in places.items():
            outstanding[gpu] = max(FLOOR, outstanding[gpu] - share)
        total = sum(1.0 / outstanding[gpu] for gpu in places)
        for gpu in places:
            share = demand / (outstanding[gpu] * total)
            places[gpu] = share
        for gpu, share in places.items():
            outstanding[gpu] += share
