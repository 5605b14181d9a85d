"""Replay of CPU usage traces: each rank keeps a share of the cores of its host busy, phase by phase.

On a host of C cores a usage u is k = max(round(u * C), 1) computations at once, one core each and each of
the phase's flops (Batsim 4.2.1). They share the cores with everything else that runs there.
"""

from __future__ import annotations

from batpy.models.execution import WALLTIME_REACHED, Execution, Run
from batpy.models.parallel import ParallelModel
from batpy.models.sharing.task import Date, Task
from batpy.models.sharing.work import TaskWork, busy_cores
from batpy.platforms.platform import Platform
from batpy.workloads.profile import UsagePhase, UsageTrace


class _Replay:
    """One ``usage_trace`` leaf under way: its tasks by rank."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.tasks: dict[int, Task] = {}


class _Rank:
    """One rank; the owner of its tasks. ``phases`` are those that are still to come, the last one first."""

    __slots__ = ("host", "model", "number", "phases", "replay")

    def __init__(
        self, model: UsageModel, replay: _Replay, number: int, host: int, phases: list[UsagePhase]
    ) -> None:
        self.model = model
        self.replay = replay
        self.number = number
        self.host = host
        self.phases = phases

    @property
    def run(self) -> Run:
        """The run of this leaf."""
        return self.replay.run

    def task_over(self, task: Task) -> None:
        """A phase ended: see ``ParallelModel.add``."""
        self.model.phase_over(self, task.ended)


class UsageModel:
    """Runs ``usage_trace`` profiles; see ``batpy.models.execution.LeafModel``.

    Args:
        parallel: computes on the hosts.
    """

    killed_code = -1

    def __init__(self, execution: Execution, parallel: ParallelModel, platform: Platform) -> None:
        self._agenda = execution.agenda
        self._leaf_over = execution.leaf_over
        self._parallel = parallel
        self._cores = [host.cores for host in platform.hosts]

    def start(self, run: Run) -> None:
        """Begin the first phase of every rank."""
        profile = run.tree.profile
        assert isinstance(profile, UsageTrace)
        run.state = replay = _Replay(run)
        hosts, now = run.hosts, self._agenda.now
        for number, phases in enumerate(profile.ranks):
            host = hosts[run.ranks[number] if run.ranks else number % len(hosts)]
            rank = _Rank(self, replay, number, host, [phase for phase in reversed(phases) if phase[1] > 0])
            self._go_on(rank, (now, run.carry))
        if run.deadline is not None:
            self._agenda.at(run.deadline, self._walltime, replay)
        if not replay.tasks:
            self._agenda.at(now, self._nothing_to_do, replay)

    def stop(self, run: Run) -> None:
        """Take every rank off its host."""
        for task in run.state.tasks.values():
            self._parallel.drop(task)

    def progress(self, run: Run) -> float | None:  # noqa: ARG002
        """Not reported."""
        return None

    def phase_over(self, rank: _Rank, date: Date) -> None:
        """A rank goes on; the last one to end ends the leaf."""
        replay = rank.replay
        run = replay.run
        if run.over or run.state is not replay:
            return
        del replay.tasks[rank.number]
        self._go_on(rank, date)
        if not replay.tasks:
            run.carry = min(0.0, date[0] - self._agenda.now + date[1])
            self._leaf_over(run, 0)

    def _go_on(self, rank: _Rank, date: Date) -> None:
        if rank.phases:
            usage, flops = rank.phases.pop()
            k = busy_cores(usage, self._cores[rank.host])
            work = TaskWork(0.0, ((rank.host, flops, flops * k, k),), ())
            rank.replay.tasks[rank.number] = self._parallel.add(date, work, rank)

    def _nothing_to_do(self, replay: _Replay) -> None:
        if not replay.run.over and replay.run.state is replay:
            self._leaf_over(replay.run, 0)

    def _walltime(self, replay: _Replay) -> None:
        run = replay.run
        if run.over or run.state is not replay:
            return
        self._parallel.catch_up()
        if not run.over and run.state is replay:
            self.stop(run)
            self._leaf_over(run, WALLTIME_REACHED)
