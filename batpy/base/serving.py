"""Words that every room uses when it speaks of ML serving: status codes, and what a worker tells of itself.

The numbers are Clockwork's (OSDI'20 artifact); they are part of the contract, the texts beside them are not.
Dates and durations are nanoseconds, sizes are bytes.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Literal

import msgspec

NO_LATEST = 2**64 - 1
"""In ``latest``: no upper bound. A lower bound of 0 is none."""

NANOS = 1_000_000_000
"""Nanoseconds a second."""

ActionName = Literal[
    "LOAD_MODEL_FROM_DISK", "LOAD_WEIGHTS", "EVICT_WEIGHTS", "INFER", "CLEAR_CACHE", "GET_WORKER_STATE"
]


class WorkerStatus(IntEnum):
    """How an action ended. ``*_EARLY`` is only told to callers that go past an executor's queue."""

    SUCCESS = 0
    CANCELLED = 1
    RUNTIME_ERROR = 2
    SHUTTING_DOWN = 3
    NO_PROFILE = 10
    MODEL_LOAD_LATE = 11
    MODEL_EXISTS = 40
    BAD_MODEL_PATH = 41
    LOAD_EARLY = 50
    LOAD_LATE = 51
    LOAD_UNKNOWN_MODEL = 52
    LOAD_INSUFFICIENT_CACHE = 53
    LOAD_CONCURRENT_MODIFICATION = 54
    EVICT_EARLY = 60
    EVICT_LATE = 61
    EVICT_UNKNOWN_MODEL = 62
    EVICT_NOT_IN_CACHE = 63
    COPY_INPUT_EARLY = 70
    COPY_INPUT_LATE = 71
    INFER_UNKNOWN_MODEL = 72
    INVALID_BATCH_SIZE = 73
    INVALID_INPUT = 75
    BAD_COMPRESSED_SIZES = 77
    EXEC_EARLY = 80
    EXEC_LATE = 81
    EXEC_WEIGHTS_MISSING = 82
    EXEC_CONCURRENT_MODIFICATION = 84


class ClientStatus(IntEnum):
    """How a request ended, as its client is told. An error of a worker is passed on with its own number."""

    SUCCESS = 0
    ERROR = 1
    TIMEOUT = 4
    INITIALIZING = 5
    INVALID_REQUEST = 6
    SKIPPED = 7
    NOT_IN_TIME = 8


class Timing(msgspec.Struct, frozen=True):
    """One step of an action, in nanoseconds."""

    begin: int
    end: int
    duration: int


class LoadedModel(msgspec.Struct, frozen=True):
    """What LOAD_MODEL_FROM_DISK found out; sizes in bytes, of one input at batch size 1."""

    input_size: int
    output_size: int
    supported_batch_sizes: tuple[int, ...]
    batch_size_exec_times_nanos: tuple[int, ...]
    weights_size_in_cache: int
    num_weights_pages: int
    weights_load_time_nanos: int
    copies_created: int


class Inference(msgspec.Struct, frozen=True):
    """The steps of a successful INFER; GPU clocks in MHz."""

    copy_input: Timing
    exec: Timing
    copy_output: Timing
    gpu_id: int
    gpu_clock_before: int
    gpu_clock: int
    output_size: int


class GpuInfo(msgspec.Struct, frozen=True):
    """One GPU; ``models`` are the sorted ids whose weights are completely loaded."""

    id: int
    weights_cache_size: int
    weights_cache_total_pages: int
    models: tuple[int, ...]
    io_pool_size: int
    workspace_pool_size: int


class ModelInfo(msgspec.Struct, frozen=True):
    """One model known to a worker; ``source`` is its path as given."""

    id: int
    source: str
    input_size: int
    output_size: int
    supported_batch_sizes: tuple[int, ...]
    weights_size: int
    num_weights_pages: int
    weights_load_time_nanos: int
    batch_size_exec_times_nanos: tuple[int, ...]


class WorkerMemoryInfo(msgspec.Struct, frozen=True):
    """Answer to GET_WORKER_STATE; bytes, models by ascending id."""

    page_size: int
    host_weights_cache_size: int
    host_io_pool_size: int
    gpus: tuple[GpuInfo, ...]
    models: tuple[ModelInfo, ...]
