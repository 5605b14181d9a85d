"""The events of a Spark log that matter here, with the names of Spark 2.2 to 3.5, each read by its type.

Times are milliseconds, except processor and shuffle-write times, which are nanoseconds.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import field

from batpy.workloads.stages.graph import MOST_TASKS

LARGEST = 2**52
"""No number of a log is larger: 140,000 years in milliseconds, 52 days in nanoseconds, 4 PB in one task."""
_Int = Annotated[int, msgspec.Meta(ge=-LARGEST, le=LARGEST)]
_Tasks = Annotated[int, msgspec.Meta(ge=0, le=MOST_TASKS)]
_Maybe = _Int | None


class StageInfo(msgspec.Struct, frozen=True, gc=False):
    id: _Int = field(name="Stage ID")
    attempt: _Tasks = field(name="Stage Attempt ID", default=0)
    name: str = field(name="Stage Name", default="")
    tasks: _Tasks = field(name="Number of Tasks", default=0)
    parents: list[_Int] = field(name="Parent IDs", default_factory=list)
    rdds: list[RddInfo] = field(name="RDD Info", default_factory=list)
    submitted: _Maybe = field(name="Submission Time", default=None)
    completed: _Maybe = field(name="Completion Time", default=None)
    failure: str | None = field(name="Failure Reason", default=None)
    profile: _Maybe = field(name="Resource Profile Id", default=None)


class RddInfo(msgspec.Struct, frozen=True, gc=False):
    id: _Int = field(name="RDD ID", default=-1)
    barrier: bool = field(name="Barrier", default=False)


class StageEvent(msgspec.Struct, frozen=True):
    info: StageInfo = field(name="Stage Info")


class TaskInfo(msgspec.Struct, frozen=True, gc=False):
    index: _Int = field(name="Index")
    launch: _Int = field(name="Launch Time")
    finish: _Int = field(name="Finish Time")
    host: str = field(name="Host", default="")
    executor: str = field(name="Executor ID", default="")
    locality: str = field(name="Locality", default="")
    getting: _Int = field(name="Getting Result Time", default=0)


class InputMetrics(msgspec.Struct, frozen=True, gc=False):
    read: _Int = field(name="Bytes Read", default=0)


class OutputMetrics(msgspec.Struct, frozen=True, gc=False):
    written: _Int = field(name="Bytes Written", default=0)


class ShuffleReadMetrics(msgspec.Struct, frozen=True, gc=False):
    remote: _Int = field(name="Remote Bytes Read", default=0)
    local: _Int = field(name="Local Bytes Read", default=0)
    wait: _Int = field(name="Fetch Wait Time", default=0)


class ShuffleWriteMetrics(msgspec.Struct, frozen=True, gc=False):
    written: _Int = field(name="Shuffle Bytes Written", default=0)
    time: _Int = field(name="Shuffle Write Time", default=0)


_NO_INPUT, _NO_OUTPUT = InputMetrics(), OutputMetrics()
_NO_SHUFFLE_READ, _NO_SHUFFLE_WRITE = ShuffleReadMetrics(), ShuffleWriteMetrics()


class TaskMetrics(msgspec.Struct, frozen=True, gc=False):
    run: _Int = field(name="Executor Run Time", default=0)
    cpu: _Int = field(name="Executor CPU Time", default=0)
    deserialize: _Int = field(name="Executor Deserialize Time", default=0)
    gc: _Int = field(name="JVM GC Time", default=0)
    result: _Int = field(name="Result Size", default=0)
    serialize: _Int = field(name="Result Serialization Time", default=0)
    memory: _Int = field(name="Peak Execution Memory", default=0)
    spill_memory: _Int = field(name="Memory Bytes Spilled", default=0)
    spill_disk: _Int = field(name="Disk Bytes Spilled", default=0)
    input: InputMetrics = field(name="Input Metrics", default=_NO_INPUT)
    output: OutputMetrics = field(name="Output Metrics", default=_NO_OUTPUT)
    shuffle_read: ShuffleReadMetrics = field(name="Shuffle Read Metrics", default=_NO_SHUFFLE_READ)
    shuffle_write: ShuffleWriteMetrics = field(name="Shuffle Write Metrics", default=_NO_SHUFFLE_WRITE)


class EndReason(msgspec.Struct, frozen=True, gc=False):
    reason: str = field(name="Reason", default="")


class TaskEnd(msgspec.Struct, frozen=True, gc=False):
    stage: _Int = field(name="Stage ID")
    end: EndReason = field(name="Task End Reason")
    info: TaskInfo = field(name="Task Info")
    attempt: _Tasks = field(name="Stage Attempt ID", default=0)
    metrics: TaskMetrics | None = field(name="Task Metrics", default=None)


class JobStart(msgspec.Struct, frozen=True):
    id: _Int = field(name="Job ID")
    submitted: _Int = field(name="Submission Time")
    stages: list[_Int] = field(name="Stage IDs", default_factory=list)
    infos: list[StageInfo] = field(name="Stage Infos", default_factory=list)


class JobResult(msgspec.Struct, frozen=True):
    result: str = field(name="Result", default="")


class JobEnd(msgspec.Struct, frozen=True):
    id: _Int = field(name="Job ID")
    completed: _Int = field(name="Completion Time")
    result: JobResult = field(name="Job Result", default_factory=JobResult)


class ApplicationStart(msgspec.Struct, frozen=True):
    time: _Int = field(name="Timestamp")
    name: str = field(name="App Name", default="")
    id: str | None = field(name="App ID", default=None)
    user: str | None = field(name="User", default=None)
    attempt: str | int | None = field(name="App Attempt ID", default=None)


class ApplicationEnd(msgspec.Struct, frozen=True):
    time: _Int = field(name="Timestamp")


class ExecutorInfo(msgspec.Struct, frozen=True):
    host: str = field(name="Host", default="")
    cores: _Tasks = field(name="Total Cores", default=1)
    profile: _Int = field(name="Resource Profile Id", default=0)


class ExecutorAdded(msgspec.Struct, frozen=True):
    time: _Int = field(name="Timestamp")
    id: str = field(name="Executor ID")
    info: ExecutorInfo = field(name="Executor Info")


class ExecutorRemoved(msgspec.Struct, frozen=True):
    time: _Int = field(name="Timestamp")
    id: str = field(name="Executor ID")
    reason: str | None = field(name="Removed Reason", default=None)


class Request(msgspec.Struct, frozen=True):
    amount: Annotated[float, msgspec.Meta(ge=0, le=1e18)] = field(name="Amount", default=0.0)


class ProfileAdded(msgspec.Struct, frozen=True):
    id: _Int = field(name="Resource Profile Id")
    executor: dict[str, Request] = field(name="Executor Resource Requests", default_factory=dict)
    task: dict[str, Request] = field(name="Task Resource Requests", default_factory=dict)


class Environment(msgspec.Struct, frozen=True):
    properties: dict[str, str | None] = field(name="Spark Properties", default_factory=dict)


Event = (
    *(StageEvent, TaskEnd, JobStart, JobEnd, ApplicationStart, ApplicationEnd),
    *(ExecutorAdded, ExecutorRemoved, ProfileAdded, Environment),
)
