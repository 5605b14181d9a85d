"""What a start and a revocation are, and the desk through which what becomes of them is told."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from batpy.broker.actions import Action, OnTimeout
from batpy.broker.policy import StartRequest
from batpy.broker.tenants import Tenant
from batpy.protocol import messages as m
from batpy.protocol import sharing_records as r
from batpy.protocol.hostset import HostSet

WAITING, PREPARED, RUNNING, CLEANED = "waiting", "prepared", "running", "cleaned"
NO_START = -1
"""In place of a start's serial: hosts are asked back because they left the park."""


class Desk(Protocol):
    """What ``Starts`` needs from the broker."""

    now: int
    step: int

    def tell(self, tenant: Tenant, event: m.Event) -> None:
        """Put an event in a tenant's mailbox."""

    def forward(self, rank: int, decision: m.Event) -> None:
        """Put a decision in the reply to the simulator."""

    def kill(self, rank: int, jobs: list[str]) -> None:
        """End running jobs of a tenant that did not ask for it."""

    def write(self, record: r.AnySharingRecord) -> None:
        """Write to the broker's journal."""

    def wake(self, at: int, kind: str, key: int | str) -> None:
        """Call ``timer(kind, key)`` at a later date."""

    def fail(self, tenant: Tenant, problem: str) -> None:
        """A tenant broke a rule; returns only if the run goes on without it."""

    def cancelled(self, tenant: Tenant, job: str, hosts: HostSet) -> None:
        """A start that the tenant believes in will not happen; its job is over."""

    def later(self, action: Iterable[Action]) -> None:
        """Carry out once all tenants have said what they want in this instant."""


@dataclass(slots=True)
class Revocation:
    """Hosts a tenant was asked to vacate.

    Attributes:
        hosts: those that it has not vacated; ``whole``: all.
        start: serial of the start that wants them, or ``NO_START``.
        asked, due: ticks at which it was asked, and at which its timeout is over.
        grace: ticks that its jobs there may still run, whenever it kills them.
        told: it has heard of it.
        acknowledged: those of ``hosts`` that it called vacated and on which its jobs still run.
    """

    serial: int
    tenant: Tenant
    hosts: HostSet
    start: int
    asked: int
    grace: int = 0
    on_timeout: OnTimeout = "seize"
    whole: HostSet = ()
    told: bool = False
    due: int = 0
    acknowledged: HostSet = ()


@dataclass(slots=True)
class Start:
    """One start and where it is in its life.

    Attributes:
        decision: with the park's ids.
        hosts: its compute hosts.
        asked, until: ticks at which it was asked for, and before which it is not released.
        clear_of: tenants that must be away from its hosts.
        drained: hosts that others were asked to vacate for it; ``awaited``: these revocations.
        denied: why the policy refuses it, or None.
        asking: its hosts are being asked for.
    """

    serial: int
    tenant: Tenant
    decision: m.ExecuteJob
    hosts: HostSet
    asked: int
    phase: str = WAITING
    clear_of: tuple[int, ...] = ()
    until: int = 0
    drained: HostSet = ()
    awaited: list[Revocation] = field(default_factory=list)
    denied: str | None = None
    asking: bool = False

    @property
    def request(self) -> StartRequest:
        """As policies see it."""
        return StartRequest(self.serial, self.tenant.rank, self.decision.job_id, self.hosts, self.drained)


@dataclass(slots=True)
class Gift:
    """Hosts to be given after a delay."""

    tenant: int
    hosts: HostSet
