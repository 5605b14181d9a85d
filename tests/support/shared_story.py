"""A shared run of three jobs told by hand: every date is chosen so that the accounts can be checked on paper.

A second is a tick; hosts 0 and 1 have one core, host 2 has two. Tenants: hpc goes first, bda uses the rest.

====  ======================================================================================================
tick  what happens
====  ======================================================================================================
0     all hosts are lent to both; bda starts ``d!1`` (10 flops in stages of 4 and 6) on hosts 0 and 2
6     hpc submits ``h!1`` and wants hosts 0-1: bda is asked to vacate them, host 1 is kept free (blocked)
8     bda kills ``d!1`` in its second stage (8 of 10 flops done, the stage began at 4), vacates, resubmits the
      6 flops from the second stage on as ``d!1#1``, which starts on host 2; the prolog of ``h!1`` begins
11    ``h!1`` really starts, after a prolog of 3
15    ``h!1`` ends; epilog of 2
17    hosts 0-1 are cleared and lent to bda again
18    host 1 leaves the park, and returns at 19
20    ``d!1#1`` ends, and the run with it
====  ======================================================================================================
"""

from __future__ import annotations

from pathlib import Path

from batpy.protocol import records as s
from batpy.protocol import sharing_records as b
from batpy.results.journal import JOURNAL, JournalWriter
from batpy.results.sharing_journal import SHARING_JOURNAL, SharingJournalWriter

OK, KILLED = "COMPLETED_SUCCESSFULLY", "COMPLETED_KILLED"
ALL, FIRST_TWO = ((0, 2),), ((0, 1),)


def simulator() -> list[s.AnyRecord]:
    """What the simulator wrote."""
    return [
        s.RunBegins(0, "1", 1, 3, 0, False, {}),
        s.Submitted(0, "d!1", "p", 0, 3, -1),
        s.Started(0, "d!1", ((0, 0), (2, 2))),
        s.Submitted(6, "h!1", "p", 6, 2, -1),
        s.KillAsked(8, ("d!1",), {}, (4,), ((10.0, 0.0, 0.0, 4.0, 0.0, 0.0, 8.0, 0.0, 0.0),)),
        s.Ended(8, "d!1", KILLED, -1),
        s.Submitted(8, "d!1#1", "p#1", 8, 3, -1, "", "", True, (6.0, 0.0, 0.0)),
        s.Started(8, "d!1#1", ((2, 2),)),
        s.Started(11, "h!1", FIRST_TWO),
        s.Ended(15, "h!1", OK, 0),
        s.HostsChanged(18, ((1, 1),), False),
        s.HostsChanged(19, ((1, 1),), True),
        s.Ended(20, "d!1#1", OK, 0),
        s.RunEnds(20, "done"),
    ]


def broker() -> list[b.AnySharingRecord]:
    """What the broker wrote."""
    return [
        b.SharingBegins(0, 0, "1", 1, "bebida", ("hpc", "bda"), (ALL, ALL), 3, (1, 1, 2)),
        b.Lent(0, 0, 0, "hpc", ALL),
        b.Lent(0, 0, 1, "bda", ALL),
        b.JobOwned(0, 1, "d!1", "bda"),
        b.StartAsked(0, 1, 0, "bda", "d!1", ((0, 0), (2, 2))),
        b.StartReleased(0, 1, 0),
        b.JobOwned(6, 2, "h!1", "hpc"),
        b.StartAsked(6, 2, 1, "hpc", "h!1", FIRST_TWO),
        b.RevokeAsked(6, 2, 0, "bda", FIRST_TWO, 1),
        b.HostsCleared(8, 3, 0),
        b.EndTold(8, 3, "d!1"),
        b.JobOwned(8, 3, "d!1#1", "bda", "d!1"),
        b.Vacated(8, 3, 0, "bda", FIRST_TWO, b.ACKNOWLEDGED),
        b.PrologBegins(8, 3, 1, 11, ("bda",)),
        b.StartAsked(8, 3, 2, "bda", "d!1#1", ((2, 2),)),
        b.StartReleased(8, 3, 2),
        b.StartReleased(11, 4, 1),
        b.EpilogBegins(15, 5, 1, 17),
        b.EndTold(15, 5, "h!1"),
        b.HostsCleared(17, 6, 1),
        b.Lent(17, 6, 2, "bda", FIRST_TWO),
        b.HostsCleared(20, 7, 2),
        b.EndTold(20, 7, "d!1#1"),
        b.SharingEnds(20, 8, "done"),
    ]


def write(folder: Path, ours: list[s.AnyRecord], theirs: list[b.AnySharingRecord]) -> None:
    """Both journals as files."""
    one, other = JournalWriter(folder / JOURNAL), SharingJournalWriter(folder / SHARING_JOURNAL)
    one.write_many(ours)
    other.write_many(theirs)
    one.close()
    other.close()
