"""What the simulator refuses, and how: strict runs stop, lenient ones go on and tell who asked to be told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playback import DELAYS, SECOND, Greedy, job, play

from batpy.base.errors import RemoteProtocolError
from batpy.protocol import messages as m
from batpy.protocol import records as r

JOBS = [job("run"), job("wait", res=4)]


def at_one(make: Callable[[int], list[m.Event]]) -> Greedy:
    """``run`` occupies host 0 from 0 to 10 and ``wait`` waits; at 1 s the script speaks."""
    return Greedy({0: lambda now: [m.CallMeLater(now, SECOND)], SECOND: make})


BREACHES: list[tuple[str, Callable[[int], m.Event], str]] = [
    ("unknown job", lambda t: m.ExecuteJob(t, "w0!x", ((1, 1),)), "job w0!x was not submitted"),
    ("running job", lambda t: m.ExecuteJob(t, "w0!run", ((1, 1),)), "job w0!run is already running"),
    ("empty alloc", lambda t: m.ExecuteJob(t, "w0!wait", ()), "alloc is empty"),
    ("no such host", lambda t: m.ExecuteJob(t, "w0!wait", ((1, 4),)), "host 4 does not exist"),
    ("occupied", lambda t: m.ExecuteJob(t, "w0!wait", ((0, 3),)), "hosts 0 already run a job"),
    ("size", lambda t: m.ExecuteJob(t, "w0!wait", ((1, 2),)), "asked for 4 hosts, 2 hosts are given"),
    (
        "mapping keys",
        lambda t: m.ExecuteJob(t, "w0!wait", ((1, 2),), {"0": 0, "2": 1}),
        "mapping must have exactly the keys 0 to 1; 1 is missing",
    ),
    (
        "mapping places",
        lambda t: m.ExecuteJob(t, "w0!wait", ((1, 2),), {"0": 0, "1": 1, "2": 2, "3": 0}),
        "mapping of executor 2 is 2; it must be a position from 0 to 1",
    ),
    (
        "mapping size",
        lambda t: m.ExecuteJob(t, "w0!wait", ((1, 2),), {"0": 0, "1": 1, "2": 1}),
        "asked for 4 hosts, 3 executors are mapped",
    ),
    ("reject running", lambda t: m.RejectJob(t, "w0!run"), "job w0!run is already running"),
    ("kill nothing", lambda t: m.KillJob(t, []), "job_ids is empty"),
    ("kill waiting", lambda t: m.KillJob(t, ["w0!wait"]), "job w0!wait is not running"),
    ("kill unknown", lambda t: m.KillJob(t, ["w0!run", "w0!x"]), "job w0!x was not submitted"),
    ("call in the past", lambda t: m.CallMeLater(t, t - 1), "is not after the present one"),
    ("metadata quote", lambda t: m.SetJobMetadata(t, "w0!run", 'a"b'), "must not contain a double quote"),
    ("metadata job", lambda t: m.SetJobMetadata(t, "w0!x", "a"), "job w0!x was not submitted"),
    ("relabel running", lambda t: m.ChangeJobState(t, "w0!run", "COMPLETED_FAILED"), "runs on hosts"),
    (
        "relabel jump",
        lambda t: m.ChangeJobState(t, "w0!wait", "COMPLETED_FAILED"),
        "cannot go from SUBMITTED",
    ),
    ("register", lambda t: m.RegisterProfile(t, "w0", "p", DELAYS["d5"]), "dynamic registration is off"),
    ("register job", lambda t: m.RegisterJob(t, "w0!n", job("n")), "dynamic registration is off"),
    ("message to nobody", lambda t: m.ToJobMsg(t, "w0!x", "hi"), "job w0!x was not submitted"),
    ("unknown notice", lambda t: m.Notify(t, "hello"), "type 'hello' is not known"),
    ("energy", lambda t: m.Query(t, {"consumed_energy": {}}), "needs energy to be simulated"),
    ("query", lambda t: m.Query(t, {"weather": {}}), "requests must hold exactly consumed_energy"),
    ("pstate", lambda t: m.SetResourceState(t, ((0, 0),), 1), "needs energy to be simulated"),
    ("late hello", lambda t: m.Hello(t, "me", "1"), "HELLO must be the first decision"),
    ("sharing", lambda t: m.ResourcesRemoved(t, ((0, 0),)), "belongs between a broker and its tenants"),
]
NAMES = [name for name, _, _ in BREACHES]
CASES = [(make, reason) for _, make, reason in BREACHES]


@pytest.mark.parametrize(("make", "reason"), CASES, ids=NAMES)
def test_strict_mode_stops_naming_the_decision_and_the_rule(
    make: Callable[[int], m.Event], reason: str
) -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        play(JOBS, DELAYS, at_one(lambda now: [make(now)]))
    text = str(caught.value)
    assert text.startswith("events[0] ")
    assert reason in text
    assert "\n" not in text


@pytest.mark.parametrize(("make", "reason"), CASES, ids=NAMES)
def test_lenient_mode_changes_nothing_and_goes_on(make: Callable[[int], m.Event], reason: str) -> None:
    ask = at_one(lambda now: [make(now)])
    _, journal = play(JOBS, DELAYS, ask, strict=False)
    [refused] = journal.of(r.Refused)
    assert reason in refused.reason
    assert journal.spans() == {
        "w0!run": (0, 10, "COMPLETED_SUCCESSFULLY"),
        "w0!wait": (10, 20, "COMPLETED_SUCCESSFULLY"),
    }
    assert not ask.events(m.DecisionRefused), "a peer that did not ask for refusals does not get them"


def test_a_peer_whose_hello_wants_refusals_is_told_of_them() -> None:
    class Polite(Greedy):
        def __call__(self, request: m.Message) -> m.Message:
            reply = super().__call__(request)
            if len(self.heard) == 1:
                reply.events.insert(0, m.Hello(0, "polite", "1", ("refusals",)))
            return reply

    ask = Polite(at_one(lambda now: [m.RejectJob(now, "w0!run")]).script)
    play(JOBS, DELAYS, ask, strict=False)
    [told] = ask.events(m.DecisionRefused)
    assert (told.decision, told.job_id) == ("REJECT_JOB", "w0!run")


def test_two_starts_in_one_reply_are_checked_one_after_the_other() -> None:
    def both(request: m.Message) -> m.Message:
        starts: list[m.Event] = [
            m.ExecuteJob(request.now, event.job_id, ((0, 1),))
            for event in request.events
            if isinstance(event, m.JobSubmitted)
        ]
        return m.Message(request.now, starts)

    with pytest.raises(
        RemoteProtocolError, match=r"events\[1\] EXECUTE_JOB w0!b at 0 s: hosts 0-1 already run a job"
    ):
        play([job("a", res=2), job("b", res=2)], DELAYS, both)


def test_compute_sharing_lets_two_jobs_run_on_one_host() -> None:
    def stack(request: m.Message) -> m.Message:
        starts: list[m.Event] = [
            m.ExecuteJob(request.now, event.job_id, ((0, 0),))
            for event in request.events
            if isinstance(event, m.JobSubmitted)
        ]
        return m.Message(request.now, starts)

    _, journal = play([job("a"), job("b", profile="d5")], DELAYS, stack, compute_sharing=True)
    assert [record.time for record in journal.of(r.Started)] == [0, 0]
    with pytest.raises(RemoteProtocolError, match="not shared"):
        play([job("a"), job("b")], DELAYS, stack)


def test_a_mapping_with_several_executors_on_one_host_is_a_job_of_that_many_executors() -> None:
    def mapped(request: m.Message) -> m.Message:
        starts: list[m.Event] = [
            m.ExecuteJob(request.now, event.job_id, ((2, 2),), {"0": 0, "1": 0})
            for event in request.events
            if isinstance(event, m.JobSubmitted)
        ]
        return m.Message(request.now, starts)

    _, journal = play([job("a", res=2)], DELAYS, mapped)
    assert journal.of(r.Started)[0].alloc == ((2, 2),)


def test_profiles_this_version_cannot_run_are_refused_by_name_each_time() -> None:
    profiles: dict[str, Any] = {"p": {"type": "smpi", "trace": "x"}}

    def insist(request: m.Message) -> m.Message:
        decisions: list[m.Event] = []
        if isinstance(request.events[0], m.JobSubmitted):
            start = m.ExecuteJob(request.now, "w0!a", ((0, 0),))
            decisions = [start, start, m.RejectJob(request.now, "w0!a")]
        return m.Message(request.now, decisions)

    _, journal = play([job("a", profile="p")], profiles, insist, strict=False)
    reasons = [record.reason for record in journal.of(r.Refused)]
    assert len(reasons) == 2
    assert all("is of type 'smpi', which this version cannot run" in why for why in reasons)
