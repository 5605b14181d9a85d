"""Simulations with requests: small ones from scripts, whole ones with a controller, and their journals."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from inference_cases import OneModel

from batpy.base.serving import NANOS
from batpy.models.inference.flavour import FLAVOURS
from batpy.platforms.builders import hosts
from batpy.protocol import messages as m
from batpy.protocol.records import AnyRecord
from batpy.results.laws import Finding, Laws
from batpy.results.laws_serving import ServingLaws
from batpy.schedulers.registry import make_scheduler
from batpy.simulator.config import SimulatorConfig
from batpy.simulator.core import Simulator, run
from batpy.simulator.serving import ServingSetup
from batpy.workloads.serving.requests import ModelCopies, Request, RequestWorkload
from batpy.workloads.serving.worker_config import WorkerConfig

SECOND = 1_000_000


class Kept:
    """A sink that keeps every record and looks at the laws."""

    def __init__(self) -> None:
        self.records: list[AnyRecord] = []

    def write(self, record: AnyRecord) -> None:
        self.records.append(record)

    def of(self, kind: type) -> list[Any]:
        return [record for record in self.records if type(record) is kind]

    def findings(self) -> tuple[list[Finding], ServingLaws]:
        laws, serving = Laws(), ServingLaws()
        found = [f for record in self.records for f in (*laws.check(record), *serving.check(record))]
        return found, serving


def requests(*rows: tuple[float, int], slo: float = 0.1, copies: int = 3) -> RequestWorkload:
    """Requests at dates in ms, each for a model."""
    listed = [
        Request(f"r!{index}", round(date * 1000), model, 1, 0, round(slo * NANOS))
        for index, (date, model) in enumerate(rows)
    ]
    return RequestWorkload("r", "script", (ModelCopies(0, "resnet50_v2", copies),), lambda: listed)


def simulate(
    ask: Callable[[m.Message], m.Message],
    *workloads: RequestWorkload,
    gpus: int = 1,
    nb_hosts: int = 1,
    flavour: str = "requirement",
    pages: int = 1376,
    **config: Any,
) -> Kept:
    """Run requests against an answerer on hosts with GPUs."""
    kept = Kept()
    setup = ServingSetup(
        list(workloads),
        OneModel(),
        WorkerConfig(weights_cache_size=pages * 16_777_216),
        FLAVOURS[flavour],
    )
    simulator = Simulator(hosts(nb_hosts, gpus=gpus), [], kept, SimulatorConfig(**config), serving=setup)
    run(simulator, ask)
    return kept


def serve(controller: str, *workloads: RequestWorkload, **options: Any) -> Kept:
    """Run requests with a shipped controller."""
    return simulate(make_scheduler(controller).handle, *workloads, **options)


class Script:
    """Says what is written for a date (ticks), the first time it is asked then or later; hears everything."""

    def __init__(self, lines: dict[int, Iterable[m.Event]], wants: tuple[str, ...] = ("serving",)) -> None:
        self._lines = dict(sorted(lines.items()))
        self._wants = wants
        self.heard: list[m.Event] = []

    def __call__(self, message: m.Message) -> m.Message:
        now = message.now
        self.heard += message.events
        said: list[m.Event] = []
        first = message.events[0] if message.events else None
        if isinstance(first, m.SimulationEnds):
            return m.Message(now, [])
        if isinstance(first, m.SimulationBegins):
            said.append(m.Hello(now, "script", "1", self._wants))
            said += [m.CallMeLater(now, date) for date in self._lines if date > now]
        for date in [date for date in self._lines if date <= now]:
            for event in self._lines.pop(date):
                event.timestamp = now
                said.append(event)
        return m.Message(now, said)

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.heard if type(event) is kind]
