"""The closed family of messages, baseline part: Batsim 4.x events and decisions, and the sharing events.

One class per event; the first field of each is ``timestamp``, in integer ticks. The same classes travel
in process, as JSON (Batsim's names) and as MessagePack (positional arrays): a codec maps them to bytes and
adds nothing. Field order is part of the packed format: append only. Sets of hosts are ``HostSet`` tuples,
user-given objects (job, profile, properties, metadata of messages) stay plain maps as the user wrote them.

Source of the rules: Batsim 4.2.1, JSON protocol (events and fields), pybatsim 3.2.1 (sharing events).
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from batpy.protocol.hostset import HostSet

Json = dict[str, Any]

# Final states of a started job, as JOB_COMPLETED says them.
COMPLETED_SUCCESSFULLY: Final = "COMPLETED_SUCCESSFULLY"
COMPLETED_FAILED: Final = "COMPLETED_FAILED"
COMPLETED_WALLTIME_REACHED: Final = "COMPLETED_WALLTIME_REACHED"
COMPLETED_KILLED: Final = "COMPLETED_KILLED"
REJECTED: Final = "REJECTED"
FINAL_STATES: Final = frozenset(
    {COMPLETED_SUCCESSFULLY, COMPLETED_FAILED, COMPLETED_WALLTIME_REACHED, COMPLETED_KILLED}
)
JobState = Literal[
    "NOT_SUBMITTED",
    "SUBMITTED",
    "RUNNING",
    "COMPLETED_SUCCESSFULLY",
    "COMPLETED_FAILED",
    "COMPLETED_WALLTIME_REACHED",
    "COMPLETED_KILLED",
    "REJECTED",
]


class Event(msgspec.Struct):
    """Anything that is said at a date.

    Attributes:
        timestamp: ticks since the start of the simulation.
    """

    timestamp: int


# --------------------------------------------------------------------------- simulator to scheduler


class Offer(msgspec.Struct, frozen=True):
    """The ``batpy`` key of SIMULATION_BEGINS: who speaks, and what a peer may ask for in its HELLO."""

    version: str
    ticks_per_second: int
    extensions: tuple[str, ...] = ()


class SimulationBegins(Event):
    """First message of a conversation, always alone.

    Attributes:
        config: Batsim's flat dashed keys, such as ``dynamic-jobs-enabled``.
        compute_resources: one record a host, in id order: ``id``, ``name``, ``state``, ``properties``,
            ``zone_properties``, and ours: ``speed``, ``core``.
        workloads: workload id to the path as the user wrote it.
        profiles: workload id to profile name to the profile object (empty for streamed workloads).
        batpy: absent when the speaker is the real Batsim.
    """

    nb_resources: int
    nb_compute_resources: int
    nb_storage_resources: int
    allow_compute_sharing: bool
    allow_storage_sharing: bool
    config: Json
    compute_resources: list[Json]
    storage_resources: list[Json]
    workloads: dict[str, str]
    profiles: dict[str, dict[str, Json]]
    batpy: Offer | None = None


class SimulationEnds(Event):
    """Last message of a conversation, always alone."""


class JobSubmitted(Event):
    """A job entered the queue.

    Attributes:
        job_id: full id, ``workload!name``.
        job: the user's job object with ``id`` rewritten to the full id; durations in seconds.
        profile: the profile object when profiles are forwarded on submission.
    """

    job_id: str
    job: Json
    profile: Json | None = None


class JobCompleted(Event):
    """A started job ended, however it ended. ``return_code``: 0, the profile's ``ret``, -1 or -2."""

    job_id: str
    job_state: JobState
    return_code: int
    alloc: HostSet


class JobKilled(Event):
    """Acknowledges one KILL_JOB, after the JOB_COMPLETED of each victim.

    Attributes:
        job_ids: ids of that KILL_JOB, less those whose kill was already asked for.
        job_progress: progress tree of each job that was still running: ``profile_name`` and ``progress``
            in [0, 1] for a leaf, ``current_task_index`` and ``current_task`` for a composed profile.
    """

    job_ids: list[str]
    job_progress: dict[str, Json]


class ResourceStateChanged(Event):
    """The last host of one SET_RESOURCE_STATE reached its pstate (``state``: the number as text)."""

    resources: HostSet
    state: str


class RequestedCall(Event):
    """Answers one CALL_ME_LATER."""


class FromJobMsg(Event):
    """A job's ``send`` profile ran."""

    job_id: str
    msg: Json


class Answer(Event):
    """Answers a QUERY, in either direction; exactly one member is present."""

    consumed_energy: float | None = None
    estimate_waiting_time: Json | None = None


class DecisionRefused(Event):
    """Lenient mode: a decision broke a rule and changed nothing. Only for peers whose HELLO wants it."""

    decision: str
    reason: str
    job_id: str | None = None


class AddResources(Event):
    """Broker to tenant: these hosts may be used (again)."""

    resources: HostSet


class RemoveResources(Event):
    """Broker to tenant: vacate these hosts, then acknowledge with RESOURCES_REMOVED."""

    resources: HostSet


# --------------------------------------------------------------------------- both directions


class Notify(Event):
    """A remark, in either direction.

    Attributes:
        type: ``no_more_static_job_to_submit``, ``no_more_external_event_to_occur``,
            ``event_machine_available``, ``event_machine_unavailable`` or a user's own word from the
            simulator; ``registration_finished`` or ``continue_registration`` from a scheduler.
        resources: hosts of a machine event.
        content: the whole object of a generic external event, its own ``type`` and ``timestamp`` included.
    """

    type: str
    resources: HostSet | None = None
    content: Json | None = None


class Query(Event):
    """A question, such as ``{"consumed_energy": {}}`` or ``{"estimate_waiting_time": {...}}``."""

    requests: Json


# --------------------------------------------------------------------------- scheduler to simulator


class Hello(Event):
    """First decision of a scheduler that saw the ``batpy`` key: its name and the extensions it wants."""

    name: str
    version: str
    wants: tuple[str, ...] = ()


class IoJob(msgspec.Struct):
    """Additional I/O job of an EXECUTE_JOB: its hosts, and a profile that is known or registered by it."""

    alloc: HostSet
    profile_name: str
    profile: Json | None = None


class ExecuteJob(Event):
    """Start a submitted job on these hosts.

    Attributes:
        mapping: executor number to position inside the allocation (ascending host order).
        storage_mapping: storage label to host id.
    """

    job_id: str
    alloc: HostSet
    mapping: dict[str, int] | None = None
    storage_mapping: dict[str, int] | None = None
    additional_io_job: IoJob | None = None


class RejectJob(Event):
    """Refuse a submitted job for good."""

    job_id: str


class KillJob(Event):
    """Stop running jobs; jobs already over are tolerated."""

    job_ids: list[str]


class CallMeLater(Event):
    """Ask for a REQUESTED_CALL at tick ``at``, strictly later than the clock."""

    at: int


class RegisterJob(Event):
    """Add a job to a workload; it is submitted at once."""

    job_id: str
    job: Json


class RegisterProfile(Event):
    """Add a profile; an unknown workload name creates a dynamic workload."""

    workload_name: str
    profile_name: str
    profile: Json


class SetResourceState(Event):
    """Ask hosts to reach a pstate."""

    resources: HostSet
    state: int


class SetJobMetadata(Event):
    """Attach a text to a job; the last one wins and goes to ``jobs.csv``."""

    job_id: str
    metadata: str


class ChangeJobState(Event):
    """Book-keeping change of a job's state; no host is used and nothing is answered."""

    job_id: str
    job_state: JobState
    kill_reason: str | None = None


class ToJobMsg(Event):
    """Append a text to a job's inbox, read by its ``recv`` profiles."""

    job_id: str
    msg: str


class ResourcesRemoved(Event):
    """Tenant to broker: these hosts are vacated."""

    resources: HostSet


class ResourcesAdded(Event):
    """Tenant to broker: these hosts were taken into account."""

    resources: HostSet


class Message(msgspec.Struct):
    """What travels at once: all events (or decisions) of one step.

    Attributes:
        now: ticks; not before any event's timestamp.
    """

    now: int
    events: list[Event]
