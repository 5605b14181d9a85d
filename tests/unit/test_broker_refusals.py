"""Decisions that only the simulator refuses, behind a strict broker: who fails, and what is left of it."""

from __future__ import annotations

import pytest
from broker_talk import HPC, Talk, job, over, run

from batpy.base.errors import RemoteProtocolError
from batpy.broker.core import TenantError
from batpy.broker.tenants import TenantConfig
from batpy.protocol import messages as m

BDA = TenantConfig("bda", ("b",), ("sharing",), dynamic_jobs=True, droppable=True)


def strict(policy: str = "priority", bda: TenantConfig = BDA) -> Talk:
    talk = Talk(policy, HPC, bda)
    talk.core.strict = True
    return talk


def no(now: int, decision: str, job_id: str | None = None) -> m.DecisionRefused:
    return m.DecisionRefused(now, decision, "no", job_id)


def test_one_that_is_refused_twice_in_a_reply_is_dropped_once_and_nothing_of_it_is_left() -> None:
    talk = strict()
    talk.tell(1, job(1, "b!1"), job(1, "b!2"), bda=[run(1, "b!1", "0"), run(1, "b!2", "1")])
    # Neither runs: both are rejected, and nobody is told to kill what never started.
    assert talk.tell(1, no(1, "EXECUTE_JOB", "b!1"), no(1, "EXECUTE_JOB", "b!2")) == [
        m.RejectJob(1, "b!1"), m.RejectJob(1, "b!2"), m.Notify(1, "registration_finished"),
    ]  # fmt: skip
    assert talk.core.notices == ["scheduler bda: at 1 s: EXECUTE_JOB b!1: no; the run went on without it"]


def test_what_one_said_before_it_was_dropped_may_be_refused_after() -> None:
    talk = strict()
    talk.tell(1, job(1, "b!1"), job(1, "b!2"), bda=[run(1, "b!1", "0")])
    # It breaks a rule of the broker's: its decisions before that one are on their way already.
    reply = talk.tell(2, job(2, "b!3"), bda=[run(2, "b!2", "1"), run(2, "b!3", "2"), run(2, "b!3", "3")])
    kills = [event for event in reply if isinstance(event, m.KillJob)]
    # The kill of b!1, which runs, must not be refused along with those of starts that are.
    assert [kill.job_ids for kill in kills] == [["b!1"], ["b!2"], ["b!3"]]
    ended = over(2, "b!1", "0", m.COMPLETED_KILLED)
    assert talk.tell(2, no(2, "EXECUTE_JOB", "b!2"), no(2, "KILL_JOB"), ended) == [m.RejectJob(2, "b!2")]


def test_a_job_that_was_called_over_in_vain_is_rejected_with_its_tenant() -> None:
    talk = strict()
    talk.tell(1, job(1, "b!1"), bda=[m.ChangeJobState(1, "b!1", m.COMPLETED_SUCCESSFULLY)])
    assert m.RejectJob(1, "b!1") in talk.tell(1, no(1, "CHANGE_JOB_STATE", "b!1"))


def test_a_registered_job_is_rejected_once_although_it_is_submitted_after_the_drop() -> None:
    talk = strict()
    raw = {"id": "9", "res": 1, "profile": "p", "subtime": 1}
    reply = talk.tell(
        1, job(1, "b!1"), bda=[m.RegisterJob(1, "b!9", raw), run(1, "b!1", "0"), run(1, "b!1", "0")]
    )
    assert m.RejectJob(1, "b!9") in reply
    assert talk.tell(1, job(1, "b!9")) == []


def test_one_that_is_refused_and_needed_ends_the_run() -> None:
    talk = strict(bda=TenantConfig("bda", ("b",)))
    talk.tell(1, job(1, "b!1"), bda=[run(1, "b!1", "0")])
    with pytest.raises(TenantError, match="scheduler bda: at 1 s: EXECUTE_JOB b!1: no"):
        talk.tell(1, no(1, "EXECUTE_JOB", "b!1"))


def test_a_refused_kill_of_nobody_is_an_error_unless_a_start_was_refused_before() -> None:
    with pytest.raises(RemoteProtocolError, match="KILL_JOB at 1 s: no"):
        strict().tell(1, no(1, "KILL_JOB"))
    talk = strict()
    talk.tell(1, job(1, "b!1"), bda=[run(1, "b!1", "0"), m.KillJob(1, ["b!1"])])
    reply = talk.tell(1, no(1, "EXECUTE_JOB", "b!1"), no(1, "KILL_JOB"))
    assert reply == [m.RejectJob(1, "b!1"), m.Notify(1, "registration_finished")]
