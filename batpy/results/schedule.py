"""The one row of Batsim's ``schedule.csv``: totals of a run."""

from __future__ import annotations

from batpy.protocol.records import RunBegins
from batpy.results.decimals import fixed_text, ratio_text
from batpy.results.fold import JobFold
from batpy.results.timing import Timing

SCHEDULE_HEADER = (
    "batsim_version,consumed_joules,makespan,max_slowdown,max_turnaround_time,max_waiting_time,mean_slowdown,"
    "mean_turnaround_time,mean_waiting_time,nb_computing_machines,nb_grouped_switches,nb_jobs,"
    "nb_jobs_finished,nb_jobs_killed,nb_jobs_rejected,nb_jobs_success,nb_machine_switches,scheduling_time,"
    "simulation_time,success_rate,time_computing,time_idle,time_sleeping,time_switching_off,"
    "time_switching_on,time_unavailable\n"
)
SCHEDULE_COLUMNS = tuple(SCHEDULE_HEADER.rstrip().split(","))
WALL_CLOCK_COLUMNS = ("scheduling_time", "simulation_time")

# What Batsim prints without an energy model.
NO_ENERGY = "0.000000"


class Totals:
    """Sums over the jobs that are over; the same however the jobs are bunched."""

    def __init__(self) -> None:
        self.finished = self.success = self.rejected = 0
        self.waiting = self.turnaround = 0
        self.worst_waiting = self.worst_turnaround = 0
        self.slowdown = self.worst_slowdown = 0.0

    def add(
        self, waits: list[int], turnarounds: list[int], slowdowns: list[float], success: int, rejected: int
    ) -> None:
        """Take some more jobs; *waits* may leave out those that did not wait."""
        self.success += success
        self.rejected += rejected
        if waits:
            self.waiting += sum(waits)
            self.worst_waiting = max(self.worst_waiting, *waits)
        if turnarounds:
            self.finished += len(turnarounds)
            self.turnaround += sum(turnarounds)
            self.worst_turnaround = max(self.worst_turnaround, *turnarounds)
            self.worst_slowdown = max(self.worst_slowdown, *slowdowns)
            # One after the other: neither bunches nor the version of Python may show in the last digit.
            total = self.slowdown
            for slowdown in slowdowns:
                total += slowdown
            self.slowdown = total


def schedule_row(begins: RunBegins, fold: JobFold, totals: Totals, timing: Timing) -> str:
    """The row below ``SCHEDULE_HEADER``.

    Batsim's definitions: ``makespan`` counts from 0; rejected jobs count in the denominators; every finished
    job that did not succeed is "killed"; machines are compute and storage hosts; ``time_*`` leave out the
    stretch from each machine's last change of state to the end (``summary.json`` has the whole figures).
    """
    second = begins.ticks_per_second
    seconds = fixed_text(second)
    jobs = totals.finished + totals.rejected
    running = [(start, alloc) for _, start, alloc, _ in fold.running.values() if alloc]
    areas = fold.states.areas_until_last_changes(running)
    idle, computing, unavailable, sleeping, switching_on, switching_off = areas
    cells = {
        "batsim_version": f"batpy {begins.version}",
        "consumed_joules": NO_ENERGY if fold.energy is None else f"{fold.energy.consumed():.6f}",
        "makespan": seconds(fold.last_end or 0),
        "max_slowdown": f"{totals.worst_slowdown:.6f}",
        "max_turnaround_time": seconds(totals.worst_turnaround),
        "max_waiting_time": seconds(totals.worst_waiting),
        "mean_slowdown": f"{totals.slowdown / jobs:.6f}" if jobs else "nan",
        "mean_turnaround_time": ratio_text(totals.turnaround, jobs * second),
        "mean_waiting_time": ratio_text(totals.waiting, jobs * second),
        "nb_computing_machines": str(begins.nb_compute + begins.nb_storage),
        "nb_grouped_switches": str(fold.pstate_requests),
        "nb_jobs": str(jobs),
        "nb_jobs_finished": str(totals.finished),
        "nb_jobs_killed": str(totals.finished - totals.success),
        "nb_jobs_rejected": str(totals.rejected),
        "nb_jobs_success": str(totals.success),
        "nb_machine_switches": str(fold.pstate_changes),
        "scheduling_time": f"{timing.scheduling_time:.6f}",
        "simulation_time": f"{timing.simulation_time:.6f}",
        "success_rate": ratio_text(totals.success, jobs),
        "time_computing": seconds(computing),
        "time_idle": seconds(idle),
        "time_sleeping": seconds(sleeping),
        "time_switching_off": seconds(switching_off),
        "time_switching_on": seconds(switching_on),
        "time_unavailable": seconds(unavailable),
    }
    return ",".join(cells[name] for name in SCHEDULE_COLUMNS) + "\n"
