"""The broker's journal, beside the simulator's in the same folder.

``sharing.journal`` holds the records of ``batpy.protocol.sharing_records``; the form of the file is
``batpy.results.container``'s.
"""

from __future__ import annotations

from batpy.protocol.hostset import HostSet
from batpy.protocol.sharing_records import (
    AnySharingRecord,
    Lent,
    RevokeAsked,
    SharingBegins,
    SharingEnds,
    StartAsked,
    Vacated,
)
from batpy.results.container import MOST_HOSTS, SHARING_JOURNAL, RecordReader, RecordWriter

__all__ = ["SHARING_JOURNAL", "SharingJournalReader", "SharingJournalWriter"]


class SharingJournalWriter(RecordWriter[AnySharingRecord]):
    """Streams a broker's records to a file."""

    magic = "batpy-sharing-journal"

    def write(self, record: AnySharingRecord) -> None:
        """Take the next record; the beginning, without which nothing can be read, goes out at once."""
        super().write(record)
        if type(record) is SharingBegins:
            self.flush()


class SharingJournalReader(RecordReader[AnySharingRecord]):
    """Reads a broker's journal."""

    magic = SharingJournalWriter.magic
    family = AnySharingRecord
    closing = SharingEnds

    def implausible(self, record: AnySharingRecord) -> str:
        """See ``RecordReader``."""
        if isinstance(record, (StartAsked, RevokeAsked, Vacated, Lent)):
            return _bad_intervals(record.hosts)
        if type(record) is SharingBegins:
            return _bad_beginning(record)
        return ""


def _bad_beginning(record: SharingBegins) -> str:
    if record.ticks_per_second < 1:
        return f"{record.ticks_per_second} ticks a second, there must be one or more"
    if not 0 <= record.nb_compute <= MOST_HOSTS:
        return f"{record.nb_compute} compute hosts"
    if len(record.cores) != record.nb_compute or any(cores < 0 for cores in record.cores):
        return f"{len(record.cores)} figures of cores for {record.nb_compute} compute hosts"
    if len(record.visible) != len(record.tenants) or len(set(record.tenants)) != len(record.tenants):
        return f"{len(record.tenants)} tenants do not match {len(record.visible)} sets of hosts"
    return next(filter(None, map(_bad_intervals, record.visible)), "")


def _bad_intervals(hosts: HostSet) -> str:
    for first, last in hosts:
        if not 0 <= first <= last:
            return f"({first}, {last}) is no interval of hosts"
    return ""
