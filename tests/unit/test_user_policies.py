"""Policies in files of users: how they are found, run, and blamed when they fail."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from core_talk import Idle, names, started, tell
from mini_simulator import MiniSimulator, Work, submission

from batpy.base.errors import InputError
from batpy.protocol import messages as m
from batpy.schedulers import api, make_scheduler
from batpy.schedulers.api import FOREVER, Plan, View
from batpy.schedulers.core import SchedulerCore

USERS_POLICY = '''
from dataclasses import dataclass

from batpy.schedulers.api import Plan, View


@dataclass(frozen=True)
class NarrowFirst:
    """Narrow jobs first; those wider than the limit start on an empty platform only."""

    limit: int = 4

    def decide(self, view: View) -> Plan:
        plan = Plan(view)
        for job in sorted(view.queue, key=lambda job: (job.res, job.serial)):
            if job.res <= self.limit or plan.free_count == view.nb_hosts:
                plan.start(job)
        return plan
'''


class TestUsersPolicies:
    def test_the_example_of_the_documentation_works(self, tmp_path: Path) -> None:
        (tmp_path / "my_policy.py").write_text(USERS_POLICY)
        core = make_scheduler("./my_policy.py:NarrowFirst[limit=2]", base=tmp_path)
        jobs = [Work("w0!a", 0, 1, 5), Work("w0!b", 1, 3, 5), Work("w0!c", 2, 2, 5), Work("w0!d", 3, 9, 5)]
        outcome = MiniSimulator(core, 4, jobs).run()
        assert outcome.starts == {"w0!a": 0, "w0!c": 2, "w0!b": 7}
        assert outcome.rejected == {"w0!d": "rejected: asks for 9 hosts, the platform has 4"}
        body = USERS_POLICY.split("class NarrowFirst:")[1].replace('"""', "'''")
        flat = "\n".join(line.strip() for line in body.strip().splitlines())
        shown = "\n".join(line.strip() for line in (api.__doc__ or "").splitlines())
        assert flat in shown

    def policy(self, decide: Any) -> SchedulerCore:
        kind = type("Mine", (), {"decide": lambda _self, view: decide(view), "__module__": "users"})
        core = SchedulerCore(kind(), "mine")
        started(core, 2)
        return core

    def test_a_failure_is_one_line_for_the_user(self) -> None:
        def decide(view: View) -> Plan:
            raise ZeroDivisionError("oh")

        core = self.policy(decide)
        with pytest.raises(
            InputError, match=r"mine: decide\(\) failed at test_user_policies.py:\d+: ZeroDiv"
        ):
            tell(core, 0, submission(0, Work("w0!1", 0, 1, 1)))

    @pytest.mark.parametrize(
        ("returned", "shown"),
        [
            ([], r"\[\] \(a list\)"),
            (True, r"True \(a bool\)"),
            ("x" * 99, r"'x+\.\.\. \(a str\)"),
            (Plan, "a type"),
        ],
    )
    def test_what_is_no_plan_is_refused(self, returned: Any, shown: str) -> None:
        said = rf"^mine: decide\(\) returned .*{shown}.*; want a Plan, or None for an empty one$"
        with pytest.raises(InputError, match=said):
            tell(self.policy(lambda _: returned), 0, submission(0, Work("w0!1", 0, 1, 1)))

    @pytest.mark.parametrize(
        ("mistake", "said"),
        [
            (lambda plan: plan.start("w0!1"), "want a job of the view, got 'w0!1'"),
            (lambda plan: plan.kill("w0!1"), "want a job of the view, got 'w0!1'"),
            (lambda plan: plan.reject(None, "no"), "want a job of the view, got None"),
            (lambda plan: plan.say("hello"), "want a decision of batpy.protocol.messages, got 'hello'"),
            (lambda plan: plan.wake(1.5), "want a date in ticks, a whole number, got 1.5"),
        ],
    )
    def test_a_mistake_in_a_plan_is_told_with_the_line_that_made_it(
        self, tmp_path: Path, mistake: Any, said: str
    ) -> None:
        def decide(view: View) -> Plan:
            plan = Plan(view)
            mistake(plan)
            return plan

        with pytest.raises(
            InputError, match=rf"^mine: decide\(\) failed at test_user_policies.py:\d+: .*{said}"
        ):
            tell(self.policy(decide), 0, submission(0, Work("w0!1", 0, 1, 1)))

    def test_the_line_is_that_of_the_users_module_even_if_a_library_failed(self, tmp_path: Path) -> None:
        text = "import json\nclass Mine:\n    def decide(self, view):\n        return json.loads('{')\n"
        (tmp_path / "mine.py").write_text(text)
        core = make_scheduler("mine.py", base=tmp_path)
        started(core)
        with pytest.raises(InputError, match=r"^mine.py: decide\(\) failed at mine.py:4: JSONDecodeError"):
            tell(core, 0)

    def test_a_plan_filled_by_hand_with_nonsense_is_the_users_failure(self) -> None:
        def decide(view: View) -> Plan:
            plan = Plan(view)
            plan.starts.append(("w0!1", ()))  # type: ignore[arg-type]
            return plan

        with pytest.raises(InputError, match=r"^mine: the plan of decide\(\) failed: AttributeError"):
            tell(self.policy(decide), 0, submission(0, Work("w0!1", 0, 1, 1)))

    def test_leaving_the_program_is_a_failure_as_well(self) -> None:
        with pytest.raises(InputError, match=r"decide\(\) failed at .*: it left with sys.exit\(\)"):
            tell(self.policy(lambda _: sys.exit(0)), 0)

    @pytest.mark.parametrize(
        ("method", "said"),
        [
            (
                lambda _self, _view: 1 / 0,
                r"mine: begin\(\) failed at test_user_policies.py:\d+: ZeroDivisionError",
            ),
            (lambda _self, _view: 3, r"mine: begin\(\) returned 3 \(a int\); want a Plan"),
        ],
    )
    def test_a_beginning_that_fails_is_one_line_for_the_user(self, method: Any, said: str) -> None:
        kind = type("Mine", (), {"decide": lambda *_: None, "begin": method, "__module__": __name__})
        with pytest.raises(InputError, match=said):
            started(SchedulerCore(kind(), "mine"))

    def test_hearing_that_fails_is_one_line_for_the_user(self) -> None:
        kind = type("Mine", (), {"decide": lambda *_: None, "hear": lambda *_: 1 / 0, "__module__": __name__})
        core = SchedulerCore(kind(), "mine")
        started(core)
        with pytest.raises(InputError, match=r"mine: hear\(\) failed at test_user_policies.py:\d+: ZeroDiv"):
            tell(core, 0, m.Notify(0, "no_more_static_job_to_submit"))

    @pytest.mark.parametrize("wants", ["refusals", ("everything",), 3])
    def test_wants_that_mean_nothing_are_refused(self, wants: Any) -> None:
        kind = type("Mine", (), {"decide": lambda *_: None, "wants": wants, "__module__": __name__})
        with pytest.raises(InputError, match=r"mine: its wants must be a tuple of .*refusals"):
            started(SchedulerCore(kind(), "mine"))

    def test_a_failure_of_a_shipped_policy_is_a_bug(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("batpy.schedulers.hpc.fcfs.Fcfs.decide", lambda *_: 1 / 0)
        core = make_scheduler("fcfs")
        started(core)
        with pytest.raises(ZeroDivisionError):
            tell(core, 0)

    def test_hosts_may_be_given_as_a_procset(self) -> None:
        from procset import ProcSet

        def decide(view: View) -> Plan:
            plan = Plan(view)
            plan.start(view.queue[0], ProcSet(0, (2, 3)))
            return plan

        core = SchedulerCore(type("Mine", (), {"decide": lambda _, view: decide(view)})(), "mine")
        started(core, 4)
        said = tell(core, 0, submission(0, Work("w0!1", 0, 3, 1)))
        assert said == [m.ExecuteJob(0, "w0!1", ((0, 0), (2, 3)))]

    @pytest.mark.parametrize(
        ("hosts", "message"),
        [
            (((0, 1),), "asked for 1 hosts"),
            (((7, 7),), "cannot start on 7: not free"),
            (((1, 1), (0, 0)), "hosts must be ascending intervals"),
        ],
    )
    def test_hosts_that_do_not_do_are_refused_at_once(self, hosts: Any, message: str) -> None:
        def decide(view: View) -> Plan:
            plan = Plan(view)
            plan.start(view.queue[0], hosts)
            return plan

        with pytest.raises(InputError, match=f"mine: w0!1:? {message}"):
            tell(self.policy(decide), 0, submission(0, Work("w0!1", 0, 1, 1)))

    def test_a_job_is_started_once(self) -> None:
        def decide(view: View) -> Plan:
            plan = Plan(view)
            plan.start(view.queue[0])
            plan.start(view.queue[0])
            return plan

        with pytest.raises(InputError, match="planned to start w0!1, which does not wait"):
            tell(self.policy(decide), 0, submission(0, Work("w0!1", 0, 1, 1)))

    def test_a_call_in_the_past_is_refused(self) -> None:
        def decide(view: View) -> Plan:
            plan = Plan(view)
            plan.wake(view.now)
            return plan

        with pytest.raises(InputError, match="asked to be called at 3 s; it is already 3 s"):
            tell(self.policy(decide), 3, submission(3, Work("w0!1", 0, 1, 1)))

    def test_the_same_call_is_asked_for_once(self) -> None:
        def decide(view: View) -> Plan:
            plan = Plan(view)
            plan.wake(9)
            return plan

        core = self.policy(decide)
        assert tell(core, 1, m.RequestedCall(1)) == [m.CallMeLater(1, 9)]
        assert tell(core, 2, m.RequestedCall(2)) == []

    def test_a_plan_can_kill_reject_and_say_more(self) -> None:
        def decide(view: View) -> Plan:
            plan = Plan(view)
            for job in view.running:
                plan.kill(job)
                plan.say(m.SetJobMetadata(view.now, job.id, "killed"))
            for job in view.arrived:
                if job.raw.get("bad"):
                    plan.reject(job, 'a "bad" one')
                else:
                    plan.start(job)
            return plan

        core = self.policy(decide)
        assert names(tell(core, 0, submission(0, Work("w0!1", 0, 1, 9)))) == ["ExecuteJob"]
        assert tell(core, 1, m.JobSubmitted(1, "w0!2", {"res": 1, "bad": True})) == [
            m.SetJobMetadata(1, "w0!2", "rejected: a 'bad' one"),
            m.RejectJob(1, "w0!2"),
            m.KillJob(1, ["w0!1"]),
            m.SetJobMetadata(1, "w0!1", "killed"),
        ]

    def test_the_view_tells_what_will_be_free_when(self) -> None:
        seen = []

        def decide(view: View) -> Plan:
            plan = Plan(view)
            for job in view.queue:
                plan.start(job)
            timeline = view.availability()
            seen.append([timeline.free_at(date) for date in (view.now, 5, 9, FOREVER * 2)])
            return plan

        core = self.policy(decide)  # on hosts 0 and 1
        tell(core, 0, submission(0, Work("w0!1", 0, 1, 9, 7)), submission(0, Work("w0!2", 0, 1, 9, None)))
        tell(core, 1, m.RequestedCall(1))
        tell(core, 2, m.Notify(2, "event_machine_unavailable", ((0, 0),)))
        assert seen == [
            [((0, 1),)] * 4,
            [(), (), ((0, 0),), ((0, 1),)],
            [(), (), (), ((1, 1),)],
        ]

    def test_a_policy_is_told_of_the_beginning_and_hears_other_events(self) -> None:
        heard: list[Any] = []

        class Curious(Idle):
            wants = ("refusals",)

            def begin(self, view: View) -> Plan:
                plan = Plan(view)
                plan.wake(7)
                heard.append((view.nb_hosts, view.ticks_per_second))
                return plan

            def hear(self, event: m.Event) -> None:
                heard.append(event)

        core = SchedulerCore(Curious(), "curious")
        said = started(core, 3)
        assert said[0].wants == ("refusals",)  # type: ignore[attr-defined]
        assert said[1:] == [m.CallMeLater(0, 7)]
        answer = m.Answer(1, consumed_energy=4.5)
        tell(core, 1, answer)
        assert heard == [(3, 1), answer]

    def test_news_is_told_once(self) -> None:
        policy = Idle()
        core = SchedulerCore(policy, "idle")
        started(core)
        tell(core, 0, submission(0, Work("w0!1", 0, 1, 9)), submission(0, Work("w0!2", 0, 1, 9)))
        tell(core, 1, m.RequestedCall(1))
        assert policy.seen == [(["w0!1", "w0!2"], []), ([], [])]
