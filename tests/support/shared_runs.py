"""Makes legal random runs of a shared park, tick by tick, and accounts for them in the slow and obvious way.

A second is a tick, a job computes one flop a tick on any hosts. What every host does in every tick is written
down, and for every tick of every attempt which flop of the original job it did.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from itertools import count

from batpy.protocol import hostset
from batpy.protocol import records as s
from batpy.protocol import sharing_records as b

OK, KILLED = "COMPLETED_SUCCESSFULLY", "COMPLETED_KILLED"
WAITING, PROLOG, RUNNING, EPILOG = "waiting", "prolog", "running", "epilog"


@dataclass(eq=False)
class Job:
    """One attempt: it has the stages of its original from flop ``first`` on."""

    name: str
    tenant: int
    origin: str
    stages: list[int]
    first: int = 0
    flops: list[int] = field(default_factory=list)
    hosts: tuple[int, ...] = ()
    state: str = ""


@dataclass(eq=False)
class Start:
    serial: int
    job: Job
    hosts: tuple[int, ...]
    phase: str = WAITING
    until: int = -1
    revocations: set[int] = field(default_factory=set)
    revoked_any: bool = False


class ReferenceRun:
    """One run.

    Attributes:
        simulator, broker: the records of both.
        spent: ticks of each host by (tenant, state, host); tenant -1 for nobody.
        jobs: every attempt in order of submission.
        disrupted, restarted: names of attempts that were killed for a revocation, and without one.
    """

    def __init__(self, seed: int, *, ticks: int = 40) -> None:
        self._dice = random.Random(seed)
        dice = self._dice
        self.cores = tuple(dice.choice([1, 1, 2, 4]) for _ in range(dice.randrange(1, 6)))
        self.tenants = tuple("abc"[: dice.randrange(1, 4)])
        self.hosts = range(len(self.cores))
        self.visible = [
            set(self.hosts)
            if dice.random() < 0.7
            else set(dice.sample(self.hosts, dice.randrange(len(self.hosts) + 1)))
            for _ in self.tenants
        ]
        self.now = 0
        self.simulator: list[s.AnyRecord] = []
        self.broker: list[b.AnySharingRecord] = []
        self.jobs: list[Job] = []
        self.spent: Counter[tuple[int, str, int]] = Counter()
        self.disrupted: set[str] = set()
        self.restarted: set[str] = set()
        self._killed_at: dict[str, int] = {}
        self._pending: list[Job] = []
        self._starts: list[Start] = []
        self._lent: list[set[int]] = [set() for _ in self.tenants]
        self._leaving: dict[int, tuple[int, set[int], int]] = {}
        self._down: set[int] = set()
        self._names, self._serials, self._loans, self._revoked = count(1), count(), count(), count()
        self._begin()
        for self.now in range(ticks):
            self._tick(new=self.now < ticks * 2 // 3)
        while self._pending or self._starts:
            self.now += 1
            self._tick(new=False)
        self.now += 1
        self.simulator.append(s.RunEnds(self.now, "done"))
        self.broker.append(b.SharingEnds(self.now, 0, "done"))

    # ------------------------------------------------------------------ events

    def _begin(self) -> None:
        hosts = len(self.cores)
        self.simulator.append(s.RunBegins(0, "1", 1, hosts, 1, False, {}))
        visible = tuple(map(hostset.from_ids, self.visible))
        self.broker.append(b.SharingBegins(0, 0, "1", 1, "random", self.tenants, visible, hosts, self.cores))
        for tenant, mine in enumerate(self.visible):
            self._lend(tenant, mine)

    def _tick(self, *, new: bool) -> None:
        dice = self._dice
        for start in list(self._starts):
            if start.phase == RUNNING and len(start.job.flops) == sum(start.job.stages):
                self._end(start, OK)
            elif start.phase == EPILOG and start.until == self.now:
                self._clear(start)
        if dice.random() < 0.1:
            self._change_hosts()
        if new and dice.random() < 0.1:
            self._restart_one()
        for revocation, (tenant, hosts, until) in list(self._leaving.items()):
            if until <= self.now or dice.random() < 0.3:
                self._vacate(revocation, tenant, hosts)
        self._go_on()
        if new and dice.random() < 0.5:
            name, tenant = f"w!{next(self._names)}", dice.randrange(len(self.tenants))
            stages = [dice.randrange(1, 6) for _ in range(dice.randrange(1, 4))]
            self._submit(Job(name, tenant, name, stages), dynamic=False)
        for job in list(self._pending):
            if dice.random() < 0.5 or not new:
                self._ask(job)
        self._go_on()
        self._look()

    def _submit(self, job: Job, *, dynamic: bool) -> None:
        work = (float(sum(job.stages)), 0.0, 0.0) if dynamic else ()
        record = s.Submitted(self.now, job.name, "p", self.now, 1, -1, "", "", dynamic, work)
        parent = job.origin if dynamic else ""
        self.simulator.append(record)
        self.broker.append(b.JobOwned(self.now, 0, job.name, self.tenants[job.tenant], parent))
        self.jobs.append(job)
        self._pending.append(job)

    def _ask(self, job: Job) -> None:
        """Start a job on hosts that are its tenant's, and that nobody of its rank or above wants."""
        dice, tenant = self._dice, job.tenant
        leaving = {h for rank, hosts, _ in self._leaving.values() if rank == tenant for h in hosts}
        taken = {
            h
            for start in self._starts
            for h in start.hosts
            if start.job.tenant <= tenant or start.phase != RUNNING
        }
        free = sorted(self._lent[tenant] - leaving - taken - self._down)
        if not self.visible[tenant]:
            self._pending.remove(job)
            self.simulator.append(s.Rejected(self.now, job.name))
            job.state = "REJECTED"
            return
        if not free:
            return
        job.hosts = tuple(sorted(dice.sample(free, dice.randrange(1, len(free) + 1))))
        start = Start(next(self._serials), job, job.hosts)
        self._pending.remove(job)
        hosts = hostset.from_ids(job.hosts)
        self.broker.append(b.StartAsked(self.now, 0, start.serial, self.tenants[tenant], job.name, hosts))
        for lower in range(tenant + 1, len(self.tenants)):
            leaving = {h for rank, out, _ in self._leaving.values() if rank == lower for h in out}
            for serial, (rank, out, _) in self._leaving.items():
                if rank == lower and out & set(job.hosts):
                    start.revocations.add(serial)
            if mine := (self._lent[lower] - leaving) & set(job.hosts):
                serial = next(self._revoked)
                self._leaving[serial] = (lower, mine, self.now + dice.randrange(4))
                start.revocations.add(serial)
                out = hostset.from_ids(mine)
                self.broker.append(b.RevokeAsked(self.now, 0, serial, self.tenants[lower], out, start.serial))
                self._disrupt_those_killed_now(lower, mine)
        start.revoked_any = bool(start.revocations)
        if dice.random() < 0.05 and not start.revocations:
            self.broker.append(b.StartDropped(self.now, 0, start.serial, "denied"))
            self._pending.append(job)
            return
        self._starts.append(start)

    def _disrupt_those_killed_now(self, tenant: int, hosts: set[int]) -> None:
        """In one instant nobody can tell whether a kill or the revocation came first."""
        for job in self.jobs:
            ended_now = job.name in self.restarted and self._killed_at[job.name] == self.now
            if ended_now and job.tenant == tenant and set(job.hosts) & hosts:
                self.restarted.remove(job.name)
                self.disrupted.add(job.name)

    def _go_on(self) -> None:
        for start in self._starts:
            if start.phase == WAITING and not start.revocations & self._leaving.keys():
                used = {
                    h
                    for other in self._starts
                    if other is not start and other.phase != WAITING
                    for h in other.hosts
                }
                if used & set(start.hosts):
                    continue
                start.until = self.now
                if start.revoked_any:
                    start.until += self._dice.randrange(3)
                    self.broker.append(b.PrologBegins(self.now, 0, start.serial, start.until))
                start.phase = PROLOG
            if start.phase == PROLOG and start.until <= self.now and not set(start.hosts) & self._down:
                start.phase = RUNNING
                self.broker.append(b.StartReleased(self.now, 0, start.serial))
                self.simulator.append(s.Started(self.now, start.job.name, hostset.from_ids(start.hosts)))

    def _vacate(self, revocation: int, tenant: int, hosts: set[int]) -> None:
        self._kill([x for x in self._running(tenant) if set(x.hosts) & hosts], self.disrupted)
        part = hosts if self._dice.random() < 0.7 else set(self._dice.sample(sorted(hosts), 1))
        self._lent[tenant] -= part
        del self._leaving[revocation]
        if left := hosts - part:
            self._leaving[revocation] = (tenant, left, self.now + 1)
        how = self._dice.choice([b.ACKNOWLEDGED, b.SEIZED])
        out = hostset.from_ids(part)
        self.broker.append(b.Vacated(self.now, 0, revocation, self.tenants[tenant], out, how))

    def _restart_one(self) -> None:
        tenant = self._dice.randrange(len(self.tenants))
        leaving = {h for rank, hosts, _ in self._leaving.values() if rank == tenant for h in hosts}
        running = [x for x in self._running(tenant) if not set(x.hosts) & leaving]
        self._kill(running[:1], self.restarted)

    def _running(self, tenant: int) -> list[Start]:
        return [x for x in self._starts if x.phase == RUNNING and x.job.tenant == tenant]

    def _kill(self, starts: list[Start], why: set[str]) -> None:
        if not starts:
            return
        since, work, left = [], [], []
        for start in starts:
            job, done, over, stages = start.job, len(start.job.flops), 0, list(start.job.stages)
            why.add(job.name)
            self._killed_at[job.name] = self.now
            while len(stages) > 1 and over + stages[0] <= done:
                over += stages.pop(0)
            since.append(self.now - (done - over))
            work.append((float(sum(job.stages)), 0.0, 0.0, float(over), 0.0, 0.0, float(done), 0.0, 0.0))
            left.append(self._left(job, over, done, stages))
        names = tuple(start.job.name for start in starts)
        self.simulator.append(s.KillAsked(self.now, names, {}, tuple(since), tuple(work)))
        for start, again in zip(starts, left, strict=True):
            self._end(start, KILLED)
            self._submit(again, dynamic=True)

    def _left(self, job: Job, over: int, done: int, stages: list[int]) -> Job:
        """Start anew, keep the stages that are over, keep all, or begin the original again."""
        name = f"{job.origin}#{next(self._names)}"
        keep = self._dice.choice(["nothing", "stages", "all", "stages", "original"])
        if keep == "nothing":
            return Job(name, job.tenant, job.origin, job.stages, job.first)
        if keep == "stages":
            return Job(name, job.tenant, job.origin, stages, job.first + over)
        if keep == "original":
            first = next(other for other in self.jobs if other.name == job.origin)
            return Job(name, job.tenant, job.origin, first.stages, 0)
        stages = [stages[0] - (done - over), *stages[1:]]
        return Job(name, job.tenant, job.origin, stages, job.first + done)

    def _end(self, start: Start, state: str) -> None:
        job = start.job
        job.state = state
        self.simulator.append(s.Ended(self.now, job.name, state, 0 if state == OK else -1))
        if state == OK and (epilog := self._dice.choice([0, 0, 1, 3])):
            start.phase, start.until = EPILOG, self.now + epilog
            self.broker.append(b.EpilogBegins(self.now, 0, start.serial, start.until))
        else:
            self._clear(start)
        self.broker.append(b.EndTold(self.now, 0, job.name))

    def _clear(self, start: Start) -> None:
        self._starts.remove(start)
        self.broker.append(b.HostsCleared(self.now, 0, start.serial))
        for tenant in range(len(self.tenants)):
            above = {h for other in self._starts for h in other.hosts if other.job.tenant < tenant}
            back = set(start.hosts) & self.visible[tenant]
            self._lend(tenant, back - above - self._lent[tenant])

    def _lend(self, tenant: int, hosts: set[int]) -> None:
        self._lent[tenant] |= hosts
        if hosts or not self.now:
            out = hostset.from_ids(hosts)
            self.broker.append(b.Lent(self.now, 0, next(self._loans), self.tenants[tenant], out))

    def _change_hosts(self) -> None:
        host = self._dice.choice(self.hosts)
        back = host in self._down
        (self._down.discard if back else self._down.add)(host)
        self.simulator.append(s.HostsChanged(self.now, ((host, host),), back))

    # ------------------------------------------------------------------ the slow accounts

    def _look(self) -> None:
        """What each host does until the next tick; each running attempt does its next flop."""
        for start in self._starts:
            if start.phase == RUNNING:
                start.job.flops.append(start.job.first + len(start.job.flops))
        for host in self.hosts:
            self.spent[(*self._state(host), host)] += 1

    def _state(self, host: int) -> tuple[int, str]:
        on = [(start.phase, start.job.tenant) for start in self._starts if host in start.hosts]
        for phase, told in (
            (RUNNING, "busy"),
            (None, "down"),
            (EPILOG, "epilog"),
            (PROLOG, "prolog"),
            (WAITING, "blocked"),
        ):
            if phase is None and host in self._down:
                return -1, told
            for here, tenant in on:
                if here == phase:
                    return tenant, told
        lent = [tenant for tenant, hosts in enumerate(self._lent) if host in hosts]
        return (lent[-1], "idle") if lent else (-1, "unlent")

    def useful_ticks(self, job: Job) -> int:
        """Ticks of an attempt whose flop no later attempt did again, if the job was done in the end."""
        family = [other for other in self.jobs if other.origin == job.origin]
        if family[-1].state != OK:
            return 0
        later = {flop for other in family[family.index(job) + 1 :] for flop in other.flops}
        return sum(flop not in later for flop in job.flops)
