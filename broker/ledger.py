"""The ledger: which tenant may use which host, who uses it now, and in which state it is.

A host may be lent to several tenants at once, but only one tenant uses it (for a start that is prepared,
runs or is cleaned up after). A loan has an id and is closed host by host. ``check()`` computes everything
again from the loans and the uses alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from batpy.protocol import hostset
from batpy.protocol.hostset import HostSet
from batpy.protocol.messages import Json


class NodeState(Enum):
    """State of a host; the first that applies in this order."""

    DOWN = "down"
    DRAINING = "draining"
    PROLOG = "prolog"
    BUSY = "busy"
    EPILOG = "epilog"
    HELD = "held"
    FREE = "free"


@dataclass(frozen=True, slots=True)
class Vector:
    """An amount of resources; memory in bytes."""

    hosts: int
    cores: int
    memory: int
    gpus: int


@dataclass(slots=True)
class Loan:
    """Hosts that a tenant may use; what was given up is no longer in ``hosts``."""

    id: int
    tenant: int
    hosts: HostSet


@dataclass(slots=True)
class Use:
    """Hosts that a tenant's start keeps for itself."""

    start: int
    tenant: int
    hosts: HostSet
    state: NodeState


class Ledger:
    """Loans and uses of the hosts of a park.

    Args:
        records: the park's compute hosts as SIMULATION_BEGINS tells them, in id order.
        visible: by tenant, the hosts it may ever use.
        shared: several jobs of one tenant may use a host at once.

    Attributes:
        lent: by tenant, hosts it may start jobs on.
        leaving: by tenant, hosts it was asked to vacate and has not yet.
        busy: by tenant, hosts in its use.
        down: hosts that are away.
        recalled: hosts that an outer broker wants back.
    """

    def __init__(self, records: Sequence[Json], visible: Sequence[HostSet], *, shared: bool = False) -> None:
        self.visible = tuple(visible)
        self.lent: list[HostSet] = [() for _ in visible]
        self.leaving: list[HostSet] = [() for _ in visible]
        self.busy: list[HostSet] = [() for _ in visible]
        self.down: HostSet = hostset.from_ids(r["id"] for r in records if r.get("state") == "unavailable")
        self.recalled: HostSet = ()
        self._shared = shared
        self._vectors = {r["id"]: _vector(r) for r in records}
        self._loans: dict[int, Loan] = {}
        self._uses: dict[int, Use] = {}
        self._last_loan = -1

    # ------------------------------------------------------------------ loans

    def lend(self, tenant: int, hosts: HostSet) -> int:
        """Let *tenant* use *hosts*; the loan's id."""
        assert not hostset.difference(hosts, self.visible[tenant]), "lent hosts that the tenant cannot see"
        assert not hostset.intersection(hosts, self.lent[tenant]), "lent twice"
        assert not hostset.intersection(hosts, self.leaving[tenant]), "lent while it leaves"
        self._last_loan += 1
        self._loans[self._last_loan] = Loan(self._last_loan, tenant, hosts)
        self.lent[tenant] = hostset.union(self.lent[tenant], hosts)
        return self._last_loan

    def ask_back(self, tenant: int, hosts: HostSet) -> None:
        """*tenant* is to leave *hosts*, which were lent to it."""
        assert not hostset.difference(hosts, self.lent[tenant]), "asked for hosts that are not lent"
        self.lent[tenant] = hostset.difference(self.lent[tenant], hosts)
        self.leaving[tenant] = hostset.union(self.leaving[tenant], hosts)

    def take_back(self, tenant: int, hosts: HostSet) -> None:
        """*tenant* has left *hosts*."""
        assert not hostset.difference(hosts, self.leaving[tenant]), "took back what it was not asked for"
        self.leaving[tenant] = hostset.difference(self.leaving[tenant], hosts)
        for loan in list(self._loans.values()):
            if loan.tenant == tenant and hostset.intersection(loan.hosts, hosts):
                loan.hosts = hostset.difference(loan.hosts, hosts)
                if not loan.hosts:
                    del self._loans[loan.id]

    @property
    def loans(self) -> tuple[Loan, ...]:
        """Open loans by id."""
        return tuple(self._loans.values())

    # ------------------------------------------------------------------ uses

    def occupied(self, hosts: HostSet, tenant: int) -> bool:
        """True if some of *hosts* is in a use that a new start of *tenant* cannot share."""
        for other, busy in enumerate(self.busy):
            if busy and not (other == tenant and self._shared) and hostset.intersection(busy, hosts):
                return True
        return False

    def occupy(self, start: int, tenant: int, hosts: HostSet, state: NodeState) -> None:
        """A start keeps *hosts* for itself from now on."""
        self._uses[start] = Use(start, tenant, hosts, state)
        self.busy[tenant] = hostset.union(self.busy[tenant], hosts)

    def become(self, start: int, state: NodeState) -> None:
        """The hosts of a start are in another state now."""
        self._uses[start].state = state

    def release(self, start: int) -> None:
        """A start has no more use for its hosts."""
        use = self._uses.pop(start)
        if self._shared:
            others = [u.hosts for u in self._uses.values() if u.tenant == use.tenant]
            self.busy[use.tenant] = hostset.normalise(pair for hosts in others for pair in hosts)
        else:
            self.busy[use.tenant] = hostset.difference(self.busy[use.tenant], use.hosts)

    # ------------------------------------------------------------------ questions

    def amount(self, hosts: HostSet) -> Vector:
        """What *hosts* have together."""
        parts = [self._vectors[host] for host in hostset.ids(hosts)]
        return Vector(
            len(parts), sum(p.cores for p in parts), sum(p.memory for p in parts), sum(p.gpus for p in parts)
        )

    def cores(self) -> tuple[int, ...]:
        """Cores of each host, in id order."""
        return tuple(self._vectors[host].cores for host in sorted(self._vectors))

    def state_of(self, host: int) -> NodeState:
        """State of one host."""
        one = ((host, host),)
        if hostset.intersection(self.down, one):
            return NodeState.DOWN
        if any(hostset.intersection(hosts, one) for hosts in self.leaving):
            return NodeState.DRAINING
        states = {use.state for use in self._uses.values() if hostset.intersection(use.hosts, one)}
        for state in (NodeState.PROLOG, NodeState.BUSY, NodeState.EPILOG):
            if state in states:
                return state
        # The first tenant takes what it likes: a host only it may use is free.
        held = any(hostset.intersection(hosts, one) for hosts in self.lent[1:])
        return NodeState.HELD if held else NodeState.FREE

    def check(self) -> None:
        """Compute everything again from loans and uses, and compare.

        Raises:
            AssertionError: the ledger contradicts itself, a bug.
        """
        for tenant, visible in enumerate(self.visible):
            pieces = [loan.hosts for loan in self._loans.values() if loan.tenant == tenant]
            lent = hostset.normalise(pair for hosts in pieces for pair in hosts)
            assert sum(map(hostset.size, pieces)) == hostset.size(lent), (
                "two loans of one tenant share a host"
            )
            assert not hostset.intersection(self.lent[tenant], self.leaving[tenant]), "both lent and leaving"
            assert hostset.union(self.lent[tenant], self.leaving[tenant]) == lent, (
                "sets disagree with the loans"
            )
            assert not hostset.difference(lent, visible), "lent hosts that the tenant cannot see"
            mine = [use.hosts for use in self._uses.values() if use.tenant == tenant]
            busy = hostset.normalise(pair for hosts in mine for pair in hosts)
            assert busy == self.busy[tenant], "the busy set disagrees with the uses"
            assert self._shared or sum(map(hostset.size, mine)) == hostset.size(busy), "two uses of one host"
            for other in range(tenant):
                assert not hostset.intersection(self.busy[other], busy), "a host with two tenants"
        assert all(loan.hosts for loan in self._loans.values()), "an empty loan"


def _vector(record: Json) -> Vector:
    properties = record.get("properties") or {}
    return Vector(
        1,
        _count(record.get("core", properties.get("core", 1)), 1),
        _count(record.get("memory", properties.get("memory", 0)), 0),
        _count(record.get("gpus", properties.get("gpus", 0)), 0),
    )


def _count(value: object, otherwise: int) -> int:
    """A number that a platform may have written as text; units and the like count as not said."""
    try:
        return int(float(value))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return otherwise
