"""Orders of a user's policy: numbers and lists of any kind are taken, others are refused in one line."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from pipeline_scripts import BATCH, chain, finishes, script, simulate, work

from batpy.base.errors import InputError
from batpy.base.pipelines import IllegalStepError
from batpy.models.containers.engine import PipelineRun
from batpy.models.containers.pipeline import from_spec
from batpy.schedulers.pipelines.api import Assignment
from batpy.workloads.pipelines.trace import Arrival


def run(order: Callable[[Any], Assignment], compat: str = "", **parameters: Any) -> PipelineRun:
    plan = script("script")
    plan[0] = lambda s, pipelines: ([], [order(pipelines[0])])
    arrivals = [Arrival(0.0, chain("a", work(0.5), work(0.5)))]
    return simulate(arrivals, compat, scheduler_algo="script", num_pools=2, **parameters)


@pytest.mark.parametrize("compat", ["eudoxia", ""])
@pytest.mark.parametrize("kind", [list, tuple, iter, lambda dag: dag])
def test_operators_come_in_anything_that_can_be_walked(kind: Any, compat: str) -> None:
    assert finishes(run(lambda p: Assignment(kind(p.values), 1, 10, BATCH, 0), compat)) == [9]


@pytest.mark.parametrize("compat", ["eudoxia", ""])
@pytest.mark.parametrize("index", [1, 1.0, np.int64(1), np.float64(1), np.argmax([0, 1])])
def test_a_pool_is_named_by_any_number_that_equals_its_index(index: Any, compat: str) -> None:
    (start, end) = run(lambda p: Assignment(list(p.values), 1, 10, BATCH, index), compat).record.events
    assert (start.container.pool_id, end.tick) == (1, 9)


@pytest.mark.parametrize("amount", [np.int64(2), np.float64(2.5), Fraction(5, 2)])
def test_amounts_are_any_real_numbers(amount: Any) -> None:
    assert finishes(run(lambda p: Assignment(list(p.values), amount, amount, BATCH, 0))) == [9]


@pytest.mark.parametrize("amount", [Decimal(2), "2", None])
def test_other_amounts_are_refused(amount: Any) -> None:
    with pytest.raises(IllegalStepError, match="cpu must be a number"):
        run(lambda p: Assignment(list(p.values), amount, 10, BATCH, 0))
    with pytest.raises(IllegalStepError, match="ram must be a number"):
        run(lambda p: Assignment(list(p.values), 1, amount, BATCH, 0))


@pytest.mark.parametrize("what", ["pipelines", "operators"])
def test_sets_of_a_policy_are_walked_in_the_same_order_in_every_run(what: str) -> None:
    """By default Python's order of a set follows from where its elements lie in memory."""
    orders, kept = [], []
    for size in (10, 1000, 30):
        kept.append([object() for _ in range(size)])  # what comes next lies elsewhere
        pipelines = [from_spec(chain(f"p{number}", work(1.0), work(1.0))) for number in range(40)]
        chosen = pipelines if what == "pipelines" else [op for p in pipelines for op in p.values]
        orders.append([repr(getattr(one, "id", None) or one.pipeline_id) for one in set(chosen)])
        kept.append(pipelines)
    assert orders[0] == orders[1] == orders[2]


def test_a_broken_rule_is_told_with_its_tick() -> None:
    plan = script("script")
    plan[7] = lambda s, pipelines: ([], [Assignment(list(pipelines[0].values), 99, 10, BATCH, 1)])
    arrivals = [Arrival(0.0, chain("a", work(0.5)))]
    with pytest.raises(IllegalStepError, match=r"^pool 1: Overallocated CPU in assignment, in tick 7$"):
        simulate(arrivals, "", scheduler_algo="script", num_pools=2)


def test_a_date_to_wake_at_must_be_a_tick() -> None:
    plan = script("script")

    def sleep(s: Any, pipelines: Any) -> Any:
        s.wake_at = 2.5
        return [], []

    plan[0] = sleep
    with pytest.raises(InputError, match=r"s.wake_at must be a tick, a whole number, or None, got 2\.5"):
        simulate([], "", scheduler_algo="script")
