"""What a scheduler behind the broker may not do: each breach ends the run with one line that names it."""

from __future__ import annotations

import pytest
from broker_talk import Talk, job, over, run, vacated

from batpy.broker.core import TenantError
from batpy.broker.tenants import TenantConfig
from batpy.protocol import messages as m

NO_SHARING = TenantConfig("bda", ("b",))


def refused(talk: Talk, now: int, *events: m.Event, **said: object) -> str:
    with pytest.raises(TenantError) as told:
        talk.tell(now, *events, **said)  # type: ignore[arg-type]
    assert told.value.exit_code == 3
    return str(told.value)


def on_submission(policy: str, decision: m.Event, *, tenant: str = "hpc") -> str:
    """What is said about a decision at 5 s, when one job of each tenant was just submitted."""
    talk = Talk(policy)
    return refused(talk, 5, job(5, "h!1"), job(5, "b!1"), **{tenant: [decision]})


HALVES = "static[shares=hpc:0-1 bda:2-3]"


@pytest.mark.parametrize(
    ("decision", "told"),
    [
        (run(5, "h!1", "4"), "EXECUTE_JOB h!1: host 4 does not exist for it; it sees hosts 0-3"),
        (m.ExecuteJob(5, "h!1", ()), "EXECUTE_JOB h!1: alloc is empty; a job needs at least one host"),
        (run(5, "b!1", "0"), "EXECUTE_JOB b!1: job b!1 belongs to scheduler bda"),
        (run(5, "h!9", "0"), "EXECUTE_JOB h!9: there is no job h!9"),
        (run(5, "x!1", "0"), "EXECUTE_JOB x!1: there is no job x!1"),
        (m.RejectJob(5, "b!1"), "REJECT_JOB b!1: job b!1 belongs to scheduler bda"),
        (m.RejectJob(5, "h!9"), "REJECT_JOB h!9: there is no job h!9"),
        (m.KillJob(5, []), "KILL_JOB: job_ids is empty"),
        (m.KillJob(5, ["b!1"]), "KILL_JOB: job b!1 belongs to scheduler bda"),
        (m.KillJob(5, ["h!9"]), "KILL_JOB: there is no job h!9"),
        (m.KillJob(5, ["h!1"]), "KILL_JOB: job h!1 is not running"),
        (m.SetJobMetadata(5, "b!1", "mine"), "SET_JOB_METADATA b!1: job b!1 belongs to scheduler bda"),
        (m.ChangeJobState(5, "b!1", m.REJECTED), "CHANGE_JOB_STATE b!1: job b!1 belongs to scheduler bda"),
        (m.CallMeLater(5, 5), "CALL_ME_LATER: the wanted date (5 s) is not after the present one"),
        (m.CallMeLater(5, 2), "CALL_ME_LATER: the wanted date (2 s) is not after the present one"),
        (
            m.RegisterJob(5, "h!2", {"id": "2"}),
            "REGISTER_JOB h!2: dynamic registration is off for it; it needs dynamic_jobs (scheduler.hpc)",
        ),
        (
            m.RegisterProfile(5, "h", "q", {}),
            "REGISTER_PROFILE: dynamic registration is off for it; it needs dynamic_jobs (scheduler.hpc)",
        ),
        (
            m.Notify(5, "hello"),
            "NOTIFY: type 'hello' is not known; want registration_finished or continue_registration",
        ),
        (m.Hello(5, "me", "1"), "HELLO: it must be the first decision of the first reply"),
        (
            vacated(5, "0"),
            "RESOURCES_REMOVED: it did not ask for sharing; name it in wants (scheduler.hpc)",
        ),
        (m.ResourcesAdded(5, ((0, 0),)), "RESOURCES_ADDED: it did not ask for sharing"),
        (
            m.SetResourceState(5, ((9, 9),), 1),
            "SET_RESOURCE_STATE: host 9 does not exist for it; it sees hosts 0-3",
        ),
    ],
)
def test_a_decision_that_breaks_a_rule_is_told_with_its_author_and_the_rule(
    decision: m.Event, told: str
) -> None:
    assert on_submission("priority", decision) == f"scheduler hpc: at 5 s: {told}"


@pytest.mark.parametrize(
    ("decision", "told"),
    [
        (
            m.RegisterJob(5, "h!2", {"id": "2"}),
            "REGISTER_JOB h!2: workload 'h' belongs to scheduler hpc",
        ),
        (m.RegisterProfile(5, "h", "q", {}), "REGISTER_PROFILE: workload 'h' belongs to scheduler hpc"),
        (m.RegisterJob(5, "b!1", {"id": "1"}), "REGISTER_JOB b!1: job b!1 already exists"),
        (
            vacated(5, "0-1"),
            "RESOURCES_REMOVED 0-1: it was not asked to vacate these hosts, or has already",
        ),
    ],
)
def test_so_is_one_of_a_scheduler_that_may_register_and_share(decision: m.Event, told: str) -> None:
    assert on_submission("priority", decision, tenant="bda") == f"scheduler bda: at 5 s: {told}"


def test_host_ids_in_a_complaint_are_those_of_the_scheduler() -> None:
    # Its hosts 0-1 are the park's 2-3.
    said = on_submission(HALVES, run(5, "b!1", "1-2"), tenant="bda")
    assert said == "scheduler bda: at 5 s: EXECUTE_JOB b!1: host 2 does not exist for it; it sees hosts 0-1"


def test_a_job_starts_once_and_what_is_over_is_over() -> None:
    talk = Talk()
    talk.tell(1, job(1, "h!1"), job(1, "h!2"), hpc=[run(1, "h!1", "0"), run(1, "h!2", "1")])
    again = refused(talk, 2, m.Notify(2, "word"), hpc=[run(2, "h!1", "2")])
    assert again == "scheduler hpc: at 2 s: EXECUTE_JOB h!1: job h!1 was started before"
    talk = Talk()
    talk.tell(1, job(1, "h!1"), hpc=[run(1, "h!1", "0")])
    rejected = refused(talk, 2, m.Notify(2, "word"), hpc=[m.RejectJob(2, "h!1")])
    assert rejected == "scheduler hpc: at 2 s: REJECT_JOB h!1: job h!1 was started before"
    talk = Talk()
    talk.tell(1, job(1, "h!1"), hpc=[m.RejectJob(1, "h!1")])
    late = refused(talk, 2, m.Notify(2, "word"), hpc=[run(2, "h!1", "0")])
    assert late == "scheduler hpc: at 2 s: EXECUTE_JOB h!1: job h!1 is already over"
    talk = Talk()
    talk.tell(1, job(1, "h!1"), hpc=[m.RejectJob(1, "h!1")])
    twice = refused(talk, 2, m.Notify(2, "word"), hpc=[m.RejectJob(2, "h!1")])
    assert twice == "scheduler hpc: at 2 s: REJECT_JOB h!1: job h!1 is already over"


def test_a_kill_that_crosses_the_end_of_its_job_is_no_breach() -> None:
    talk = Talk(HALVES)
    talk.tell(1, job(1, "h!1"), hpc=[run(1, "h!1", "0")])
    told = talk.tell(3, over(3, "h!1", "0"), hpc=[m.KillJob(3, ["h!1"])])
    assert told == [m.KillJob(3, ["h!1"])]


def test_hosts_that_were_taken_away_are_not_its_own() -> None:
    """It was told before it spoke, so it cannot say that it did not know."""
    talk = Talk("bebida[timeout=0]")
    talk.tell(1, job(1, "h!1"), hpc=[run(1, "h!1", "0-1")])
    assert talk.heard["bda"] == [m.RemoveResources(1, ((0, 1),))]
    told = refused(talk, 2, job(2, "b!1"), bda=[run(2, "b!1", "1-2")])
    assert told == "scheduler bda: at 2 s: EXECUTE_JOB b!1 on hosts it was not given (its 1)"


def test_an_acknowledgement_counts_once() -> None:
    talk = Talk()
    talk.tell(1, job(1, "h!1"), hpc=[run(1, "h!1", "0-1")], bda=[vacated(1, "0-1")])
    told = refused(talk, 2, job(2, "b!1"), bda=[vacated(2, "1")])
    assert told == (
        "scheduler bda: at 2 s: RESOURCES_REMOVED 1: it was not asked to vacate these hosts, or has already"
    )


def test_it_may_not_register_after_it_said_that_it_is_done_but_may_go_on() -> None:
    talk = Talk()
    assert talk.tell(1, job(1, "b!1"), bda=[m.Notify(1, "registration_finished")]) == [
        m.Notify(1, "registration_finished")
    ]
    new = m.RegisterJob(2, "b!2", {"id": "2", "profile": "p"})
    told = refused(talk, 2, job(2, "b!3"), bda=[new])
    assert told == (
        "scheduler bda: at 2 s: REGISTER_JOB b!2: it declared its registration finished; "
        "NOTIFY continue_registration opens it again"
    )
    talk = Talk(bda=[m.Notify(0, "registration_finished")])
    reply = talk.tell(2, job(2, "b!3"), bda=[m.Notify(2, "continue_registration"), new])
    assert reply == [m.Notify(2, "continue_registration"), new]


def test_pstates_of_hosts_that_another_uses_or_holds_are_not_its_business() -> None:
    talk = Talk()
    talk.tell(1, job(1, "b!1"), bda=[run(1, "b!1", "2")])
    told = refused(talk, 2, job(2, "h!1"), hpc=[m.SetResourceState(2, ((1, 2),), 1)])
    assert told == (
        "scheduler hpc: at 2 s: SET_RESOURCE_STATE: its hosts 1-2 may be used by scheduler bda too; "
        "power states need hosts of its own, as with the policy static"
    )


def test_a_job_registered_in_the_reply_that_ends_registration_comes_before_that_end() -> None:
    new = m.RegisterJob(2, "b!9", {"id": "9", "subtime": 2, "res": 1, "profile": "p"})
    over = m.Notify(2, "registration_finished")
    assert Talk().tell(2, job(2, "b!3"), bda=[new, over]) == [new, over]


def test_registration_that_ends_and_goes_on_in_one_reply_never_ended() -> None:
    over, more = m.Notify(2, "registration_finished"), m.Notify(2, "continue_registration")
    assert Talk().tell(2, job(2, "b!3"), bda=[over, more]) == []


def test_a_job_that_was_started_on_hosts_is_not_relabelled() -> None:
    talk = Talk()
    talk.tell(1, job(1, "h!1"), hpc=[run(1, "h!1", "2")])
    told = refused(talk, 2, job(2, "h!2"), hpc=[m.ChangeJobState(2, "h!1", "COMPLETED_FAILED")])
    assert told == (
        "scheduler hpc: at 2 s: CHANGE_JOB_STATE h!1: job h!1 was started on hosts; only KILL_JOB ends it"
    )


def test_a_reply_is_never_earlier_than_its_question() -> None:
    talk = Talk()
    told = refused(talk, 5, job(5, "h!1"), hpc=m.Message(4, []))
    assert told == "scheduler hpc: at 5 s: its reply's now (4 s) is before 5 s"


def test_a_decision_is_never_later_than_its_reply() -> None:
    talk = Talk()
    told = refused(talk, 5, job(5, "h!1"), hpc=m.Message(6, [run(7, "h!1", "0")]))
    assert told == ("scheduler hpc: at 5 s: the timestamp of a decision (7 s) is after its reply's now (6 s)")


def test_what_nobody_would_hear_is_refused() -> None:
    talk = Talk()
    told = refused(talk, 5, job(5, "h!1"), hpc=[m.JobSubmitted(5, "h!2", {})])
    assert told == "scheduler hpc: at 5 s: JOB_SUBMITTED h!2: the broker knows nobody who would hear it"


# ------------------------------------------------------------------------- never acknowledges


def silent(on_timeout: str) -> Talk:
    """b!1 runs on 0-1, h!1 wants 1-2 at 10 s, and bda says nothing; it has 4 s."""
    talk = Talk(f"bebida[timeout=4,on_timeout={on_timeout}]")
    talk.tell(1, job(1, "b!1"), bda=[run(1, "b!1", "0-1")])
    reply = talk.tell(10, job(10, "h!1"), hpc=[run(10, "h!1", "1-2")])
    assert reply == [m.CallMeLater(10, 11)]
    assert talk.heard["bda"] == [m.RemoveResources(10, ((1, 2),))]
    assert talk.tell(11, m.RequestedCall(11)) == [m.CallMeLater(11, 12)]
    assert talk.tell(12, m.RequestedCall(12)) == [m.CallMeLater(12, 14)]
    return talk


def test_one_that_never_acknowledges_fails() -> None:
    assert refused(silent("fail"), 14, m.RequestedCall(14)) == (
        "scheduler bda: at 14 s: REMOVE_RESOURCES 1-2 was not acknowledged in time; say RESOURCES_REMOVED"
    )


def test_or_its_hosts_are_seized_and_a_late_acknowledgement_is_harmless() -> None:
    talk = silent("seize")
    assert talk.tell(14, m.RequestedCall(14)) == [m.KillJob(14, ["b!1"])]
    tree = {"b!1": {"profile_name": "p", "progress": 0.5}}
    reply = talk.tell(
        14, over(14, "b!1", "0-1", m.COMPLETED_KILLED), m.JobKilled(14, ["b!1"], tree),
        bda=[vacated(14, "1-2")],
    )  # fmt: skip
    assert reply == [run(14, "h!1", "1-2")]
    assert talk.heard["bda"] == [
        over(14, "b!1", "0-1", m.COMPLETED_KILLED), m.JobKilled(14, ["b!1"], tree),
    ]  # fmt: skip


def test_or_the_start_that_wants_them_is_cancelled() -> None:
    talk = silent("cancel")
    reply = talk.tell(14, m.RequestedCall(14))
    # The simulator never saw it start; its scheduler believes that it ran, and learns that it was killed.
    assert reply == [m.RejectJob(14, "h!1")]
    assert talk.heard["hpc"] == [m.JobCompleted(14, "h!1", m.COMPLETED_KILLED, -1, ((1, 2),))]
    # Only host 2 is idle; b!1 goes on where it is, and its hosts are lent again.
    assert talk.heard["bda"] == [m.AddResources(14, ((1, 2),))]
    assert talk.tell(15, job(15, "b!2"), bda=[run(15, "b!2", "2")]) == [run(15, "b!2", "2")]


def test_what_is_between_the_broker_and_its_schedulers_never_reaches_the_simulator() -> None:
    talk = Talk("bebida[timeout=0]")
    talk.tell(5, job(5, "h!1"), hpc=[run(5, "h!1", "0")])
    assert talk.tell(6, job(6, "b!1"), bda=[vacated(6, "0")]) == [run(6, "h!1", "0")]
    talk.then("bda", [m.ResourcesAdded(9, ((0, 0),))])
    assert talk.tell(9, over(9, "h!1", "0")) == []
    assert talk.heard["bda"] == [m.AddResources(9, ((0, 0),))]
