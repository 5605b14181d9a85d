"""Jobs that talk with the scheduler: ``send`` and ``recv`` profiles."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playback import DELAYS, SECOND, Greedy, job, play

from batpy.base.errors import InputError, RemoteProtocolError
from batpy.protocol import messages as m
from batpy.workloads.batsim_json import parse_batsim_json

PROFILES: dict[str, Any] = {
    **DELAYS,
    "say": {"type": "send", "msg": {"step": 1}, "sleeptime": 2},
    "say and go": {"type": "send", "msg": {"step": 2}},
    "hear": {"type": "recv", "regex": "go [0-9]+", "success": "d10", "failure": "d5", "polltime": 4},
    "ask": {"type": "recv", "success": "d10", "failure": "d5", "timeout": "fail"},
    "listen": {"type": "recv", "polltime": 4, "ret": 3},
    "talk": {"type": "composed", "seq": ["say", "hear", "say"]},
    "three": {"type": "composed", "seq": ["read"], "repeat": 3},
    "read": {"type": "recv", "regex": "long", "success": "d10", "failure": "d0", "timeout": "d5"},
}


def saying(*texts: tuple[float, str]) -> Greedy:
    """A scheduler that sends these texts to job a at these dates, in seconds."""

    def at(text: str) -> Any:
        return lambda now: [m.ToJobMsg(now, "w0!a", text)]

    script: dict[int, Any] = {round(date * SECOND): at(text) for date, text in texts}
    dates = list(script)

    class Saying(Greedy):
        def _starts(self, now: int) -> list[m.Event]:
            calls: list[m.Event] = [m.CallMeLater(now, date) for date in dates if date > now]
            dates.clear()
            return super()._starts(now) + calls

    return Saying(script)


def test_send_tells_the_scheduler_at_its_start_and_then_sleeps() -> None:
    ask = Greedy()
    _, journal = play([job("a", profile="say", subtime=1)], PROFILES, ask)
    assert ask.events(m.FromJobMsg) == [m.FromJobMsg(SECOND, "w0!a", {"step": 1})]
    assert journal.spans()["w0!a"] == (1, 3, "COMPLETED_SUCCESSFULLY")


def test_send_sleeps_a_ten_millionth_of_a_second_unless_told_otherwise() -> None:
    profiles = {**PROFILES, "many": {"type": "composed", "seq": ["say and go"], "repeat": 100}}
    ask = Greedy()
    _, journal = play([job("a", profile="many")], profiles, ask)
    assert len(ask.events(m.FromJobMsg)) == 100
    assert journal.spans()["w0!a"][1] == 1e-5


@pytest.mark.parametrize(
    ("texts", "end"),
    [
        # Polls at 4, 8, 12, ... seconds; a text that comes at a poll is heard by it.
        ([(5, "go 7")], 8 + 10),
        ([(8, "go 7")], 8 + 10),
        ([(8.000001, "go 7")], 12 + 10),
        # The whole text must match.
        ([(5, "go 7!")], 8 + 5),
        ([(5, "let us go 7")], 8 + 5),
        # The oldest counts.
        ([(5, "no"), (6, "go 7")], 8 + 5),
    ],
)
def test_recv_polls_until_a_text_is_there_and_goes_on_as_it_says(
    texts: list[tuple[float, str]], end: float
) -> None:
    jobs = [job("a", profile="hear", res=1)]
    _, journal = play(jobs, PROFILES, saying(*texts))
    assert journal.spans()["w0!a"] == (0, end, "COMPLETED_SUCCESSFULLY")


def test_a_text_that_came_before_the_job_looks_is_heard_at_once() -> None:
    ask = Greedy({SECOND: lambda now: [m.ToJobMsg(now, "w0!a", "go 7")]})
    _, journal = play([job("a", profile="hear", subtime=1)], PROFILES, ask)
    assert journal.spans()["w0!a"] == (1, 11, "COMPLETED_SUCCESSFULLY")


def test_without_a_text_the_timeout_profile_is_run_at_once_and_its_failure_is_the_jobs() -> None:
    ask = Greedy()
    _, journal = play([job("a", profile="ask")], PROFILES, ask)
    assert journal.spans()["w0!a"] == (0, 3, "COMPLETED_FAILED")
    assert ask.events(m.JobCompleted)[0].return_code == 7


def test_a_recv_without_a_profile_for_what_came_is_done() -> None:
    ask = saying((1, "anything"))
    _, journal = play([job("a", profile="listen")], PROFILES, ask)
    assert journal.spans()["w0!a"] == (0, 4, "COMPLETED_FAILED")
    assert ask.events(m.JobCompleted)[0].return_code == 3


def test_parts_of_a_sequence_talk_in_turn() -> None:
    ask = saying((3, "go 1"))
    _, journal = play([job("a", profile="talk")], PROFILES, ask)
    # 2 s after the first message, the poll 4 s later, 10 s of success, 2 s after the second message.
    assert [event.timestamp for event in ask.events(m.FromJobMsg)] == [0, 16 * SECOND]
    assert journal.spans()["w0!a"] == (0, 18, "COMPLETED_SUCCESSFULLY")


def test_repetitions_that_take_no_time_but_read_texts_are_not_skipped() -> None:
    def both(now: int) -> list[m.Event]:
        return [m.ToJobMsg(now, "w0!a", "short"), m.ToJobMsg(now, "w0!a", "long")]

    _, journal = play([job("a", profile="three", subtime=1)], PROFILES, Greedy({SECOND: both}))
    # Nothing for the first text, 10 s for the second, and the time-out's 5 s.
    assert journal.spans()["w0!a"] == (1, 16, "COMPLETED_SUCCESSFULLY")


@pytest.mark.parametrize(("walltime", "end"), [(6, 6), (8, 8), (9, 9)])
def test_a_job_that_waits_is_stopped_by_its_walltime(walltime: float, end: float) -> None:
    texts = [(7.5, "go 1")] if walltime == 8 else []
    _, journal = play([job("a", profile="hear", walltime=walltime)], PROFILES, saying(*texts))
    assert journal.spans()["w0!a"] == (0, end, "COMPLETED_WALLTIME_REACHED")


@pytest.mark.parametrize(
    ("at", "tree"),
    [
        (1, {"profile_name": "talk", "current_task_index": 0, "current_task": "say"}),
        (3, {"profile_name": "talk", "current_task_index": 1, "current_task": "hear"}),
    ],
)
def test_progress_of_a_job_that_talks_is_not_reported(at: float, tree: dict[str, Any]) -> None:
    wake = round(at * SECOND)
    ask = Greedy({0: lambda now: [m.CallMeLater(now, wake)], wake: lambda now: [m.KillJob(now, ["w0!a"])]})
    play([job("a", profile="talk")], PROFILES, ask)
    leaf = {"profile_name": tree["current_task"], "current_task_index": -1}
    assert ask.events(m.JobKilled)[0].job_progress == {"w0!a": {**tree, "current_task": leaf}}
    assert ask.events(m.JobCompleted)[0].return_code == -1


def test_progress_of_a_recv_that_goes_on_with_a_profile_is_that_of_the_profile() -> None:
    wake = 9 * SECOND
    ask = saying((1, "go 1"), (9, ""))
    ask.script[wake] = lambda now: [m.KillJob(now, ["w0!a"])]
    play([job("a", profile="hear")], PROFILES, ask)
    assert ask.events(m.JobKilled)[0].job_progress == {
        "w0!a": {
            "profile_name": "hear",
            "current_task_index": 0,
            "current_task": {"profile_name": "d10", "progress": 0.5},
        }
    }


def test_a_job_that_waits_for_ever_is_reported_as_a_deadlock() -> None:
    with pytest.raises(RemoteProtocolError, match=r"deadlock at 0 s.*w0!a.*does not send the text"):
        play([job("a", profile="hear")], PROFILES)


@pytest.mark.parametrize("field", ["success", "failure", "timeout"])
def test_a_recv_that_names_an_unknown_profile_is_refused_when_the_workload_is_read(field: str) -> None:
    tree = {
        "nb_res": 1,
        "jobs": [{"id": 1, "subtime": 0, "res": 1, "profile": "r"}],
        "profiles": {"r": {"type": "recv", field: "nothing"}},
    }
    with pytest.raises(InputError, match=rf"^w\.json: profiles\.r\.{field}: 'nothing' is not among the"):
        parse_batsim_json(json.dumps(tree).encode(), "w0", source="w.json")
