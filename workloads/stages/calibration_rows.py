"""What a calibration learns from: the stages of recorded applications.

Stages that waited for executors took longer than their work, and stages with lost tasks did other work than
their sums tell: they are left out. Of stages whose tasks had to share slots with those of others it is not
known how many they could use, only how many they did: they are learnt from, but no error is told of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from batpy.workloads.stages.graph import Application, Executor, Stage, slots_per_executor
from batpy.workloads.stages.roofline import StageWork, times_of
from batpy.workloads.stages.tally import Tally

TOLERATED = 0.1
"""Share of a stage's time that it may wait for executors, or contend for slots."""
NO_DATES = "stage without a recorded beginning or end"
PARTIAL = "stage of which tasks are missing or were lost"
NOTHING = "stage without recorded processor time"
WAITED = "stage that waited for executors"
SHARED = "stage whose tasks shared slots with those of other stages: learnt from, but not judged by"
NO_SLOTS = "stage of which no slots are known"


@dataclass(frozen=True, slots=True)
class Run:
    """A recorded run of an application.

    Attributes:
        family: the same for all runs of one application.
        rows: the stages to learn from.
        executors: most at one time.
        amount: bytes read, written and shuffled.
    """

    application: Application
    family: str
    rows: tuple[StageWork, ...]
    executors: int
    amount: int


def runs_of(applications: Iterable[Application], tally: Tally, source: str = "calibration") -> list[Run]:
    """The runs, in the order given; the tally takes what was left out."""
    return [_run(application, tally, source) for application in applications]


def family_of(application: Application) -> str:
    """Runs of one application have its name, or else its id, and stages of the same numbers.

    Names alone do not tell: all that is typed into a shell has one name.
    """
    id = re.sub(r"~\d+$", "", application.id)
    numbers = sorted({stage.id for stage in application.stages})
    return f"{application.name or id} ({len(numbers)} stages to {numbers[-1] if numbers else 0})"


def work_of(application: Application, stage: Stage, *, dated: bool = True) -> StageWork | None:
    """Amounts of a stage; None if it is not known where it ran, or it has no processor time.

    Args:
        dated: count the slots that there were while it ran, where the log tells, instead of the most.
    """
    slots = _slots(application, stage) if dated else application.slots
    if slots is None:
        slots = application.slots
    if slots < 1 or not stage.done:
        return None
    begin, end = stage.submitted_us, stage.completed_us
    return StageWork(
        cpu=stage.cpu_us / 1e6,
        read=float(stage.input_bytes),
        write=float(stage.output_bytes),
        net=float(stage.shuffle_remote_bytes),
        tasks=stage.done,
        slots=slots,
        hosts=max(1, application.hosts),
        times=times_of(stage),
        local=None if application.framework in ("stages", "workflow") else float(stage.shuffle_local_bytes),
        wall=None if begin is None or end is None or end <= begin else (end - begin) / 1e6,
        name=f"{application.id} stage {stage.id}" + (f".{stage.attempt}" if stage.attempt else ""),
    )


def _run(application: Application, tally: Tally, source: str) -> Run:
    rows: list[StageWork] = []
    for stage in application.stages:
        place = f"{application.id} stage {stage.id}"
        work = work_of(application, stage)
        why = _objection(stage, work)
        waited, shared = (0.0, 0.0) if why else _disturbed(application, stage)
        if waited > TOLERATED:
            why = WAITED
        if why is not None or work is None:
            tally.skip(why or NO_SLOTS, source, path=place)
        elif shared > TOLERATED:
            tally.note(SHARED, source, path=place)
            assert work.wall is not None, "it has dates"
            rows.append(replace(work, kept=stage.wall_us / 1e6 / work.wall))
        else:
            rows.append(work)
    return Run(
        application,
        family_of(application),
        tuple(rows),
        _most_executors(application),
        amount_of(application),
    )


def amount_of(application: Application) -> int:
    """Bytes that an application reads, writes and shuffles."""
    return sum(
        stage.input_bytes + stage.output_bytes + stage.shuffle_local_bytes + stage.shuffle_remote_bytes
        for stage in application.stages
    )


def _objection(stage: Stage, work: StageWork | None) -> str | None:
    if stage.failure or stage.lost or stage.done < stage.tasks or not stage.done:
        return PARTIAL
    begin, end = stage.submitted_us, stage.completed_us
    if begin is None or end is None or end <= begin:
        return NO_DATES
    if not stage.cpu_us:
        return NOTHING
    return NO_SLOTS if work is None else None


def _seats(application: Application, profile: int) -> list[tuple[Executor, int]]:
    profiles = {one.id: one for one in application.profiles}
    return [
        (executor, slots_per_executor(profiles.get(executor.profile), executor.cores))
        for executor in application.executors
        if executor.profile == profile
    ]


def _slots(application: Application, stage: Stage) -> int | None:
    """Mean number of slots of its resource profile while a stage ran."""
    begin, end = stage.submitted_us, stage.completed_us
    if begin is None or end is None or end <= begin or not application.executors:
        return None
    total = 0
    for executor, slots in _seats(application, stage.profile):
        left = end if executor.left_us is None else min(end, executor.left_us)
        total += slots * max(0, left - max(begin, executor.joined_us))
    return max(1, round(total / (end - begin)))


def _disturbed(application: Application, stage: Stage) -> tuple[float, float]:
    """Share of a stage's time without slots, and of that in which too many tasks wanted those there were."""
    begin, end = stage.submitted_us, stage.completed_us
    if begin is None or end is None or end <= begin or not application.executors:
        return 0.0, 0.0
    seats = _seats(application, stage.profile)
    others = [
        (other.submitted_us, other.completed_us, other.tasks)
        for other in application.stages
        if other is not stage and other.profile == stage.profile
        if other.submitted_us is not None and other.completed_us is not None
        if other.submitted_us < end and other.completed_us > begin
    ]
    cuts = {begin, end}
    for executor, _ in seats:
        cuts |= {executor.joined_us, end if executor.left_us is None else executor.left_us}
    for first, last, _ in others:
        cuts |= {first, last}
    ordered = sorted(cut for cut in cuts if begin <= cut <= end)
    waited = shared = 0
    for first, last in pairwise(ordered):
        slots = sum(
            count
            for executor, count in seats
            if executor.joined_us <= first and (executor.left_us is None or executor.left_us >= last)
        )
        beside = sum(tasks for start, stop, tasks in others if start <= first and stop >= last)
        if not slots:
            waited += last - first
        elif beside and beside + stage.tasks > slots:
            shared += last - first
    return waited / (end - begin), shared / (end - begin)


def _most_executors(application: Application) -> int:
    moves: list[tuple[int, int]] = []
    for executor in application.executors:
        moves.append((executor.joined_us, 1))
        if executor.left_us is not None:
            moves.append((executor.left_us, -1))
    top = level = 0
    for _, change in sorted(moves):
        level += change
        top = max(top, level)
    return top


def rows_of(runs: Sequence[Run]) -> list[StageWork]:
    """The stages of several runs."""
    return [row for run in runs for row in run.rows]
