"""Importer of the two JSON forms of stages in the notes on Bebida.

Homogeneous: a list of stages with ``Stage ID``, ``Parents IDs``, ``Number of Tasks`` and either totals
(``Total Flops``, ``Total Communication``, ``Total IO``) or ``Task Average Execution Time`` in seconds.
Heterogeneous: an object of stages (``Parents IDs`` and ``Tasks``, how many of which profile) and of the
profiles themselves, in Batsim's names, those of its first versions included. Such files are written by
hand: whatever breaks the form is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from batpy.base.errors import InputError
from batpy.workloads.profile import (
    Delay,
    Parallel,
    ParallelHomogeneous,
    ParallelHomogeneousTotal,
    parse_profile,
)
from batpy.workloads.seconds import MAX_NUMBER
from batpy.workloads.stages.builder import StageBuilder
from batpy.workloads.stages.graph import MOST_TASKS, Application, Part, Stage
from batpy.workloads.stages.tally import Tally
from batpy.workloads.stages.texts import MOST_SECONDS, FieldError, integer, items, number, read_whole, record

UNKNOWN_KEY = "key that this form does not know"
_KEYS = {
    *("Stage ID", "Stage Name", "Parents IDs", "Number of Tasks"),
    *("Total Flops", "Total Communication", "Total IO", "Task Average Execution Time"),
}


def read_stage_files(paths: Sequence[str | Path], tally: Tally) -> list[Application]:
    """Read files of stages; one application a file, named like it.

    Raises:
        InputError: unreadable, of neither form, or a field that breaks the form, with its path.
    """
    return [_read(path, str(path), tally) for path in paths]


def _read(path: str | Path, source: str, tally: Tally) -> Application:
    content = read_whole(path, source)
    try:
        tree = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as why:
        raise InputError(f"not JSON: {why}", source=source) from None
    try:
        if isinstance(tree, list):
            stages = _homogeneous(tree, source, tally)
        else:
            _refuse_twice(content)
            stages = _heterogeneous(record(tree, ""), source, tally)
    except FieldError as why:
        raise InputError(why.problem, source=source, path=why.path or None) from None
    return Application(id=Path(path).name.partition(".")[0], framework="stages", stages=stages)


def _refuse_twice(content: bytes) -> None:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        for name in names:
            if names.count(name) > 1:
                raise FieldError(name, "is there twice")
        return dict(pairs)

    json.loads(content, object_pairs_hook=once)


def _count(raw: Mapping[str, Any], key: str, minimum: int) -> int:
    value = integer(raw, key)
    if not minimum <= value <= MOST_TASKS or value != raw[key]:
        raise FieldError(key, f"must be an integer of at least {minimum}, got {raw[key]!r}")
    return value


def _homogeneous(tree: list[Any], source: str, tally: Tally) -> tuple[Stage, ...]:
    stages = []
    for index, value in enumerate(tree):
        path = f"[{index}]"
        try:
            raw = record(value, "")
            for key in raw:
                if key not in _KEYS:
                    tally.repair(UNKNOWN_KEY, source, path=f"{path}.{key}")
            stages.append(_one_kind(raw))
        except FieldError as why:
            raise FieldError(f"{path}.{why.path}".rstrip("."), why.problem) from None
    return _ordered(stages)


def _one_kind(raw: Mapping[str, Any]) -> Stage:
    if "Total Flops" not in raw and "Task Average Execution Time" not in raw:
        raise FieldError("Total Flops", "missing; it or Task Average Execution Time is required")
    builder = StageBuilder(integer(raw, "Stage ID"))
    builder.name = str(raw.get("Stage Name") or "")
    builder.tasks = _count(raw, "Number of Tasks", 1)
    builder.flops = number(raw, "Total Flops", 0.0, most=MAX_NUMBER)
    for index, parent in enumerate(items(raw, "Parents IDs")):
        builder.parents += (integer({f"Parents IDs[{index}]": parent}, f"Parents IDs[{index}]"),)
    builder.sums["shuffle_remote_bytes"] = round(number(raw, "Total Communication", 0.0))
    builder.sums["input_bytes"] = round(number(raw, "Total IO", 0.0))
    if "Task Average Execution Time" in raw:
        wall = round(number(raw, "Task Average Execution Time", most=MOST_SECONDS) * 1e6)
        for _ in range(builder.tasks):
            builder.task(wall, None)
    return builder.build(keep_tasks=True)


def _ordered(stages: list[Stage]) -> tuple[Stage, ...]:
    """Check that parents are there; the order of the file is kept."""
    ids: set[int] = set()
    for index, stage in enumerate(stages):
        if stage.id in ids:
            raise FieldError(f"[{index}].Stage ID", f"{stage.id} is there twice")
        ids.add(stage.id)
    for index, stage in enumerate(stages):
        for parent in stage.parents:
            if parent not in ids:
                raise FieldError(f"[{index}].Parents IDs", f"{parent} is no stage of this file")
    return tuple(stages)


def _heterogeneous(tree: Mapping[str, Any], source: str, tally: Tally) -> tuple[Stage, ...]:
    named = {name: value for name, value in tree.items() if isinstance(value, Mapping) and "Tasks" in value}
    if not named:
        raise FieldError("", "not a file of stages: no object in it has Tasks")
    ids = _ids(list(named))
    stages = []
    for name, raw in named.items():
        for key in raw:
            if key not in ("Tasks", "Parents IDs"):
                tally.repair(UNKNOWN_KEY, source, path=f"{name}.{key}")
        builder = StageBuilder(ids[name])
        builder.name = name
        for parent in items(raw, "Parents IDs"):
            if not isinstance(parent, str) or parent not in ids:
                raise FieldError(f"{name}.Parents IDs", f"{parent!r} is no stage of this file")
            builder.parents += (ids[parent],)
        for profile, _ in record(raw["Tasks"], f"{name}.Tasks").items():
            if not isinstance(tree.get(profile), Mapping) or profile in named:
                raise FieldError(f"{name}.Tasks.{profile}", "is no profile of this file")
            try:
                count = _count(raw["Tasks"], profile, 0)
            except FieldError as why:
                raise FieldError(f"{name}.Tasks.{profile}", why.problem) from None
            _add_part(builder, profile, tree[profile], count)
        stages.append(builder.build(keep_tasks=True))
    return tuple(stages)


def _ids(names: list[str]) -> dict[str, int]:
    """``stage_4`` is stage 4 if all names end so, each in another number; else they are counted from 0."""
    tails = [name.rpartition("_")[2] for name in names]
    if all(tail.isdecimal() and len(tail) < 16 for tail in tails) and len(set(map(int, tails))) == len(names):
        return dict(zip(names, map(int, tails), strict=True))
    return {name: index for index, name in enumerate(names)}


def _add_part(builder: StageBuilder, name: str, raw: Mapping[str, Any], count: int) -> None:
    try:
        profile = parse_profile(name, raw, path=name)
    except InputError as why:
        raise FieldError(why.path or name, why.problem) from None
    builder.tasks += count
    builder.parts += (Part(name=name, tasks=count, profile=dict(raw)),)
    moved = 0.0
    if isinstance(profile, Delay):
        wall = round(number({f"{name}.delay": profile.delay}, f"{name}.delay", most=MOST_SECONDS) * 1e6)
        for _ in range(count):
            builder.task(wall, None)
    elif isinstance(profile, Parallel):
        builder.flops += count * sum(profile.cpu)
        size = len(profile.cpu)
        # What an executor sends to itself stays on its host.
        moved = sum(amount for at, amount in enumerate(profile.com) if at // size != at % size)
    elif isinstance(profile, (ParallelHomogeneous, ParallelHomogeneousTotal)):
        builder.flops += count * profile.cpu  # a task of one executor
    else:
        known = "delay, parallel (msg_par), parallel_homogeneous (msg_par_hg) or their totals"
        raise FieldError(f"{name}.type", f"must be {known}, got {raw.get('type')!r}")
    if moved:
        total = number({f"{name}.com": count * moved}, f"{name}.com")
        builder.sums["shuffle_remote_bytes"] += round(total)
