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
- ``registers = True``: it registers jobs (through ``Plan.say``), and says itself when it is done with that.
- ``wants``: what its HELLO asks for, instead of machine events and refusals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

import msgspec

from batpy.base.errors import InputError
from batpy.protocol import hostset
from batpy.protocol.hostset import HostSet
from batpy.protocol.messages import Event, Json
from batpy.schedulers.hosts import Chooser, first_fit, to_mask
from batpy.schedulers.timeline import FOREVER, HostTimeline

if TYPE_CHECKING:
    from procset import ProcSet

__all__ = ["FOREVER", "Job", "Plan", "Policy", "View"]


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

    @property
    def walltime(self) -> int | None:
        """Ticks from its start after which it is stopped, or None for unbounded."""
        return self.length if self.length < FOREVER else None


class View:
    """The present state, as the protocol told it. To be read only.

    Attributes:
        now: the clock, in ticks.
        free: hosts on which a job can be started now.
        free_count: how many they are.
        hosts: every compute host there is, those that are away included.
        nb_hosts: how many they are.
        down: hosts that are away for now.
        arrived: jobs that entered the queue since the last call, in order of arrival.
        ended: jobs that left their hosts since the last call. A start that was refused counts as one: the job
            comes back later through ``arrived``.
        disturbed: True if hosts went or came back, or a start was refused, since the last call.
        started: how many jobs were started so far.
        ticks_per_second: resolution of the run.
        config: Batsim's ``config`` object of SIMULATION_BEGINS.
    """

    __slots__ = (
        "_queue",
        "_running",
        "arrived",
        "config",
        "disturbed",
        "down",
        "ended",
        "free",
        "free_count",
        "hosts",
        "nb_hosts",
        "now",
        "started",
        "ticks_per_second",
    )

    def __init__(self, queue: dict[str, Job], running: dict[str, Job], ticks_per_second: int) -> None:
        self._queue = queue
        self._running = running
        self.ticks_per_second = ticks_per_second
        self.now = 0
        self.free: HostSet = ()
        self.free_count = 0
        self.hosts: HostSet = ()
        self.nb_hosts = 0
        self.down: HostSet = ()
        self.arrived: list[Job] = []
        self.ended: list[Job] = []
        self.disturbed = False
        self.started = 0
        self.config: Json = {}

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
        do not come back.
        """
        up, soon = ~to_mask(self.down), self.now + 1
        releases = [(max(job.end, soon), to_mask(job.hosts) & up) for job in self._running.values()]
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
        free: what is left of the free hosts.
        free_count: how many they are.
    """

    # Most plans are empty or start one job: the rest costs nothing until it is used.
    more = False  # anything but starts
    rejects: Sequence[tuple[Job, str]] = ()
    kills: Sequence[Job] = ()
    also: Sequence[Event] = ()
    wake_at: int | None = None

    def __init__(self, view: View) -> None:
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
        if hosts is None:
            picked = choose(self.free, job.res)
            if picked is None:
                return False
            hosts, self.free = picked
        else:
            if type(hosts) is not tuple:
                hosts = hostset.from_procset(cast("ProcSet", hosts))
            if not hostset.is_canonical(hosts):
                problem = "hosts must be ascending intervals that do not touch, such as ((0, 3), (5, 5))"
                raise InputError(f"{job.id}: {problem}; got {hosts!r}")
            if hostset.size(hosts) != job.res:
                raise InputError(f"{job.id} asked for {job.res} hosts, not {hostset.to_text(hosts)!r}")
            if lost := hostset.difference(hosts, self.free):
                raise InputError(f"{job.id} cannot start on {hostset.to_text(lost)}: not free")
            self.free = hostset.difference(self.free, hosts)
        self.free_count -= job.res
        self.starts.append((job, hosts))
        return True

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

    def say(self, decision: Event) -> None:
        """Pass a decision on as it is: a metadata, a registration, ..."""
        if not isinstance(decision, Event):
            raise TypeError(f"want a decision of batpy.protocol.messages, got {decision!r}")
        self.also = [*self.also, decision]
        self.more = True

    def wake(self, date: int) -> None:
        """Be asked again at *date*, in ticks, at the latest."""
        if not isinstance(date, int):
            raise TypeError(f"want a date in ticks, a whole number, got {date!r}")
        if self.wake_at is None or date < self.wake_at:
            self.wake_at = date
        self.more = True


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
