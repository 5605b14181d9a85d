"""Segments, DAGs, sums, containers and pools of the pipeline model."""

from __future__ import annotations

import math
import random
from itertools import accumulate

import pytest
from pipeline_scripts import BATCH, chain, finishes, script, simulate, start, work

import batpy
from batpy.base.errors import InputError
from batpy.base.pipelines import IllegalStepError, OperatorState, Priority
from batpy.models.containers.exact import compensated_sum
from batpy.models.containers.growth import Growth
from batpy.models.containers.pipeline import Operator, Pipeline, from_spec
from batpy.schedulers.pipelines.api import Assignment
from batpy.workloads.pipelines.pipeline import OperatorSpec, PipelineSpec, dag_order, make_shape
from batpy.workloads.pipelines.segment import Segment
from batpy.workloads.pipelines.trace import Arrival


@pytest.mark.parametrize(
    ("scaling", "cpus", "seconds"),
    [
        ("const", 8, 12.0),
        ("log", math.e, 6.0),
        ("sqrt", 4, 6.0),
        ("linear3", 2, 6.0),
        ("linear3", 5, 4.0),
        ("linear7", 6, 2.0),
        ("linear7", 12, 12 / 7),
        ("squared", 2, 3.0),
        ("exp", 1, 6.0),
        ("exp", 3, 1.5),
        ("exp", 4, 0.75),
        ("linear3", 1.5, 8.0),
        (lambda cpus, baseline: baseline - cpus, 2, 10.0),
    ],
)
def test_time_of_a_segment(scaling: object, cpus: float, seconds: float) -> None:
    assert Segment(12.0, scaling).get_cpu_time(cpus) == pytest.approx(seconds, rel=1e-12)  # type: ignore[arg-type]


def test_ticks_are_truncated_in_double_arithmetic() -> None:
    """0.3 s at 10 ticks/s: 0.3 / 0.1 is 2.9999999999999996."""
    assert Segment(0.3).phase_ticks(1, 1.0 / 10) == (0, 2)
    assert Segment(0.5, storage_read_gb=50).phase_ticks(1, 1.0 / 10) == (25, 5)


def test_helper_about_memory() -> None:
    assert Segment(1, memory_gb=10).get_seconds_until_oom(5) == 0.0
    assert Segment(1, storage_read_gb=20).get_seconds_until_oom(10) == 0.5
    assert Segment(1, storage_read_gb=20).get_seconds_until_oom(20) is None


def test_unknown_scaling() -> None:
    with pytest.raises(InputError, match="no such cpu_scaling 'cubic'"):
        Segment(1, "cubic")


def test_dag_order_takes_children_as_they_were_added() -> None:
    parents = [(), (0,), (), (2,), (1, 3), (0,)]
    children = [(1, 5), (4,), (3,), (4,), (), ()]
    assert dag_order(parents, children) == [0, 2, 1, 5, 3, 4]


def test_sum_as_python_312_rounds_it() -> None:
    assert compensated_sum([0.1] * 10) == 1.0
    assert sum([0.1] * 10) != 1.0 or math.fsum([0.1] * 10) == 1.0
    assert compensated_sum([1e100, 1.0, -1e100]) == 1.0
    assert repr(compensated_sum([])) == "0"
    assert repr(compensated_sum([55, 0.5])) == "55.5"
    assert compensated_sum([math.inf, 1.0]) == math.inf


def test_growth_is_added_as_a_loop_over_ticks_adds_it() -> None:
    growth = Growth(1.0 / 1000)
    plain = list(accumulate((growth.at(i) - growth.at(i - 1) for i in range(1, 3000)), initial=growth.at(0)))
    assert list(accumulate(growth.steps(1, 3000).tolist(), initial=growth.at(0))) == plain
    for limit in (0.0, 0.019, 0.02, 6.0, 24.98, 25.0, 59.98):
        index = growth.first_above(limit, 3000)
        assert index == next((i for i in range(3000) if growth.at(i) > limit), None), limit


def test_memory_dies_by_a_comparison_of_doubles() -> None:
    """At 10 ticks/s the third tick of reading holds 3 * 0.1 * 20 = 6.000000000000001 GB."""
    assert Growth(1.0 / 10).first_above(6.0, 100) == 2


def test_states_that_may_not_follow_each_other() -> None:
    operator = from_spec(chain("a", work(1.0))).values.nodes[0]
    with pytest.raises(IllegalStepError, match="Cannot transition from pending to running"):
        operator.transition(OperatorState.RUNNING)


def test_dependencies_are_looked_at_when_an_operator_begins() -> None:
    plan = script("script")
    plan[0] = lambda s, pipelines: ([], [_assign(list(pipelines[0].values)[1:])])
    with pytest.raises(IllegalStepError, match="Dependencies not satisfied"):
        simulate([Arrival(0.0, chain("a", work(0.5), work(0.5)))], "", scheduler_algo="script")


def _assign(ops: list[Operator]) -> object:
    return Assignment(ops, 1, 10, BATCH, 0)


def test_a_pipeline_made_in_python() -> None:
    pipeline = Pipeline("mine", Priority.QUERY)
    first = pipeline.new_operator()
    first.add_segment(Segment(1))
    second = pipeline.new_operator([first])
    second.add_segment(Segment(1))
    assert list(pipeline.values) == [first, second]
    assert [op.id for op in pipeline.values] == ["mine/op1", "mine/op2"]
    assert pipeline.runtime_status().get_ops(OperatorState.PENDING, require_parents_complete=True) == [first]


def test_memory_by_tick_of_a_container() -> None:
    """Eudoxia's own example at 10 ticks/s: 55 ticks through fixed and growing memory."""
    segments = (
        Segment(1, memory_gb=10),
        Segment(1, storage_read_gb=40),
        Segment(1, memory_gb=2, storage_read_gb=20),
    )
    plan = script("script")
    plan[0] = lambda s, pipelines: ([], [start(pipelines[0], 1, 100)])
    seen: list[float] = []

    def look(s: object, pipelines: object) -> object:
        seen.append(s.executor.pools[0].consumed_ram_gb)  # type: ignore[attr-defined]
        return [], []

    plan.update(dict.fromkeys(range(1, 62), look))
    shape = make_shape([OperatorSpec("op1", segments)])
    simulate([Arrival(0.0, PipelineSpec("a", BATCH, shape))], "eudoxia", scheduler_algo="script")
    growing = [pytest.approx(2.0 * (i + 1)) for i in range(20)]
    assert seen == [10] * 10 + growing + [40] * 10 + [2] * 19 + [0] * 2


def test_overcommitted_memory_is_relieved_by_score() -> None:
    """60 and 50 GB of a pool of 100, both allowed 80: the larger one goes, in the tick they meet."""
    plan = script("script")
    plan[0] = lambda s, pipelines: ([], [start(pipelines[0], 1, 80), start(pipelines[1], 1, 80)])
    arrivals = [Arrival(0.0, chain("a", work(1.0, 60.0))), Arrival(0.0, chain("b", work(1.0, 50.0)))]
    run = simulate(arrivals, "", scheduler_algo="script", allow_memory_overcommit=True)
    ends = [(e.tick, e.container.container_id, e.error) for e in run.record.events if e.kind == "end"]
    assert ends == [(0, "c1", "OOM"), (9, "c2", None)]


def test_a_users_function_scales_a_segment() -> None:
    segment = Segment(4.0, lambda cpus, baseline: baseline / (cpus + 1), 1.0)
    arrivals = [Arrival(0.0, PipelineSpec("a", BATCH, make_shape([OperatorSpec("op1", (segment,))])))]
    run = simulate(arrivals, "", scheduler_algo="naive", cpus_per_pool=3)
    assert run.record.pipelines[0].status.finish_tick == 9


@pytest.mark.parametrize(
    ("orders", "told"),
    [
        (None, "must return two lists"),
        (([], None), "must return two lists"),
        (([], ["x"]), "must return two lists"),
        (([object()], []), "must return two lists"),
    ],
)
def test_a_policy_that_returns_something_else(orders: object, told: str) -> None:
    plan = script("script")
    plan[0] = lambda s, pipelines: orders
    with pytest.raises(InputError, match=told):
        simulate([], "", scheduler_algo="script")


@pytest.mark.parametrize(
    ("cpu", "ram", "told"),
    [
        (0, 1, "positive CPU"),
        (1, math.nan, "positive RAM"),
        (11, 1, "Overallocated CPU"),
        (1, 101, "Overallocated RAM"),
    ],
)
def test_sizes_that_cannot_be_given(cpu: float, ram: float, told: str) -> None:
    plan = script("script")
    plan[0] = lambda s, pipelines: ([], [start(pipelines[0], cpu, ram)])
    with pytest.raises(IllegalStepError, match=told):
        simulate([Arrival(0.0, chain("a", work(0.5)))], "", scheduler_algo="script")


def test_equal_runs_are_equal_whatever_the_hash_seed_of_the_process_is() -> None:
    dice = random.Random(1)
    arrivals = [Arrival(i / 10, chain(f"p{i}", work(dice.random()), work(1.0, None, 30))) for i in range(20)]
    runs = [simulate(arrivals, "", scheduler_algo="priority").record for _ in range(2)]
    first, second = ([event.as_dict() for event in record.events] for record in runs)
    assert first == second


class EverySecond:
    """A user's workload: one pipeline of one operator in every second."""

    def __init__(self) -> None:
        self.tick = -1

    def run_one_tick(self) -> list[Pipeline]:
        self.tick += 1
        if self.tick % 10:
            return []
        pipeline = Pipeline(f"mine{self.tick}", Priority.INTERACTIVE)
        pipeline.new_operator().add_segment(Segment(0.5, memory_gb=1))
        return [pipeline]


def test_a_users_workload_is_asked_in_every_tick() -> None:
    statistics = batpy.run_simulator(
        {"duration": 5, "ticks_per_second": 10, "scheduler_algo": "naive"}, workload=EverySecond()
    )
    assert statistics.pipelines_interactive.completion_count == 5
    assert statistics.pipelines_all.mean_latency_seconds == pytest.approx(0.4)


def test_a_container_takes_time_to_start_if_asked() -> None:
    arrivals = [Arrival(0.0, chain("a", work(0.5), work(0.5)))]
    for compat in ("eudoxia", ""):
        assert finishes(simulate(arrivals, compat)) == [9]
        assert finishes(simulate(arrivals, compat, container_start_seconds=2.0)) == [29]


def test_data_of_a_parent_in_another_pool_is_read_at_its_own_speed_if_asked() -> None:
    """20 GB take 1 s from the own disk and 4 s from elsewhere."""
    shape = [OperatorSpec("op1", (work(0.5),)), OperatorSpec("op2", (work(0.5, None, 20),), (0,))]
    arrivals = [Arrival(0.0, PipelineSpec("a", BATCH, make_shape(shape)))]

    def finish(second_pool: int, **parameters: float) -> int | None:
        plan = script("script")
        plan[0] = lambda s, pipelines: ([], [Assignment(list(pipelines[0].values)[:1], 1, 30, BATCH, 0)])
        plan[5] = lambda s, pipelines: (
            [],
            [Assignment(list(pipelines[0].values)[1:], 1, 30, BATCH, second_pool)],
        )
        return finishes(simulate(arrivals, "", scheduler_algo="script", num_pools=2, **parameters))[0]

    assert (finish(0), finish(1)) == (19, 19)
    assert finish(0, remote_read_gb_per_second=5.0) == 19
    assert finish(1, remote_read_gb_per_second=5.0) == 49


def test_a_quiet_century_costs_nothing() -> None:
    """Whole seconds are sampled for the memory means, but not one by one when nothing moves."""
    arrivals = [Arrival(0.0, chain("a", work(0.5))), Arrival(3e9, chain("b", work(0.5)))]
    run = simulate(arrivals, "", duration=3.2e9, max_job_seconds=10)
    assert finishes(run) == [4, 30_000_000_004]
    assert sum(count for _, _, count in run.record.samples) == 3_200_000_000
    assert len(run.record.samples) < 20
