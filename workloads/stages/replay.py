"""How long an application takes on its own slots, from its stage graph: the check of the job models.

One loop over events, as in Spark's FIFO scheduling: the jobs of an application share its slots, tasks go in
the order of (job, stage), slots are counted for each resource profile, executors join and leave as
recorded, and a job is submitted its think time after the end of the job that had ended before it. A stage
begins when its parents are over. Nothing is charged for scheduling but what task times hold.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Literal

from batpy.base.errors import InputError
from batpy.workloads.stages.graph import (
    AppJob,
    Application,
    Stage,
    slots_per_executor,
    times_from,
)

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

    return _Run(application, times, slots).run()


@dataclass(slots=True)
class _Live:
    """A stage attempt on its way."""

    stage: Stage
    job: int
    waits_for: int = 0
    times: list[int] = field(default_factory=list)
    started: int = 0
    ended: int = 0
    begin: int = 0
    children: list[_Live] = field(default_factory=list)


class _Run:
    """The loop's state. Events are (date, serial number, what to do)."""

    def __init__(
        self, application: Application, times: Callable[[Stage], list[int]], slots: int | None
    ) -> None:
        self.now = 0
        self.events: list[tuple[int, int, Callable[[], None]]] = []
        self.serial = 0
        self.capacity: dict[int, int] = {}
        self.running: dict[int, int] = {}
        self.ready: dict[int, list[tuple[int, int, int, _Live]]] = {}
        self.jobs = _jobs(application)
        self.left: dict[int, int] = {}
        self.followers: dict[int | None, list[AppJob]] = {}
        self.dates: dict[int, tuple[int, int]] = {}
        self.stages: dict[tuple[int, int], tuple[int, int]] = {}
        self.by_job: dict[int, list[_Live]] = {}
        self._seat(application, slots)
        self._link(application, times)

    def run(self) -> Replay:
        for job in self.followers.get(None, ()):
            self._at(job.think_us, lambda job=job: self._submit(job))  # type: ignore[misc]
        while self.events:
            self.now = self.events[0][0]
            while self.events and self.events[0][0] == self.now:
                heapq.heappop(self.events)[2]()
            for profile in self.ready:
                self._start_tasks(profile)
        if any(self.ready.values()):
            profile = min(profile for profile, waiting in self.ready.items() if waiting)
            raise InputError(f"no executor of resource profile {profile} ever comes")
        return Replay(self.dates, self.stages)

    def _at(self, date: int, what: Callable[[], None]) -> None:
        self.serial += 1
        heapq.heappush(self.events, (max(date, self.now), self.serial, what))

    def _seat(self, application: Application, slots: int | None) -> None:
        used = {stage.profile for stage in application.stages}
        fixed = slots or (application.slots if not application.executors else 0)
        if fixed:
            self.capacity = dict.fromkeys(used, fixed)
            return
        if not application.executors:
            raise InputError(f"application {application.id}: neither executors nor slots are known")
        profiles = {profile.id: profile for profile in application.profiles}
        for executor in application.executors:
            count = slots_per_executor(profiles.get(executor.profile), executor.cores)
            self._at(executor.joined_us, lambda p=executor.profile, n=count: self._join(p, n))  # type: ignore[misc]
            if executor.left_us is not None:
                self._at(executor.left_us, lambda p=executor.profile, n=count: self._leave(p, n))  # type: ignore[misc]

    def _join(self, profile: int, count: int) -> None:
        self.capacity[profile] = self.capacity.get(profile, 0) + count

    def _leave(self, profile: int, count: int) -> None:
        """Idle executors leave; in a replay that lags, the last ones stay while there is work for them."""
        rest = self.capacity[profile] - count
        if rest > 0 or not (self.ready.get(profile) or self.running.get(profile)):
            self.capacity[profile] = rest

    def _link(self, application: Application, times: Callable[[Stage], list[int]]) -> None:
        order = {job.id: index for index, job in enumerate(self.jobs)}
        first = self.jobs[0].id
        lives: dict[int, list[_Live]] = {}
        for stage in sorted(application.stages, key=lambda s: (s.id, s.attempt)):
            job = stage.job if stage.job in order else first
            assert job is not None
            live = _Live(stage, order[job], times=times(stage))
            lives.setdefault(stage.id, []).append(live)
            self.by_job.setdefault(job, []).append(live)
        for attempts in lives.values():
            for index, live in enumerate(attempts):
                # A further attempt repairs the one before, and children read what the last has written.
                above = [lives[parent][-1] for parent in live.stage.parents if parent in lives]
                above += attempts[index - 1 : index] if index else []
                for parent in above:
                    parent.children.append(live)
                    live.waits_for += 1
        for job, before in _before(self.jobs).items():
            self.followers.setdefault(before, []).append(self.jobs[order[job]])

    def _submit(self, job: AppJob) -> None:
        self.dates[job.id] = self.now, self.now
        mine = self.by_job.get(job.id, [])
        self.left[job.id] = len(mine)
        if not mine:
            self._end_job(job.id)
        for live in mine:
            live.waits_for -= 1  # -1 tells that its job is there
            self._begin(live)

    def _begin(self, live: _Live) -> None:
        """Queue a stage that waits for nobody and whose job was submitted."""
        if live.waits_for != -1:
            return
        live.begin = self.now
        if not live.times:
            self._end_stage(live)
            return
        key = live.job, live.stage.id, live.stage.attempt, live
        heapq.heappush(self.ready.setdefault(live.stage.profile, []), key)

    def _start_tasks(self, profile: int) -> None:
        waiting = self.ready[profile]
        free = self.capacity.get(profile, 0) - self.running.get(profile, 0)
        while waiting and free > 0:
            live = waiting[0][3]
            count = min(free, len(live.times) - live.started)
            for time in live.times[live.started : live.started + count]:
                self._at(self.now + time, lambda live=live: self._end_task(live))  # type: ignore[misc]
            if not live.started:
                live.begin = self.now
            live.started += count
            free -= count
            self.running[profile] = self.running.get(profile, 0) + count
            if live.started == len(live.times):
                heapq.heappop(waiting)

    def _end_task(self, live: _Live) -> None:
        self.running[live.stage.profile] -= 1
        live.ended += 1
        if live.ended == len(live.times):
            self._end_stage(live)

    def _end_stage(self, live: _Live) -> None:
        self.stages[live.stage.id, live.stage.attempt] = live.begin, self.now
        for child in live.children:
            child.waits_for -= 1
            self._begin(child)
        job = self.jobs[live.job].id
        self.left[job] -= 1
        if not self.left[job]:
            self._end_job(job)

    def _end_job(self, job: int) -> None:
        self.dates[job] = self.dates[job][0], self.now
        for follower in self.followers.get(job, ()):
            self._at(self.now + follower.think_us, lambda job=follower: self._submit(job))  # type: ignore[misc]


def _jobs(application: Application) -> list[AppJob]:
    """Jobs in the order of submission; one for all stages where a log has none."""
    if not application.stages:
        raise InputError(f"application {application.id}: no stage ran")
    jobs = sorted(application.jobs, key=lambda job: (job.submitted_us, job.id))
    return jobs or [AppJob(id=0, submitted_us=0)]


def _before(jobs: Iterable[AppJob]) -> dict[int, int | None]:
    """For each job the one whose end it followed, None for those that follow the application's start."""
    known = list(jobs)
    ends = sorted((job.completed_us, job.id) for job in known if job.completed_us is not None)
    before: dict[int, int | None] = {}
    for job in known:
        earlier = [id for end, id in ends if end <= job.submitted_us and id != job.id]
        before[job.id] = earlier[-1] if earlier else None
    return before


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


def replay_error(application: Application, level: ReplayLevel, *, draws: int = 1) -> ReplayError:
    """Compare replays with the recording, over the jobs whose end was recorded.

    Args:
        draws: average over so many replays, with the seeds from 0, where tasks are drawn.

    Raises:
        InputError: as :func:`replay`; no job with an end.
    """
    recorded = {
        job.id: (job.submitted_us, job.completed_us)
        for job in application.jobs
        if job.completed_us is not None
    }
    if not recorded:
        raise InputError(f"application {application.id}: no job with a recorded end to compare with")
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
