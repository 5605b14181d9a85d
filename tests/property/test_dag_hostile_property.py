"""Profiles and progress that are damaged: they run, or one line says what is wrong."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from batpy.base.errors import InputError, RemoteProtocolError
from batpy.models.dag.blueprint import Site, load_of, missing_slots
from batpy.models.dag.engine import run
from batpy.models.dag.progress import progress_of
from batpy.schedulers.bigdata.dag_remains import Losses, dag_remains
from batpy.workloads.profile import StageDag, parse_profile

SITE = Site(["n0", "n1"], [2, 2])
LOST = Losses(SITE.names, ("n0",), ("n0",))
RAW: dict[str, Any] = {
    "type": "stage_dag",
    "framework": "spark",
    "shuffle": "local",
    "checkpoint": 0.5,
    "order": "critical_path",
    "slots": {"0": 2, "1": [1, 2]},
    "resources": [{"id": 0, "executor": {"cores": 2}, "task": {"cpus": 1}}],
    "hosts": ["n0", "n9"],
    "local_bandwidth": 4e8,
    "remote_bandwidth": 1e8,
    "delay": {"skips": 2, "heartbeat": 0.5},
    "jobs": [{"id": 0, "think": 1}, {"id": 1, "after": 0, "think": 0.5}],
    "stages": [
        {"id": 0, "tasks": 4, "durations": [1, 2, 0, 1.5], "near": [[0], [1], [], [0, 1]], "input": 1e8},
        {"id": 1, "tasks": 5, "times": list(range(17)), "total": 40, "parents": [0], "left": "1 3-4",
         "outputs": {"n0": "0"}, "resumed": {"3": 0.5}},
        {"id": 2, "tasks": 1, "durations": [1], "parents": [0, 1], "profile": 1, "job": 1},
    ],
    "stream": "x",
}  # fmt: skip
WEIRD = st.sampled_from(
    [
        *(None, True, "", "0", "-1", "3-1", "0-99999999999", "x", [], [0], [[9]], {}, {"0": 1}, {"0": "1-2"}),
        *(-1, 0, 1, 2, 3, 7, 10**9, 2**63, 2**70, 0.5, -0.5, 1e18, 1e19, 1e308),
    ]
)


def places(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        found += places(value, (*path, key))
    return found


def damaged(draw: st.DrawFn, tree: Any, most: int) -> Any:
    out = copy.deepcopy(tree)
    for _ in range(draw(st.integers(1, most))):
        path = draw(st.sampled_from(places(out)))
        inner = out
        for key in path[:-1]:
            inner = inner[key]
        if draw(st.booleans()):
            inner[path[-1]] = copy.deepcopy(draw(WEIRD))
        else:
            del inner[path[-1]]
        if not places(out):
            break
    return out


def one_line(why: Exception) -> None:
    """A refusal is an answer, if it is one line."""
    if "\n" in str(why):
        raise AssertionError(f"more than one line: {why}") from why


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_damaged_profiles_run_or_are_refused_in_one_line(data: st.DataObject) -> None:
    raw = damaged(data.draw, RAW, 2)
    try:
        profile = parse_profile("p", raw)
    except InputError as why:
        one_line(why)
        return
    if not isinstance(profile, StageDag) or missing_slots(profile.dag, SITE.cores) is not None:
        return
    load = load_of(profile, SITE, 0)
    try:
        schedule = run(load)
    except InputError as why:
        one_line(why)
        return
    told = progress_of(profile.dag, load, schedule, schedule.end // 2)
    rest = dag_remains(raw, "p", told, LOST, keep=False)
    left = parse_profile("rest", rest)
    assert isinstance(left, StageDag)
    assert run(load_of(left, SITE, 0)).end >= 0


@settings(max_examples=400, deadline=None)
@given(st.data(), st.integers(0, 60), st.booleans())
def test_damaged_progress_is_refused_in_one_line(data: st.DataObject, half_seconds: int, keep: bool) -> None:
    profile = parse_profile("p", RAW)
    assert isinstance(profile, StageDag)
    load = load_of(profile, SITE, 0)
    told = progress_of(profile.dag, load, run(load), half_seconds * 500_000)
    progress = damaged(data.draw, told, 2)
    try:
        rest = dag_remains(RAW, "p", progress, LOST, keep=keep)
    except RemoteProtocolError as why:
        one_line(why)
        return
    try:
        parse_profile("rest", rest)
    except InputError as why:  # the simulator says so when it is registered
        one_line(why)
