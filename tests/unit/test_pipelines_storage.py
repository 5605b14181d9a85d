"""One storage for all containers: those who read at once slow each other down, by the bandwidth there is."""

from __future__ import annotations

from typing import Any

import pytest
from pipeline_scripts import BATCH, chain, finishes, script, simulate, start, work

from batpy.base.errors import InputError
from batpy.base.pipelines import Priority
from batpy.models.containers.engine import PipelineRun
from batpy.models.containers.pool import Evacuation
from batpy.models.containers.storage import PARTS, Stretch, rate_of
from batpy.pipelines.simulate import make_policy, shown
from batpy.schedulers.pipelines.api import Assignment, Suspend
from batpy.workloads.pipelines.parameters import read_parameters
from batpy.workloads.pipelines.trace import Arrival, TraceSource

READ = work(0.0, None, 20)
"""20 GB: 10 ticks at the 20 GB/s of one container, no computing."""


def run(
    starts: dict[int, list[tuple[int, int]]], *segments: Any, bandwidth: float, **more: Any
) -> PipelineRun:
    """Pipelines of equal work, started by ``tick -> (pipeline, pool)``."""
    plan = script("script")
    count = 0
    for tick, chosen in starts.items():
        plan[tick] = lambda s, pipelines, chosen=chosen: (
            [],
            [start(pipelines[number], 1, 30, pool=pool) for number, pool in chosen],
        )
        count += len(chosen)
    arrivals = [Arrival(0.0, chain(f"p{number}", *segments)) for number in range(count)]
    fixed = {"scheduler_algo": "script", "num_pools": 2, "shared_storage_gb_per_second": bandwidth}
    return simulate(arrivals, "", **(fixed | more))


@pytest.mark.parametrize("pools", [(0, 0), (0, 1)])
def test_two_readers_take_twice_as_long_wherever_they_run(pools: tuple[int, int]) -> None:
    both = {0: [(0, pools[0]), (1, pools[1])]}
    assert finishes(run(both, READ, bandwidth=0)) == [9, 9]
    assert finishes(run(both, READ, bandwidth=40)) == [9, 9]
    assert finishes(run(both, READ, bandwidth=20)) == [19, 19]
    assert finishes(run(both, READ, bandwidth=10)) == [39, 39]


def test_who_comes_and_who_goes_changes_the_dates_of_the_others() -> None:
    """The first has 5 ticks alone and 10 at half speed; the second has 5 ticks left then, alone."""
    assert finishes(run({0: [(0, 0)], 5: [(1, 1)]}, READ, bandwidth=20)) == [14, 19]


def test_computing_is_not_slowed_and_reading_after_it_is() -> None:
    segments = (work(1.0), READ)
    assert finishes(run({0: [(0, 0)], 10: [(1, 1)]}, *segments, bandwidth=20)) == [19, 29]
    assert finishes(run({0: [(0, 0)], 5: [(1, 1)]}, *segments, bandwidth=20)) == [24, 29]


def test_a_killed_reader_makes_way_for_the_others() -> None:
    """30 GB are too few for the second in tick 14 of 20; the first reads on alone."""
    more = {"shared_storage_gb_per_second": 20}
    plan = script("script")
    plan[0] = lambda s, pipelines: ([], [start(pipelines[0], 1, 60), start(pipelines[1], 1, 15, pool=1)])
    arrivals = [Arrival(0.0, chain("a", work(0.0, None, 20))), Arrival(0.0, chain("b", work(0.0, None, 40)))]
    killed = simulate(arrivals, "", scheduler_algo="script", num_pools=2, **more)
    ends = {e.container.container_id: (e.tick, e.error) for e in killed.record.events if e.kind == "end"}
    # Half a tick's 2 GB in each: 16 GB in tick 15, of which the first has read 16, too; 2 ticks alone remain.
    assert ends == {"c2": (15, "OOM"), "c1": (17, None)}


def test_a_suspension_is_written_to_the_same_storage() -> None:
    """60 GB take 30 ticks to write, 20 more while 20 GB are read at the same time."""
    plan = script("script")
    plan[0] = lambda s, pipelines: ([], [start(pipelines[0], 1, 60)])
    plan[5] = lambda s, pipelines: ([Suspend("c1", 0)], [start(pipelines[1], 1, 30, pool=1)])
    arrivals = [
        Arrival(0.0, chain("a", work(0.5), work(0.5))),
        Arrival(0.0, chain("b", work(0.0, None, 20))),
    ]
    written = simulate(arrivals, "", scheduler_algo="script", num_pools=2, shared_storage_gb_per_second=20)
    kinds = [(event.tick, event.kind) for event in written.record.events[1:]]
    assert kinds == [(5, "suspend"), (5, "start"), (24, "end"), (44, "suspended")]


def test_memory_grows_with_what_was_read() -> None:
    halved = run({0: [(0, 0), (1, 1)]}, work(0.0, None, 20), bandwidth=20, duration=2)
    assert halved.record.samples[0][1] == 2 * 1.0
    assert halved.record.samples[1][1] == 2 * 11.0


def test_a_stretch_is_added_as_a_loop_over_ticks_adds_it() -> None:
    for rate, need in ((PARTS // 3 + 1, 100 * PARTS), (PARTS, 10**18 * PARTS)):
        grows = Stretch(5 * rate, rate, need, 1 / 7, 20)
        plain = [grows.at(i) - grows.at(i - 1) for i in range(1, 400)]
        assert grows.steps(1, 400).tolist() == plain
        above = next((i for i in range(400) if grows.at(i) > 33.3), None)
        assert grows.first_above(33.3, 400) == above


def test_rates_do_the_work_of_whole_ticks() -> None:
    assert rate_of([20, 20], 40) == PARTS
    assert rate_of([20, 20], 20) * 2 == PARTS * 1
    assert 0 <= rate_of([20] * 3, 20) * 3 - PARTS < 3


def test_a_policy_does_not_see_the_parameter_and_a_bad_value_is_refused() -> None:
    assert "shared_storage_gb_per_second" not in shown(read_parameters({"shared_storage_gb_per_second": 20}))
    with pytest.raises(InputError, match="shared_storage_gb_per_second: must be at least 0"):
        read_parameters({"shared_storage_gb_per_second": -1})


def test_operators_of_one_container_share_with_others_one_after_the_other() -> None:
    plan = script("script")
    plan[0] = lambda s, pipelines: (
        [],
        [
            Assignment([*pipelines[0].values], 1, 60, BATCH, 0),
            Assignment([*pipelines[1].values], 1, 60, Priority.QUERY, 1),
        ],
    )
    arrivals = [Arrival(0.0, chain("a", READ, READ)), Arrival(0.0, chain("b", READ))]
    shared = simulate(arrivals, "", scheduler_algo="script", num_pools=2, shared_storage_gb_per_second=20)
    assert finishes(shared) == [29, 19]


@pytest.mark.parametrize(("how", "end"), [("kill", 13), ("suspend", 19)])
def test_a_pool_that_is_taken_away_makes_way_at_the_storage(how: Evacuation, end: int) -> None:
    """Killed in tick 6, after 7 ticks at half speed: 6.5 are left, alone; one operator is not written."""
    plan = script("script")
    plan[0] = lambda s, pipelines: (
        [],
        [start(pipelines[0], 1, 30), start(pipelines[1], 1, 30, pool=1)],
    )
    table = {
        "duration": 5,
        "ticks_per_second": 10,
        "scheduler_algo": "script",
        "shared_storage_gb_per_second": 20,
    }
    file = read_parameters(table)
    arrivals = TraceSource([Arrival(0.0, chain("a", READ)), Arrival(0.0, chain("b", READ))], 0.1, exact=False)
    taken = PipelineRun(file.parameters, arrivals, pool_sizes=[(8, 60), (4, 30)])
    taken.policy = make_policy(taken, file)
    taken.advance(5)
    taken.withdraw(0, how)
    taken.advance(49)
    assert finishes(taken)[1] == end
    assert taken.record.failures == ({"revoked": 1} if how == "kill" else {})
