"""One emulated GPU: its weights cache and its executors for load, evict and infer.

The weights of a model have a version, as in Clockwork (OSDI'20): who finds another one at its end than at its
beginning has failed. An inference does not pin the weights.
"""

from __future__ import annotations

from random import Random

from batpy.base.serving import NANOS, Inference, Timing, WorkerStatus
from batpy.models.inference.actions import NAMES, Evict, Infer, Load, Result
from batpy.models.inference.clock import Clock
from batpy.models.inference.executor import Executor, Rank, Task
from batpy.models.inference.flavour import Flavour
from batpy.models.inference.jitter import Jitter
from batpy.models.inference.memory import PageCache, Stage, Weights
from batpy.models.inference.models import ModelTable
from batpy.workloads.serving.worker_config import WorkerConfig

CLOCK_MHZ = 1380
"""Reported before and after each inference; the nominal clock of a V100."""

INPUT_AHEAD = 5 * NANOS // 1000
"""The real worker takes an input that much before the inference may begin."""

_S = WorkerStatus
_KINDS = {Load: Rank.LOAD, Evict: Rank.EVICT, Infer: Rank.EXEC}
_UNKNOWN = {
    Load: _S.LOAD_UNKNOWN_MODEL,
    Evict: _S.EVICT_UNKNOWN_MODEL,
    Infer: _S.INFER_UNKNOWN_MODEL,
}
_WINDOWS = {
    Rank.LOAD: (_S.LOAD_EARLY, _S.LOAD_LATE),
    Rank.EVICT: (_S.EVICT_EARLY, _S.EVICT_LATE),
    Rank.INPUT: (_S.COPY_INPUT_EARLY, _S.COPY_INPUT_LATE),
    Rank.EXEC: (_S.EXEC_EARLY, _S.EXEC_LATE),
}

GpuAction = Load | Evict | Infer


class Gpu:
    """One GPU of a worker.

    Args:
        number: its id on the worker.
        models: those of the worker; shared, and read only here.
        randoms: streams for the durations of inferences and of loads; None without jitter.
    """

    def __init__(
        self,
        number: int,
        clock: Clock,
        config: WorkerConfig,
        models: ModelTable,
        flavour: Flavour,
        jitter: Jitter,
        randoms: tuple[Random, Random] | None,
    ) -> None:
        self.number = number
        self.cache = PageCache(config.total_pages)
        self.weights: dict[int, Weights] = {}
        self._clock = clock
        self._config = config
        self._models = models
        self._flavour = flavour
        self._jitter = jitter
        self._randoms = randoms
        self.loads = Executor(flavour.outstanding)
        self.evicts = Executor() if flavour.own_evict_executor else self.loads
        self.inputs = Executor()
        self.execs = Executor(flavour.outstanding)
        self._starters = {
            Rank.LOAD: self._start_load,
            Rank.EVICT: self._start_evict,
            Rank.INPUT: self._start_input,
            Rank.EXEC: self._start_exec,
        }
        self._executors = {
            Rank.LOAD: self.loads,
            Rank.EVICT: self.evicts,
            Rank.INPUT: self.inputs,
            Rank.EXEC: self.execs,
        }

    # ------------------------------------------------------------------ queues

    def submit(self, action: GpuAction, serial: int) -> None:
        """Queue an action; its result comes when it is over."""
        rank, eligible = _KINDS[type(action)], action.earliest
        if rank is Rank.EXEC and self._flavour.checks_input_first:
            rank, eligible = Rank.INPUT, max(0, eligible - INPUT_AHEAD)
        self._queue(Task(action, serial, self._clock.now, self, rank, eligible))

    def _queue(self, task: Task) -> None:
        executor = self._executors[task.rank]
        executor.push(task)
        self._clock.arm(executor)

    def start(self, task: Task) -> None:
        """A task's turn: look at its window and at its model, then do it. Also the way past the queue."""
        action = task.action
        assert isinstance(action, GpuAction)
        now, clock = self._clock.now, self._clock
        early, late = _WINDOWS[task.rank]
        earliest = action.earliest
        if task.rank is Rank.INPUT:
            earliest = max(0, earliest - INPUT_AHEAD)
        if now < earliest:
            clock.fail(task, early, f"cannot start before {earliest}; it is {now}")
        elif now > action.latest:
            clock.fail(task, late, f"could not start until {action.latest}; it is {now}")
        elif (weights := self._weights(action.model_id)) is None:
            clock.fail(task, _UNKNOWN[type(action)], f"model {action.model_id} does not exist")
        else:
            task.weights = weights
            self._starters[task.rank](task, weights)

    def _weights(self, model_id: int) -> Weights | None:
        weights = self.weights.get(model_id)
        if weights is None and (model := self._models.find(model_id)) is not None:
            weights = self.weights[model_id] = Weights(model_id, model)
        return weights

    def _lasting(self, nanos: int, *, load: bool) -> int:
        if self._randoms is None:
            return nanos
        sd = self._jitter.load_sd if load else self._jitter.exec_sd
        return self._jitter.lasting(nanos, sd, self._randoms[load])

    # ------------------------------------------------------------------ load and evict

    def _start_load(self, task: Task, weights: Weights) -> None:
        clock, flavour, cache = self._clock, self._flavour, self.cache
        pages = weights.model.disk.num_weights_pages
        held = weights.stage is Stage.LOADED
        if held and flavour.reload == "replace":
            cache.give(pages)
            weights.stage, held = Stage.ABSENT, False
        if not held and not cache.take(pages):
            if flavour.failed_load_counts:
                weights.version += 1
                weights.stage = Stage.ABSENT
            text = f"model {weights.model_id} needs {pages} pages, {cache.free} are free"
            clock.fail(task, _S.LOAD_INSUFFICIENT_CACHE, text)
            return
        if not held or flavour.reload == "hide":
            weights.stage = Stage.LOADING
        weights.version += 1
        task.version = weights.version
        clock.begin(self.loads, task, self._lasting(weights.model.disk.weights_load_time, load=True))

    def _finish_load(self, task: Task, weights: Weights) -> None:
        if weights.version == task.version:
            weights.stage = Stage.LOADED
            self._done(task, Timing(task.begin, task.end, task.end - task.begin))
            return
        if self._flavour.evict_during_load == "lose":
            self.cache.lost += weights.model.disk.num_weights_pages
        text = f"the weights of model {weights.model_id} changed while they were loaded"
        self._clock.fail(task, _S.LOAD_CONCURRENT_MODIFICATION, text)

    def _start_evict(self, task: Task, weights: Weights) -> None:
        now = self._clock.now
        lost = weights.stage is Stage.LOADING and self._flavour.evict_during_load == "lose"
        if weights.stage is Stage.ABSENT or lost:
            if lost:
                weights.version += 1
                weights.stage = Stage.ABSENT
            text = f"model {weights.model_id} has no weights here"
            self._clock.fail(task, _S.EVICT_NOT_IN_CACHE, text)
            return
        self._drop(weights)
        self._done(task, Timing(now, now, 0))

    def _drop(self, weights: Weights) -> None:
        self.cache.give(weights.model.disk.num_weights_pages)
        weights.version += 1
        weights.stage = Stage.ABSENT

    def clear(self) -> None:
        """Drop all weights, those that are being loaded included."""
        loses = self._flavour.evict_during_load == "lose"
        for weights in self.weights.values():
            if weights.stage is Stage.LOADED or (weights.stage is Stage.LOADING and not loses):
                self._drop(weights)
            else:
                weights.version += 1
                weights.stage = Stage.ABSENT

    def loaded(self) -> tuple[int, ...]:
        """Ids of the models whose weights are completely there, ascending."""
        return tuple(sorted(w.model_id for w in self.weights.values() if w.stage is Stage.LOADED))

    # ------------------------------------------------------------------ infer

    def _start_input(self, task: Task, weights: Weights) -> None:
        """Take and check the input; the execution has its own turn (only where that is separate)."""
        action = task.action
        assert isinstance(action, Infer)
        if self._check_input(task, weights):
            task.copied = self._clock.now
            task.rank, task.eligible = Rank.EXEC, action.earliest
            self._queue(task)

    def _check_input(self, task: Task, weights: Weights) -> bool:
        """Is the batch one that the model takes? If not, the task has failed."""
        action, model, clock = task.action, weights.model, self._clock
        assert isinstance(action, Infer)
        batch, size, sizes = action.batch_size, action.input_size, action.input_sizes
        if model.padded(batch) is None:
            text = f"batch size {batch}; model {action.model_id} takes 1 to {model.sizes[-1]}"
            clock.fail(task, _S.INVALID_BATCH_SIZE, text)
            return False
        if sizes and self._flavour.checks_compressed_sizes and (len(sizes) > batch or sum(sizes) != size):
            text = (
                f"{len(sizes)} compressed inputs of {sum(sizes)} bytes; want at most {batch}, of {size} bytes"
            )
            clock.fail(task, _S.BAD_COMPRESSED_SIZES, text)
            return False
        wanted = batch * model.disk.input_size
        if not size and wanted and not self._config.allow_zero_size_inputs:
            clock.fail(task, _S.INVALID_INPUT, f"no input; want {wanted} bytes")
            return False
        if size and not sizes and size != wanted:
            clock.fail(task, _S.INVALID_INPUT, f"{size} bytes of input; want {wanted}")
            return False
        return True

    def _start_exec(self, task: Task, weights: Weights) -> None:
        if task.copied < 0:
            if not self._check_input(task, weights):
                return
            task.copied = self._clock.now
        action, model = task.action, weights.model
        assert isinstance(action, Infer)
        if weights.stage is not Stage.LOADED:
            text = f"the weights of model {action.model_id} are not there"
            self._clock.fail(task, _S.EXEC_WEIGHTS_MISSING, text)
            return
        task.version = weights.version
        place = model.padded(action.batch_size)
        assert place is not None  # checked with the input
        self._clock.begin(self.execs, task, self._lasting(model.times[place], load=False))

    def _finish_exec(self, task: Task, weights: Weights) -> None:
        action = task.action
        assert isinstance(action, Infer)
        if weights.version != task.version:
            text = f"the weights of model {action.model_id} changed during the execution"
            self._clock.fail(task, _S.EXEC_CONCURRENT_MODIFICATION, text)
            return
        begin, end, copied = task.begin, task.end, task.copied
        output = action.batch_size * weights.model.disk.output_size if action.input_size else 0
        self._done(
            task,
            inference=Inference(
                copy_input=Timing(copied, copied, 0),
                exec=Timing(begin, end, end - begin),
                copy_output=Timing(end, end, 0),
                gpu_id=self.number,
                gpu_clock_before=CLOCK_MHZ,
                gpu_clock=CLOCK_MHZ,
                output_size=output,
            ),
        )

    # ------------------------------------------------------------------ ends

    def finish(self, task: Task) -> None:
        """A load or an inference is over; its executor goes on."""
        executor = self.loads if isinstance(task.action, Load) else self.execs
        # Of two that end at this instant the one that was issued first goes first, whichever event came.
        task = executor.running.popleft()
        weights = task.weights
        assert weights is not None
        assert task.end == self._clock.now
        if task.cancelled:
            return
        (self._finish_load if executor is self.loads else self._finish_exec)(task, weights)
        self._clock.arm(executor)

    def _done(self, task: Task, timing: Timing | None = None, inference: Inference | None = None) -> None:
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
                inference=inference,
            )
        )

    def drain(self, *, running: bool) -> list[Task]:
        """Forget what is queued, and what runs too if so wished; their results are the caller's business."""
        executors = dict.fromkeys((self.loads, self.evicts, self.inputs, self.execs))
        tasks = [task for executor in executors for task in executor.drain()]
        if running:
            tasks += [task for executor in executors for task in executor.running]
            for task in tasks:
                task.cancelled = True
        return tasks
