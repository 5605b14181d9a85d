"""What the default mode repairs, one test each: the original's behaviour beside ours."""

from __future__ import annotations

import io
import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from pipeline_scripts import BATCH, COMPAT, QUERY, chain, finishes, script, simulate, start, work

from batpy.base.errors import InputError
from batpy.base.pipelines import IllegalStepError
from batpy.models.containers.engine import PipelineRun
from batpy.models.containers.statistics import compute_statistics
from batpy.pipelines.simulate import make_arrivals
from batpy.schedulers.pipelines.api import Assignment, Suspend
from batpy.workloads.pipelines.parameters import read_parameters
from batpy.workloads.pipelines.pipeline import OperatorSpec, PipelineSpec, make_shape
from batpy.workloads.pipelines.trace import Arrival, TraceSource, read_arrivals, write_trace

# --------------------------------------------------------------------------- operators without a tick


def test_an_operator_of_zero_ticks_takes_one() -> None:
    arrivals = [Arrival(0.0, chain("a", work(0.01)))]
    with pytest.raises(IllegalStepError) as broken:
        simulate(arrivals, COMPAT)
    assert broken.value.condition == "StopIteration"
    assert finishes(simulate(arrivals, "")) == [0]


def test_a_last_segment_of_zero_ticks_does_not_keep_its_operator_running() -> None:
    shape = make_shape([OperatorSpec("op1", (work(0.5), work(0.0)))])
    arrivals = [Arrival(0.0, PipelineSpec("a", BATCH, shape))]
    with pytest.raises(IllegalStepError):
        simulate(arrivals, COMPAT)
    assert finishes(simulate(arrivals, "")) == [4]


# --------------------------------------------------------------------------- suspensions


def suspend_first(s: Any, pipelines: Any) -> Any:
    container = s.executor.pools[0].active_containers[0]
    return [Suspend(container.container_id, 0)], []


def test_a_suspension_of_zero_ticks_gives_its_resources_back() -> None:
    plan = script("script")
    plan[0] = lambda s, pipelines: ([], [start(pipelines[0], 1, 1)])
    plan[5] = suspend_first
    arrivals = [Arrival(0.0, chain("a", work(0.5), work(0.5)))]
    assert simulate(arrivals, COMPAT, scheduler_algo="script").executor.pools[0].avail_cpu_pool == 9
    repaired = simulate(arrivals, "", scheduler_algo="script").executor.pools[0]
    assert (repaired.avail_cpu_pool, repaired.avail_ram_pool) == (10, 100)


def test_a_suspended_container_uses_no_memory() -> None:
    plan = script("script")
    plan[0] = lambda s, pipelines: ([], [start(pipelines[0], 1, 40)])
    plan[5] = suspend_first
    arrivals = [Arrival(0.0, chain("a", work(0.5, 30.0), work(0.5, 30.0)))]
    assert simulate(arrivals, COMPAT, scheduler_algo="script").executor.pools[0].consumed_ram_gb == 30
    assert simulate(arrivals, "", scheduler_algo="script").executor.pools[0].consumed_ram_gb == 0


def test_a_job_whose_suspension_takes_one_tick_is_not_lost() -> None:
    """Two GB are written within one tick of 0.1 s: the policy sees the container suspended only."""
    arrivals = [
        Arrival(0.0, chain("b", work(1.0), work(1.0), work(1.0))),
        *(Arrival(0.1, chain(f"fill{i}", work(3.0), work(3.0))) for i in range(9)),
        Arrival(0.2, chain("q", work(0.5), priority=QUERY)),
    ]
    parameters = {"ram_gb_per_pool": 20, "cpus_per_pool": 10, "duration": 30}
    lost = simulate(arrivals, COMPAT, **parameters)
    assert lost.record.suspensions == 1
    assert finishes(lost)[0] is None
    assert None not in finishes(simulate(arrivals, "", **parameters))


# --------------------------------------------------------------------------- retries


def test_priority_keeps_a_retry_that_does_not_fit_now() -> None:
    """While others hold the pool, twice the size of what failed is not free."""
    arrivals = [
        Arrival(0.0, chain("grows", work(0.1, None, 15))),
        *(Arrival(0.0, chain(f"other{i}", work(3.0))) for i in range(9)),
    ]
    assert finishes(simulate(arrivals, COMPAT))[0] is None
    assert None not in finishes(simulate(arrivals, ""))


def test_priority_tries_whole_pools_before_it_gives_up() -> None:
    arrivals = [
        Arrival(0.0, chain("large", work(0.1, 90.0))),
        Arrival(0.0, chain("too large", work(0.1, 101.0))),
    ]
    assert finishes(simulate(arrivals, COMPAT)) == [None, None]
    first, second = finishes(simulate(arrivals, ""))
    assert first is not None
    assert second is None


def test_priority_pool_never_retries_with_less() -> None:
    arrivals = [Arrival(0.0, chain(f"p{i}", work(0.5, None, 30))) for i in range(14)]
    parameters = {"scheduler_algo": "priority-pool", "num_pools": 2, "duration": 60}

    def shrinks(run: PipelineRun) -> bool:
        sizes: dict[str, list[float]] = {}
        for event in run.record.events:
            if event.kind == "start":
                sizes.setdefault(event.container.get_pipeline_id(), []).append(event.container.ram)
        return any(later <= earlier for given in sizes.values() for earlier, later in pairwise(given))

    assert shrinks(simulate(arrivals, COMPAT, **parameters))
    repaired = simulate(arrivals, "", **parameters)
    assert not shrinks(repaired)
    assert None not in finishes(repaired)


def test_priority_pool_keeps_to_single_operators_when_asked() -> None:
    arrivals = [Arrival(0.0, chain("a", work(0.5), work(0.5)))]
    parameters = {"scheduler_algo": "priority-pool", "num_pools": 2, "multi_operator_containers": False}
    with pytest.raises(IllegalStepError, match="exactly 1 operator"):
        simulate(arrivals, COMPAT, **parameters)
    assert finishes(simulate(arrivals, "", **parameters)) == [9]


# --------------------------------------------------------------------------- statistics, finishes, orders


def test_a_run_in_which_no_container_ended_has_statistics() -> None:
    arrivals = [Arrival(0.0, chain("a", work(100.0)))]
    with pytest.raises(IllegalStepError) as broken:
        compute_statistics(simulate(arrivals, COMPAT))
    assert broken.value.condition == "IndexError"
    assert math.isnan(compute_statistics(simulate(arrivals, "")).p99_latency)


def test_a_pipeline_is_finished_when_it_is_complete_not_at_the_next_end_of_a_container() -> None:
    plan = script("script")

    def both(s: Any, pipelines: Any) -> Any:
        first, second = pipelines
        ops = [*first.values, *second.values]
        return [], [Assignment(ops, 1, 10, BATCH, 0)]

    plan[0] = both
    arrivals = [Arrival(0.0, chain("a", work(0.5))), Arrival(0.0, chain("b", work(0.5)))]
    assert finishes(simulate(arrivals, COMPAT, scheduler_algo="script")) == [9, 9]
    assert finishes(simulate(arrivals, "", scheduler_algo="script")) == [4, 9]


def test_an_order_for_a_pool_that_does_not_exist_is_refused() -> None:
    plan = script("script")
    plan[0] = lambda s, pipelines: ([], [start(pipelines[0], 1, 1, pool=7)])
    arrivals = [Arrival(0.0, chain("a", work(0.5)))]
    assert simulate(arrivals, COMPAT, scheduler_algo="script").record.events == []
    with pytest.raises(IllegalStepError, match="there is no pool 7"):
        simulate(arrivals, "", scheduler_algo="script")


def test_a_name_that_comes_again_is_another_pipeline() -> None:
    arrivals = [Arrival(0.0, chain("a", work(0.5))), Arrival(0.1, chain("a", work(0.5)))]
    assert finishes(simulate(arrivals, COMPAT, ram_gb_per_pool=200)) == [None, 5]
    repaired = simulate(arrivals, "", ram_gb_per_pool=200)
    assert finishes(repaired) == [4, 5]
    assert [pipeline.pipeline_id for pipeline in repaired.record.pipelines] == ["a", "a#2"]


# --------------------------------------------------------------------------- parameters and workloads


def test_a_mix_that_sums_up_to_one_but_for_rounding() -> None:
    mix = {"interactive_prob": 0.6, "query_prob": 0.3, "batch_prob": 0.1}
    with pytest.raises(InputError, match="Probabilities must sum to 1"):
        read_parameters(mix, compat=COMPAT)
    assert read_parameters(mix).parameters.query_prob == 0.3


def test_unknown_keys_are_told() -> None:
    assert read_parameters({"durtion": 3, "x": 1}).unknown == ("durtion (did you mean duration?)", "x")


def generated(ratio: float, compat: str) -> list[float]:
    parameters = read_parameters({"cpu_io_ratio": ratio, "num_pipelines": 200}, compat=compat).parameters
    batch = make_arrivals(parameters).take(0)
    return [s.storage_read_gb for p in batch for op in p.shape.operators for s in op.segments]


def test_cpu_io_ratio_has_an_effect() -> None:
    assert generated(0.0, COMPAT) == generated(1.0, COMPAT)
    assert np.mean(generated(0.0, "")) > np.mean(generated(1.0, "")) + 5


@pytest.mark.parametrize("ticks_per_second", [7, 10, 30, 100])
def test_a_written_trace_replays_as_the_run_it_came_from(ticks_per_second: int) -> None:
    """In the original some arrivals move by a tick: 0.07 s at 100 ticks/s is 7.000000000000001 ticks."""
    table = {"duration": 300, "ticks_per_second": ticks_per_second, "waiting_seconds_mean": 1.0}
    parameters = read_parameters(table).parameters
    live = []
    source = make_arrivals(parameters)
    while (tick := source.next_tick()) is not None and tick < parameters.max_ticks:
        live += [tick] * len(source.take(tick))
    text = io.StringIO(newline="")
    write_trace(text, make_arrivals(parameters), parameters.max_ticks, parameters.tick_length)
    text.seek(0)
    replay = TraceSource(read_arrivals(text, "trace"), parameters.tick_length, exact=False)
    again = []
    while (tick := replay.next_tick()) is not None:
        again += [tick] * len(replay.take(tick))
    assert again == live
