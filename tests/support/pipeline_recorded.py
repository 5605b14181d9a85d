"""Runs of pipelines recorded from the original: do ours agree, to the bit where the record has all bits?"""

from __future__ import annotations

import gzip
import json
import math
from contextlib import closing
from pathlib import Path
from typing import Any

from batpy.base.errors import InputError
from batpy.base.files import read_toml
from batpy.models.containers.statistics import compute_statistics
from batpy.pipelines.simulate import make_policy, prepare_run
from batpy.pipelines.tables import adjusted
from batpy.workloads.pipelines.parameters import read_parameters


def load(folder: Path, name: str) -> dict[str, Any]:
    """A recorded result."""
    plain = folder / "results" / f"{name}.json"
    if plain.exists():
        return json.loads(plain.read_text())
    return json.loads(gzip.decompress(plain.with_name(f"{plain.name}.gz").read_bytes()))


def close(recorded: Any, ours: Any) -> bool:
    """Equal, numbers to 1e-9; the record has null and "inf" for what is not finite."""
    if recorded == "inf":
        return ours == math.inf
    if recorded is None:
        return isinstance(ours, float) and not math.isfinite(ours)
    if isinstance(recorded, dict):
        return set(recorded) <= set(ours) and all(close(recorded[key], ours[key]) for key in recorded)
    if isinstance(recorded, float) or isinstance(ours, float):
        both_nan = math.isnan(recorded) and math.isnan(ours)
        return both_nan or math.isclose(recorded, ours, rel_tol=1e-9, abs_tol=1e-9)
    return recorded == ours


def differences(
    recorded: dict[str, Any], config: Path, trace: Path | None, **changes: Any
) -> list[tuple[Any, ...]]:
    """What differs between a recorded run and ours in compat mode; nothing if all is equal."""
    file = read_parameters(read_toml(config) | changes, compat="eudoxia")
    run = prepare_run(file, trace)
    crash, statistics = None, None
    try:
        with closing(make_policy(run, file)) as policy:
            run.run(policy)
        statistics = compute_statistics(run)
    except InputError as why:
        crash = f"{getattr(why, 'condition', 'AssertionError')}: {why.problem}"
    found = [*_crash(recorded["crash"], crash), *_events(recorded, run), *_pipelines(recorded, run)]
    pools = [_pool(pool) for pool in run.executor.pools]
    found += [
        ("pool", ours, theirs)
        for ours, theirs in zip(pools, recorded["final_pools"], strict=True)
        if ours != theirs
    ]
    if statistics is not None:
        ours = statistics.to_dict()
        ours["adjusted_latency_default"] = statistics.adjusted_latency()
        ours["adjusted_latency_cli"] = adjusted(statistics, file.parameters.max_job_seconds)
        for key, value in recorded["stats"].items():
            if not close(value, ours.get(key)):
                found.append((key, value, ours.get(key)))
    return found


def _crash(recorded: str | None, ours: str | None) -> list[tuple[Any, ...]]:
    """The condition is the same; the original's words are in ours."""
    if recorded is None or ours is None:
        return [] if recorded == ours else [("crash", recorded, ours)]
    kind, _, words = recorded.partition(": ")
    return [] if ours.startswith(kind) and words in ours else [("crash", recorded, ours)]


def _events(recorded: dict[str, Any], run: Any) -> list[tuple[Any, ...]]:
    ours = [event.as_dict() for event in run.record.events]
    if "events" not in recorded:
        count = recorded["n_events"]
        return [] if len(ours) == count else [("events", count, len(ours))]
    theirs = recorded["events"]
    for pair in zip(theirs, ours, strict=False):
        if pair[0] != pair[1]:
            return [("event", *pair)]
    return [] if len(ours) == len(theirs) else [("events", len(theirs), len(ours))]


def _pipelines(recorded: dict[str, Any], run: Any) -> list[tuple[Any, ...]]:
    ours = []
    for pipeline in run.record.pipelines:
        status = pipeline.status
        finish = status.finish_tick
        ours.append(
            {
                "pipeline": pipeline.pipeline_id,
                "priority": pipeline.priority.name,
                "n_ops": len(pipeline.values),
                "arrival_tick": status.arrival_tick,
                "finish_tick": finish,
                "latency_ticks": None if finish is None else status.get_latency_ticks(),
                "timed_out": status.has_timed_out(),
                "op_states": {op.label: op.value.value for op in pipeline.values.nodes},
            }
        )
    theirs = recorded["pipelines"]
    if len(ours) != len(theirs):
        return [("pipelines", len(theirs), len(ours))]
    pairs = [({key: our[key] for key in their}, their) for our, their in zip(ours, theirs, strict=True)]
    return [("pipeline", their, our) for our, their in pairs if our != their][:1]


def _pool(pool: Any) -> dict[str, Any]:
    return {
        "pool": pool.pool_id,
        "avail_cpu": pool.avail_cpu_pool,
        "avail_ram": pool.avail_ram_pool,
        "consumed_ram": pool.consumed_ram_gb,
        "active": [container.container_id for container in pool.active_containers],
        "suspending": [container.container_id for container in pool.suspending_containers],
        "suspended": [container.container_id for container in pool.suspended_containers],
    }
