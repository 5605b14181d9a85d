"""Importing logs of any known kind into one stage graph."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from batpy.base.errors import InputError
from batpy.workloads.stages.codecs import DAMAGE
from batpy.workloads.stages.containers import find_logs, open_piece
from batpy.workloads.stages.form import check_graph, read_graph
from batpy.workloads.stages.graph import Application, Source, StageGraph
from batpy.workloads.stages.jhist import read_jhist
from batpy.workloads.stages.rumen import read_rumen
from batpy.workloads.stages.sls import read_sls
from batpy.workloads.stages.spark import read_spark
from batpy.workloads.stages.stage_files import read_stage_files
from batpy.workloads.stages.swim import SPLIT_BYTES, read_swim
from batpy.workloads.stages.tally import Tally
from batpy.workloads.stages.wfcommons import read_wfcommons

Kind = Literal["spark", "jhist", "rumen", "sls", "swim", "wfcommons", "stages", "graph"]
KINDS: tuple[Kind, ...] = ("spark", "jhist", "rumen", "sls", "swim", "wfcommons", "stages", "graph")
_HEAD = 1 << 16
_DATED: tuple[Kind, ...] = ("spark", "jhist", "rumen")
"""Their dates are milliseconds since 1970."""


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How to read.

    Attributes:
        strict: refuse the first thing that would be left out or repaired.
        keep_tasks: keep the time of each task, for replays and jobs at level ``task``.
        split_bytes: for SWIM, bytes a task.
        group: for WfCommons, ``level`` or ``task`` (one stage for each task).
    """

    strict: bool = False
    keep_tasks: bool = False
    split_bytes: int = SPLIT_BYTES
    group: Literal["level", "task"] = "level"

    def __post_init__(self) -> None:
        if self.split_bytes < 1:
            raise InputError(f"must be at least 1, got {self.split_bytes}", path="split_bytes")


@dataclass(frozen=True, slots=True)
class Imported:
    """A graph, and the account of its reading."""

    graph: StageGraph
    tally: Tally

    def report(self) -> list[str]:
        """One line for each kind of thing that was left out or accepted although it is odd."""
        return self.tally.report()


def import_graph(
    paths: Sequence[str | Path], kind: Kind | None = None, options: ImportOptions | None = None
) -> Imported:
    """Read logs into one graph.

    Args:
        paths: files; for Spark also folders and zip archives.
        kind: of all of them; told from the content of the first if None.

    Raises:
        InputError: unreadable, of no known kind, breaking the rules of its kind, or without any application.
    """
    options = options or ImportOptions()
    if not paths:
        raise InputError("name at least one file to import")
    kind = kind or kind_of(paths[0])
    tally = Tally(options.strict)
    if kind == "graph":
        graph = _joined([read_graph(path) for path in paths])
        check_graph(graph, str(paths[0]))
        return Imported(graph, tally)
    readers: dict[Kind, Callable[[], list[Application]]] = {
        "spark": lambda: read_spark(paths, tally, keep_tasks=options.keep_tasks),
        "jhist": lambda: read_jhist(paths, tally),
        "rumen": lambda: read_rumen(paths, tally),
        "sls": lambda: read_sls(paths, tally),
        "swim": lambda: read_swim(paths, tally, split_bytes=options.split_bytes),
        "wfcommons": lambda: read_wfcommons(paths, tally, group=options.group),
        "stages": lambda: read_stage_files(paths, tally),
    }
    applications = readers[kind]()
    if not applications:
        raise InputError(f"nothing could be imported: {tally.reasons()}", source=str(paths[0]))
    if not options.keep_tasks:
        applications = [_without_tasks(application) for application in applications]
    source: Source = kind
    graph = _rebased(source, applications, dated=kind in _DATED)
    check_graph(graph, str(paths[0]))
    return Imported(graph, tally)


def _rebased(source: Source, applications: Sequence[Application], *, dated: bool) -> StageGraph:
    """Date 0 is the first submission; equal ids are told apart by a number."""
    origin = min(application.submitted_us for application in applications)
    moved = [
        msgspec.structs.replace(application, submitted_us=application.submitted_us - origin)
        for application in _named_apart(applications)
    ]
    moved.sort(key=lambda application: (application.submitted_us, application.id))
    return StageGraph(source=source, origin_ms=origin // 1000 if dated else 0, applications=tuple(moved))


def _without_tasks(application: Application) -> Application:
    """Readers of formats that are small keep the time of each task."""
    if not any(stage.durations_us for stage in application.stages):
        return application
    stages = tuple(msgspec.structs.replace(stage, durations_us=()) for stage in application.stages)
    return msgspec.structs.replace(application, stages=stages)


def _named_apart(applications: Sequence[Application]) -> list[Application]:
    taken: dict[str, int] = {}
    ids = {application.id for application in applications}
    named = []
    for application in applications:
        count = taken.get(application.id, 0) + 1
        taken[application.id] = count
        id = application.id
        while count > 1 and (id := f"{application.id}~{count}") in ids:
            count += 1
        ids.add(id)
        taken[application.id] = count
        named.append(application if id == application.id else msgspec.structs.replace(application, id=id))
    return named


def _joined(graphs: Sequence[StageGraph]) -> StageGraph:
    if len(graphs) == 1:
        return graphs[0]
    origin = min(graph.origin_ms for graph in graphs)
    applications = [
        msgspec.structs.replace(a, submitted_us=a.submitted_us + (graph.origin_ms - origin) * 1000)
        for graph in graphs
        for a in graph.applications
    ]
    named = sorted(_named_apart(applications), key=lambda a: (a.submitted_us, a.id))
    sources = {graph.source for graph in graphs}
    return StageGraph(
        source=sources.pop() if len(sources) == 1 else "mixed", origin_ms=origin, applications=tuple(named)
    )


_MARKS: Mapping[Kind, re.Pattern[bytes]] = {
    "graph": re.compile(rb'\s*\{\s*"format"\s*:\s*"batpy-stage-graph"'),
    "jhist": re.compile(rb"Avro-(Json|Binary)"),
    "spark": re.compile(rb'[^\n]{0,200}"Event"\s*:\s*"'),
    "sls": re.compile(rb'[\s\S]*?"(am\.type|job\.tasks|job\.start\.ms|num_nodes)"\s*:'),
    "rumen": re.compile(rb'\s*\{[\s\S]*?"(mapTasks|reduceTasks|submitTime|children)"\s*:'),
    "wfcommons": re.compile(rb'[\s\S]*?("schemaVersion"\s*:|"workflow"\s*:\s*\{)'),
    "stages": re.compile(rb'[\s\S]*?"(Parents IDs|Stage ID|Tasks)"\s*:'),
    "swim": re.compile(rb"(#[^\n]*\n)*\s*\S+\t\d[^\t\n]*\t-?\d[^\t\n]*\t\d[^\t\n]*\t\d"),
}


def kind_of(path: str | Path) -> Kind:
    """Tell what a file is by its first bytes, unpacked.

    Raises:
        InputError: of no known kind, or unreadable.
    """
    if Path(path).is_dir():
        return "spark"
    pieces = [piece for log in find_logs([path]) for piece in log.pieces]
    try:
        with open_piece(pieces[0]) as stream:
            head = stream.read(_HEAD).removeprefix(b"\xef\xbb\xbf")
    except DAMAGE as why:
        raise InputError(f"damaged: {why}", source=str(path)) from None
    order: tuple[Kind, ...] = ("graph", "jhist", "spark", "wfcommons", "sls", "stages", "rumen", "swim")
    for kind in order:
        if _MARKS[kind].match(head):
            return kind
    looks = f"it begins with {head[:20].decode('utf-8', 'replace')!r}" if head else "it is empty"
    known = ", ".join(KINDS)
    raise InputError(f"of no known kind: {looks}; known are {known} (name one)", source=str(path))
