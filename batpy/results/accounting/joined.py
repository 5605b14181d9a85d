"""Both journals as one story: the order in which simulator and broker did things."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeGuard

from batpy.protocol.records import AnyRecord, Refused, Started
from batpy.protocol.sharing_records import (
    AnySharingRecord,
    SharingBegins,
    SharingEnds,
    StartAsked,
    StartReleased,
)


def joined(
    simulator: Iterable[AnyRecord], broker: Iterable[AnySharingRecord]
) -> Iterator[AnyRecord | AnySharingRecord]:
    """The records of both, each kind in its own order, causes before effects.

    Records of one tick: the simulator's come first, since the broker reacts to what it is told, except that
    a job starts, or its start is refused, after that was released. The broker's first record comes before
    everything.

    A broker that was killed proves nothing of what came after its last record: the story ends there.
    """
    others = iter(broker)
    pending = next(others, None)
    if type(pending) is SharingBegins:
        yield pending
        pending = next(others, None)
    whole = False
    asked: dict[int, str] = {}
    released: set[str] = set()
    for record in simulator:
        time = record.time
        wanted = record.job if type(record) is Started or _is_refused_start(record) else None
        while pending is not None and (
            pending.time < time or (wanted is not None and wanted not in released and pending.time == time)
        ):
            if type(pending) is StartAsked:
                asked[pending.start] = pending.job
            elif type(pending) is StartReleased:
                released.add(asked.pop(pending.start, ""))
            whole = type(pending) is SharingEnds
            yield pending
            pending = next(others, None)
        if pending is None and not whole:
            return
        if wanted is not None:
            released.discard(wanted)
        yield record
    while pending is not None:
        yield pending
        pending = next(others, None)


def _is_refused_start(record: AnyRecord) -> TypeGuard[Refused]:
    return type(record) is Refused and record.decision == "EXECUTE_JOB"
