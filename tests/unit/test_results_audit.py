from __future__ import annotations

import json
from pathlib import Path

import pytest

from batpy import __version__
from batpy.base.errors import InputError
from batpy.protocol.records import (
    Annotated,
    AnyRecord,
    Ended,
    HostsChanged,
    KillAsked,
    PstateAsked,
    Refused,
    Rejected,
    Relabelled,
    RunBegins,
    RunEnds,
    Started,
    Submitted,
)
from batpy.results import audit as audit_module
from batpy.results.audit import AuditReport, audit
from batpy.results.journal import JournalWriter
from batpy.results.recorder import RunRecorder
from batpy.results.summary import Trim, summarise
from batpy.results.timing import Timing

OK, KILLED, WALLTIME = "COMPLETED_SUCCESSFULLY", "COMPLETED_KILLED", "COMPLETED_WALLTIME_REACHED"
S = 1_000_000


def begins(*, sharing: bool = False) -> RunBegins:
    return RunBegins(0, __version__, S, 4, 1, sharing, {})


def sub(job: str, res: int = 1, walltime: int = -1, time: int = 0) -> Submitted:
    return Submitted(time, job, "p", time, res, walltime)


def report(folder: Path, records: list[AnyRecord]) -> AuditReport:
    """Audit of a journal alone."""
    writer = JournalWriter(folder / "journal.msgpack")
    writer.write_many(records)
    writer.close()
    return audit(folder)


def found(folder: Path, *records: AnyRecord, sharing: bool = False, done: bool = True) -> list[str]:
    """Findings of a journal that begins and ends properly."""
    closing = [RunEnds(max(record.time for record in records), "done")] if done else []
    lines = report(folder, [begins(sharing=sharing), *records, *closing]).findings
    return [str(finding) for finding in lines]


LEGAL: list[AnyRecord] = [
    sub("w0!1", 2, 10 * S),
    sub("w0!2", 2),
    sub("w0!3"),
    sub("w0!4"),
    Refused(0, 0, "EXECUTE_JOB", "w0!9", "unknown"),
    Started(0, "w0!1", ((0, 1),)),
    Annotated(1, "w0!1", "note"),
    Relabelled(1, "w0!4", "RUNNING"),
    HostsChanged(S, ((1, 2),), False),
    Relabelled(2 * S, "w0!4", OK),
    Ended(10 * S, "w0!1", WALLTIME, -1),
    HostsChanged(10 * S, ((1, 1),), True),
    Started(10 * S, "w0!2", ((0, 1),)),
    Ended(10 * S, "w0!2", OK, 0),
    Started(10 * S, "w0!3", ((0, 0),)),
    KillAsked(11 * S, ("w0!3",), {}),
    Ended(11 * S, "w0!3", KILLED, -1),
    PstateAsked(12 * S, ((0, 4),), 1, False),
]


def test_a_legal_run_with_everything_in_it_passes(tmp_path: Path) -> None:
    result = report(tmp_path, [begins(), *LEGAL, RunEnds(12 * S, "done")])
    assert result.findings == ()
    assert (result.passed, result.complete, result.outcome) == (True, True, "done")
    assert list(result.lines()) == [
        "remark: no tables to compare",
        "no law broken: 20 records, 4 jobs, run done",
    ]


def test_a_host_held_twice_is_found_with_job_host_and_date(tmp_path: Path) -> None:
    records: list[AnyRecord] = [
        sub("w0!1", 3),
        sub("w0!2", 2),
        Started(S, "w0!1", ((0, 2),)),
        Started(2_500_000, "w0!2", ((2, 3),)),
        Ended(3 * S, "w0!1", OK, 0),
        Ended(3 * S, "w0!2", OK, 0),
    ]
    assert found(tmp_path, *records) == ["host-held-twice: w0!2 at 2.5: w0!1 holds host 2"]
    assert found(tmp_path, *records, sharing=True) == []


def test_a_job_of_zero_length_holds_its_hosts_between_its_records(tmp_path: Path) -> None:
    first: list[AnyRecord] = [sub("w0!1"), sub("w0!2"), Started(S, "w0!1", ((0, 0),))]
    second: list[AnyRecord] = [Started(S, "w0!2", ((0, 0),)), Ended(S, "w0!2", OK, 0)]
    end = Ended(S, "w0!1", OK, 0)
    assert found(tmp_path, *first, end, *second) == []
    assert found(tmp_path, *first, *second, end) == ["host-held-twice: w0!2 at 1: w0!1 holds host 0"]


def test_several_jobs_may_use_a_storage_host(tmp_path: Path) -> None:
    records: list[AnyRecord] = [sub("w0!1", 2), sub("w0!2", 2), Started(0, "w0!1", ((0, 0), (4, 4)))]
    records.append(Started(0, "w0!2", ((1, 1), (4, 4))))
    records += [Ended(1, "w0!1", OK, 0), Ended(1, "w0!2", OK, 0)]
    assert found(tmp_path, *records) == []


def test_a_storage_host_that_is_not_shared_holds_one_job(tmp_path: Path) -> None:
    begun = RunBegins(0, "9.9", S, 4, 1, True, {}, storage_sharing=False)
    records: list[AnyRecord] = [begun, sub("w0!1", 2), sub("w0!2", 2), Started(0, "w0!1", ((0, 0), (4, 4)))]
    records += [Started(0, "w0!2", ((0, 0), (4, 4))), Ended(1, "w0!1", OK, 0), Ended(1, "w0!2", OK, 0)]
    records.append(RunEnds(1, "done"))
    assert [line for line in report(tmp_path, records).lines() if "held" in line] == [
        "host-held-twice: w0!2 at 0: w0!1 holds host 4"
    ]


ONE = Started(S, "w0!1", ((0, 0),))
END = Ended(2 * S, "w0!1", OK, 0)


@pytest.mark.parametrize(
    ("records", "line"),
    [
        ([ONE, END], "start-without-submission: w0!1 at 1: it was never submitted"),
        ([sub("w0!1"), ONE, ONE, END], "start-without-submission: w0!1 at 1: it runs since tick 1000000"),
        ([sub("w0!1"), ONE, END, ONE, END], "start-without-submission: w0!1 at 1: it is over"),
        ([sub("w0!1"), ONE, END, END], "end-without-start: w0!1 at 2: it is over"),
        ([sub("w0!1"), END], "end-without-start: w0!1 at 2: it waits"),
        ([sub("w0!1"), Rejected(1, "w0!1"), ONE], "start-without-submission: w0!1 at 1: it is over"),
        ([sub("w0!1"), ONE, Rejected(S, "w0!1"), END], "rejection-impossible: w0!1 at 1: it runs since tick"),
        ([sub("w0!1"), ONE, END, sub("w0!1", time=3 * S)], "submitted-twice: w0!1 at 3: a job of this id"),
        ([sub("w0!1", walltime=S - 1), ONE, END], "walltime-exceeded: w0!1 at 2: ran 1000000 ticks"),
        ([sub("w0!1"), ONE], "never-ended: w0!1 at 1: started at tick 1000000, the run is done"),
        ([sub("w0!1")], "never-started: w0!1 at 0: submitted at tick 0, the run is done"),
        (
            [sub("w0!1"), ONE, Ended(2 * S, "w0!1", "REJECTED", 0)],
            "state-impossible: w0!1 at 2: a job cannot end as REJECTED",
        ),
        (
            [sub("w0!1"), ONE, Ended(2 * S, "w0!1", OK, 3)],
            "state-impossible: w0!1 at 2: COMPLETED_SUCCESSFULLY with return code 3",
        ),
        (
            [sub("w0!1"), ONE, Ended(2 * S, "w0!1", WALLTIME, -1)],
            "state-impossible: w0!1 at 2: it reached a walltime and has none",
        ),
        (
            [sub("w0!1"), Started(S, "w0!1", ()), END],
            "allocation-empty: w0!1 at 1: it starts on no host",
        ),
        (
            [sub("w0!1", 2), Started(S, "w0!1", ((1, 1), (0, 0))), END],
            "allocation-malformed: w0!1 at 1: its hosts are not ascending",
        ),
        ([sub("w0!1"), Started(S, "w0!1", ((5, 5),)), END], "no-such-host: w0!1 at 1: host 5, there are 5"),
        ([HostsChanged(1, ((5, 6),), False)], "no-such-host: host 6 at 0.000001: there are 5"),
        ([PstateAsked(1, ((5, 5),), 0, False)], "no-such-host: host 5 at 0.000001: there are 5"),
        (
            [sub("w0!1"), HostsChanged(1, ((0, 0),), False), ONE, END],
            "start-on-unavailable-host: w0!1 at 1: host 0 is away",
        ),
        (
            [HostsChanged(1, ((0, 0),), True)],
            "availability: host 0 at 0.000001: it returns and was never away",
        ),
        (
            [HostsChanged(1, ((0, 2),), False), HostsChanged(2, ((2, 3),), False)],
            "availability: host 2 at 0.000002: it leaves and was already away",
        ),
        (
            [Submitted(0, "w0!1", "p", 2 * S, 1, -1), ONE, END],
            "start-before-submission: w0!1 at 1: submitted at tick 2000000",
        ),
        (
            [sub("w0!1", time=5), Rejected(4, "w0!1")],
            "time-goes-back: journal at 0.000004: the record before",
        ),
        ([sub("w0!1"), Relabelled(1, "w0!1", OK), ONE, END], "change-of-state-impossible: w0!1 at 0.000001"),
        ([KillAsked(1, ("w0!1",), {})], "kill-impossible: w0!1 at 0.000001: it was never submitted"),
        ([Annotated(1, "w0!1", "x")], "metadata-of-nothing: w0!1 at 0.000001: it was never submitted"),
        ([begins(), sub("w0!1"), ONE, END], "begins-twice: journal at 0: the run has already begun"),
    ],
)
def test_each_broken_law_is_one_line(tmp_path: Path, records: list[AnyRecord], line: str) -> None:
    assert any(text.startswith(line) for text in found(tmp_path, *records)), found(tmp_path, *records)


def test_a_dynamic_job_may_carry_any_submission_date(tmp_path: Path) -> None:
    records: list[AnyRecord] = [Submitted(0, "w0!1", "p", 9 * S, 1, -1, dynamic=True), ONE, END]
    assert found(tmp_path, *records) == []


def test_a_journal_that_does_not_begin_is_found(tmp_path: Path) -> None:
    result = report(tmp_path, [sub("w0!1"), RunEnds(0, "interrupted")])
    assert [finding.rule for finding in result.findings] == ["no-beginning"]


def test_another_number_of_hosts_than_asked_for_is_a_remark(tmp_path: Path) -> None:
    records: list[AnyRecord] = [begins(), sub("w0!1", 2), ONE, END, RunEnds(2 * S, "done")]
    result = report(tmp_path, records)
    assert result.passed
    assert result.remarks[0].startswith("1 jobs got another number of hosts than they asked for, first w0!1")


def test_an_incomplete_run_passes_and_says_so(tmp_path: Path) -> None:
    result = report(tmp_path, [begins(), *LEGAL[:6]])
    assert (result.passed, result.complete, result.outcome) == (True, False, "incomplete")
    assert "incomplete run: the closing marker is missing" in result.remarks


def test_a_run_cut_inside_a_record_passes_and_names_the_place(tmp_path: Path) -> None:
    report(tmp_path, [begins(), *LEGAL])
    path = tmp_path / "journal.msgpack"
    path.write_bytes(path.read_bytes()[:-4])
    result = audit(tmp_path)
    assert result.passed
    assert any("cut inside record 19, at byte" in remark for remark in result.remarks)


def test_jobs_that_never_end_are_no_finding_in_a_run_that_was_stopped(tmp_path: Path) -> None:
    records: list[AnyRecord] = [
        begins(),
        sub("w0!1"),
        sub("w0!2"),
        ONE,
        RunEnds(2 * S, "interrupted", "Ctrl-C"),
    ]
    result = report(tmp_path, records)
    assert (result.findings, result.outcome) == ((), "interrupted")


def test_findings_beyond_the_first_thousand_are_counted(tmp_path: Path) -> None:
    result = report(tmp_path, [begins(), *(Rejected(0, f"w0!{i}") for i in range(1200))])
    assert (len(result.findings), result.more) == (1000, 200)
    assert "and 200 more findings" in result.lines()


def test_a_damaged_journal_is_one_line_with_the_byte(tmp_path: Path) -> None:
    report(tmp_path, [begins(), *LEGAL])
    path = tmp_path / "journal.msgpack"
    path.write_bytes(path.read_bytes()[:-4] + b"\xc1\xc1\xc1\xc1\xc1")
    with pytest.raises(InputError, match=r"byte \d+, record 19: damaged journal"):
        audit(tmp_path)


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    recorder = RunRecorder(tmp_path)
    for record in [begins(), *LEGAL, RunEnds(12 * S, "done")]:
        recorder.write(record)
    recorder.close(Timing(1.5, 2.5))
    return tmp_path


def test_tables_written_live_agree_with_the_journal(finished: Path) -> None:
    result = audit(finished)
    assert (result.findings, result.remarks) == ((), ())


@pytest.mark.parametrize("name", ["jobs.csv", "machine_states.csv"])
def test_a_table_that_says_something_else_is_named_with_its_line(finished: Path, name: str) -> None:
    lines = (finished / name).read_text().splitlines(keepends=True)
    lines[2] = "9" + lines[2]
    (finished / name).write_text("".join(lines))
    (finding,) = audit(finished).findings
    assert (finding.rule, finding.subject) == ("table-differs", f"{name}:3")
    column = "job_id" if name == "jobs.csv" else "time"
    assert finding.text.startswith(f"{column} is '9")
    assert ", the journal says '" in finding.text
    assert finding.text.count(",") <= 2
    *_, last = audit(finished).lines()
    assert last.startswith("1 finding: ")


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ('"idle": 16.0', '"idle": 6.0', "summary.json: host_seconds.idle: holds 6.0, the journal says 16.0"),
        ('"outcome": "done"', '"outcome": "fine"', 'outcome: holds "fine", the journal says "done"'),
        ('"reason": "",', "", 'reason: holds nothing, the journal says ""'),
        ('"reason": "",', '"reason": "", "more": 3,', "more: holds 3, the journal says nothing"),
    ],
)
def test_an_edited_summary_is_found(finished: Path, before: str, after: str, told: str) -> None:
    path = finished / "summary.json"
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))
    (finding,) = audit(finished).findings
    assert finding.rule == "summary-differs"
    assert told in str(finding)


def test_a_summary_that_leaves_out_the_warm_up_passes(finished: Path) -> None:
    trimmed = summarise(finished, Trim.parse("3", "10%"))
    assert trimmed.waiting != summarise(finished).waiting
    trimmed.write(finished / "summary.json")
    assert audit(finished).findings == ()


def test_a_summary_of_another_version_is_not_compared(finished: Path) -> None:
    path = finished / "summary.json"
    tree = {**json.loads(path.read_text()), "version": "0.0.1", "outcome": "fine"}
    path.write_text(json.dumps(tree))
    result = audit(finished)
    assert result.findings == ()
    assert result.remarks == ("summary.json is of version 0.0.1; its figures were not compared",)


def test_a_summary_that_is_none_is_found(finished: Path) -> None:
    (finished / "summary.json").write_text("{")
    assert [finding.rule for finding in audit(finished).findings] == ["summary-unreadable"]


@pytest.mark.parametrize("cut", [-1, -20])
def test_a_table_of_a_finished_run_may_not_be_shorter(finished: Path, cut: int) -> None:
    path = finished / "jobs.csv"
    path.write_bytes(path.read_bytes()[:cut])
    assert [finding.rule for finding in audit(finished).findings] == ["table-differs"]


def test_the_wall_clock_columns_are_left_out_of_the_comparison(finished: Path) -> None:
    path = finished / "schedule.csv"
    text = path.read_text()
    path.write_text(text.replace("1.500000,2.500000", "7.000000,8.000000"))
    assert path.read_text() != text
    assert audit(finished).passed
    path.write_text(text.replace("time_idle", "time_idly"))
    assert [finding.subject for finding in audit(finished).findings] == ["schedule.csv:1"]


def test_a_missing_table_is_found_unless_there_are_none(finished: Path) -> None:
    (finished / "jobs.csv").unlink()
    assert [finding.rule for finding in audit(finished).findings] == ["table-missing"]
    for name in ("schedule.csv", "machine_states.csv"):
        (finished / name).unlink()
    result = audit(finished)
    assert (result.findings, result.remarks) == ((), ("no tables to compare",))


def test_tables_of_a_killed_run_may_lag_behind_the_journal_or_lead(finished: Path) -> None:
    (finished / "schedule.csv").unlink()
    journal = finished / "journal.msgpack"
    data, jobs = journal.read_bytes(), (finished / "jobs.csv").read_bytes()
    journal.write_bytes(data[:-4])
    for cut in (len(jobs), 300, 100):
        (finished / "jobs.csv").write_bytes(jobs[:cut])
        assert audit(finished).passed
    journal.write_bytes(data[: len(data) // 2])
    (finished / "jobs.csv").write_bytes(jobs)
    assert audit(finished).passed
    journal.write_bytes(data[:-4])
    (finished / "jobs.csv").write_bytes(jobs.replace(b",p,", b",q,"))
    assert not audit(finished).passed


def test_a_scratch_folder_without_room_is_no_finding(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_folder: Path, into: str) -> None:
        raise InputError("cannot write: No space left on device", source=f"{into}/jobs.csv")

    monkeypatch.setattr(audit_module, "rebuild_tables", full)
    with pytest.raises(InputError, match="No space left"):
        audit(finished)


def test_tables_of_a_journal_that_contradicts_itself_cannot_be_made(tmp_path: Path) -> None:
    recorder = RunRecorder(tmp_path)
    recorder.write(begins())
    recorder.close()
    report(tmp_path, [begins(), ONE, END, RunEnds(2 * S, "done")])
    rules = [finding.rule for finding in audit(tmp_path).findings]
    assert rules == ["start-without-submission", "tables-underivable"]


def test_a_stopped_run_may_lack_the_end_of_its_tables_but_not_contradict_itself(tmp_path: Path) -> None:
    recorder = RunRecorder(tmp_path)
    for record in [begins(), *LEGAL, RunEnds(12 * S, "refused", "cannot write: No space left on device")]:
        recorder.write(record)
    recorder.close(Timing(1.5, 2.5))
    assert (audit(tmp_path).findings, audit(tmp_path).remarks) == ((), ())
    (tmp_path / "schedule.csv").unlink()
    (tmp_path / "machine_states.csv").write_bytes(b"")
    jobs = (tmp_path / "jobs.csv").read_bytes()
    (tmp_path / "jobs.csv").write_bytes(jobs[: len(jobs) // 2])
    result = audit(tmp_path)
    assert result.findings == ()
    assert "machine_states.csv ends before the journal does" in result.remarks
    (tmp_path / "jobs.csv").write_bytes(jobs.replace(b",p,", b",q,"))
    assert [finding.rule for finding in audit(tmp_path).findings] == ["table-differs"]
