"""The accounts of a run told by hand; ``tests/support/shared_story.py`` tells it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
import shared_story as story

from batpy.base.errors import InputError
from batpy.protocol import records as s
from batpy.protocol import sharing_records as b
from batpy.results.accounting.account import Account
from batpy.results.accounting.figures import figures
from batpy.results.accounting.fold import account_records
from batpy.results.accounting.joined import joined
from batpy.results.accounting.run import finish_accounts, finish_summary
from batpy.results.accounting.tables import sharing_tables
from batpy.results.summary import Summary, summarise


@pytest.fixture
def account() -> Account:
    return account_records(story.simulator(), story.broker())


def test_each_host_and_tenant_has_its_row_and_the_states_fill_twenty_seconds(account: Account) -> None:
    # Host 2 has two cores: its amounts are doubled. bda kept 4 of the 8 s of d!1.
    assert sharing_tables(account)["accounting.csv"].splitlines() == [
        "tenant,host,cores,lent,useful,lost,reexecuted,unfinished,overlap,"
        "busy,idle,prolog,blocked,epilog,down,unlent",
        "hpc,0,1,20,4,0,0,0,0,4,0,3,0,2,0,0",
        "hpc,1,1,20,4,0,0,0,0,4,0,3,2,2,0,0",
        "hpc,2,2,40,0,0,0,0,0,0,0,0,0,0,0,0",
        "bda,0,1,11,4,4,4,0,0,8,3,0,0,0,0,0",
        "bda,1,1,11,0,0,0,0,0,0,8,0,0,0,0,0",
        "bda,2,2,40,32,8,8,0,0,40,0,0,0,0,0,0",
        ",1,1,0,0,0,0,0,0,0,0,0,0,0,1,0",
    ]


def test_loans_go_back_piece_by_piece_for_the_sake_of_a_start(account: Account) -> None:
    assert sharing_tables(account)["loans.csv"].splitlines() == [
        "loan,tenant,hosts,cores,lent_at,asked_at,vacated_at,how,revocation,wanted_by,core_seconds",
        "1,bda,0-1,2,0,6,8,acknowledged,0,h!1,16",
        "0,hpc,0-2,4,0,,,,,,80",
        "1,bda,2,2,0,,,,,,40",
        "2,bda,0-1,2,17,,,,,,6",
    ]


def test_the_work_of_a_job_counts_once_over_its_attempts(account: Account) -> None:
    assert sharing_tables(account)["work.csv"].splitlines() == [
        "job_id,tenant,attempts,disruptions,submission_time,starting_time,finish_time,final_state,"
        "executed,useful,lost,reexecuted,unfinished",
        "h!1,hpc,1,0,6,11,15,COMPLETED_SUCCESSFULLY,8,8,0,0,0",
        "d!1,bda,2,1,0,0,20,COMPLETED_SUCCESSFULLY,48,36,12,12,0",
    ]


def test_figures_of_the_tenants(account: Account) -> None:
    told = figures(account)
    assert (told.policy, told.horizon, told.capacity, told.down, told.unlent) == ("bebida", 20, 80, 1, 0)
    hpc, bda = told.tenants["hpc"], told.tenants["bda"]
    assert list(told.tenants) == ["hpc", "bda"]
    # Five seconds of waiting: two until bda had left, three in the prolog.
    assert (hpc.mean_waiting, hpc.mean_waiting_blocked, hpc.mean_waiting_prolog) == (5, 2, 3)
    assert (hpc.held_starts, hpc.effectiveness, hpc.disruptions) == (1, 1, 0)
    assert (bda.effectiveness, bda.recompute) == (36 / 48, 12 / 48)
    assert (bda.jobs, bda.attempts, bda.disruptions, bda.restarts) == (1, 2, 1, 0)
    assert bda.disruptions_per_job == 1
    assert bda.disruptions_per_core_hour == pytest.approx(1 / (48 / 3600))
    assert msgspec.structs.asdict(bda.core_seconds) == {
        "lent": 62, "useful": 36, "lost": 12, "reexecuted": 12, "unfinished": 0, "overlap": 0,
        "busy": 48, "idle": 11, "prolog": 0, "blocked": 0, "epilog": 0,
    }  # fmt: skip


def test_summary_screen_and_tables_of_a_folder(tmp_path: Path) -> None:
    story.write(tmp_path, story.simulator(), story.broker())
    summary = finish_summary(tmp_path, summarise(tmp_path))
    assert {path.name for path in tmp_path.iterdir()} >= {"accounting.csv", "loans.csv", "work.csv"}
    assert msgspec.json.decode((tmp_path / "summary.json").read_bytes(), type=Summary) == summary
    lines = summary.to_text().splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("shared by"))
    assert [" ".join(line.split()) for line in lines[at : at + 6]] == [
        "shared by bebida: 70.00% of the core time busy",
        "hpc 10.00% busy, 2.50% blocked, 7.50% in prologs, 5.00% in epilogs",
        "1 jobs waited 5 s, of it 2 s for hosts to be vacated and 3 s in the prolog",
        "bda 60.00% busy, 13.75% idle",
        "1 jobs waited 0 s",
        "effectiveness 75.00%, 1 disruptions, 25.00% computed again",
    ]


def test_a_run_without_a_broker_has_no_such_block(tmp_path: Path) -> None:
    story.write(tmp_path, story.simulator(), story.broker())
    (tmp_path / "sharing.journal").unlink()
    assert b"sharing" not in summarise(tmp_path).to_json()


# ---------------------------------------------------------------------- what else may happen to work


def told(work: tuple[float, ...], *, since: int = 4, again: tuple[float, ...]) -> Account:
    """The story with another progress and another resubmission."""
    ours = story.simulator()
    ours[4] = s.KillAsked(8, ("d!1",), {}, (since,), (work,) if work else ())
    ours[6] = s.Submitted(8, "d!1#1", "p#1", 8, 3, -1, "", "", True, again)
    return account_records(ours, story.broker())


HALF_WAY = (10.0, 0.0, 0.0, 4.0, 0.0, 0.0, 8.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("again", "useful"),
    [
        ((10.0, 0.0, 0.0), 0),  # from zero
        ((6.0, 0.0, 0.0), 4),  # the stage that was over
        ((2.0, 0.0, 0.0), 8),  # all of it
        ((4.0, 0.0, 0.0), 6),  # half of the running stage
        ((8.0, 0.0, 0.0), 2),  # half of the stage that was over
        ((), 0),  # not told: nothing counts as kept
    ],
)
def test_what_is_left_to_do_tells_what_was_kept(again: tuple[float, ...], useful: int) -> None:
    work = told(HALF_WAY, again=again).jobs[-1]
    assert (work.useful, work.lost) == (useful * 3 + 24, (8 - useful) * 3)


def test_a_kill_whose_work_is_not_known_keeps_nothing() -> None:
    assert told((), again=(6.0, 0.0, 0.0)).jobs[-1].useful == 24
    assert told((0.0,) * 9, again=(0.0,) * 3).jobs[-1].useful == 24


def test_amounts_of_several_kinds_count_by_their_shares() -> None:
    # Flops say that all is left but a fifth, bytes that nothing is left to be kept: on average a tenth.
    work = (10.0, 4.0, 0.0, 2.0, 0.0, 0.0, 8.0, 2.0, 0.0)
    assert told(work, since=2, again=(8.0, 4.0, 0.0)).jobs[-1].useful == 2 * 3 + 24


def test_what_was_kept_counts_as_well_if_the_first_attempt_never_ran() -> None:
    """Its start was dropped in its prolog: only what was registered after it tells the work of the job."""
    ours, theirs = story.simulator(), story.broker()
    ours[1:2] = [
        s.Submitted(0, "d!0", "p", 0, 3, -1),
        s.Rejected(0, "d!0"),
        s.Submitted(0, "d!1", "p", 0, 3, -1, "", "", True, (10.0, 0.0, 0.0)),
    ]
    theirs[3:4] = [b.JobOwned(0, 1, "d!0", "bda"), b.JobOwned(0, 1, "d!1", "bda", "d!0")]
    work = account_records(ours, theirs).jobs[-1]
    assert (work.job, work.attempts, work.useful, work.lost) == ("d!0", 3, 36, 12)


def test_work_of_a_job_that_never_succeeds_is_lost() -> None:
    ours = story.simulator()
    ours[-2] = s.Ended(20, "d!1#1", "COMPLETED_FAILED", 1)
    work = account_records(ours, story.broker()).jobs[-1]
    assert (work.state, work.useful, work.lost, work.reexecuted) == ("COMPLETED_FAILED", 0, 48, 24)


def test_work_of_a_job_that_is_under_way_at_the_end_is_unfinished() -> None:
    ours = story.simulator()
    del ours[-2]
    theirs = [*story.broker()[:-3], b.SharingEnds(20, 8, "done")]
    work = account_records(ours, theirs).jobs[-1]
    assert (work.state, work.useful, work.lost, work.unfinished) == ("", 0, 12, 36)


def test_the_story_ends_with_the_last_record_of_a_broker_that_was_killed() -> None:
    told = list(joined(story.simulator(), story.broker()[:-4]))
    assert not any(record.time > 17 for record in told)


def test_a_start_that_is_dropped_keeps_its_hosts_no_longer() -> None:
    theirs = story.broker()
    at = theirs.index(b.PrologBegins(8, 3, 1, 11, ("bda",)))
    theirs[at:] = [b.StartDropped(8, 3, 1, "cancelled"), b.SharingEnds(20, 8, "done")]
    ours = [record for record in story.simulator()[:7] if record.time <= 8]
    account = account_records([*ours, s.RunEnds(20, "done")], theirs)
    hpc, nobody = account.totals(0), account.totals(-1)
    assert (hpc["blocked"], hpc["prolog"], hpc["idle"]) == (2, 0, 24)
    assert account.counts[0].dropped_starts == 1
    assert nobody["unlent"] == 0


def test_jobs_that_share_a_host_are_told_apart_as_overlap() -> None:
    two: list[s.AnyRecord] = []
    for job in ("x!1", "x!2"):
        two += [s.Submitted(0, job, "p", 0, 1, -1), s.Started(0, job, ((0, 0),))]
    ours = [s.RunBegins(0, "1", 1, 1, 0, True, {}), *two]
    ours += [s.Ended(6, "x!1", story.OK, 0), s.Ended(10, "x!2", story.OK, 0), s.RunEnds(10, "done")]
    theirs: list[b.AnySharingRecord] = [
        b.SharingBegins(0, 0, "1", 1, "static", ("x",), (((0, 0),),), 1, (1,)),
        b.Lent(0, 0, 0, "x", ((0, 0),)),
        b.JobOwned(0, 0, "x!1", "x"),
        b.JobOwned(0, 0, "x!2", "x"),
        b.SharingEnds(10, 1, "done"),
    ]
    sums = account_records(ours, theirs).totals(0)
    assert (sums["useful"], sums["busy"], sums["overlap"], sums["idle"]) == (16, 10, 6, 0)


# ---------------------------------------------------------------------- journals that cannot be accounted


def test_journals_of_two_runs_are_refused(tmp_path: Path) -> None:
    ours = [s.RunBegins(0, "1", 1, 4, 0, False, {}), *story.simulator()[1:]]
    story.write(tmp_path, ours, story.broker())
    with pytest.raises(InputError) as caught:
        finish_accounts(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}/sharing.journal: the journals are not of one run: nb_compute is 4 here, 3 at the broker"
    )


def test_an_unknown_tenant_is_refused() -> None:
    theirs = [*story.broker()[:3], b.JobOwned(0, 1, "d!1", "nobody")]
    with pytest.raises(InputError, match="tenant 'nobody' is not one of hpc, bda"):
        account_records(story.simulator(), theirs)


def test_a_broken_run_that_left_no_account_keeps_its_summary(tmp_path: Path) -> None:
    ours = [*story.simulator()[:2], s.RunEnds(3, "peer_lost", "the broker died")]
    story.write(tmp_path, ours, [])
    summary = summarise(tmp_path)
    assert summary.outcome == "peer_lost"
    assert finish_summary(tmp_path, summary) == summary
    assert not (tmp_path / "loans.csv").exists()


@pytest.mark.parametrize("state", [story.OK, story.KILLED])
def test_an_attempt_whose_registration_was_refused_is_none(state: str) -> None:
    ours, theirs = story.simulator(), story.broker()
    refused = s.Refused(20, 0, "REGISTER_JOB", "d!1#2", "profile p#2 does not exist")
    ours[-2:] = [s.Ended(20, "d!1#1", state, 0), refused, s.RunEnds(20, "done")]
    theirs[-1:-1] = [b.JobOwned(20, 7, "d!1#2", "bda", "d!1")]
    job = next(job for job in account_records(ours, theirs).jobs if job.job == "d!1")
    assert (job.attempts, job.state, job.submitted, job.ended) == (2, state, 0, 20)
