"""Leaves that talk with the scheduler: ``send`` and ``recv`` (Batsim 4.2.1).

A job that waits is not woken at each of its polls: the text that arrives wakes it, at the next one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from batpy.kernel.ticks import NOISE, round_up
from batpy.models.delay import DelayModel
from batpy.models.execution import WALLTIME_REACHED, Execution, Run
from batpy.workloads.profile import Recv, Send


class SendModel(DelayModel):
    """Sends a message to the scheduler, then sleeps.

    Args:
        tell: called with the run and the message of its profile.
    """

    def __init__(
        self,
        execution: Execution,
        ticks_per_second: int,
        tell: Callable[[Run, Mapping[str, Any]], None],
    ) -> None:
        super().__init__(execution, ticks_per_second)
        self._tell = tell

    def start(self, run: Run) -> None:
        """Send, then begin to sleep."""
        profile = run.tree.profile
        assert isinstance(profile, Send)
        self._tell(run, profile.msg)
        self.sleep(run, profile.sleeptime)

    def progress(self, run: Run) -> float | None:  # noqa: ARG002
        """Not reported."""
        return None


class _Wait:
    """One ``recv`` under way."""

    __slots__ = ("began", "carry", "polls", "waits")

    def __init__(self, began: int, carry: float) -> None:
        self.began = began
        self.carry = carry  # of the beginning
        self.polls = 0  # the poll that is planned, counted from the beginning
        self.waits = False  # nothing had come, and there is no profile for that


class RecvModel:
    """Takes the oldest text of the job's inbox and goes on with the profile that the text calls for.

    An empty inbox calls for the ``timeout`` profile at once; without one the job polls until a text is there
    or its walltime is reached.
    """

    killed_code = -1

    def __init__(self, execution: Execution, ticks_per_second: int) -> None:
        self._execution = execution
        self._agenda = execution.agenda
        self._scale = ticks_per_second
        execution.on_text = self.text_came

    def start(self, run: Run) -> None:
        """Look into the inbox for the first time."""
        run.state = wait = _Wait(self._agenda.now, run.carry)
        self._agenda.at(self._agenda.now, self._look, (run, wait))

    def stop(self, run: Run) -> None:
        """Nothing is held; pending actions find ``run.over``."""

    def progress(self, run: Run) -> float | None:  # noqa: ARG002
        """Not reported."""
        return None

    def text_came(self, run: Run) -> None:
        """A text was added to the inbox of a running job: plan its next poll if it waits."""
        wait = run.state
        if not isinstance(run.tree.profile, Recv) or not isinstance(wait, _Wait):
            return
        if not wait.waits or wait.polls:
            return
        poll = self._poll_ticks(run)
        passed = self._agenda.now - wait.began - wait.carry
        wait.polls = max(1, math.ceil(passed / poll - NOISE))
        due = wait.began + max(0, round_up(wait.polls * poll + wait.carry))
        self._agenda.at(max(due, self._agenda.now), self._look, (run, wait))

    def _poll_ticks(self, run: Run) -> float:
        profile = run.tree.profile
        assert isinstance(profile, Recv)
        return profile.polltime * self._scale

    def _look(self, subject: tuple[Run, _Wait]) -> None:
        run, wait = subject
        if run.over or run.state is not wait:
            return
        profile = run.tree.profile
        assert isinstance(profile, Recv)
        if wait.polls:
            exact = wait.carry + wait.polls * self._poll_ticks(run)
            run.carry = min(0.0, exact - (self._agenda.now - wait.began))
        if run.inbox:
            text = run.inbox.pop(0)
            run.texts_read += 1
            matches = re.fullmatch(profile.regex, text) is not None
            self._answer(run, profile.success if matches else profile.failure)
        elif profile.timeout:
            self._answer(run, profile.timeout)
        else:
            wait.waits = True
            if run.deadline is not None:
                self._agenda.at(run.deadline, self._walltime, subject)

    def _answer(self, run: Run, name: str) -> None:
        run.state = None
        if name:
            self._execution.go_on(run, run.tree.answers[name])
        else:
            self._execution.leaf_over(run, 0)

    def _walltime(self, subject: tuple[Run, _Wait]) -> None:
        run, wait = subject
        if not run.over and run.state is wait:
            self._execution.leaf_over(run, WALLTIME_REACHED)
