"""What can be known to fail before a simulation begins: a workload against what the models can do.

Profiles that no job leads to are not looked at, and those that arrive while the simulation runs are checked
by the gate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from batpy.base.errors import InputError
from batpy.platforms.platform import Platform
from batpy.workloads.job import Workload
from batpy.workloads.profile import Profile, Smpi, storage_labels
from batpy.workloads.sequences import reachable


def check_workload(workload: Workload, platform: Platform) -> None:
    """Refuse a workload that cannot run on a platform, whatever a scheduler does.

    Raises:
        InputError: naming a profile and the first job that leads to it.
    """

    def problem(profile: Profile) -> str | None:
        if isinstance(profile, Smpi):
            return "is of type smpi, the replay of MPI traces, which this version does not simulate"
        labels = () if platform.storage else storage_labels(profile)
        if labels:
            needs = f"needs a storage host for {labels[0]!r}, and {platform.source} has no host of that role"
            return f"{needs}; give one to a host of a platform file (-r NAME:storage, platform.roles)"
        return None

    wrong = {name: why for name, profile in workload.profiles.items() if (why := problem(profile))}
    if wrong:
        _blame(workload, workload.profiles, wrong.get)


def size_notices(workloads: Sequence[Workload], platform: Platform, *, wanted: int = 0) -> list[str]:
    """One line for each thing about the number of hosts that a user may not have meant.

    Args:
        wanted: how many hosts were to be kept (``mmax``, ``mmax_workload``); 0 for all.
    """
    hosts = len(platform.compute)
    notices = []
    if wanted > hosts:
        notices.append(f"{wanted} hosts are to be kept (mmax, mmax_workload); the platform has {hosts}")
    for workload in workloads:
        if wider := workload.wider_than(hosts):
            made_for = f"; it was made for {workload.nb_res} hosts" if workload.nb_res else ""
            jobs = f"{wider} of its {len(workload)} jobs ask for more than the {hosts} hosts there are"
            notices.append(
                f"workload {workload.id}: {jobs}: rejected, unless the scheduler reshapes them{made_for}"
            )
    return notices


def _blame(workload: Workload, profiles: Mapping[str, Profile], problem: Callable[[str], str | None]) -> None:
    fine: set[str] = set()
    for job in workload.jobs():
        if job.profile in fine:
            continue
        fine.add(job.profile)
        for name in reachable(profiles, [job.profile]):
            why = problem(name)
            if why is not None:
                raise InputError(
                    f"the profile of job {workload.id}!{job.id} {why}",
                    source=workload.source,
                    path=f"profiles.{name}",
                )
