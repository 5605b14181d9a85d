"""Jobs the simulation knows: alive ones in full, ended ones by name only."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from batpy.models.execution import Run, Tree
from batpy.protocol.hostset import EMPTY, HostSet
from batpy.workloads.job import Job, Workload
from batpy.workloads.profile import Composed, Profile

SUBMITTED = "SUBMITTED"
RUNNING = "RUNNING"


class Entry(msgspec.Struct, eq=False):
    """One job that was submitted and is not over.

    Attributes:
        id: full id, ``workload!name``.
        home: the workload it belongs to.
        run: its execution, while it occupies hosts.
        inbox: texts sent with TO_JOB_MSG and not yet read.
    """

    id: str
    home: Home
    job: Job
    phase: str = SUBMITTED
    alloc: HostSet = EMPTY
    run: Run | None = None
    inbox: list[str] = []


class Home:
    """Profiles and names of one workload, static or dynamic.

    Attributes:
        static: the workload read at the start, or None for one that a scheduler created.
        trees: resolved profiles by name; ``runnable``: those whose every leaf has a model.
        on_over: told the name of each job that is over, if some jobs wait for others.
        dropped: profiles whose jobs ended, with the parts of sequences; no new job may name them (Batsim
            without profile reuse).
    """

    def __init__(self, id_: str, static: Workload | None) -> None:
        self.id = id_
        self.static = static
        self.on_over: Callable[[str], None] | None = None
        self._registered: dict[str, Profile] = {}
        self._of_static: Mapping[str, Profile] = static.profiles if static is not None else {}
        self._taken = frozenset() if static is None else static.taken_names
        self.trees: dict[str, Tree] = {}
        self.runnable: dict[str, Tree] = {}
        self.dropped: set[str] = set()
        self._static_names: frozenset[str] | None = None

    def profile(self, name: str) -> Profile | None:
        """The profile of this name, or None."""
        return self._registered.get(name) or self._of_static.get(name)

    def is_taken(self, name: str) -> bool:
        """True if a profile of this name ever existed here."""
        return name in self._registered or name in self._of_static or name in self._taken

    def why_dropped(self, name: str) -> str | None:
        """The rule that forbids new jobs to name this profile, or None."""
        if name not in self.dropped:
            return None
        return f"profile {name!r} went with the jobs that used it; profile_reuse keeps profiles"

    def drop(self, name: str) -> None:
        """No new job may name this profile any more; if it is a sequence, none of its parts either."""
        names = [name]
        while names:
            name = names.pop()
            if name not in self.dropped:
                self.dropped.add(name)
                profile = self.profile(name)
                if isinstance(profile, Composed):
                    names += profile.seq

    def add_profile(self, profile: Profile) -> None:
        """Register a new profile."""
        self._registered[profile.name] = profile

    def remember(self, behaviour: Profile) -> None:
        """Know a profile that came with a job, so that a job registered later may name it."""
        self._registered.setdefault(behaviour.name, behaviour)

    def has_static_job(self, name: str) -> bool:
        """True if the workload's file holds a job of this name, submitted or not."""
        if self.static is None:
            return False
        if self._static_names is None:
            self._static_names = frozenset(job.id for job in self.static.jobs())
        return name in self._static_names


class JobTable:
    """Every job that is alive, and the names of those that are not."""

    def __init__(self) -> None:
        self.alive: dict[str, Entry] = {}
        self.ended: set[str] = set()
        self.killed: set[str] = set()

    def is_known(self, id_: str) -> bool:
        """True if the job was ever submitted."""
        return id_ in self.alive or id_ in self.ended
