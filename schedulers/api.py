"""What a scheduling policy sees and says.

A policy is a small class with one method, ``decide(view) -> Plan``: it looks at a read-only view and returns
what to do. It knows no socket, no simulator and no clock but ``view.now``. A whole one, in a user's file
``my_policy.py``, started with ``batpy scheduler './my_policy.py:NarrowFirst[limit=8]'``::

    from dataclasses import dataclass

    from batpy.schedulers.api import Plan, View


    @dataclass(frozen=True)
    class NarrowFirst:
        '''Narrow jobs first; those wider than the limit start on an empty platform only.'''

        limit: int = 4

        def decide(self, view: View) -> Plan:
            plan = Plan(view)
            for job in sorted(view.queue, key=lambda job: (job.res, job.serial)):
                if job.res <= self.limit or plan.free_count == view.nb_hosts:
                    plan.start(job)
            return plan

A policy may keep what it learns between two calls; ``view.arrived`` and ``view.ended`` say what is new.
Options are the fields of the dataclass (or of a dataclass in the attribute ``Options``, then given to the
constructor). It may also have:

- ``begin(view)``, called once before the first job; it may return a plan.
- ``hear(event)``, called with the protocol's other events: answers, messages of jobs, notices.
- ``registers = True``: it registers jobs (``Plan.register_job``), and says itself when it is done with that.
- ``elastic = True``: its jobs may run on fewer hosts than they ask for (``Plan.start_on``). Then it is shown
  jobs that ask for more hosts than there are, and refuses itself those that can never run.
- ``wants``: what its HELLO asks for, instead of machine events and refusals. With ``"sharing"``, a broker may
  take hosts back and give them again: ``view.free`` follows at once, the core acknowledges, and the policy
  kills each job of ``view.evicted`` once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import index
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import msgspec

from batpy.base.errors import InputError
from batpy.protocol import hostset
from batpy.protocol.forms import FormError, check_event
from batpy.protocol.hostset import HostSet
from batpy.protocol.messages import (
    Event,
    ExecuteJob,
    IoJob,
    Json,
    RegisterJob,
    RegisterProfile,
    SetResourceState,
    SimulationBegins,
)
from batpy.schedulers.hosts import Chooser, first_fit, from_mask, to_mask
from batpy.schedulers.timeline import FOREVER, HostTimeline

if TYPE_CHECKING:
    from procset import ProcSet

    from batpy.schedulers.power import HostPower

__all__ = ["FOREVER", "HostTimeline", "Job", "Plan", "Policy", "View"]

AnyEvent = TypeVar("AnyEvent", bound=Event)


class Job(msgspec.Struct, eq=False, gc=False):
    """A job a scheduler knows. To be read only; times are ticks.

    Attributes:
        id: full id, ``workload!name``.
        res: requested number of hosts.
        length: its walltime, or ``FOREVER`` if it has none.
        serial: rank of arrival, unique.
        submitted: date of its JOB_SUBMITTED.
        raw: the user's job object, durations in seconds.
        profile: the profile object if it was forwarded, else None.
        start: date of its start, or -1 while it waits.
        hosts: where it runs.
        end: when it ends at the latest: start + walltime. Without one, a date past ``FOREVER`` that is later
            than that of every such job which started before.
        place: for the policy's own use.
        state: how it ended, in the words of JOB_COMPLETED; REJECTED if the core refused it after several
            refused starts; empty while it is not over.
    """

    id: str
    res: int
    length: int
    serial: int
    submitted: int
    raw: Json
    profile: Json | None = None
    start: int = -1
    hosts: HostSet = ()
    end: int = FOREVER
    place: int = -1
    state: str = ""

    @property
    def walltime(self) -> int | None:
        """Ticks from its start after which it is stopped, or None for unbounded."""
        return self.length if self.length < FOREVER else None


class View:
    """The present state, as the protocol told it. To be read only.

    Attributes:
        now: the clock, in ticks.
        free: hosts on which a job can be started now; none that is away, sleeps or is being switched.
        free_count: how many they are.
        hosts: every compute host there is, those that are away included.
        nb_hosts: how many they are.
        down: hosts that are away for now: unavailable, or taken back by the broker.
        evicted: running jobs on hosts that the broker took back and that are not acknowledged yet.
        arrived: jobs that entered the queue since the last call, in order of arrival.
        ended: jobs that left their hosts since the last call. A start that was refused counts as one: the job
            comes back later through ``arrived``.
        disturbed: True if hosts went, came back or reached a power state, or a start was refused, since the
            last call.
        started: how many jobs were started so far.
        ticks_per_second: resolution of the run.
        config: Batsim's ``config`` object of SIMULATION_BEGINS.
        greeting: the whole SIMULATION_BEGINS: hosts with their properties, workloads, profiles.
    """

    __slots__ = (
        "_power",
        "_queue",
        "_read_power",
        "_running",
        "arrived",
        "config",
        "disturbed",
        "down",
        "ended",
        "evicted",
        "free",
        "free_count",
        "greeting",
        "hosts",
        "nb_hosts",
        "now",
        "started",
        "ticks_per_second",
    )

    def __init__(self, queue: dict[str, Job], running: dict[str, Job], ticks_per_second: int) -> None:
        self._queue = queue
        self._running = running
        self._power: HostPower | None = None
        self._read_power: Callable[[], HostPower | None] | None = None
        self.ticks_per_second = ticks_per_second
        self.now = 0
        self.free: HostSet = ()
        self.free_count = 0
        self.hosts: HostSet = ()
        self.nb_hosts = 0
        self.down: HostSet = ()
        self.arrived: list[Job] = []
        self.ended: list[Job] = []
        self.evicted: list[Job] = []
        self.greeting: SimulationBegins
        self.disturbed = False
        self.started = 0
        self.config: Json = {}

    @property
    def power(self) -> HostPower | None:
        """Power figures and states of the hosts; None if any of them has no figures."""
        if self._read_power is not None:
            self._power = self._read_power()
            self._read_power = None
        return self._power

    @property
    def queue(self) -> tuple[Job, ...]:
        """Waiting jobs in order of arrival."""
        return tuple(self._queue.values())

    @property
    def running(self) -> tuple[Job, ...]:
        """Running jobs in order of start."""
        return tuple(self._running.values())

    def availability(self) -> HostTimeline:
        """Which hosts will be free when, if every running job uses its whole walltime.

        A job that is over its walltime counts as ending in the next tick; hosts that are away
        do not come back. Hosts that sleep are free once they can have been switched on.
        """
        up, soon = ~to_mask(self.down), self.now + 1
        releases = [(max(job.end, soon), to_mask(job.hosts) & up) for job in self._running.values()]
        if self._power is not None:
            releases += [(date, mask & up) for date, mask in self._power.ready(self.now)]
        return HostTimeline(self.now, self.free, releases)


class Plan:
    """What to do now.

    Filled by its methods; the attributes are for reading.

    Attributes:
        starts: jobs to start, with their hosts.
        rejects: jobs to refuse for good, each with the reason (it goes to the job's metadata).
        kills: running jobs to stop.
        wake_at: date at which to be asked again even if nothing happens, or None.
        also: further decisions, see ``say``.
        registrations: jobs and profiles to register, said before anything else.
        io_jobs: additional I/O job of a started job, by job id.
        free: what is left of the free hosts.
        free_count: how many they are.
    """

    # Most plans are empty or start one job: the rest costs nothing until it is used.
    more = False  # anything but starts
    rejects: Sequence[tuple[Job, str]] = ()
    kills: Sequence[Job] = ()
    also: Sequence[Event] = ()
    registrations: Sequence[RegisterJob | RegisterProfile] = ()
    io_jobs: Mapping[str, IoJob] = {}
    elastic = False  # jobs may hold another number of hosts than they asked for
    wake_at: int | None = None

    def __init__(self, view: View) -> None:
        self._view = view
        self.free = view.free
        self.free_count = view.free_count
        self.starts: list[tuple[Job, HostSet]] = []

    def start(self, job: Job, hosts: HostSet | ProcSet | None = None, choose: Chooser = first_fit) -> bool:
        """Start a waiting job now.

        Args:
            hosts: where, as intervals such as ``((0, 3), (5, 5))`` or as a ``procset.ProcSet``; if None,
                *choose* picks among what is left of the free hosts.

        Returns:
            False if *hosts* is None and there is no room; then nothing changes.

        Raises:
            InputError: the hosts are not free, or not as many as the job asked for.
        """
        if type(job) is not Job:  # spares the call on the hot path
            _check_job(job)
        if hosts is None:
            picked = choose(self.free, job.res)
            if picked is None:
                return False
            hosts, self.free = picked
        else:
            hosts = _as_hosts(job, hosts)
            if hostset.size(hosts) != job.res:
                raise InputError(f"{job.id} asked for {job.res} hosts, not {hostset.to_text(hosts)!r}")
            self.free = _without(self.free, job, hosts)
        self.free_count -= job.res
        self.starts.append((job, hosts))
        return True

    def start_on(self, job: Job, hosts: HostSet | ProcSet, io_job: IoJob | None = None) -> None:
        """Start a waiting job on as many hosts as given, whatever it asked for; for ``elastic`` policies.

        The simulator takes another number than the request only for jobs made of
        ``parallel_homogeneous_total`` profiles (Batsim 4.2.1).

        Args:
            io_job: moves data along with the job (``additional_io_job`` of EXECUTE_JOB).

        Raises:
            InputError: no hosts, or some that are not free.
        """
        _check_job(job)
        hosts = _as_hosts(job, hosts)
        if not hosts:
            raise InputError(f"{job.id} cannot start on no host at all")
        self.free = _without(self.free, job, hosts)
        self.free_count -= hostset.size(hosts)
        self.starts.append((job, hosts))
        self.more = self.elastic = True
        if io_job is not None:
            _checked(ExecuteJob(0, job.id, hosts, additional_io_job=io_job))
            self.io_jobs = {**self.io_jobs, job.id: io_job}

    def register_profile(self, workload: str, name: str, profile: Json) -> None:
        """Add a profile to a workload. Profiles that it names may be registered later in the same plan."""
        said = _checked(RegisterProfile(0, workload, name, profile))
        self.registrations = [*self.registrations, said]
        self.more = True

    def register_job(self, job_id: str, job: Json) -> None:
        """Add a job; it comes back through ``view.arrived``, in this very instant.

        Args:
            job: a job object: ``id``, ``subtime`` (s), ``res``, ``profile``, ``walltime`` (s), and more.
        """
        self.registrations = [*self.registrations, _checked(RegisterJob(0, job_id, job))]
        self.more = True

    def reject(self, job: Job, reason: str) -> None:
        """Refuse a waiting job for good."""
        _check_job(job)
        self.rejects = [*self.rejects, (job, reason)]
        self.more = True

    def kill(self, job: Job) -> None:
        """Stop a running job."""
        _check_job(job)
        self.kills = [*self.kills, job]
        self.more = True

    def switch(self, hosts: HostSet, pstate: int) -> None:
        """Bring hosts to a power state: into sleep, out of it, or to another speed.

        Hosts sent to sleep are not free from now on; those sent to compute become free when they are there
        (``view.disturbed`` tells). Both take time, see ``view.power``.

        Raises:
            InputError: the hosts are no canonical set, or some are to sleep and are not free.
        """
        hosts, pstate = _intervals(hosts), index(pstate)
        if not hosts or not hostset.is_canonical(hosts):
            raise InputError(f"hosts must be ascending intervals such as ((0, 3), (5, 5)); got {hosts!r}")
        power = self._view.power
        sleepers = 0 if power is None else power.sleeping_in(pstate)
        if sleepers:
            going = hostset.intersection(hosts, from_mask(sleepers))
            if lost := hostset.difference(going, self.free):
                raise InputError(f"hosts {hostset.to_text(lost)} cannot be switched off: not free")
            self.free = hostset.difference(self.free, going)
            self.free_count = hostset.size(self.free)
        self.say(SetResourceState(self._view.now, hosts, pstate))

    def say(self, decision: Event) -> None:
        """Pass a decision on as it is: a metadata, a registration, ...

        Raises:
            TypeError: it is no decision, or its fields are not what the protocol has there.
        """
        if not isinstance(decision, Event):
            raise TypeError(f"want a decision of batpy.protocol.messages, got {decision!r}")
        self.also = [*self.also, _checked(decision)]
        self.more = True

    def wake(self, date: int) -> None:
        """Be asked again at *date*, in ticks, at the latest."""
        try:
            date = index(date)
        except TypeError:
            raise TypeError(f"want a date in ticks, a whole number, got {date!r}") from None
        if self.wake_at is None or date < self.wake_at:
            self.wake_at = date
        self.more = True


def _as_hosts(job: Job, hosts: HostSet | ProcSet) -> HostSet:
    if type(hosts) is not tuple:
        hosts = hostset.from_procset(cast("ProcSet", hosts))
    hosts = _intervals(hosts)
    if not hostset.is_canonical(hosts):
        problem = "hosts must be ascending intervals that do not touch, such as ((0, 3), (5, 5))"
        raise InputError(f"{job.id}: {problem}; got {hosts!r}")
    return hosts


def _intervals(hosts: HostSet) -> HostSet:
    """With plain numbers, whatever kind of whole number they were computed with (numpy's, for instance)."""
    try:
        return tuple([(index(first), index(last)) for first, last in hosts])
    except (TypeError, ValueError):
        raise TypeError(f"want intervals of hosts such as ((0, 3), (5, 5)), got {hosts!r}") from None


def _checked(decision: AnyEvent) -> AnyEvent:
    """*decision*; a wrong field is found here, whichever way it would travel."""
    try:
        check_event(decision)
    except FormError as why:
        place = ".".join(filter(None, (type(decision).__name__, why.path)))
        raise TypeError(f"{place}: {why.problem}") from None
    return decision


def _without(free: HostSet, job: Job, hosts: HostSet) -> HostSet:
    if lost := hostset.difference(hosts, free):
        raise InputError(f"{job.id} cannot start on {hostset.to_text(lost)}: not free")
    return hostset.difference(free, hosts)


def _check_job(job: object) -> None:
    """Found here, a mistake is told with the line of the policy that made it."""
    if not isinstance(job, Job):
        raise TypeError(f"want a job of the view, got {job!r}")


class Policy(Protocol):
    """What the core calls."""

    def decide(self, view: View, /) -> Plan | None:
        """Say what to do now; None is an empty plan."""
        ...


def is_policy(value: Any) -> bool:
    """True for a class (or maker) of policies."""
    return isinstance(value, type) and callable(getattr(value, "decide", None))
