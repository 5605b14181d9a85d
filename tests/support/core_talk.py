"""Talking to a scheduler's core without a simulator."""

from __future__ import annotations

from mini_simulator import begins

from batpy.protocol import messages as m
from batpy.schedulers.api import Plan, View
from batpy.schedulers.core import SchedulerCore


def started(core: SchedulerCore, nb_hosts: int = 4, **config: object) -> list[m.Event]:
    """Greet a core and give what it said."""
    return core.handle(begins(nb_hosts, **config)).events  # type: ignore[arg-type]


def tell(core: SchedulerCore, now: int, *events: m.Event) -> list[m.Event]:
    reply = core.handle(m.Message(now, list(events)))
    assert reply.now == now
    return reply.events


def names(events: list[m.Event]) -> list[str]:
    return [type(event).__name__ for event in events]


class Idle:
    """Remembers what it saw and does nothing."""

    def __init__(self) -> None:
        self.seen: list[tuple[list[str], list[str]]] = []

    def decide(self, view: View) -> Plan | None:
        self.seen.append(([job.id for job in view.arrived], [job.id for job in view.ended]))
        return None
