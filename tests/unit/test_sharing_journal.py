from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
import shared_story as story

from batpy.base.errors import InputError
from batpy.protocol import sharing_records as b
from batpy.results.journal import JournalReader
from batpy.results.sharing_journal import SharingJournalReader, SharingJournalWriter


def written(path: Path, records: list[b.AnySharingRecord]) -> Path:
    writer = SharingJournalWriter(path)
    for record in records:
        writer.write(record)
    writer.close()
    return path


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        list(SharingJournalReader(path))
    return str(caught.value)


def test_every_record_of_a_broker_comes_back_as_it_was(tmp_path: Path) -> None:
    every = [*story.broker()[:-1], b.StartDropped(20, 8, 3, "x"), b.TenantDropped(20, 8, "bda", "y")]
    every.append(b.SharingEnds(20, 8, "done"))
    reader = SharingJournalReader(written(tmp_path / "j", every))
    assert list(reader) == every
    assert (reader.complete, reader.truncated, reader.records) == (True, 0, len(every))
    assert {type(record) for record in every} == set(b.AnySharingRecord.__args__)


def test_dates_beyond_64_bits_survive(tmp_path: Path) -> None:
    late = b.SharingEnds(2**80, 8, "done")
    assert list(SharingJournalReader(written(tmp_path / "j", [late]))) == [late]


def test_the_two_families_are_not_taken_for_each_other(tmp_path: Path) -> None:
    story.write(tmp_path, story.simulator(), story.broker())
    assert "must begin with ['batpy-sharing-journal', version]" in refusal(tmp_path / "journal.msgpack")
    with pytest.raises(InputError, match="must begin with"):
        list(JournalReader(tmp_path / "sharing.journal"))


def test_a_killed_broker_leaves_a_readable_journal(tmp_path: Path) -> None:
    path = written(tmp_path / "j", story.broker())
    whole = path.read_bytes()
    path.write_bytes(whole[:-3])
    reader = SharingJournalReader(path)
    assert list(reader) == story.broker()[:-1]
    assert not reader.complete
    assert reader.truncated > 0


BEGINS = story.broker()[0]


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (msgspec.structs.replace(BEGINS, ticks_per_second=0), "0 ticks a second, there must be one or more"),
        (msgspec.structs.replace(BEGINS, nb_compute=-1), "-1 compute hosts"),
        (msgspec.structs.replace(BEGINS, cores=(1,)), "1 figures of cores for 3 compute hosts"),
        (msgspec.structs.replace(BEGINS, tenants=("a", "a")), "2 tenants do not match 2 sets of hosts"),
        (msgspec.structs.replace(BEGINS, visible=((), ((2, 1),))), "(2, 1) is no interval of hosts"),
        (b.Lent(0, 0, 0, "a", ((-1, 1),)), "(-1, 1) is no interval of hosts"),
        (b.Vacated(0, 0, 0, "a", ((3, 2),), "seized"), "(3, 2) is no interval of hosts"),
    ],
)
def test_what_no_broker_writes_is_damage(tmp_path: Path, record: b.AnySharingRecord, why: str) -> None:
    assert refusal(written(tmp_path / "j", [record])).endswith(f"record 1: damaged journal: {why}")
