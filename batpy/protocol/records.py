"""What simulator and broker write to the journal: one record a state change, in the order it happened.

Simulator and broker are given a ``Sink`` and know neither files nor tables; the journal's file, the tables,
the metrics and the audit are functions of these records alone. ``time`` is in ticks. Field order is part of
the file format: append only.
"""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from batpy.protocol.hostset import HostSet


class Record(msgspec.Struct, array_like=True, frozen=True):
    """One line of the journal."""

    time: int


class RunBegins(Record, tag="begins", frozen=True):
    """First record: what is needed to read the others without the inputs.

    Attributes:
        version: version of this package.
        ticks_per_second: the run's resolution.
        nb_compute: compute hosts, numbered from 0; storage hosts follow.
        compute_sharing: several jobs may share a compute host; ``storage_sharing`` likewise.
        workloads: workload id to source as the user wrote it (never an absolute path).
        hosts: host names in id order; empty when hosts were given as a number.
    """

    version: str
    ticks_per_second: int
    nb_compute: int
    nb_storage: int
    compute_sharing: bool
    workloads: dict[str, str]
    hosts: tuple[str, ...] = ()
    seed: int = 0
    storage_sharing: bool = True


class Submitted(Record, tag="submit", frozen=True):
    """A job entered the queue.

    Attributes:
        job: full id.
        subtime: submission date of the job object, in ticks (for a dynamic job it may differ from time).
        walltime: ticks, or -1 for none.
        user, queue: as text, "" if unknown.
        dynamic: registered by a scheduler.
        work: of such a job, its flops, bytes and seconds (of sleep, of tasks); empty if not known, and of
            other jobs.
    """

    job: str
    profile: str
    subtime: int
    res: int
    walltime: int
    user: str = ""
    queue: str = ""
    dynamic: bool = False
    work: tuple[float, ...] = ()


class Started(Record, tag="start", frozen=True):
    """A job occupies its hosts from now on."""

    job: str
    alloc: HostSet


class Ended(Record, tag="end", frozen=True):
    """A started job left its hosts."""

    job: str
    state: str
    return_code: int


class Rejected(Record, tag="reject", frozen=True):
    """A submitted job will never start."""

    job: str


class Relabelled(Record, tag="relabel", frozen=True):
    """CHANGE_JOB_STATE: a job changed state without using hosts."""

    job: str
    state: str


class KillAsked(Record, tag="kill", frozen=True):
    """A KILL_JOB took effect on these running jobs; ``progress`` is the tree sent to the scheduler.

    Attributes:
        leaf_since: of each job, the tick at which the leaf it was in began; empty in older journals.
        work: of each job, nine figures: flops, bytes and seconds (as above) of the whole job, of those leaves
            that were over, and of all that was done (``batpy.models.work``).
    """

    jobs: tuple[str, ...]
    progress: dict[str, Any]
    leaf_since: tuple[int, ...] = ()
    work: tuple[tuple[float, ...], ...] = ()


class Annotated(Record, tag="metadata", frozen=True):
    """SET_JOB_METADATA."""

    job: str
    metadata: str


class HostsChanged(Record, tag="hosts", frozen=True):
    """Hosts left (``available`` false) or returned (true)."""

    hosts: HostSet
    available: bool


class PstateAsked(Record, tag="pstate", frozen=True):
    """A SET_RESOURCE_STATE took effect (``done`` false) or was completed (true).

    Attributes:
        off, on: those of its hosts that begin to be switched off, or on; the others change at once.
        sleep: the first host is to sleep.
    """

    hosts: HostSet
    state: int
    done: bool
    off: HostSet = ()
    on: HostSet = ()
    sleep: bool = False


class HostsSwitched(Record, tag="switched", frozen=True):
    """Hosts that were being switched have reached their pstate, in which they sleep or not."""

    hosts: HostSet
    state: int
    sleep: bool


class HostPower(msgspec.Struct, array_like=True, frozen=True):
    """What some equal hosts draw.

    Attributes:
        speeds: flops a second of a core, by pstate.
        watts: idle, epsilon and full watts, by pstate.
        sleeps: pstates of sleep, of the way into it and of the way out of it.
    """

    hosts: HostSet
    cores: int
    speeds: tuple[float, ...]
    watts: tuple[tuple[float, float, float], ...]
    sleeps: tuple[tuple[int, int, int], ...] = ()


class EnergyBegins(Record, tag="energy_begins", frozen=True):
    """Second record of a run with energy.

    Attributes:
        pstates: hosts by initial pstate, in order of the pstates.
        sleeping: hosts that sleep at the beginning.
        powers: the figures of all hosts that have some; empty in journals of older versions.
    """

    pstates: tuple[tuple[int, HostSet], ...]
    sleeping: HostSet = ()
    powers: tuple[HostPower, ...] = ()


class EnergyMeasured(Record, tag="energy", frozen=True):
    """What all hosts have consumed.

    Told after a job's start, before a job's end, and for a SET_RESOURCE_STATE twice: before anything changes,
    and when it is complete.

    Attributes:
        event: ``s`` start, ``e`` end, ``p`` pstate, as in Batsim's ``consumed_energy.csv``; "" for the first
            submission, which has no row there.
        joules: of all hosts since 0.
        least_watts: what they draw at least while they compute, in their present pstates.
        lag: exact date minus the tick, in ticks, within (-1, 0]: jobs end between ticks.
        job: that started or ended, or "".
        job_joules: of an ended job: consumption of its whole hosts from its start to its end (Batsim 4.2.1;
            hosts shared by several jobs count for each of them), else 0.
        fair_joules: of an ended job: its share of what its hosts consumed, each joule counted once; see
            ``batpy.models.energy_shares``.
    """

    event: str
    joules: float
    least_watts: float
    lag: float = 0.0
    job: str = ""
    job_joules: float = 0.0
    fair_joules: float = 0.0


class EnergyEnds(Record, tag="energy_ends", frozen=True):
    """Last record but one of a whole run with energy: where all joules went.

    Attributes:
        joules: of all hosts since 0: the sum of the other four.
        jobs: shares of all jobs.
        idle, sleeping, switching: of hosts without a job.
    """

    joules: float
    jobs: float
    idle: float
    sleeping: float
    switching: float


class RequestArrived(Record, tag="request", frozen=True):
    """A client asked for an inference.

    Attributes:
        request: full id, ``workload!name``.
        deadline: a date in nanoseconds; an answer that is later counts as late.
    """

    request: str
    model: int
    batch: int
    deadline: int


class RequestEnded(Record, tag="response", frozen=True):
    """A request was answered, or is still queued at the end of the run.

    Attributes:
        status: as the client was told; 0 success, -1 if it never was told anything.
    """

    request: str
    status: int


class ActionAsked(Record, tag="action", frozen=True):
    """A worker took an action; ``gpu``, ``model`` and ``batch`` are -1 where the action has none."""

    id: int
    host: int
    action: str
    gpu: int = -1
    model: int = -1
    batch: int = -1


class ActionEnded(Record, tag="result", frozen=True):
    """An action has its result; dates in nanoseconds.

    Attributes:
        status: 0, or the worker's error code.
        begin, end: of the copy, the eviction or the execution; -1 after an error and for other actions.
        sent: when it was over.
    """

    id: int
    host: int
    status: int
    begin: int
    end: int
    sent: int


class Refused(Record, tag="refused", frozen=True):
    """A decision broke a rule and changed nothing.

    Attributes:
        index: place of the decision in its reply, from 0.
        decision: wire name, such as ``EXECUTE_JOB``.
        job: the job it was about, or "".
    """

    index: int
    decision: str
    job: str
    reason: str


class RunEnds(Record, tag="ends", frozen=True):
    """Closing marker.

    Attributes:
        outcome: ``done``, ``refused``, ``interrupted``, ``peer_lost`` or ``failed`` (a bug).
    """

    outcome: str
    reason: str = ""


AnyRecord = (
    RunBegins
    | Submitted
    | Started
    | Ended
    | Rejected
    | Relabelled
    | KillAsked
    | Annotated
    | HostsChanged
    | PstateAsked
    | HostsSwitched
    | EnergyBegins
    | EnergyMeasured
    | EnergyEnds
    | RequestArrived
    | RequestEnded
    | ActionAsked
    | ActionEnded
    | Refused
    | RunEnds
)


class Sink(Protocol):
    """Where records go."""

    def write(self, record: AnyRecord, /) -> None:
        """Take one record; never reorders, never drops."""
