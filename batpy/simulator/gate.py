"""The gate: every decision is checked against the truth before anything changes.

Each check returns the rule that is broken, as one line, or None. A refusal is a value; what it means (the
run stops, or the scheduler is told) is the simulator's business. Rules: Batsim 4.2.1's, and where Batsim
aborts on a harmless race (a kill of a job that just ended), its documentation's intent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from batpy.base.errors import InputError
from batpy.models.execution import Execution, Tree, leaves, resolve
from batpy.protocol import hostset
from batpy.protocol import messages as m
from batpy.simulator.jobs import RUNNING, SUBMITTED, Entry, Home, JobTable
from batpy.simulator.park import Park
from batpy.workloads.job import Job
from batpy.workloads.job_object import parse_job, refuse_large_integers
from batpy.workloads.profile import (
    DataStaging,
    Delay,
    Parallel,
    Profile,
    Smpi,
    StageDag,
    UsageTrace,
    parse_profile,
    storage_labels,
)

Reason = str | None


class Ignored(str):
    """The reason why a decision has no effect, where Batsim 4.2.1 says so in its log and goes on."""

    __slots__ = ()


Placement = tuple[Sequence[int], Mapping[str, int]]
"""Host id of each executor, and of each storage label."""
NOWHERE: Placement = ((), {})
RANKS = "smpi_ranks_to_hosts_mapping"
"""Field of a job that names the executor of each rank of the traces it replays."""

REGISTRATION_NOTICES = ("registration_finished", "continue_registration")

_RELABEL = {
    SUBMITTED: frozenset({RUNNING, m.REJECTED}),
    RUNNING: m.FINAL_STATES,
}


class Gate:
    """Checks decisions; owns nothing."""

    def __init__(self, jobs: JobTable, park: Park, execution: Execution) -> None:
        self._jobs = jobs
        self._park = park
        self._execution = execution
        # Leaves whose size is that of their job and that need no look at their parts.
        self._leaves = frozenset({Delay})

    def waiting_job(self, id_: str) -> Entry | str:
        """The submitted, not started job of this id, or the rule that is broken."""
        entry = self.live_job(id_)
        if isinstance(entry, Entry) and entry.phase != SUBMITTED:
            return f"job {id_} is already running"
        return entry

    def live_job(self, id_: str) -> Entry | str:
        """The submitted job of this id that is not over, or the rule that is broken."""
        entry = self._jobs.alive.get(id_)
        if entry is None:
            return f"job {id_} {'is already over' if id_ in self._jobs.ended else 'was not submitted'}"
        return entry

    def execute(self, decision: m.ExecuteJob, entry: Entry, tree: Tree) -> Reason:
        """May this job start on these hosts, now?"""
        alloc = decision.alloc
        if not alloc:
            return "alloc is empty; a job needs at least one host"
        reason = self._park.why_not(alloc)
        if reason is not None:
            return reason
        hosts, mapping = hostset.size(alloc), decision.mapping
        executors = hosts
        if mapping is not None:
            executors = len(mapping)
            reason = _mapping(mapping, hosts)
            if reason is not None:
                return reason
        if executors != entry.job.res and not tree.any_size:
            what = "executors are mapped" if mapping is not None else "hosts are given"
            return f"job {entry.id} asked for {entry.job.res} hosts, {executors} {what}"
        return None

    def placement(self, decision: m.ExecuteJob, entry: Entry, tree: Tree) -> Placement | str:
        """Where executors and storage labels of a job that passed ``execute`` lie, or the broken rule."""
        places = list(hostset.ids(decision.alloc))
        mapping = decision.mapping
        hosts = places if mapping is None else [places[mapping[str(i)]] for i in range(len(mapping))]
        storage: dict[str, int] = {}
        for leaf in leaves(tree):
            reason = self.places(leaf, hosts, decision, storage) or _ranks(leaf, entry, len(hosts))
            if reason is not None:
                return f"profile {leaf.name!r} of job {entry.id} {reason}"
        return hosts, storage

    def places(
        self, leaf: Profile, hosts: Sequence[int], decision: m.ExecuteJob, storage: dict[str, int]
    ) -> Reason:
        """May this leaf run on these hosts? Adds the host of each storage label that it names."""
        return self._computes(leaf, hosts) or self._stores(leaf, decision, storage)

    def exist(self, hosts: hostset.HostSet) -> Reason:
        """Are there such hosts?"""
        if not hosts:
            return "alloc is empty; it needs at least one host"
        return self._park.missing(hosts)

    def _computes(self, leaf: Profile, hosts: Sequence[int]) -> Reason:
        """Does the profile fit the executors, and are those that compute on compute hosts?"""
        first_storage = self._park.nb_compute
        if isinstance(leaf, UsageTrace) and not leaf.ranks:
            return "replays traces that were not read; only those of a workload file are"
        if isinstance(leaf, Parallel):
            if len(leaf.cpu) != len(hosts):
                return f"is for {len(leaf.cpu)} executors, {len(hosts)} are given"
            busy = [host for host, flops in zip(hosts, leaf.cpu, strict=True) if flops > 0]
        else:
            computes = getattr(leaf, "cpu", 0) > 0 or isinstance(leaf, (UsageTrace, StageDag))
            busy = list(hosts) if computes else []
        wrong = [host for host in busy if host >= first_storage]
        if wrong:
            return f"would compute on host {wrong[0]}, which has the role storage"
        return self._seats(leaf, hosts) if isinstance(leaf, StageDag) else None

    def _seats(self, leaf: StageDag, hosts: Sequence[int]) -> Reason:
        """Is there a slot for each resource profile?"""
        from batpy.models.dag.blueprint import missing_slots  # few workloads hold applications of stages

        profile = missing_slots(leaf.dag, self._park.cores(hosts))
        return None if profile is None else f"has no slot for resource profile {profile} on these hosts"

    def _stores(self, leaf: Profile, decision: m.ExecuteJob, storage: dict[str, int]) -> Reason:
        """Find the host of each storage label (Batsim 4.2.1: a single storage host need not be named)."""
        park, given = self._park, decision.storage_mapping or {}
        for label in storage_labels(leaf):
            host = given.get(label)
            if host is None and park.size == park.nb_compute + 1 and not isinstance(leaf, DataStaging):
                host = park.nb_compute
            if host is None:
                there = park.size - park.nb_compute
                return f"needs storage_mapping to name a host for {label!r}; there are {there} storage hosts"
            if not park.nb_compute <= host < park.size:
                return f"would use host {host} as {label!r}, which has not the role storage"
            storage[label] = host
        return None

    def profile_of(self, entry: Entry) -> Tree | str:
        """The job's profile, resolved, or the rule that is broken."""
        job, home = entry.job, entry.home
        behaviour = job.behaviour
        if behaviour is not None:
            # A profile that travels with its job is forgotten with it.
            if type(behaviour) in self._leaves:
                return Tree(behaviour, (), False, True)
            return self._resolved(behaviour, home, {})
        known = home.runnable.get(job.profile)
        if known is not None:
            return known
        profile = home.profile(job.profile)
        if profile is None:
            return f"profile {job.profile!r} of job {entry.id} is not known"
        tree = self._resolved(profile, home, home.trees)
        if isinstance(tree, Tree):
            home.runnable[job.profile] = tree
        return tree

    def _resolved(self, profile: Profile, home: Home, cache: dict[str, Tree]) -> Tree | str:
        tree = resolve(profile, home.profile, cache)
        if isinstance(tree, Tree):
            for leaf in leaves(tree):
                if not self._execution.supports(leaf):
                    kind = leaf.raw.get("type")
                    return f"profile {leaf.name!r} is of type {kind!r}, which this version cannot run"
        return tree

    def kill(self, decision: m.KillJob) -> Reason:
        """May these jobs be killed? Jobs already over may."""
        if not decision.job_ids:
            return "job_ids is empty"
        for id_ in decision.job_ids:
            entry = self._jobs.alive.get(id_)
            if entry is None:
                if id_ not in self._jobs.ended:
                    return f"job {id_} was not submitted"
            elif entry.run is None:
                return f"job {id_} is not running"
        return None

    def call(self, decision: m.CallMeLater, now: int) -> bool:
        """Is the wanted date in the future?"""
        return decision.at > now

    def registration(self, *, dynamic_jobs: bool, is_open: bool) -> Reason:
        """May anything be registered now?"""
        if not dynamic_jobs:
            return "dynamic registration is off; it needs dynamic_jobs (--enable-dynamic-jobs)"
        if not is_open:
            return "registration was declared finished; NOTIFY continue_registration opens it again"
        return None

    def new_profile(self, decision: m.RegisterProfile, home: Home | None) -> Profile | str:
        """The profile to be registered, or the rule that is broken: its name must be new."""
        name = decision.profile_name
        if not decision.workload_name or "!" in decision.workload_name:
            return f"workload_name {decision.workload_name!r} must be a text without '!'"
        if home is not None and home.is_taken(name):
            return f"profile {name!r} of workload {home.id} already exists"
        try:
            refuse_large_integers(decision.profile, path="data.profile")
            profile = parse_profile(name, decision.profile, path="data.profile")
        except InputError as why:
            return str(why)
        if isinstance(profile, (Smpi, UsageTrace)):
            return "profiles that replay trace files cannot be registered by a scheduler"
        return profile

    def new_job(self, decision: m.RegisterJob, home: Home | None, ticks_per_second: int) -> Job | str:
        """The job to be registered, or the rule that is broken: its id must be new, its workload and its
        profile known."""
        workload, mark, name = decision.job_id.partition("!")
        if not mark or not name or "!" in name:
            return f"job_id {decision.job_id!r} is not WORKLOAD!NAME"
        if home is None:
            return f"workload {workload!r} does not exist; REGISTER_PROFILE creates it"
        if self._jobs.is_known(decision.job_id) or home.has_static_job(name):
            return f"job {decision.job_id} already exists"
        try:
            refuse_large_integers(decision.job, path="data.job")
            job = parse_job(
                decision.job, workload=workload, ticks_per_second=ticks_per_second, path="data.job"
            )
        except InputError as why:
            return str(why)
        if job.id != name:
            return f"data.job.id {job.id!r} is not the job {decision.job_id}"
        return _profile_of_new(job, home) or job

    def relabel(self, decision: m.ChangeJobState) -> Entry | str:
        """The job whose state may be changed like this, or the rule that is broken."""
        entry = self.live_job(decision.job_id)
        if isinstance(entry, str):
            return entry
        if entry.run is not None:
            return f"job {entry.id} runs on hosts; only KILL_JOB ends it"
        if decision.job_state not in _RELABEL[entry.phase]:
            return f"job {entry.id} cannot go from {entry.phase} to {decision.job_state}"
        return entry

    def notice(self, decision: m.Notify) -> Reason:
        """Is it something that a scheduler says?"""
        if decision.type in REGISTRATION_NOTICES:
            return None
        return f"type {decision.type!r} is not known; a scheduler says {' or '.join(REGISTRATION_NOTICES)}"

    def query(self, decision: m.Query, *, energy: bool) -> Reason:
        """Can the question be answered?"""
        if list(decision.requests) != ["consumed_energy"]:
            return f"requests must hold exactly consumed_energy, got {sorted(decision.requests)}"
        return None if energy else energy_is_off("QUERY consumed_energy")

    def answer(self, decision: m.Answer) -> Reason:
        """Does it answer what Batsim may ask?"""
        return "the simulator asked no such question" if decision.estimate_waiting_time is None else None

    def hello(self, *, first: bool) -> Reason:
        """Is it the first thing that is said?"""
        return None if first else "HELLO must be the first decision of the first reply"

    def metadata(self, decision: m.SetJobMetadata) -> Reason:
        """Does the job exist, and can the text stand in a table?"""
        if '"' in decision.metadata or "\n" in decision.metadata or "\r" in decision.metadata:
            return "metadata must not contain a double quote or a line break"
        if not self._jobs.is_known(decision.job_id):
            return f"job {decision.job_id} was not submitted"
        return None


def _profile_of_new(job: Job, home: Home) -> Reason:
    """Is the profile of a job to be registered known, kept, and of its size?"""
    profile = home.profile(job.profile)
    if profile is None:
        return f"profile {job.profile!r} of workload {home.id} is not known"
    dropped = home.why_dropped(job.profile)
    if dropped is None and isinstance(profile, Parallel) and len(profile.cpu) != job.res:
        return f"profile {job.profile!r} is for {len(profile.cpu)} hosts, the job asks for {job.res}"
    return dropped


def _ranks(leaf: Profile, entry: Entry, executors: int) -> Reason:
    """Does the job's own mapping, if there is one, place every rank of a trace?"""
    ranks = entry.job.raw.get(RANKS)
    if not isinstance(leaf, UsageTrace) or ranks is None:
        return None
    if not isinstance(ranks, list) or len(ranks) < len(leaf.ranks):
        return f"has {len(leaf.ranks)} ranks; {RANKS} of the job must be a list of as many executors"
    wrong = [rank for rank in ranks if type(rank) is not int or not 0 <= rank < executors]
    return f"is given {executors} executors; {RANKS} of the job names {wrong[0]!r}" if wrong else None


def _mapping(mapping: dict[str, int], hosts: int) -> Reason:
    """Is every executor on a position inside the allocation?"""
    for number in range(len(mapping)):
        place = mapping.get(str(number))
        if place is None:
            return f"mapping must have exactly the keys 0 to {len(mapping) - 1}; {number} is missing"
        if not 0 <= place < hosts:
            allowed = f"it must be a position from 0 to {hosts - 1}"
            return f"mapping of executor {number} is {place}; {allowed}"
    return None


def energy_is_off(what: str) -> str:
    """The refusal of everything that needs an energy model."""
    return f"{what} needs energy to be simulated (energy = true in [simulation], or --energy)"
