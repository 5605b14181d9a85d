"""What an emulated worker is told, and what it answers. Dates and durations are nanoseconds.

The words of the protocol less their envelope; ``worker`` is the host. A lower bound of 0 and an upper bound
of ``NO_LATEST`` are none.
"""

from __future__ import annotations

import msgspec

from batpy.base.serving import NO_LATEST, ActionName, Inference, LoadedModel, Timing, WorkerMemoryInfo


class Action(msgspec.Struct, frozen=True):
    """What every action has; ``id`` is unique while outstanding."""

    id: int
    worker: int


class LoadModel(Action, frozen=True):
    """Create models ``model_id`` to ``model_id + no_of_copies - 1`` on every GPU of the worker."""

    model_id: int
    model_path: str
    earliest: int = 0
    latest: int = NO_LATEST
    no_of_copies: int = 1
    max_batch_size: int = 32
    max_exec_duration: int = 1_000_000_000


class Load(Action, frozen=True):
    """Copy a model's weights to a GPU."""

    model_id: int
    gpu_id: int
    earliest: int = 0
    latest: int = NO_LATEST


class Evict(Action, frozen=True):
    """Free a model's pages on a GPU."""

    model_id: int
    gpu_id: int
    earliest: int = 0
    latest: int = NO_LATEST


class Infer(Action, frozen=True):
    """Run one batch; ``input_sizes`` are the lengths of the compressed inputs, if they are compressed."""

    model_id: int
    gpu_id: int
    batch_size: int
    input_size: int
    earliest: int = 0
    latest: int = NO_LATEST
    input_sizes: tuple[int, ...] = ()


class Clear(Action, frozen=True):
    """Drop the weights of every model on the worker."""


class State(Action, frozen=True):
    """Tell memory and models."""


AnyAction = LoadModel | Load | Evict | Infer | Clear | State

NAMES: dict[type, ActionName] = {
    LoadModel: "LOAD_MODEL_FROM_DISK",
    Load: "LOAD_WEIGHTS",
    Evict: "EVICT_WEIGHTS",
    Infer: "INFER",
    Clear: "CLEAR_CACHE",
    State: "GET_WORKER_STATE",
}


class Result(msgspec.Struct, frozen=True):
    """The one result of an action.

    Attributes:
        status: a ``WorkerStatus``.
        received: when the worker got the action; ``sent``: when the action was over.
        message: why, of an error.
        timing: of a load or an evict that succeeded; ``model``, ``inference``, ``memory``: of the others.
    """

    id: int
    worker: int
    action_type: ActionName
    status: int
    received: int
    sent: int
    message: str | None = None
    timing: Timing | None = None
    model: LoadedModel | None = None
    inference: Inference | None = None
    memory: WorkerMemoryInfo | None = None
