from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

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
from batpy.results.journal import BUNCH, JournalReader, JournalWriter, read_journal

BEGINS = RunBegins(0, "1.0", 1_000_000, 4, 1, False, {"w0": "log.swf"}, ("a", "b"), 7)
EVERY_KIND: list[AnyRecord] = [
    BEGINS,
    Submitted(1, "w0!1", "d10", 1, 2, -1, "ann", "short", True),
    Started(2, "w0!1", ((0, 1), (3, 3))),
    KillAsked(3, ("w0!1",), {"w0!1": {"profile_name": "d10", "progress": 0.5}}),
    Ended(3, "w0!1", "COMPLETED_KILLED", -1),
    Rejected(3, "w0!2"),
    Relabelled(3, "w0!3", "RUNNING"),
    Annotated(4, "w0!3", "ä note"),
    HostsChanged(5, ((0, 3),), False),
    PstateAsked(6, ((1, 1),), 13, True),
    Refused(7, 0, "EXECUTE_JOB", "w0!4", "host 9 is not there"),
    RunEnds(8, "refused", "EXECUTE_JOB: host 9 is not there"),
]


def written(path: Path, records: list[AnyRecord]) -> bytes:
    writer = JournalWriter(path)
    for record in records:
        writer.write(record)
    writer.close()
    writer.close()
    return path.read_bytes()


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        list(read_journal(path))
    return str(caught.value)


def test_every_kind_of_record_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "j"
    written(path, EVERY_KIND)
    reader = JournalReader(path)
    assert list(reader) == EVERY_KIND
    assert (reader.records, reader.complete, reader.truncated) == (len(EVERY_KIND), True, 0)
    assert reader.offset == path.stat().st_size


def test_the_first_value_says_what_the_file_is(tmp_path: Path) -> None:
    data = written(tmp_path / "j", [BEGINS])
    assert data.startswith(msgspec.msgpack.encode(["batpy-journal", 1]))


def test_equal_runs_give_equal_bytes_wherever_they_are_written(tmp_path: Path) -> None:
    (tmp_path / "deeper").mkdir()
    assert written(tmp_path / "j", EVERY_KIND) == written(tmp_path / "deeper/k", EVERY_KIND)


def test_a_full_bunch_is_readable_before_the_writer_is_closed(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path / "j")
    for time in range(BUNCH + 5):
        writer.write(Rejected(time, "w0!1"))
    assert len(list(read_journal(tmp_path / "j"))) == BUNCH
    writer.flush()
    assert len(list(read_journal(tmp_path / "j"))) == BUNCH + 5
    writer.close()


def test_dates_beyond_64_bits_are_kept(tmp_path: Path) -> None:
    late: list[AnyRecord] = [Submitted(10**23, "w0!17", "4", 10**23, 1, 30, "u"), RunEnds(10**23 + 1, "done")]
    written(tmp_path / "j", [BEGINS, *late])
    assert list(read_journal(tmp_path / "j")) == [BEGINS, *late]


def test_a_text_of_a_class_of_its_own_is_kept_as_a_text(tmp_path: Path) -> None:
    class Special(str):
        __slots__ = ()

    refused = Refused(7, 0, "KILL_JOB", "w0!4", Special("too late"))
    written(tmp_path / "j", [BEGINS, refused, RunEnds(8, "done")])
    assert list(read_journal(tmp_path / "j")) == [BEGINS, refused, RunEnds(8, "done")]


def test_a_record_that_cannot_be_written_takes_no_other_with_it(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path / "j")
    for record in (BEGINS, Refused(7, 0, "KILL_JOB", "w0!4", object()), Rejected(7, "w0!2")):  # type: ignore[arg-type]
        writer.write(record)
    with pytest.raises(TypeError):
        writer.flush()
    writer.write(RunEnds(8, "crashed"))
    writer.close()
    assert list(read_journal(tmp_path / "j")) == [BEGINS, Rejected(7, "w0!2"), RunEnds(8, "crashed")]


def test_a_file_cut_at_any_byte_gives_the_whole_records_before_it(tmp_path: Path) -> None:
    data = written(tmp_path / "j", EVERY_KIND)
    ends = []
    reader = JournalReader(tmp_path / "j")
    for _ in reader:
        ends.append(reader.offset)
    head = len(msgspec.msgpack.encode(["batpy-journal", 1]))
    for cut in range(head, len(data) + 1):
        (tmp_path / "cut").write_bytes(data[:cut])
        reader = JournalReader(tmp_path / "cut")
        whole = sum(end <= cut for end in ends)
        assert list(reader) == EVERY_KIND[:whole]
        assert reader.truncated == cut - max((end for end in ends if end <= cut), default=head)
        assert reader.complete == (cut == len(data))


def test_a_record_cut_inside_a_date_beyond_64_bits_is_unfinished_and_not_damage(tmp_path: Path) -> None:
    data = written(tmp_path / "j", [BEGINS, RunEnds(10**23, "done")])
    (tmp_path / "j").write_bytes(data[:-6])
    assert list(read_journal(tmp_path / "j")) == [BEGINS]


def test_a_file_of_another_kind_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    for content in (b"", b"job_id,workload_name\n", msgspec.msgpack.encode(["other", 1]), b"\xc1"):
        path.write_bytes(content)
        assert str(path) in refusal(path)


def test_a_journal_of_a_later_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "j").write_bytes(msgspec.msgpack.encode(["batpy-journal", 2]))
    assert "version 2" in refusal(tmp_path / "j")


def test_a_missing_journal_is_one_line(tmp_path: Path) -> None:
    assert "cannot read the journal" in refusal(tmp_path / "none")


@pytest.mark.parametrize(
    "bad",
    [
        ["begin", 0],
        ["end", "soon", "w0!1", "X", 0],
        ["start", 1, "w0!1", [[0]]],
        {"tag": "end"},
        7,
        ["reject", 1],
        ["start", 1, "w0!1", [[2, 1]]],
        ["start", 1, "w0!1", [[-1, 1]]],
        ["hosts", 1, [[3, 0]], True],
        ["begins", 0, "1", 0, 4, 0, False, {}],
        ["begins", 0, "1", 1, 2**40, 0, False, {}],
        ["begins", 0, "1", 1, 4, -1, False, {}],
    ],
)
def test_a_value_that_is_no_record_is_named_by_byte_and_number(tmp_path: Path, bad: object) -> None:
    data = written(tmp_path / "j", [BEGINS])
    (tmp_path / "j").write_bytes(data + msgspec.msgpack.encode(bad))
    assert f"byte {len(data)}, record 2: damaged journal" in refusal(tmp_path / "j")


def test_bytes_that_are_not_messagepack_are_named_by_byte_and_number(tmp_path: Path) -> None:
    data = written(tmp_path / "j", [BEGINS])
    (tmp_path / "j").write_bytes(data + b"\xc1\x00\x00")
    assert f"byte {len(data)}, record 2: damaged journal" in refusal(tmp_path / "j")


def test_an_unfinished_value_that_could_not_become_a_record_is_damage(tmp_path: Path) -> None:
    data = written(tmp_path / "j", [BEGINS])
    (tmp_path / "j").write_bytes(data + msgspec.msgpack.encode(["never", 1, "x" * 50])[:-3])
    assert "damaged journal" in refusal(tmp_path / "j")


def test_damage_that_holds_an_end_of_line_is_told_in_one_line(tmp_path: Path) -> None:
    data = written(tmp_path / "j", [BEGINS])
    (tmp_path / "j").write_bytes(data + msgspec.msgpack.encode(["subm\nt", 0]))
    told = refusal(tmp_path / "j")
    assert "damaged journal" in told
    assert "\n" not in told


def test_a_record_after_the_closing_marker_is_damage(tmp_path: Path) -> None:
    written(tmp_path / "j", [BEGINS, RunEnds(1, "done"), Rejected(2, "w0!1")])
    assert "record 3: damaged journal: a record follows the closing marker" in refusal(tmp_path / "j")


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot write"):
        JournalWriter(tmp_path / "no such folder" / "j")
