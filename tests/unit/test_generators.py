"""Synthetic workloads: parameters, seeds, and the published shapes."""

from __future__ import annotations

import math
from collections import Counter
from random import Random

import pytest

from batpy.base.errors import InputError
from batpy.workloads.describe import describe
from batpy.workloads.generators import GENERATORS, generate
from batpy.workloads.generators.lublin import (
    ALL,
    BATCH,
    INTERACTIVE,
    LOG_LONGEST_RUN,
    daily_weights,
    draw_run_time,
    draw_size,
    gamma_cdf,
)

SPECS = [
    "lublin[jobs=200]",
    "lublin[jobs=200,kinds=both]",
    "exponential[jobs=200]",
    "esp",
    "esp[variant=light]",
]


@pytest.mark.parametrize("spec", SPECS)
def test_equal_seeds_give_equal_workloads_and_others_do_not(spec: str) -> None:
    first, again, other = (list(generate(spec, Random(seed)).jobs()) for seed in (1, 1, 2))
    assert first == again
    assert first != other


@pytest.mark.parametrize("spec", SPECS)
def test_jobs_fit_the_machine_and_come_in_order_from_date_zero(spec: str) -> None:
    workload = generate(spec, Random(3), "synth", ticks_per_second=1000)
    jobs = list(workload.jobs())
    assert (workload.id, workload.source, len(workload)) == ("synth", spec, len(jobs))
    assert jobs[0].submit == 0
    assert [(j.submit, j.id) for j in jobs] == sorted((j.submit, j.id) for j in jobs)
    assert len({j.id for j in jobs}) == len(jobs)
    assert workload.nb_res is not None
    assert all(1 <= j.res <= workload.nb_res for j in jobs)
    # No job is killed by a walltime that equals its run time.
    assert all(j.walltime is None or j.walltime > j.behaviour.delay * 1000 for j in jobs)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("lublim", "no such generator; choose from esp, exponential, lublin"),
        ("lublin[job=3]", "no such option; choose from jobs, hosts"),
        ("lublin[jobs=0]", "jobs must be at least 1, got 0"),
        ("lublin[jobs=few]", "must be a whole number, got 'few'"),
        ("lublin[kinds=none]", "choose from all, both, batch, interactive"),
        ("lublin[hosts=1]", "hosts must be at least 2"),
        ("lublin[start_hour=30]", "start_hour"),
        ("exponential[load=0]", "load must be above 0"),
        ("exponential[max_size=200]", "max_size must be at most hosts (128), got 200"),
        ("exponential[overestimate=1]", "overestimate must be above 1"),
        ("esp[walltime_factor=1]", "walltime_factor must be above 1"),
        ("esp[hosts=0]", "hosts must be at least 1"),
        ("exponential[jobs=10,load=1e-300]", "mean_run_time / load gives dates beyond"),
        ("exponential[jobs=10,load=5e-324]", "leave the range of numbers"),
        ("exponential[interarrival=1e300]", "interarrival gives dates beyond"),
        ("exponential[mean_run_time=1e300,interarrival=1]", "mean_run_time gives durations beyond"),
        ("exponential[overestimate=1e300]", "overestimate gives durations beyond"),
        ("exponential[run_times=lognormal,sigma=1e200]", "leave the range of numbers"),
        ("lublin[interarrival_factor=1e300]", "interarrival_factor gives dates beyond"),
        ("lublin[walltime_factor=1e300]", "walltime_factor gives durations beyond"),
        ("esp[interval=1e300]", "interval gives dates beyond"),
    ],
)
def test_parameters_that_cannot_be_used_are_named(spec: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        generate(spec, Random(0))
    assert said in str(caught.value)


def test_every_generator_says_what_it_is() -> None:
    assert GENERATORS.names() == ["esp", "exponential", "lublin"]
    assert all(GENERATORS.lookup(name).__doc__ for name in GENERATORS.names())


def test_esp_is_the_published_mix_of_230_jobs() -> None:
    jobs = list(generate("esp[hosts=128]", Random(5)).jobs())
    mix = Counter((j.queue, j.res, j.behaviour.delay) for j in jobs)  # type: ignore[union-attr]
    assert len(jobs) == 230
    assert mix["A", 4, 267] == 75
    assert mix["H", 20, 1067] == 6
    assert mix["K", 12, 487] == 15
    late = [(j.submit // 10**6, j.res) for j in jobs if j.queue == "Z"]
    assert late == [(2400, 128), (7200, 128)]
    assert {j.submit for j in jobs if j.queue != "Z"} == {0}


def test_light_esp_is_shorter_and_can_trickle_in() -> None:
    jobs = list(generate("esp[variant=light,hosts=8,interval=3]", Random(5)).jobs())
    assert {j.behaviour.delay for j in jobs if j.queue == "G"} == {111}  # type: ignore[union-attr]
    assert [j.submit // 10**6 for j in jobs if j.queue == "Z"] == [200, 600]
    assert max(j.submit for j in jobs if j.queue != "Z") == 227 * 3 * 10**6
    assert min(j.res for j in jobs) == 1


@pytest.mark.parametrize("sizes", ["powers", "log_uniform"])
@pytest.mark.parametrize("run_times", ["exponential", "lognormal"])
def test_exponential_reaches_the_load_asked_for(sizes: str, run_times: str) -> None:
    spec = f"exponential[jobs=8000,load=0.6,hosts=100,sizes={sizes},run_times={run_times},sigma=0.8]"
    found = describe(generate(spec, Random(11)))
    assert found.load == pytest.approx(0.6, rel=0.08)
    assert found.run_time is not None
    assert found.run_time.mean == pytest.approx(3600, rel=0.05)


def test_exponential_intervals_are_poisson() -> None:
    found = describe(generate("exponential[jobs=5000,interarrival=20]", Random(2)))
    assert found.interarrival is not None
    assert found.interarrival.mean == pytest.approx(20, rel=0.05)
    assert found.interarrival.deviation == pytest.approx(20, rel=0.05)
    assert found.interarrival.median == pytest.approx(20 * math.log(2), rel=0.08)


def test_exponential_respects_its_limits() -> None:
    jobs = list(generate("exponential[max_size=12,max_run_time=4000,sizes=log_uniform]", Random(2)).jobs())
    assert max(j.res for j in jobs) == 12
    assert max(j.behaviour.delay for j in jobs) <= 4000  # type: ignore[union-attr]
    assert any(j.walltime is None for j in generate("exponential[overestimate=0]", Random(2)).jobs())


def test_gamma_distribution_function_agrees_with_closed_forms() -> None:
    for x in (0.1, 1.0, 7.5, 40.0):
        assert gamma_cdf(x, 1.0) == pytest.approx(1 - math.exp(-x), rel=1e-12)
        erlang = 1 - math.exp(-x) * sum(x**k / math.factorial(k) for k in range(5))
        assert gamma_cdf(x, 5.0) == pytest.approx(erlang, rel=1e-9)
        assert gamma_cdf(x, 0.5) == pytest.approx(math.erf(math.sqrt(x)), rel=1e-12)
    assert gamma_cdf(0.0, 2.0) == 0.0


def test_daily_cycle_has_mean_one_and_a_busy_afternoon() -> None:
    for kind in (ALL, BATCH, INTERACTIVE):
        weights = daily_weights(kind)
        assert sum(weights) == pytest.approx(48)
        assert 22 <= weights.index(max(weights)) <= 32  # between 11:00 and 16:00
        assert max(weights[:12]) < 0.5 * max(weights)


def test_lublin_sizes_have_the_published_shares() -> None:
    random, count = Random(9), 20_000
    sizes = [draw_size(ALL, 128, random) for _ in range(count)]
    powers = sum(size > 1 and size & (size - 1) == 0 for size in sizes)
    assert sum(size == 1 for size in sizes) / count == pytest.approx(0.244, abs=0.01)
    # Those made powers of two, and a few that fall on one by rounding.
    assert 0.576 - 0.01 < powers / count < 0.576 + 0.06
    assert (min(sizes), max(sizes)) == (1, 128)


def test_lublin_large_jobs_run_longer() -> None:
    random = Random(9)
    small, large = ([draw_run_time(ALL, size, random) for _ in range(3000)] for size in (1, 128))
    assert sum(large) > 2 * sum(small)
    assert max(small + large) <= math.exp(LOG_LONGEST_RUN)
    # At 128 hosts the long gamma has the weight 1 - (0.78 - 0.0054 * 128); its median is near e^9.35 s.
    assert sum(run > 2000 for run in large) / 3000 == pytest.approx(0.91, abs=0.04)


def test_lublin_interactive_and_batch_jobs_are_told_apart_by_queue() -> None:
    jobs = list(generate("lublin[jobs=3000,kinds=both]", Random(4)).jobs())
    longest = {queue: [j.behaviour.delay for j in jobs if j.queue == queue] for queue in ("0", "1")}  # type: ignore[union-attr]
    means = {queue: sum(runs) / len(runs) for queue, runs in longest.items()}
    assert means["1"] > 5 * means["0"]
    assert max(j.res for j in jobs if j.queue == "0") <= 2**5.5 + 1
