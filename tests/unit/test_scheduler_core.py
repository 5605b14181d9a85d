"""The scheduler's core, without any of the shipped policies' cleverness."""

from __future__ import annotations

from typing import Any

import pytest
from core_talk import Idle, names, started, tell
from mini_simulator import Work, begins, submission

from batpy.base.errors import RemoteProtocolError
from batpy.protocol import messages as m
from batpy.schedulers import make_scheduler
from batpy.schedulers.api import FOREVER
from batpy.schedulers.core import SchedulerCore


def completed(now: int, job_id: str) -> m.JobCompleted:
    return m.JobCompleted(now, job_id, "COMPLETED_SUCCESSFULLY", 0, ((0, 0),))


class TestGreeting:
    def test_a_peer_with_our_key_gets_a_hello_first(self) -> None:
        hello = started(make_scheduler("fcfs[hosts=best_fit]"), **{"dynamic-jobs-enabled": True})
        assert names(hello) == ["Hello", "Notify"]
        assert hello[0].name == "fcfs[hosts=best_fit]"  # type: ignore[attr-defined]
        assert set(hello[0].wants) == {"machine_events", "refusals"}  # type: ignore[attr-defined]
        assert hello[1].type == "registration_finished"  # type: ignore[attr-defined]

    def test_the_real_batsim_gets_none(self) -> None:
        core = make_scheduler("fcfs")
        assert core.handle(begins(4, None)).events == []

    def test_batsim_resolves_microseconds(self) -> None:
        core = make_scheduler("fcfs")
        core.handle(begins(4, None))
        assert core._mirror is not None
        assert core._mirror.ticks_per_second == 1_000_000

    def test_a_policy_that_registers_jobs_ends_that_itself(self) -> None:
        policy = Idle()
        policy.registers = True  # type: ignore[attr-defined]
        assert names(started(SchedulerCore(policy, "x"), **{"dynamic-jobs-enabled": True})) == ["Hello"]

    @pytest.mark.parametrize("events", [[], [submission(0, Work("w0!1", 0, 1, 1))]])
    def test_nothing_comes_before_the_beginning(self, events: list[m.Event]) -> None:
        with pytest.raises(RemoteProtocolError, match="SIMULATION_BEGINS"):
            make_scheduler("fcfs").handle(m.Message(0, events))

    def test_it_begins_once(self) -> None:
        core = make_scheduler("fcfs")
        started(core)
        with pytest.raises(RemoteProtocolError, match="twice"):
            core.handle(begins(4))


class TestJobs:
    @pytest.mark.parametrize("res", [5, 0, -1])
    def test_a_job_that_can_never_run_is_rejected_with_the_reason(self, res: int) -> None:
        core = make_scheduler("easy")
        started(core)
        said = tell(core, 3, submission(3, Work("w0!1", 3, res, 1)))
        assert names(said) == ["SetJobMetadata", "RejectJob"]  # Batsim forgets a rejected job at once
        assert f"asks for {res} hosts" in said[0].metadata  # type: ignore[attr-defined]

    def test_hosts_that_are_away_still_count_for_what_can_ever_run(self) -> None:
        core = make_scheduler("fcfs")
        started(core)
        tell(core, 0, m.Notify(0, "event_machine_unavailable", ((0, 2),)))
        assert tell(core, 1, submission(1, Work("w0!1", 1, 4, 1))) == []
        said = tell(core, 2, m.Notify(2, "event_machine_available", ((0, 2),)))
        assert said == [m.ExecuteJob(2, "w0!1", ((0, 3),))]

    def test_a_host_that_leaves_under_a_job_is_free_after_both_are_over(self) -> None:
        core = make_scheduler("fcfs")
        started(core, 1)
        assert names(tell(core, 0, submission(0, Work("w0!1", 0, 1, 9)))) == ["ExecuteJob"]
        tell(core, 1, m.Notify(1, "event_machine_unavailable", ((0, 0),)))
        tell(core, 2, submission(2, Work("w0!2", 2, 1, 9)))
        assert tell(core, 3, completed(3, "w0!1")) == []
        assert names(tell(core, 4, m.Notify(4, "event_machine_available", ((0, 0),)))) == ["ExecuteJob"]
        tell(core, 5, submission(5, Work("w0!3", 5, 1, 9)))
        tell(core, 6, m.Notify(6, "event_machine_unavailable", ((0, 0),)))
        assert tell(core, 7, m.Notify(7, "event_machine_available", ((0, 0),))) == []
        assert names(tell(core, 8, completed(8, "w0!2"))) == ["ExecuteJob"]

    def test_hosts_that_are_away_at_the_beginning_are_not_used(self) -> None:
        core = make_scheduler("fcfs")
        message = begins(2)
        message.events[0].compute_resources[0]["state"] = "unavailable"  # type: ignore[attr-defined]
        core.handle(message)
        (start,) = tell(core, 0, submission(0, Work("w0!1", 0, 1, 9)))
        assert start.alloc == ((1, 1),)  # type: ignore[attr-defined]

    @pytest.mark.parametrize("waits", [True, False])
    def test_an_end_that_cannot_be_is_a_breach(self, waits: bool) -> None:
        core = SchedulerCore(Idle(), "idle")
        started(core)
        if waits:
            tell(core, 0, submission(0, Work("w0!1", 0, 1, 9)))
        with pytest.raises(
            RemoteProtocolError, match=r"JOB_COMPLETED of w0!1: .*no such job running"
        ) as breach:
            tell(core, 1, completed(1, "w0!1"))
        assert ("waits in the queue" in str(breach.value)) == waits

    def test_a_job_without_its_number_of_hosts_is_told_in_words(self) -> None:
        core = SchedulerCore(Idle(), "idle")
        started(core)
        with pytest.raises(RemoteProtocolError, match=r"of w0!1: its job has no res, the number of hosts"):
            tell(core, 0, m.JobSubmitted(0, "w0!1", {"id": "w0!1", "profile": "p"}))

    def test_a_job_is_submitted_once(self) -> None:
        core = SchedulerCore(Idle(), "idle")
        started(core)
        tell(core, 0, submission(0, Work("w0!1", 0, 1, 9)))
        with pytest.raises(RemoteProtocolError, match="w0!1: this job was submitted before"):
            tell(core, 1, submission(1, Work("w0!1", 0, 1, 9)))

    @pytest.mark.parametrize(
        "job",
        [
            {},
            {"res": "4"},
            {"res": 1, "walltime": "long"},
            {"res": 1, "walltime": float("inf")},
            {"res": 1.5},
        ],
    )
    def test_a_job_object_without_sense_is_a_breach(self, job: dict[str, Any]) -> None:
        core = make_scheduler("fcfs")
        started(core)
        with pytest.raises(RemoteProtocolError, match=r"JOB_SUBMITTED of w0!1: .*res"):
            tell(core, 0, m.JobSubmitted(0, "w0!1", job))

    @pytest.mark.parametrize(
        ("walltime", "ticks"),
        [(None, None), (-1, None), (-1.0, None), (2, 2000), (0.0015, 2), (1e300, None)],
    )
    def test_walltimes_are_rounded_to_ticks_and_may_be_unbounded(
        self, walltime: float | None, ticks: int | None
    ) -> None:
        policy = Idle()
        core = SchedulerCore(policy, "idle")
        core.handle(begins(4, 1000))
        job = {"res": 1} if walltime is None else {"res": 1, "walltime": walltime}
        tell(core, 0, m.JobSubmitted(0, "w0!1", job))
        assert core._mirror is not None
        (waiting,) = core._mirror.view.queue
        assert waiting.walltime == ticks
        assert waiting.length == (FOREVER if ticks is None else ticks)

    def test_calls_that_were_not_asked_for_and_unknown_notices_do_no_harm(self) -> None:
        core = make_scheduler("easy")
        started(core)
        assert tell(core, 1, m.RequestedCall(1), m.Notify(1, "no_more_static_job_to_submit")) == []
        assert tell(core, 2, m.JobKilled(2, ["w0!1"], {}), m.Notify(2, "anything", content={})) == []

    def test_the_end_is_answered_with_nothing(self) -> None:
        core = make_scheduler("fcfs")
        started(core)
        assert tell(core, 9, m.SimulationEnds(9)) == []


class TestRefusals:
    def refuse(self, core: SchedulerCore, now: int) -> list[m.Event]:
        return tell(core, now, m.DecisionRefused(now, "EXECUTE_JOB", "host 0 is away", "w0!1"))

    @pytest.mark.parametrize(
        "spec", ["fcfs", "easy", "easy[order=sjf]", "conservative", "filler", "fcfs[hosts=contiguous]"]
    )
    def test_a_refused_job_waits_and_is_tried_again_later(self, spec: str) -> None:
        core = make_scheduler(spec)
        started(core, 2)
        assert names(tell(core, 0, submission(0, Work("w0!1", 0, 2, 9, 9)))) == ["ExecuteJob"]
        tell(core, 0, submission(0, Work("w0!2", 0, 2, 9, 9)))
        said = self.refuse(core, 0)
        # Never again in the same instant; who waits behind may have the hosts.
        assert said[0] == m.CallMeLater(0, 1)
        assert [event.job_id for event in said[1:]] == ["w0!2"]  # type: ignore[attr-defined]
        assert tell(core, 1, m.RequestedCall(1)) == []
        (start,) = tell(core, 9, completed(9, "w0!2"))
        assert start.job_id == "w0!1"  # type: ignore[attr-defined]

    def test_a_job_that_came_back_stands_where_it_stood(self) -> None:
        core = make_scheduler("fcfs")
        started(core, 2)
        jobs = [submission(0, Work(f"w0!{n}", 0, 2, 9, 9)) for n in (1, 2, 3)]
        assert names(tell(core, 0, *jobs)) == ["ExecuteJob"]
        said = self.refuse(core, 0)
        assert [event.job_id for event in said[1:]] == ["w0!2"]  # type: ignore[attr-defined]
        tell(core, 1, m.RequestedCall(1))
        (start,) = tell(core, 9, completed(9, "w0!2"))
        assert start.job_id == "w0!1"  # type: ignore[attr-defined]

    @pytest.mark.parametrize("spec", ["fcfs", "easy", "conservative", "filler"])
    def test_it_is_rejected_in_the_end(self, spec: str) -> None:
        core = make_scheduler(spec)
        started(core, 2)
        now = 0
        said = tell(core, 0, submission(0, Work("w0!1", 0, 2, 9, 9)))
        dates = []
        while names(said) == ["ExecuteJob"]:
            dates.append(now)
            said = self.refuse(core, now)
            if names(said) == ["CallMeLater"]:
                now = said[0].at  # type: ignore[attr-defined]
                said = tell(core, now, m.RequestedCall(now))
        assert names(said) == ["SetJobMetadata", "RejectJob"]
        assert "host 0 is away" in said[0].metadata  # type: ignore[attr-defined]
        assert dates == [0, 1, 3, 7, 15, 31]
        # Its hosts are not lost.
        assert names(tell(core, 40, submission(40, Work("w0!2", 40, 2, 9)))) == ["ExecuteJob"]

    def test_refusals_of_other_decisions_change_nothing(self) -> None:
        core = make_scheduler("fcfs")
        started(core, 2)
        assert tell(core, 0, m.DecisionRefused(0, "KILL_JOB", "no", "w0!1")) == []
        assert tell(core, 0, m.DecisionRefused(0, "EXECUTE_JOB", "no", "w0!unknown")) == []
