"""Controllers of ML serving against the simulated worker."""

from __future__ import annotations

import random

import pytest
from serving_runs import Kept, requests, serve

from batpy.base.errors import InputError
from batpy.protocol import records as r
from batpy.workloads.serving.arrivals import generate_requests
from batpy.workloads.serving.requests import ModelCopies, RequestWorkload

CONTROLLERS = ["direct", "fifo_batching", "clockwork"]


def poisson(rate: float, seconds: float, copies: int = 1, slo: float = 0.1) -> RequestWorkload:
    spec = f"poisson[model=resnet50_v2,rate={rate},duration={seconds},copies={copies},slo={slo}]"
    return generate_requests(spec, random.Random(3), "r", ticks_per_second=1_000_000)


def spans(kept: Kept, kind: str) -> list[tuple[int, int, int]]:
    """Begin, end (ms) and batch of each action of a kind that succeeded."""
    asked = {record.id: record for record in kept.of(r.ActionAsked)}
    return [
        (record.begin // 1000, record.end // 1000, asked[record.id].batch)
        for record in kept.of(r.ActionEnded)
        if record.status == 0 and asked[record.id].action == kind
    ]


@pytest.mark.parametrize("controller", CONTROLLERS)
@pytest.mark.parametrize(("gpus", "nb_hosts"), [(1, 1), (2, 3)])
def test_every_request_ends_in_exactly_one_way(controller: str, gpus: int, nb_hosts: int) -> None:
    for rate in (50, 900):
        kept = serve(controller, poisson(rate, 2, copies=9), gpus=gpus, nb_hosts=nb_hosts)
        found, laws = kept.findings()
        assert found == []
        assert laws.count.arrived == len(kept.of(r.RequestArrived)) > rate
        assert laws.count.queued == 0


@pytest.mark.parametrize("controller", CONTROLLERS)
def test_equal_seeds_give_equal_journals(controller: str) -> None:
    first, second = (serve(controller, poisson(300, 1, copies=4), gpus=2).records for _ in range(2))
    assert first == second


def test_fifo_loads_then_batches_what_waits() -> None:
    kept = serve("fifo_batching", requests(*((float(i), 0) for i in range(8))))
    assert spans(kept, "LOAD_WEIGHTS") == [(0, 8372, -1)]
    assert spans(kept, "INFER") == [(8372, 20811, 8)]


def test_fifo_serves_the_oldest_request_and_takes_others_of_its_model_along() -> None:
    kept = serve("fifo_batching", requests((0.0, 0), (50.0, 1), (51.0, 0), (52.0, 1), (53.0, 0)))
    ended = [record.request for record in kept.of(r.RequestEnded)]
    assert ended == ["r!0", "r!1", "r!3", "r!2", "r!4"]


def test_fifo_makes_room_for_other_models() -> None:
    kept = serve("fifo_batching", requests((0.0, 0), (50.0, 1), (100.0, 2), (150.0, 0)), pages=15)
    assert kept.findings()[0] == []
    evicted = [a.model for a in kept.of(r.ActionAsked) if a.action == "EVICT_WEIGHTS"]
    assert evicted == [0, 1]


def test_fifo_refuses_what_can_no_longer_be_in_time() -> None:
    kept = serve("fifo_batching", requests((0.0, 0), slo=0.010))
    assert kept.of(r.RequestEnded) == [r.RequestEnded(8_372, "r!0", 4)]
    kept = serve("fifo_batching[drop_late=false]", requests((0.0, 0), slo=0.010))
    assert kept.of(r.RequestEnded) == [r.RequestEnded(11_694, "r!0", 0)]


def test_a_model_that_never_fits_is_refused() -> None:
    for controller in CONTROLLERS:
        kept = serve(controller, requests((0.0, 0)), pages=6)
        assert kept.of(r.RequestEnded) == [r.RequestEnded(0, "r!0", 1)]


def test_direct_goes_round_the_gpus() -> None:
    kept = serve("direct", requests(*((float(i), 0) for i in range(4))), gpus=2)
    assert [a.gpu for a in kept.of(r.ActionAsked) if a.action == "INFER"] == [0, 0, 1, 1]


@pytest.mark.parametrize("controller", CONTROLLERS)
def test_what_cannot_work_is_told_in_one_line(controller: str) -> None:
    with pytest.raises(InputError, match="needs hosts with GPUs"):
        serve(controller, requests((0.0, 0)), gpus=0)
    bad = RequestWorkload("r", "x", (ModelCopies(0, "nowhere"),), lambda: [])
    with pytest.raises(InputError, match="host 0 cannot use model 'nowhere': nowhere: no such model"):
        serve(controller, bad)
