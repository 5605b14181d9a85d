"""Each law of a shared run is broken once, by one forged record, and the audit says so in one clear line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import shared_story as story
from shared_story import ALL, FIRST_TWO, KILLED, OK

from batpy.protocol import records as s
from batpy.protocol import sharing_records as b
from batpy.results.accounting.fold import account_records
from batpy.results.accounting.tables import write_sharing_tables
from batpy.results.accounting.work_laws import WorkLaws
from batpy.results.audit import audit

Ours, Theirs = list[s.AnyRecord], list[b.AnySharingRecord]
Forgery = Callable[[Ours, Theirs], None]
FLOPS = (10.0, 0.0, 0.0, 4.0, 0.0, 0.0, 8.0, 0.0, 0.0)


def findings(folder: Path, forge: Forgery | None = None) -> list[str]:
    ours, theirs = story.simulator(), story.broker()
    if forge is not None:
        forge(ours, theirs)
    story.write(folder, ours, theirs)
    return [str(finding) for finding in audit(folder).findings]


def put(record: s.AnyRecord | b.AnySharingRecord, *, instead: str = "", before: str = "") -> Forgery:
    """Forge one record: the n-th of a kind (``Kind`` or ``Kind:n``) is replaced, or gets one before it."""
    name, _, number = (instead or before).partition(":")

    def forge(ours: Ours, theirs: Theirs) -> None:
        journal: list = theirs if isinstance(record, b.SharingRecord) else ours  # type: ignore[type-arg]
        places = [i for i, one in enumerate(journal) if type(one).__name__ == name]
        place = places[int(number or 0)]
        journal[place : place + (1 if instead else 0)] = [record]

    return forge


def without(name: str, number: int = 0) -> Forgery:
    """Leave one record out."""

    def forge(ours: Ours, theirs: Theirs) -> None:
        for journal in (ours, theirs):
            places = [i for i, one in enumerate(journal) if type(one).__name__ == name]
            if places:
                del journal[places[number]]

    return forge


def test_the_story_breaks_no_law(tmp_path: Path) -> None:
    assert findings(tmp_path) == []


SHARING_LAWS: list[tuple[Forgery, str]] = [
    (
        put(b.Vacated(11, 4, 0, "bda", FIRST_TWO, b.ACKNOWLEDGED), before="EpilogBegins"),
        "vacated-twice: revocation 0 at 11: all its hosts were vacated before",
    ),
    (
        put(b.Vacated(8, 3, 0, "bda", ALL, b.ACKNOWLEDGED), instead="Vacated"),
        "vacated-twice: revocation 0 at 8: bda vacates host 2, which it was not asked for or has vacated",
    ),
    (
        put(b.Vacated(8, 3, 7, "bda", FIRST_TWO, b.ACKNOWLEDGED), before="Vacated"),
        "vacated-unasked: revocation 7 at 8: it was never asked for",
    ),
    (
        put(b.Vacated(8, 3, 0, "hpc", FIRST_TWO, b.ACKNOWLEDGED), instead="Vacated"),
        "vacated-unasked: revocation 0 at 8: hpc vacates what bda was asked for",
    ),
    (
        without("Vacated"),
        "prolog-before-vacated: h!1 at 8: its prolog begins and bda has not vacated hosts 0-1 (revocation 0)",
    ),
    (
        without("Vacated"),
        "released-before-vacated: h!1 at 11: it is released and bda has not vacated hosts 0-1 (revocation 0)",
    ),
    (
        without("Vacated"),
        "start-still-lent: h!1 at 11: released on hosts 0-1, still lent to bda",
    ),
    (
        put(b.PrologBegins(8, 3, 1, 12), instead="PrologBegins"),
        "released-in-prolog: h!1 at 11: released while its prolog lasts until tick 12",
    ),
    (
        put(b.Lent(0, 0, 0, "hpc", ((1, 2),)), instead="Lent"),
        "start-not-lent: h!1 at 11: released on host 0, not lent to hpc",
    ),
    (
        without("StartReleased", 1),
        "start-not-released: d!1#1 at 8: its start is asked for at the broker",
    ),
    (
        put(s.Started(7, "h!1", FIRST_TWO), before="KillAsked"),
        "two-tenants: h!1 at 7: hpc's on host 0, where bda's d!1 runs",
    ),
    (
        put(s.Started(8, "d!1#1", ((1, 2),)), instead="Started:1"),
        "journals-disagree: d!1#1 at 8: it starts on hosts 1-2, the broker released it on host 2",
    ),
    (
        put(b.SharingEnds(20, 8, "failed"), instead="SharingEnds"),
        "journals-disagree: outcome at 20: the simulator says that the run is done, the broker says failed",
    ),
    (
        put(b.JobOwned(0, 1, "d!9", "bda"), before="StartAsked"),
        "journals-disagree: d!9 at 20: the broker says who owns it, the simulator never saw it",
    ),
    (
        put(s.RunBegins(0, "1", 1000, 3, 0, False, {}), instead="RunBegins"),
        "journals-disagree: park: the journals are not of one run: "
        "ticks_per_second is 1000 here, 1 at the broker",
    ),
    (without("SharingBegins"), "journals-disagree: beginning: the broker's must begin with 'sharing_begins'"),
    (without("JobOwned", 1), "job-of-nobody: h!1 at 11: the broker never said whose it is"),
    (
        put(b.JobOwned(8, 3, "d!1#1", "hpc"), before="Vacated"),
        "owned-twice: d!1#1 at 8: it is bda's already",
    ),
    (
        put(b.JobOwned(8, 3, "d!1#1", "bda", "d!0"), instead="JobOwned:2"),
        "attempt-of-nothing: d!1#1 at 8: nobody owns d!0, its origin",
    ),
    (
        put(b.JobOwned(8, 3, "d!1#1", "bda", "h!1"), instead="JobOwned:2"),
        "attempt-of-nothing: d!1#1 at 8: its origin h!1 is hpc's",
    ),
    (
        put(b.Lent(17, 6, 2, "bda", ALL), instead="Lent:2"),
        "lent-twice: loan 2 at 17: lends host 2 to bda, which has them",
    ),
    (
        put(
            b.SharingBegins(0, 0, "1", 1, "p", ("hpc", "bda"), (FIRST_TWO, ALL), 3, (1, 1, 2)),
            instead="SharingBegins",
        ),
        "lent-unseen: loan 0 at 0: lends host 2 to hpc, which may never use them",
    ),
    (
        put(b.RevokeAsked(15, 5, 9, "bda", FIRST_TWO, -1), before="EndTold:1"),
        "revoked-not-lent: revocation 9 at 15: takes hosts 0-1 from bda, which has them not",
    ),
    (
        put(b.RevokeAsked(8, 3, 0, "bda", ((2, 2),), -1), before="PrologBegins"),
        "revoked-twice: revocation 0 at 8: this revocation was asked for before",
    ),
    (
        put(b.Vacated(7, 2, 0, "bda", FIRST_TWO, b.ACKNOWLEDGED), before="HostsCleared"),
        "vacated-in-use: revocation 0 at 7: bda says that it has vacated host 0, where its d!1 runs",
    ),
    (
        put(b.HostsCleared(10, 3, 1), before="StartReleased:2"),
        "start-out-of-order: h!1 at 10: 'cleared' and start 1 is in its prolog",
    ),
    (
        put(b.StartReleased(10, 3, 5), before="StartReleased:2"),
        "start-out-of-order: start 5 at 10: 'released' and start 5 was never asked for",
    ),
    (
        put(b.StartAsked(8, 3, 1, "bda", "d!1#1", ((2, 2),)), instead="StartAsked:2"),
        "start-asked-twice: d!1#1 at 8: start 1 was asked for before",
    ),
    (
        put(b.HostsCleared(16, 6, 1), instead="HostsCleared:1"),
        "cleared-in-epilog: h!1 at 16: cleared while its epilog lasts until tick 17",
    ),
    (without("HostsCleared", 1), "start-left-over: h!1 at 20: start 1 is over and the run is done: its"),
    (
        put(b.StartAsked(16, 6, 9, "hpc", "h!1", FIRST_TWO), before="HostsCleared:1"),
        "start-left-over: h!1 at 20: start 9 is asked for and the run is done: it is neither released nor",
    ),
    (
        put(b.EndTold(14, 4, "h!1"), before="EpilogBegins"),
        "told-too-early: h!1 at 14: its tenant hears that it is over and it still runs",
    ),
    (put(b.EndTold(18, 6, "h!1"), before="EndTold:2"), "told-twice: h!1 at 18: its tenant was told before"),
    (without("EndTold", 1), "end-untold: h!1 at 20: it is over and its tenant is never told"),
    (
        put(b.EndTold(14, 5, "h!1"), instead="EndTold:1"),
        "time-goes-back: sharing journal at 14: step 5: the one before is of tick 15, step 5",
    ),
    (put(b.Lent(17, 6, 2, "mine", FIRST_TWO), instead="Lent:2"), "no-such-tenant: loan 2 at 17: there is no"),
    (
        put(b.Lent(17, 6, 2, "mine", FIRST_TWO), instead="Lent:2"),
        "accounts-underivable: journals at 0: tenant 'mine' is not one of hpc, bda",
    ),
]  # fmt: skip

WORK_LAWS: list[tuple[Forgery, str]] = [
    (
        put(s.Submitted(8, "d!1#1", "p", 8, 3, -1, "", "", True, (1.0, 0.0, 0.0)), instead="Submitted:2"),
        "work-not-conserved: d!1#1 at 8: it has 1 flops to do, 2 were left: work has vanished",
    ),
    (
        put(s.Submitted(8, "d!1#1", "p", 8, 3, -1, "", "", True, (11.0, 0.0, 0.0)), instead="Submitted:2"),
        "work-not-conserved: d!1#1 at 8: it has 11 flops to do, the whole job 10: work has appeared",
    ),
    (
        put(s.KillAsked(8, ("d!1",), {}, (9,), (FLOPS,)), instead="KillAsked"),
        "progress-impossible: d!1 at 8: its part began at tick 9, it runs from tick 0 to 8",
    ),
    (
        put(s.KillAsked(8, ("d!1",), {}, (4,), ((*FLOPS[:6], 12.0, 0.0, 0.0),)), instead="KillAsked"),
        "progress-impossible: d!1 at 8: of 10 flops, 12 were done, 4 in parts that were over",
    ),
    (
        put(b.JobOwned(8, 3, "h!1", "bda", "d!1"), instead="JobOwned:1"),
        "attempts-overlap: h!1 at 11: it starts while d!1#1 runs, an attempt at the same job",
    ),
    (
        put(s.Ended(8, "d!1", OK, 0), instead="Ended"),
        "work-done-twice: d!1#1 at 8: it starts and d!1, an attempt at the same job, has succeeded",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("forge", "line"),
    [*SHARING_LAWS, *WORK_LAWS],
    ids=lambda x: x.split(":")[0] if isinstance(x, str) else "",
)
def test_a_forged_record_breaks_its_law(tmp_path: Path, forge: Forgery, line: str) -> None:
    found = findings(tmp_path, forge)
    assert [one for one in found if one.startswith(line)], found


@pytest.mark.parametrize("tenants", [("hpc", "bda"), ("bda", "hpc")])
def test_hosts_may_be_lent_to_a_higher_rank_during_a_prolog(tenants: tuple[str, str], tmp_path: Path) -> None:
    """A policy may do so, and the start goes first; a lower rank must not be in its way again."""

    def forge(ours: Ours, theirs: Theirs) -> None:
        theirs[0] = b.SharingBegins(0, 0, "1", 1, "mine", tenants, (ALL, ALL), 3, (1, 1, 2))
        put(b.Lent(9, 3, 9, "bda", FIRST_TWO), before="StartReleased:2")(ours, theirs)
        without("Lent", 3)(ours, theirs)

    told = ["start-still-lent: h!1 at 11: released on hosts 0-1, still lent to bda"]
    assert findings(tmp_path, forge) == (told if tenants[0] == "hpc" else [])


def test_states_that_do_not_add_up_are_found(tmp_path: Path) -> None:
    def forge(ours: Ours, theirs: Theirs) -> None:
        ours[7] = s.Started(8, "d!1#1", ALL)

    found = findings(tmp_path, forge)
    assert (
        # Twelve seconds of d!1#1 and four of h!1 on one host, of which the clock saw seven.
        "states-do-not-add-up: host 1 at 20: its states last 29 ticks, 16 of them busy; the run lasts 20"
        in found
    )


def test_work_that_does_not_add_up_is_found() -> None:
    """No journal leads there, since the accounts are made of it: accounts of another run do."""
    account = account_records(story.simulator(), story.broker())
    laws = WorkLaws()
    for record in [*story.broker()[:1], *story.simulator()[:-3], s.Ended(19, "d!1#1", OK, 0)]:
        assert list(laws.check(record)) == []
    told = [str(finding) for finding in laws.finish(account)]
    assert told[0].startswith("work-does-not-add-up: h!1: useful 8 + lost 0 + unfinished 0") or told[
        0
    ].startswith("work-does-not-add-up: d!1: useful 36 + lost 12 + unfinished 0 core-ticks are not")


def test_a_table_that_was_changed_is_found(tmp_path: Path) -> None:
    write_sharing_tables(tmp_path, account_records(story.simulator(), story.broker()))
    assert findings(tmp_path) == []
    loans = tmp_path / "loans.csv"
    loans.write_text(loans.read_text().replace("acknowledged", "seized"))
    assert findings(tmp_path) == [
        "table-differs: loans.csv:2: holds '1,bda,0-1,2,0,6,8,seized,0,h!1,16', "
        "the journals say '1,bda,0-1,2,0,6,8,acknowledged,0,h!1,16'"
    ]
    loans.unlink()
    assert findings(tmp_path) == ["table-missing: loans.csv: the run is complete and the table is not there"]


def test_a_refused_start_may_be_asked_for_again(tmp_path: Path) -> None:
    def forge(ours: Ours, theirs: Theirs) -> None:
        ours.insert(2, s.Refused(0, 0, "EXECUTE_JOB", "d!1", "why ever"))
        at = next(i for i, record in enumerate(theirs) if type(record) is b.StartReleased)
        again = [b.StartAsked(0, 1, 9, "bda", "d!1", ((0, 0), (2, 2))), b.StartReleased(0, 1, 9)]
        theirs[at + 1 : at + 1] = [b.StartDropped(0, 1, 0, "refused by the simulator"), *again]
        cleared = next(i for i, record in enumerate(theirs) if type(record) is b.HostsCleared)
        theirs[cleared] = b.HostsCleared(8, 3, 9)

    assert findings(tmp_path, forge) == []


def test_an_incomplete_run_can_pass(tmp_path: Path) -> None:
    def forge(ours: Ours, theirs: Theirs) -> None:
        del ours[9:], theirs[17:]

    story_so_far = findings(tmp_path, forge)
    assert story_so_far == []
    remarks = audit(tmp_path).remarks
    assert "incomplete run: the laws about its end are not checked on the broker's journal" in remarks


def test_a_killed_job_stays_where_it_was_killed(tmp_path: Path) -> None:
    """A kill in the very tick of a start whose hosts it frees is no broken law (the broker seized them)."""

    def forge(ours: Ours, theirs: Theirs) -> None:
        at = next(i for i, record in enumerate(theirs) if type(record) is b.Vacated)
        vacated = b.Vacated(6, 2, 0, "bda", FIRST_TWO, b.SEIZED)
        del theirs[at]
        theirs.insert(at - 3, vacated)

    assert findings(tmp_path, forge) == []
    assert KILLED == "COMPLETED_KILLED"
