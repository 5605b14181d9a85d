"""Jobs and profiles that a scheduler registers while the simulation runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec
import pytest
from playback import DELAYS, SECOND, Greedy, JobList, Journal, hosts, job, play

from batpy.base.errors import RemoteProtocolError
from batpy.protocol import messages as m
from batpy.protocol import records as r
from batpy.simulator.config import SimulatorConfig
from batpy.simulator.core import Simulator, run
from batpy.workloads.job import Job
from batpy.workloads.profile import parse_profile

DYNAMIC = {"dynamic_jobs": True, "acknowledge_dynamic_jobs": True}
Script = Callable[[int], list[m.Event]]


def finished(now: int) -> m.Event:
    return m.Notify(now, "registration_finished")


def speak(first: Script, *, at: int = 0) -> Greedy:
    if at == 0:
        return Greedy({0: first})
    return Greedy({0: lambda now: [m.CallMeLater(now, at)], at: first})


def profile(now: int, name: str, raw: object, workload: str = "w0") -> m.Event:
    return m.RegisterProfile(now, workload, name, raw)  # type: ignore[arg-type]


def test_a_registered_job_is_acknowledged_and_runs() -> None:
    ask = speak(lambda t: [m.RegisterJob(t, "w0!new", job("new", profile="d5")), finished(t)])
    simulator, journal = play([job("a", subtime=1)], DELAYS, ask, **DYNAMIC)
    assert journal.spans()["w0!new"] == (0, 5, "COMPLETED_SUCCESSFULLY")
    assert [record.dynamic for record in journal.of(r.Submitted)] == [True, False]
    assert simulator.jobs_total == 2


def test_without_acknowledgement_the_scheduler_may_start_it_in_the_same_reply() -> None:
    def script(now: int) -> list[m.Event]:
        return [
            profile(now, "p", {"type": "delay", "delay": 2}, "dyn"),
            m.RegisterJob(now, "dyn!x", job("dyn!x", profile="p")),
            m.ExecuteJob(now, "dyn!x", ((3, 3),)),
            finished(now),
        ]

    ask = speak(script)
    _, journal = play([], {}, ask, dynamic_jobs=True)
    assert journal.spans() == {"dyn!x": (0, 2, "COMPLETED_SUCCESSFULLY")}
    assert not ask.events(m.JobSubmitted)


def test_sub_profiles_may_come_after_the_composed_profile_and_its_job() -> None:
    def script(now: int) -> list[m.Event]:
        return [
            profile(now, "seq", {"type": "composed", "seq": ["part", "part"]}),
            m.RegisterJob(now, "w0!x", job("x", profile="seq")),
            profile(now, "part", {"type": "delay", "delay": 3}),
            finished(now),
        ]

    _, journal = play([job("a")], DELAYS, speak(script), **DYNAMIC)
    assert journal.spans()["w0!x"] == (0, 6, "COMPLETED_SUCCESSFULLY")


def test_a_job_whose_sub_profile_never_came_cannot_start() -> None:
    def script(now: int) -> list[m.Event]:
        return [
            profile(now, "seq", {"type": "composed", "seq": ["nowhere"]}),
            m.RegisterJob(now, "w0!x", job("x", profile="seq")),
        ]

    with pytest.raises(RemoteProtocolError, match="names the profile 'nowhere', which is not known"):
        play([job("a")], DELAYS, speak(script), **DYNAMIC)


def test_profiles_that_contain_each_other_cannot_start() -> None:
    def script(now: int) -> list[m.Event]:
        return [
            profile(now, "x", {"type": "composed", "seq": ["y"]}),
            profile(now, "y", {"type": "composed", "seq": ["x"]}),
            m.RegisterJob(now, "w0!x", job("x", profile="x")),
        ]

    with pytest.raises(RemoteProtocolError, match=r"contains itself \(x > y > x\)"):
        play([job("a")], DELAYS, speak(script), **DYNAMIC)


def test_the_simulation_waits_until_registration_is_finished() -> None:
    with pytest.raises(RemoteProtocolError, match="never said registration_finished"):
        play([job("a")], DELAYS, Greedy(), **DYNAMIC)


def test_registration_can_be_opened_again() -> None:
    def script(now: int) -> list[m.Event]:
        return [
            finished(now),
            m.Notify(now, "continue_registration"),
            m.RegisterJob(now, "w0!x", job("x")),
            finished(now),
        ]

    _, journal = play([job("a")], DELAYS, speak(script), **DYNAMIC)
    assert "w0!x" in journal.spans()


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (lambda t: [m.RegisterJob(t, "w0!a", job("a"))], "job w0!a already exists"),
        (lambda t: [m.RegisterJob(t, "w0!later", job("later"))], "job w0!later already exists"),
        (lambda t: [m.RegisterJob(t, "x", job("x"))], "is not WORKLOAD!NAME"),
        (lambda t: [m.RegisterJob(t, "w9!x", job("x"))], "workload 'w9' does not exist"),
        (lambda t: [m.RegisterJob(t, "w0!x", job("y"))], "is not the job w0!x"),
        (
            lambda t: [m.RegisterJob(t, "w0!x", job("x", profile="?"))],
            "profile '?' of workload w0 is not known",
        ),
        (lambda t: [m.RegisterJob(t, "w0!x", job("x", walltime=0))], "data.job.walltime: must be above 0"),
        (lambda t: [profile(t, "d5", DELAYS["d5"])], "profile 'd5' of workload w0 already exists"),
        (lambda t: [profile(t, "p", {"type": "magic"})], "data.profile.type: unknown profile type 'magic'"),
        (lambda t: [profile(t, "p", {"type": "smpi", "trace": "x"})], "cannot be registered by a scheduler"),
        (lambda t: [profile(t, "p", {"type": "delay", "delay": 1, "ret": -1})], "data.profile.ret: must be"),
        (lambda t: [finished(t), m.RegisterJob(t, "w0!x", job("x"))], "declared finished"),
    ],
)
def test_what_cannot_be_registered_is_refused_with_its_rule(script: Script, reason: str) -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        play([job("a"), job("later", subtime=99)], DELAYS, speak(script, at=SECOND), **DYNAMIC)
    assert reason in str(caught.value)


def test_a_profile_goes_with_its_job_unless_profiles_are_reused() -> None:
    def script(now: int) -> list[m.Event]:
        return [m.RegisterJob(now, "w0!x", job("x")), finished(now)]

    jobs = [job("a"), job("b", subtime=30)]
    with pytest.raises(RemoteProtocolError, match="profile 'd10' went with the jobs that used it"):
        play(jobs, DELAYS, speak(script, at=20 * SECOND), **DYNAMIC)
    _, journal = play(jobs, DELAYS, speak(script, at=20 * SECOND), **DYNAMIC, profile_reuse=True)
    assert len(journal.spans()) == 3


def test_what_no_packed_message_can_hold_is_not_registered() -> None:
    huge = {"note": [10**30]}
    for decision, place in (
        (m.RegisterJob(0, "w0!x", job("x", **huge)), "job"),
        (m.RegisterProfile(0, "w0", "p", {**DELAYS["d5"], **huge}), "profile"),
    ):
        with pytest.raises(RemoteProtocolError, match=rf"data\.{place}\.note\[0\]: must fit in 64 bits"):
            play([job("a")], DELAYS, speak(lambda _, d=decision: [d]), **DYNAMIC)  # type: ignore[misc]


@pytest.mark.parametrize("name", ["d5", "pair"])
def test_the_parts_of_a_sequence_go_with_its_job_too(name: str) -> None:
    def script(now: int) -> list[m.Event]:
        return [m.RegisterJob(now, "w0!x", job("x", profile=name)), finished(now)]

    profiles = {
        **DELAYS,
        "pair": {"type": "composed", "seq": ["d5", "d0"]},
        "outer": {"type": "composed", "seq": ["pair"]},
    }
    jobs = [job("a", profile="outer"), job("b", subtime=30)]
    with pytest.raises(RemoteProtocolError, match=f"profile '{name}' went with the jobs that used it"):
        play(jobs, profiles, speak(script, at=20 * SECOND), **DYNAMIC)


def test_profiles_are_forwarded_on_submission_when_asked() -> None:
    ask = Greedy()
    play([job("a")], DELAYS, ask, forward_profiles=True)
    assert ask.events(m.JobSubmitted)[0].profile == {"type": "delay", "delay": 10}
    [begins] = ask.events(m.SimulationBegins)
    assert begins.config["profiles-forwarded-on-submission"] is True
    assert begins.profiles["w0"]["d5"] == {"type": "delay", "delay": 5}


def test_a_job_may_be_registered_with_the_profile_of_a_streamed_job() -> None:
    class Streamed(JobList):
        streamed = True

        def jobs(self) -> Iterator[Job]:
            for each in super().jobs():
                yield msgspec.structs.replace(
                    each, behaviour=parse_profile(each.profile, DELAYS[each.profile])
                )

    script = speak(lambda t: [m.RegisterJob(t, "w0!a#1", job("a#1")), finished(t)], at=20 * SECOND)
    journal = Journal()
    config = SimulatorConfig(dynamic_jobs=True, acknowledge_dynamic_jobs=True, profile_reuse=True)
    run(Simulator(hosts(4), [Streamed([job("a"), job("b", subtime=30)], {})], journal, config), script)
    assert journal.spans()["w0!a#1"] == (20, 30, "COMPLETED_SUCCESSFULLY")
