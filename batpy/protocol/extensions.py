"""The closed family of messages, extension part: pipelines in containers, and ML serving.

A peer gets one of these only if it asked for the extension (``HELLO`` or ``[scheduler.NAME] wants``), so a
plain Batsim peer never sees one. Field order is part of the packed format: append only.

Sources of the fields: the bodies of Eudoxia's REST interface (pipelines), the worker API of Clockwork
(serving). Field names are theirs, so that JSON bodies read the same.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from batpy.base.serving import NO_LATEST, ActionName, Inference, LoadedModel, Timing, WorkerMemoryInfo
from batpy.protocol.messages import Event

Number = int | float
PipelinePriority = Literal["QUERY", "INTERACTIVE", "BATCH_PIPELINE"]
OperatorState = Literal["pending", "assigned", "running", "suspending", "completed", "failed"]

# --------------------------------------------------------------------------- pipelines: what is shown


class Estimate(msgspec.Struct, frozen=True):
    """What an estimator said about an operator; ``mem_peak_gb`` is None without an estimator."""

    mem_peak_gb: Number | None


class OperatorView(msgspec.Struct, frozen=True):
    """One operator as a scheduler may see it: neither edges, nor times, nor sizes."""

    id: str
    state: OperatorState
    is_assignable_state: bool
    parents_complete: bool
    estimate: Estimate


class PipelineView(msgspec.Struct, frozen=True):
    """One pipeline; its operators in DAG order."""

    pipeline_id: str
    priority: PipelinePriority
    arrival_tick: int
    is_complete: bool
    has_failures: bool
    timed_out: bool
    operators: tuple[OperatorView, ...]


class ContainerView(msgspec.Struct, frozen=True):
    """One container of a pool; memory in GB."""

    container_id: str
    pipeline_id: str
    operator_ids: tuple[str, ...]
    cpu: Number
    ram_gb: Number
    current_memory_gb: Number
    priority: PipelinePriority


class PoolView(msgspec.Struct, frozen=True):
    """One pool: what it has, what is free by allocation, what is used, and its containers."""

    pool_id: int
    max_cpu: Number
    max_ram_gb: Number
    avail_cpu: Number
    avail_ram_gb: Number
    consumed_ram_gb: Number
    active_containers: tuple[ContainerView, ...]
    suspending_containers: tuple[ContainerView, ...]
    suspended_containers: tuple[ContainerView, ...]


# --------------------------------------------------------------------------- pipelines: events, decisions


class PipelineSubmitted(Event):
    """A pipeline arrived.

    Attributes:
        tick: index of the pipeline run's own tick (its resolution may differ from the run's).
        pipelines: new state of earlier pipelines that changed; empty when a later event carries them.
        pools: all pools after this tick; None when a later event of the same message carries them.
    """

    tick: int
    pipeline_id: str
    priority: PipelinePriority
    arrival_tick: int
    is_complete: bool
    has_failures: bool
    timed_out: bool
    operators: tuple[OperatorView, ...]
    pipelines: tuple[PipelineView, ...] = ()
    pools: tuple[PoolView, ...] | None = None


class ContainerEnded(Event):
    """What the end of a container says, good or bad; never sent itself.

    Attributes:
        tick: see ``PipelineSubmitted``.
        ops: ids of all its operators; ``cpu`` and ``ram`` (GB) are its allocation.
        error: None, ``OOM`` or ``timeout``.
        pipelines: new state of the pipelines that changed, those that this end touched first of all.
        pools: see ``PipelineSubmitted``.
    """

    tick: int
    ops: tuple[str, ...]
    cpu: Number
    ram: Number
    priority: PipelinePriority
    pool_id: int
    container_id: str
    error: str | None
    pipelines: tuple[PipelineView, ...] = ()
    pools: tuple[PoolView, ...] | None = None


class ContainerCompleted(ContainerEnded):
    """All operators of a container are complete."""


class ContainerFailed(ContainerEnded):
    """A container was killed; its operators from the first incomplete one on have failed."""


class ContainerSuspended(Event):
    """A suspension is written out: the container's resources are free, its operators pending."""

    tick: int
    container_id: str
    pool_id: int
    pipelines: tuple[PipelineView, ...] = ()
    pools: tuple[PoolView, ...] | None = None


class CreateContainer(Event):
    """Run these operators, in this order, in one new container of that pool (memory in GB)."""

    operator_ids: tuple[str, ...]
    cpu: Number
    ram_gb: Number
    pool_id: int
    priority: PipelinePriority
    is_resume: bool
    force_run: bool


class SuspendContainer(Event):
    """Write a container out and free its resources; legal between two of its operators only."""

    container_id: str
    pool_id: int


# --------------------------------------------------------------------------- serving
# Dates and durations are integer nanoseconds since the start of the simulation, whatever the run's
# resolution; 0 in ``earliest`` means no lower bound, NO_LATEST in ``latest`` no upper bound.


class InferenceRequested(Event):
    """A client asks for an inference; ``deadline`` is a date in nanoseconds, sizes are bytes."""

    request_id: str
    model_id: int
    batch_size: int
    input_size: int
    deadline: int


class InferenceResponse(Event):
    """The scheduler's last word on a request; ``status``: 0 success, else the client-facing code."""

    request_id: str
    status: int


class WorkerAction(Event):
    """What every action for a worker has; never sent itself.

    Attributes:
        id: chosen by the scheduler, unique while outstanding; the result carries it.
        host: host id of the worker.
    """

    id: int
    host: int


class LoadModelFromDisk(WorkerAction):
    """Create models ``model_id`` to ``model_id + no_of_copies - 1`` on every GPU of the worker."""

    model_id: int
    model_path: str
    earliest: int = 0
    latest: int = NO_LATEST
    no_of_copies: int = 1
    max_batch_size: int = 32
    max_exec_duration: int = 1_000_000_000


class LoadWeights(WorkerAction):
    """Copy a model's weights to a GPU; ``expected_duration`` is informational."""

    model_id: int
    gpu_id: int
    earliest: int = 0
    latest: int = NO_LATEST
    expected_duration: int = 0


class EvictWeights(WorkerAction):
    """Free a model's pages on a GPU."""

    model_id: int
    gpu_id: int
    earliest: int = 0
    latest: int = NO_LATEST


class Infer(WorkerAction):
    """Run one batch. ``input_size`` is the length of the input in bytes; ``input_sizes`` if compressed."""

    model_id: int
    gpu_id: int
    batch_size: int
    input_size: int
    earliest: int = 0
    latest: int = NO_LATEST
    expected_duration: int = 0
    input_sizes: tuple[int, ...] = ()


class ClearCache(WorkerAction):
    """Drop the weights of every model on the worker; has no window."""


class GetWorkerState(WorkerAction):
    """Ask for the worker's memory and models; has no window."""


class ActionResult(Event):
    """The one result of an action, in order of completion.

    Attributes:
        id, host, action_type: of the action.
        status: 0, or the worker's error code.
        action_received, result_sent: nanoseconds.
        message: free text of an error.
        timing: of LOAD_MODEL_FROM_DISK, LOAD_WEIGHTS and EVICT_WEIGHTS.
        model, inference, memory: what the action's own kind adds.
    """

    id: int
    host: int
    action_type: ActionName
    status: int
    action_received: int
    result_sent: int
    message: str | None = None
    timing: Timing | None = None
    model: LoadedModel | None = None
    inference: Inference | None = None
    memory: WorkerMemoryInfo | None = None
