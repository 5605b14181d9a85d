"""What a sharing policy is: pure callbacks over a read-only view of the ledger, answered with actions.

A policy owns no socket, no clock and no host. The broker calls it when something happens and carries out
what it returns. A whole one, in a user's file::

    from batpy.broker.actions import Deny, Grant
    from batpy.broker.policy import SharingPolicy

    class Half(SharingPolicy):
        '''The first tenant may use the lower half of the park only.'''

        def start_requested(self, start):
            limit = self.park.nb_hosts // 2
            if start.tenant == 0 and start.hosts[-1][1] >= limit:
                return [Deny(f"it may use hosts 0-{limit - 1} only")]
            return [Grant()]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from batpy.broker.actions import Action, Grant
from batpy.broker.ledger import Ledger, NodeState, Vector
from batpy.protocol.hostset import HostSet


@dataclass(frozen=True, slots=True)
class StartRequest:
    """A tenant wants to start a job (or has one that is over).

    Attributes:
        serial: unique in the run.
        tenant: rank of the tenant.
        job: full id.
        hosts: the park's ids.
        drained: hosts among them that another tenant had to leave for it.
    """

    serial: int
    tenant: int
    job: str
    hosts: HostSet
    drained: HostSet = ()


class ParkView:
    """What a policy may look at.

    Attributes:
        tenants: names by rank.
        hosts: every compute host.
        nb_hosts: how many they are.
        ticks_per_second: resolution of the run.
        now: the clock, in ticks.
    """

    def __init__(self, tenants: Sequence[str], hosts: HostSet, nb_hosts: int, ticks_per_second: int) -> None:
        self.tenants = tuple(tenants)
        self.hosts = hosts
        self.nb_hosts = nb_hosts
        self.ticks_per_second = ticks_per_second
        self.now = 0
        self._ledger: Ledger | None = None
        self._claims: list[HostSet] = []

    def watch(self, ledger: Ledger, claims: list[HostSet]) -> None:
        """Look at this ledger from now on; *claims*: by tenant, hosts that its starts wait for."""
        self._ledger, self._claims = ledger, claims

    @property
    def _book(self) -> Ledger:
        assert self._ledger is not None, "the park is not there before begin()"
        return self._ledger

    def lent(self, tenant: int) -> HostSet:
        """Hosts the tenant may start jobs on."""
        return self._book.lent[tenant]

    def leaving(self, tenant: int) -> HostSet:
        """Hosts the tenant was asked to vacate and has not yet."""
        return self._book.leaving[tenant]

    def used(self, tenant: int) -> HostSet:
        """Hosts prepared for, used by or cleaned up after the tenant's jobs."""
        return self._book.busy[tenant]

    def claimed(self, tenant: int) -> HostSet:
        """Hosts that the tenant's held starts wait for."""
        return self._claims[tenant]

    def visible(self, tenant: int) -> HostSet:
        """Hosts the tenant may ever use."""
        return self._book.visible[tenant]

    def state(self, host: int) -> NodeState:
        """What a host is doing."""
        return self._book.state_of(host)

    def amount(self, hosts: HostSet) -> Vector:
        """Cores, memory (bytes) and GPUs of *hosts* together."""
        return self._book.amount(hosts)

    @property
    def down(self) -> HostSet:
        """Hosts that are away."""
        return self._book.down


class SharingPolicy:
    """Base of policies: every start is granted, nothing is ever revoked.

    Attributes:
        park: the view, from ``begin`` on.
        lazy: what a job leaves is given to others only when its own scheduler has said what it wants in the
            same instant.
    """

    park: ParkView
    lazy: bool = False

    def begin(self, park: ParkView) -> None:
        """The run begins; loans do not exist yet.

        Raises:
            InputError: the policy cannot serve these tenants or this park.
        """
        self.park = park

    def visible(self, tenant: int) -> HostSet:
        """Compute hosts that a tenant may ever use; all are lent to it at the beginning."""
        del tenant
        return self.park.hosts

    def start_requested(self, start: StartRequest) -> Iterable[Action]:
        """A tenant said EXECUTE_JOB: Grant, Hold or Deny, and what must be revoked for it."""
        del start
        return (Grant(),)

    def ended(self, start: StartRequest) -> Iterable[Action]:
        """The job of a start is over; Clean keeps its hosts for an epilog."""
        del start
        return ()

    def released(self, start: StartRequest) -> Iterable[Action]:
        """The hosts of a start are in nobody's use any more, or a start that waited was dropped."""
        del start
        return ()

    def revoked(self, tenant: int, hosts: HostSet) -> Iterable[Action]:
        """A tenant has vacated hosts."""
        del tenant, hosts
        return ()

    def timer(self, key: str) -> Iterable[Action]:
        """A date asked for with Timer has come."""
        del key
        return ()


def is_policy(value: object) -> bool:
    """True for a class of sharing policies, but not for the base itself."""
    return isinstance(value, type) and issubclass(value, SharingPolicy) and value is not SharingPolicy
