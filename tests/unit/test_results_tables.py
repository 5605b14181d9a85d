from __future__ import annotations

import csv
from collections.abc import Sized
from pathlib import Path
from typing import get_args

import pytest

from batpy.base.errors import InputError
from batpy.protocol.records import (
    Annotated,
    AnyRecord,
    Ended,
    HostsChanged,
    PstateAsked,
    Rejected,
    Relabelled,
    RunBegins,
    RunEnds,
    Started,
    Submitted,
)
from batpy.results.journal import JournalWriter
from batpy.results.recorder import RunRecorder
from batpy.results.tables import JOBS_HEADER, TABLES, TableWriter, rebuild_tables
from batpy.results.timing import Timing, read_timing, write_timing

OK, KILLED, WALLTIME = "COMPLETED_SUCCESSFULLY", "COMPLETED_KILLED", "COMPLETED_WALLTIME_REACHED"
S = 1_000_000


def begins(hosts: int = 4, *, second: int = S, sharing: bool = False, storage: int = 0) -> RunBegins:
    return RunBegins(0, "9.9", second, hosts, storage, sharing, {"w0": "w.json"})


def submitted(time: int, job: str, res: int = 1, walltime: int = -1) -> Submitted:
    return Submitted(time, job, "p", time, res, walltime)


def tables_of(folder: Path, records: list[AnyRecord], timing: Timing | None = None) -> dict[str, list[str]]:
    writer = TableWriter(folder)
    for record in records:
        writer.write(record)
    writer.close(timing)
    return {name: (folder / name).read_text().splitlines() for name in TABLES}


def schedule_of(folder: Path) -> dict[str, str]:
    with open(folder / "schedule.csv", newline="") as file:
        return next(csv.DictReader(file))


USUAL: list[AnyRecord] = [
    begins(),
    submitted(0, "w0!0", 2, 100 * S),
    Started(0, "w0!0", ((0, 1),)),
    submitted(1_500_000, "w0!1", 3),
    submitted(2 * S, "w0!big", 64),
    Rejected(2 * S, "w0!big"),
    Annotated(3 * S, "w0!1", "hello, you"),
    Ended(10 * S, "w0!0", OK, 0),
    Started(10 * S, "w0!1", ((0, 1), (3, 3))),
    Ended(14_250_000, "w0!1", KILLED, -1),
    RunEnds(20 * S, "done"),
]


def test_one_row_a_job_in_order_of_completion_with_batsims_columns(tmp_path: Path) -> None:
    rows = tables_of(tmp_path, USUAL)["jobs.csv"]
    assert rows == [
        JOBS_HEADER.rstrip(),
        'big,w0,p,2.000000,64,-1.000000,0,REJECTED,,,,,,,,,""',
        "0,w0,p,0.000000,2,100.000000,1,COMPLETED_SUCCESSFULLY,0.000000,10.000000,10.000000,0.000000,"
        '10.000000,1.000000,0-1,-1.000000,""',
        "1,w0,p,1.500000,3,-1.000000,0,COMPLETED_KILLED,10.000000,4.250000,14.250000,8.500000,"
        '12.750000,3.000000,0-1 3,-1.000000,"hello, you"',
    ]


def test_machine_states_have_a_row_after_each_start_and_each_end_and_none_before(tmp_path: Path) -> None:
    assert tables_of(tmp_path, USUAL)["machine_states.csv"] == [
        "time,nb_sleeping,nb_switching_on,nb_switching_off,nb_idle,nb_computing",
        "0,0,0,0,2,2",
        "10,0,0,0,4,0",
        "10,0,0,0,1,3",
        "14.25,0,0,0,4,0",
    ]


def test_the_schedule_row_follows_batsims_definitions(tmp_path: Path) -> None:
    tables_of(tmp_path, USUAL, Timing(0.25, 1.5))
    assert schedule_of(tmp_path) == {
        "batsim_version": "batpy 9.9",
        "consumed_joules": "0.000000",
        "makespan": "14.250000",
        "max_slowdown": "3.000000",
        "max_turnaround_time": "12.750000",
        "max_waiting_time": "8.500000",
        "mean_slowdown": "1.333333",  # over three jobs: the rejected one counts
        "mean_turnaround_time": "7.583333",
        "mean_waiting_time": "2.833333",
        "nb_computing_machines": "4",
        "nb_grouped_switches": "0",
        "nb_jobs": "3",
        "nb_jobs_finished": "2",
        "nb_jobs_killed": "1",
        "nb_jobs_rejected": "1",
        "nb_jobs_success": "1",
        "nb_machine_switches": "0",
        "scheduling_time": "0.250000",
        "simulation_time": "1.500000",
        "success_rate": "0.333333",
        "time_computing": "32.750000",
        # Up to each host's last end: hosts 0 and 1 never, host 3 for 10 s; host 2 was never used.
        "time_idle": "10.000000",
        "time_sleeping": "0.000000",
        "time_switching_off": "0.000000",
        "time_switching_on": "0.000000",
        "time_unavailable": "0.000000",
    }


def test_storage_hosts_count_as_machines_in_the_schedule_only(tmp_path: Path) -> None:
    records: list[AnyRecord] = [
        begins(4, storage=2),
        submitted(0, "w0!1", 2),
        Started(0, "w0!1", ((3, 4),)),
        Ended(S, "w0!1", OK, 0),
    ]
    tables = tables_of(tmp_path, records)
    assert tables["machine_states.csv"][1:] == ["0,0,0,0,3,1", "1,0,0,0,4,0"]
    assert schedule_of(tmp_path)["nb_computing_machines"] == "6"


def test_a_run_time_of_zero_is_the_ten_microseconds_that_batsim_makes_of_it(tmp_path: Path) -> None:
    records: list[AnyRecord] = [
        begins(),
        submitted(0, "w0!now"),
        Started(0, "w0!now", ((0, 0),)),
        Ended(0, "w0!now", OK, 0),
        submitted(0, "w0!late"),
        Started(1800, "w0!late", ((0, 0),)),
        Ended(1800, "w0!late", OK, 0),
    ]
    now, late = tables_of(tmp_path, records)["jobs.csv"][1:]
    assert now.split(",")[8:14] == ["0.000000", "0.000010", "0.000010", "0.000000", "0.000010", "1.000000"]
    assert late.split(",")[8:14] == ["0.001800", "0.000010", "0.001810", "0.001800", "0.001810", "181.000000"]


def test_change_job_state_makes_a_row_and_uses_no_host(tmp_path: Path) -> None:
    records: list[AnyRecord] = [
        begins(),
        submitted(0, "w0!1"),
        submitted(0, "w0!2"),
        Relabelled(2 * S, "w0!1", "RUNNING"),
        Relabelled(3 * S, "w0!2", "REJECTED"),
        Relabelled(5 * S, "w0!1", WALLTIME),
    ]
    tables = tables_of(tmp_path, records)
    assert tables["jobs.csv"][1:] == [
        '2,w0,p,0.000000,1,-1.000000,0,REJECTED,,,,,,,,,""',
        "1,w0,p,0.000000,1,-1.000000,0,COMPLETED_WALLTIME_REACHED,2.000000,3.000000,5.000000,2.000000,"
        '5.000000,1.666667,,-1.000000,""',
    ]
    assert len(tables["machine_states.csv"]) == 1


def test_a_running_job_declared_over_keeps_its_hosts_until_its_end_and_has_one_row(tmp_path: Path) -> None:
    records: list[AnyRecord] = [
        begins(),
        submitted(0, "w0!1"),
        Started(0, "w0!1", ((0, 0),)),
        Relabelled(5 * S, "w0!1", KILLED),
        HostsChanged(6 * S, ((0, 0),), False),
        Ended(8 * S, "w0!1", OK, 0),
    ]
    tables = tables_of(tmp_path, records)
    assert [row.split(",")[7] for row in tables["jobs.csv"][1:]] == [KILLED]
    assert tables["machine_states.csv"][1:] == ["0,0,0,0,3,1", "8,0,0,0,3,0"]


def test_unavailable_hosts_are_in_no_column_even_while_their_job_goes_on(tmp_path: Path) -> None:
    records: list[AnyRecord] = [
        begins(),
        submitted(0, "w0!1", 2),
        submitted(0, "w0!2"),
        Started(0, "w0!1", ((0, 1),)),
        HostsChanged(2 * S, ((1, 2),), False),
        Started(2 * S, "w0!2", ((3, 3),)),
        HostsChanged(4 * S, ((1, 1),), True),
        Ended(5 * S, "w0!2", OK, 0),
        HostsChanged(6 * S, ((0, 0),), False),
        Ended(7 * S, "w0!1", OK, 0),
        HostsChanged(9 * S, ((0, 0), (2, 2)), True),
    ]
    assert tables_of(tmp_path, records)["machine_states.csv"][1:] == [
        "0,0,0,0,2,2",
        "2,0,0,0,0,2",
        "5,0,0,0,1,2",
        "7,0,0,0,2,0",
    ]
    cells = schedule_of(tmp_path)
    # Host 1 away 2-4 s, host 2 away 2-9 s, host 0 away 6-9 s.
    assert cells["time_unavailable"] == "12.000000"
    assert cells["time_computing"] == "14.000000"  # host 0: 6 s, host 1: 7 - 2 s, host 3: 3 s
    assert cells["time_idle"] == "4.000000"  # host 2: 2 s, host 3: 2 s


def test_shared_hosts_compute_until_their_last_job_leaves(tmp_path: Path) -> None:
    records: list[AnyRecord] = [
        begins(2, sharing=True),
        submitted(0, "w0!1"),
        submitted(0, "w0!2", 2),
        Started(0, "w0!1", ((0, 0),)),
        Started(S, "w0!2", ((0, 1),)),
        Ended(2 * S, "w0!1", OK, 0),
        Ended(3 * S, "w0!2", OK, 0),
    ]
    assert tables_of(tmp_path, records)["machine_states.csv"][1:] == [
        "0,0,0,0,1,1",
        "1,0,0,0,0,2",
        "2,0,0,0,0,2",
        "3,0,0,0,2,0",
    ]
    assert schedule_of(tmp_path)["time_computing"] == "5.000000"


def test_a_full_id_splits_at_its_first_mark(tmp_path: Path) -> None:
    records: list[AnyRecord] = [begins(), submitted(0, "dyn!3#1!x"), Rejected(0, "dyn!3#1!x")]
    assert tables_of(tmp_path, records)["jobs.csv"][1].startswith("3#1!x,dyn,p,")


def test_names_and_notes_that_hold_marks_of_csv_are_quoted(tmp_path: Path) -> None:
    records: list[AnyRecord] = [
        begins(),
        Submitted(0, 'w0!a,"b"', "two\nlines", 0, 1, -1),
        Annotated(0, 'w0!a,"b"', 'say "x"'),
        Rejected(0, 'w0!a,"b"'),
    ]
    tables_of(tmp_path, records)
    with open(tmp_path / "jobs.csv", newline="") as file:
        row = next(csv.DictReader(file))
    assert (row["job_id"], row["profile"], row["metadata"]) == ('a,"b"', "two\nlines", 'say "x"')


def test_a_dynamic_job_may_have_been_submitted_after_its_start(tmp_path: Path) -> None:
    early = Submitted(0, "w0!1", "p", 2 * S, 1, -1, dynamic=True)
    records: list[AnyRecord] = [
        begins(),
        early,
        Started(0, "w0!1", ((0, 0),)),
        Ended(4 * S, "w0!1", OK, 0),
    ]
    row = tables_of(tmp_path, records)["jobs.csv"][1].split(",")
    assert row[8:14] == ["0.000000", "4.000000", "4.000000", "-2.000000", "2.000000", "0.500000"]


def test_a_resolution_of_nanoseconds_is_written_in_full(tmp_path: Path) -> None:
    records: list[AnyRecord] = [
        begins(second=10**9),
        submitted(1, "w0!1"),
        Started(1, "w0!1", ((0, 0),)),
        Ended(10**9 + 1, "w0!1", OK, 0),
    ]
    tables = tables_of(tmp_path, records)
    assert tables["jobs.csv"][1].split(",")[10] == "1.000000001"
    assert tables["machine_states.csv"][1].startswith("0.000000001,")


def test_a_run_without_jobs_has_means_that_are_not_numbers(tmp_path: Path) -> None:
    tables = tables_of(tmp_path, [begins(), RunEnds(0, "done")])
    assert [len(rows) for rows in tables.values()] == [1, 1, 2]
    cells = schedule_of(tmp_path)
    assert (cells["mean_slowdown"], cells["success_rate"], cells["makespan"]) == ("nan", "nan", "0.000000")


def test_a_run_that_rejects_every_job_has_a_makespan_of_zero(tmp_path: Path) -> None:
    tables_of(tmp_path, [begins(), submitted(5, "w0!1"), Rejected(5, "w0!1"), RunEnds(5, "done")])
    cells = schedule_of(tmp_path)
    assert (cells["nb_jobs"], cells["nb_jobs_rejected"]) == ("1", "1")
    assert (cells["mean_waiting_time"], cells["makespan"]) == ("0.000000", "0.000000")


def test_changes_of_power_state_are_counted_by_request_and_by_host(tmp_path: Path) -> None:
    records: list[AnyRecord] = [begins()]
    records += [PstateAsked(0, ((0, 2),), 1, done) for done in (False, True)]
    records.append(PstateAsked(1, ((3, 3),), 1, False))
    tables_of(tmp_path, records)
    cells = schedule_of(tmp_path)
    assert (cells["nb_grouped_switches"], cells["nb_machine_switches"]) == ("2", "4")


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (Started(1, "w0!ghost", ((0, 0),)), "w0!ghost does not wait"),
        (Ended(1, "w0!ghost", OK, 0), "w0!ghost does not run"),
        (Rejected(1, "w0!ghost"), "w0!ghost does not wait"),
        (Relabelled(1, "w0!ghost", "RUNNING"), "w0!ghost does not wait"),
        (Relabelled(1, "w0!ghost", KILLED), "w0!ghost does not run"),
        (begins(), "the run has already begun"),
    ],
)
def test_a_record_that_contradicts_the_journal_is_named_with_its_number(
    tmp_path: Path, bad: AnyRecord, why: str
) -> None:
    journal = JournalWriter(tmp_path / "journal.msgpack")
    journal.write_many([begins(), submitted(0, "w0!1"), bad])
    journal.close()
    with pytest.raises(InputError) as caught:
        rebuild_tables(tmp_path)
    assert str(caught.value).startswith(f"{tmp_path / 'journal.msgpack'}: record 3: ")
    assert why in str(caught.value)


def test_records_before_the_beginning_are_refused(tmp_path: Path) -> None:
    writer = TableWriter(tmp_path)
    with pytest.raises(InputError, match="the run has not begun"):
        writer.write(submitted(0, "w0!1"))
    writer.close()


def test_tables_made_again_from_the_journal_have_the_same_bytes(tmp_path: Path) -> None:
    recorder = RunRecorder(tmp_path / "run")
    for record in USUAL:
        recorder.write(record)
    recorder.close(Timing(0.25, 1.5))
    recorder.close()
    live = {name: (tmp_path / "run" / name).read_bytes() for name in TABLES}
    for name in TABLES:
        (tmp_path / "run" / name).unlink()
    rebuild_tables(tmp_path / "run")
    assert {name: (tmp_path / "run" / name).read_bytes() for name in TABLES} == live


def test_a_folder_without_a_journal_keeps_the_tables_it_has(tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text("from elsewhere\n")
    with pytest.raises(InputError, match="cannot read the journal"):
        rebuild_tables(tmp_path)
    assert (tmp_path / "jobs.csv").read_text() == "from elsewhere\n"


def test_tables_can_be_turned_off(tmp_path: Path) -> None:
    recorder = RunRecorder(tmp_path / "run", tables=False, summary=False)
    for record in USUAL:
        recorder.write(record)
    recorder.close()
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["journal.msgpack"]
    assert recorder.summary is None


def test_what_an_earlier_run_left_does_not_pass_for_this_ones_result(tmp_path: Path) -> None:
    old = ["schedule.csv", "summary.json", "timing.json"]
    for name in old:
        (tmp_path / name).write_text("old")
    recorder = RunRecorder(tmp_path)
    recorder.flush()
    assert not any((tmp_path / name).exists() for name in old)
    recorder.close()


def test_rows_so_far_are_readable_after_a_flush(tmp_path: Path) -> None:
    recorder = RunRecorder(tmp_path)
    for record in USUAL[:-2]:
        recorder.write(record)
    recorder.flush()
    assert (tmp_path / "jobs.csv").read_text().count("\n") == 3
    assert not (tmp_path / "schedule.csv").exists()
    recorder.close()


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot prepare the output folder"):
        RunRecorder(tmp_path / "file" / "run")


def test_a_finished_job_leaves_memory(tmp_path: Path) -> None:
    writer = TableWriter(tmp_path)
    for record in USUAL:
        writer.write(record)
    fold = writer._fold
    kept: list[Sized] = [fold.waiting, fold.running, fold.metadata, fold._leaving, fold._over, fold._occupied]
    assert [len(one) for one in kept] == [0] * 6
    writer.close()


def test_timing_figures_survive_and_nonsense_is_refused(tmp_path: Path) -> None:
    assert read_timing(tmp_path) == Timing(0, 0)
    write_timing(tmp_path, Timing(1.25, 3.5))
    assert read_timing(tmp_path) == Timing(1.25, 3.5)
    (tmp_path / "timing.json").write_text('{"scheduling_time": "soon"}')
    with pytest.raises(InputError, match=r"timing\.json: not readable"):
        read_timing(tmp_path)


def test_every_kind_of_record_has_a_place_in_the_fold(tmp_path: Path) -> None:
    writer = TableWriter(tmp_path)
    writer.write(begins())
    in_the_loop = {RunBegins, Submitted, Started, Ended}
    assert in_the_loop | set(writer._fold._handlers) == set(get_args(AnyRecord))
    writer.close()
