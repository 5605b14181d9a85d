"""The loop that runs applications against its slow twin, on random small ones."""

from __future__ import annotations

from dataclasses import replace

import pytest
from dag_twin import NeverError, Told, Twin
from hypothesis import given, settings
from hypothesis import strategies as st

from batpy.base.errors import InputError
from batpy.dfs.delay import SkipCount, Waits
from batpy.models.dag.engine import run
from batpy.models.dag.load import JobLoad, Load, Schedule, Seats, StageLoad


@st.composite
def loads(draw: st.DrawFn, *, near: bool = False) -> Load:
    """Up to 6 stages of up to 7 tasks in up to 3 jobs, on up to 4 hosts."""
    jobs = draw(st.integers(1, 3))
    hosts = draw(st.integers(1, 4))
    profiles = draw(st.integers(1, 2))
    count = draw(st.integers(0, 6))
    turns = draw(st.permutations(range(count)))
    stages = []
    for index in range(count):
        times = draw(st.lists(st.integers(0, 5), max_size=7))
        places = st.lists(st.integers(-1, hosts - 1), max_size=2, unique=True)
        stages.append(
            StageLoad(
                turns[index],
                draw(st.integers(0, jobs - 1)),
                draw(st.integers(0, profiles - 1)),
                draw(st.lists(st.integers(0, index - 1), unique=True, max_size=2)) if index else [],
                times,
                [draw(places) for _ in times] if near and draw(st.booleans()) else None,
                draw(st.integers(0, 3)),
            )
        )
    seats = [
        Seats(
            draw(st.integers(0, hosts - 1)),
            draw(st.integers(0, profiles - 1)),
            draw(st.integers(1, 3)),
            start := draw(st.integers(0, 4)),
            draw(st.none() | st.integers(start + 1, 12)),
        )
        for _ in range(draw(st.integers(0, 5)))
    ]
    loads = [JobLoad(draw(st.integers(-1, index - 1)), draw(st.integers(0, 4))) for index in range(jobs)]
    delay = draw(st.none() | st.builds(SkipCount, st.integers(0, 6), st.just(0))) if near else None
    return Load(stages, loads, seats, range(profiles), hosts, delay, draw(st.integers(1, 4)))


def as_told(load: Load, found: Schedule) -> Told:
    told = Told(dict(enumerate(found.jobs)), dict(enumerate(found.stages)), {})
    for stage, begins in enumerate(found.begins):
        order = found.started.get(stage, range(len(begins)))
        far = found.far.get(stage, ())
        rows = zip(order, begins, found.hosts[stage], strict=True)
        told.tasks[stage] = [(task, begin, host, task in far) for task, begin, host in rows]
    assert found.end == max((end for _, end in found.jobs), default=0)
    return told


def compare(load: Load) -> None:
    try:
        expected = Twin(load).run()
    except NeverError:
        with pytest.raises(InputError, match="ever comes"):
            run(load)
        return
    assert as_told(load, run(load)) == expected


@settings(max_examples=400, deadline=None)
@given(loads())
def test_the_loop_runs_as_its_twin(load: Load) -> None:
    compare(load)


@settings(max_examples=200, deadline=None)
@given(loads(near=True))
def test_no_delay_is_a_wait_of_nothing(load: Load) -> None:
    try:
        found = run(replace(load, delay=None))
    except InputError:
        return
    assert run(replace(load, delay=Waits(0, 0, 0, reset="launch"))) == found


@settings(max_examples=400, deadline=None)
@given(loads(near=True))
def test_the_loop_places_tasks_near_their_input_as_its_twin(load: Load) -> None:
    compare(load)
