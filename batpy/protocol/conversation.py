"""The legal moves of a conversation as one table, and what else must hold between request and reply.

One conversation joins a requester (a simulator, or a broker in its place) and a replier (a scheduler, or a
broker in its place). A move that is not a row is an error: ours (``LocalProtocolError``) if we spoke, the
peer's (``RemoteProtocolError``) if it did. The README's figure is drawn from the table. Source of the
rules: Batsim 4.2.1; a broker's empty request and HELLO are this project's own.

Decisions stamped before the request are legal (they apply at once) and keep the order they were said in.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from batpy.base.errors import LocalProtocolError, ProtocolError, RemoteProtocolError
from batpy.protocol.messages import Event, Hello, Message, SimulationBegins, SimulationEnds
from batpy.protocol.vocabulary import NAME_OF, WORDS, Way


class Speaker(Enum):
    """Role of a side in one conversation."""

    SIMULATOR = "simulator"
    BROKER = "broker"  # in the simulator's place; in a scheduler's place it is a SCHEDULER
    SCHEDULER = "scheduler"


class Stage(Enum):
    """Where a conversation stands."""

    NEW = "new"
    BEGINNING = "beginning"
    READY = "ready"
    ASKED = "asked"
    ENDING = "ending"
    OVER = "over"
    BROKEN = "broken"


# What a message amounts to.
BEGINS, ENDS, EVENTS, NO_EVENT = "SIMULATION_BEGINS alone", "SIMULATION_ENDS alone", "events", "no event"
HELLO, DECISIONS, NO_DECISION = "HELLO, then decisions", "decisions", "no decision"


class Move(NamedTuple):
    """One row: in this stage these speakers may say this, which leads to that stage."""

    stage: Stage
    speakers: tuple[Speaker, ...]
    word: str
    then: Stage


_REQUESTERS = (Speaker.SIMULATOR, Speaker.BROKER)
_SCHEDULER = (Speaker.SCHEDULER,)

MOVES: tuple[Move, ...] = (
    Move(Stage.NEW, _REQUESTERS, BEGINS, Stage.BEGINNING),
    Move(Stage.BEGINNING, _SCHEDULER, HELLO, Stage.READY),
    Move(Stage.BEGINNING, _SCHEDULER, DECISIONS, Stage.READY),
    Move(Stage.BEGINNING, _SCHEDULER, NO_DECISION, Stage.READY),
    Move(Stage.READY, _REQUESTERS, EVENTS, Stage.ASKED),
    Move(Stage.READY, (Speaker.BROKER,), NO_EVENT, Stage.ASKED),
    Move(Stage.ASKED, _SCHEDULER, DECISIONS, Stage.READY),
    Move(Stage.ASKED, _SCHEDULER, NO_DECISION, Stage.READY),
    Move(Stage.READY, _REQUESTERS, ENDS, Stage.ENDING),
    Move(Stage.ENDING, _SCHEDULER, NO_DECISION, Stage.OVER),
)

_NEXT: dict[tuple[Stage, Speaker, str], Stage] = {
    (move.stage, speaker, move.word): move.then for move in MOVES for speaker in move.speakers
}
_TO_SCHEDULER = frozenset(word.kind for word in WORDS if Way.TO_SCHEDULER in word.way)
_TO_SIMULATOR = frozenset(word.kind for word in WORDS if Way.TO_SIMULATOR in word.way)
_PLAIN_EVENTS = _TO_SCHEDULER - {SimulationBegins, SimulationEnds}
_PLAIN_DECISIONS = _TO_SIMULATOR - {Hello}


class Conversation:
    """Watches one side's conversation: call ``say`` before sending, ``hear`` after receiving.

    Args:
        we: our role.
        they: the peer's role. A replier that does not know whether a simulator or a broker asks takes it for
            a broker, which may say whatever a simulator may.
    """

    __slots__ = ("_asked_now", "_offered", "_replied_now", "stage", "they", "we")

    def __init__(self, we: Speaker, they: Speaker) -> None:
        self.we = we
        self.they = they
        self.stage = Stage.NEW
        self._asked_now = 0
        self._replied_now = 0
        self._offered = False

    @property
    def over(self) -> bool:
        """True once the reply to SIMULATION_ENDS was given."""
        return self.stage is Stage.OVER

    def say(self, message: Message) -> None:
        """We are about to send *message*; raises LocalProtocolError if that is illegal."""
        self._move(self.we, message, LocalProtocolError)

    def hear(self, message: Message) -> None:
        """The peer sent *message*; raises RemoteProtocolError if that is illegal."""
        self._move(self.they, message, RemoteProtocolError)

    def _move(self, speaker: Speaker, message: Message, blame: type[ProtocolError]) -> None:
        if self._is_plain(speaker, message):
            return
        try:
            if speaker is Speaker.SCHEDULER:
                self._reply(message, blame)
            else:
                self._request(speaker, message, blame)
        except ProtocolError:
            self.stage = Stage.BROKEN
            raise

    def _is_plain(self, speaker: Speaker, message: Message) -> bool:
        """Make the two moves that nearly all messages are (events asked, decisions answered); False if it is
        another move, or an illegal one, which the table then tells apart."""
        now, events = message.now, message.events
        if now < self._asked_now or now < self._replied_now:
            return False
        if speaker is Speaker.SCHEDULER:
            if self.stage is not Stage.ASKED:
                return False
            legal = _PLAIN_DECISIONS
        elif self.stage is Stage.READY and events:
            legal = _PLAIN_EVENTS
        else:
            return False
        for event in events:
            if type(event) not in legal or event.timestamp > now:
                return False
        if speaker is Speaker.SCHEDULER:
            self._replied_now = now
            self.stage = Stage.READY
        else:
            self._asked_now = now
            self.stage = Stage.ASKED
        return True

    def _request(self, speaker: Speaker, message: Message, blame: type[ProtocolError]) -> None:
        events = message.events
        _check_events(message, _TO_SCHEDULER, speaker, blame)
        word = EVENTS if events else NO_EVENT
        for index, event in enumerate(events):
            kind = type(event)
            if kind is SimulationBegins or kind is SimulationEnds:
                word = f"{NAME_OF[kind]} alone"
                if len(events) > 1:
                    raise blame(f"events[{index}] {NAME_OF[kind]}: must be alone in its message")
        then = self._next(speaker, word, blame)
        # What we hear from the real Batsim may be rounded below the date we answered with: see it apart.
        floor = max(self._asked_now, self._replied_now) if blame is LocalProtocolError else self._asked_now
        if message.now < floor:
            raise blame(f"now: {message.now} is before {floor}, time cannot go back (in ticks)")
        if word == BEGINS:
            self._offered = getattr(events[0], "batpy", None) is not None
        self._asked_now = message.now
        self.stage = then

    def _reply(self, message: Message, blame: type[ProtocolError]) -> None:
        events = message.events
        _check_events(message, _TO_SIMULATOR, Speaker.SCHEDULER, blame)
        word = DECISIONS if events else NO_DECISION
        for index, event in enumerate(events):
            if type(event) is Hello:
                word = HELLO
                if index:
                    raise blame(f"events[{index}] HELLO: must be the first decision of its reply")
        then = self._next(Speaker.SCHEDULER, word, blame)
        if word == HELLO and not self._offered:
            raise blame("events[0] HELLO: SIMULATION_BEGINS did not carry the key batpy")
        if message.now < self._asked_now:
            raise blame(
                f"now: a reply at {message.now} is earlier than its request at {self._asked_now} (in ticks)"
            )
        self._replied_now = message.now
        self.stage = then

    def _next(self, speaker: Speaker, word: str, blame: type[ProtocolError]) -> Stage:
        then = _NEXT.get((self.stage, speaker, word))
        if then is None:
            legal = [who.value + ": " + said for at, who, said in _NEXT if at is self.stage]
            raise blame(
                f"{speaker.value} said {word} while the conversation is {self.stage.value}, "
                f"legal is {' or '.join(legal) or 'nothing'}"
            )
        return then


def _check_events(
    message: Message, legal: frozenset[type[Event]], speaker: Speaker, blame: type[ProtocolError]
) -> None:
    now = message.now
    for index, event in enumerate(message.events):
        if type(event) not in legal:
            name = NAME_OF.get(type(event), type(event).__name__)
            raise blame(f"events[{index}] {name}: a {speaker.value} may not say this")
        if event.timestamp > now:
            raise blame(
                f"events[{index}] {NAME_OF[type(event)]}: "
                f"timestamp {event.timestamp} is later than the message's now {now} (in ticks)"
            )


def figure() -> str:
    """The table as a mermaid state diagram, as the README shows it."""
    lines = ["stateDiagram-v2", f"    [*] --> {Stage.NEW.value}"]
    lines += [f"    {a.value} --> {b.value}: {label}" for a, b, label in _arrows()]
    lines.append(f"    {Stage.OVER.value} --> [*]")
    return "\n".join(lines)


def as_dot() -> str:
    """The table as a graph for Graphviz."""
    arrows = [f'    {a.value} -> {b.value} [label="{label}"];' for a, b, label in _arrows()]
    return "\n".join(["digraph conversation {", *arrows, "}"])


def _arrows() -> list[tuple[Stage, Stage, str]]:
    """Rows with the same speakers, start and end drawn as one arrow, in the table's order."""
    merged: dict[tuple[Stage, Stage, tuple[Speaker, ...]], list[str]] = {}
    for move in MOVES:
        merged.setdefault((move.stage, move.then, move.speakers), []).append(move.word)
    return [
        (stage, then, f"{' or '.join(one.value for one in speakers)} says {' / '.join(words)}")
        for (stage, then, speakers), words in merged.items()
    ]
