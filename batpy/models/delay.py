"""The ``delay`` profile: hosts are occupied for a while, nothing is computed."""

from __future__ import annotations

from batpy.base.dates import EXACT, nearest_tick
from batpy.kernel.ticks import NOISE, round_up
from batpy.models.execution import WALLTIME_REACHED, Execution, Run
from batpy.workloads.profile import Delay


class DelayModel:
    """Sleeps; done at the tick at or after the exact end.

    With a walltime a delay succeeds only if it is strictly shorter than what is left of it (Batsim 4.2.1);
    otherwise the job sleeps until its walltime and has reached it.
    """

    killed_code = -1

    def __init__(self, execution: Execution, ticks_per_second: int) -> None:
        self._leaf_over = execution.leaf_over
        self._agenda = execution.agenda
        self._at = execution.agenda.at
        self._scale = ticks_per_second

    def start(self, run: Run) -> None:
        """Begin a delay; see ``LeafModel``."""
        profile = run.tree.profile
        assert type(profile) is Delay
        self.sleep(run, profile.delay)

    def sleep(self, run: Run, seconds: float) -> None:
        """The running leaf ends after so many seconds, or at the walltime of its job."""
        now = self._agenda.now
        ticks = seconds * self._scale
        if run.carry:
            ticks += run.carry
        if ticks >= EXACT:
            ticks = nearest_tick(seconds, self._scale)  # floats would lose whole ticks
        length = int(ticks)
        if length != ticks or length < 0:
            # A carry may make the exact end of a very short part lie before the present tick.
            length = max(round_up(ticks), 0)
        end = now + length
        over = ticks - length
        deadline = run.deadline
        # Rounded up to the deadline itself, a delay is in time only if its exact end comes before it.
        if deadline is not None and (end > deadline or (end == deadline and over > -NOISE * max(1, length))):
            self._at(deadline, self._walltime, run)
            return
        if run.frames:
            run.state = over
        self._at(end, self._done, run)

    def stop(self, run: Run) -> None:
        """Nothing is held; the pending action finds ``run.over``."""

    def progress(self, run: Run) -> float | None:
        """Elapsed over wanted time of this delay; 1 if it has no length."""
        profile = run.tree.profile
        assert type(profile) is Delay
        length = profile.delay * self._scale
        if length <= 0:
            return 1.0
        # The exact start lies up to one tick before the recorded one.
        elapsed = self._agenda.now - run.since - run.carry
        return min(1.0, elapsed / length)

    def _done(self, run: Run) -> None:
        if not run.over:
            if run.frames:
                run.carry = run.state
            self._leaf_over(run, 0)

    def _walltime(self, run: Run) -> None:
        if not run.over:
            self._leaf_over(run, WALLTIME_REACHED)
