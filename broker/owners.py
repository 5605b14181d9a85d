"""Whose is an event: tables of jobs, timers, questions and power switches, by who asked or registered.

Nothing on the wire says who asked for a call or a measurement: each table keeps the order of asking.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import msgspec

from batpy.base.errors import InputError
from batpy.broker.tenants import Tenant
from batpy.protocol import messages as m
from batpy.protocol.hostset import HostSet

BROKER = -1
"""Owner of the broker's own timers and kills."""


class Owned(msgspec.Struct, gc=False):
    """A job that is not over."""

    rank: int
    profile: str
    started: bool = False


class Owners:
    """Tables of owners.

    Args:
        tenants: by rank; each names its workloads.
    """

    def __init__(self, tenants: Sequence[Tenant]) -> None:
        self._tenants = tenants
        self._workloads: dict[str, int] = {}
        self._profiles: dict[str, dict[str, m.Json]] = {}
        for tenant in tenants:
            for workload in tenant.config.workloads:
                if workload in self._workloads:
                    other = tenants[self._workloads[workload]].name
                    raise InputError(
                        f"workload {workload!r} is routed to both {other} and {tenant.name}",
                        path="broker.routes",
                    )
                self._workloads[workload] = tenant.rank
        self._jobs: dict[str, Owned] = {}
        self._known: set[str] = set()
        self._registered: set[str] = set()
        self._kills: dict[str, bool] = {}  # job to be killed: by the broker itself?
        self._calls: dict[int, deque[int]] = {}
        self._queries: deque[int] = deque()
        self._switches: list[tuple[HostSet, str, int]] = []
        self._said: list[tuple[str, int, object]] = []
        self._relabelled: dict[str, Owned] = {}  # as it was before the last CHANGE_JOB_STATE

    # ------------------------------------------------------------------ workloads and jobs

    def workloads(self, begins: m.SimulationBegins) -> None:
        """Take the simulator's workloads.

        Raises:
            InputError: one of them has no scheduler.
        """
        for workload in begins.workloads:
            if workload not in self._workloads:
                names = ", ".join(t.name for t in self._tenants)
                raise InputError(
                    f"workload {workload!r} has no scheduler; name one of {names} in its table or route it "
                    f"({workload}=NAME)",
                    path="broker.routes",
                )
        self._profiles = {w: dict(known) for w, known in begins.profiles.items()}

    def workload_owner(self, workload: str) -> int | None:
        """The tenant of a workload, None if it is nobody's yet."""
        return self._workloads.get(workload)

    def claim(self, workload: str, rank: int) -> None:
        """A workload that appeared at run time belongs to who registers in it first."""
        self._workloads.setdefault(workload, rank)

    def add_profile(self, workload: str, name: str, profile: m.Json) -> None:
        """A tenant registered a profile."""
        self._profiles.setdefault(workload, {})[name] = profile

    def add_job(self, job: str, rank: int, profile: str) -> None:
        """A job was submitted to, or registered by, a tenant."""
        self._jobs[job] = Owned(rank, profile)
        self._known.add(job)

    def register(self, job: str) -> None:
        """A tenant registered this job; its JOB_SUBMITTED may follow."""
        self._registered.add(job)

    def unregister(self, job: str) -> None:
        """The simulator refused to register a job: there is no such job."""
        self._registered.discard(job)
        self._known.discard(job)
        self.forget(job)

    def registered(self, job: str) -> bool:
        """Was this job registered by a tenant (asked once)?"""
        if job in self._registered:
            self._registered.discard(job)
            return True
        return False

    def parent_of(self, job: str, raw: m.Json) -> str:
        """The job that this one is a further attempt of, or "".

        A job says it in ``parent_job``. Schedulers built on pybatsim call the k-th attempt of X ``X#k``.
        """
        workload = job.partition("!")[0]
        parent = raw.get("parent_job")
        if isinstance(parent, str) and parent:
            return parent if "!" in parent else f"{workload}!{parent}"
        origin, mark, number = job.rpartition("#")
        return origin if mark and number.isdigit() and origin in self._known else ""

    def job(self, job: str) -> Owned | None:
        """What is known of a job that is not over."""
        return self._jobs.get(job)

    def of_job(self, job: str) -> int | None:
        """Rank of a job's tenant; a job that nobody told us of is its workload's."""
        owned = self._jobs.get(job)
        return owned.rank if owned is not None else self._workloads.get(job.partition("!")[0])

    def is_known(self, job: str) -> bool:
        """Was there ever such a job?"""
        return job in self._known

    def relabel(self, job: str, *, over: bool) -> None:
        """A tenant said that a job runs without a host, or is over."""
        owned = self._jobs[job]
        self._relabelled[job] = Owned(owned.rank, owned.profile, owned.started)
        owned.started = True
        if over:
            self.forget(job)

    def relabel_refused(self, job: str) -> None:
        """The job is what it was before its last CHANGE_JOB_STATE."""
        if job in self._relabelled:
            self._jobs[job] = self._relabelled.pop(job)

    def forget(self, job: str) -> None:
        """A job is over."""
        self._jobs.pop(job, None)

    def waiting(self, rank: int) -> list[str]:
        """A tenant's jobs that it has not started."""
        return [job for job, owned in self._jobs.items() if owned.rank == rank and not owned.started]

    def of_rank(self, rank: int) -> list[str]:
        """A tenant's jobs that are not over."""
        return [job for job, owned in self._jobs.items() if owned.rank == rank]

    def profile_of(self, job: str) -> tuple[str, dict[str, m.Json]]:
        """Name of a job's profile, and the profiles of its workload as far as they are known."""
        owned = self._jobs.get(job)
        return (owned.profile if owned is not None else ""), self._profiles.get(job.partition("!")[0], {})

    def kill(self, jobs: list[str], *, by_broker: bool = False) -> None:
        """These jobs are about to be killed."""
        for job in jobs:
            self._kills.setdefault(job, by_broker)

    def start_refused(self, job: str) -> None:
        """The simulator refused to start a job: it waits as before, and no kill of it will be told."""
        self._kills.pop(job, None)
        if job in self._jobs:
            self._jobs[job].started = False

    def is_dying(self, job: str) -> bool:
        """Is the job about to be killed?"""
        return job in self._kills

    def killed_by_broker(self, job: str) -> bool:
        """Was a killed job the broker's own victim (asked once)?"""
        return self._kills.pop(job, False)

    # ------------------------------------------------------------------ timers, questions, switches

    def call(self, at: int, owner: int) -> bool:
        """Someone wants to be called; True if the simulator is to be asked for it."""
        queue = self._calls.setdefault(at, deque())
        if owner == BROKER and BROKER in queue:
            return False
        queue.append(owner)
        return True

    def called(self, date: int) -> int | None:
        """Who is meant by a call of this date (the real Batsim rounds: the earliest one due counts)."""
        at = date if date in self._calls else min(self._calls, default=None)
        if at is None:
            return None
        owner = self._calls[at].popleft()
        if not self._calls[at]:
            del self._calls[at]
        return owner

    def ask(self, rank: int) -> None:
        """A tenant asked a question."""
        self._queries.append(rank)

    def answered(self) -> int | None:
        """Who asked the oldest question."""
        return self._queries.popleft() if self._queries else None

    def switch(self, hosts: HostSet, state: int, rank: int) -> None:
        """A tenant asked for a pstate."""
        self._switches.append((hosts, str(state), rank))
        self.say("SET_RESOURCE_STATE", rank, self._switches[-1])

    def switched(self, event: m.ResourceStateChanged) -> int | None:
        """Who asked for the pstate that was reached."""
        for index, (hosts, state, rank) in enumerate(self._switches):
            if hosts == event.resources and state == event.state:
                del self._switches[index]
                return rank
        return None

    # ------------------------------------------------------------------ refusals

    def new_reply(self) -> None:
        """What was said before can be refused no more."""
        self._said.clear()
        self._relabelled.clear()

    def say(self, name: str, rank: int, subject: object = None) -> None:
        """A decision that names no job goes to the simulator; *subject*: what the tables keep of it."""
        self._said.append((name, rank, subject))

    def last_said(self, name: str) -> int | None:
        """Who said the first decision of that name which was not taken back yet, and take it back."""
        for index, (word, rank, subject) in enumerate(self._said):
            if word == name:
                del self._said[index]
                self._take_back(name, rank, subject)
                return rank
        return None

    def _take_back(self, name: str, rank: int, subject: object) -> None:
        """Nothing will come of a decision: nobody waits for it any more."""
        if name == "QUERY" and rank in self._queries:
            self._queries.remove(rank)
        elif name == "CALL_ME_LATER" and isinstance(subject, int) and rank in self._calls.get(subject, ()):
            self._calls[subject].remove(rank)
            if not self._calls[subject]:
                del self._calls[subject]
        elif name == "SET_RESOURCE_STATE":
            self._switches = [switch for switch in self._switches if switch is not subject]
