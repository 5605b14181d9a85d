"""How much work a profile is, and how much of it a run has done: what makes attempts at one job comparable.

Work is (flops, bytes, seconds) as the profile tells it, a part that is repeated counted each time. Seconds
are those of sleep, and those of all tasks that a ``stage_dag`` has still to do. Amounts per executor count
once, whatever the number of executors: only amounts of one job, and of what was left of it, are ever
compared. Trace replays and jobs that wait for a message count nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from batpy.models.execution import Run, Tree
from batpy.workloads.profile import (
    DataStaging,
    Delay,
    LegacyPfs,
    Parallel,
    ParallelHomogeneous,
    ParallelHomogeneousPfs,
    ParallelHomogeneousTotal,
    Profile,
    Send,
    StageDag,
)

Work = tuple[float, float, float]
NOTHING: Work = (0.0, 0.0, 0.0)


def work_of(tree: Tree, seed: int = 0, known: dict[int, Work] | None = None) -> Work:
    """All the work of a resolved profile.

    Args:
        seed: of the run, from which times of tasks are drawn.
        known: work by ``id`` of the tree, for parts that come more than once.
    """
    known = {} if known is None else known
    found = known.get(id(tree))
    if found is None:
        if tree.parts:
            repeat = getattr(tree.profile, "repeat", 1)
            found = _times(_sum(work_of(part, seed, known) for part in tree.parts), repeat)
        elif type(tree.profile) is StageDag:
            from batpy.models.dag.draws import US, work_us  # few workloads hold one

            found = (0.0, 0.0, work_us(tree.profile, seed) / US)
        else:
            leaf = _LEAVES.get(type(tree.profile))
            found = leaf(tree.profile) if leaf is not None else NOTHING
        known[id(tree)] = found
    return found


def work_done(run: Run, progress: Mapping[str, Any], seed: int = 0) -> tuple[float, ...]:
    """How far a run that was stopped had come.

    Args:
        seed: as for ``work_of``.
        progress: its tree, as ``Execution.stop`` returned it.

    Returns:
        nine figures: all its work, that of its leaves that were over, and what was done altogether.
    """
    known: dict[int, Work] = {}
    frames = run.frames
    whole = work_of(frames[0].tree if frames else run.tree, seed, known)
    finished = NOTHING
    for frame in frames:
        parts = frame.tree.parts
        rounds, place = divmod(frame.index, len(parts))
        finished = _sum((finished, _times(_sum(work_of(part, seed, known) for part in parts), rounds)))
        finished = _sum((finished, *(work_of(part, seed, known) for part in parts[:place])))
    node = progress
    while isinstance(inside := node.get("current_task"), Mapping):
        node = inside
    share = node.get("progress")
    done = finished
    if isinstance(share, (int, float)):
        done = _sum((finished, _times(work_of(run.tree, seed, known), share)))
    return (*whole, *finished, *done)


def _sum(works: Any) -> Work:
    flops = bytes_ = seconds = 0.0
    for work in works:
        flops += work[0]
        bytes_ += work[1]
        seconds += work[2]
    return flops, bytes_, seconds


def _times(work: Work, factor: float) -> Work:
    return work[0] * factor, work[1] * factor, work[2] * factor


# By exact type: a profile of another type counts nothing.
_LEAVES: dict[type[Profile], Callable[[Any], Work]] = {
    Delay: lambda p: (0.0, 0.0, p.delay),
    Send: lambda p: (0.0, 0.0, p.sleeptime),
    Parallel: lambda p: (sum(p.cpu), sum(p.com), 0.0),
    ParallelHomogeneous: lambda p: (p.cpu, p.com, 0.0),
    ParallelHomogeneousTotal: lambda p: (p.cpu, p.com, 0.0),
    ParallelHomogeneousPfs: lambda p: (0.0, p.bytes_to_read + p.bytes_to_write, 0.0),
    LegacyPfs: lambda p: (0.0, p.size, 0.0),
    DataStaging: lambda p: (0.0, p.nb_bytes, 0.0),
}
