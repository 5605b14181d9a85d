"""Leaves that compute and communicate: the parallel tasks of Batsim, on shared hosts and links.

One engine moves all tasks of a simulation at exact dates; here they meet the ticks of the run. An end is told
at the next tick, and what follows it in a composed profile starts at its exact date.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from batpy.models.execution import WALLTIME_REACHED, Execution, Run
from batpy.models.sharing.engine import SharingEngine
from batpy.models.sharing.resources import Resources
from batpy.models.sharing.task import Task
from batpy.models.sharing.work import TaskWork, WorkBuilder
from batpy.platforms.platform import Platform
from batpy.workloads.profile import (
    LegacyPfs,
    Parallel,
    ParallelHomogeneous,
    ParallelHomogeneousPfs,
    ParallelHomogeneousTotal,
)


class ParallelModel:
    """Runs every type of parallel task; see ``batpy.models.execution.LeafModel``.

    A task that ends exactly at the walltime of its job is completed, unlike a delay (Batsim 4.2.1).

    Args:
        platform: its hosts and network.
    """

    killed_code = -2

    def __init__(self, execution: Execution, platform: Platform, ticks_per_second: int) -> None:
        resources = Resources.of(platform)
        self._agenda = execution.agenda
        self._leaf_over = execution.leaf_over
        self._engine = SharingEngine(resources, ticks_per_second)
        self._build = WorkBuilder(resources, platform.network)
        self._woken_at: int | None = None

    def start(self, run: Run) -> None:
        """Begin a task at the exact date at which the part before it ended."""
        task = self._engine.add((self._agenda.now, run.carry), self._work(run), run)
        run.state = task
        if run.deadline is not None:
            self._agenda.at(run.deadline, self._walltime, (run, task))
        self._plan()

    def stop(self, run: Run) -> None:
        """Take the task away from hosts and links."""
        self._engine.cancel((self._agenda.now, 0.0), run.state)
        self._plan()

    def progress(self, run: Run) -> float | None:
        """Share of the task's work that is done; 0 during its latency."""
        return 1.0 - self._engine.remaining((self._agenda.now, 0.0), run.state)

    def _work(self, run: Run) -> TaskWork:
        profile: Any = run.tree.profile
        hosts: Sequence[int] = run.hosts
        build = self._build
        match profile:
            case Parallel():
                return build.parallel(hosts, profile.cpu, profile.com)
            case ParallelHomogeneous():
                return build.homogeneous(hosts, profile.cpu, profile.com)
            case ParallelHomogeneousTotal():
                return build.homogeneous_total(hosts, profile.cpu, profile.com)
            case ParallelHomogeneousPfs():
                storage = run.storage[profile.storage]
                return build.storage(hosts, storage, profile.bytes_to_read, profile.bytes_to_write)
            case LegacyPfs():
                read, write = (0.0, profile.size) if profile.to_storage else (profile.size, 0.0)
                return build.storage(hosts, run.storage[profile.host], read, write)
            case _:
                return build.staging(
                    run.storage[profile.source], run.storage[profile.target], profile.nb_bytes
                )

    def _plan(self) -> None:
        """Have the next end told at its tick."""
        tick = self._engine.next_tick()
        if tick is not None and (self._woken_at is None or tick < self._woken_at):
            self._woken_at = max(tick, self._agenda.now)
            self._agenda.at(self._woken_at, self._wake, self._woken_at)

    def _wake(self, planned: int) -> None:
        if planned == self._woken_at:
            self._woken_at = None
            self._catch_up()
            self._plan()

    def _catch_up(self) -> None:
        """Tell every end that is due, in the order of the exact dates."""
        engine, now = self._engine, self._agenda.now
        while (tick := engine.next_tick()) is not None and tick <= now:
            for task in engine.step():
                run: Run = task.owner
                if not run.over and run.state is task:
                    run.carry = min(0.0, task.ended[0] - now + task.ended[1])
                    self._leaf_over(run, 0)

    def _walltime(self, subject: tuple[Run, Task]) -> None:
        run, task = subject
        if run.over or run.state is not task:
            return
        self._catch_up()
        if not run.over and run.state is task and self._engine.cancel((self._agenda.now, 0.0), task) > 0:
            self._leaf_over(run, WALLTIME_REACHED)
        self._catch_up()
        self._plan()
