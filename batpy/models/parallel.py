"""Leaves that compute and communicate: the parallel tasks of Batsim, on shared hosts and links.

One engine moves all tasks of a simulation at exact dates; here they meet the ticks of the run. An end is told
at the next tick, and what follows it in a composed profile starts at its exact date.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from batpy.base.errors import InputError
from batpy.models.execution import WALLTIME_REACHED, Execution, Run, Tree
from batpy.models.sharing.engine import OnLoad, SharingEngine
from batpy.models.sharing.resources import Resources
from batpy.models.sharing.task import Date, Task, later
from batpy.models.sharing.work import TaskWork, WorkBuilder, repeated
from batpy.platforms.network import SureNetwork
from batpy.platforms.platform import Platform
from batpy.workloads.profile import (
    PARALLEL_TASKS,
    Computing,
    DataStaging,
    LegacyPfs,
    Parallel,
    ParallelHomogeneous,
    ParallelHomogeneousPfs,
    ParallelHomogeneousTotal,
    Profile,
)


class TaskOwner(Protocol):
    """Whose a task is that is not a leaf of its own."""

    @property
    def run(self) -> Run:
        """The run that it belongs to."""

    def task_over(self, task: Task) -> None:
        """The task has ended, at its exact date; called from an action of the agenda."""


OnVisit = Callable[[Date, Sequence[int]], None]
"""Called with (date, hosts) before loads change there."""


class ParallelModel:
    """Runs every type of parallel task; see ``batpy.models.execution.LeafModel``.

    A task that ends exactly at the walltime of its job is completed, unlike a delay (Batsim 4.2.1).

    Args:
        platform: its hosts and network.
        on_load: told of changes of hosts' loads; see ``SharingEngine``.
        on_visit: told of each task that leaves its hosts, and of the first host of each one that comes
            (SimGrid 3.32's energy plug-in looks at no other then).
    """

    killed_code = -2

    def __init__(
        self,
        execution: Execution,
        platform: Platform,
        ticks_per_second: int,
        on_load: OnLoad | None = None,
        on_visit: OnVisit | None = None,
    ) -> None:
        resources = Resources.of(platform)
        self._agenda = execution.agenda
        self._leaf_over = execution.leaf_over
        self._engine = SharingEngine(
            resources, ticks_per_second, on_load=on_load, on_leave=None if on_visit is None else self._left
        )
        self._build = WorkBuilder(resources, platform.network)
        self._cores = resources.cores
        self._woken_at: int | None = None
        self._on_visit = on_visit
        network = platform.network
        self._sure = network is None or (isinstance(network, SureNetwork) and network.has_every_route)
        execution.prepare_task = self.prepare

    def add(self, date: Date, work: TaskWork, owner: TaskOwner) -> Task:
        """Begin a task that is not a leaf of its own, at an exact date not after the present tick."""
        if work.hosts:
            self._visit(date, work.hosts[0][0])
        task = self._engine.add(date, work, owner)
        self._plan()
        return task

    def drop(self, task: Task) -> None:
        """Take such a task away from its hosts."""
        self._engine.cancel((self._agenda.now, 0.0), task)
        self._plan()

    def prepare(self, run: Run, tree: Tree, begins: bool) -> str | None:
        """Find the work of a leaf of a run that is to start; the rule that is broken, or None.

        Args:
            begins: the run begins with this leaf, so its work is kept.
        """
        if not isinstance(tree.profile, PARALLEL_TASKS) or (self._sure and not begins):
            return None
        try:
            work = self._work(run, tree)
        except InputError as why:
            return str(why)
        if begins:
            run.state = work
        return None

    def start(self, run: Run) -> None:
        """Begin a task at the exact date at which the part before it ended."""
        date = (self._agenda.now, run.carry)
        work = run.state if type(run.state) is TaskWork else self._work(run, run.tree)
        if self._on_visit is not None:
            self._visit(date, _places(run)[0])
        task = self._engine.add(date, work, run)
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

    def set_speed(self, host: int, speed: float) -> None:
        """The cores of a host have another speed from now on, in flops per second; tasks go on."""
        self._engine.set_speed((self._agenda.now, 0.0), host, speed)
        self._plan()

    def _visit(self, date: Date, host: int) -> None:
        if self._on_visit is not None:
            date = later(date, 0.0)
            self._engine.advance(date)
            self._on_visit(date, [host])

    def _left(self, date: Date, task: Task) -> None:
        assert self._on_visit is not None
        owner = task.owner
        hosts = _places(owner) if isinstance(owner, Run) else [element[0] for element in task.work.hosts]
        self._on_visit(date, hosts)

    def users(self, host: int) -> list[tuple[Run, float]]:
        """The run of each task on a host, and the flops a second that the task does there."""
        users = self._engine.users(host)
        return [(o if isinstance(o := task.owner, Run) else o.run, flops) for task, flops in users]

    def settle(self) -> None:
        """Let everything happen on hosts and links that is due now; ends are told in their turn."""
        self._engine.advance((self._agenda.now, 0.0))

    def _work(self, run: Run, tree: Tree) -> TaskWork:
        if tree.io is not None:
            return self._joint_work(run, tree.profile, tree.io)
        profile, build = tree.profile, self._build
        match profile:
            case Computing():
                work = self._computing(run.hosts, profile)
                used = profile.utilization
                return work if used is None else repeated(work, used, self._cores)
            case ParallelHomogeneousPfs():
                storage = run.storage[profile.storage]
                return build.storage(run.hosts, storage, profile.bytes_to_read, profile.bytes_to_write)
            case LegacyPfs():
                read, write = (0.0, profile.size) if profile.to_storage else (profile.size, 0.0)
                return build.storage(run.hosts, run.storage[profile.host], read, write)
            case DataStaging():
                source, target = run.storage[profile.source], run.storage[profile.target]
                return build.staging(source, target, profile.nb_bytes)
            case _:
                raise _no_task(profile)

    def _computing(self, hosts: Sequence[int], profile: Computing) -> TaskWork:
        build = self._build
        match profile:
            case Parallel():
                return build.parallel(hosts, profile.cpu, profile.com, profile.cores_per_executor)
            case ParallelHomogeneous():
                return build.homogeneous(hosts, profile.cpu, profile.com, profile.cores_per_executor)
            case ParallelHomogeneousTotal():
                return build.homogeneous_total(hosts, profile.cpu, profile.com, profile.cores_per_executor)
            case _:
                raise _no_task(profile)

    def _joint_work(self, run: Run, job: Profile, io: Profile) -> TaskWork:
        # Few jobs have an additional I/O job.
        from batpy.models.sharing.joint import join, pieces

        whole = join(
            pieces(job, run.hosts, run.storage),
            pieces(io, run.io_hosts, run.storage),
            [*run.hosts, *run.io_hosts],
        )
        return self._build.flows(whole.hosts, whole.flops, whole.flows)

    def _plan(self) -> None:
        """Have the next end told at its tick."""
        tick = self._engine.next_tick()
        if tick is not None and (self._woken_at is None or tick < self._woken_at):
            self._woken_at = max(tick, self._agenda.now)
            self._agenda.at(self._woken_at, self._wake, self._woken_at)

    def _wake(self, planned: int) -> None:
        if planned == self._woken_at:
            self._woken_at = None
            self.catch_up()
            self._plan()

    def catch_up(self) -> None:
        """Tell every end that is due, in the order of the exact dates."""
        engine, now = self._engine, self._agenda.now
        while (tick := engine.next_tick()) is not None and tick <= now:
            for task in engine.step():
                run = task.owner
                if type(run) is not Run:
                    run.task_over(task)
                elif not run.over and run.state is task:
                    run.carry = min(0.0, task.ended[0] - now + task.ended[1])
                    self._leaf_over(run, 0)

    def _walltime(self, subject: tuple[Run, Task]) -> None:
        run, task = subject
        if run.over or run.state is not task:
            return
        self.catch_up()
        if not run.over and run.state is task and self._engine.cancel((self._agenda.now, 0.0), task) > 0:
            self._leaf_over(run, WALLTIME_REACHED)
        self.catch_up()
        self._plan()


def _no_task(profile: Profile) -> TypeError:
    """A model that is asked for what it does not do: a bug, since the gate asks what each model does."""
    return TypeError(f"profile {profile.name!r} is a {type(profile).__name__}, which is no parallel task")


def _places(run: Run) -> Sequence[int]:
    """Every host of a task, with or without work, in Batsim's order."""
    if isinstance(run.tree.profile, DataStaging):
        return list(run.storage.values())
    if run.io_hosts:
        return sorted({*run.hosts, *run.io_hosts})
    return [*run.hosts, *run.storage.values()] if run.storage else run.hosts
