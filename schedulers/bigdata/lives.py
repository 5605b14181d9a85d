"""Jobs from their first attempt to their end: what every Big Data policy has to keep track of.

A job is in one of these states; arrows are what happens to it::

    waiting -> running -> over
                  |
                dying -> over, if it ended by itself before its kill
                  |
               stopped (its progress is not told yet) -> registering -> waiting

A policy decides what starts and what stops; ``JobLives`` does the rest: it takes in what the protocol says,
kills the jobs on hosts that the broker took back, registers what is left of killed jobs, and says when
registration is over.
"""

from __future__ import annotations

from collections.abc import Iterator

from batpy.base.errors import InputError
from batpy.protocol.messages import COMPLETED_KILLED, DecisionRefused, Event, JobKilled, Json, Notify
from batpy.schedulers.api import Job, Plan, View
from batpy.schedulers.bigdata.lost_hosts import LostHosts
from batpy.schedulers.bigdata.remains import remains
from batpy.schedulers.bigdata.resubmission import Attempt, Registrar


class JobLives:
    """Every job that is not over.

    Args:
        view: as it is at the beginning.
        name: what the policy is called in complaints.

    Attributes:
        registrar: knows profiles and names.
        widths: number of hosts of each running job that may go on.
        narrow: running ones that could use more hosts.

    Raises:
        InputError: jobs cannot be registered here.
    """

    def __init__(self, view: View, name: str) -> None:
        if not view.config.get("dynamic-jobs-enabled"):
            why = "dynamic_jobs = true, or --enable-dynamic-jobs"
            raise InputError(f"{name} registers again what is left of killed jobs; this needs {why}")
        self.registrar = Registrar(view.greeting)
        self.widths: dict[str, int] = {}
        self.narrow: dict[str, Job] = {}
        self._attempts: dict[str, Attempt] = {}
        # Kill asked for: does the running part keep its progress, and when was it asked for?
        self._dying: dict[str, tuple[bool, int]] = {}
        self._lost = LostHosts(view)
        self._stopped: list[Job] = []
        self._registering: set[str] = set()
        self._progress: dict[str, Json] = {}
        self._no_more = not view.greeting.workloads  # then no notice says so
        self._finished = False

    # ------------------------------------------------------------------ what happened

    def hear(self, event: Event) -> None:
        """Take in how far killed jobs came, and that no more jobs will be submitted.

        Raises:
            InputError: what is left of a job could not be registered.
        """
        match event:
            case JobKilled(job_ids=ids, job_progress=progress):
                self._progress.update((id_, progress[id_]) for id_ in ids if id_ in progress)
            case Notify(type="no_more_static_job_to_submit"):
                self._no_more = True
            case DecisionRefused(decision="REGISTER_JOB" | "REGISTER_PROFILE" as what):
                raise InputError(f"{what} was refused, so killed work would be lost: {event.reason}")

    def update(self, view: View, plan: Plan) -> list[tuple[Job, Attempt]]:
        """Take in what happened since the last call; the jobs that now wait, in order of arrival.

        Jobs that can never run are rejected, jobs on hosts that are gone are killed, and what is left of
        jobs that were killed is registered.
        """
        self._lost.look(view)
        for job in view.ended:
            self._leave(job)
        waiting: list[tuple[Job, Attempt]] = []
        for job in view.arrived:
            attempt = self._arrive(view, plan, job)
            if attempt is not None:
                waiting.append((job, attempt))
        for job in view.evicted:
            self.stop(view, plan, job, keep=False)
        if self._stopped:
            self._resubmit(view, plan)
        return waiting

    def _leave(self, job: Job) -> None:
        self.widths.pop(job.id, None)
        self.narrow.pop(job.id, None)
        if job.state == COMPLETED_KILLED:
            self._stopped.append(job)
        elif job.state:
            del self._attempts[job.id]
            self._dying.pop(job.id, None)  # it ended by itself before its kill
        # Otherwise its start was refused, and it arrives again later.

    def _arrive(self, view: View, plan: Plan, job: Job) -> Attempt | None:
        attempt = self._attempts.get(job.id)
        if attempt is not None:
            self._registering.discard(job.id)
            return attempt
        attempt = self.registrar.first_attempt(job)
        if job.res > view.nb_hosts and not attempt.tree.scales:
            there = f"the platform has {view.nb_hosts}, and it cannot run on fewer"
            plan.reject(job, f"asks for {job.res} hosts, {there}")
            return None
        self._attempts[job.id] = attempt
        if self._finished:
            self._finished = False
            plan.say(Notify(view.now, "continue_registration"))
        return attempt

    def _resubmit(self, view: View, plan: Plan) -> None:
        """Register what is left of the killed jobs whose progress was told."""
        untold: list[Job] = []
        for job in self._stopped:
            job_id = job.id
            progress = self._progress.pop(job_id, None)
            if progress is None and job_id in self._dying:
                untold.append(job)
                continue
            attempt = self._attempts.pop(job_id)
            keep, _ = self._dying.pop(job_id, (False, 0))
            if progress is None:
                continue  # somebody else killed it, and keeps to himself how far it came
            left = remains(attempt.tree, progress, keep=keep, losses=self._lost.of(view, job))
            attempt = self.registrar.next_attempt(view, plan, attempt, left)
            self._attempts[attempt.job_id] = attempt
            self._registering.add(attempt.job_id)
        self._stopped = untold

    # ------------------------------------------------------------------ what a policy does

    def attempt(self, job: Job) -> Attempt:
        """The attempt that a job is."""
        return self._attempts[job.id]

    def forget(self, job: Job) -> None:
        """The policy rejected a job that waits."""
        del self._attempts[job.id]

    def started(self, job: Job, width: int) -> None:
        """The policy started a job on that many hosts."""
        self.widths[job.id] = width
        if width < job.res:
            self.narrow[job.id] = job

    def stop(self, view: View, plan: Plan, job: Job, *, keep: bool) -> None:
        """Kill a running job, once; what is left of it waits soon after.

        Args:
            keep: what it did of its running part counts (a voluntary re-balance); otherwise it restarts.
        """
        if job.id not in self._dying:
            self._dying[job.id] = keep, view.now
            self.widths.pop(job.id, None)
            self.narrow.pop(job.id, None)
            plan.kill(job)

    def coming_back(self) -> Iterator[tuple[Attempt, int | None]]:
        """The jobs on their way back, each with the date since which it has been dying if its hosts were
        taken and it still runs there, else None.
        """
        stopped = {job.id for job in self._stopped}
        for job_id, (keep, since) in self._dying.items():
            yield self._attempts[job_id], None if keep or job_id in stopped else since
        for job_id in self._registering:
            yield self._attempts[job_id], None

    def end_registration(self, view: View, plan: Plan) -> None:
        """Say that no job will be registered any more, once, when none is left and none will come."""
        if self._no_more and not self._attempts and not self._finished:
            self._finished = True
            plan.say(Notify(view.now, "registration_finished"))
