"""Hosts that tenants were asked to vacate: acknowledged by them, left by their jobs, or seized in the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batpy.broker.actions import Revoke
from batpy.broker.desk import NO_START, RUNNING, Desk, Revocation, Start
from batpy.broker.ledger import Ledger
from batpy.broker.policy import SharingPolicy
from batpy.broker.tenants import SHARING, Tenant
from batpy.protocol import hostset
from batpy.protocol import messages as m
from batpy.protocol import sharing_records as r
from batpy.protocol.hostset import HostSet

if TYPE_CHECKING:
    from batpy.broker.starts import Starts

FIRST_LOOK = 256
"""The broker looks after this part of a timeout, then in doubling steps, if a revocation is still open."""


class Revocations:
    """Every revocation that is open.

    Attributes:
        open: by serial, in the order of asking.
    """

    def __init__(
        self, starts: Starts, desk: Desk, policy: SharingPolicy, ledger: Ledger, tenants: list[Tenant]
    ) -> None:
        self._starts = starts
        self._desk = desk
        self._policy = policy
        self._ledger = ledger
        self.open: dict[int, Revocation] = {}
        # By tenant: hosts that were seized; an acknowledgement of each may still come.
        self._overdue: list[list[HostSet]] = [[] for _ in tenants]
        self._asked = 0

    def of(self, tenant: Tenant) -> list[Revocation]:
        """A tenant's open ones, the oldest first."""
        return [revocation for revocation in self.open.values() if revocation.tenant is tenant]

    # ------------------------------------------------------------------ asking

    def ask(self, tenant: Tenant, action: Revoke, start: Start | None = None) -> None:
        """Ask a tenant to vacate hosts, which are lent to it, for the sake of a start or of nobody."""
        desk, serial = self._desk, self._asked
        self._asked += 1
        wanted = NO_START if start is None else start.serial
        revocation = Revocation(
            serial, tenant, action.hosts, wanted, desk.now, action.grace, action.on_timeout, action.hosts
        )
        self.open[serial] = revocation
        self._ledger.ask_back(tenant.rank, action.hosts)
        if start is not None:
            start.drained = hostset.union(start.drained, action.hosts)
            start.awaited.append(revocation)
        desk.write(r.RevokeAsked(desk.now, desk.step, serial, tenant.name, action.hosts, wanted))
        if tenant.speaks(SHARING) and tenant.gone is None:
            desk.tell(tenant, m.RemoveResources(desk.now, tenant.hosts.to_own(action.hosts)))
            if action.timeout is not None:
                revocation.due = desk.now + action.timeout
                desk.wake(desk.now + max(1, action.timeout // FIRST_LOOK), "timeout", serial)
        elif action.grace:
            desk.wake(desk.now + action.grace, "seize", serial)
        else:
            self._seize(revocation)

    def told(self, tenant: Tenant) -> None:
        """A tenant has heard all that was in its mailbox."""
        for revocation in self.of(tenant):
            revocation.told = True

    def grace_until(self, start: Start) -> int:
        """The date until which a kill of this start's job, asked for because of a revocation, has to wait.

        The first revocation of its hosts counts: a later one does not lengthen its life. 0 without any.
        """
        return min(
            (
                revocation.asked + revocation.grace
                for revocation in self.of(start.tenant)
                if hostset.intersection(revocation.whole, start.hosts)
            ),
            default=0,
        )

    # ------------------------------------------------------------------ leaving

    def acknowledged(self, tenant: Tenant, hosts: HostSet) -> None:
        """A tenant said RESOURCES_REMOVED: for its oldest open revocation first, then for the next.

        pybatsim's schedBebida says it when the first of its victims is gone: hosts on which others still
        run are left when those are over.
        """
        left = hosts
        for revocation in self.of(tenant):
            owed = hostset.difference(revocation.hosts, revocation.acknowledged)
            mine = hostset.intersection(left, owed) if revocation.told else ()
            if mine:
                left = hostset.difference(left, mine)
                self._starts.put_off(tenant, mine)
                in_use = hostset.intersection(mine, self._run_on(tenant))
                revocation.acknowledged = hostset.union(revocation.acknowledged, in_use)
                self._vacate(revocation, hostset.difference(mine, in_use), r.ACKNOWLEDGED)
        left = self._late(tenant, left)
        if left:
            own = hostset.to_text(tenant.hosts.to_own(left))
            self._desk.fail(
                tenant,
                f"RESOURCES_REMOVED {own}: it was not asked to vacate these hosts, or has already",
            )

    def left_by(self, start: Start) -> None:
        """A job is over: what its tenant had acknowledged of its hosts is vacated now."""
        for revocation in self.of(start.tenant):
            mine = hostset.intersection(revocation.acknowledged, start.hosts)
            if mine := hostset.difference(mine, self._run_on(start.tenant)):
                revocation.acknowledged = hostset.difference(revocation.acknowledged, mine)
                self._vacate(revocation, mine, r.ACKNOWLEDGED)

    def _run_on(self, tenant: Tenant) -> HostSet:
        """Hosts on which a tenant has jobs that were passed on and are not over."""
        running = [s.hosts for s in self._starts.of(tenant) if s.phase == RUNNING]
        return hostset.normalise(pair for hosts in running for pair in hosts)

    def _late(self, tenant: Tenant, hosts: HostSet) -> HostSet:
        """Those of *hosts* whose acknowledgement was not overdue either."""
        overdue = self._overdue[tenant.rank]
        for index, late in enumerate(overdue):
            overdue[index] = hostset.difference(late, hosts)
            hosts = hostset.difference(hosts, late)
        self._overdue[tenant.rank] = [late for late in overdue if late]
        return hosts

    def _vacate(self, revocation: Revocation, hosts: HostSet, how: str) -> None:
        if not hosts:
            return  # nothing yet, or what this set off has taken them already
        desk, tenant = self._desk, revocation.tenant
        self._ledger.take_back(tenant.rank, hosts)
        self._starts.freed(hosts)
        revocation.hosts = hostset.difference(revocation.hosts, hosts)
        if not revocation.hosts:
            del self.open[revocation.serial]
        desk.write(r.Vacated(desk.now, desk.step, revocation.serial, tenant.name, hosts, how))
        self._starts.retry()
        self._starts.carry_out(self._policy.revoked(tenant.rank, hosts))

    # ------------------------------------------------------------------ taking

    def timed_out(self, serial: int) -> None:
        """A look at a revocation: what was to happen at its timeout happens if that has come."""
        revocation = self.open.get(serial)
        if revocation is None:
            return
        desk, tenant = self._desk, revocation.tenant
        if desk.now < revocation.due:
            # A call cannot be taken back and keeps the run alive: the next one only if it is needed.
            desk.wake(min(revocation.due, 2 * desk.now - revocation.asked), "timeout", serial)
            return
        own = hostset.to_text(tenant.hosts.to_own(revocation.hosts))
        if revocation.on_timeout == "fail":
            if revocation.hosts == revocation.acknowledged:
                problem = "was acknowledged, but its jobs there are not over in time; say KILL_JOB"
            else:
                problem = "was not acknowledged in time; say RESOURCES_REMOVED"
            desk.fail(tenant, f"REMOVE_RESOURCES {own} {problem}")
        elif revocation.on_timeout == "cancel" and self._starts.is_waiting(revocation.start):
            self._await_no_more(revocation)
            self._starts.cancel(revocation.start, f"scheduler {tenant.name} did not vacate {own} in time")
            self._starts.put_off(tenant, revocation.hosts)  # until the policy gives them back
            self._vacate(revocation, revocation.hosts, r.SEIZED)
        else:
            self.take_over(revocation)

    def seize_at_last(self, serial: int) -> None:
        """The grace of one who is not asked is over."""
        revocation = self.open.get(serial)
        if revocation is not None:
            self._seize(revocation)

    def take_over(self, revocation: Revocation) -> None:
        """Seize the hosts of a revocation whose acknowledgement may still come."""
        self._await_no_more(revocation)
        self._seize(revocation)

    def _await_no_more(self, revocation: Revocation) -> None:
        late = hostset.difference(revocation.hosts, revocation.acknowledged)
        if late:
            self._overdue[revocation.tenant.rank].append(late)

    def _seize(self, revocation: Revocation) -> None:
        """Take the hosts whatever the tenant does: kill what runs there, drop or put off what is held."""
        tenant = revocation.tenant
        victims = self._starts.evict(tenant, revocation.hosts)
        if victims:
            self._desk.kill(tenant.rank, victims)
        self._vacate(revocation, revocation.hosts, r.SEIZED)

    def seize_all(self, tenant: Tenant) -> None:
        """A tenant failed: nothing that it owes will come."""
        for revocation in self.of(tenant):
            self._vacate(revocation, revocation.hosts, r.SEIZED)
