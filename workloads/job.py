"""Jobs and workloads as plain frozen data. Times are integer ticks: readers convert once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import msgspec

from batpy.workloads.profile import Profile


class Job(msgspec.Struct, frozen=True):
    """One rigid job as a user wrote it.

    Attributes:
        id: name inside its workload, without the ``workload!`` prefix.
        submit: submission date, in ticks since the start of the simulation.
        res: requested number of hosts.
        profile: name of its profile in the same workload.
        walltime: in ticks from its start, or None for unbounded.
        raw: the job object that is sent to schedulers, custom fields kept, durations in seconds; its ``id``
            is replaced by the full id on the way.
        behaviour: the profile itself when it travels with the job (streamed workloads); else None.
        user, queue: for statistics; "" if unknown.
    """

    id: str
    submit: int
    res: int
    profile: str
    walltime: int | None
    raw: dict[str, Any]
    behaviour: Profile | None = None
    user: str = ""
    queue: str = ""


class Workload(Protocol):
    """A source of jobs.

    Attributes:
        id: ``w0`` or the name the user chose; no ``!``.
        source: the file as the user named it.
        nb_res: host count the workload says it was made for, or None.
        streamed: True if each job carries its own profile (``Job.behaviour``) and ``profiles`` is empty.
        profiles: profile name to typed profile; ``Profile.raw`` is the user's object.
        taken_names: names that no profile may be registered under later, beside those of ``profiles``.
        preceding: job id to (id of the job it waits for, think time in ticks); empty in most workloads.
        max_procs: processors of the machine that a log was recorded on, or None.
    """

    @property
    def id(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def nb_res(self) -> int | None: ...
    @property
    def streamed(self) -> bool: ...
    @property
    def profiles(self) -> Mapping[str, Profile]: ...
    @property
    def taken_names(self) -> frozenset[str]: ...
    @property
    def preceding(self) -> Mapping[str, tuple[str, int]]: ...
    @property
    def max_procs(self) -> int | None: ...

    def __len__(self) -> int:
        """Number of jobs that ``jobs`` will yield."""
        ...

    def jobs(self) -> Iterator[Job]:
        """Jobs by (submit, id as text), one at a time; may be called again for a fresh pass."""
        ...

    def wider_than(self, hosts: int) -> int:
        """How many jobs ask for more than so many hosts."""
        ...

    def report(self) -> list[str]:
        """One line for each kind of thing that the reader left out or accepted although it is odd."""
        ...
