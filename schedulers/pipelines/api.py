"""What a policy file imports: the two decorators, the orders it may give, and the words it needs.

The interface is Eudoxia's (commit c62122c). A policy is two functions under one key::

    @register_scheduler_init(key="mine")
    def init(s): ...

    @register_scheduler(key="mine")
    def step(s, results, pipelines):
        return suspensions, assignments

``s`` is free for the policy's own attributes and offers ``s.executor``, ``s.params`` and ``s.clock``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, TypeVar

from batpy.base.blame import FAILURES, blame
from batpy.base.errors import BatpyError, InputError, one_line
from batpy.base.pipelines import ASSIGNABLE_STATES, IllegalStepError, OperatorState, Priority

Step = Callable[[Any, list[Any], list[Any]], tuple[Sequence[Any], Sequence[Any]]]
F = TypeVar("F", bound=Callable[..., Any])

INIT_ALGOS: dict[str, Callable[[Any], Any]] = {}
SCHEDULING_ALGOS: dict[str, Step] = {}
WAITING: set[str] = set()
"""Keys of the policies that wait for events."""


def register_scheduler_init(key: str) -> Callable[[F], F]:
    """Register the function that prepares a policy; called once with ``s``.

    Raises:
        InputError: the key is taken.
    """
    return _register(INIT_ALGOS, key, "scheduler init")


def register_scheduler(key: str, *, waits_for_events: bool = False) -> Callable[[F], F]:
    """Register the function that decides.

    Args:
        waits_for_events: it does nothing in a tick without arrivals, results, a suspension that began or
            ended in the tick before, or an operator that ended inside a container then, unless
            ``s.wake_at`` is set to that tick. Such a policy is not called in quiet ticks; the others are
            called in every tick.
    """
    if waits_for_events:
        WAITING.add(key)
    return _register(SCHEDULING_ALGOS, key, "scheduler")


def _register(table: dict[str, Any], key: str, what: str) -> Callable[[F], F]:
    def note(function: F) -> F:
        # The same file may be imported twice under two names; another function under the key is a clash.
        known = table.get(key)
        if known is not None and (known.__code__.co_filename, known.__qualname__) != (
            function.__code__.co_filename,
            function.__qualname__,
        ):
            raise InputError(f"the {what} key {key!r} is registered twice")
        table[key] = function
        return function

    return note


class Suspend:
    """Order to write a container out and free its resources."""

    __slots__ = ("container_id", "pool_id")

    def __init__(self, container_id: str, pool_id: int) -> None:
        self.container_id = container_id
        self.pool_id = pool_id

    def __repr__(self) -> str:
        return f"Suspend({self.container_id!r}, {self.pool_id})"


class Assignment:
    """Order to run operators in one new container; making it marks them as assigned at once.

    Args:
        ops: in the order they are to run; they may belong to different pipelines.
        cpu: CPUs, may be fractional.
        ram: GB, may be fractional.
        container_id, is_resume, force_run: carried along, never read.

    Raises:
        IllegalStepError: no operators, no CPU, no memory, no number, or an operator that cannot be assigned.
    """

    __slots__ = (
        "container_id",
        "cpu",
        "force_run",
        "is_resume",
        "ops",
        "pipeline_id",
        "pool_id",
        "priority",
        "ram",
    )

    def __init__(
        self,
        ops: Iterable[Any],
        cpu: float,
        ram: float,
        priority: Priority,
        pool_id: int,
        pipeline_id: str = "",
        container_id: str | None = None,
        is_resume: bool = False,
        force_run: bool = False,
    ) -> None:
        ops = ops if isinstance(ops, list) else list(ops)
        if not ops:
            raise IllegalStepError("assignments cannot have zero operators")
        for name, amount in (("cpu", cpu), ("ram", ram)):
            if not isinstance(amount, (int, float, Real)):
                raise IllegalStepError(f"{name} must be a number, got {amount!r}")
        if not cpu > 0:
            raise IllegalStepError(f"must assign positive CPU allocation, got {cpu}")
        if not ram > 0:
            raise IllegalStepError(f"must assign positive RAM allocation, got {ram}")
        for op in ops:
            op.transition(OperatorState.ASSIGNED)
        self.ops = ops
        self.cpu = cpu
        self.ram = ram
        self.priority = priority
        self.pool_id = pool_id
        self.pipeline_id = pipeline_id
        self.container_id = container_id
        self.is_resume = is_resume
        self.force_run = force_run

    def __repr__(self) -> str:
        return f"Assignment({self.cpu} CPUs, {self.ram} GB, pool {self.pool_id}, {self.pipeline_id})"


def _all(orders: object, kind: type) -> bool:
    return isinstance(orders, (list, tuple)) and all(isinstance(order, kind) for order in orders)


class Scheduler:
    """The object that policies know as ``s``.

    Attributes:
        executor, clock: of the run.
        params: all parameters but ``scheduler_algo``.
        compat: whether shipped policies are to keep the original's faults.
        every_tick, wake_at: see ``register_scheduler``.
        at_end: called when the run is over, well or not.
    """

    def __init__(
        self, key: str, executor: Any, clock: Any, params: Mapping[str, Any], *, compat: bool = False
    ) -> None:
        if key not in SCHEDULING_ALGOS:
            choices = ", ".join(sorted(SCHEDULING_ALGOS))
            raise InputError(f"no such scheduler; choose from {choices}", source=key)
        self.algo_name = key
        self.executor = executor
        self.clock = clock
        self.params = {name: value for name, value in params.items() if name != "scheduler_algo"}
        self.compat = compat
        self.every_tick = key not in WAITING
        self.wake_at: int | None = None
        self.at_end: list[Callable[[], object]] = []
        self._step = SCHEDULING_ALGOS[key]
        if (prepare := INIT_ALGOS.get(key)) is None:
            raise InputError("the scheduler has no init function; see register_scheduler_init", source=key)
        try:
            self._guarded(prepare, self)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Give back what the policy holds; may be called again."""
        while self.at_end:
            self.at_end.pop()()

    def step(self, results: list[Any], pipelines: list[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        """Ask the policy; returns its suspensions and assignments."""
        answer = self._guarded(self._step, self, results, pipelines)
        if not isinstance(self.wake_at, (int, Integral, type(None))):
            told = f"s.wake_at must be a tick, a whole number, or None, got {one_line(repr(self.wake_at))}"
            raise InputError(told, source=self.algo_name)
        if isinstance(answer, (tuple, list)) and len(answer) == 2:
            suspensions, assignments = answer
            if _all(suspensions, Suspend) and _all(assignments, Assignment):
                return suspensions, assignments
        told = "must return two lists, of Suspend and of Assignment objects"
        raise InputError(f"{told}, got {one_line(repr(answer))}", source=self.algo_name)

    def _guarded(self, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except BatpyError:
            raise
        except FAILURES as why:
            raise blame(why, f"{function.__name__}()", function.__module__, self.algo_name) from why


__all__ = [
    "ASSIGNABLE_STATES",
    "Assignment",
    "OperatorState",
    "Priority",
    "Scheduler",
    "Suspend",
    "register_scheduler",
    "register_scheduler_init",
]
