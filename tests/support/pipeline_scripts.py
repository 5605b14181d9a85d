"""Small pipelines, runs of them, and a policy that follows a script."""

from __future__ import annotations

from typing import Any

from batpy.base.pipelines import ASSIGNABLE_STATES, Priority
from batpy.models.containers.engine import PipelineRun
from batpy.pipelines.simulate import load_shipped, shown
from batpy.schedulers.pipelines.api import (
    INIT_ALGOS,
    SCHEDULING_ALGOS,
    Assignment,
    Scheduler,
    register_scheduler,
    register_scheduler_init,
)
from batpy.workloads.pipelines.parameters import read_parameters
from batpy.workloads.pipelines.pipeline import OperatorSpec, PipelineSpec, make_shape
from batpy.workloads.pipelines.segment import Segment
from batpy.workloads.pipelines.trace import Arrival, TraceSource

BATCH, QUERY = Priority.BATCH_PIPELINE, Priority.QUERY
COMPAT = "eudoxia"
"""For ``simulate``; an empty text is the repaired mode."""


def chain(name: str, *segments: Segment, priority: Priority = BATCH) -> PipelineSpec:
    operators = [
        OperatorSpec(f"op{i + 1}", (segment,), (i - 1,) if i else ()) for i, segment in enumerate(segments)
    ]
    return PipelineSpec(name, priority, make_shape(operators))


def work(seconds: float, memory: float | None = 1.0, reading: float = 0) -> Segment:
    return Segment(seconds, "const", memory, reading)


def simulate(arrivals: list[Arrival], compat: str, **parameters: Any) -> PipelineRun:
    load_shipped()
    base = {
        "duration": 10,
        "ticks_per_second": 10,
        "num_pools": 1,
        "cpus_per_pool": 10,
        "ram_gb_per_pool": 100,
    }
    file = read_parameters(base | parameters, compat=compat)
    source = TraceSource(arrivals, file.parameters.tick_length, exact=file.parameters.is_compat)
    run = PipelineRun(file.parameters, source)
    run.run(
        Scheduler(
            file.parameters.scheduler_algo,
            run.executor,
            run.clock,
            shown(file),
            compat=file.parameters.is_compat,
        )
    )
    return run


def finishes(run: PipelineRun) -> list[int | None]:
    return [pipeline.status.finish_tick for pipeline in run.record.pipelines]


def script(key: str) -> dict[int, Any]:
    """A policy that does in each tick what the returned table says: ``tick -> function(s, pipelines)``."""
    plan: dict[int, Any] = {}
    SCHEDULING_ALGOS.pop(key, None)

    def prepare(s: Any) -> None:
        s.all = []

    def decide(s: Any, results: Any, pipelines: Any) -> Any:
        s.all += pipelines
        act = plan.get(s.clock.now_ticks)
        return act(s, s.all) if act else ([], [])

    prepare.__qualname__ = decide.__qualname__ = key
    INIT_ALGOS.pop(key, None)
    register_scheduler_init(key)(prepare)
    register_scheduler(key)(decide)
    return plan


def start(pipeline: Any, cpu: float, ram: float, pool: int = 0) -> Assignment:
    ops = pipeline.runtime_status().get_ops(ASSIGNABLE_STATES)
    return Assignment(ops, cpu, ram, pipeline.priority, pool, pipeline.pipeline_id)
