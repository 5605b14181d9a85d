"""Hosts that a broker takes back and gives again; jobs that a policy registers; elastic starts."""

from __future__ import annotations

from typing import Any

import pytest
from core_talk import names, started, tell
from mini_simulator import Work, begins, submission

from batpy.base.errors import InputError, RemoteProtocolError
from batpy.protocol import messages as m
from batpy.protocol.hostset import HostSet
from batpy.schedulers.api import Plan, View
from batpy.schedulers.core import SchedulerCore


class Scripted:
    """Does what it is told next, and remembers what it saw."""

    registers = True
    elastic = True
    wants = ("sharing",)

    def __init__(self) -> None:
        self.todo: list[Any] = []
        self.evicted: list[list[str]] = []
        self.view: View

    def decide(self, view: View) -> Plan:
        self.view = view
        self.evicted.append([job.id for job in view.evicted])
        plan = Plan(view)
        if self.todo:
            self.todo.pop(0)(view, plan)
        return plan


@pytest.fixture
def policy() -> Scripted:
    return Scripted()


@pytest.fixture
def core(policy: Scripted) -> SchedulerCore:
    core = SchedulerCore(policy, "scripted")
    started(core, 8)
    return core


def start_on(*hosts: HostSet) -> Any:
    def act(view: View, plan: Plan) -> None:
        for job, where in zip(view.queue, hosts, strict=True):
            plan.start_on(job, where)

    return act


def completed(now: int, job: str, hosts: HostSet, state: Any = m.COMPLETED_SUCCESSFULLY) -> m.Event:
    return m.JobCompleted(now, job, state, 0, hosts)


def run_two(core: SchedulerCore, policy: Scripted) -> None:
    """``a`` on 0-2, ``b`` on 3-4."""
    policy.todo.append(start_on(((0, 2),), ((3, 4),)))
    tell(core, 1, submission(1, Work("w0!a", 1, 3, 5)), submission(1, Work("w0!b", 1, 4, 5)))


class TestHosts:
    def test_idle_hosts_are_acknowledged_at_once(self, core: SchedulerCore, policy: Scripted) -> None:
        assert tell(core, 1, m.RemoveResources(1, ((2, 3),))) == [m.ResourcesRemoved(1, ((2, 3),))]
        assert policy.view.free == ((0, 1), (4, 7))
        assert policy.view.disturbed
        assert tell(core, 2, m.AddResources(2, ((2, 2),))) == [m.ResourcesAdded(2, ((2, 2),))]
        assert (policy.view.free, policy.view.free_count) == (((0, 2), (4, 7)), 7)

    def test_busy_hosts_are_acknowledged_when_all_jobs_are_gone(
        self, core: SchedulerCore, policy: Scripted
    ) -> None:
        run_two(core, policy)
        assert tell(core, 2, m.RemoveResources(2, ((2, 3),))) == []
        assert policy.evicted[-1] == ["w0!a", "w0!b"]
        assert tell(core, 3, completed(3, "w0!a", ((0, 2),), m.COMPLETED_KILLED)) == []
        assert policy.evicted[-1] == ["w0!b"]
        # However it ends.
        reply = tell(core, 4, completed(4, "w0!b", ((3, 4),)))
        assert reply == [m.ResourcesRemoved(4, ((2, 3),))]
        assert policy.evicted[-1] == []
        assert policy.view.free == ((0, 1), (4, 7))
        assert tell(core, 5, submission(5, Work("w0!c", 5, 1, 5))) == []

    def test_an_answer_does_not_overtake_an_older_one_about_the_same_hosts(
        self, core: SchedulerCore, policy: Scripted
    ) -> None:
        run_two(core, policy)
        older, newer, other = ((2, 5),), ((5, 6),), ((7, 7),)
        assert tell(core, 2, m.RemoveResources(2, older)) == []
        asked = [m.RemoveResources(2, newer), m.RemoveResources(2, other)]
        assert tell(core, 2, *asked) == [m.ResourcesRemoved(2, other)]
        tell(core, 3, completed(3, "w0!a", ((0, 2),)))
        reply = tell(core, 3, completed(3, "w0!b", ((3, 4),)))
        assert reply == [m.ResourcesRemoved(3, older), m.ResourcesRemoved(3, newer)]

    def test_a_job_that_started_after_the_hosts_came_back_holds_nothing_up(
        self, core: SchedulerCore, policy: Scripted
    ) -> None:
        run_two(core, policy)
        tell(core, 2, m.RemoveResources(2, ((3, 4), (6, 6))), m.AddResources(2, ((6, 6),)))
        policy.todo.append(start_on(((6, 6),)))
        reply = tell(
            core, 3, submission(3, Work("w0!c", 3, 1, 5)), completed(3, "w0!b", ((3, 4),), m.COMPLETED_KILLED)
        )
        assert names(reply) == ["ResourcesRemoved", "ExecuteJob"]

    def test_hosts_that_are_unavailable_stay_so_when_the_broker_gives_them(
        self, core: SchedulerCore, policy: Scripted
    ) -> None:
        tell(core, 1, m.Notify(1, "event_machine_unavailable", ((1, 1),)))
        assert (policy.view.free, policy.view.down) == (((0, 0), (2, 7)), ((1, 1),))
        tell(core, 1, m.RemoveResources(1, ((0, 1),)))
        tell(core, 2, m.AddResources(2, ((0, 1),)))
        assert policy.view.free == ((0, 0), (2, 7))
        tell(core, 3, m.RemoveResources(3, ((1, 2),)), m.Notify(3, "event_machine_available", ((1, 1),)))
        assert policy.view.free == ((0, 0), (3, 7))
        assert policy.view.down == ((1, 2),)

    @pytest.mark.parametrize("word", [m.RemoveResources, m.AddResources])
    def test_hosts_that_were_never_shown_are_refused(self, core: SchedulerCore, word: Any) -> None:
        with pytest.raises(RemoteProtocolError, match=r"_RESOURCES of hosts 8-9: .* showed 0-7"):
            tell(core, 1, word(1, ((7, 9),)))

    def test_a_hello_asks_for_sharing(self) -> None:
        hello = SchedulerCore(Scripted(), "s").handle(begins(8)).events[0]
        assert isinstance(hello, m.Hello)
        assert hello.wants == ("sharing",)


class TestElasticStarts:
    def test_hosts_are_counted_as_given_not_as_asked_for(self, core: SchedulerCore, policy: Scripted) -> None:
        run_two(core, policy)
        assert policy.view.free_count == 3
        tell(core, 2, completed(2, "w0!b", ((3, 4),)))
        assert (policy.view.free, policy.view.free_count) == (((3, 7),), 5)

    def test_a_policy_that_does_not_call_itself_elastic_may_start_them_too(self) -> None:
        class Plain(Scripted):
            elastic = False

        policy = Plain()
        core = SchedulerCore(policy, "plain")
        started(core, 8)
        run_two(core, policy)
        tell(core, 2, completed(2, "w0!b", ((3, 4),)))
        assert (policy.view.free, policy.view.free_count) == (((3, 7),), 5)
        assert names(tell(core, 3, submission(3, Work("w0!c", 3, 9, 5))))[-1] == "RejectJob"

    def test_jobs_that_ask_for_more_than_there_is_are_shown(
        self, core: SchedulerCore, policy: Scripted
    ) -> None:
        assert tell(core, 1, submission(1, Work("w0!a", 1, 9, 5))) == []
        assert [job.id for job in policy.view.arrived] == ["w0!a"]
        assert names(tell(core, 1, submission(1, Work("w0!b", 1, 0, 5)))) == ["SetJobMetadata", "RejectJob"]

    @pytest.mark.parametrize(
        ("hosts", "problem"),
        [
            ((), "w0!a cannot start on no host at all"),
            (((7, 8),), "w0!a cannot start on 8: not free"),
            (((1, 1), (2, 2)), "ascending intervals that do not touch"),
        ],
    )
    def test_impossible_hosts_are_refused(
        self, core: SchedulerCore, policy: Scripted, hosts: HostSet, problem: str
    ) -> None:
        policy.todo.append(start_on(hosts))
        with pytest.raises(InputError, match=problem):
            tell(core, 1, submission(1, Work("w0!a", 1, 1, 5)))


PROFILE = {"type": "delay", "delay": 1}
JOB = {"id": "w0!n", "subtime": 1, "res": 2, "profile": "p"}


class TestRegistration:
    def register(self, view: View, plan: Plan) -> None:
        plan.register_job("w0!n", JOB)
        plan.register_profile("w0", "p", PROFILE)
        plan.say(m.SetJobMetadata(view.now, "w0!n", "new"))

    def test_registrations_come_first_and_the_job_comes_back(self, policy: Scripted) -> None:
        core = SchedulerCore(policy, "s")
        started(core, 4, **{"dynamic-jobs-enabled": True, "dynamic-jobs-acknowledged": True})
        policy.todo += [self.register, start_on(((0, 1),))]
        assert tell(core, 5, m.RequestedCall(5)) == [
            m.RegisterJob(5, "w0!n", JOB),
            m.RegisterProfile(5, "w0", "p", PROFILE),
            m.SetJobMetadata(5, "w0!n", "new"),
        ]
        assert names(tell(core, 5, m.JobSubmitted(5, "w0!n", JOB))) == ["ExecuteJob"]

    def test_where_nothing_is_acknowledged_the_job_may_start_in_the_same_reply(
        self, policy: Scripted
    ) -> None:
        core = SchedulerCore(policy, "s")
        started(core, 4, **{"dynamic-jobs-enabled": True, "dynamic-jobs-acknowledged": False})
        policy.todo += [self.register, start_on(((0, 1),))]
        said = names(tell(core, 5, m.RequestedCall(5)))
        assert said == ["RegisterJob", "RegisterProfile", "SetJobMetadata", "ExecuteJob"]
