"""One emulated worker with resnet50-like models, for tests with dates in milliseconds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from batpy.models.inference.actions import AnyAction, Infer, LoadModel, Result
from batpy.models.inference.flavour import FLAVOURS
from batpy.models.inference.fleet import Fleet
from batpy.workloads.serving.model import NoModelError, ServedModel
from batpy.workloads.serving.worker_config import WorkerConfig

# The durations of Clockwork's resnet50_v2, nanoseconds.
RESNET50 = ServedModel(
    input_size=602_112,
    output_size=4_000,
    weights_size=102_160_300,
    num_weights_pages=7,
    page_size=16_777_216,
    weights_load_time=8_372_000,
    exec_times=((1, 3_322_000), (2, 5_271_340), (4, 7_495_000), (8, 12_439_000), (16, 21_728_879)),
)
INPUT = RESNET50.input_size


def ms(milliseconds: float) -> int:
    """Nanoseconds."""
    return round(milliseconds * 1_000_000)


class OneModel:
    """A store that knows ``resnet50_v2``, and ``bare`` without measurements."""

    def __init__(self, load_time: int = RESNET50.weights_load_time) -> None:
        self._model = replace(RESNET50, weights_load_time=load_time)

    def find(self, path: str) -> ServedModel:
        if path == "bare":
            raise NoModelError("bare.measurements: no such file", profile_only=True)
        if path != "resnet50_v2":
            raise NoModelError(f"{path}: no such model")
        return self._model


class Bench:
    """A worker whose results are remembered by the id of the action."""

    def __init__(
        self,
        gpus: int = 1,
        *,
        flavour: str = "requirement",
        copies: int = 3,
        load_time: int = RESNET50.weights_load_time,
        **config: Any,
    ) -> None:
        self.fleet = Fleet({0: gpus}, OneModel(load_time), WorkerConfig(**config), flavour=FLAVOURS[flavour])
        self.results: dict[int, Result] = {}
        self.order: list[int] = []
        if copies:
            self.at(0, LoadModel(900, 0, 0, "resnet50_v2", no_of_copies=copies))

    def at(self, milliseconds: float, *actions: AnyAction) -> list[int]:
        """Send actions at a date; the statuses of what is over since the last call."""
        return self.keep(self.fleet.step(ms(milliseconds), actions))

    def keep(self, results: list[Result]) -> list[int]:
        for result in results:
            self.results[result.id] = result
            self.order.append(result.id)
        return [result.status for result in results]

    def span(self, id_: int) -> tuple[float, float]:
        """Begin and end of what an action did, ms."""
        result = self.results[id_]
        step = result.inference.exec if result.inference else result.timing
        assert step is not None
        assert step.duration == step.end - step.begin
        return step.begin / 1e6, step.end / 1e6

    @property
    def free(self) -> int:
        """Free pages of GPU 0."""
        return self.fleet.workers[0].gpus[0].cache.free


def infer(id_: int, batch: int = 1, model: int = 0, **more: Any) -> Infer:
    """An inference on GPU 0 with an input of the right size."""
    return Infer(id_, 0, model, 0, batch, more.pop("size", batch * INPUT), **more)
