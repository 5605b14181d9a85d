"""What a Spark event log tells, event by event, folded into one application."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from batpy.workloads.stages import spark_events as events
from batpy.workloads.stages.builder import StageBuilder
from batpy.workloads.stages.graph import (
    AppJob,
    Application,
    Executor,
    ResourceProfile,
    peak,
    peak_hosts,
    slots_per_executor,
)
from batpy.workloads.stages.tally import Tally

MS = 1000
"""Microseconds in the log's unit."""
KEPT_PROPERTIES = re.compile(
    r"spark\.(master|executor\.(cores|memory|instances)|task\.cpus|locality\.wait.*|speculation|"
    r"dynamicAllocation\.(?!.*path).*|task\.resource\.[^.]+\.amount|executor\.resource\.[^.]+\.amount|"
    r"sql\.shuffle\.partitions|scheduler\.mode|shuffle\.service\.enabled)"
)
NO_START = "log without SparkListenerApplicationStart"
NO_END = "log without SparkListenerApplicationEnd"
NO_STAGE_END = "stage without SparkListenerStageCompleted"
NO_JOB_END = "job without SparkListenerJobEnd"
MISSING_TASKS = "stage with fewer task ends than tasks"
SECOND_START = "a further SparkListenerApplicationStart"
BACKWARDS = "task that finishes before its launch"
PARENT_UNKNOWN = "parent stage that was skipped and computes what no recorded stage did"
NEGATIVE = "negative amount"


class SparkLog:
    """State of reading one log: feed events to :meth:`take`, then ask for the :meth:`application`."""

    def __init__(self, source: str, label: str, tally: Tally, keep_tasks: bool = False) -> None:
        self.source = source
        self.label = label
        self.tally = tally
        self.keep_tasks = keep_tasks
        self.line = 0
        self.start: events.ApplicationStart | None = None
        self.end: int | None = None
        self.version = ""
        self.properties: dict[str, str] = {}
        self.profiles: dict[int, ResourceProfile] = {}
        self.executors: dict[str, events.ExecutorAdded] = {}
        self.removed: dict[str, events.ExecutorRemoved] = {}
        self.jobs: dict[int, events.JobStart] = {}
        self.job_ends: dict[int, events.JobEnd] = {}
        self.job_of_stage: dict[int, int] = {}
        self.stages: dict[tuple[int, int], StageBuilder] = {}
        self.rdds: dict[int, frozenset[int]] = {}
        self.ended: dict[tuple[int, int], set[int]] = {}
        self.completed: set[tuple[int, int]] = set()
        self.task_hosts: set[str] = set()
        self.last_ms = 0
        self.first_ms: int | None = None

    def take(self, event: Any, line: int) -> None:
        """Take one event, of one of the types of ``spark_events``."""
        self.line = line
        _TAKE[type(event)](self, event)

    def _date(self, *dates: int | None) -> None:
        for date in dates:
            if date is not None and date > 0:
                self.last_ms = max(self.last_ms, date)
                self.first_ms = date if self.first_ms is None else min(self.first_ms, date)

    def application_start(self, event: events.ApplicationStart) -> None:
        if self.start is not None:
            self.tally.repair(SECOND_START, self.source, self.line)
            return
        self.start = event
        self._date(event.time)

    def application_end(self, event: events.ApplicationEnd) -> None:
        self.end = event.time
        self._date(event.time)

    def environment(self, event: events.Environment) -> None:
        kept = {
            name: text or "" for name, text in event.properties.items() if KEPT_PROPERTIES.fullmatch(name)
        }
        self.properties = dict(sorted(kept.items()))

    def profile(self, event: events.ProfileAdded) -> None:
        self.profiles[event.id] = ResourceProfile(
            id=event.id,
            executor={name: request.amount for name, request in sorted(event.executor.items())},
            task={name: request.amount for name, request in sorted(event.task.items())},
        )

    def executor_added(self, event: events.ExecutorAdded) -> None:
        self.executors.setdefault(event.id, event)
        self._date(event.time)

    def executor_removed(self, event: events.ExecutorRemoved) -> None:
        self.removed.setdefault(event.id, event)
        self._date(event.time)

    def job_start(self, event: events.JobStart) -> None:
        self.jobs[event.id] = event
        for stage in event.stages:
            self.job_of_stage.setdefault(stage, event.id)
        for info in event.infos:  # those that will be skipped have no event of their own
            self._remember_rdds(info)
        self._date(event.submitted)

    def job_end(self, event: events.JobEnd) -> None:
        self.job_ends[event.id] = event
        self._date(event.completed)

    def stage(self, event: events.StageEvent) -> None:
        """Submitted or completed: the later event knows more."""
        info = event.info
        builder = self._builder(info.id, info.attempt)
        builder.name, builder.tasks = info.name, info.tasks
        builder.parents = tuple(info.parents)
        self._remember_rdds(info)
        builder.profile = info.profile or 0
        builder.barrier = builder.barrier or any(rdd.barrier for rdd in info.rdds)
        builder.failure = (info.failure or "").partition("\n")[0][:200]
        if info.submitted is not None:
            builder.submitted_us = info.submitted * MS
        if info.completed is not None:
            builder.completed_us = info.completed * MS
            self.completed.add((info.id, info.attempt))
        self._date(info.submitted, info.completed)

    def _remember_rdds(self, info: events.StageInfo) -> None:
        if info.rdds:
            self.rdds[info.id] = frozenset(rdd.id for rdd in info.rdds)

    def _builder(self, stage: int, attempt: int) -> StageBuilder:
        key = stage, attempt
        builder = self.stages.get(key)
        if builder is None:
            builder = self.stages[key] = StageBuilder(stage, attempt)
            self.ended[key] = set()
        return builder

    def task_end(self, event: events.TaskEnd) -> None:
        info, metrics = event.info, event.metrics
        builder = self._builder(event.stage, event.attempt)
        self.task_hosts.add(info.host)
        wall = info.finish - info.launch
        self._date(info.launch, info.finish)
        if wall < 0:
            self.tally.repair(BACKWARDS, self.source, self.line)
            wall = 0
        ended = self.ended[event.stage, event.attempt]
        # Of two speculative twins that both succeed, the first one counts.
        if event.end.reason != "Success" or info.index in ended:
            builder.lose(wall * MS)
            return
        ended.add(info.index)
        if metrics is None:
            builder.task(wall * MS, None, info.locality, info.launch)
            return
        builder.task(wall * MS, max(0, round(metrics.cpu / 1000)), info.locality, info.launch)
        self._add(builder, wall, info, metrics)

    def _add(self, builder: StageBuilder, wall: int, info: events.TaskInfo, metrics: Any) -> None:
        sums, read, write = builder.sums, metrics.shuffle_read, metrics.shuffle_write
        getting = info.finish - info.getting if info.getting > 0 else 0
        run, gc, fetch = metrics.run * MS, metrics.gc * MS, read.wait * MS
        cpu, shuffle = metrics.cpu // 1000, write.time // 1000
        delay = wall - metrics.run - metrics.deserialize - metrics.serialize - getting
        for name, value in (
            ("run_us", run),
            ("gc_us", gc),
            ("deserialize_us", metrics.deserialize * MS),
            ("serialize_us", metrics.serialize * MS),
            ("fetch_wait_us", fetch),
            ("shuffle_write_us", shuffle),
            ("delay_us", max(0, delay) * MS),
            ("blocked_us", max(0, run - cpu - gc - fetch - shuffle)),
            ("input_bytes", metrics.input.read),
            ("output_bytes", metrics.output.written),
            ("shuffle_local_bytes", read.local),
            ("shuffle_remote_bytes", read.remote),
            ("shuffle_write_bytes", write.written),
            ("spill_memory_bytes", metrics.spill_memory),
            ("spill_disk_bytes", metrics.spill_disk),
            ("result_bytes", metrics.result),
        ):
            if value > 0:
                sums[name] += value
            elif value < 0:
                self.tally.repair(NEGATIVE, self.source, self.line, name)
        builder.peak_memory = max(builder.peak_memory, metrics.memory)

    def application(self) -> Application:
        """The application as far as the log tells; dates count from its start."""
        start = self.start
        if start is None:
            self.tally.repair(NO_START, self.source)
        if self.end is None:
            self.tally.repair(NO_END, self.source)
        origin = start.time if start is not None else self.first_ms or 0
        self._complete_profiles()
        stages = self._stages(origin)
        executors = self._executors(origin)
        spans = [(e.joined_us, e.left_us) for e in executors]
        slots = [slots_per_executor(self.profiles.get(e.profile), e.cores) for e in executors]
        hosts = peak_hosts((*span, e.host) for span, e in zip(spans, executors, strict=True))
        return Application(
            id=(start.id if start is not None else None) or self.label,
            framework="spark",
            name=start.name if start is not None else "",
            attempt=str(start.attempt) if start is not None and start.attempt is not None else "",
            user=(start.user if start is not None else None) or "",
            queue=self.properties.get("spark.yarn.queue", ""),
            submitted_us=origin * MS,
            finished_us=None if self.end is None else (self.end - origin) * MS,
            complete=start is not None and self.end is not None,
            hosts=hosts or len(self.task_hosts),
            slots=peak((*span, count) for span, count in zip(spans, slots, strict=True)),
            properties=self.properties,
            profiles=tuple(profile for _, profile in sorted(self.profiles.items())),
            executors=executors,
            jobs=self._jobs(origin),
            stages=stages,
        )

    def _complete_profiles(self) -> None:
        """Spark 2 has no profiles; a log that lost its beginning may name some it does not define."""
        cpus = self.properties.get("spark.task.cpus", "1")
        task = {"cpus": float(cpus) if re.fullmatch(r"\d{1,6}", cpus) else 1.0}
        used = {builder.profile for builder in self.stages.values()}
        used |= {event.info.profile for event in self.executors.values()}
        for id in used - set(self.profiles):
            self.profiles[id] = ResourceProfile(id=id, task=task)

    def _stages(self, origin: int) -> tuple[Any, ...]:
        known = {id for id, _ in self.stages}
        built = []
        for key, builder in self.stages.items():
            place = f"stage {key[0]}" + (f" attempt {key[1]}" if key[1] else "")
            if key not in self.completed:
                self.tally.repair(NO_STAGE_END, self.source, path=place)
            if not builder.failure and len(builder.walls) < builder.tasks and key in self.completed:
                self.tally.repair(MISSING_TASKS, self.source, path=place)
            self._find_parents(builder, known, place)
            builder.job = self.job_of_stage.get(key[0])
            built.append(builder.build(origin * MS, keep_tasks=self.keep_tasks))
        unknown = max((s.submitted_us for s in built if s.submitted_us is not None), default=0)
        when = {id(s): unknown if s.submitted_us is None else s.submitted_us for s in built}
        return tuple(sorted(built, key=lambda s: (when[id(s)], s.id, s.attempt)))

    def _find_parents(self, builder: StageBuilder, known: set[int], place: str) -> None:
        """Put the stage that computed something in the place of a later one that was skipped for it.

        Spark numbers a stage anew in each job that needs it; both have the same RDDs.
        """
        found: set[int] = set()
        for parent in builder.parents:
            if parent in known:
                found.add(parent)
                continue
            builder.skipped_parents.append(parent)
            rdds = self.rdds.get(parent)
            same = [id for id in known if id < builder.id and rdds and self.rdds.get(id) == rdds]
            if same:
                found.add(max(same))
            else:
                self.tally.note(PARENT_UNKNOWN, self.source, path=place)
        builder.parents = tuple(found)

    def _executors(self, origin: int) -> tuple[Executor, ...]:
        made = []
        for name, added in self.executors.items():
            gone = self.removed.get(name)
            made.append(
                Executor(
                    id=name,
                    host=added.info.host,
                    cores=added.info.cores,
                    profile=added.info.profile,
                    joined_us=(added.time - origin) * MS,
                    left_us=None if gone is None else (gone.time - origin) * MS,
                    reason="" if gone is None else (gone.reason or "").partition("\n")[0][:200],
                )
            )
        return tuple(sorted(made, key=lambda executor: (executor.joined_us, executor.id)))

    def _jobs(self, origin: int) -> tuple[AppJob, ...]:
        ends = sorted(event.completed for id, event in self.job_ends.items() if id in self.jobs)
        made = []
        for start in sorted(self.jobs.values(), key=lambda event: (event.submitted, event.id)):
            end = self.job_ends.get(start.id)
            if end is None:
                self.tally.repair(NO_JOB_END, self.source, path=f"job {start.id}")
            before = max((date for date in ends if date <= start.submitted), default=origin)
            made.append(
                AppJob(
                    id=start.id,
                    submitted_us=(start.submitted - origin) * MS,
                    completed_us=None if end is None else (end.completed - origin) * MS,
                    stages=tuple(sorted(start.stages)),
                    result="" if end is None else end.result.result,
                    think_us=max(0, start.submitted - before) * MS,
                )
            )
        return tuple(made)


_TAKE: dict[type[msgspec.Struct], Callable[[SparkLog, Any], None]] = {
    events.ApplicationStart: SparkLog.application_start,
    events.ApplicationEnd: SparkLog.application_end,
    events.Environment: SparkLog.environment,
    events.ProfileAdded: SparkLog.profile,
    events.ExecutorAdded: SparkLog.executor_added,
    events.ExecutorRemoved: SparkLog.executor_removed,
    events.JobStart: SparkLog.job_start,
    events.JobEnd: SparkLog.job_end,
    events.StageEvent: SparkLog.stage,
    events.TaskEnd: SparkLog.task_end,
}
