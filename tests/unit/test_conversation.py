"""The table of legal moves: who may say what when, and whose fault a breach is."""

from __future__ import annotations

import random

import pytest

from batpy.base.errors import LocalProtocolError, RemoteProtocolError
from batpy.protocol import messages as m
from batpy.protocol.conversation import MOVES, Conversation, Speaker, Stage, as_dot, figure

SIMULATOR, BROKER, SCHEDULER = Speaker.SIMULATOR, Speaker.BROKER, Speaker.SCHEDULER


def begins(*, offer: bool = False) -> m.Message:
    batpy = m.Offer("1", 10**6, ("sharing",)) if offer else None
    return m.Message(0, [m.SimulationBegins(0, 1, 1, 0, False, True, {}, [], [], {}, {}, batpy)])


def events(now: int) -> m.Message:
    return m.Message(now, [m.RequestedCall(now)])


def decisions(now: int, at: int | None = None) -> m.Message:
    return m.Message(now, [m.RejectJob(now if at is None else at, "w!1")])


def nothing(now: int) -> m.Message:
    return m.Message(now, [])


def ends(now: int) -> m.Message:
    return m.Message(now, [m.SimulationEnds(now)])


def ready(we: Speaker = SIMULATOR, they: Speaker = SCHEDULER) -> Conversation:
    """A conversation whose first exchange is done, at tick 0."""
    talk = Conversation(we, they)
    if we is SCHEDULER:
        talk.hear(begins())
        talk.say(nothing(0))
    else:
        talk.say(begins())
        talk.hear(nothing(0))
    return talk


def test_a_whole_conversation_passes_on_both_sides() -> None:
    asking, answering = Conversation(SIMULATOR, SCHEDULER), Conversation(SCHEDULER, BROKER)
    exchanges = [
        (begins(), decisions(0)),
        (events(5), decisions(7)),
        (events(7), nothing(7)),
        (ends(9), nothing(9)),
    ]
    for request, reply in exchanges:
        asking.say(request)
        answering.hear(request)
        answering.say(reply)
        asking.hear(reply)
    assert asking.over
    assert answering.over


@pytest.mark.parametrize("request_", [events(0), ends(0), nothing(0)])
def test_the_first_request_is_simulation_begins(request_: m.Message) -> None:
    with pytest.raises(RemoteProtocolError, match=r"legal is .*SIMULATION_BEGINS alone"):
        Conversation(SCHEDULER, BROKER).hear(request_)


@pytest.mark.parametrize("other", [m.SimulationEnds(0), m.RequestedCall(0)])
def test_begin_and_end_are_alone(other: m.Event) -> None:
    with pytest.raises(LocalProtocolError, match="must be alone"):
        Conversation(SIMULATOR, SCHEDULER).say(m.Message(0, [*begins().events, other]))
    with pytest.raises(RemoteProtocolError, match="must be alone"):
        ready(SCHEDULER, BROKER).hear(m.Message(0, [other, m.SimulationEnds(0)]))


def test_only_a_broker_asks_without_events() -> None:
    ready(BROKER).say(nothing(1))
    ready(SCHEDULER, BROKER).hear(nothing(1))
    with pytest.raises(LocalProtocolError, match="simulator said no event"):
        ready(SIMULATOR).say(nothing(1))


def test_a_reply_is_never_earlier_than_its_request() -> None:
    talk = ready()
    talk.say(events(5))
    with pytest.raises(RemoteProtocolError, match="a reply at 4 is earlier than its request at 5"):
        talk.hear(nothing(4))


def test_our_clock_never_goes_back_not_even_behind_a_reply() -> None:
    talk = ready()
    talk.say(events(5))
    talk.hear(nothing(8))
    with pytest.raises(LocalProtocolError, match="time cannot go back"):
        talk.say(events(7))


def test_a_peers_clock_never_goes_back() -> None:
    talk = ready(SCHEDULER, BROKER)
    talk.hear(events(5))
    talk.say(nothing(5))
    with pytest.raises(RemoteProtocolError, match="time cannot go back"):
        talk.hear(events(4))


def test_decisions_stamped_before_the_request_are_legal_and_need_no_order() -> None:
    talk = ready()
    talk.say(events(5))
    talk.hear(m.Message(6, [m.RejectJob(6, "a"), m.RejectJob(1, "b"), m.RejectJob(3, "c")]))
    assert talk.stage is Stage.READY


def test_nothing_is_stamped_after_its_messages_now() -> None:
    talk = ready()
    talk.say(events(5))
    with pytest.raises(RemoteProtocolError, match=r"events\[0\] REJECT_JOB: timestamp 9 is later"):
        talk.hear(decisions(8, at=9))


def test_words_have_a_direction() -> None:
    talk = ready()
    talk.say(events(5))
    with pytest.raises(RemoteProtocolError, match=r"events\[0\] REQUESTED_CALL: a scheduler may not say"):
        talk.hear(events(5))
    with pytest.raises(LocalProtocolError, match=r"events\[0\] REJECT_JOB: a simulator may not say"):
        ready().say(decisions(5))


def test_hello_is_first_and_only_where_it_was_offered() -> None:
    hello = m.Message(0, [m.Hello(0, "easy", "1", ("sharing",)), m.CallMeLater(0, 3)])
    talk = Conversation(SIMULATOR, SCHEDULER)
    talk.say(begins(offer=True))
    talk.hear(hello)
    talk.say(events(1))
    with pytest.raises(
        RemoteProtocolError, match="said HELLO, then decisions while the conversation is asked"
    ):
        talk.hear(m.Message(1, [m.Hello(1, "easy", "1")]))

    talk = Conversation(SIMULATOR, SCHEDULER)
    talk.say(begins())
    with pytest.raises(RemoteProtocolError, match="did not carry the key batpy"):
        talk.hear(hello)

    talk = Conversation(SIMULATOR, SCHEDULER)
    talk.say(begins(offer=True))
    with pytest.raises(RemoteProtocolError, match=r"events\[1\] HELLO: must be the first"):
        talk.hear(m.Message(0, [m.CallMeLater(0, 3), m.Hello(0, "easy", "1")]))


def test_after_the_end_there_are_no_decisions_and_no_requests() -> None:
    talk = ready()
    talk.say(ends(5))
    with pytest.raises(
        RemoteProtocolError, match="scheduler said decisions while the conversation is ending"
    ):
        talk.hear(decisions(5))

    talk = ready()
    talk.say(ends(5))
    talk.hear(nothing(5))
    with pytest.raises(LocalProtocolError, match="while the conversation is over, legal is nothing"):
        talk.say(events(6))


def test_two_requests_in_a_row_are_a_breach() -> None:
    talk = ready()
    talk.say(events(5))
    with pytest.raises(LocalProtocolError, match="while the conversation is asked"):
        talk.say(events(5))


def test_a_broken_conversation_stays_broken() -> None:
    talk = ready()
    with pytest.raises(LocalProtocolError):
        talk.say(begins())
    with pytest.raises(LocalProtocolError, match="while the conversation is broken, legal is nothing"):
        talk.say(events(5))


def test_the_figures_show_every_row_of_the_table() -> None:
    for drawing in (figure(), as_dot()):
        for move in MOVES:
            arrow = f"{move.stage.value} -> {move.then.value}"
            line = [row for row in drawing.replace("-->", "->").splitlines() if arrow in row]
            assert any(move.word in row for row in line)


class Table(Conversation):
    """The slow twin: every move is looked up in the table."""

    __slots__ = ()

    def _is_plain(self, speaker: Speaker, message: m.Message) -> bool:
        return False


@pytest.mark.parametrize("seed", range(200))
def test_the_quick_way_of_common_moves_is_that_of_the_table(seed: int) -> None:
    chance = random.Random(seed)
    we, they = chance.choice([(SIMULATOR, SCHEDULER), (BROKER, SCHEDULER), (SCHEDULER, BROKER)])
    quick, table = Conversation(we, they), Table(we, they)
    now = 0
    for turn in range(12):
        now += chance.choice([0, 0, 3, -1])
        asks = turn % 2 == 0
        usual = (
            [begins(offer=True)] if turn == 0 else [events(now)] if asks else [decisions(now), nothing(now)]
        )
        odd = [
            decisions(now, now + 1),
            nothing(now),
            ends(now),
            events(now),
            m.Message(now, [m.Hello(now, "a", "1")]),
        ]
        message = chance.choice(usual if chance.random() < 0.9 else odd)
        speaks = (we is not SCHEDULER) == asks
        outcomes = []
        for talk in (quick, table):
            try:
                (talk.say if speaks else talk.hear)(message)
                outcomes.append("")
            except (LocalProtocolError, RemoteProtocolError) as why:
                outcomes.append(f"{type(why).__name__}: {why}")
        assert outcomes[0] == outcomes[1]
        assert quick.stage is table.stage
        if outcomes[0]:
            return
