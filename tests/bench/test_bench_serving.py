"""Cost of ML serving: an action on a worker by the number of GPUs, and a request of a whole run.

The machine's speed is printed beside it, as the time of a write to a dict: compare ratios.
"""

from __future__ import annotations

import random
import time

import pytest
from inference_cases import INPUT, OneModel, ms
from serving_runs import serve

from batpy.models.inference.actions import Infer, Load, LoadModel
from batpy.models.inference.fleet import Fleet
from batpy.protocol import records as r
from batpy.workloads.serving.arrivals import generate_requests

pytestmark = pytest.mark.bench


def dict_write_ns() -> float:
    table: dict[int, int] = {}
    begun = time.perf_counter()
    for i in range(300_000):
        table[i & 1023] = i
    return (time.perf_counter() - begun) / 300_000 * 1e9


@pytest.mark.parametrize("gpus", [1, 24, 240, 1000])
def test_an_inference_on_the_worker(gpus: int) -> None:
    fleet = Fleet({0: gpus}, OneModel())
    fleet.step(0, [LoadModel(0, 0, 0, "resnet50_v2")])
    fleet.step(0, [Load(1 + gpu, 0, 0, gpu) for gpu in range(gpus)])
    fleet.step(ms(10))
    rounds = max(1, 20_000 // gpus)
    now, id_ = ms(10), 10_000
    begun = time.perf_counter()
    for _ in range(rounds):
        actions = [Infer(id_ + gpu, 0, 0, gpu, 8, 8 * INPUT) for gpu in range(gpus)]
        id_ += gpus
        fleet.step(now, actions)
        while fleet.due is not None:
            now = fleet.due
            fleet.step(now)
    micros = (time.perf_counter() - begun) / (rounds * gpus) * 1e6
    print(f"\n{gpus} GPUs: {micros:.1f} us an inference; dict write {dict_write_ns():.0f} ns")


@pytest.mark.parametrize(
    ("controller", "rate", "gpus", "copies"),
    [
        ("direct", 10_000, 60, 60),
        ("fifo_batching", 39_000, 60, 60),
        ("fifo_batching", 150_000, 1000, 10_000),
        ("clockwork", 600, 1, 1),
        ("clockwork", 39_000, 60, 60),
        ("clockwork", 60_000, 60, 60),
    ],
)
def test_a_request_of_a_whole_run(controller: str, rate: int, gpus: int, copies: int) -> None:
    seconds = min(5.0, 30_000 / rate)
    spec = f"poisson[model=resnet50_v2,rate={rate},duration={seconds},copies={copies}]"
    workload = generate_requests(spec, random.Random(3), "r", ticks_per_second=1_000_000)
    begun = time.perf_counter()
    kept = serve(controller, workload, gpus=gpus)
    took = time.perf_counter() - begun
    count = len(kept.of(r.RequestArrived))
    told = (
        f"{count} requests in {took:.1f} s, {count / took:,.0f} a second ({seconds / took:.2f} x real time)"
    )
    print(f"\n{controller}, {gpus} GPUs, {rate} r/s: {told}; dict write {dict_write_ns():.0f} ns")
