"""The life of a start behind the broker: asked, held back, prepared, released, over, cleaned up.

``Starts`` carries out a policy's actions on the ledger. It says nothing itself: what a tenant is to be
told, what the simulator is to be told and what is to be written goes through a ``Desk``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from batpy.broker.actions import Action, Clean, Deny, Give, Grant, Hold, Revoke, Timer
from batpy.broker.away import Away
from batpy.broker.desk import (
    CLEANED,
    PREPARED,
    RUNNING,
    WAITING,
    Desk,
    Gift,
    Start,
)
from batpy.broker.ledger import Ledger, NodeState
from batpy.broker.policy import SharingPolicy, StartRequest
from batpy.broker.revocations import Revocations
from batpy.broker.tenants import SHARING, Tenant
from batpy.broker.waiting import WaitingStarts
from batpy.protocol import hostset
from batpy.protocol import messages as m
from batpy.protocol import sharing_records as r
from batpy.protocol.hostset import HostSet


class Starts:
    """Everything that is between a tenant's EXECUTE_JOB and the return of its hosts."""

    def __init__(self, desk: Desk, policy: SharingPolicy, ledger: Ledger, tenants: list[Tenant]) -> None:
        self._desk = desk
        self._policy = policy
        self.ledger = ledger
        self._tenants = tenants
        self._by_job: dict[str, Start] = {}
        self._all: dict[int, Start] = {}
        self._waiting = WaitingStarts(len(tenants))
        self.claims = self._waiting.claims
        self.revoking = Revocations(self, desk, policy, ledger, tenants)
        self._gifts: dict[int, Gift] = {}
        self.away = Away(self, tenants)
        self._clean: Clean | None = None  # what the policy said of the job that just ended
        self._serial = 0
        self._given = 0

    # ------------------------------------------------------------------ a start

    def ask(self, tenant: Tenant, decision: m.ExecuteJob, hosts: HostSet) -> bool:
        """A tenant said EXECUTE_JOB; False if that is refused.

        Args:
            decision: with the park's ids; passed on as it is, with a new date.
            hosts: its compute hosts; storage is open to all.
        """
        desk = self._desk
        start = Start(self._serial, tenant, decision, hosts, desk.now, until=desk.now)
        self._serial += 1
        desk.write(r.StartAsked(desk.now, desk.step, start.serial, tenant.name, decision.job_id, hosts))
        strange = self._not_given(tenant, hosts)
        if strange:
            desk.write(r.StartDropped(desk.now, desk.step, start.serial, "hosts it was not given"))
            own = hostset.to_text(tenant.hosts.to_own(strange))
            desk.fail(
                tenant,
                f"EXECUTE_JOB {decision.job_id} on hosts it was not given (its {own})",
            )
            return False
        self._by_job[decision.job_id] = start
        self._all[start.serial] = start
        actions = tuple(self._policy.start_requested(start.request))
        if len(actions) == 1 and type(actions[0]) is Grant and self._begin(start):
            return True
        # Claimed before anything is revoked for it, so that nothing is given back at once.
        self._waiting.add(start)
        for action in actions:
            if isinstance(action, Hold):
                start.clear_of, start.until = action.clear_of, desk.now + action.prolog
        start.asking = True  # hosts that are seized at once must not begin it before the others are asked for
        self.carry_out(actions, start)
        start.asking = False
        if start not in self._waiting:
            return True
        if start.denied is not None:
            self._waiting.remove(start)
            self._deny(start)
            return False
        if self._begin(start):
            self._waiting.remove(start)
        return True

    @staticmethod
    def _not_given(tenant: Tenant, hosts: HostSet) -> HostSet:
        """Those of *hosts* that the tenant knows it may not use; what it has not heard of yet it may."""
        return hostset.difference(hosts, tenant.believed) if tenant.speaks(SHARING) else ()

    def _deny(self, start: Start) -> None:
        desk, tenant, reason = self._desk, start.tenant, start.denied
        assert reason is not None
        self._forget(start)
        desk.write(r.StartDropped(desk.now, desk.step, start.serial, reason))
        job = start.decision.job_id
        if tenant.speaks("refusals"):
            desk.tell(tenant, m.DecisionRefused(desk.now, "EXECUTE_JOB", reason, job))
        else:
            desk.fail(tenant, f"EXECUTE_JOB {job} is refused: {reason}")

    def _begin(self, start: Start) -> bool:
        """Prepare or release a start whose hosts are clear; False if they are not."""
        ledger, hosts, desk = self.ledger, start.hosts, self._desk
        if start.asking or ledger.occupied(hosts, start.tenant.rank):
            return False
        if self.away.covers(hosts):
            return False
        for rank in start.clear_of:
            if hostset.intersection(hosts, ledger.lent[rank]) or hostset.intersection(
                hosts, ledger.leaving[rank]
            ):
                return False
        if any(hostset.intersection(hosts, asked.hosts) for asked in start.awaited):
            return False
        tenant = start.tenant
        missing = hostset.difference(hosts, ledger.lent[tenant.rank])
        if missing and (
            not tenant.speaks(SHARING) or hostset.difference(missing, ledger.leaving[tenant.rank])
        ):
            return False  # it has not heard yet, or never will, that these hosts are not its own for now
        if start.clear_of:
            names = tuple(self._tenants[rank].name for rank in start.clear_of)
            until = max(start.until, desk.now)
            desk.write(r.PrologBegins(desk.now, desk.step, start.serial, until, names))
        if start.until > desk.now:
            start.phase = PREPARED
            ledger.occupy(start.serial, tenant.rank, hosts, NodeState.PROLOG)
            desk.wake(start.until, "prolog", start.serial)
        else:
            ledger.occupy(start.serial, tenant.rank, hosts, NodeState.BUSY)
            self._release(start)
        return True

    def _release(self, start: Start) -> None:
        desk = self._desk
        start.phase = RUNNING
        start.decision.timestamp = desk.now
        desk.write(r.StartReleased(desk.now, desk.step, start.serial))
        desk.forward(start.tenant.rank, start.decision)

    def freed(self, hosts: HostSet) -> None:
        """Something about hosts changed for the better of starts that wait for them; see ``retry``."""
        self._waiting.freed(hosts)

    def retry(self) -> None:
        """The park has changed: begin what can begin, in the order in which it was asked for."""
        for start in self._waiting.worth_trying():
            if self._begin(start):
                self._waiting.remove(start)

    def _put_off(self, start: Start) -> None:
        """A start that was being prepared waits again."""
        self.ledger.release(start.serial)
        self._waiting.freed(start.hosts)
        start.phase = WAITING
        self._waiting.add(start)

    def _forget(self, start: Start) -> None:
        self._by_job.pop(start.decision.job_id, None)
        self._all.pop(start.serial, None)

    # ------------------------------------------------------------------ its end

    def knows(self, job: str) -> bool:
        """Was the job started, and is it not over?"""
        return job in self._by_job

    def is_held(self, job: str) -> bool:
        """Does the job's tenant believe it runs while it does not yet?"""
        start = self._by_job.get(job)
        return start is not None and start.phase in (WAITING, PREPARED)

    def is_fresh(self, job: str) -> bool:
        """Was the job passed on at this very instant, so that the simulator may still refuse it?"""
        start = self._by_job.get(job)
        return start is not None and start.phase == RUNNING and start.decision.timestamp == self._desk.now

    def drop(self, job: str, reason: str) -> None:
        """A held start will not happen: its hosts are free for others; the simulator forgets the job."""
        desk, start = self._desk, self._by_job[job]
        self._forget(start)
        desk.write(r.StartDropped(desk.now, desk.step, start.serial, reason))
        desk.forward(start.tenant.rank, m.RejectJob(desk.now, job))
        desk.cancelled(start.tenant, job, start.hosts)
        if start.phase == WAITING:
            if start in self._waiting:
                self._waiting.remove(start)
        else:
            self.ledger.release(start.serial)
            self._waiting.freed(start.hosts)
        self._hosts_free(start)

    def of(self, tenant: Tenant) -> list[Start]:
        """A tenant's starts whose hosts are not cleared."""
        return [start for start in self._all.values() if start.tenant is tenant]

    def is_waiting(self, serial: int) -> bool:
        """Does a start wait for its hosts?"""
        start = self._all.get(serial)
        return start is not None and start.phase == WAITING

    def cancel(self, serial: int, reason: str) -> None:
        """A start that waits will not happen."""
        self.drop(self._all[serial].decision.job_id, reason)

    def put_off(self, tenant: Tenant, hosts: HostSet) -> None:
        """What is being prepared for a tenant on hosts waits until they are its own again."""
        for start in self.of(tenant):
            if start.phase == PREPARED and hostset.intersection(start.hosts, hosts):
                self._put_off(start)

    def evict(self, tenant: Tenant, hosts: HostSet) -> list[str]:
        """Drop or put off what a tenant holds on hosts without running there; its jobs that do run."""
        running: list[str] = []
        for start in self.of(tenant):
            if not hostset.intersection(start.hosts, hosts):
                continue
            if start.phase == RUNNING and tenant.gone is None:
                running.append(start.decision.job_id)
            elif start.phase == PREPARED and not tenant.speaks(SHARING):
                self._put_off(start)
            elif start.phase in (WAITING, PREPARED) and tenant.speaks(SHARING):
                self.drop(start.decision.job_id, "its hosts were seized")
        return running

    def grace_until(self, job: str) -> int:
        """The date until which a kill of this job has to wait, 0 if it has not; see ``Revocations``."""
        start = self._by_job.get(job)
        return 0 if start is None else self.revoking.grace_until(start)

    def refused(self, job: str) -> None:
        """The simulator's gate refused a start: the job waits as before."""
        start = self._by_job.get(job)
        if start is not None and start.phase == RUNNING:
            desk = self._desk
            self._forget(start)
            self.ledger.release(start.serial)
            self._waiting.freed(start.hosts)
            desk.write(r.StartDropped(desk.now, desk.step, start.serial, "refused by the simulator"))
            self.revoking.left_by(start)
            self._hosts_free(start)

    def over(self, job: str) -> bool:
        """The simulator said that a job is over; True if its tenant is to be told after an epilog only."""
        start = self._by_job.pop(job, None)
        if start is None:
            return False
        start.phase = CLEANED
        self.revoking.left_by(start)
        self._clean = None
        self.carry_out(self._policy.ended(start.request), start)
        clean, self._clean = self._clean, None
        if clean is None or not clean.ticks:
            self._cleared(start)
            return False
        desk = self._desk
        self.ledger.become(start.serial, NodeState.EPILOG)
        until = desk.now + clean.ticks
        desk.write(r.EpilogBegins(desk.now, desk.step, start.serial, until))
        desk.wake(until, "epilog", start.serial)
        return clean.blocking

    def _cleared(self, start: Start) -> None:
        desk = self._desk
        self._all.pop(start.serial, None)
        self.ledger.release(start.serial)
        self._waiting.freed(start.hosts)
        desk.write(r.HostsCleared(desk.now, desk.step, start.serial))
        self._hosts_free(start)

    def _hosts_free(self, start: Start) -> None:
        """Hosts came out of a use, or a claim on them fell."""
        self.retry()
        if self._policy.lazy:
            request = start.request
            self._desk.later(_call_later(self._policy, request))
        else:
            self.carry_out(self._policy.released(start.request))

    def timer(self, kind: str, key: int | str) -> str | None:
        """A date asked for through ``Desk.wake`` has come; the job whose epilog is over, if it is one."""
        if kind == "prolog":
            start = self._all.get(int(key))
            if start is not None and start.phase == PREPARED:
                if self.away.covers(start.hosts):
                    self._put_off(start)
                else:
                    self.ledger.become(start.serial, NodeState.BUSY)
                    self._release(start)
        elif kind == "epilog":
            start = self._all[int(key)]
            self._cleared(start)
            return start.decision.job_id
        elif kind == "timeout":
            self.revoking.timed_out(int(key))
        elif kind == "seize":
            self.revoking.seize_at_last(int(key))
        elif kind == "give":
            gift = self._gifts.pop(int(key))
            self.give(gift.tenant, gift.hosts)
        else:
            self.carry_out(self._policy.timer(str(key)))
        return None

    # ------------------------------------------------------------------ actions

    def carry_out(self, actions: Iterable[Action], start: Start | None = None) -> None:
        """Do what a policy answered, in order."""
        desk = self._desk
        for action in actions:
            if isinstance(action, (Grant, Hold)):
                continue  # what becomes of a start is ``ask``'s business
            if isinstance(action, Revoke):
                # What an earlier action set off may have taken them already.
                mine = hostset.intersection(action.hosts, self.ledger.lent[action.tenant])
                if mine:
                    tenant = self._tenants[action.tenant]
                    self.revoking.ask(tenant, replace(action, hosts=mine), start)
            elif isinstance(action, Give):
                if action.delay:
                    self._given += 1
                    self._gifts[self._given] = Gift(action.tenant, action.hosts)
                    desk.wake(desk.now + action.delay, "give", self._given)
                else:
                    self.give(action.tenant, action.hosts)
            elif isinstance(action, Deny) and start is not None:
                start.denied = action.reason
            elif isinstance(action, Clean):
                self._clean = action
            else:
                assert isinstance(action, Timer), f"{action!r} means nothing here"
                desk.wake(action.at, "policy", action.key)

    def give(self, rank: int, hosts: HostSet) -> None:
        """Lend hosts, unless a higher rank has taken them since this was decided."""
        ledger, tenant, desk = self.ledger, self._tenants[rank], self._desk
        for other in range(rank):
            hosts = hostset.difference(hosts, hostset.union(ledger.busy[other], self.claims[other]))
        taken = hostset.union(ledger.lent[rank], ledger.leaving[rank])
        hosts = hostset.difference(hostset.difference(hosts, taken), ledger.recalled)
        if tenant.speaks(SHARING) and not tenant.speaks("machine_events"):
            hosts = hostset.difference(hosts, ledger.down)  # it hears of them when they are back
        if not hosts or tenant.gone is not None:
            return
        loan = ledger.lend(rank, hosts)
        desk.write(r.Lent(desk.now, desk.step, loan, tenant.name, hosts))
        if tenant.speaks(SHARING):
            desk.tell(tenant, m.AddResources(desk.now, tenant.hosts.to_own(hosts)))
        self._waiting.freed(hosts)
        self.retry()  # also one of its own that it vacated the hosts under

    # ------------------------------------------------------------------ the whole

    def drop_tenant(self, tenant: Tenant) -> None:
        """Everything a failed tenant holds goes back; its jobs are ended."""
        desk, ledger, rank = self._desk, self.ledger, tenant.rank
        running = [s.decision.job_id for s in self._all.values() if s.tenant is tenant and s.phase == RUNNING]
        if running:
            desk.kill(rank, running)
        for start in list(self._all.values()):
            if start.tenant is tenant and start.phase in (WAITING, PREPARED):
                self.drop(start.decision.job_id, "its scheduler failed")
        self.revoking.seize_all(tenant)
        if lent := ledger.lent[rank]:
            self.revoking.ask(tenant, Revoke(rank, lent))

    def check(self) -> None:
        """Compute the ledger again, and compare starts and revocations with it.

        Raises:
            AssertionError: a bug.
        """
        ledger = self.ledger
        ledger.check()
        for tenant in self._tenants:
            rank = tenant.rank
            open_ = [revocation.hosts for revocation in self.revoking.of(tenant)]
            leaving = hostset.normalise(pair for hosts in open_ for pair in hosts)
            assert leaving == ledger.leaving[rank], "revocations disagree with the ledger"
            mine = self.of(tenant)
            busy = hostset.normalise(pair for s in mine if s.phase != WAITING for pair in s.hosts)
            assert busy == ledger.busy[rank], "starts disagree with the ledger"
            claims = hostset.normalise(pair for s in mine if s.phase == WAITING for pair in s.hosts)
            assert claims == self.claims[rank], "waiting starts disagree with the claims"
        for start in self._all.values():
            assert start.phase != WAITING or start in self._waiting, "a start that nobody waits for"


def _call_later(policy: SharingPolicy, request: StartRequest) -> Iterable[Action]:
    """The policy's answer, worked out when it is needed."""
    yield from policy.released(request)
