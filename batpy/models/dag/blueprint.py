"""From a profile and the hosts of a job to what the loop is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from batpy.dfs.delay import SkipCount, Waits
from batpy.models.dag.draws import loads_of, tasks_to_do, to_us
from batpy.models.dag.load import JobLoad, Load, Seats, StageLoad
from batpy.workloads.profile import StageDag
from batpy.workloads.stages.dag import Dag, DagStage
from batpy.workloads.stages.graph import ResourceProfile, slots_per_executor


@dataclass(frozen=True, slots=True)
class Site:
    """The hosts of a job, by position in its allocation: their names and numbers of cores."""

    names: Sequence[str]
    cores: Sequence[int]


def missing_slots(dag: Dag, cores: Sequence[int]) -> int | None:
    """A resource profile that has a stage and no slot on hosts with these numbers of cores, or None."""
    there = {seats.profile for seats in _seats(dag, cores, {id: id for id in _profile_ids(dag)})}
    return next((stage.profile for stage in dag.stages if stage.profile not in there), None)


def load_of(profile: StageDag, site: Site, seed: int) -> Load:
    """What is to run on these hosts."""
    dag = profile.dag
    ids = _profile_ids(dag)
    numbers = {id: number for number, id in enumerate(ids)}
    seats = _seats(dag, site.cores, numbers)
    times = loads_of(profile, seed)
    place = {stage.id: index for index, stage in enumerate(dag.stages)}
    jobs = {job.id: index for index, job in enumerate(dag.jobs)}
    parents = [tuple(place[parent] for parent in dict.fromkeys(stage.parents)) for stage in dag.stages]
    if dag.order == "fifo":
        turn = _fifo([jobs[stage.job] for stage in dag.stages])
    else:
        slots = [0] * len(ids)
        for one in seats:
            slots[one.profile] += one.slots
        turn = _critical(parents, times, [slots[numbers[stage.profile]] for stage in dag.stages])
    positions: dict[str, list[int]] = {}
    for position, name in enumerate(site.names):
        positions.setdefault(name, []).append(position)
    near = [positions.get(name, []) for name in dag.hosts]
    stages = [
        StageLoad(
            order=turn[index],
            job=jobs[stage.job],
            profile=numbers[stage.profile],
            parents=parents[index],
            times=times[index],
            near=_near(stage, near) if stage.near else None,
            remote=_remote(dag, stage),
        )
        for index, stage in enumerate(dag.stages)
    ]
    loads = [JobLoad(-1 if job.after is None else jobs[job.after], to_us(job.think)) for job in dag.jobs]
    beat = to_us(dag.delay.heartbeat) if dag.delay is not None else to_us(1)
    return Load(stages, loads, seats, ids, len(site.names), _delay(dag), max(1, beat))


def _profile_ids(dag: Dag) -> list[int]:
    return sorted({stage.profile for stage in dag.stages})


def _fifo(jobs: Sequence[int]) -> list[int]:
    """Turn of each stage: by job, then as the profile lists them."""
    turn = [0] * len(jobs)
    for rank, index in enumerate(sorted(range(len(jobs)), key=lambda index: (jobs[index], index))):
        turn[index] = rank
    return turn


def _critical(
    parents: Sequence[Sequence[int]], times: Sequence[Sequence[int]], slots: Sequence[int]
) -> list[int]:
    """Turn of each stage: the one with the longest way to the end first.

    A stage takes at least its tasks' time over the slots there are, and as long as its longest task.
    """
    spans = [
        max(max(mine, default=0), sum(mine) // max(1, there))
        for mine, there in zip(times, slots, strict=True)
    ]
    children: list[list[int]] = [[] for _ in parents]
    waits = [0] * len(parents)
    for index, above in enumerate(parents):
        for parent in above:
            children[parent].append(index)
            waits[index] += 1
    order = [index for index, count in enumerate(waits) if not count]
    for index in order:  # grows while it is walked
        for child in children[index]:
            waits[child] -= 1
            if not waits[child]:
                order.append(child)
    way = [0] * len(parents)
    for index in reversed(order):
        way[index] = spans[index] + max((way[child] for child in children[index]), default=0)
    turn = [0] * len(parents)
    for rank, index in enumerate(sorted(range(len(way)), key=lambda index: (-way[index], index))):
        turn[index] = rank
    return turn


def _near(stage: DagStage, near: Sequence[Sequence[int]]) -> list[list[int]]:
    """Positions of the hosts with the input of each task that is to do.

    A task whose input lies outside of the allocation has no preference among these hosts, but reads from
    afar on any: it is given a place that is none of them.
    """
    found = []
    for task in tasks_to_do(stage):
        wanted = stage.near[task]
        places = sorted({place for host in wanted for place in near[host]})
        found.append(places if places or not wanted else [NOWHERE])
    return found


NOWHERE = -1
"""Position of every host outside of the allocation."""


def _remote(dag: Dag, stage: DagStage) -> int:
    """Microseconds that a task of the stage takes longer where its input is not."""
    if dag.remote_bandwidth is None or not stage.tasks:
        return 0
    local = 0.0 if dag.local_bandwidth is None else 1.0 / dag.local_bandwidth
    return max(0, to_us(stage.input / stage.tasks * (1.0 / dag.remote_bandwidth - local)))


def _delay(dag: Dag) -> SkipCount | Waits | None:
    if dag.delay is None:
        return None
    if dag.delay.skips is not None:
        return SkipCount(dag.delay.skips, 0)
    wait = to_us(dag.delay.wait or 0.0)
    return Waits(process=0, node=wait, rack=0, reset="launch")


def _seats(dag: Dag, cores: Sequence[int], numbers: dict[int, int]) -> list[Seats]:
    """Slots on each host, of the resource profiles that are numbered."""
    if dag.executors:
        return [
            Seats(
                one.host % len(cores),
                numbers[one.profile],
                one.slots,
                to_us(one.start),
                None if one.end is None else to_us(one.end),
            )
            for one in dag.executors
            if one.profile in numbers
        ]
    resources = {profile.id: profile for profile in dag.resources}
    found = []
    for id, number in numbers.items():
        given = dag.slots.get(id)
        for position, count in enumerate(cores):
            slots = given[position % len(given)] if given else _slots_of(resources.get(id), count)
            if slots:
                found.append(Seats(position, number, slots))
    return found


def _slots_of(profile: ResourceProfile | None, cores: int) -> int:
    """Tasks that a host with so many cores runs at one time."""
    if profile is None:
        return cores
    own = int(profile.executor.get("cores", 0)) or cores
    return max(1, cores // own) * slots_per_executor(profile, own)
