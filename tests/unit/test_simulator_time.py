"""How simulated time passes: late answers, quanta, latency, timers, external events, the end rule."""

from __future__ import annotations

from pathlib import Path

import pytest
from playback import DELAYS, SECOND, Greedy, JobList, Journal, hosts, job, play

from batpy.base.dates import nearest_tick
from batpy.base.errors import InputError, RemoteProtocolError
from batpy.protocol import messages as m
from batpy.protocol import records as r
from batpy.simulator.config import SimulatorConfig
from batpy.simulator.core import Simulator, run
from batpy.workloads.external_events import read_events


def test_a_scheduler_that_lets_time_pass_is_asked_again_no_earlier_than_its_now() -> None:
    ask = Greedy(delay=4 * SECOND)
    _, journal = play([job("a", subtime=1), job("b", subtime=2), job("c", subtime=3)], DELAYS, ask)
    dates = [message.now / SECOND for message in ask.heard]
    # Greeted at 0, busy until 4: a, b and c (1, 2, 3) wait in its mailbox and come in one message.
    assert dates[:2] == [0, 4]
    assert [event.timestamp / SECOND for event in ask.heard[1].events[:3]] == [1, 2, 3]
    assert journal.spans()["w0!a"][0] == 8


def test_a_decision_is_applied_at_its_own_date_and_holds_back_those_behind_it() -> None:
    def answer(request: m.Message) -> m.Message:
        if not isinstance(request.events[0], m.JobSubmitted):
            return m.Message(request.now, [])
        late = m.ExecuteJob(request.now + 3 * SECOND, "w0!a", ((0, 0),))
        early = m.ExecuteJob(request.now + SECOND, "w0!b", ((1, 1),))
        return m.Message(request.now + 3 * SECOND, [late, early])

    _, journal = play([job("a"), job("b")], DELAYS, answer)
    assert {record.job: record.time / SECOND for record in journal.of(r.Started)} == {"w0!a": 3, "w0!b": 3}


def test_other_activity_goes_on_between_two_decisions() -> None:
    def answer(request: m.Message) -> m.Message:
        now = request.now
        if any(isinstance(event, m.JobSubmitted) for event in request.events):
            first = m.ExecuteJob(now, "w0!a", ((0, 0),))
            second = m.ExecuteJob(now + 10 * SECOND, "w0!b", ((0, 0),))
            return m.Message(now + 10 * SECOND, [first, second])
        return m.Message(now, [])

    # The end of a at 10 began to be waited for before the wait of the second decision: the host is free.
    _, journal = play([job("a"), job("b")], DELAYS, answer)
    assert journal.spans()["w0!b"] == (10, 20, "COMPLETED_SUCCESSFULLY")


def test_a_reply_before_its_question_is_a_breach() -> None:
    def answer(request: m.Message) -> m.Message:
        return m.Message(request.now - (request.now > 0), [])

    with pytest.raises(RemoteProtocolError, match=r"now \(0.999999 s\) is before the request's"):
        play([job("a", subtime=1)], DELAYS, answer)


def test_a_decision_after_the_replys_now_is_a_breach() -> None:
    def answer(request: m.Message) -> m.Message:
        return m.Message(request.now, [m.RejectJob(request.now + 1, "w0!a")])

    with pytest.raises(RemoteProtocolError, match=r"events\[0\].*after the reply's now"):
        play([job("a")], DELAYS, answer)


def test_with_a_quantum_the_scheduler_is_asked_only_at_its_multiples_and_quiet_ones_are_skipped() -> None:
    ask = Greedy()
    _, journal = play([job("a", subtime=1), job("b", subtime=61)], DELAYS, ask, time_step=15 * SECOND)
    assert [message.now / SECOND for message in ask.heard] == [0, 15, 30, 75, 90, 90]
    assert journal.spans() == {
        "w0!a": (15, 25, "COMPLETED_SUCCESSFULLY"),
        "w0!b": (75, 85, "COMPLETED_SUCCESSFULLY"),
    }
    assert ask.heard[2].events[0].timestamp == 25 * SECOND


def test_latency_is_added_once_each_way() -> None:
    ask = Greedy()
    _, journal = play([job("a")], DELAYS, ask, latency=15)
    assert ask.heard[1].now == 15
    assert journal.of(r.Started)[0].time == 30


def test_a_call_is_answered_at_its_date_and_keeps_the_simulation_alive() -> None:
    ask = Greedy({0: lambda now: [m.CallMeLater(now, 50 * SECOND), m.CallMeLater(now, 50 * SECOND)]})
    simulator, _ = play([job("a")], DELAYS, ask)
    assert [event.timestamp for event in ask.events(m.RequestedCall)] == [50 * SECOND] * 2
    assert simulator.now == 50 * SECOND


def test_a_call_for_the_present_is_refused() -> None:
    ask = Greedy({0: lambda now: [m.CallMeLater(now, now)]})
    with pytest.raises(RemoteProtocolError, match=r"events\[0\] CALL_ME_LATER at 0 s: the wanted date"):
        play([job("a")], DELAYS, ask)


def test_the_last_request_is_alone_and_takes_no_decision() -> None:
    ask = Greedy()
    play([job("a")], DELAYS, ask)
    assert [type(event) for event in ask.heard[-1].events] == [m.SimulationEnds]

    def talks_at_the_end(request: m.Message) -> m.Message:
        if isinstance(request.events[0], m.SimulationEnds):
            return m.Message(request.now, [m.RejectJob(request.now, "w0!a")])
        return ask(request)

    with pytest.raises(RemoteProtocolError, match="SIMULATION_ENDS must hold no decision"):
        play([], {}, talks_at_the_end)


def test_a_workload_without_jobs_says_at_once_that_nothing_will_come() -> None:
    ask = Greedy()
    play([], DELAYS, ask)
    assert [event.type for event in ask.events(m.Notify)] == ["no_more_static_job_to_submit"]


def write_events(folder: Path, *lines: str) -> list[object]:
    path = folder / "events.txt"
    path.write_text("\n".join(lines) + "\n")
    return [read_events(path, source="events.txt", ticks_per_second=SECOND, generic=True)]


def test_machines_leave_and_return_while_their_jobs_run_on(tmp_path: Path) -> None:
    events = write_events(
        tmp_path,
        '{"type": "machine_unavailable", "resources": "0", "timestamp": 2}',
        "",
        '{"type": "machine_available", "resources": "0", "timestamp": 30}',
        '{"type": "party", "timestamp": 30, "cake": true}',
    )
    ask = Greedy()
    _, journal = play([job("a"), job("b", subtime=3, res=4)], DELAYS, ask, events=events)
    assert journal.spans()["w0!a"] == (0, 10, "COMPLETED_SUCCESSFULLY")
    said = {(event.type, event.timestamp / SECOND) for event in ask.events(m.Notify)}
    assert said == {
        ("no_more_static_job_to_submit", 3),
        ("event_machine_unavailable", 2),
        ("event_machine_available", 30),
        ("party", 30),
        ("no_more_external_event_to_occur", 30),
    }
    [party] = [event for event in ask.events(m.Notify) if event.type == "party"]
    assert party.content == {"type": "party", "timestamp": 30, "cake": True}


def test_a_start_on_a_machine_that_left_is_refused(tmp_path: Path) -> None:
    events = write_events(tmp_path, '{"type": "machine_unavailable", "resources": "1-2", "timestamp": 0}')

    def blind(request: m.Message) -> m.Message:
        starts = [
            m.ExecuteJob(request.now, event.job_id, ((0, 3),))
            for event in request.events
            if isinstance(event, m.JobSubmitted)
        ]
        return m.Message(request.now, list(starts))

    with pytest.raises(RemoteProtocolError, match="hosts 1-2 are unavailable"):
        play([job("a", res=4)], DELAYS, blind, events=events)


def test_a_machine_that_leaves_twice_is_bad_input_with_its_line(tmp_path: Path) -> None:
    line = '{"type": "machine_unavailable", "resources": "1", "timestamp": 1}'
    events = write_events(tmp_path, line, line)
    with pytest.raises(InputError, match=r"^events.txt:2: resources: hosts 1 are already unavailable"):
        play([job("a")], DELAYS, events=events)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "not a JSON object on one line"),
        ("[]", "not a JSON object"),
        ('{"type": "machine_available", "timestamp": -1}', "timestamp: must be a number of at least 0"),
        ('{"type": "machine_available", "timestamp": NaN, "resources": "0"}', "timestamp: must be a number"),
        ('{"type": "machine_available", "timestamp": 1}', "resources: must be a set of host ids"),
        ('{"type": "machine_available", "timestamp": 1, "resources": "3-1"}', "resources: '3-1' ends before"),
        ('{"type": "machine_available", "timestamp": 1, "resources": "1-"}', "resources: '1-' is not"),
        ('{"type": "party", "timestamp": 1}', "type: 'party' is neither"),
        ('{"timestamp": 1}', "type: must be a text"),
    ],
)
def test_malformed_events_name_file_line_and_field(tmp_path: Path, line: str, complaint: str) -> None:
    path = tmp_path / "e.txt"
    path.write_text("\n" + line)
    with pytest.raises(InputError) as caught:
        read_events(path, source="e.txt", ticks_per_second=SECOND, generic=False)
    assert str(caught.value).startswith(f"e.txt:2: {complaint}")


def test_jobs_that_follow_others_are_submitted_after_their_end_and_think_time() -> None:
    class Chained(JobList):
        preceding = {"b": ("a", 7 * SECOND), "c": ("b", 0)}  # noqa: RUF012

    journal, ask = Journal(), Greedy()
    workload = Chained([job("a"), job("b", subtime=1), job("c", subtime=2), job("d", subtime=3)], DELAYS)
    run(Simulator(hosts(4), [workload], journal, SimulatorConfig()), ask)
    dates = {
        record.job: (record.time / SECOND, record.subtime / SECOND) for record in journal.of(r.Submitted)
    }
    assert dates == {"w0!a": (0, 0), "w0!d": (3, 3), "w0!b": (17, 17), "w0!c": (27, 27)}
    assert ask.events(m.JobSubmitted)[-1].job["subtime"] == 27
    assert ask.events(m.Notify)[0].timestamp == 27 * SECOND


def test_a_delay_of_more_ticks_than_floats_can_count_ends_at_its_very_tick() -> None:
    profiles = {"long": {"type": "delay", "delay": 10_000_000_001}}  # 1e16 + 1e6 ticks
    journal = Journal()
    config = SimulatorConfig(ticks_per_second=10**9)
    run(Simulator(hosts(1), [JobList([job("a", profile="long")], profiles)], journal, config), Greedy())
    assert journal.of(r.Ended)[0].time == 10_000_000_001 * 10**9
    profiles = {"long": {"type": "delay", "delay": 123_456_789.123}}
    journal = Journal()
    run(Simulator(hosts(1), [JobList([job("a", profile="long")], profiles)], journal, config), Greedy())
    assert journal.of(r.Ended)[0].time == nearest_tick(123_456_789.123, 10**9)


def test_an_interrupted_run_has_its_closing_marker() -> None:
    journal = Journal()
    simulator = Simulator(hosts(1), [JobList([job("a")], DELAYS)], journal)

    def interrupted(request: m.Message) -> m.Message:
        if request.now or len(journal.records) > 1:
            raise KeyboardInterrupt
        return m.Message(request.now, [])

    with pytest.raises(KeyboardInterrupt):
        run(simulator, interrupted)
    assert journal.records[-1].outcome == "interrupted"


def test_latency_makes_no_legal_call_illegal() -> None:
    """Said at 3 s for 5 s, it arrives at 18 s: the date is over, and the answer comes at once."""
    ask = Greedy({0: lambda now: [m.CallMeLater(now, now + 5)]})
    play([job("a")], DELAYS, ask, latency=15)
    [called] = ask.events(m.RequestedCall)
    assert called.timestamp == 15 + 1
