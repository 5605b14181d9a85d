"""The simulator's journal: every record of a run in the order it happened.

``journal.msgpack`` holds the records of ``batpy.protocol.records``; the form of the file is
``batpy.results.container``'s.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from batpy.protocol import hostset
from batpy.protocol.hostset import HostSet
from batpy.protocol.records import (
    AnyRecord,
    EnergyBegins,
    HostsChanged,
    HostsSwitched,
    KillAsked,
    PstateAsked,
    RunBegins,
    RunEnds,
    Started,
)
from batpy.results.container import BUNCH, MOST_HOSTS, RecordReader, RecordWriter

__all__ = ["BUNCH", "JOURNAL", "JournalReader", "JournalWriter", "read_journal"]

JOURNAL = "journal.msgpack"


class JournalWriter(RecordWriter[AnyRecord]):
    """Streams a simulator's records to a file; a kill, whose progress tree others hold too, at once."""

    magic = "batpy-journal"

    def write(self, record: AnyRecord) -> None:
        """Take the next record."""
        pending = self._pending
        pending.append(record)
        if len(pending) >= BUNCH or type(record) is KillAsked:
            self.flush()


class JournalReader(RecordReader[AnyRecord]):
    """Reads a simulator's journal."""

    magic = JournalWriter.magic
    family = AnyRecord
    closing = RunEnds

    def implausible(self, record: AnyRecord) -> str:
        """See ``RecordReader``."""
        return _implausible(record)


def read_journal(path: str | Path) -> Iterator[AnyRecord]:
    """The records of a journal, one at a time; an unfinished last record is left out.

    Raises:
        InputError: the file is missing, is no journal, or is damaged.
    """
    return iter(JournalReader(path))


def _implausible(record: AnyRecord) -> str:
    """What no run can have written although it decodes; "" if nothing.

    Those who read records rely on it: hosts are counted in arrays and ticks are divided by the resolution.
    """
    hosts: HostSet = hostset.EMPTY
    if type(record) is Started:
        hosts = record.alloc
    elif isinstance(record, (HostsChanged, PstateAsked, HostsSwitched)):
        hosts = record.hosts
        if type(record) is PstateAsked:
            hosts = (*hosts, *record.off, *record.on)
    elif type(record) is EnergyBegins:
        hosts = (*record.sleeping, *_energy_hosts(record))
        for power in record.powers:
            if power.cores < 1 or not power.watts or len(power.watts) != len(power.speeds):
                told = f"{len(power.speeds)} speeds and {len(power.watts)} watts on {power.cores} cores"
                return f"a host has {told}"
    elif type(record) is RunBegins:
        if record.ticks_per_second < 1:
            return f"{record.ticks_per_second} ticks a second, there must be one or more"
        if not (0 <= record.nb_compute <= MOST_HOSTS and 0 <= record.nb_storage <= MOST_HOSTS):
            return f"{record.nb_compute} compute and {record.nb_storage} storage hosts"
    for first, last in hosts:
        if not 0 <= first <= last:
            return f"({first}, {last}) is no interval of hosts"
    return ""


def _energy_hosts(record: EnergyBegins) -> Iterator[tuple[int, int]]:
    for _, hosts in record.pstates:
        yield from hosts
    for power in record.powers:
        yield from power.hosts
