"""What the simulator says behind a broker: each event reaches its owner, in the owner's own numbers."""

from __future__ import annotations

import pytest
from broker_talk import BDA, HPC, Answer, Talk, at, begins, job, machine, over, run, vacated

from batpy.base.errors import RemoteProtocolError
from batpy.broker.tenants import TenantConfig
from batpy.protocol import messages as m

HALVES = "static[shares=hpc:0-1 bda:2-3]"


def refused(talk: Talk, now: int, *events: m.Event, **said: Answer) -> str:
    with pytest.raises(RemoteProtocolError) as told:
        talk.tell(now, *events, **said)
    return str(told.value)


# ------------------------------------------------------------------------- the greeting


def greeted(talk: Talk, name: str) -> m.SimulationBegins:
    [event] = talk.heard[name]
    assert isinstance(event, m.SimulationBegins)
    return event


def test_each_scheduler_sees_its_own_hosts_workloads_profiles_and_options() -> None:
    talk = Talk(HALVES)
    hpc, bda = greeted(talk, "hpc"), greeted(talk, "bda")
    assert (hpc.workloads, bda.workloads) == ({"h": "h.json"}, {"b": "b.json"})
    assert (list(hpc.profiles), list(bda.profiles)) == ([], ["b"])
    assert [(r["id"], r["name"]) for r in hpc.compute_resources] == [(0, "n0"), (1, "n1")]
    assert [(r["id"], r["name"]) for r in bda.compute_resources] == [(0, "n2"), (1, "n3")]
    assert (bda.nb_resources, bda.nb_compute_resources, bda.nb_storage_resources) == (2, 2, 0)
    assert not hpc.config["dynamic-jobs-enabled"]
    assert bda.config["dynamic-jobs-enabled"]
    assert not bda.config["profiles-forwarded-on-submission"]
    assert bda.batpy is not None
    assert "sharing" in bda.batpy.extensions


def test_the_broker_says_hello_for_all_but_not_to_the_real_batsim() -> None:
    talk = Talk(hpc=[m.Hello(0, "easy", "1", ("machine_events",))])
    [hello] = talk.greeting
    assert isinstance(hello, m.Hello)
    assert hello.name == "broker of hpc, bda"
    assert hello.wants == ("refusals", "machine_events")
    request = begins()
    request.events[0].batpy = None  # type: ignore[attr-defined]
    old = Talk(greet=False)
    assert old.step(request) == []
    assert greeted(old, "bda").batpy is None


def test_a_conversation_begins_with_its_greeting_once() -> None:
    assert "SIMULATION_BEGINS and nothing else" in refused(Talk(greet=False), 0, job(0, "h!1"))
    assert refused(Talk(), 3, begins().events[0]) == "SIMULATION_BEGINS came twice, at 0 s"


def test_only_schedulers_with_news_are_asked_and_all_of_them_at_once() -> None:
    talk = Talk()
    talk.tell(1, job(1, "b!1"))
    assert talk.asked == [["bda"]]
    talk.tell(2, job(2, "b!2"), job(2, "h!2"))
    assert talk.asked == [["hpc", "bda"]]
    talk.tell(3, m.Notify(3, "no_more_static_job_to_submit"))
    assert talk.asked == [["hpc", "bda"]]


# ------------------------------------------------------------------------- events that nobody owns


def test_an_event_that_nobody_owns_is_an_error() -> None:
    assert refused(Talk(), 1, job(1, "x!1")) == (
        "JOB_SUBMITTED of x!1 at 1 s belongs to no scheduler: its workload has no scheduler; "
        "add a route for it"
    )
    assert refused(Talk(), 1, over(1, "x!1", "0")).startswith("JOB_COMPLETED of x!1 at 1 s belongs to no")
    assert refused(Talk(), 1, m.JobKilled(1, ["x!1"], {})).startswith("JOB_KILLED of x!1 at 1 s belongs")
    assert refused(Talk(), 1, m.FromJobMsg(1, "x!1", {})).startswith("FROM_JOB_MSG of x!1 at 1 s belongs")
    assert refused(Talk(), 1, m.RequestedCall(1)) == (
        "REQUESTED_CALL at 1 s belongs to no scheduler: nobody asked to be called"
    )
    assert refused(Talk(), 1, m.Answer(1, 3.0)) == "ANSWER at 1 s belongs to no scheduler: nobody asked"
    assert refused(Talk(), 1, m.ResourceStateChanged(1, ((0, 0),), "1")) == (
        "RESOURCE_STATE_CHANGED at 1 s belongs to no scheduler: nobody asked for it"
    )
    assert refused(Talk(), 1, run(1, "h!1", "0")) == (
        "ExecuteJob at 1 s belongs to no scheduler: no rule says whose it is"
    )


def test_a_job_that_waits_at_the_broker_cannot_be_over() -> None:
    talk = Talk()
    talk.tell(1, job(1, "h!1"), hpc=[run(1, "h!1", "0")])  # bda was not heard yet
    assert refused(talk, 2, over(2, "h!1", "0")) == (
        "JOB_COMPLETED of h!1 at 2 s: it was not passed on to the simulator yet"
    )


# ------------------------------------------------------------------------- jobs


def test_ends_carry_the_hosts_in_the_numbers_of_the_scheduler() -> None:
    talk = Talk(HALVES)
    assert talk.tell(1, job(1, "b!1"), bda=[run(1, "b!1", "0-1")]) == [run(1, "b!1", "2-3")]
    talk.tell(4, over(4, "b!1", "2-3"))
    assert talk.heard == {"hpc": [], "bda": [over(4, "b!1", "0-1")]}


def test_storage_and_the_hosts_of_an_io_job_are_translated_too() -> None:
    talk = Talk(HALVES, greet=False)
    request = begins()
    first = request.events[0]
    assert isinstance(first, m.SimulationBegins)
    first.nb_storage_resources, first.nb_resources = 1, 5
    first.storage_resources = [{"id": 4, "name": "pfs"}]
    talk.step(request)
    assert greeted(talk, "bda").storage_resources == [{"id": 2, "name": "pfs"}]
    start = m.ExecuteJob(1, "b!1", at("0-1"), None, {"pfs": 2}, m.IoJob(at("0-2"), "io", {}))
    assert talk.tell(1, job(1, "b!1"), bda=[start]) == [
        m.ExecuteJob(1, "b!1", at("2-3"), None, {"pfs": 4}, m.IoJob(at("2-4"), "io", {}))
    ]


def test_a_registered_job_is_acknowledged_to_who_asked_for_it_only() -> None:
    new = m.RegisterJob(1, "b!2", {"id": "2", "profile": "p"})
    talk = Talk()
    talk.tell(1, job(1, "b!1"), bda=[new])
    assert talk.tell(1, job(1, "b!2")) == []
    assert talk.asked == []
    told = TenantConfig("bda", ("b",), dynamic_jobs=True, acknowledge_dynamic_jobs=True)
    talk = Talk("priority", HPC, told, greet=False)
    talk.step(begins(**{"dynamic-jobs-acknowledged": True}))
    talk.tell(1, job(1, "b!1"), bda=[new])
    talk.tell(1, job(1, "b!2"))
    assert talk.heard["bda"] == [job(1, "b!2")]


def test_a_workload_that_appears_at_run_time_is_who_registers_in_it_first() -> None:
    talk = Talk()
    talk.tell(1, job(1, "b!1"), bda=[m.RegisterJob(1, "new!1", {"id": "1", "profile": "p"})])
    talk.tell(2, m.FromJobMsg(2, "new!1", {"x": 1}))
    assert talk.heard == {"hpc": [], "bda": [m.FromJobMsg(2, "new!1", {"x": 1})]}


def test_a_kill_is_answered_in_parts_to_the_owners_of_its_jobs() -> None:
    talk = Talk(HALVES)
    talk.tell(
        1, job(1, "h!1"), job(1, "b!1"), job(1, "b!2"),
        hpc=[run(1, "h!1", "0")], bda=[run(1, "b!1", "0"), run(1, "b!2", "1")],
    )  # fmt: skip
    one, two = {"profile_name": "p", "progress": 0.25}, {"profile_name": "p", "progress": 0.5}
    talk.tell(3, m.JobKilled(3, ["b!1", "h!1", "b!2"], {"b!1": one, "h!1": two}))
    assert talk.heard == {
        "hpc": [m.JobKilled(3, ["h!1"], {"h!1": two})],
        "bda": [m.JobKilled(3, ["b!1", "b!2"], {"b!1": one})],
    }


def test_a_kill_names_only_running_jobs_to_who_cannot_bear_the_others() -> None:
    split = TenantConfig("bda", ("b",), split_kill_ack=True)
    talk = Talk(HALVES, HPC, split)
    talk.tell(1, job(1, "b!1"), job(1, "b!2"), bda=[run(1, "b!1", "0"), run(1, "b!2", "1")])
    tree = {"profile_name": "p", "progress": 0.25}
    talk.tell(3, m.JobKilled(3, ["b!1", "b!2"], {"b!1": tree}))
    assert talk.heard["bda"] == [m.JobKilled(3, ["b!1"], {"b!1": tree})]
    talk.tell(4, m.JobKilled(4, ["b!1", "b!2"], {}))
    assert talk.asked == []


# ------------------------------------------------------------------------- timers, questions, switches


def test_a_call_goes_to_who_asked_for_it_in_the_order_of_asking() -> None:
    talk = Talk()
    both = talk.tell(
        1, job(1, "h!1"), job(1, "b!1"),
        hpc=[m.CallMeLater(1, 9)], bda=[m.CallMeLater(1, 9), m.CallMeLater(1, 5)],
    )  # fmt: skip
    assert len(both) == 3
    talk.tell(5, m.RequestedCall(5))
    assert talk.heard == {"hpc": [], "bda": [m.RequestedCall(5)]}
    talk.tell(9, m.RequestedCall(9))
    assert talk.heard == {"hpc": [m.RequestedCall(9)], "bda": []}
    talk.tell(9, m.RequestedCall(9))
    assert talk.heard == {"hpc": [], "bda": [m.RequestedCall(9)]}


def test_the_real_batsim_rounds_a_call_and_it_still_finds_its_owner() -> None:
    talk = Talk()
    talk.tell(1, job(1, "b!1"), bda=[m.CallMeLater(1, 9)])
    talk.tell(10, m.RequestedCall(10))
    assert talk.heard["bda"] == [m.RequestedCall(10)]


def test_answers_go_to_the_askers_in_their_order() -> None:
    talk = Talk()
    energy = {"consumed_energy": {}}
    talk.tell(1, job(1, "h!1"), job(1, "b!1"), hpc=[m.Query(1, energy)], bda=[m.Query(1, energy)])
    talk.tell(1, m.Answer(1, 1.0), m.Answer(1, 2.0))
    assert talk.heard == {"hpc": [m.Answer(1, 1.0)], "bda": [m.Answer(1, 2.0)]}


def test_a_switch_is_told_to_who_asked_for_it_in_its_own_numbers() -> None:
    talk = Talk(HALVES)
    said = talk.tell(
        1, job(1, "h!1"), job(1, "b!1"),
        hpc=[m.SetResourceState(1, at("0-1"), 2)], bda=[m.SetResourceState(1, at("0"), 2)],
    )  # fmt: skip
    assert said == [m.SetResourceState(1, at("0-1"), 2), m.SetResourceState(1, at("2"), 2)]
    talk.tell(2, m.ResourceStateChanged(2, at("2"), "2"))
    assert talk.heard == {"hpc": [], "bda": [m.ResourceStateChanged(2, at("0"), "2")]}
    talk.tell(3, m.ResourceStateChanged(3, at("0-1"), "2"))
    assert talk.heard == {"hpc": [m.ResourceStateChanged(3, at("0-1"), "2")], "bda": []}


# ------------------------------------------------------------------------- refusals


def test_a_refused_start_is_told_to_its_author_and_its_hosts_are_free_again() -> None:
    talk = Talk(HALVES)
    talk.tell(1, job(1, "b!1"), job(1, "b!2"), bda=[run(1, "b!1", "0-1")])
    no = m.DecisionRefused(1, "EXECUTE_JOB", "too wide", "b!1")
    again = [run(1, "b!2", "0"), run(1, "b!1", "1")]
    assert talk.tell(1, no, bda=again) == [run(1, "b!2", "2"), run(1, "b!1", "3")]
    assert talk.heard == {"hpc": [], "bda": [no]}


def test_a_refused_job_was_never_registered_and_may_be_again() -> None:
    new = m.RegisterJob(1, "b!2", {"id": "2", "profile": "none"})
    talk = Talk()
    talk.tell(1, job(1, "b!1"), bda=[new])
    no = m.DecisionRefused(1, "REGISTER_JOB", "no such profile", "b!2")
    better = m.RegisterJob(1, "b!2", {"id": "2", "profile": "p"})
    assert talk.tell(1, no, bda=[better]) == [better]
    assert talk.heard["bda"] == [no]


def test_a_refusal_without_a_job_is_told_to_who_said_that_word() -> None:
    polite = TenantConfig("hpc", ("h",), wants=("refusals",))
    talk = Talk("priority", polite, BDA)
    talk.tell(1, job(1, "h!1"), job(1, "b!1"), hpc=[m.Query(1, {"a": {}})], bda=[m.Query(1, {"b": {}})])
    no = m.DecisionRefused(1, "QUERY", "unknown", None)
    # The first of the two was refused: the one answer belongs to the second.
    talk.tell(1, no, m.Answer(1, 2.0))
    assert talk.heard == {"hpc": [no], "bda": [m.Answer(1, 2.0)]}


def test_a_refused_call_is_no_longer_waited_for() -> None:
    polite = TenantConfig("hpc", ("h",), wants=("refusals",))
    talk = Talk("priority", polite, BDA)
    talk.tell(1, job(1, "h!1"), job(1, "b!1"), hpc=[m.CallMeLater(1, 9)], bda=[m.CallMeLater(1, 9)])
    talk.tell(1, m.DecisionRefused(1, "CALL_ME_LATER", "too late", None))
    talk.tell(9, m.RequestedCall(9))
    assert talk.heard == {"hpc": [], "bda": [m.RequestedCall(9)]}


def test_nor_is_a_refused_switch() -> None:
    talk = Talk(HALVES)
    talk.tell(1, job(1, "h!1"), hpc=[m.SetResourceState(1, at("0"), 2)])
    talk.tell(1, m.DecisionRefused(1, "SET_RESOURCE_STATE", "no such pstate", None), job(1, "b!1"),
              bda=[m.SetResourceState(1, at("0"), 2)])  # fmt: skip
    talk.tell(2, m.ResourceStateChanged(2, at("2"), "2"))
    assert talk.heard == {"hpc": [], "bda": [m.ResourceStateChanged(2, at("0"), "2")]}


def test_the_broker_wants_refusals_even_if_no_scheduler_does() -> None:
    """Else a refused start would keep its hosts for ever."""
    talk = Talk("priority", HPC)
    hello = talk.greeting[0]
    assert isinstance(hello, m.Hello)
    assert hello.wants == ("refusals",)


def test_who_does_not_want_refusals_is_not_told() -> None:
    talk = Talk(HALVES)
    talk.tell(1, job(1, "h!1"), hpc=[run(1, "h!1", "0-1")])
    assert talk.tell(1, m.DecisionRefused(1, "EXECUTE_JOB", "too wide", "h!1")) == []
    assert talk.asked == []


# ------------------------------------------------------------------------- machines


def test_machine_events_go_to_those_that_want_them_and_see_the_hosts() -> None:
    wants = ("machine_events",)
    talk = Talk(HALVES, TenantConfig("hpc", ("h",), wants), TenantConfig("bda", ("b",), wants))
    talk.tell(1, machine(1, "1-2", back=False))
    assert talk.heard == {"hpc": [machine(1, "1", back=False)], "bda": [machine(1, "0", back=False)]}
    talk.tell(2, machine(2, "3", back=False))
    assert talk.asked == [["bda"]]
    quiet = Talk(HALVES, HPC, TenantConfig("bda", ("b",), wants))
    quiet.tell(1, machine(1, "1-2", back=False))
    assert quiet.asked == [["bda"]]


def test_other_notices_go_to_all() -> None:
    talk = Talk(HALVES)
    notice = m.Notify(1, "lunch", None, {"type": "lunch"})
    talk.tell(1, notice)
    assert talk.heard == {"hpc": [notice], "bda": [notice]}


def test_a_host_that_leaves_is_asked_back_from_who_does_not_hear_of_machines() -> None:
    talk = Talk()
    talk.tell(1, machine(1, "1", back=False), bda=[vacated(1, "1")])
    assert talk.heard == {"hpc": [], "bda": [m.RemoveResources(1, at("1"))]}
    talk.tell(5, machine(5, "1", back=True))
    assert talk.heard == {"hpc": [], "bda": [m.AddResources(5, at("1"))]}


def test_the_end_is_told_to_all_and_closes_the_journal() -> None:
    talk = Talk()
    assert talk.tell(7, m.SimulationEnds(7)) == []
    assert talk.heard == {"hpc": [m.SimulationEnds(7)], "bda": [m.SimulationEnds(7)]}
    assert talk.core.ended
    assert talk.sink.rows[-1].outcome == "done"
