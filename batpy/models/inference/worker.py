"""One emulated worker: its models, its GPUs, and the actions that are for all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from batpy.base.serving import (
    NO_LATEST,
    GpuInfo,
    LoadedModel,
    ModelInfo,
    Timing,
    WorkerMemoryInfo,
    WorkerStatus,
)
from batpy.models.inference.actions import (
    NAMES,
    AnyAction,
    Clear,
    Evict,
    Infer,
    Load,
    LoadModel,
    Result,
    State,
)
from batpy.models.inference.clock import Clock
from batpy.models.inference.executor import Executor, Rank, Task
from batpy.models.inference.flavour import Flavour
from batpy.models.inference.gpu import Gpu
from batpy.models.inference.models import HostedModel, ModelTable, hosted
from batpy.workloads.serving.model import NoModelError, ServedModel
from batpy.workloads.serving.worker_config import WorkerConfig

UNLIMITED = NO_LATEST
"""Size of the host's weights cache, as it is reported."""

_S = WorkerStatus
_UNKNOWN_GPU = {
    Load: _S.LOAD_UNKNOWN_MODEL,
    Evict: _S.EVICT_UNKNOWN_MODEL,
    Infer: _S.INFER_UNKNOWN_MODEL,
}


class Store(Protocol):
    """Where models come from."""

    def find(self, path: str, /) -> ServedModel:
        """The model behind a path.

        Raises:
            NoModelError: there is none, or it cannot be used.
        """


class Worker:
    """A worker. An action for a GPU that there is not meets no model there (52, 62, 72), at once.

    Args:
        make_gpu: makes the GPU of a number for this worker's models.
        share: gives equal models the same object, over all workers of a process.
    """

    def __init__(
        self,
        gpus: int,
        clock: Clock,
        config: WorkerConfig,
        store: Store,
        flavour: Flavour,
        make_gpu: Callable[[int, ModelTable], Gpu],
        share: dict[HostedModel, HostedModel],
    ) -> None:
        self.models = ModelTable()
        self.gpus = [make_gpu(number, self.models) for number in range(gpus)]
        self._clock = clock
        self._config = config
        self._store = store
        self._flavour = flavour
        self._share = share
        self._disk = Executor()

    def submit(self, action: AnyAction, serial: int) -> None:
        """Queue an action, or have it done in its turn of this instant."""
        clock = self._clock
        if isinstance(action, (Load, Evict, Infer)):
            if 0 <= action.gpu_id < len(self.gpus):
                self.gpus[action.gpu_id].submit(action, serial)
                return
            task = Task(action, serial, clock.now, self, Rank.WIDE, clock.now)
            clock.fail(
                task,
                _UNKNOWN_GPU[type(action)],
                f"there is no GPU {action.gpu_id}; there are {len(self.gpus)}",
            )
        elif isinstance(action, LoadModel):
            self._disk.push(Task(action, serial, clock.now, self, Rank.WIDE, action.earliest))
            clock.arm(self._disk)
        else:
            clock.at_once(Task(action, serial, clock.now, self, Rank.WIDE, clock.now))

    def start(self, task: Task) -> None:
        """A task's turn."""
        action = task.action
        if isinstance(action, LoadModel):
            self._load_model(task, action)
        elif isinstance(action, Clear):
            for gpu in self.gpus:
                gpu.clear()
            self._done(task)
        else:
            assert isinstance(action, State)
            self._done(task, memory=self.state())

    def finish(self, task: Task) -> None:
        """Nothing that a worker does as a whole takes time."""
        raise AssertionError(task)

    # ------------------------------------------------------------------ models

    def _load_model(self, task: Task, action: LoadModel) -> None:
        now, clock = self._clock.now, self._clock
        last = action.model_id + action.no_of_copies - 1
        if now < action.earliest:
            clock.fail(task, _S.RUNTIME_ERROR, f"cannot start before {action.earliest}; it is {now}")
        elif now > action.latest:
            clock.fail(task, _S.MODEL_LOAD_LATE, f"could not start until {action.latest}; it is {now}")
        elif (taken := self.models.taken(action.model_id, last)) is not None:
            clock.fail(task, _S.MODEL_EXISTS, f"model {taken} already exists")
        else:
            try:
                disk = self._store.find(action.model_path)
                self._check_pages(disk)
            except NoModelError as why:
                status = _S.NO_PROFILE if why.profile_only else _S.BAD_MODEL_PATH
                clock.fail(task, status, str(why))
                return
            self._add(task, action, disk)

    def _check_pages(self, disk: ServedModel) -> None:
        if disk.page_size != self._config.page_size:
            told = f"is compiled for pages of {disk.page_size} bytes, the cache has {self._config.page_size}"
            raise NoModelError(f"the model {told}")

    def _add(self, task: Task, action: LoadModel, disk: ServedModel) -> None:
        new = hosted(
            action.model_id,
            action.no_of_copies,
            action.model_path,
            disk,
            action.max_batch_size,
            action.max_exec_duration,
        )
        if action.no_of_copies > 0:
            self.models.add(self._share.setdefault(new, new))
        now = self._clock.now
        model = LoadedModel(
            input_size=disk.input_size,
            output_size=disk.output_size,
            supported_batch_sizes=new.sizes,
            batch_size_exec_times_nanos=new.times,
            weights_size_in_cache=disk.num_weights_pages * disk.page_size,
            num_weights_pages=disk.num_weights_pages,
            weights_load_time_nanos=disk.weights_load_time,
            copies_created=max(0, action.no_of_copies),
        )
        self._done(task, timing=Timing(now, now, 0), model=model)

    # ------------------------------------------------------------------ state

    def state(self) -> WorkerMemoryInfo:
        """Memory and models, as GET_WORKER_STATE tells them."""
        config = self._config
        return WorkerMemoryInfo(
            page_size=config.page_size,
            host_weights_cache_size=UNLIMITED,
            host_io_pool_size=config.host_io_pool_size,
            gpus=tuple(
                GpuInfo(
                    id=gpu.number,
                    weights_cache_size=config.total_pages * config.page_size,
                    weights_cache_total_pages=config.total_pages,
                    models=gpu.loaded(),
                    io_pool_size=config.io_pool_size,
                    workspace_pool_size=config.workspace_pool_size,
                )
                for gpu in self.gpus
            ),
            models=tuple(
                self._info(number, row)
                for row in self.models.rows
                for number in range(row.first, row.last + 1)
            ),
        )

    def _info(self, number: int, row: HostedModel) -> ModelInfo:
        disk, odd = row.disk, self._flavour.tells_size_as_pages
        return ModelInfo(
            id=number,
            source=row.source,
            input_size=disk.input_size,
            output_size=disk.output_size,
            supported_batch_sizes=row.sizes,
            weights_size=disk.num_weights_pages * disk.page_size if odd else disk.weights_size,
            num_weights_pages=disk.page_size if odd else disk.num_weights_pages,
            weights_load_time_nanos=disk.weights_load_time,
            batch_size_exec_times_nanos=row.times,
        )

    def _done(
        self,
        task: Task,
        timing: Timing | None = None,
        model: LoadedModel | None = None,
        memory: WorkerMemoryInfo | None = None,
    ) -> None:
        action, clock = task.action, self._clock
        clock.outstanding -= 1
        clock.results.append(
            Result(
                action.id,
                action.worker,
                NAMES[type(action)],
                0,
                task.received,
                clock.now,
                timing=timing,
                model=model,
                memory=memory,
            )
        )

    # ------------------------------------------------------------------ end

    def cancel(self, *, running: bool) -> None:
        """Drop what is queued, and what runs too if so wished; each one has its result."""
        tasks = self._disk.drain() + [task for gpu in self.gpus for task in gpu.drain(running=running)]
        for task in sorted(tasks, key=lambda task: task.serial):
            self._clock.fail(task, _S.CANCELLED, "the worker shuts down")
