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
from batpy.protocol.messages import SetResourceState, SimulationBegins
from batpy.schedulers.api import FOREVER, Job, View
from batpy.schedulers.hosts import from_mask, give_back
from batpy.schedulers.power import HostPower, read_power

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
        view.greeting = begins
        view.hosts = _compute_hosts(begins)
        view.nb_hosts = hostset.size(view.hosts)
        away = [host["id"] for host in begins.compute_resources if host.get("state") == "unavailable"]
        view.down = hostset.from_ids(away)
        view.free = hostset.difference(view.hosts, view.down)
        view.free_count = hostset.size(view.free)
        self._serial = 0
        self.elastic = False  # jobs may hold another number of hosts than they asked for
        self._unavailable = view.down
        self._revoked: HostSet = ()
        # Few policies look at power, so few runs read what may be thousands of hosts' figures.
        view._read_power = self._read_power

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
            raise RemoteProtocolError(f"JOB_SUBMITTED of {job_id}: {_why_unreadable(raw, why)}") from None
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
        job.state = event.job_state
        view = self.view
        if view.down or self.elastic:
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
        self._unavailable = hostset.union(self._unavailable, hostset.intersection(hosts, self.view.hosts))
        self._take_down()

    def hosts_returned(self, hosts: HostSet) -> None:
        """Hosts can be used again; those a job still runs on become free when it ends."""
        self._unavailable = hostset.difference(self._unavailable, hosts)
        self._bring_up()

    def hosts_revoked(self, hosts: HostSet) -> list[Job]:
        """The broker wants hosts back: they cannot be used for new jobs. Returns the running jobs on them.

        Raises:
            RemoteProtocolError: some of them are not among the hosts that were shown.
        """
        self._check_shown("REMOVE_RESOURCES", hosts)
        self._revoked = hostset.union(self._revoked, hosts)
        self._take_down()
        return [job for job in self.running.values() if hostset.intersection(job.hosts, hosts)]

    def hosts_granted(self, hosts: HostSet) -> None:
        """The broker gives hosts (again); those that are unavailable stay so.

        Raises:
            RemoteProtocolError: some of them are not among the hosts that were shown.
        """
        self._check_shown("ADD_RESOURCES", hosts)
        self._revoked = hostset.difference(self._revoked, hosts)
        self._bring_up()

    def _check_shown(self, word: str, hosts: HostSet) -> None:
        if strange := hostset.difference(hosts, self.view.hosts):
            shown = hostset.to_text(self.view.hosts)
            raise RemoteProtocolError(
                f"{word} of hosts {hostset.to_text(strange)}: SIMULATION_BEGINS showed {shown}"
            )

    def _take_down(self) -> None:
        view = self.view
        view.down = hostset.union(self._unavailable, self._revoked)
        view.free = hostset.difference(view.free, view.down)
        view.free_count = hostset.size(view.free)

    def _bring_up(self) -> None:
        view = self.view
        down = hostset.union(self._unavailable, self._revoked)
        back = hostset.difference(view.down, down)
        view.down = down
        for job in self.running.values():
            back = hostset.difference(back, job.hosts)
        if view._power is not None:
            back = hostset.difference(back, from_mask(view._power.away_mask))
        view.free = hostset.union(view.free, back)
        view.free_count = hostset.size(view.free)

    # ------------------------------------------------------------------ power

    def _read_power(self) -> HostPower | None:
        power = read_power(self.view.greeting.compute_resources, self.ticks_per_second)
        if power is not None:
            self._cannot_compute(power.asleep_mask)
        return power

    def switched(self, decision: SetResourceState) -> None:
        """A SET_RESOURCE_STATE is being said: hosts on their way into sleep run no job from now on."""
        power = self.view.power
        if power is not None:
            hosts = hostset.intersection(decision.resources, self.view.hosts)
            self._cannot_compute(power.ask(self.view.now, hosts, decision.state))

    def state_reached(self, hosts: HostSet) -> None:
        """Hosts are in the pstate that was asked for; those that compute again are free."""
        view = self.view
        if view._power is None:
            return
        back = hostset.difference(from_mask(view._power.reached(view.now, hosts)), view.down)
        if back:
            view.free = hostset.union(view.free, back)
            view.free_count = hostset.size(view.free)
        view.disturbed = True

    def _cannot_compute(self, mask: int) -> None:
        view = self.view
        view.free = hostset.difference(view.free, from_mask(mask))
        view.free_count = hostset.size(view.free)

    def check(self) -> None:
        """Recompute what is redundant and compare; for tests."""
        view = self.view
        assert view.down == hostset.union(self._unavailable, self._revoked)
        held = sum(hostset.size(job.hosts) for job in self.running.values())
        busy: HostSet = ()
        for job in self.running.values():
            busy = hostset.union(busy, job.hosts)
        assert hostset.size(busy) == held, "two running jobs share a host"
        free = hostset.difference(hostset.difference(view.hosts, view.down), busy)
        if view._power is not None:
            free = hostset.difference(free, from_mask(view._power.away_mask))
        assert view.free == free, f"free are {hostset.to_text(free)}, not {hostset.to_text(view.free)}"
        assert view.free_count == hostset.size(free)
        assert not self.queue.keys() & self.running.keys()


def _why_unreadable(raw: Any, why: Exception) -> str:
    if isinstance(raw, dict) and "res" not in raw:
        return "its job has no res, the number of hosts it asks for"
    return f"res and walltime must be numbers ({why})"


def _compute_hosts(begins: SimulationBegins) -> HostSet:
    """Ids of the compute hosts; Batsim numbers them from 0, a broker may show a part of them."""
    try:
        named = hostset.from_ids(host["id"] for host in begins.compute_resources)
    except (KeyError, TypeError):
        raise RemoteProtocolError("SIMULATION_BEGINS: compute_resources[].id must be whole numbers") from None
    if named:
        return named
    return ((0, begins.nb_compute_resources - 1),) if begins.nb_compute_resources > 0 else ()
