"""What a broker writes to its own journal: who asked for which hosts, who gave them up, and when.

The records stand beside the simulator's (``batpy.protocol.records``) and are joined with them by job id and
time. ``step`` numbers the simulator's requests from 0 (its greeting); host ids are those of the park, never a
tenant's own. Field order is part of the file format: append only.
"""

from __future__ import annotations

from typing import Protocol

from batpy.protocol.hostset import HostSet
from batpy.protocol.records import Record

ACKNOWLEDGED = "acknowledged"
SEIZED = "seized"


class SharingRecord(Record, frozen=True):
    """One line of a broker's journal."""

    step: int


class SharingBegins(SharingRecord, tag="sharing_begins", frozen=True):
    """First record.

    Attributes:
        policy: as the user wrote it.
        tenants: names by rank, the first is served first.
        visible: compute hosts each tenant may ever use.
        nb_compute: compute hosts of the park.
        cores: cores of each compute host, in id order.
    """

    version: str
    ticks_per_second: int
    policy: str
    tenants: tuple[str, ...]
    visible: tuple[HostSet, ...]
    nb_compute: int
    cores: tuple[int, ...]


class JobOwned(SharingRecord, tag="owned", frozen=True):
    """A job was submitted to, or registered by, a tenant.

    Attributes:
        parent: full id of the job it is a further attempt of, or "".
    """

    job: str
    tenant: str
    parent: str = ""


class StartAsked(SharingRecord, tag="start_asked", frozen=True):
    """A tenant said EXECUTE_JOB; it believes that the job runs from now on.

    Attributes:
        start: serial number, unique in the run.
    """

    start: int
    tenant: str
    job: str
    hosts: HostSet


class RevokeAsked(SharingRecord, tag="revoke_asked", frozen=True):
    """A tenant was told REMOVE_RESOURCES.

    Attributes:
        revocation: serial number, unique in the run.
        start: the start that wants the hosts, or -1 (a host that left the park).
    """

    revocation: int
    tenant: str
    hosts: HostSet
    start: int


class Vacated(SharingRecord, tag="vacated", frozen=True):
    """Hosts of a revocation are given up by the tenant.

    Attributes:
        hosts: part or whole of what was revoked.
        how: ``acknowledged`` by the tenant, ``seized`` at the timeout.
    """

    revocation: int
    tenant: str
    hosts: HostSet
    how: str


class PrologBegins(SharingRecord, tag="prolog", frozen=True):
    """All hosts of a start are clear; they are prepared until ``until``, in ticks.

    Attributes:
        clear_of: tenants that had to vacate the hosts for it, by name.
    """

    start: int
    until: int
    clear_of: tuple[str, ...] = ()


class StartReleased(SharingRecord, tag="released", frozen=True):
    """A start was passed on to the simulator."""

    start: int


class StartDropped(SharingRecord, tag="dropped", frozen=True):
    """A start will never reach the simulator: denied, or its job was killed before."""

    start: int
    reason: str


class EpilogBegins(SharingRecord, tag="epilog", frozen=True):
    """The job of a start is over; its hosts are cleaned until ``until``, in ticks."""

    start: int
    until: int


class HostsCleared(SharingRecord, tag="cleared", frozen=True):
    """The hosts of a start are in nobody's use any more: after the epilog, or at once without one."""

    start: int


class EndTold(SharingRecord, tag="end_told", frozen=True):
    """The tenant was told that a job is over."""

    job: str


class Lent(SharingRecord, tag="lent", frozen=True):
    """A tenant may use these hosts (again): at the beginning, or by ADD_RESOURCES.

    Attributes:
        loan: serial number, unique in the run.
    """

    loan: int
    tenant: str
    hosts: HostSet


class TenantDropped(SharingRecord, tag="tenant_dropped", frozen=True):
    """A scheduler failed and the run goes on without it."""

    tenant: str
    reason: str


class SharingEnds(SharingRecord, tag="sharing_ends", frozen=True):
    """Closing marker; ``outcome`` as in ``RunEnds``."""

    outcome: str
    reason: str = ""


AnySharingRecord = (
    SharingBegins
    | JobOwned
    | StartAsked
    | RevokeAsked
    | Vacated
    | PrologBegins
    | StartReleased
    | StartDropped
    | EpilogBegins
    | HostsCleared
    | EndTold
    | Lent
    | TenantDropped
    | SharingEnds
)


class SharingSink(Protocol):
    """Where a broker's records go."""

    def write(self, record: AnySharingRecord, /) -> None:
        """Take one record; never reorders, never drops."""
