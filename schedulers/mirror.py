"""The one place where what the simulator says is folded into a state.

The mirror believes the protocol and nothing else. A start changes it at once (nothing acknowledges an
EXECUTE_JOB); a refusal takes that back.
"""

from __future__ import annotations

from typing import Any

from batpy.base.dates import nearest_tick
from batpy.base.errors import RemoteProtocolError
from batpy.protocol import hostset
from batpy.protocol.hostset import HostSet
from batpy.protocol.messages import SimulationBegins
from batpy.schedulers.api import FOREVER, Job, View
from batpy.schedulers.hosts import give_back

BATSIM_TICKS_PER_SECOND = 1_000_000  # the real Batsim's messages resolve 1 us


class Mirror:
    """Queue, running jobs and hosts, kept in the view that policies see."""

    def __init__(self, begins: SimulationBegins) -> None:
        offer = begins.batpy
        self.queue: dict[str, Job] = {}
        self.running: dict[str, Job] = {}
        self.ticks_per_second = offer.ticks_per_second if offer is not None else BATSIM_TICKS_PER_SECOND
        self.view = view = View(self.queue, self.running, self.ticks_per_second)
        view.config = begins.config
        view.hosts = _compute_hosts(begins)
        view.nb_hosts = hostset.size(view.hosts)
        away = [host["id"] for host in begins.compute_resources if host.get("state") == "unavailable"]
        view.down = hostset.from_ids(away)
        view.free = hostset.difference(view.hosts, view.down)
        view.free_count = hostset.size(view.free)
        self._serial = 0

    # ------------------------------------------------------------------ jobs

    def submitted(self, event: Any) -> Job:
        """Read the job of a JOB_SUBMITTED; it is not in the queue yet."""
        job_id, raw = event.job_id, event.job
        length = FOREVER
        try:
            res = raw["res"]
            walltime = raw.get("walltime")
            if walltime is not None and walltime > 0:  # Batsim: -1 means none
                length = nearest_tick(walltime, self.ticks_per_second)
                if length > FOREVER:  # noqa: PLR1730 (a call costs more)
                    length = FOREVER
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as why:
            raise RemoteProtocolError(
                f"JOB_SUBMITTED of {job_id}: res and walltime must be numbers ({why!r})"
            ) from None
        if type(res) is not int:
            raise RemoteProtocolError(f"JOB_SUBMITTED of {job_id}: res must be a whole number, not {res!r}")
        if job_id in self.queue or job_id in self.running:
            raise RemoteProtocolError(f"JOB_SUBMITTED of {job_id}: this job was submitted before")
        self._serial = serial = self._serial + 1
        return Job(job_id, res, length, serial, event.timestamp, raw, event.profile)

    def completed(self, event: Any) -> Job:
        """The running job of a JOB_COMPLETED left its hosts.

        Raises:
            RemoteProtocolError: it was never started by this scheduler, or ended before.
        """
        job = self.running.pop(event.job_id, None)
        if job is None:
            known = (
                "it waits in the queue" if event.job_id in self.queue else "it is not known, or already over"
            )
            raise RemoteProtocolError(
                f"JOB_COMPLETED of {event.job_id}: this scheduler has no such job running; {known}"
            )
        view = self.view
        if view.down:
            self._release(job)
        else:
            view.free = give_back(view.free, job.hosts)
            view.free_count += job.res
        return job

    def take_back(self, job_id: str) -> Job | None:
        """Undo the start of a job that was refused; it is neither queued nor running then."""
        job = self.running.pop(job_id, None)
        if job is not None:
            self._release(job)
            job.start, job.hosts = -1, ()
        return job

    def enqueue_again(self, job: Job) -> None:
        """Put a job back to the place in the queue its arrival gave it."""
        waiting = sorted([*self.queue.values(), job], key=lambda job: job.serial)
        self.queue.clear()
        self.queue.update((job.id, job) for job in waiting)

    def _release(self, job: Job) -> None:
        view = self.view
        hosts = hostset.difference(job.hosts, view.down)
        view.free = give_back(view.free, hosts)
        view.free_count += hostset.size(hosts)

    # ------------------------------------------------------------------ hosts

    def hosts_left(self, hosts: HostSet) -> None:
        """Hosts cannot be used for new jobs; jobs on them go on (Batsim)."""
        view = self.view
        view.down = hostset.union(view.down, hostset.intersection(hosts, view.hosts))
        view.free = hostset.difference(view.free, view.down)
        view.free_count = hostset.size(view.free)

    def hosts_returned(self, hosts: HostSet) -> None:
        """Hosts can be used again; those a job still runs on become free when it ends."""
        view = self.view
        back = hostset.intersection(hosts, view.down)
        view.down = hostset.difference(view.down, back)
        for job in self.running.values():
            back = hostset.difference(back, job.hosts)
        view.free = hostset.union(view.free, back)
        view.free_count = hostset.size(view.free)


def _compute_hosts(begins: SimulationBegins) -> HostSet:
    """Ids of the compute hosts; Batsim numbers them from 0, a broker may show a part of them."""
    try:
        named = hostset.from_ids(host["id"] for host in begins.compute_resources)
    except (KeyError, TypeError):
        raise RemoteProtocolError("SIMULATION_BEGINS: compute_resources[].id must be whole numbers") from None
    if named:
        return named
    return ((0, begins.nb_compute_resources - 1),) if begins.nb_compute_resources > 0 else ()
