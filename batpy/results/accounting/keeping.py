"""How much of what attempts executed counts in the end: pure functions.

Nobody tells what a resubmission keeps, and names tell it in one scheduler only. It follows from the work
itself: an attempt has the whole of its own work to do, so what the next one has less to do was kept. Work is
compared as a share of the original's, over those of its figures (flops, bytes, seconds of sleep and tasks)
that are not zero. Where work is not known (replays of traces; a profile whose parts came later) nothing
counts as kept.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from batpy.protocol.messages import COMPLETED_SUCCESSFULLY
from batpy.results.accounting.attempts import Attempt

TOLERANCE = 1e-6
"""Share of the original's work below which two amounts are equal: peers may print six decimals."""


class Division(NamedTuple):
    """Ticks of one attempt, on each of its hosts."""

    useful: int
    lost: int
    reexecuted: int
    unfinished: int


def divide(attempts: Sequence[Attempt], horizon: int) -> list[Division]:
    """What the executed ticks of all attempts at one job were good for."""
    done = next((a for a in attempts if a.state == COMPLETED_SUCCESSFULLY), None)
    going_on = done is None and not attempts[-1].state
    counts = len(attempts) > 1 and (done is not None or going_on)
    kept = kept_ticks(attempts) if counts else [0] * len(attempts)
    starts_later = False
    out: list[Division] = []
    for attempt, ticks in zip(reversed(attempts), reversed(kept), strict=True):
        executed = attempt.executed(horizon)
        if attempt is done:
            out.append(Division(executed, 0, 0, 0))
        elif not attempt.state:
            out.append(Division(0, 0, 0, executed))
        else:
            lost = executed - ticks
            useful, unfinished = (ticks, 0) if done is not None else (0, ticks)
            out.append(Division(useful, lost, lost if starts_later else 0, unfinished))
        starts_later = starts_later or attempt.start >= 0
    out.reverse()
    return out


def kept_ticks(attempts: Sequence[Attempt]) -> list[int]:
    """Ticks of each killed attempt whose work no later attempt had to do again."""
    # Only kills and registrations tell the work: a first attempt that never ran has not told it.
    original = next((a.whole for a in attempts if a.whole), ())
    shares = [share_of(a.whole, original) for a in attempts]
    kept = [0] * len(attempts)
    # Most work that any later attempt had to do; 2: more than there is, so nothing is kept.
    later = 2.0
    for i in range(len(attempts) - 1, -1, -1):
        share = shares[i]
        if i < len(attempts) - 1 and share is not None:
            kept[i] = _ticks(attempts[i], share - later, original)
        mine = 2.0 if share is None else share
        later = mine if i == len(attempts) - 1 else max(later, mine)
    return kept


def share_of(work: Sequence[float], whole: Sequence[float]) -> float | None:
    """*work* as a share of *whole*: the mean over the figures that are not zero; None if not known."""
    if not work or not whole:
        return None
    shares = [part / all_of_it for part, all_of_it in zip(work, whole, strict=True) if all_of_it > 0]
    share = sum(shares) / len(shares) if shares else math.inf
    return share if math.isfinite(share) else None


def _ticks(attempt: Attempt, kept: float, whole: Sequence[float]) -> int:
    """Ticks that an attempt took for the first *kept* of its work, as a share of the original's."""
    finished, done = share_of(attempt.finished, whole), share_of(attempt.done, whole)
    if not attempt.killed or finished is None or done is None or kept <= TOLERANCE:
        return 0
    start, end = attempt.start, attempt.end
    leaf = min(max(attempt.leaf_since, start), end)
    if kept < finished - TOLERANCE:
        return round((leaf - start) * kept / finished)
    if kept <= finished + TOLERANCE or done <= finished:
        return leaf - start
    return leaf - start + round((end - leaf) * min((kept - finished) / (done - finished), 1.0))
