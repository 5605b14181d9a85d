"""What an application is to the loop that runs it, and what the loop finds. Plain data, integer microseconds.

Stages, jobs and resource profiles are numbered from 0, hosts by their position in the allocation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from batpy.dfs.delay import SkipCount, Waits


@dataclass(frozen=True, slots=True)
class StageLoad:
    """A stage.

    Attributes:
        order: stages of a smaller one are served first; no two are equal.
        times: of its tasks, in the order in which they start.
        near: for each task the hosts that hold its input (none: any host will do), or None for no task.
        remote: what a task takes longer on a host that does not hold its input.
    """

    order: int
    job: int
    profile: int
    parents: Sequence[int]
    times: Sequence[int]
    near: Sequence[Sequence[int]] | None = None
    remote: int = 0


@dataclass(frozen=True, slots=True)
class JobLoad:
    """A job: *think* after the end of job *after*, or after the start if that is -1, it is submitted."""

    after: int = -1
    think: int = 0


@dataclass(frozen=True, slots=True)
class Seats:
    """Slots of a resource profile on a host, from a date until another (None: to the end)."""

    host: int
    profile: int
    slots: int
    start: int = 0
    end: int | None = None


Group = tuple[int, int, Sequence[int]]
"""Date, resource profile, and the host of each slot."""


@dataclass(frozen=True, slots=True)
class Load:
    """An application on its hosts.

    Attributes:
        profile_ids: the user's number of each resource profile.
        hosts: how many there are.
        delay: rule of delay scheduling, or None.
        heartbeat: time after which slots that were turned down are offered again, with ``SkipCount``.
    """

    stages: Sequence[StageLoad]
    jobs: Sequence[JobLoad]
    seats: Sequence[Seats]
    profile_ids: Sequence[int]
    hosts: int
    delay: SkipCount | Waits | None = None
    heartbeat: int = 1_000_000

    @property
    def profiles(self) -> int:
        """Number of resource profiles."""
        return len(self.profile_ids)

    def comings(self) -> list[Group]:
        """Slots that come, those of one date and profile together, one of each host in turn."""
        groups: dict[tuple[int, int], list[tuple[int, int]]] = {}
        most = self._most()
        for seats in self.seats:
            group = groups.setdefault((seats.start, seats.profile), [])
            group += ((turn, seats.host) for turn in range(min(seats.slots, most[seats.profile])))
        return [
            (date, profile, [host for _, host in sorted(slots)])
            for (date, profile), slots in sorted(groups.items())
        ]

    def goings(self) -> list[Group]:
        """Slots that go, executor by executor."""
        most = self._most()
        gone = [
            (seats.end, seats.profile, [seats.host] * min(seats.slots, most[seats.profile]))
            for seats in self.seats
            if seats.end is not None
        ]
        return sorted(gone)

    def _most(self) -> list[int]:
        """Tasks of each resource profile: more slots than that are never used, however many a log claims."""
        most = [0] * self.profiles
        for stage in self.stages:
            most[stage.profile] += len(stage.times)
        return most


@dataclass(frozen=True, slots=True)
class Schedule:
    """What became of an application.

    Attributes:
        end: when its last job was over.
        jobs: submission and end of each job.
        stages: start of the first task (or when it was ready, without tasks) and end of each stage.
        begins, hosts: of each stage, for its tasks in the order in which they started.
        started: tasks in that order, of stages that start them in another one than 0, 1, 2, ...
        far: tasks of such stages that ran far from their input.
    """

    end: int
    jobs: Sequence[tuple[int, int]]
    stages: Sequence[tuple[int, int]]
    begins: Sequence[Sequence[int]]
    hosts: Sequence[Sequence[int]]
    started: Mapping[int, Sequence[int]]
    far: Mapping[int, frozenset[int] | set[int]]
