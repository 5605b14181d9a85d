"""In which order the jobs and stages of a recorded application come, and what each one waits for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from batpy.base.errors import InputError
from batpy.workloads.stages.graph import AppJob, Application, Stage


@dataclass(frozen=True, slots=True)
class OrderedStage:
    """A stage attempt in the order in which FIFO serves them.

    Attributes:
        job: index of the job that runs it.
        parents: indexes of the stage attempts that it waits for.
    """

    stage: Stage
    job: int
    parents: tuple[int, ...]


def jobs_of(application: Application) -> list[AppJob]:
    """Jobs in the order of submission; one for all stages where a log has none.

    Raises:
        InputError: no stage ran.
    """
    if not application.stages:
        raise InputError(f"application {application.id}: no stage ran")
    jobs = sorted(application.jobs, key=lambda job: (job.submitted_us, job.id))
    return jobs or [AppJob(id=0, submitted_us=0)]


def jobs_before(jobs: Iterable[AppJob]) -> dict[int, int | None]:
    """For each job the one whose end it followed, None for those that follow the application's start."""
    known = list(jobs)
    ends = sorted((job.completed_us, job.id) for job in known if job.completed_us is not None)
    before: dict[int, int | None] = {}
    for job in known:
        earlier = [id for end, id in ends if end <= job.submitted_us and id != job.id]
        before[job.id] = earlier[-1] if earlier else None
    return before


def ordered_stages(application: Application, jobs: Iterable[AppJob]) -> list[OrderedStage]:
    """Every stage attempt by (job, stage, attempt); those of no known job belong to the first.

    A further attempt repairs the one before, and children read what the last one has written.
    """
    order = {job.id: index for index, job in enumerate(jobs)}
    first = next(iter(order.values()))
    turns = sorted(
        (order.get(stage.job, first) if stage.job is not None else first, stage.id, stage.attempt, index)
        for index, stage in enumerate(application.stages)
    )
    attempts: dict[int, list[tuple[int, int]]] = {}
    for place, (_, id, attempt, _) in enumerate(turns):
        attempts.setdefault(id, []).append((attempt, place))
    found = []
    for job, id, attempt, index in turns:
        stage = application.stages[index]
        mine = sorted(attempts[id])
        rank = [number for number, _ in mine].index(attempt)
        parents = [max(attempts[parent])[1] for parent in dict.fromkeys(stage.parents) if parent in attempts]
        parents += [place for _, place in mine[rank - 1 : rank]] if rank else []
        found.append(OrderedStage(stage, job, tuple(parents)))
    return found
