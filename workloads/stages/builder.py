"""Task records into one stage: sums, tables, locality."""

from __future__ import annotations

from array import array
from collections import Counter

import msgspec

from batpy.workloads.stages.graph import Part, Stage, table_of


class StageBuilder:
    """Collects the tasks of one attempt of one stage.

    The importer sets the attributes that are named like fields of ``Stage`` and adds to the sums.
    """

    def __init__(self, id: int, attempt: int = 0) -> None:
        self.id = id
        self.attempt = attempt
        self.name = ""
        self.tasks = 0
        self.parents: tuple[int, ...] = ()
        self.skipped_parents: list[int] = []
        self.job: int | None = None
        self.profile = 0
        self.barrier = False
        self.failure = ""
        self.submitted_us: int | None = None
        self.completed_us: int | None = None
        self.sums: Counter[str] = Counter()
        self.locality: Counter[str] = Counter()
        self.walls = array("q")
        self.launches = array("q")
        self.cpus = array("q")
        self.has_cpu = False
        self.peak_memory = 0
        self.flops = 0.0
        self.parts: tuple[Part, ...] = ()

    def task(self, wall_us: int, cpu_us: int | None, locality: str = "", launch: int = 0) -> None:
        """A task that ended well; *launch* in any unit, for the order."""
        self.walls.append(wall_us)
        self.launches.append(launch)
        self.cpus.append(cpu_us or 0)
        self.has_cpu |= cpu_us is not None
        if locality:
            self.locality[locality] += 1

    def lose(self, wall_us: int) -> None:
        """An attempt of a task that was for nothing."""
        self.sums["lost"] += 1
        self.sums["lost_us"] += wall_us

    def build(self, origin_us: int = 0, *, keep_tasks: bool = False) -> Stage:
        """The stage.

        Args:
            keep_tasks: keep the time of each task.
            origin_us: date 0 of its application, on the clock of the dates given.
        """
        submitted, completed = self.submitted_us, self.completed_us
        sums = {name: value for name, value in self.sums.items() if value}
        done = len(self.walls)
        order = sorted(range(done), key=self.launches.__getitem__) if keep_tasks else ()
        return msgspec.convert(
            {
                **{"id": self.id, "attempt": self.attempt, "name": self.name},
                "tasks": max(self.tasks, done),
                **{"parents": tuple(sorted(set(self.parents))), "job": self.job, "profile": self.profile},
                "skipped_parents": tuple(sorted(self.skipped_parents)),
                **{"barrier": self.barrier, "failure": self.failure},
                "submitted_us": None if submitted is None else submitted - origin_us,
                "completed_us": None if completed is None else completed - origin_us,
                **{"done": done, "wall_us": sum(self.walls), "cpu_us": sum(self.cpus)},
                "durations_us": tuple(self.walls[index] for index in order),
                "times_us": table_of(self.walls),
                "cpus_us": table_of(self.cpus) if self.has_cpu else (),
                "peak_memory_bytes": self.peak_memory,
                "locality": dict(sorted(self.locality.items())),
                **{"flops": self.flops, "parts": self.parts},
                **sums,
            },
            Stage,
        )
