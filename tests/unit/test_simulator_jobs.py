"""Jobs in the simulator: how they run, end, are killed, rejected, and what is said about them."""

from __future__ import annotations

import pytest
from playback import DELAYS, SECOND, Greedy, job, play

from batpy.base.errors import RemoteProtocolError
from batpy.protocol import messages as m
from batpy.protocol import records as r


def test_a_delay_job_lasts_its_delay_and_the_hosts_are_free_again_at_that_instant() -> None:
    _, journal = play([job("a", res=4), job("b", res=4)], DELAYS)
    assert journal.spans() == {
        "w0!a": (0, 10, "COMPLETED_SUCCESSFULLY"),
        "w0!b": (10, 20, "COMPLETED_SUCCESSFULLY"),
    }


def test_all_events_of_an_instant_travel_together_in_the_order_their_waits_began() -> None:
    ask = Greedy()
    play([job("a", res=2), job("b", res=2), job("c", subtime=10), job("d", subtime=10)], DELAYS, ask)
    [message] = [message for message in ask.heard if message.now == 10 * SECOND]
    # The wait for the submissions at 10 began at 0, before the two jobs were started.
    said = [getattr(event, "job_id", getattr(event, "type", None)) for event in message.events]
    assert said == ["w0!c", "w0!d", "w0!a", "w0!b", "no_more_static_job_to_submit"]


def test_the_notice_that_no_job_follows_comes_last_in_the_message_of_the_last_submission() -> None:
    ask = Greedy()
    play([job("a"), job("b", subtime=3)], DELAYS, ask)
    [message] = [message for message in ask.heard if message.now == 3 * SECOND]
    assert [type(event) for event in message.events] == [m.JobSubmitted, m.Notify]


def test_a_return_code_above_zero_fails_the_job_after_its_full_run() -> None:
    ask = Greedy()
    _, journal = play([job("a", profile="fail")], DELAYS, ask)
    assert journal.spans()["w0!a"] == (0, 3, "COMPLETED_FAILED")
    assert ask.events(m.JobCompleted)[0].return_code == 7


@pytest.mark.parametrize(
    ("walltime", "end", "state"),
    [
        (10, 10, "COMPLETED_WALLTIME_REACHED"),
        (9.5, 9.5, "COMPLETED_WALLTIME_REACHED"),
        (10.000001, 10, "COMPLETED_SUCCESSFULLY"),
        (-1, 10, "COMPLETED_SUCCESSFULLY"),
    ],
)
def test_a_delay_must_be_strictly_shorter_than_its_walltime(walltime: float, end: float, state: str) -> None:
    _, journal = play([job("a", walltime=walltime)], DELAYS)
    assert journal.spans()["w0!a"] == (0, end, state)


def test_an_exact_end_less_than_a_tick_before_the_walltime_is_in_time() -> None:
    profiles = {"d": {"type": "delay", "delay": 9.9999995}}
    _, journal = play([job("a", profile="d", walltime=10)], profiles)
    assert journal.spans()["w0!a"] == (0, 10, "COMPLETED_SUCCESSFULLY")


def test_a_zero_length_job_starts_and_ends_once_at_the_same_instant() -> None:
    ask = Greedy()
    _, journal = play([job("a", profile="d0", walltime=10), job("b", profile="d0")], DELAYS, ask)
    assert journal.spans()["w0!a"] == (0, 0, "COMPLETED_SUCCESSFULLY")
    assert [len(journal.of(kind)) for kind in (r.Submitted, r.Started, r.Ended)] == [2, 2, 2]


def test_composed_parts_follow_without_gap_and_repeat() -> None:
    profiles = {**DELAYS, "seq": {"type": "composed", "repeat": 3, "seq": ["d5", "d10", "d0"]}}
    _, journal = play([job("a", profile="seq")], profiles)
    assert journal.spans()["w0!a"] == (0, 45, "COMPLETED_SUCCESSFULLY")


def test_a_composed_profile_stops_at_the_first_part_that_fails() -> None:
    profiles = {**DELAYS, "seq": {"type": "composed", "repeat": 3, "seq": ["d5", "fail", "d10"], "ret": 9}}
    ask = Greedy()
    _, journal = play([job("a", profile="seq")], profiles, ask)
    assert journal.spans()["w0!a"] == (0, 8, "COMPLETED_FAILED")
    assert ask.events(m.JobCompleted)[0].return_code == 7


def test_a_composed_profile_that_succeeds_has_its_own_return_code() -> None:
    profiles = {
        **DELAYS,
        "inner": {"type": "composed", "seq": ["d5"], "ret": 4},
        "outer": {"type": "composed", "seq": ["inner", "d5"]},
        "own": {"type": "composed", "seq": ["d5", "d5"], "ret": 2},
    }
    ask = Greedy()
    _, journal = play([job("a", profile="outer"), job("b", profile="own")], profiles, ask)
    assert {e.job_id: e.return_code for e in ask.events(m.JobCompleted)} == {"w0!a": 4, "w0!b": 2}
    assert journal.spans()["w0!a"][1] == 5


def test_the_walltime_covers_the_whole_sequence() -> None:
    profiles = {**DELAYS, "seq": {"type": "composed", "seq": ["d5", "d10"]}}
    _, journal = play([job("a", profile="seq", walltime=12)], profiles)
    assert journal.spans()["w0!a"] == (0, 12, "COMPLETED_WALLTIME_REACHED")


def test_rounding_of_parts_does_not_add_up() -> None:
    profiles = {
        "third": {"type": "delay", "delay": 1e-6 / 3},
        "seq": {"type": "composed", "repeat": 3000, "seq": ["third"]},
    }
    _, journal = play([job("a", profile="seq")], profiles)
    assert journal.of(r.Ended)[0].time == 1000


def kill(*names: str) -> m.Event:
    return m.KillJob(0, [f"w0!{name}" for name in names])


def test_a_kill_ends_the_jobs_then_acknowledges_with_their_progress() -> None:
    ask = Greedy({0: lambda now: [m.CallMeLater(now, 4 * SECOND)], 4 * SECOND: lambda now: [kill("a", "b")]})
    _, journal = play([job("a"), job("b", profile="d5")], DELAYS, ask)
    [message] = [message for message in ask.heard if message.now == 4 * SECOND and len(message.events) == 3]
    assert [type(event) for event in message.events] == [m.JobCompleted, m.JobCompleted, m.JobKilled]
    ack = message.events[2]
    assert isinstance(ack, m.JobKilled)
    assert ack.job_ids == ["w0!a", "w0!b"]
    assert ack.job_progress == {
        "w0!a": {"profile_name": "d10", "progress": 0.4},
        "w0!b": {"profile_name": "d5", "progress": 0.8},
    }
    assert journal.spans()["w0!a"] == (0, 4, "COMPLETED_KILLED")
    assert ask.events(m.JobCompleted)[0].return_code == -1


def test_progress_of_a_composed_job_is_a_tree_over_the_unrolled_sequence() -> None:
    profiles = {
        **DELAYS,
        "seq": {"type": "composed", "repeat": 2, "seq": ["d5", "d10"]},
        "nested": {"type": "composed", "seq": ["d10", "seq"]},
    }
    wake = 27 * SECOND  # d10, d5, d10, then 2 s into the second d5
    ask = Greedy({0: lambda now: [m.CallMeLater(now, wake)], wake: lambda now: [kill("a")]})
    play([job("a", profile="nested")], profiles, ask)
    assert ask.events(m.JobKilled)[0].job_progress == {
        "w0!a": {
            "profile_name": "nested",
            "current_task_index": 1,
            "current_task": {
                "profile_name": "seq",
                "current_task_index": 2,
                "current_task": {"profile_name": "d5", "progress": 0.4},
            },
        }
    }


def test_a_job_that_ends_at_the_instant_of_its_kill_has_ended_by_itself() -> None:
    # The kill is stamped for the very end of the job, in a reply given at its start.
    ask = Greedy(
        {0: lambda now: [m.CallMeLater(now, 5 * SECOND)], 5 * SECOND: lambda now: [late(now)]}, delay=0
    )

    def late(now: int) -> m.Event:
        return kill("a")

    _, journal = play([job("a", profile="d5")], DELAYS, ask)
    assert journal.spans()["w0!a"] == (0, 5, "COMPLETED_SUCCESSFULLY")
    [ack] = ask.events(m.JobKilled)
    assert (ack.job_ids, ack.job_progress) == (["w0!a"], {})


def test_a_second_kill_of_the_same_job_is_not_acknowledged() -> None:
    ask = Greedy(
        {0: lambda now: [m.CallMeLater(now, SECOND)], SECOND: lambda now: [kill("a", "a"), kill("a")]}
    )
    play([job("a")], DELAYS, ask)
    assert [ack.job_ids for ack in ask.events(m.JobKilled)] == [["w0!a"]]


def test_split_kill_ack_names_only_jobs_that_were_running() -> None:
    script = {0: lambda now: [m.CallMeLater(now, 7 * SECOND)], 7 * SECOND: lambda now: [kill("a", "b")]}
    ask = Greedy(script)
    play([job("a"), job("b", profile="d5")], DELAYS, ask, split_kill_ack=True)
    assert [ack.job_ids for ack in ask.events(m.JobKilled)] == [["w0!a"]]
    ask = Greedy(script)
    play([job("a"), job("b", profile="d5")], DELAYS, ask)
    assert [ack.job_ids for ack in ask.events(m.JobKilled)] == [["w0!a", "w0!b"]]


def test_rejecting_every_job_ends_the_run() -> None:
    _, journal = play([job(i, res=9) for i in range(3)], DELAYS)
    assert len(journal.of(r.Rejected)) == 3
    assert journal.records[-1].outcome == "done"


def test_metadata_and_change_of_state_are_recorded() -> None:
    def script(now: int) -> list[m.Event]:
        return [
            m.SetJobMetadata(now, "w0!a", "hello"),
            m.ChangeJobState(now, "w0!b", "RUNNING"),
            m.ChangeJobState(now, "w0!b", "COMPLETED_FAILED"),
        ]

    class NotB(Greedy):
        def _fold(self, event: m.Event) -> None:
            if getattr(event, "job_id", "") != "w0!b":
                super()._fold(event)

    ask = NotB({0: lambda now: [m.CallMeLater(now, SECOND)], SECOND: script})
    _, journal = play([job("a"), job("b")], DELAYS, ask)
    assert [(x.job, x.metadata) for x in journal.of(r.Annotated)] == [("w0!a", "hello")]
    assert [x.state for x in journal.of(r.Relabelled)] == ["RUNNING", "COMPLETED_FAILED"]
    assert "w0!b" not in [event.job_id for event in ask.events(m.JobCompleted)]


def test_a_scheduler_that_does_nothing_is_reported_as_a_deadlock_with_the_jobs_that_wait() -> None:
    def silent(request: m.Message) -> m.Message:
        return m.Message(request.now, [])

    with pytest.raises(RemoteProtocolError, match=r"deadlock.*2 jobs are not over \(w0!a, w0!b\)"):
        play([job("a"), job("b")], DELAYS, silent)
