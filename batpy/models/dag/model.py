"""Runs ``stage_dag`` profiles in the simulation: the end of an application is known when it starts."""

from __future__ import annotations

from typing import Any

from batpy.base.errors import InputError
from batpy.kernel.ticks import round_up
from batpy.models.dag.blueprint import Site, load_of
from batpy.models.dag.draws import US
from batpy.models.dag.engine import run as schedule_of
from batpy.models.dag.progress import progress_of
from batpy.models.execution import WALLTIME_REACHED, Execution, Run
from batpy.platforms.platform import Platform
from batpy.workloads.profile import StageDag


class DagModel:
    """See ``batpy.models.execution.LeafModel``.

    An application that ends exactly at the walltime of its job is completed, as a parallel task is. Nothing
    of a schedule is kept but its end: a kill computes it again to see how far it is.

    Args:
        seed: of the run; task times are drawn from it.
    """

    killed_code = -2

    def __init__(self, execution: Execution, platform: Platform, ticks_per_second: int, seed: int) -> None:
        self._agenda = execution.agenda
        self._leaf_over = execution.leaf_over
        self._hosts = platform.compute
        self._scale = ticks_per_second
        self._seed = seed

    def start(self, run: Run) -> None:
        """Begin an application.

        Raises:
            InputError: its executors leave before its tasks are done.
        """
        profile = run.tree.profile
        assert type(profile) is StageDag
        try:
            end = schedule_of(load_of(profile, self._site(run), self._seed)).end
        except InputError as why:
            raise InputError(why.problem, path=f"profile {profile.name}") from None
        whole, rest = divmod(end * self._scale, US)
        exact = rest / US + run.carry  # what the end is beyond *whole* ticks
        length = max(0, whole + round_up(exact))
        due = self._agenda.now + length
        if run.deadline is not None and due > run.deadline:
            self._agenda.at(run.deadline, self._walltime, run)
            return
        if run.frames:
            run.state = exact - (length - whole)
        self._agenda.at(due, self._done, run)

    def stop(self, run: Run) -> None:
        """Nothing is held; the pending action finds ``run.over``."""

    def progress(self, run: Run) -> dict[str, Any]:
        """What the tree tells of the application: see ``batpy.workloads.stages.dag``."""
        profile = run.tree.profile
        assert type(profile) is StageDag
        load = load_of(profile, self._site(run), self._seed)
        # The exact start lies up to one tick before the recorded one.
        ticks = self._agenda.now - run.since
        elapsed = (ticks * US + int(-run.carry * US)) // self._scale
        return progress_of(profile.dag, load, schedule_of(load), elapsed)

    def _site(self, run: Run) -> Site:
        hosts = [self._hosts[host] for host in run.hosts]
        return Site([host.name for host in hosts], [host.cores for host in hosts])

    def _done(self, run: Run) -> None:
        if not run.over:
            if run.frames:
                run.carry = run.state
            self._leaf_over(run, 0)

    def _walltime(self, run: Run) -> None:
        if not run.over:
            self._leaf_over(run, WALLTIME_REACHED)
