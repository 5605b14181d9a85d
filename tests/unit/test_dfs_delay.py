"""Delay scheduling: what YARN and Spark do with offers, and the formula of EuroSys 2010."""

from __future__ import annotations

import doctest
import random

import pytest

from batpy.base.errors import InputError
from batpy.dfs import delay
from batpy.dfs.delay import DelayScheduling, SkipCount, Waits, expected_locality, skips_for_locality
from batpy.dfs.locality import SPARK, YARN, Locality, histogram, histogram_of_log

NODE, RACK, OFF = Locality.NODE, Locality.RACK, Locality.OFF_RACK
TWO_RACKS = {0: "a", 1: "a", 2: "b", 3: "b"}
SECOND = 1_000_000


def levels(queue: DelayScheduling[str], offers: list[int]) -> list[Locality | None]:
    return [None if (taken := queue.offer(node)) is None else taken.level for node in offers]


def test_yarn_takes_a_rack_after_node_delay_and_any_after_rack_delay_more() -> None:
    queue = DelayScheduling[str](TWO_RACKS, SkipCount(node_delay=1, rack_delay=1))
    for name in "xyz":
        queue.add(name, [0])
    assert levels(queue, [2, 1]) == [None, RACK]
    assert queue.missed == 0
    assert levels(queue, [2, 2, 2]) == [None, None, OFF]
    assert queue.missed == 3  # off the rack the count goes on, so the next may be there at once
    queue.add("w", [0])
    assert levels(queue, [2]) == [OFF]
    assert levels(queue, [0]) == [NODE]
    assert queue.missed == 0
    assert len(queue) == 0


def test_a_count_that_a_rack_leaves_alone_lets_racks_go_on() -> None:
    queue = DelayScheduling[str](TWO_RACKS, SkipCount(2, 2, rack_full_reset=False))
    for name in "xyz":
        queue.add(name, [0])
    assert levels(queue, [1, 1, 1, 1, 1]) == [None, None, RACK, RACK, RACK]


def test_delays_are_at_most_the_nodes_of_the_cluster() -> None:
    queue = DelayScheduling[str](TWO_RACKS, SkipCount(40, 0))
    queue.add("x", [0])
    assert levels(queue, [1] * 5) == [None] * 4 + [RACK]


def test_without_rack_delay_few_tasks_on_few_places_go_anywhere_soon() -> None:
    # One pending task that asks for 1 node and 1 rack of 4 nodes: half an offer.
    queue = DelayScheduling[str](TWO_RACKS, SkipCount())
    queue.add("x", [0])
    assert levels(queue, [2]) == [OFF]
    for name in "abcdefgh":
        queue.add(name, [0])
    assert levels(queue, [0]) == [NODE]
    assert levels(queue, [2] * 5) == [None, None, None, OFF, OFF]  # 7 tasks times a half


def test_the_fair_schedulers_delays_are_fractions_of_the_cluster() -> None:
    assert SkipCount.fair(10, 0.5, 0.25) == SkipCount(5, 2)
    with pytest.raises(InputError, match="from 0 to 1"):
        SkipCount.fair(10, 1.5, 0)


def test_tasks_without_preference_take_any_offer_and_count_for_nothing() -> None:
    queue = DelayScheduling[str](TWO_RACKS, SkipCount(node_delay=3, rack_delay=3))
    queue.add("far", [0])
    queue.add("any")
    assert queue.offer(3) == (3, "any", None)
    assert queue.missed == 0
    assert queue.offer(0) == (0, "far", NODE)
    assert queue.offer(0) is None
    assert queue.missed == 0  # nobody was waiting


def test_nearest_comes_first_and_of_equals_the_first_added() -> None:
    queue = DelayScheduling[str](TWO_RACKS, SkipCount(0, 0))
    queue.add("beside", [1])
    queue.add("here", [0])
    queue.add("here too", [0])
    queue.add("in memory", cached=[0])
    assert [queue.offer(0) for _ in range(4)] == [
        (0, "in memory", Locality.PROCESS),
        (0, "here", NODE),
        (0, "here too", NODE),
        (0, "beside", RACK),
    ]


def test_a_task_that_is_removed_is_not_offered() -> None:
    queue = DelayScheduling[str](TWO_RACKS, SkipCount(0, 0))
    queue.add("x", [0, 1])
    assert "x" in queue
    queue.remove("x")
    queue.remove("x")
    assert "x" not in queue
    assert queue.offer(0) is None


def test_spark_waits_at_each_level_that_has_tasks() -> None:
    queue = DelayScheduling[str](TWO_RACKS, Waits())
    queue.add("x", [0])
    assert queue.allowed(0) is NODE  # no task is in a process's memory, so that level is passed over
    assert queue.wakes_at(0) == 3 * SECOND
    assert queue.offer(1, 3 * SECOND - 1) is None
    assert queue.offer(2, 3 * SECOND) is None
    assert queue.wakes_at(3 * SECOND) == 6 * SECOND
    assert queue.offer(2, 6 * SECOND) == (2, "x", OFF)
    assert queue.wakes_at(6 * SECOND) is None


def test_a_round_gives_the_near_offers_first() -> None:
    queue = DelayScheduling[str](TWO_RACKS, Waits(0, 0, 0))
    queue.add("x", [3])
    queue.add("y", [0])
    assert queue.round([2, 3, 0, 1], 0) == [(3, "x", NODE), (0, "y", NODE)]


def busy_time_beside_the_data(rule: Waits, length: int) -> dict[int, int]:
    """Tasks that each of two nodes runs, of 40 tasks whose data is all on node 0."""
    queue = DelayScheduling[int]({0: "a", 1: "a"}, rule)
    for number in range(40):
        queue.add(number, [0])
    free_at, ran, now = {0: 0, 1: 0}, {0: 0, 1: 0}, 0
    while len(queue):
        idle = [node for node, date in free_at.items() if date <= now]
        for taken in queue.round(idle, now):
            free_at[taken.node] = now + length
            ran[taken.node] += 1
        now += SECOND // 2
    return ran


def test_tasks_shorter_than_the_wait_starve_other_nodes_as_in_spark_18886() -> None:
    assert busy_time_beside_the_data(Waits(reset="launch"), SECOND) == {0: 40, 1: 0}
    ran = busy_time_beside_the_data(Waits(reset="filled"), SECOND)
    assert 5 < ran[1] < 15  # one every 3 s: when both have been filled, it waits again
    longer = busy_time_beside_the_data(Waits(reset="launch"), 4 * SECOND)
    assert longer[1] > 0


def test_a_wait_does_not_go_on_while_only_tasks_without_preference_are_there() -> None:
    queue = DelayScheduling[str](TWO_RACKS, Waits())
    assert queue.allowed(0) is Locality.PROCESS
    queue.add("any")
    assert queue.offer(0, 5) == (0, "any", None)
    queue.add("x", [0])
    assert queue.offer(2, 6) is None


def test_the_example_of_the_docstring() -> None:
    assert doctest.testmod(delay) == (0, 4)


def test_waits_and_delays_below_nothing_are_refused() -> None:
    with pytest.raises(InputError):
        Waits(node=-1)
    with pytest.raises(InputError):
        SkipCount(-1)
    with pytest.raises(InputError):
        SkipCount(1, -2)
    with pytest.raises(InputError):
        skips_for_locality(1.0, 5, 3, 100)


@pytest.mark.parametrize(("tasks", "wanted", "skips"), [(20, 0.95, 23.1), (50, 0.9, 6.1), (5, 0.95, 53.6)])
def test_the_formula_of_eurosys_2010(tasks: int, wanted: float, skips: float) -> None:
    assert skips_for_locality(wanted, tasks, 3, 100) == pytest.approx(skips, abs=0.05)


def measured(skips: float, tasks: int, seed: int, runs: int = 300) -> float:
    """Share of tasks on their data, of jobs that are offered nodes of 100 at random; 3 replicas each."""
    rng = random.Random(seed)
    rack = dict.fromkeys(range(100), 0)
    near = 0
    for _ in range(runs):
        queue = DelayScheduling[int](rack, SkipCount(round(skips), 0))
        for task in range(tasks):
            queue.add(task, rng.sample(range(100), 3))
        while len(queue):
            taken = queue.offer(rng.randrange(100))
            near += taken is not None and taken.level is NODE
    return near / (runs * tasks)


@pytest.mark.parametrize(
    ("tasks", "wanted", "published"),
    [
        (20, 0.95, 0.933),
        (50, 0.9, 0.871),
        (5, 0.95, 0.946),
        (5, None, 0.079),
        (20, None, 0.258),
        (50, None, 0.480),
    ],
)
def test_offers_at_random_reach_what_the_formula_says(
    tasks: int, wanted: float | None, published: float
) -> None:
    skips = 0.0 if wanted is None else skips_for_locality(wanted, tasks, 3, 100)
    share = measured(skips, tasks, tasks)
    assert share == pytest.approx(published, abs=0.06)
    assert share == pytest.approx(expected_locality(skips, tasks, 3, 100), abs=0.06)
    if wanted is not None:
        assert share > wanted - 0.06


def test_levels_have_the_names_of_logs() -> None:
    assert [YARN[level] for level in (NODE, RACK, OFF)] == ["NODE_LOCAL", "RACK_LOCAL", "OFF_SWITCH"]
    assert SPARK[Locality.PROCESS] == "PROCESS_LOCAL"
    log = {"NODE_LOCAL": 3, "ANY": 2, "OFF_SWITCH": 1, "NO_PREF": 9, "DATA_LOCAL_MAPS": 1, "PROCESS_LOCAL": 5}
    assert list(histogram_of_log(log).values()) == [5, 4, 0, 3]
    assert histogram([1, 1, 3]) == {Locality.PROCESS: 0, NODE: 2, RACK: 0, OFF: 1}
