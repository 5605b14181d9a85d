"""Put a run together: parameters, workload, policy, estimator."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from batpy.models.containers.engine import Arrivals, PipelineRun
from batpy.models.containers.statistics import SimulatorStats, compute_statistics
from batpy.pipelines.estimators import RunEstimator
from batpy.pipelines.tables import write_tables
from batpy.pipelines.wire import WirePolicy
from batpy.schedulers.pipelines.api import Scheduler
from batpy.transport.link import Link
from batpy.workloads.pipelines.generator import PipelineGenerator
from batpy.workloads.pipelines.parameters import OWN_KEYS, ParameterFile, Parameters, read_parameters
from batpy.workloads.pipelines.trace import TraceSource, read_trace


class TickWorkload:
    """A user's workload: any object with ``run_one_tick()``, which is called in every tick."""

    def __init__(self, workload: Any) -> None:
        self._workload = workload
        self._next = 0

    def next_tick(self) -> int:
        """The tick that was not asked for yet."""
        return self._next

    def take(self, tick: int) -> Sequence[Any]:
        """What the workload gives for this tick."""
        self._next = tick + 1
        given: Sequence[Any] = self._workload.run_one_tick()
        return given


@dataclass(frozen=True, slots=True)
class Outcome:
    """A run that came to its end."""

    run: PipelineRun
    statistics: SimulatorStats


def make_arrivals(parameters: Parameters, workload: Any = None) -> Arrivals:
    """The source of pipelines: the generator if *workload* is None, a trace file, or a user's object."""
    if workload is None:
        import numpy as np

        return PipelineGenerator(parameters, np.random.default_rng(parameters.random_seed))
    if isinstance(workload, (str, Path)):
        return TraceSource(read_trace(workload), parameters.tick_length, exact=parameters.is_compat)
    if hasattr(workload, "run_one_tick"):
        return TickWorkload(workload)
    source: Arrivals = workload
    return source


def prepare_run(file: ParameterFile, workload: Any = None) -> PipelineRun:
    """A run that is ready to go, without its policy."""
    parameters = file.parameters
    arrivals = make_arrivals(parameters, workload)
    estimator = RunEstimator(parameters.estimator_algo, shown(file)) if parameters.estimator_algo else None
    return PipelineRun(parameters, arrivals, estimator=estimator)


def shown(file: ParameterFile) -> dict[str, Any]:
    """Parameters as policies see them: first what the file gave, in its order, then the defaults."""
    given = {name: value for name, value in file.given.items() if name not in OWN_KEYS}
    return given | {name: value for name, value in file.parameters.as_dict().items() if name not in given}


def make_policy(run: PipelineRun, file: ParameterFile) -> Scheduler:
    """The policy that the parameters name."""
    load_shipped()
    return Scheduler(
        file.parameters.scheduler_algo, run.executor, run.clock, shown(file), compat=file.parameters.is_compat
    )


def load_shipped() -> None:
    """Import the shipped policies, which registers them."""
    from batpy.schedulers.pipelines import shipped

    shipped.load()


def simulate(file: ParameterFile, workload: Any = None, *, link: Link | None = None) -> Outcome:
    """Run to the end.

    Args:
        link: to a scheduler behind the protocol, instead of the one that the parameters name; stays open.

    Raises:
        InputError: a parameter, the workload or the policy is at fault.
        PeerError: the scheduler at the other end of the link is gone.
    """
    with calm_collector():
        run = prepare_run(file, workload)
        if link is not None:
            remote = WirePolicy(run, link, shown(file))
            run.run(remote)
            remote.end()
        else:
            with closing(make_policy(run, file)) as policy:
                run.run(policy)
        return Outcome(run, compute_statistics(run))


@contextmanager
def calm_collector() -> Iterator[None]:
    """Let the garbage collector look less often: a run keeps all it makes, and drops nothing in circles."""
    thresholds = gc.get_threshold()
    gc.set_threshold(1_000_000, 50, 1000)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


def run_simulator(
    parameters: str | Path | Mapping[str, Any],
    workload: Any = None,
    *,
    compat: str | None = None,
    output: str | Path | None = None,
) -> SimulatorStats:
    """Simulate pipelines in containers.

    Args:
        parameters: a TOML file or a table; the keys of ``Parameters``, all optional.
        workload: a trace file, or an object with ``run_one_tick()``; the random generator if None.
        compat: ``"eudoxia"`` for the original's behaviour with its faults.
        output: folder for the statistics and for tables of pipelines, containers and events.

    Raises:
        InputError: what cannot be used, with file and key or line.
    """
    outcome = simulate(read_parameters(parameters, compat=compat), workload)
    if output is not None:
        write_tables(Path(output), outcome.run, outcome.statistics)
    return outcome.statistics


def get_param_defaults() -> dict[str, Any]:
    """All parameters with their default values."""
    return Parameters().as_dict()
