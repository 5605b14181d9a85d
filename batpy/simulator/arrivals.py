"""What arrives from outside: jobs and external events. Each source waits for one date at a time.

The next wait of a source begins when its previous one is over, and equal dates of one source arrive
together: this gives simultaneous events the order that Batsim 4.2.1 gives them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import msgspec

from batpy.kernel.agenda import Agenda
from batpy.workloads.external_events import ExternalEvent
from batpy.workloads.job import Job, Workload


class JobSource:
    """Submits the jobs of one workload at their dates, or after the job they depend on.

    Args:
        workload: its jobs are read as they are needed.
        submit: called with each job at its date.
        exhausted: called once, after the last job was submitted.

    Attributes:
        has_followers: some jobs wait for others; ``job_over`` must then be called.
    """

    def __init__(
        self,
        workload: Workload,
        agenda: Agenda,
        submit: Callable[[Job], None],
        exhausted: Callable[[], None],
        ticks_per_second: int,
    ) -> None:
        self._agenda = agenda
        self._submit = submit
        self._exhausted = exhausted
        self._scale = ticks_per_second
        preceding = workload.preceding
        # Jobs that wait for the end of another one, by that one's name; think time in ticks.
        self._followers: dict[str, list[tuple[Job, int]]] = {}
        self._jobs: Iterator[Job] = iter(workload.jobs())
        self._preceding = preceding
        self.has_followers = bool(preceding)
        self._waiting = 0
        if preceding:
            for job in workload.jobs():
                if job.id in preceding:
                    first, think = preceding[job.id]
                    self._followers.setdefault(first, []).append((job, think))
                    self._waiting += 1
        self._next: Job | None = None
        self._read_dry = False
        # Without followers the reader is asked directly.
        self._next_job: Callable[[], Job | None] = (
            self._read if preceding else partial(next, self._jobs, None)
        )

    def begin(self) -> None:
        """Begin the first wait."""
        self._next = self._next_job()
        self._wait()

    def job_over(self, name: str) -> None:
        """A job of this workload is over: those that follow it are submitted after their think time."""
        for job, think in self._followers.pop(name, ()):
            self._agenda.at(self._agenda.now + think, self._follow, job)

    def _read(self) -> Job | None:
        for job in self._jobs:
            if job.id not in self._preceding:
                return job
        return None

    def _wait(self) -> None:
        job = self._next
        if job is None:
            self._read_dry = True
            self._tell_if_dry()
            return
        date, batch, read = job.submit, [job], self._next_job
        while (following := read()) is not None and following.submit == date:
            batch.append(following)
        self._next = following
        self._agenda.at(date, self._arrive, batch)

    def _arrive(self, batch: list[Job]) -> None:
        for job in batch:
            self._submit(job)
        self._wait()

    def _follow(self, job: Job) -> None:
        now = self._agenda.now
        self._waiting -= 1
        self._submit(msgspec.structs.replace(job, submit=now, raw={**job.raw, "subtime": now / self._scale}))
        self._tell_if_dry()

    def _tell_if_dry(self) -> None:
        if self._read_dry and not self._waiting:
            self._exhausted()


class EventSource:
    """Plays one file of external events."""

    def __init__(
        self,
        events: list[ExternalEvent],
        agenda: Agenda,
        happen: Callable[[ExternalEvent], None],
        exhausted: Callable[[], None],
    ) -> None:
        self._events = events
        self._agenda = agenda
        self._happen = happen
        self._exhausted = exhausted
        self._at = 0

    def begin(self) -> None:
        """Begin the first wait."""
        if self._at == len(self._events):
            self._exhausted()
        else:
            self._agenda.at(self._events[self._at].time, self._arrive, None)

    def _arrive(self, _: None) -> None:
        date = self._events[self._at].time
        while self._at < len(self._events) and self._events[self._at].time == date:
            self._happen(self._events[self._at])
            self._at += 1
        self.begin()
