"""Registering what is left of stopped jobs: names that never clash, profiles, and a trail to the origin.

Attempt k of job ``w0!3`` is ``w0!3#k`` and profile ``seq`` becomes ``seq#k``, as pybatsim names them; a
number whose name was heard of is left out. Each attempt tells the original job in ``parent_job``, both in
its job object and, with ``nb_resubmit``, in its metadata (pybatsim 3.2.1's form).

Without profile reuse a simulator forgets profiles along with the jobs that used them: then every attempt
gets copies of its own.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from batpy.protocol.messages import Json, SetJobMetadata, SimulationBegins
from batpy.schedulers.api import Job, Plan, View
from batpy.schedulers.bigdata.remains import ProfileTree, composed_object, profile_tree


@dataclass(frozen=True, slots=True, eq=False)
class Attempt:
    """One go at a job.

    Attributes:
        job_id: full id of this attempt.
        origin: full id of the job that the user submitted.
        serial: rank of arrival of that one, which all attempts inherit.
        number: 0 for the original, then 1, 2, ...
        tree: what this attempt has to do.
        raw: its job object.
    """

    job_id: str
    origin: str
    serial: int
    number: int
    tree: ProfileTree
    raw: Json

    @property
    def workload(self) -> str:
        """The workload that it belongs to."""
        return self.job_id.partition("!")[0]


class Registrar:
    """Knows every name that was heard of, and registers new ones.

    Args:
        begins: the first message of the conversation.
    """

    def __init__(self, begins: SimulationBegins) -> None:
        self._profiles: dict[str, dict[str, Json]] = defaultdict(
            dict, {workload: dict(profiles) for workload, profiles in begins.profiles.items()}
        )
        self._trees: dict[str, dict[str, ProfileTree]] = defaultdict(dict)
        self._counts: dict[tuple[str, str], int] = {}
        self._jobs: set[str] = set()
        self._reuse = bool(begins.config.get("profile-reuse-enabled"))

    def first_attempt(self, job: Job) -> Attempt:
        """A job that the user submitted."""
        self._jobs.add(job.id)
        workload = job.id.partition("!")[0]
        name, profiles = str(job.raw.get("profile")), self._profiles[workload]
        if job.profile is not None:
            profiles.setdefault(name, job.profile)
        tree = profile_tree(name, profiles.get, self._trees[workload])
        return Attempt(job.id, job.id, job.serial, 0, tree, job.raw)

    def next_attempt(self, view: View, plan: Plan, last: Attempt, left: ProfileTree) -> Attempt:
        """Register what is *left* of an attempt that was stopped, as a job submitted now."""
        tree = self.register(plan, last.workload, left)
        number = last.number + 1
        while (job_id := f"{last.origin}#{number}") in self._jobs:
            number += 1
        self._jobs.add(job_id)
        subtime = view.now / view.ticks_per_second
        changed = {"id": job_id, "subtime": subtime, "profile": tree.name, "parent_job": last.origin}
        raw = {**last.raw, **changed}
        plan.register_job(job_id, raw)
        shown = last.origin.translate(_UNSAFE)
        trail = f"{{'parent_job': '{shown}', 'nb_resubmit': {number}}}"
        plan.say(SetJobMetadata(view.now, job_id, trail))
        return Attempt(job_id, last.origin, last.serial, number, tree, raw)

    def register(self, plan: Plan, workload: str, tree: ProfileTree) -> ProfileTree:
        """Register the profiles of a tree that have no name, parts first; the tree with all names."""
        return self._register(plan, workload, tree, {})

    def register_object(self, plan: Plan, workload: str, base: str, raw: Json) -> str:
        """Register one profile under a new name made of *base*; the name."""
        known, key = self._profiles[workload], (workload, base)
        number = self._counts.get(key, 0) + 1
        while (name := f"{base}#{number}") in known:
            number += 1
        self._counts[key] = number
        known[name] = raw
        plan.register_profile(workload, name, raw)
        return name

    @property
    def reuse(self) -> bool:
        """True if a profile that was registered can be named as long as the simulation lasts."""
        return self._reuse

    def _register(
        self, plan: Plan, workload: str, tree: ProfileTree, done: dict[int, ProfileTree]
    ) -> ProfileTree:
        known = done.get(id(tree))
        if known is not None:
            return known
        # A profile that we never saw, or that replays files, can only be named.
        fixed = not tree.raw or tree.raw.get("type") in _REPLAYS
        if tree.name is not None and (self._reuse or fixed):
            return tree
        parts = tuple(self._register(plan, workload, part, done) for part in tree.parts)
        raw = composed_object(tree, [str(part.name) for part in parts]) if parts else tree.raw
        name = self.register_object(plan, workload, tree.base, raw)
        new = ProfileTree(name, tree.base, raw, parts, tree.repeat, tree.scales, tree.flops, tree.seconds)
        done[id(tree)] = new
        return new


_REPLAYS = ("smpi", "usage_trace")  # Batsim lets nobody register these

# Batsim takes no double quote in a metadata; a single one would end the text that pybatsim reads.
_UNSAFE = str.maketrans({'"': "_", "'": "_", "\\": "_", "\n": " ", "\r": " "})
