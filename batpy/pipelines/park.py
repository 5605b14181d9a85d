"""Pipelines as a tenant of a shared park: a policy whose pools are the hosts it may use.

Every host is one pool; a job of the park holds a host while containers are on it. Tick k of the pipeline run
happens at the first tick of the park that is not before k / ticks_per_second seconds. A host that the broker
takes back, or that fails, is a pool withdrawn: its containers are killed (error ``revoked``, their operators
come back to the policy) or written out as soon as their operators end. It is a pool again when it returns.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from batpy.base.errors import InputError
from batpy.models.containers.engine import PipelineRun
from batpy.models.containers.pool import ResourcePool
from batpy.models.containers.statistics import compute_statistics
from batpy.pipelines.command import check_folder
from batpy.pipelines.imports import import_users
from batpy.pipelines.simulate import make_arrivals, make_policy
from batpy.pipelines.tables import write_tables
from batpy.protocol import hostset
from batpy.protocol.messages import Notify, ToJobMsg
from batpy.schedulers.api import Job, Plan, View
from batpy.workloads.pipelines.parameters import ParameterFile, read_parameters

WORKLOAD = "pipelines"
"""The workload of the jobs that hold hosts."""
HOLD = {"type": "recv", "regex": ".*", "success": "", "failure": "", "timeout": "", "polltime": 1e-6}
"""Profile of such a job: it waits for the text that its host is empty, or dies with its containers."""


@dataclass(frozen=True)
class ParkOptions:
    """Options of ``pipelines``.

    Attributes:
        params: parameter file; hosts and their cores take the place of num_pools and cpus_per_pool.
        trace: trace of the workload (default: generate one).
        output: folder for statistics and tables (default: none are written).
        imports: a file with policies of your own.
        on_revoke: ``kill`` the containers on a host that is taken back, or ``suspend`` each of them between
            two operators.
    """

    params: Path
    trace: Path | None = None
    output: Path | None = None
    imports: Path | None = None
    on_revoke: Literal["kill", "suspend"] = "kill"


class ParkPipelines:
    """Data pipelines in containers on whatever hosts there are (see batpy pipelines)."""

    Options = ParkOptions
    registers = True
    wants = ("machine_events", "refusals", "sharing")

    def __init__(self, options: ParkOptions) -> None:
        self._options = options
        if options.imports is not None:
            import_users([str(options.imports)])
        if options.output is not None:
            check_folder(options.output, overwrite=True)
        self._file: ParameterFile = read_parameters(options.params)
        self._run: PipelineRun
        self._hosts: list[int] = []
        self._holders: dict[str, int] = {}
        self._holding: dict[int, Job | None] = {}
        self._waiting: list[Job] = []
        self._dying: set[str] = set()
        self._serial = 0
        self._over = False

    @property
    def run(self) -> PipelineRun:
        """The run, from ``begin`` on."""
        return self._run

    def begin(self, view: View) -> Plan:
        """Make a pool of every host.

        Raises:
            InputError: jobs cannot be registered here.
        """
        if not view.config.get("dynamic-jobs-enabled"):
            told = "holds hosts with jobs that it registers; give its scheduler dynamic_jobs = true"
            raise InputError(told, source="pipelines")
        parameters = self._file.parameters
        self._hosts = [host for first, last in view.hosts for host in range(first, last + 1)]
        records = {record["id"]: record for record in view.greeting.compute_resources}
        sizes = [_size(records.get(host, {}), self._file) for host in self._hosts]
        trace = None if self._options.trace is None else str(self._options.trace)
        self._run = PipelineRun(parameters, make_arrivals(parameters, trace), pool_sizes=sizes)
        self._policy = self._run.policy = make_policy(self._run, self._file)
        plan = Plan(view)
        plan.register_profile(WORKLOAD, "hold", HOLD)
        self._go_on(plan, view, 0)
        return plan

    def decide(self, view: View) -> Plan:
        """Go on to the present tick, and hold the hosts on which there are containers."""
        plan = Plan(view)
        present = view.now * self._run.parameters.ticks_per_second // view.ticks_per_second
        if not self._over:
            # What happened to hosts happens in the present tick or, between two ticks, in the next one.
            self._run.advance(present - (self._date(view, present) == view.now))
        for job in view.ended:
            self._lost(job)
        for job in view.arrived:
            if job.id in self._holders:
                self._waiting.append(job)
            else:  # its start was refused, and its containers are gone
                plan.reject(job, "its host is needed no more")
        self._go_on(plan, view, present)
        return plan

    def _go_on(self, plan: Plan, view: View, present: int) -> None:
        self._follow_hosts(view)
        if not self._over:
            self._run.advance(present)
            self._over = self._run.is_over
            if self._over:
                self._finish(plan, view)
        self._hold(plan, view)
        self._let_go(plan, view)
        if not self._over:
            plan.wake(max(view.now + 1, self._date(view, self._run.next_tick())))

    def _date(self, view: View, tick: int) -> int:
        return -(-tick * view.ticks_per_second // self._run.parameters.ticks_per_second)

    # ------------------------------------------------------------------ hosts

    def _follow_hosts(self, view: View) -> None:
        """Withdraw pools whose hosts are gone, restore those that are back."""
        for index, host in enumerate(self._hosts):
            pool = self._run.executor.pools[index]
            gone = hostset.intersection(view.down, ((host, host),)) != ()
            if gone and pool.is_open:
                self._run.withdraw(index, self._options.on_revoke)
            elif not gone and not pool.is_open and pool.is_vacant:
                self._run.restore(index)

    def _hold(self, plan: Plan, view: View) -> None:
        """A job for each host with containers that has none yet."""
        for index, host in enumerate(self._hosts):
            if host not in self._holding and self._is_needed(self._run.executor.pools[index]):
                self._serial += 1
                name = f"{WORKLOAD}!h{host}_{self._serial}"
                self._holders[name] = host
                self._holding[host] = None
                now = view.now / view.ticks_per_second
                plan.register_job(name, {"id": name, "subtime": now, "res": 1, "profile": "hold"})
        waiting, self._waiting = self._waiting, []
        for job in waiting:
            host = self._holders[job.id]
            place = ((host, host),)
            if self._holding.get(host) is not None or not self._is_needed(self._pool(host)):
                plan.reject(job, "its host is empty again")
                self._forget(job)
            elif hostset.intersection(plan.free, place) == place:
                plan.start(job, place)
                self._holding[host] = job
            else:
                self._waiting.append(job)

    def _let_go(self, plan: Plan, view: View) -> None:
        for host, job in list(self._holding.items()):
            if job is not None and job.id not in self._dying and not self._is_needed(self._pool(host)):
                self._dying.add(job.id)
                if self._options.on_revoke == "kill" and job in view.evicted:
                    plan.kill(job)
                else:
                    plan.say(ToJobMsg(view.now, job.id, "empty"))

    def _is_needed(self, pool: ResourcePool) -> bool:
        return not pool.is_vacant and not self._over

    def _pool(self, host: int) -> ResourcePool:
        return self._run.executor.pools[self._hosts.index(host)]

    def _lost(self, job: Job) -> None:
        """A job left its host; if that was not our wish, the containers there are gone with it."""
        host = self._holders.get(job.id)
        if host is None or self._holding.get(host) is not job:
            return
        if job.id not in self._dying and not self._pool(host).is_vacant:
            self._run.withdraw(self._hosts.index(host), "kill")
        self._forget(job)

    def _forget(self, job: Job) -> None:
        host = self._holders.pop(job.id)
        self._dying.discard(job.id)
        if self._holding.get(host) in (None, job):
            self._holding.pop(host, None)

    # ------------------------------------------------------------------ the end

    def _finish(self, plan: Plan, view: View) -> None:
        self._policy.close()
        plan.say(Notify(view.now, "registration_finished"))
        if self._options.output is not None:
            write_tables(self._options.output, self._run, compute_statistics(self._run))


def _size(record: dict[str, Any], file: ParameterFile) -> tuple[float, float]:
    """CPUs and GB of a host: its cores and its memory where the platform names them."""
    parameters = file.parameters
    cores = record.get("core")
    cpus = cores if isinstance(cores, int) and cores > 1 else parameters.cpus_per_pool
    memory = record.get("properties", {}).get("memory")
    try:
        ram = float(memory) / 1e9 if memory is not None else parameters.ram_gb_per_pool
    except (TypeError, ValueError):
        ram = parameters.ram_gb_per_pool
    return cpus, ram
