"""How long a recorded application would take as a calibration has it: the stages' times and the makespan.

The times of its tasks keep their proportions; what they add up to is what the roofline of the stage says.
Tasks share the slots of the application as in ``replay``, beside this module, and a stage's own overhead
passes on no slot, before its first task.

Anchored, what the model does not explain of a recorded stage stays with it: its processor time is taken for
as much longer (or shorter) as makes the model tell the recorded time on the platform of the record. In logs
it is the collection of garbage, compilation, and the unpacking of code and data that are not explained.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import msgspec

from batpy.base.errors import InputError
from batpy.models.dag.engine import run
from batpy.models.dag.load import Load, Seats, StageLoad
from batpy.models.dag.replay import load_of, recorded_jobs
from batpy.workloads.stages.calibration_rows import Run, work_of
from batpy.workloads.stages.graph import Application, Executor, Stage
from batpy.workloads.stages.job_order import jobs_of
from batpy.workloads.stages.roofline import (
    Figures,
    Parameters,
    Resource,
    Roofline,
    StageWork,
    roofline,
    times_of,
)


@dataclass(frozen=True, slots=True)
class Target:
    """A platform to predict for.

    Attributes:
        slots: of each resource profile, all the time; None: the recorded executors.
        hosts: None for as many as recorded.
        inflation: what all work is multiplied by.
        executors: come and go like these, instead of the recorded ones.
    """

    figures: Figures
    slots: int | None = None
    hosts: int | None = None
    inflation: float = 1.0
    executors: tuple[Executor, ...] | None = None


@dataclass(frozen=True, slots=True)
class Predicted:
    """Seconds.

    Attributes:
        stages: (id, attempt) of each stage to its roofline, alone on the slots it could use.
        walls: what each stage then takes; anchored, with what the model does not explain.
        makespan: from the first submission of a job to the last end.
        recorded: the same as it was recorded, over the jobs whose end was; None if no end was.
        compared: of the prediction, over the same jobs.
    """

    stages: Mapping[tuple[int, int], Roofline]
    walls: Mapping[tuple[int, int], float]
    makespan: float
    recorded: float | None
    compared: float | None

    @property
    def error(self) -> float | None:
        """Relative error of the makespan."""
        return None if not self.recorded or self.compared is None else self.compared / self.recorded - 1

    def dominating(self) -> dict[tuple[int, int], Resource]:
        """What decides over the time of each stage."""
        return {key: found.dominating for key, found in self.stages.items()}


def predict(
    application: Application, parameters: Parameters, target: Target, *, anchor: Figures | None = None
) -> Predicted:
    """Predict an application.

    Args:
        anchor: figures of the platform of the record; keep what the model does not explain of its stages.

    Raises:
        InputError: no slots are known, or no stage ran.
    """
    rooflines: dict[tuple[int, int], Roofline] = {}
    times: dict[tuple[int, int], list[int]] = {}
    walls: dict[tuple[int, int], float] = {}
    for stage in application.stages:
        key = stage.id, stage.attempt
        rooflines[key], times[key], busy = _stage(application, stage, parameters, target, anchor)
        walls[key] = sum(times[key]) / 1e6 / busy
    seated = application
    if target.executors is not None:
        seated = msgspec.structs.replace(application, executors=target.executors)
    load = load_of(seated, lambda stage: times[stage.id, stage.attempt], target.slots)
    overhead = 0.0 if anchor is not None else parameters.stage_overhead
    found = run(_with_overheads(load, overhead))
    walls = {key: wall + overhead for key, wall in walls.items()}
    dates = {job.id: span for job, span in zip(jobs_of(application), found.jobs, strict=True)}
    recorded = compared = None
    try:
        known = recorded_jobs(application)
    except InputError:
        known = {}
    if known:
        recorded = _span(known)
        compared = _span({id: dates[id] for id in known})
    return Predicted(rooflines, walls, _span(dates), recorded, compared)


def _stage(
    application: Application, stage: Stage, parameters: Parameters, target: Target, anchor: Figures | None
) -> tuple[Roofline, list[int], float]:
    """The roofline of a stage, times of its tasks in microseconds that add up to it, and its busy slots."""
    work = work_of(application, stage, dated=target.slots is None)
    if work is None:
        if stage.done:
            problem = f"application {application.id}: no slots are known; say how many"
            if target.slots is None:
                raise InputError(problem)
            known = msgspec.structs.replace(application, slots=target.slots)
            work = work_of(known, stage, dated=False)
            assert work is not None, "it has tasks and slots"
        else:
            return Roofline(0.0, 0.0, 0.0, 0.0, 0.0, parameters.overlap), [], 1.0
    slots = work.slots if target.slots is None else target.slots
    times = times_of(stage) or (1,) * stage.done
    explained = 1.0
    if anchor is not None:
        work, explained = _anchored(work, sum(times) / 1e6, parameters, anchor)
    line = roofline(work, parameters, target.figures, slots=slots, hosts=target.hosts)
    seconds = line.wall - parameters.stage_overhead
    factor = seconds * work.busy(slots) * 1e6 * target.inflation / explained / max(sum(times), 1)
    return line, [round(time * factor) for time in times], work.busy(slots)


def _anchored(
    work: StageWork, recorded: float, parameters: Parameters, figures: Figures
) -> tuple[StageWork, float]:
    """The work that the model takes for what was recorded, and what share of that it still tells.

    Args:
        recorded: seconds of all tasks.
    """
    if not work.cpu:
        work = replace(work, cpu=1.0)  # a log that tells no processor time: any will do, it is scaled
    line = roofline(work, parameters, figures)
    busy = work.busy(work.slots)
    overhead = line.overhead - parameters.stage_overhead
    wanted = recorded / busy - overhead
    others = (line.read, line.write, line.net)
    cpu = wanted - (1 - line.overlap) * sum(others)
    if cpu < max(others) and line.overlap < 1:
        cpu = (cpu - line.overlap * max(others)) / (1 - line.overlap)
    if line.cpu > 0 and cpu > 0 and (cpu >= max(others) or line.overlap < 1):
        return replace(work, cpu=work.cpu * cpu / line.cpu), 1.0
    # Processor time cannot explain it: all times are off by one factor.
    told = (line.work + overhead) * busy
    return work, told / recorded if told > 0 and recorded > 0 else 1.0


def _with_overheads(load: Load, seconds: float) -> Load:
    """Put a task of the driver, which has slots of its own, before each stage."""
    overhead = round(seconds * 1e6)
    if not overhead:
        return load
    driver = load.profiles
    stages: list[StageLoad] = []
    for place, stage in enumerate(load.stages):
        before = [2 * parent + 1 for parent in stage.parents]
        stages.append(StageLoad(2 * place, stage.job, driver, before, [overhead]))
        stages.append(replace(stage, order=2 * place + 1, parents=[2 * place]))
    seats = [*load.seats, Seats(0, driver, len(load.stages))]
    ids = [*load.profile_ids, max(load.profile_ids) + 1]
    return replace(load, stages=stages, seats=seats, profile_ids=ids)


def _span(dates: Mapping[int, tuple[int, int]]) -> float:
    return (max(end for _, end in dates.values()) - min(begin for begin, _ in dates.values())) / 1e6


def makespan_error(run: Run, parameters: Parameters, figures: Figures) -> float | None:
    """Relative error of a recorded run's makespan, predicted from its amounts on its executors.

    None if there is nothing to compare with.
    """
    try:
        return predict(run.application, parameters, Target(figures)).error
    except InputError:
        return None


def transfer_error(
    known: Run, wanted: Run, parameters: Parameters, figures: Figures, inflation: float = 1.0
) -> float | None:
    """Relative error of the makespan of a run, predicted from the stages of another one on its executors.

    Args:
        inflation: what the work of the known run is multiplied by.
    """
    try:
        target = Target(figures, inflation=inflation, executors=wanted.application.executors)
        found = predict(known.application, parameters, target, anchor=figures)
        recorded = _span(recorded_jobs(wanted.application))
    except InputError:
        return None
    return None if found.compared is None or recorded == 0 else found.compared / recorded - 1
