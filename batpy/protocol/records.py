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
    """

    job: str
    profile: str
    subtime: int
    res: int
    walltime: int
    user: str = ""
    queue: str = ""
    dynamic: bool = False


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
    """A KILL_JOB took effect on these running jobs; ``progress`` is the tree sent to the scheduler."""

    jobs: tuple[str, ...]
    progress: dict[str, Any]


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


class EnergyBegins(Record, tag="energy_begins", frozen=True):
    """Second record of a run with energy.

    Attributes:
        pstates: hosts by initial pstate, in order of the pstates.
        sleeping: hosts that sleep at the beginning.
    """

    pstates: tuple[tuple[int, HostSet], ...]
    sleeping: HostSet = ()


class EnergyMeasured(Record, tag="energy", frozen=True):
    """What all hosts have consumed, told after a job's start, before a job's end, and after a pstate change.

    Attributes:
        event: ``s`` start, ``e`` end, ``p`` pstate, as in Batsim's ``consumed_energy.csv``; "" for the first
            submission, which has no row there.
        joules: of all hosts since 0.
        least_watts: what they draw at least while they compute, in their present pstates.
        lag: exact date minus the tick, in ticks, within (-1, 0]: jobs end between ticks.
        job: that started or ended, or "".
        job_joules: of an ended job: consumption of its whole hosts from its start to its end (Batsim 4.2.1;
            hosts shared by several jobs count for each of them), else 0.
    """

    event: str
    joules: float
    least_watts: float
    lag: float = 0.0
    job: str = ""
    job_joules: float = 0.0


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
    | Refused
    | RunEnds
)


class Sink(Protocol):
    """Where records go."""

    def write(self, record: AnyRecord, /) -> None:
        """Take one record; never reorders, never drops."""
