"""What the summary of a run with energy says about joules: those of the whole run, whatever is trimmed."""

from __future__ import annotations

import msgspec

from batpy.protocol.messages import COMPLETED_SUCCESSFULLY
from batpy.results.energy import EnergyFold
from batpy.results.fold import JobFold, Over


class JouleParts(msgspec.Struct, frozen=True):
    """Joules of all hosts by what was done with them; their sum is the total.

    Attributes:
        computing: of hosts with a job, idle watts included: the fair shares of all jobs.
        idle, sleeping, switching: of hosts without a job.
    """

    computing: float
    idle: float
    sleeping: float
    switching: float


class Energy(msgspec.Struct, frozen=True):
    """Joules, sleep and switches of one run, from 0 to its end.

    Attributes:
        joules: of all compute and storage hosts; in a run that is not whole, as measured last.
        by_kind: where they went; None in a run that is not whole.
        useful_joules: fair shares of the jobs that were successful.
        mean_watts: joules over the length of the run; None for a run of no length.
        sleeping_host_seconds, switching_host_seconds: of available compute hosts; on and off together.
        switched_on, switched_off: hosts whose switching on (off) has begun, each time counted.
        pstate_changes: hosts that were brought to another pstate, with or without switching.
    """

    joules: float
    by_kind: JouleParts | None
    useful_joules: float
    mean_watts: float | None
    sleeping_host_seconds: float
    switching_host_seconds: float
    switched_on: int
    switched_off: int
    pstate_changes: int


class UsefulJoules:
    """Adds up the fair shares of successful jobs while a fold goes on."""

    def __init__(self) -> None:
        self.total = 0.0

    def add(self, jobs: list[Over], energy: EnergyFold) -> None:
        """Take jobs that are over."""
        total, of_job = self.total, energy.of_job
        for over in jobs:
            if over[5] == COMPLETED_SUCCESSFULLY and over[0].job in of_job:
                total += of_job[over[0].job][1]
        self.total = total


def energy_of(fold: JobFold, useful: UsefulJoules) -> Energy | None:
    """What is known of energy so far; None in a run without."""
    energy, begins = fold.energy, fold.begins
    if energy is None or begins is None:
        return None
    second, areas, ends = begins.ticks_per_second, fold.states.areas(), energy.ends
    parts = None if ends is None else JouleParts(ends.jobs, ends.idle, ends.sleeping, ends.switching)
    measured = fold.states.time if ends is None else ends.time
    return Energy(
        joules=energy.joules,
        by_kind=parts,
        useful_joules=useful.total,
        mean_watts=energy.joules * second / measured if measured > 0 else None,
        sleeping_host_seconds=areas.sleeping / second,
        switching_host_seconds=(areas.switching_on + areas.switching_off) / second,
        switched_on=energy.switched_on,
        switched_off=energy.switched_off,
        pstate_changes=fold.pstate_changes,
    )
