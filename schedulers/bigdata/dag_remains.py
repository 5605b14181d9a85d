"""What is left of a killed ``stage_dag``: a pure function of its profile, its progress and the hosts it lost.

Batsim can only kill whole jobs; a framework loses only what was on the hosts that were taken from it. So:

- A task that is over is done for good if nobody needs its output any more, or its output is not lost.
- Output of tasks that others read lies where ``shuffle`` says. ``external`` and ``pfs`` lose nothing. With
  ``local`` it is lost with its host.
- Spark runs lost tasks of a finished stage again, those alone, if a stage that has tasks to run reads them,
  and so on up the graph (``DAGScheduler``: a fetch failure resubmits the missing tasks of the parent stage
  and, for these, of its own parents). ``workflow`` and ``stages`` do the same.
- MapReduce runs maps again whose output is lost as long as a reduce is to run; what maps read lies in the
  file system, so nothing goes further up (Dean and Ghemawat, OSDI 2004, section 3.3; Hadoop's ``JobImpl``).
- A running task on a host that was lost starts again, or from its last checkpoint. On any other host, and
  when the kill is a voluntary re-balance, it goes on with what it has done.

The forms of profile and progress are described in ``batpy.workloads.stages.dag``. Nothing here changes a
profile that exists.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import floor
from typing import Annotated, Any

import msgspec

from batpy.base.dates import MAX_SECONDS
from batpy.base.errors import RemoteProtocolError
from batpy.base.intervals import merge_intervals, parse_intervals
from batpy.protocol.messages import Json

STAGE_DAG = "stage_dag"
Seconds = Annotated[float, msgspec.Meta(ge=0, le=MAX_SECONDS)]


@dataclass(frozen=True, slots=True)
class Losses:
    """The hosts of a killed job, and those that were lost, by name.

    Attributes:
        hosts: of the job, by position in its allocation.
        taken: of these, those that were taken away since it started.
        gone: hosts that were taken away since the job's profile was made (output of earlier attempts lies
            there).
    """

    hosts: Sequence[str] = ()
    taken: Container[str] = ()
    gone: Container[str] = ()


class _Everything:
    """Holds whatever one looks for."""

    def __contains__(self, item: object) -> bool:
        return True


class _Unnamed(Sequence[str]):
    """The hosts of a job that nobody told: at every position one without a name."""

    def __getitem__(self, index: Any) -> Any:
        return ""

    def __len__(self) -> int:
        return 0


EVERYTHING = Losses(_Unnamed(), _Everything(), _Everything())
"""All hosts of the job were lost, and all those of earlier attempts."""


class _Jobs(msgspec.Struct, frozen=True):
    """What a progress tree tells of jobs."""

    over: frozenset[int] = frozenset()
    think: dict[str, Seconds] = msgspec.field(default_factory=dict)


class _Told(msgspec.Struct, frozen=True):
    """What a progress tree tells of a stage."""

    id: int
    done: str = ""
    outputs: dict[str, str] = msgspec.field(default_factory=dict)
    running: tuple[tuple[int, int, Seconds], ...] = ()


class _Progress(msgspec.Struct, frozen=True):
    """The node of a progress tree that tells of an application."""

    elapsed: Seconds = 0.0
    jobs: _Jobs = _Jobs()
    stages: tuple[_Told, ...] = ()


@dataclass(slots=True)
class _Rest:
    """A stage as far as it is known: its object, the tasks to run, where output lies, what runs have done."""

    raw: Json
    left: set[int]
    outputs: dict[str, set[int]]
    resumed: dict[int, float]
    job: int

    @property
    def id(self) -> int:
        return int(self.raw["id"])

    @property
    def parents(self) -> Sequence[int]:
        return list(self.raw.get("parents", ()))


def dag_remains(raw: Json, name: str, progress: Mapping[str, Any], losses: Losses, *, keep: bool) -> Json:
    """The profile object of what is left.

    Args:
        raw: the profile object of the killed attempt.
        name: of its profile.
        progress: the node of the progress tree that tells of it; empty if nothing is known.
        keep: running tasks lose nothing, wherever they are.

    Returns:
        *raw* itself if everything is left.

    Raises:
        RemoteProtocolError: the progress is not one of this profile.
    """
    if not progress:
        return raw
    try:
        told = msgspec.convert(progress, _Progress)
        return _remains(raw, name, told, losses, keep)
    except (msgspec.ValidationError, ValueError) as why:
        problem = f"JOB_KILLED: the progress of profile {name!r} is not one of it: {why}"
        raise RemoteProtocolError(problem) from None


def host_seconds(raw: Json) -> float:
    """Seconds that what is to do takes on one host, as far as the profile tells its slots (else one)."""
    total = 0.0
    slots = raw.get("slots") or {}
    for stage in raw["stages"]:
        tasks, table = stage["tasks"], stage.get("times", ())
        seconds = stage.get("total") or sum(stage.get("durations", ()))
        if table and not seconds:
            seconds = sum(table) / len(table) * tasks
        left = len(_tasks(stage["left"], tasks)) if stage.get("left") is not None else tasks
        there = slots.get(str(stage.get("profile", 0)), 1)
        width = sum(there) / len(there) if isinstance(there, list) else there
        total += seconds * left / max(1, tasks) / width
    return total


def _remains(raw: Json, name: str, progress: _Progress, losses: Losses, keep: bool) -> Json:
    told = {stage.id: stage for stage in progress.stages}
    stages = {
        int(stage["id"]): _rest(raw, stage, told.pop(stage["id"], _Told(stage["id"])), losses, keep)
        for stage in raw["stages"]
    }
    if told:
        raise ValueError(f"there is no stage {min(told)}")
    over = progress.jobs.over
    children: dict[int, list[int]] = {id: [] for id in stages}
    for stage in stages.values():
        for parent in stage.parents:
            children[parent].append(stage.id)
    wanted = _run_again(raw, stages, children)
    jobs = raw.get("jobs") or [{"id": 0}]
    turn = {int(job["id"]): rank for rank, job in enumerate(jobs)}
    kept = [id for id in stages if id in wanted]
    for id in reversed(_parents_first(stages)):
        stage = stages[id]
        if id in wanted and stage.job in over:
            readers = [stages[child].job for child in children[id] if child in wanted]
            if not readers:
                raise ValueError(f"job {stage.job} is over, and its stage {id} is not")
            stage.job = min(readers, key=turn.__getitem__)
    out: dict[str, Any] = {**raw, "jobs": _jobs(jobs, progress.jobs)}
    if not kept:  # nothing but thinking is left, or jobs without stages
        last = max(stages, key=lambda id: turn[stages[id].job])
        stages[last].job = int((out["jobs"] or jobs)[-1]["id"])
        stages[last].raw = {key: value for key, value in stages[last].raw.items() if key != "parents"}
        kept = [last]
    out["jobs"] = out["jobs"] or [{"id": stages[kept[-1]].job}]
    out["stages"] = [_stage_object(stages[id]) for id in kept]
    if raw.get("executors"):
        used = {int(stage.get("profile", 0)) for stage in out["stages"]}
        out["executors"] = _executors(raw["executors"], progress.elapsed, used)
    if out == {**raw, "jobs": out["jobs"]} and out["jobs"] == jobs:
        return raw
    out["stream"] = raw.get("stream") or name
    return out


def _rest(raw: Json, stage: Json, told: _Told, losses: Losses, keep: bool) -> _Rest:
    tasks = int(stage["tasks"])
    left = _tasks(stage["left"], tasks) if stage.get("left") is not None else set(range(tasks))
    done = _tasks(told.done, tasks)
    if not done <= left:
        raise ValueError(f"task {min(done - left)} of stage {told.id} was not to do")
    left -= done
    outputs = {
        host: _tasks(text, tasks)
        for host, text in stage.get("outputs", {}).items()
        if host not in losses.gone
    }
    for place, text in told.outputs.items():
        host, there = _host(losses, int(place)), _tasks(text, tasks)
        if not there <= done:
            raise ValueError(f"task {min(there - done)} of stage {told.id} is not over")
        if host not in losses.taken:
            outputs.setdefault(host, set()).update(there)
    before = {int(task): float(seconds) for task, seconds in stage.get("resumed", {}).items()}
    resumed = {task: seconds for task, seconds in before.items() if task in left}
    for task, position, seconds in told.running:
        if task not in left:
            raise ValueError(f"task {task} of stage {told.id} was not to do")
        lost = not keep and _host(losses, position) in losses.taken
        saved = _saved(seconds, before.get(task, 0.0), raw.get("checkpoint"))
        resumed[task] = saved if lost else seconds
    resumed = {task: seconds for task, seconds in resumed.items() if seconds > 0}
    return _Rest(stage, left, outputs, resumed, int(stage.get("job", 0)))


def _host(losses: Losses, position: int) -> str:
    try:
        if position >= 0:
            return losses.hosts[position]
    except IndexError:
        pass
    raise ValueError(f"the job had no host at position {position}")


def _saved(seconds: float, before: float, checkpoint: float | None) -> float:
    """What a task keeps that is lost with its host; what it began with was saved, if anything is."""
    return max(before, floor(seconds / checkpoint) * checkpoint) if checkpoint else 0.0


def _run_again(raw: Json, stages: Mapping[int, _Rest], children: Mapping[int, Sequence[int]]) -> set[int]:
    """Add lost tasks that are needed to what is left; the stages that are left, or that these stand on."""
    local = raw.get("shuffle", "local") == "local"
    unfinished = {id for id, stage in stages.items() if stage.left}
    recursive = raw.get("framework", "spark") != "mapreduce"
    wanted: set[int] = set()
    for id in reversed(_parents_first(stages)):
        stage = stages[id]
        needs = any((stages[child].left if recursive else child in unfinished) for child in children[id])
        if local and needs and stage.raw.get("shuffle_write") != 0:
            safe = set().union(*stage.outputs.values()) if stage.outputs else set()
            stage.left |= set(range(int(stage.raw["tasks"]))) - stage.left - safe
        if stage.left or any(child in wanted for child in children[id]):
            wanted.add(id)
    return wanted


def _parents_first(stages: Mapping[int, _Rest]) -> list[int]:
    order: dict[int, None] = {}
    for first in stages:
        stack = [first]
        while stack:
            id = stack[-1]
            above = [parent for parent in stages[id].parents if parent not in order]
            if above:
                stack += above
            else:
                order[stack.pop()] = None
    return list(order)


def _jobs(jobs: Sequence[Json], told: _Jobs) -> list[Json]:
    """Jobs that are not over; those that wait for nothing but themselves think what is left of it."""
    found: list[Json] = []
    for job in jobs:
        if job["id"] in told.over:
            continue
        rest = {key: value for key, value in job.items() if value is not None}
        if rest.get("after") is None or rest["after"] in told.over:
            rest.pop("after", None)
            rest.pop("think", None)
            seconds = told.think.get(str(job["id"]), 0.0)
            if seconds:
                rest["think"] = seconds
        found.append(rest)
    return found


def _executors(executors: Iterable[Json], elapsed: float, used: Iterable[int]) -> list[Json]:
    """Executors from now on; the last one of a resource profile stays while there is work for it."""
    found: list[Json] = []
    for profile in sorted(set(used)):
        mine = [one for one in executors if one.get("profile", 0) == profile]
        there = [one for one in mine if one.get("end") is None or one["end"] > elapsed]
        if not there:
            there = [{**max(mine, key=lambda one: float(one["end"])), "end": None}]
        for one in there:
            moved = {**one, "start": max(0.0, one.get("start", 0.0) - elapsed)}
            if one.get("end") is not None:
                moved["end"] = one["end"] - elapsed
            found.append(moved)
    return found


def _stage_object(stage: _Rest) -> Json:
    raw = {key: value for key, value in stage.raw.items() if key not in ("left", "outputs", "resumed", "job")}
    if stage.job:
        raw["job"] = stage.job
    tasks = int(stage.raw["tasks"])
    if len(stage.left) < tasks:
        raw["left"] = _text(stage.left)
        outputs = {host: _text(there) for host, there in sorted(stage.outputs.items()) if there - stage.left}
        if outputs:
            raw["outputs"] = outputs
    if stage.resumed:
        raw["resumed"] = {str(task): stage.resumed[task] for task in sorted(stage.resumed)}
    return raw


def _tasks(text: str, count: int) -> set[int]:
    """Numbers of tasks of a stage that has so many."""
    found = parse_intervals(text) if text else ()
    if found and found[-1][1] >= count:
        raise ValueError(f"there is no task {found[-1][1]}")
    return set(chain.from_iterable(range(first, last + 1) for first, last in found))


def _text(tasks: Iterable[int]) -> str:
    merged = merge_intervals((task, task) for task in tasks)
    return " ".join(f"{first}-{last}" if last > first else str(first) for first, last in merged)
