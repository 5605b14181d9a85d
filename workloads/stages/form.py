"""The stage graph's own JSON form: strict in both directions, with a version.

``{"format": "batpy-stage-graph", "version": 1, "source": ..., "applications": [...]}``; the fields are those
of ``batpy.workloads.stages.graph``, and a field that has its default value is left out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from batpy.base.errors import InputError
from batpy.workloads.files import read_bytes, write_bytes
from batpy.workloads.stages.graph import FORMAT, QUANTILES, VERSION, Application, Stage, StageGraph, depths

_PLACE = re.compile(r"(?P<problem>.*?) - at `\$\.?(?P<path>.*)`", re.S)


def graph_json(graph: StageGraph) -> bytes:
    """The text of a graph; same graph, same bytes.

    Raises:
        InputError: a sum is beyond 64 bits.
    """
    tree: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    tree.update(msgspec.to_builtins(graph))
    try:
        text = msgspec.json.encode(tree)
    except OverflowError:
        raise InputError(
            "a sum of the graph does not fit in 64 bits; some number in the log is absurd"
        ) from None
    return msgspec.json.format(text, indent=1) + b"\n"


def write_graph(graph: StageGraph, path: str | Path) -> None:
    """Write a graph; a name that ends in ``.gz`` is packed.

    Raises:
        InputError: the file cannot be written.
    """
    write_bytes(path, graph_json(graph))


def read_graph(path: str | Path, source: str | None = None) -> StageGraph:
    """Read a graph, plain, gzipped or zipped.

    Raises:
        InputError: unreadable, not JSON, another format or version, or a field that breaks a rule, with
            its path.
    """
    source = source if source is not None else str(path)
    return parse_graph(read_bytes(path, source), source)


def parse_graph(content: bytes, source: str) -> StageGraph:
    """As :func:`read_graph`, from the file's content."""
    try:
        tree = msgspec.json.decode(content, type=dict[str, msgspec.Raw])
        head = {key: msgspec.json.decode(tree.pop(key, b"null")) for key in ("format", "version")}
        if head["format"] != FORMAT:
            problem = f"not a stage graph: must be {FORMAT!r}, got {head['format']!r}"
            raise InputError(problem, source=source, path="format")
        if head["version"] != VERSION:
            problem = f"must be {VERSION}, the version this release reads, got {head['version']!r}"
            raise InputError(problem, source=source, path="version")
        graph = msgspec.json.decode(msgspec.json.encode(tree), type=StageGraph)
    except msgspec.ValidationError as why:
        place = _PLACE.fullmatch(str(why))
        problem, path = (place["problem"], place["path"]) if place else (str(why), "")
        raise InputError(problem, source=source, path=path or None) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as why:
        raise InputError(f"not JSON: {why}", source=source) from None
    check_graph(graph, source)
    return graph


def check_graph(graph: StageGraph, source: str) -> None:
    """Check what the types of the fields do not say.

    Raises:
        InputError: an id is there twice, a stage has an unknown parent or leads back to itself, a table is
            not one, or more tasks ended well than there are.
    """
    seen: set[str] = set()
    for index, application in enumerate(graph.applications):
        path = f"applications[{index}]"
        if application.id in seen:
            raise InputError(f"{application.id!r} is there twice", source=source, path=f"{path}.id")
        seen.add(application.id)
        _check_application(application, path, source)


def _check_application(application: Application, path: str, source: str) -> None:
    ids = {stage.id for stage in application.stages}
    profiles = {profile.id for profile in application.profiles}
    seen: set[tuple[int, int]] = set()
    for index, stage in enumerate(application.stages):
        at = f"{path}.stages[{index}]"
        if (stage.id, stage.attempt) in seen:
            problem = f"attempt {stage.attempt} of stage {stage.id} is there twice"
            raise InputError(problem, source=source, path=f"{at}.id")
        seen.add((stage.id, stage.attempt))
        if unknown := sorted(set(stage.parents) - ids):
            problem = f"{unknown[0]} is no stage of this application"
            raise InputError(problem, source=source, path=f"{at}.parents")
        if profiles and stage.profile not in profiles:
            problem = f"{stage.profile} is not among the profiles"
            raise InputError(problem, source=source, path=f"{at}.profile")
        _check_numbers(stage, at, source)
    circle = depths(application.stages)
    if isinstance(circle, int):
        problem = f"stage {circle} leads back to itself; stages must form a directed acyclic graph"
        raise InputError(problem, source=source, path=f"{path}.stages")


def _check_numbers(stage: Stage, path: str, source: str) -> None:
    if stage.done > stage.tasks:
        problem = f"must be at most tasks ({stage.tasks}), got {stage.done}"
        raise InputError(problem, source=source, path=f"{path}.done")
    for name in ("times_us", "cpus_us"):
        table = getattr(stage, name)
        if table and (len(table) != QUANTILES + 1 or list(table) != sorted(table)):
            problem = f"must be empty or {QUANTILES + 1} values in ascending order"
            raise InputError(problem, source=source, path=f"{path}.{name}")
    if stage.durations_us and len(stage.durations_us) != stage.done:
        problem = f"must be empty or hold {stage.done} times, as done says"
        raise InputError(problem, source=source, path=f"{path}.durations_us")
    if stage.parts and sum(part.tasks for part in stage.parts) != stage.tasks:
        problem = f"must hold {stage.tasks} tasks in all, as tasks says"
        raise InputError(problem, source=source, path=f"{path}.parts")
