"""Telling kinds of workload files apart, and asking the right reader."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from batpy.base.errors import InputError
from batpy.workloads.load import kind_of, load_workload
from batpy.workloads.swf_options import SwfOptions

ROW = "1 5 0 10 2 -1 -1 2 20 -1 1 1 1 -1 1 -1 -1 -1\n"
JSON = '{"nb_res": 1, "jobs": [], "profiles": {}}'


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("a.swf", ROW, "swf"),
        ("a.txt", "\n" + ROW, "swf"),
        ("a.txt", "; Version: 2\n", "swf"),
        ("a.json", "\ufeff" + JSON, "batsim"),
        ("a.swf", JSON, "batsim"),
        ("a.txt", "-1;57194;-1;326\n", "swf"),
        ("a.txt", "\t".join("abcdefghijklmn") + "\n", "swf"),
        ("a.swf", "rubbish\n", "swf"),
        ("a.json", "rubbish\n", "batsim"),
    ],
)
def test_content_tells_the_kind_and_the_name_decides_in_doubt(
    tmp_path: Path, name: str, text: str, kind: str
) -> None:
    for suffix, content in (("", text.encode()), (".gz", gzip.compress(text.encode()))):
        (tmp_path / (name + suffix)).write_bytes(content)
        assert kind_of(tmp_path / (name + suffix)) == kind


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it is empty"),
        ("<?xml version='1.0'?>", "looks like XML"),
        ("hello", "it begins with 'hello'"),
        ('{"type": "machine_available", "resources": "0", "timestamp": 1}\n', "file of external events"),
    ],
)
def test_anything_else_is_refused_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "x.dat").write_text(text)
    with pytest.raises(InputError, match=said) as caught:
        load_workload(tmp_path / "x.dat", source="x.dat")
    assert str(caught.value).startswith("x.dat: not a workload")


def test_options_reach_the_swf_reader_as_a_table_or_ready_made(tmp_path: Path) -> None:
    (tmp_path / "a.swf").write_text(ROW)
    for swf in ({"rebase": False}, SwfOptions(rebase=False)):
        workload = load_workload(tmp_path / "a.swf", "k", swf=swf, ticks_per_second=10)
        assert [(workload.id, job.submit) for job in workload.jobs()] == [("k", 50)]


def test_options_of_the_swf_reader_are_refused_for_batsim_json(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(JSON)
    assert len(load_workload(tmp_path / "a.json", swf={})) == 0
    with pytest.raises(InputError, match=r"^workload\[1\].swf: options of the SWF reader"):
        load_workload(tmp_path / "a.json", swf={"strict": True}, swf_path="workload[1].swf")
