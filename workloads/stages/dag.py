"""The profile type ``stage_dag``: an application as a graph of stages, run natively by our simulator.

It is an extension of ours: Batsim does not know it. An application runs on all hosts of its job's allocation,
however many they are; its jobs share the slots of these hosts. Task times are what they are: they depend
neither on the hosts' speeds nor on what else runs there, and put no load on hosts that consume energy.

As JSON, times in seconds, amounts in bytes; fields with a default may be left out, unknown ones are refused::

    {"type": "stage_dag",
     "ret": 0,
     "framework": "spark",            spark (default), mapreduce, workflow, or stages
     "shuffle": "local",              where output of tasks lies that children read: "local" (default) on the
                                      host that made it, "external" (a shuffle service) or "pfs"
     "checkpoint": 30,                running tasks save their state every so many seconds; null (default): no
     "order": "fifo",                 or "critical_path": the stage with most work behind it goes first
     "slots": {"0": 4},               tasks that a host runs at one time, by resource profile; a list gives
                                      them by position of the host in the allocation, over and over again
     "resources": [{"id": 0, "executor": {"cores": 4}, "task": {"cpus": 1}}],
                                      where slots does not tell: as many executors as the host's cores allow
                                      (at least one), and in each what the scarcest resource allows
     "executors": [{"host": 0, "profile": 0, "slots": 4, "start": 1.5, "end": 60}],
                                      instead of both: executors that come and go, on the host at this
                                      position (modulo the number of hosts); end null (default): never; an
                                      executor stays for work that would find no other
     "hosts": ["n0", "n1"],           names of hosts that "near" refers to
     "local_bandwidth": 4e8,          bytes per second at which a task reads its input on a host that has it,
     "remote_bandwidth": 1e8,         and elsewhere; null (default): as fast as can be
     "delay": {"skips": 40, "heartbeat": 1},
                                      delay scheduling: offers of a free slot that a stage turns down before a
                                      task goes where its input is not; free slots are offered whenever a slot
                                      becomes free, and every so many seconds (default 1); or {"wait": 3}: the
                                      seconds that it waits since its last task near its input; default: none
     "jobs": [{"id": 0, "after": null, "think": 1.5}],
                                      in the order in which FIFO serves them; each is submitted its think time
                                      after the end of the job it comes after (null, the default: the start);
                                      without jobs there is one, 0, submitted at the start
     "stages": [
       {"id": 0, "name": "map", "job": 0, "profile": 0, "parents": [],
        "tasks": 200,
        "times": [17 values],         the table of task times (minimum, inner 16-quantiles, maximum) that
        "total": 433.1,               tasks are drawn from, and what they add up to; or else
        "durations": [2.5, 1.25],     the time of each task, in the order in which they start
        "input": 4e9, "output": 0, "shuffle_read": 0, "shuffle_write": 1e9,
                                      bytes of all tasks; shuffle_write 0: nothing for children to lose
        "near": [[0, 1], [2], []],    for each task the hosts that hold its input (indexes into "hosts"); a
                                      task without one may run anywhere
        "left": "3-199",              tasks that are still to do (default: all); of those that are over,
        "outputs": {"n0": "0 2"},     where output lies that may be lost (shuffle local only)
        "resumed": {"3": 1.75}}       seconds that tasks which are to do have done already
     ],
     "stream": "app0"}                name of the stream that draws task times; default: the profile's name

``left``, ``outputs`` and ``resumed`` are written by schedulers that resubmit a killed application
(``batpy.schedulers.bigdata.dag_remains``). The progress tree of JOB_KILLED tells of a running stage_dag::

    {"profile_name": "app0",
     "progress": 0.42,                share of the seconds that its tasks had to do
     "elapsed": 61.5,                 seconds since it began
     "jobs": {"over": [0, 1],         jobs that are over, and seconds that others have still to
              "think": {"2": 0.5}},   think before they are submitted
     "stages": [{"id": 4,             stages of which tasks have begun:
                 "done": "0-9 12",    tasks that are over, of this attempt alone;
                 "outputs": {"0": "0-4", "1": "5-9 12"},
                                      where they ran (positions in the allocation), if output may be lost;
                 "running": [[10, 0, 1.25], [11, 1, 0.5]]}]}
                                      task, position, and seconds of its time that are done
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from batpy.base.dates import MAX_SECONDS
from batpy.base.errors import InputError
from batpy.base.intervals import Intervals, parse_intervals
from batpy.workloads.seconds import MAX_NUMBER
from batpy.workloads.stages.dag_rules import check_dag
from batpy.workloads.stages.graph import Data, Framework, ResourceProfile, Tasks

TYPE = "stage_dag"
Shuffle = Literal["local", "external", "pfs"]
Order = Literal["fifo", "critical_path"]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=MAX_SECONDS)]
Period = Annotated[float, msgspec.Meta(gt=0, le=MAX_SECONDS)]
Bytes = Annotated[float, msgspec.Meta(ge=0, le=MAX_NUMBER)]
Rate = Annotated[float, msgspec.Meta(gt=0, le=MAX_NUMBER)]
MOST_SLOTS = 100_000
"""Of one host; more are a mistake."""
Slots = Annotated[int, msgspec.Meta(ge=0, le=MOST_SLOTS)]
Index = Annotated[int, msgspec.Meta(ge=0, le=MOST_SLOTS)]
Place = Annotated[int, msgspec.Meta(ge=0)]


class DagDelay(Data, frozen=True):
    """Delay scheduling; exactly one of the two forms."""

    skips: Index | None = None
    wait: Seconds | None = None
    heartbeat: Period = 1.0


class DagExecutor(Data, frozen=True):
    """Slots on the host at a position of the allocation, from a date until another."""

    host: Index
    slots: Annotated[int, msgspec.Meta(ge=1, le=MOST_SLOTS)]
    profile: int = 0
    start: Seconds = 0.0
    end: Seconds | None = None


class DagJob(Data, frozen=True):
    """A job inside the application; see the module."""

    id: int
    after: int | None = None
    think: Seconds = 0.0


class DagStage(Data, frozen=True):
    """A stage; see the module."""

    id: int
    tasks: Tasks
    name: str = ""
    parents: tuple[int, ...] = ()
    job: int = 0
    profile: int = 0
    times: tuple[Seconds, ...] = ()
    total: Seconds | None = None
    durations: tuple[Seconds, ...] = ()
    input: Bytes = 0.0
    output: Bytes = 0.0
    shuffle_read: Bytes = 0.0
    shuffle_write: Bytes | None = None
    near: tuple[tuple[Place, ...], ...] = ()
    left: str | None = None
    outputs: dict[str, str] = msgspec.field(default_factory=dict)
    resumed: dict[str, Seconds] = msgspec.field(default_factory=dict)

    @property
    def to_do(self) -> Intervals:
        """Tasks that are still to do."""
        if self.left is None:
            return ((0, self.tasks - 1),) if self.tasks else ()
        return parse_intervals(self.left)


class Dag(Data, frozen=True):
    """An application; see the module. ``slots`` holds lists only."""

    stages: Annotated[tuple[DagStage, ...], msgspec.Meta(min_length=1)]
    jobs: tuple[DagJob, ...] = (DagJob(id=0),)
    framework: Framework = "spark"
    shuffle: Shuffle = "local"
    checkpoint: Period | None = None
    order: Order = "fifo"
    slots: dict[int, tuple[Slots, ...]] = msgspec.field(default_factory=dict)
    resources: tuple[ResourceProfile, ...] = ()
    executors: tuple[DagExecutor, ...] = ()
    hosts: tuple[str, ...] = ()
    local_bandwidth: Rate | None = None
    remote_bandwidth: Rate | None = None
    delay: DagDelay | None = None
    stream: str = ""


_OF_PROFILE = ("type", "ret")
_PLACE = re.compile(r"(?P<problem>.*?) - at (?:`key` in )?`\$\.?(?P<path>.*)`", re.S)


def parse_dag(raw: Mapping[str, Any], *, path: str, source: str | None = None) -> Dag:
    """The application of a profile object.

    Args:
        path: of the object, for complaints.

    Raises:
        InputError: a field is unknown, missing, of the wrong kind, or contradicts another one.
    """
    tree = {key: value for key, value in raw.items() if key not in _OF_PROFILE}
    slots = tree.get("slots")
    if isinstance(slots, Mapping):
        tree["slots"] = {key: [value] if type(value) is int else value for key, value in slots.items()}
    try:
        dag = msgspec.convert(tree, Dag, str_keys=True)
    except msgspec.ValidationError as why:
        place = _PLACE.fullmatch(str(why))
        problem, where = (place["problem"], place["path"]) if place else (str(why), "")
        where = f"{path}.{where}" if where else path
        raise InputError(_lower(problem), source=source, path=where) from None
    problem_at = check_dag(dag)
    if problem_at is not None:
        where, problem = problem_at
        raise InputError(problem, source=source, path=f"{path}.{where}")
    return dag


def _lower(problem: str) -> str:
    """A complaint of the library as the end of a line."""
    return problem[:1].lower() + problem[1:]
