"""Between the protocol's actions and results and those of the emulated worker: the same for both clocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from batpy.models.inference import actions as a
from batpy.protocol import extensions as x

_I32 = 2**31 - 1
_U32 = 2**32 - 1
_U64 = 2**64 - 1

# Types of Clockwork's worker API. A batch size of 0 has a status of its own.
_RANGES: dict[str, tuple[int, int]] = {
    "id": (-_I32 - 1, _I32),
    "model_id": (0, _I32),
    "gpu_id": (0, _U32),
    "earliest": (0, _U64),
    "latest": (0, _U64),
    "expected_duration": (0, _U64),
    "no_of_copies": (1, _I32),
    "max_batch_size": (1, _U32),
    "max_exec_duration": (0, _U64),
    "batch_size": (0, _U32),
    "input_size": (0, _U64),
}


def _load_model(e: x.LoadModelFromDisk, id_: int, worker: int) -> a.AnyAction:
    return a.LoadModel(
        id_,
        worker,
        e.model_id,
        e.model_path,
        e.earliest,
        e.latest,
        e.no_of_copies,
        e.max_batch_size,
        e.max_exec_duration,
    )


def _load(e: x.LoadWeights, id_: int, worker: int) -> a.AnyAction:
    return a.Load(id_, worker, e.model_id, e.gpu_id, e.earliest, e.latest)


def _evict(e: x.EvictWeights, id_: int, worker: int) -> a.AnyAction:
    return a.Evict(id_, worker, e.model_id, e.gpu_id, e.earliest, e.latest)


def _infer(e: x.Infer, id_: int, worker: int) -> a.AnyAction:
    return a.Infer(
        id_, worker, e.model_id, e.gpu_id, e.batch_size, e.input_size, e.earliest, e.latest, e.input_sizes
    )


def _clear(_: x.ClearCache, id_: int, worker: int) -> a.AnyAction:
    return a.Clear(id_, worker)


def _state(_: x.GetWorkerState, id_: int, worker: int) -> a.AnyAction:
    return a.State(id_, worker)


_TO_WORKER: dict[type[x.WorkerAction], Callable[[Any, int, int], a.AnyAction]] = {
    x.LoadModelFromDisk: _load_model,
    x.LoadWeights: _load,
    x.EvictWeights: _evict,
    x.Infer: _infer,
    x.ClearCache: _clear,
    x.GetWorkerState: _state,
}
ACTIONS = tuple(_TO_WORKER)
"""The protocol's actions."""

_RANGED: dict[type[x.WorkerAction], tuple[tuple[str, int, int], ...]] = {
    kind: tuple((name, *_RANGES[name]) for name in kind.__struct_fields__ if name in _RANGES)
    for kind in _TO_WORKER
}


def why_malformed(action: x.WorkerAction) -> str | None:
    """The rule of the worker API's types that an action breaks, or None."""
    for name, least, most in _RANGED[type(action)]:
        value = getattr(action, name)
        if not least <= value <= most:
            return f"{name} must be from {least} to {most}, got {value}"
    if isinstance(action, x.LoadModelFromDisk) and action.model_id + action.no_of_copies - 1 > _I32:
        return f"the copies would have ids above {_I32}"
    if isinstance(action, x.Infer):
        wrong = [size for size in action.input_sizes if not 0 <= size <= _U32]
        if wrong:
            return f"input_sizes must be from 0 to {_U32}, got {wrong[0]}"
    return None


def to_worker(action: x.WorkerAction, id_: int, worker: int) -> a.AnyAction:
    """The action for the emulated worker *worker*, under an id of the driver's."""
    return _TO_WORKER[type(action)](action, id_, worker)


def to_wire(result: a.Result, timestamp: int, id_: int, host: int, sent: int) -> x.ActionResult:
    """A result for the peer, under the peer's own id and host."""
    return x.ActionResult(
        timestamp=timestamp,
        id=id_,
        host=host,
        action_type=cast(Any, result.action_type),
        status=result.status,
        action_received=result.received,
        result_sent=sent,
        message=result.message,
        timing=result.timing,
        model=result.model,
        inference=result.inference,
        memory=result.memory,
    )
