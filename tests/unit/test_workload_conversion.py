"""SWF to Batsim JSON and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from batpy.base.errors import InputError
from batpy.workloads.batsim_json import BatsimWorkload, parse_batsim_json
from batpy.workloads.convert import write_workload
from batpy.workloads.load import load_workload
from batpy.workloads.swf import read_swf
from batpy.workloads.swf_options import SwfOptions
from batpy.workloads.swf_writer import swf_text

LOG = """; Computer: Toy
; Acknowledge: A Donor
; UnixStartTime: 1000
; StartTime: Mon Sep 23 14:00:31 CEST 1996
; MaxProcs: 8
; Note: first
;   and more
3 50 9 100 2 -1 -1 2 200 -1 1 12 4 -1 1 -1 -1 -1
4 60.5 5 0 4 -1 -1 4 -1 -1 0 13 4 -1 2 -1 3 7
"""


def rows_of(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if not line.startswith(";")]


def batsim(profiles: dict[str, Any], *jobs: dict[str, Any]) -> BatsimWorkload:
    full = [{"id": f"j{n}", "subtime": n, "res": 1, **job} for n, job in enumerate(jobs)]
    tree = {"nb_res": 4, "jobs": full, "profiles": profiles}
    return parse_batsim_json(json.dumps(tree).encode(), "w0", source="w.json")


def test_swf_to_json_to_swf_keeps_what_both_can_say(tmp_path: Path) -> None:
    (tmp_path / "a.swf").write_text(LOG)
    first = load_workload(tmp_path / "a.swf")
    assert write_workload(first, tmp_path / "b.json", note="from a.swf") == "batsim"
    assert json.loads((tmp_path / "b.json").read_text())["description"] == "from a.swf"
    second = load_workload(tmp_path / "b.json")
    assert write_workload(second, tmp_path / "c.swf.gz") == "swf"
    third = load_workload(tmp_path / "c.swf.gz")
    facts = [
        [(j.id, j.submit, j.res, j.walltime, j.profile, j.user, j.queue) for j in workload.jobs()]
        for workload in (first, second, third)
    ]
    assert facts[0] == facts[1] == facts[2]
    assert third.nb_res == 8


def test_header_follows_an_swf_log_with_its_dates_moved(tmp_path: Path) -> None:
    (tmp_path / "a.swf").write_text(LOG)
    text = swf_text(read_swf(tmp_path / "a.swf", "w0", SwfOptions(preceding=True)), note="excerpt")
    assert "; Acknowledge: A Donor\n" in text
    assert "; Note: first\n;   and more\n" in text
    assert "; UnixStartTime: 1050\n" in text
    assert "StartTime: Mon" not in text
    assert "; MaxRecords: 2\n" in text
    assert "; Note: excerpt\n" in text
    assert [" ".join(row) for row in rows_of(text)] == [
        "3 0 -1 100 -1 -1 -1 2 200 -1 1 12 4 -1 1 -1 -1 -1",
        "4 10.5 -1 0 -1 -1 -1 4 -1 -1 1 13 4 -1 2 -1 3 7",
    ]


def test_sequences_of_delays_have_a_run_time_and_a_status() -> None:
    profiles = {
        "d": {"type": "delay", "delay": 2},
        "bad": {"type": "delay", "delay": 3, "ret": 1},
        "seq": {"type": "composed", "repeat": 3, "seq": ["d", "d"]},
        "nested": {"type": "composed", "repeat": 2, "seq": ["seq", "d"]},
        # A sequence ends with the first part that fails.
        "broken": {"type": "composed", "repeat": 5, "seq": ["d", "bad", "seq"]},
    }
    text = swf_text(batsim(profiles, *({"profile": name} for name in profiles)))
    assert [(row[3], row[10]) for row in rows_of(text)] == [
        ("2", "1"),
        ("3", "0"),
        ("12", "1"),
        ("28", "1"),
        ("5", "0"),
    ]


def test_ids_and_users_that_are_no_numbers_are_numbered_and_named() -> None:
    delay = {"d": {"type": "delay", "delay": 2}}
    text = swf_text(
        batsim(delay, {"profile": "d", "user": "ada"}, {"profile": "d"}, {"profile": "d", "user": "7"})
    )
    assert [(row[0], row[11]) for row in rows_of(text)] == [("1", "1"), ("2", "-1"), ("3", "2")]
    assert "; Note: user 1 is ada\n; Note: user 2 is 7\n" in text
    assert "ids were not numbers" in text


def test_profiles_without_a_run_time_are_refused_or_take_their_walltime() -> None:
    profiles = {"p": {"type": "parallel_homogeneous", "cpu": 1e9, "com": 0}}
    bounded = batsim(profiles, {"profile": "p", "walltime": 60})
    with pytest.raises(InputError, match=r"^w.json: job j0: profile 'p' has no run time") as caught:
        swf_text(bounded)
    assert "run_time=walltime" in caught.value.problem
    assert rows_of(swf_text(bounded, run_time="walltime"))[0][3] == "60"
    with pytest.raises(InputError, match="give it a walltime"):
        swf_text(batsim(profiles, {"profile": "p"}), run_time="walltime")


def test_the_files_name_decides_the_format(tmp_path: Path) -> None:
    delay = batsim({"d": {"type": "delay", "delay": 2}}, {"profile": "d"})
    with pytest.raises(InputError, match="must end in"):
        write_workload(delay, tmp_path / "a.txt")
    with pytest.raises(InputError, match="cannot be written"):
        write_workload(delay, tmp_path / "no" / "a.swf")
