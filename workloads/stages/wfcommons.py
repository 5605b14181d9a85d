"""Importer of workflow instances of WfCommons, schemas 1.3 to 1.5.

Up to 1.4 tasks hold everything themselves (``workflow.tasks``); 1.5 has ``workflow.specification`` for what
is to be done and ``workflow.execution`` for what happened. Tasks of one program at one depth of the graph
become one stage, or each task is a stage of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec

from batpy.base.errors import InputError
from batpy.workloads.stages.builder import StageBuilder
from batpy.workloads.stages.graph import Application, Stage, ranks
from batpy.workloads.stages.tally import Tally
from batpy.workloads.stages.texts import MOST_SECONDS, FieldError, items, number, read_whole, record, text

NO_RUNTIME = "task without a run time"
NO_SIZE = "file without a size"
Group = Literal["level", "task"]


@dataclass(slots=True)
class _Task:
    """A task, whatever the schema; seconds and bytes."""

    name: str
    program: str
    parents: list[str] = field(default_factory=list)
    runtime: float | None = None
    cpu_percent: float | None = None
    read: int = 0
    written: int = 0
    memory: int = 0


def read_wfcommons(paths: Sequence[str | Path], tally: Tally, *, group: Group = "level") -> list[Application]:
    """Read workflow instances.

    Args:
        group: ``level`` makes a stage of the tasks of one program at one depth, ``task`` one of each task.

    Raises:
        InputError: unreadable, not a workflow, a field that breaks the schema, an unknown parent or tasks
            that wait for each other; in strict mode also a task without run time or a file without size.
    """
    return [_read(path, str(path), tally, group) for path in paths]


def _read(path: str | Path, source: str, tally: Tally, group: Group) -> Application:
    try:
        tree = msgspec.json.decode(read_whole(path, source))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as why:
        raise InputError(f"not JSON: {why}", source=source) from None
    try:
        flow = record(record(tree, "").get("workflow"), "workflow")
        split = "specification" in flow
        tasks = _split(flow, source, tally) if split else _flat(flow, source, tally)
        if not tasks:
            raise FieldError("workflow.tasks", "holds no task")
        _settle_parents(tasks)
        span = record(flow["execution"], "workflow.execution") if split and "execution" in flow else flow
        makespan = span.get("makespanInSeconds", flow.get("makespan"))
        finished = number({"makespanInSeconds": makespan}, "makespanInSeconds", -1.0, most=MOST_SECONDS)
        machines = items(span, "machines")
    except FieldError as why:
        raise InputError(why.problem, source=source, path=why.path or None) from None
    name = str(tree.get("name") or "")
    return Application(
        id=name or Path(path).name.partition(".")[0],
        framework="workflow",
        name=name,
        finished_us=round(finished * 1e6) if finished >= 0 else None,
        hosts=len(machines),
        slots=_cores(machines),
        properties={"schemaVersion": str(tree.get("schemaVersion") or "")},
        stages=_stages(tasks, source, tally, group),
    )


def _flat(flow: Mapping[str, Any], source: str, tally: Tally) -> dict[str, _Task]:
    """Schemas up to 1.4."""
    key = "tasks" if "tasks" in flow else "jobs"
    tasks: dict[str, _Task] = {}
    for index, value in enumerate(items(flow, key, required=True)):
        path = f"workflow.{key}[{index}]"
        raw = record(value, path)
        task = _new(tasks, text(raw, "name", ""), raw, path)
        _measure(task, raw)
        for file in items(raw, "files"):
            entry = record(file, f"{path}.files")
            size = _size(entry, source, tally)
            if entry.get("link") == "output":
                task.written += size
            else:
                task.read += size
    # Parents are named by name in some files and by id in others.
    by_id = {str(raw.get("id")): str(raw.get("name")) for raw in flow[key] if raw.get("id") is not None}
    for task in tasks.values():
        task.parents = [parent if parent in tasks else by_id.get(parent, parent) for parent in task.parents]
    return tasks


def _split(flow: Mapping[str, Any], source: str, tally: Tally) -> dict[str, _Task]:
    """Schema 1.5."""
    specification = record(flow["specification"], "workflow.specification")
    sizes = {}
    for file in items(specification, "files"):
        entry = record(file, "workflow.specification.files")
        sizes[str(entry.get("id"))] = _size(entry, source, tally)
    tasks: dict[str, _Task] = {}
    for index, value in enumerate(items(specification, "tasks", required=True)):
        path = f"workflow.specification.tasks[{index}]"
        raw = record(value, path)
        task = _new(tasks, text(raw, "id"), raw, path)
        for key, attribute in (("inputFiles", "read"), ("outputFiles", "written")):
            names = [str(name) for name in items(raw, key)]
            for missing in (name for name in names if name not in sizes):
                tally.repair(NO_SIZE, source, path=f"{path}.{key}: {missing}")
            setattr(task, attribute, sum(sizes.get(name, 0) for name in names))
    execution = record(flow.get("execution") or {}, "workflow.execution")
    for index, value in enumerate(items(execution, "tasks")):
        raw = record(value, f"workflow.execution.tasks[{index}]")
        id = text(raw, "id")
        if id not in tasks:
            path = f"workflow.execution.tasks[{index}].id"
            raise FieldError(path, f"{id!r} is not among the tasks of workflow.specification")
        task = tasks[id]
        _measure(task, raw)
        command = raw.get("command")
        if isinstance(command, Mapping) and isinstance(command.get("program"), str):
            program = command["program"].strip().partition("\n")[0]
            task.program = task.program or program
        # What was measured goes before the sizes of the files.
        task.read = round(number(raw, "readBytes", task.read))
        task.written = round(number(raw, "writtenBytes", task.written))
    return tasks


def _new(tasks: dict[str, _Task], name: str, raw: Mapping[str, Any], path: str) -> _Task:
    if not name or name in tasks:
        raise FieldError(path, f"{name!r} is there twice" if name else "needs a name")
    shown = str(raw.get("category") or raw.get("name") or name)
    program = re.sub(r"[_.-]?(ID)?\d+$", "", shown)
    parents = [str(parent) for parent in items(raw, "parents")]
    task = tasks[name] = _Task(name, program or shown, parents)
    return task


def _measure(task: _Task, raw: Mapping[str, Any]) -> None:
    for key in ("runtimeInSeconds", "runtime"):
        if raw.get(key) is not None:
            task.runtime = number(raw, key, most=MOST_SECONDS)
            break
    if raw.get("avgCPU") is not None:
        task.cpu_percent = number(raw, "avgCPU", most=1e6)
    memory = number(raw, "memoryInBytes", number(raw, "memory", 0.0))
    task.memory = round(memory)


def _size(entry: Mapping[str, Any], source: str, tally: Tally) -> int:
    for key in ("sizeInBytes", "size"):
        if entry.get(key) is not None:
            return round(number(entry, key))
    tally.repair(NO_SIZE, source, path=str(entry.get("name") or entry.get("id")))
    return 0


def _settle_parents(tasks: Mapping[str, _Task]) -> None:
    for task in tasks.values():
        for parent in task.parents:
            if parent not in tasks:
                raise FieldError(f"task {task.name}.parents", f"{parent!r} is not among the tasks")


def _cores(machines: Sequence[Any]) -> int:
    total = 0
    for machine in machines:
        cpu = machine.get("cpu") if isinstance(machine, Mapping) else None
        count = (cpu.get("coreCount") or cpu.get("count")) if isinstance(cpu, Mapping) else None
        total += count if isinstance(count, int) and count > 0 else 0
    return total


def _stages(tasks: Mapping[str, _Task], source: str, tally: Tally, group: Group) -> tuple[Stage, ...]:
    order = {name: index for index, name in enumerate(tasks)}
    depth = ranks({order[name]: [order[parent] for parent in task.parents] for name, task in tasks.items()})
    if isinstance(depth, int):
        name = list(tasks)[depth]
        problem = f"task {name!r} waits for itself; tasks must form a directed acyclic graph"
        raise InputError(problem, source=source, path="workflow")
    keys: dict[tuple[int, str], int] = {}
    stage_of: dict[str, int] = {}
    for name, task in sorted(tasks.items(), key=lambda entry: (depth[order[entry[0]]], order[entry[0]])):
        key = depth[order[name]], task.program if group == "level" else name
        stage_of[name] = keys.setdefault(key, len(keys))
    builders = [StageBuilder(id) for id in range(len(keys))]
    for (_, shown), id in keys.items():
        builders[id].name = shown
    for name, task in tasks.items():
        builder = builders[stage_of[name]]
        builder.parents += tuple(stage_of[parent] for parent in task.parents)
        _add(builder, task, source, tally)
    return tuple(builder.build(keep_tasks=True) for builder in builders)


def _add(builder: StageBuilder, task: _Task, source: str, tally: Tally) -> None:
    builder.tasks += 1
    builder.sums["input_bytes"] += task.read
    builder.sums["output_bytes"] += task.written
    builder.peak_memory = max(builder.peak_memory, task.memory)
    if task.runtime is None:
        tally.repair(NO_RUNTIME, source, path=task.name)
        return
    wall = round(task.runtime * 1e6)
    cpu = None if task.cpu_percent is None else round(task.runtime * task.cpu_percent * 1e4)
    builder.task(wall, cpu)
    builder.sums["run_us"] += wall
    if cpu is not None:
        builder.sums["blocked_us"] += max(0, wall - cpu)
