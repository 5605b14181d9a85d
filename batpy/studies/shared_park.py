"""What studies read off a run in which an HPC and a Big Data scheduler share the park."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from batpy.protocol.records import Ended, Record
from batpy.results.accounting.fold import account_records
from batpy.results.journal import JOURNAL, JournalReader
from batpy.results.sharing_journal import SHARING_JOURNAL, SharingJournalReader
from batpy.studies.runs import Finished

AnyRecord = TypeVar("AnyRecord", bound=Record)


@dataclass(frozen=True, slots=True)
class Shares:
    """Where the core time went until the last HPC job was over.

    Attributes:
        end: when that was, in seconds.
        effectiveness: of the Big Data core time spent until then, the part that was not lost (Bebida's E with
            what still runs counted as useful).
        busy: core time in which jobs ran, over capacity.
        hpc_busy: that of HPC jobs.
        handed: core time in prologs, epilogs and while hosts were being vacated, over capacity.
        idle: core time in which hosts were free for Big Data and it did not use them, over capacity.
        disruptions: Big Data attempts that were killed because hosts of theirs were taken.
        hpc_wait: mean seconds from submission to real start.
        hpc_held: of these, from the moment the start was asked for.
    """

    end: float
    effectiveness: float
    busy: float
    hpc_busy: float
    handed: float
    idle: float
    disruptions: int
    hpc_wait: float
    hpc_held: float


def shares(run: Finished, hpc: str, bda: str) -> Shares:
    """The shares of a run of two tenants, HPC first.

    Args:
        hpc, bda: names of the HPC workload and of both schedulers.
    """
    journal, sharing = run.folder / JOURNAL, run.folder / SHARING_JOURNAL
    prefix = f"{hpc}!"
    end = max(
        record.time
        for record in JournalReader(journal)
        if type(record) is Ended and record.job.startswith(prefix)
    )
    account = account_records(_until(JournalReader(journal), end), _until(SharingJournalReader(sharing), end))
    tenants = account.begins.tenants
    first, second = account.totals(tenants.index(hpc)), account.totals(tenants.index(bda))
    capacity = sum(account.begins.cores) * end
    spent = second["useful"] + second["lost"] + second["unfinished"]
    assert run.summary.sharing is not None
    figures = run.summary.sharing.tenants[hpc]
    return Shares(
        end=end / account.begins.ticks_per_second,
        effectiveness=1 - second["lost"] / spent if spent else 1.0,
        busy=(first["busy"] + second["busy"]) / capacity,
        hpc_busy=first["busy"] / capacity,
        handed=sum(one[state] for one in (first, second) for state in ("prolog", "epilog", "blocked"))
        / capacity,
        idle=(first["idle"] + second["idle"]) / capacity,
        disruptions=account.counts[tenants.index(bda)].disruptions,
        hpc_wait=figures.mean_waiting or 0.0,
        hpc_held=(figures.mean_waiting_blocked or 0.0) + (figures.mean_waiting_prolog or 0.0),
    )


def _until(records: Iterable[AnyRecord], end: int) -> Iterator[AnyRecord]:
    """The records up to a date; they come in its order."""
    for record in records:
        if record.time > end:
            return
        yield record
