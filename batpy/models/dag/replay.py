"""How long an application takes on its own slots, from its stage graph: the check of the job models.

As in Spark's FIFO scheduling: the jobs of an application share its slots, tasks go in the order of (job,
stage), slots are counted for each resource profile, executors join and leave as recorded, and a job is
submitted its think time after the end of the job that had ended before it. A stage begins when its parents
are over. Nothing is charged for scheduling but what task times hold.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

from batpy.base.errors import InputError
from batpy.models.dag.engine import run
from batpy.models.dag.load import JobLoad, Load, Seats, StageLoad
from batpy.workloads.stages.graph import Application, Stage, slots_per_executor, times_from
from batpy.workloads.stages.job_order import jobs_before, jobs_of, ordered_stages

ReplayLevel = Literal["task", "q16", "q4", "even"]
LEVELS: tuple[ReplayLevel, ...] = ("task", "q16", "q4", "even")


@dataclass(frozen=True, slots=True)
class Replay:
    """Dates in microseconds after the application's submission.

    Attributes:
        jobs: job id to (submission, end).
        stages: (stage id, attempt) to (first task's start, end); empty stages have both equal.
    """

    jobs: Mapping[int, tuple[int, int]]
    stages: Mapping[tuple[int, int], tuple[int, int]]

    @property
    def makespan_us(self) -> int:
        """From the first submission to the last end of a job."""
        return _span(self.jobs.values())


def task_times(stage: Stage, level: ReplayLevel, dice: Random) -> list[int]:
    """Times of the stage's tasks in the order in which they are started.

    Args:
        level: ``task`` as recorded (``durations_us``), ``q16`` and ``q4`` drawn from the 16-quantile table
            or from every fourth value of it, ``even`` all equal.
        dice: for the order of those that are drawn.

    Raises:
        InputError: level ``task`` of a stage whose tasks were not kept.
    """
    if not stage.done:
        return []
    if level == "even":
        return [round(stage.wall_us / stage.done)] * stage.done
    if level == "task":
        if len(stage.durations_us) != stage.done:
            raise InputError(f"the tasks of stage {stage.id} were not kept when it was imported")
        return list(stage.durations_us)
    table = stage.times_us if level == "q16" else stage.times_us[::4]
    times = times_from(table, stage.done, stage.wall_us)
    dice.shuffle(times)
    return times


def replay(
    application: Application, level: ReplayLevel = "q16", *, slots: int | None = None, seed: int = 0
) -> Replay:
    """Run an application on its recorded executors.

    Args:
        seed: of the order of drawn tasks; each stage has a stream of its own.
        slots: run on so many slots of each resource profile, from the beginning to the end, instead.

    Raises:
        InputError: no slots are known, or no stage ran.
    """

    def times(stage: Stage) -> list[int]:
        dice = Random(f"{seed}/{application.id}/{stage.id}/{stage.attempt}")
        return task_times(stage, level, dice)

    jobs = jobs_of(application)
    load = load_of(application, times, slots)
    found = run(load)
    stages = ordered_stages(application, jobs)
    return Replay(
        {job.id: dates for job, dates in zip(jobs, found.jobs, strict=True)},
        {(one.stage.id, one.stage.attempt): dates for one, dates in zip(stages, found.stages, strict=True)},
    )


def load_of(application: Application, times: Callable[[Stage], Sequence[int]], slots: int | None) -> Load:
    """What the loop is given: stage attempts and jobs as ``batpy.workloads.stages.job_order`` has them.

    Args:
        times: of the tasks of each stage.
        slots: so many of each resource profile all the time, instead of the recorded executors.

    Raises:
        InputError: no slots are known, or no stage ran.
    """
    jobs = jobs_of(application)
    places = {job.id: index for index, job in enumerate(jobs)}
    before = jobs_before(jobs)
    ids = sorted({stage.profile for stage in application.stages})
    numbers = {id: number for number, id in enumerate(ids)}
    seats, hosts = _seats(application, numbers, slots)
    stages = [
        StageLoad(turn, one.job, numbers[one.stage.profile], one.parents, times(one.stage))
        for turn, one in enumerate(ordered_stages(application, jobs))
    ]
    loads = []
    for job in jobs:
        earlier = before[job.id]
        loads.append(JobLoad(-1 if earlier is None else places[earlier], job.think_us))
    return Load(stages, loads, seats, ids, hosts)


def _seats(
    application: Application, numbers: Mapping[int, int], slots: int | None
) -> tuple[list[Seats], int]:
    """Slots by resource profile, and the number of hosts."""
    fixed = slots or (application.slots if not application.executors else 0)
    if fixed:
        return [Seats(0, number, fixed) for number in numbers.values()], 1
    if not application.executors:
        raise InputError(f"application {application.id}: neither executors nor slots are known")
    profiles = {profile.id: profile for profile in application.profiles}
    hosts = {name: place for place, name in enumerate(dict.fromkeys(e.host for e in application.executors))}
    seats = []
    for executor in application.executors:
        count = slots_per_executor(profiles.get(executor.profile), executor.cores)
        if executor.profile in numbers:
            number, start, end = numbers[executor.profile], max(0, executor.joined_us), executor.left_us
            end = None if end is None else max(0, end)
            seats.append(Seats(hosts[executor.host], number, count, start, end))
    return seats, len(hosts)


@dataclass(frozen=True, slots=True)
class ReplayError:
    """How far a replay is from the recording.

    Attributes:
        recorded_us: makespan of the recorded jobs.
        error: of the makespan, relative.
        job_error: mean of the absolute relative errors of jobs longer than a second; None if there is none.
    """

    recorded_us: int
    error: float
    job_error: float | None


def recorded_jobs(application: Application) -> dict[int, tuple[int, int]]:
    """Submission and end of each job whose end was recorded, in microseconds.

    Raises:
        InputError: there is none.
    """
    recorded = {
        job.id: (job.submitted_us, job.completed_us)
        for job in application.jobs
        if job.completed_us is not None
    }
    if not recorded:
        raise InputError(f"application {application.id}: no job with a recorded end to compare with")
    return recorded


def replay_error(application: Application, level: ReplayLevel, *, draws: int = 1) -> ReplayError:
    """Compare replays with the recording, over the jobs whose end was recorded.

    Args:
        draws: average over so many replays, with the seeds from 0, where tasks are drawn.

    Raises:
        InputError: as :func:`replay`; no job with an end.
    """
    recorded = recorded_jobs(application)
    seeds = range(draws if level in ("q16", "q4") else 1)
    span = _span(recorded.values())
    spans: list[float] = []
    errors: list[float] = []
    for seed in seeds:
        found = replay(application, level, seed=seed).jobs
        spans.append(_span([found[id] for id in recorded]))
        for id, (begin, end) in recorded.items():
            if end - begin > 1_000_000:
                errors.append(abs((found[id][1] - found[id][0]) / (end - begin) - 1))
    error = sum(spans) / len(spans) / span - 1 if span else 0.0
    return ReplayError(span, error, sum(errors) / len(errors) if errors else None)


def _span(dates: Collection[tuple[int, int]]) -> int:
    return max(end for _, end in dates) - min(begin for begin, _ in dates)
