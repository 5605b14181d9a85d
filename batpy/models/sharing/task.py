"""One task under way, and dates finer than a tick.

A date is an integer tick and a fraction of a tick. Kept apart, a duration keeps its relative precision
however late in a run it happens (one float of seconds is only exact to 1e-7 s after thirty years).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from batpy.models.sharing.work import Element, TaskWork

if TYPE_CHECKING:
    from batpy.models.sharing.star import Star

Date = tuple[int, float]
"""(tick, fraction of a tick); normal dates have fractions in [0, 1)."""

LATENT, WORKING, OVER = 0, 1, 2


class Task:
    """A task of the engine; its state is read through the engine, which updates it lazily.

    Attributes:
        work: what it asks for.
        owner: whose task it is; opaque.
        serial: order of arrival.
        began: date it was added.
        ended: exact date of its end; meaningful once ``over``.
        phase: LATENT while it pays its latency, WORKING, or OVER.
        tick, frac: date at which ``left`` was true.
        left: share of the work that is left.
        rate: share of the work a second, while it has a rate of its own.
        limit: largest rate that its own bounds and the resources that only it uses allow.
        coupled: elements on resources that take part in sharing.
        star: the shared link that sets its rate, or None.
        level_end: bytes of that link's level at which the task is done, or -1 while it has a rate of its own.
        entry: number of its valid entry in the engine's heap, 0 if none.
    """

    __slots__ = (
        "began",
        "coupled",
        "ended",
        "entry",
        "frac",
        "left",
        "level_end",
        "limit",
        "owner",
        "phase",
        "rate",
        "serial",
        "star",
        "tick",
        "work",
    )

    def __init__(self, work: TaskWork, owner: Any, serial: int, began: Date) -> None:
        self.work = work
        self.owner = owner
        self.serial = serial
        self.began = began
        self.ended = began
        self.phase = LATENT
        self.tick, self.frac = began
        self.left = 1.0
        self.rate = 0.0
        self.limit = math.inf
        self.coupled: dict[int, Element] = {}
        self.star: Star | None = None
        self.level_end = -1.0
        self.entry = 0

    @property
    def over(self) -> bool:
        """True once the task has ended or was cancelled."""
        return self.phase == OVER

    def __repr__(self) -> str:
        return f"Task({self.serial}, owner={self.owner!r}, left={self.left}, rate={self.rate})"


def later(date: Date, ticks: float) -> Date:
    """The date so many ticks after another; *ticks* must be finite."""
    exact = date[1] + ticks
    whole = math.floor(exact)
    return date[0] + whole, exact - whole


def between(start: Date, end: Date) -> float:
    """Ticks from one date to another."""
    return (end[0] - start[0]) + (end[1] - start[1])
