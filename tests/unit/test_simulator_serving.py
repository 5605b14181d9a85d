"""Requests and emulated workers inside a simulation: dates, ends, refusals, and what a scheduler is told."""

from __future__ import annotations

import pytest
from inference_cases import INPUT
from serving_runs import Kept, Script, requests, simulate

from batpy.base.errors import RemoteProtocolError
from batpy.platforms.builders import hosts
from batpy.protocol import extensions as x
from batpy.protocol import messages as m
from batpy.protocol import records as r
from batpy.simulator.core import Simulator, run


def disk(id_: int = 1, **more: int) -> x.LoadModelFromDisk:
    return x.LoadModelFromDisk(0, id_, 0, 0, "resnet50_v2", no_of_copies=3, **more)


def load(id_: int = 2, model: int = 0, **more: int) -> x.LoadWeights:
    return x.LoadWeights(0, id_, 0, model, 0, **more)


def infer(id_: int = 3, model: int = 0, batch: int = 1, **more: int) -> x.Infer:
    return x.Infer(0, id_, 0, model, 0, batch, batch * INPUT, **more)


def answer(number: int, status: int = 0) -> x.InferenceResponse:
    return x.InferenceResponse(0, f"r!{number}", status)


def test_the_greeting_offers_serving_and_names_gpus_and_models() -> None:
    script = Script({1: [answer(0, 7)]})
    simulate(script, requests((0.0, 1)), gpus=4)
    [begins] = script.of(m.SimulationBegins)
    assert begins.batpy.extensions == ("serving",)
    assert [record["gpus"] for record in begins.compute_resources] == [4]
    assert begins.profiles == {
        "r": {"0": {"type": "model", "model_id": 0, "path": "resnet50_v2", "copies": 3}}
    }
    [asked] = script.of(x.InferenceRequested)
    assert (asked.request_id, asked.model_id, asked.batch_size, asked.deadline) == ("r!0", 1, 1, 100_000_000)
    assert m.Notify(0, "no_more_static_job_to_submit") in script.heard


def test_a_result_is_told_at_the_tick_after_its_exact_date() -> None:
    script = Script({0: [disk(), load()], 10_000: [infer(3, batch=2)], 20_000: [answer(0)]})
    kept = simulate(script, requests((5.0, 0)))
    last = script.of(x.ActionResult)[-1]
    # 5,271,340 ns after 10 ms: told at the next microsecond.
    assert last.inference.exec.end == last.result_sent == 15_271_340
    assert last.timestamp == 15_272
    assert kept.of(r.ActionEnded)[-1] == r.ActionEnded(15_272, 3, 0, 0, 10_000_000, 15_271_340, 15_271_340)
    assert kept.findings()[0] == []


@pytest.mark.parametrize("ticks_per_second", [1, 7, 1000, 10**9])
def test_any_resolution_keeps_nanoseconds(ticks_per_second: int) -> None:
    script = Script({0: [disk(), load(), infer(3, earliest=20_000_000)], 10**9: [answer(0)]})
    kept = simulate(script, requests((0.0, 0)), ticks_per_second=ticks_per_second)
    assert kept.of(r.RequestEnded)[-1].status == 0
    last = script.of(x.ActionResult)[-1]
    assert (last.inference.exec.begin, last.result_sent) == (20_000_000, 23_322_000)
    assert (last.timestamp - 1) * 10**9 < 23_322_000 * ticks_per_second <= last.timestamp * 10**9
    assert kept.findings()[0] == []


def test_actions_of_one_tick_are_taken_together() -> None:
    """An inference that is said before the load of that tick is over finds its weights all the same."""
    at_end = 8_372
    together = [infer(3), load(4), x.EvictWeights(0, 5, 0, 0, 0)]
    script = Script({0: [disk(), load()], at_end: together, 9: [answer(0, 1)]})
    simulate(script, requests((0.0, 0)))
    statuses = {result.id: result.status for result in script.of(x.ActionResult)}
    assert statuses == {1: 0, 2: 0, 5: 0, 3: 82, 4: 0}


def test_every_request_ends_in_one_way_and_the_run_waits_for_results() -> None:
    script = Script(
        {
            0: [disk(), load(), infer(3, earliest=10_000_000), infer(4, earliest=150_000_000)],
            250_000: [infer(5, earliest=500_000_000)],
            50_000: [answer(0)],
            200_000: [answer(1), answer(2, 4)],
        }
    )
    kept = simulate(script, requests((0.0, 0), (0.0, 0), (1.0, 0), (2.0, 0)))
    found, laws = kept.findings()
    assert found == []
    assert str(laws.count) == ("4 requests: 1 answered in time, 1 late, 1 refused, 1 still queued at the end")
    assert kept.of(r.RequestEnded)[-1] == r.RequestEnded(503_322, "r!3", -1)
    assert kept.of(r.RunEnds) == [r.RunEnds(503_322, "done")]


@pytest.mark.parametrize(
    ("decision", "problem"),
    [
        (answer(9), "request r!9 did not arrive"),
        (answer(0, -1), "status must not be negative"),
        (x.ClearCache(0, 5, 1), "host 1 is no compute host with GPUs"),
        (infer(5, batch=-1), "batch_size must be from 0 to 4294967295, got -1"),
        (load(5, latest=2**64), "latest must be from 0"),
        (x.LoadModelFromDisk(0, 5, 0, 2**31 - 1, "m", no_of_copies=2), "ids above"),
        (x.Infer(0, 5, 0, 0, 0, 1, 0, input_sizes=(-1,)), "input_sizes must be from 0"),
    ],
)
def test_what_breaks_a_rule_is_refused(decision: m.Event, problem: str) -> None:
    with pytest.raises(RemoteProtocolError, match=problem):
        simulate(Script({1: [decision]}), requests((0.0, 0)))


def test_ids_and_answers_are_used_once() -> None:
    with pytest.raises(RemoteProtocolError, match="id 7 is that of an action without a result yet"):
        simulate(Script({0: [load(7), load(7)]}), requests((0.0, 0)))
    with pytest.raises(RemoteProtocolError, match="request r!0 was answered before"):
        simulate(Script({1: [answer(0, 1), answer(0, 1)]}), requests((0.0, 0), (9.0, 0)))


def test_lenient_runs_go_on_after_a_refusal() -> None:
    script = Script({1: [answer(9), answer(0, 1)]}, wants=("serving", "refusals"))
    kept = simulate(script, requests((0.0, 0)), strict=False)
    assert [event.decision for event in script.of(m.DecisionRefused)] == ["INFERENCE_RESPONSE"]
    assert kept.findings()[0] == []


def test_who_does_not_want_serving_gets_no_request() -> None:
    with pytest.raises(RemoteProtocolError, match="r!0 is for a scheduler that wants serving"):
        simulate(Script({}, wants=()), requests((0.0, 0)))


def test_actions_need_a_simulation_with_requests() -> None:

    with pytest.raises(RemoteProtocolError, match=r"CLEAR_CACHE at .*this simulation has no requests"):
        run(Simulator(hosts(1), [], Kept()), Script({0: [x.ClearCache(0, 1, 0)]}))


def test_a_latency_delays_requests_and_actions_alike() -> None:
    script = Script({0: [disk(), load()], 20_000: [infer(3)], 40_000: [answer(0)]})
    kept = simulate(script, requests((5.0, 0)), latency=100)
    begin = kept.of(r.ActionEnded)[-1].begin
    assert begin == 20_200_000  # called 100 us late, applied 100 us later
    assert kept.findings()[0] == []
