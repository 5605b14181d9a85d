"""The tables of owners: whose is a workload, a job, a call, an answer, a switch."""

from __future__ import annotations

import pytest

from batpy.base.errors import InputError
from batpy.broker.owners import BROKER, Owners
from batpy.broker.tenants import Tenant, TenantConfig, zero_progress
from batpy.protocol import messages as m

HIGH = ((2, 3),)


def owners() -> Owners:
    return Owners([Tenant(0, TenantConfig("hpc", ("h",))), Tenant(1, TenantConfig("bda", ("b", "c")))])


def test_a_workload_has_one_scheduler() -> None:
    with pytest.raises(InputError) as told:
        Owners([Tenant(0, TenantConfig("hpc", ("h",))), Tenant(1, TenantConfig("bda", ("b", "h")))])
    assert str(told.value) == "broker.routes: workload 'h' is routed to both hpc and bda"


def test_a_workload_without_a_scheduler_is_named_with_what_to_do() -> None:
    from broker_talk import begins

    begin = begins(4, ("h", "b", "x")).events[0]
    assert isinstance(begin, m.SimulationBegins)
    with pytest.raises(InputError) as told:
        owners().workloads(begin)
    assert str(told.value) == (
        "broker.routes: workload 'x' has no scheduler; name one of hpc, bda in its table or route it (x=NAME)"
    )


def test_jobs_belong_to_who_registered_them_else_to_the_scheduler_of_their_workload() -> None:
    table = owners()
    assert (table.of_job("h!1"), table.of_job("c!1"), table.of_job("x!1")) == (0, 1, None)
    table.claim("x", 0)
    table.claim("x", 1)
    assert table.of_job("x!1") == 0
    table.add_job("h!2", 1, "p")
    assert table.of_job("h!2") == 1
    assert not table.is_known("h!1")
    table.forget("h!2")
    assert table.is_known("h!2")
    assert table.of_job("h!2") == 0


def test_an_attempt_names_its_origin_or_is_numbered_after_a_job_that_exists() -> None:
    table = owners()
    table.add_job("b!1", 1, "p")
    assert table.parent_of("b!1#1", {}) == "b!1"
    assert table.parent_of("b!2#1", {}) == ""
    assert table.parent_of("b!1#x", {}) == ""
    assert table.parent_of("b!7", {"parent_job": "1"}) == "b!1"
    assert table.parent_of("b!7", {"parent_job": "c!1"}) == "c!1"
    assert table.parent_of("b!7", {"parent_job": 3}) == ""


def test_calls_are_answered_in_the_order_of_asking_and_the_broker_asks_once() -> None:
    table = owners()
    assert table.call(9, 0)
    assert table.call(9, BROKER)
    assert not table.call(9, BROKER)
    assert table.call(9, 1)
    assert table.call(5, 1)
    assert [table.called(5), table.called(9), table.called(9), table.called(9)] == [1, 0, BROKER, 1]
    assert table.called(9) is None


def test_a_refused_wish_is_waited_for_no_more() -> None:
    table = owners()
    table.call(9, 0)
    table.say("CALL_ME_LATER", 0, 9)
    table.ask(1)
    table.say("QUERY", 1)
    table.switch(HIGH, 2, 1)
    assert [table.last_said(w) for w in ("QUERY", "CALL_ME_LATER", "SET_RESOURCE_STATE", "QUERY")] == [
        1, 0, 1, None,
    ]  # fmt: skip
    assert table.answered() is None
    assert table.called(9) is None
    assert table.switched(m.ResourceStateChanged(1, HIGH, "2")) is None


def test_a_refusal_comes_in_the_next_message_or_never() -> None:
    table = owners()
    table.say("QUERY", 1)
    table.new_reply()
    assert table.last_said("QUERY") is None


def test_a_kill_is_the_brokers_only_if_nobody_asked_for_it_before() -> None:
    table = owners()
    table.kill(["b!1"])
    table.kill(["b!1", "b!2"], by_broker=True)
    assert [table.killed_by_broker(job) for job in ("b!1", "b!2", "b!2")] == [False, True, False]


def test_a_job_that_never_began_has_the_progress_of_its_first_part() -> None:
    profiles = {
        "nested": {"type": "composed", "seq": ["chain", "p"]},
        "chain": {"type": "composed", "seq": ["p", "p"]},
        "p": {"type": "delay", "delay": 1},
        "loop": {"type": "composed", "seq": ["loop"]},
    }
    leaf = {"profile_name": "p", "progress": 0.0}
    chain = {"profile_name": "chain", "current_task_index": 0, "current_task": leaf}
    assert zero_progress("p", profiles) == leaf
    assert zero_progress("unknown", profiles) == {"profile_name": "unknown", "progress": 0.0}
    assert zero_progress("nested", profiles) == {
        "profile_name": "nested", "current_task_index": 0, "current_task": chain,
    }  # fmt: skip
    assert zero_progress("loop", profiles)["profile_name"] == "loop"
