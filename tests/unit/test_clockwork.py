"""Clockwork's controller: what it knows, what it prefers, and that it keeps its promises under load."""

from __future__ import annotations

import random

import pytest
from serving_runs import Kept, requests, serve

from batpy.protocol import records as r
from batpy.schedulers.serving.demand import CAPACITY, Demand
from batpy.schedulers.serving.estimates import Estimate, Tracker
from batpy.workloads.serving.arrivals import generate_requests
from batpy.workloads.serving.requests import RequestWorkload

MS = 1_000_000


def poisson(rate: float, seconds: float, copies: int = 1) -> RequestWorkload:
    spec = f"poisson[model=resnet50_v2,rate={rate},duration={seconds},copies={copies}]"
    return generate_requests(spec, random.Random(3), "r", ticks_per_second=1_000_000)


def latencies(kept: Kept) -> list[float]:
    """Of the answers with success, ms, ascending."""
    arrived = {record.request: record.time for record in kept.of(r.RequestArrived)}
    return sorted((e.time - arrived[e.request]) / 1000 for e in kept.of(r.RequestEnded) if not e.status)


def test_an_estimate_is_the_99th_percentile_of_the_last_ten() -> None:
    estimate = Estimate(500)
    assert estimate.value == 500
    for duration in (900, *range(100, 110)):
        estimate.add(duration)
    assert estimate.value == round(108 + 0.91)


def test_work_begins_when_what_was_sent_before_is_over() -> None:
    tracker = Tracker()
    assert tracker.available(0) == 1 * MS
    tracker.sent(1, 10 * MS, 0)
    tracker.sent(2, 5 * MS, 0)
    assert tracker.available(0) == 15 * MS
    tracker.over(1, 12 * MS)  # two milliseconds late
    assert tracker.available(12 * MS) == 17 * MS
    tracker.over(2, 16 * MS)
    assert tracker.available(20 * MS) == 21 * MS


def test_overdue_work_holds_the_plan_up_by_a_bounded_time() -> None:
    tracker = Tracker()
    tracker.sent(1, 10 * MS, 0)
    tracker.sent(2, 20 * MS, 0)
    # The first is overdue by 90 ms: planned as if it were overdue by 10.
    assert tracker.available(100 * MS) == 110 * MS


def test_results_out_of_order_only_take_their_work_away() -> None:
    tracker = Tracker()
    tracker.sent(1, 10 * MS, 0)
    tracker.sent(2, 5 * MS, 0)
    tracker.over(2, 3 * MS)
    assert tracker.available(3 * MS) == 10 * MS


def test_demand_that_the_gpus_serve_is_no_reason_to_load() -> None:
    demand = Demand(2)
    demand.add("a", 7, execution=4 * MS, loading=12 * MS, until=50 * MS)
    assert demand.wanted(None) == [7]
    assert demand.priority(7) == 12 * MS
    demand.placed(7, 0)
    # One GPU with 1 ms of other work serves CAPACITY * 4 / 5.
    assert demand.priority(7) == pytest.approx(12 * MS - CAPACITY * 4 / 5)
    assert demand.wanted(None) == []
    demand.removed(7, 0)
    assert demand.is_cold(7)
    assert demand.outstanding(0) == pytest.approx(1 * MS)
    demand.over(7, 4 * MS)
    assert not demand.is_wanted(7)


def test_loading_that_would_come_too_late_is_forgotten() -> None:
    demand = Demand(1)
    demand.add("a", 1, 4 * MS, 12 * MS, until=50 * MS)
    demand.add("b", 2, 4 * MS, 12 * MS, until=60 * MS)
    assert demand.wanted(None) == [2, 1]  # equal priorities: the latest first
    demand.begun("b")
    assert demand.wanted(None) == [1]
    demand.expire(49 * MS)
    assert demand.wanted(None) == [1]
    demand.expire(50 * MS)
    assert demand.wanted(None) == []


def test_demand_goes_where_there_is_least() -> None:
    demand = Demand(2)
    for gpu in (0, 1):
        demand.placed(1, gpu)
    demand.placed(2, 0)
    demand.add("x", 2, execution=9 * MS, loading=0.0, until=0)
    demand.settle()
    demand.add("y", 1, execution=11 * MS, loading=0.0, until=0)
    demand.settle()
    # Weights are 1/10 and 1/1: ten parts of eleven go to the second GPU.
    assert demand.outstanding(0) == pytest.approx(11 * MS)
    assert demand.outstanding(1) == pytest.approx(11 * MS)


def test_one_gpu_answers_all_of_600_requests_a_second_in_time() -> None:
    kept = serve("clockwork", poisson(600, 3))
    found, laws = kept.findings()
    assert found == []
    assert laws.count.in_time == laws.count.arrived
    assert latencies(kept)[int(0.99 * laws.count.arrived)] < 100


@pytest.mark.parametrize(("options", "capacity"), [("", 643), ("[max_batch=16]", 736)])
def test_goodput_stays_flat_under_overload(options: str, capacity: int) -> None:
    """At twice what the GPU can serve it serves what it can, all of it in time."""
    kept = serve(f"clockwork{options}", poisson(2 * capacity, 3))
    _, laws = kept.findings()
    assert laws.count.late == 0
    assert laws.count.in_time / 3 > 0.97 * capacity
    assert latencies(kept)[-1] <= 100


def test_goodput_grows_with_the_gpus() -> None:
    goodput = {}
    for gpus in (1, 4):
        kept = serve("clockwork", poisson(600 * gpus, 2, copies=2 * gpus), gpus=gpus)
        _, laws = kept.findings()
        goodput[gpus] = laws.count.in_time
        assert laws.count.in_time > 0.99 * laws.count.arrived
    assert goodput[4] == pytest.approx(4 * goodput[1], rel=0.05)


def test_the_least_recently_used_model_makes_room() -> None:
    kept = serve("clockwork", requests((0.0, 0), (100.0, 1), (200.0, 0), (300.0, 2), (400.0, 0)), pages=15)
    evicted = [a.model for a in kept.of(r.ActionAsked) if a.action == "EVICT_WEIGHTS"]
    assert evicted == [1]
    assert [e.status for e in kept.of(r.RequestEnded)] == [0] * 5


def test_more_models_than_fit_end_no_inference_with_an_error() -> None:
    """A model with a batch in flight is not evicted (84), no load finds the cache full (53)."""
    kept = serve("clockwork", poisson(300, 3, copies=3), pages=15)
    found, laws = kept.findings()
    assert found == []
    assert {e.status for e in kept.of(r.ActionEnded)} == {0}
    assert laws.count.in_time > 0.3 * laws.count.arrived


def test_what_cannot_be_in_time_is_refused_at_its_internal_deadline() -> None:
    kept = serve("clockwork", requests((0.0, 0), slo=0.005))
    # Loading takes 8.372 ms; the internal deadline is never nearer than 15 ms.
    assert [(e.time, e.status) for e in kept.of(r.RequestEnded)] == [(11_694, 0)]
    assert kept.findings()[1].count.late == 1


def test_batches_are_refused_as_requests() -> None:
    from batpy.workloads.serving.requests import ModelCopies, Request

    two = [Request("r!0", 0, 0, 2, 0, 100 * MS)]
    workload = RequestWorkload("r", "x", (ModelCopies(0, "resnet50_v2"),), lambda: two)
    assert serve("clockwork", workload).of(r.RequestEnded) == [r.RequestEnded(0, "r!0", 6)]
