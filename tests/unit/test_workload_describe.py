"""What ``describe`` finds in a workload."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from batpy.results.metrics import spread as of_summary
from batpy.workloads.batsim_json import parse_batsim_json
from batpy.workloads.describe import describe, spread
from batpy.workloads.swf import read_swf

LOG = """; MaxProcs: 8
1 0 0 100 1 -1 -1 1 200 -1 1 3 1 -1 1 -1 -1 -1
2 10 0 50 8 -1 -1 8 20 -1 1 4 1 -1 1 -1 -1 -1
3 10 0 0 3 -1 -1 3 -1 -1 1 4 1 -1 2 -1 -1 -1
4 100 5 10 16 -1 -1 16 30 -1 1 4 1 -1 2 -1 -1 -1
"""


def test_counts_load_and_shares_of_a_log(tmp_path: Path) -> None:
    (tmp_path / "a.swf").write_text(LOG)
    found = describe(read_swf(tmp_path / "a.swf", source="a.swf"))
    # The second job is cut at its walltime of 20 s.
    area = 1 * 100 + 8 * 20 + 0 + 16 * 10
    assert (found.jobs, found.nb_res, found.serial, found.powers_of_two) == (4, 8, 1, 2)
    assert found.area == area
    assert found.load == pytest.approx(area / (8 * 100))
    assert [(share.name, share.jobs, share.area) for share in found.users] == [("4", 3, 320), ("3", 1, 100)]
    assert [share.name for share in found.queues] == ["1", "2"]
    assert found.interarrival is not None
    assert (found.interarrival.minimum, found.interarrival.maximum) == (0, 90)
    assert found.anomalies == {
        "larger than the hosts": 1,
        "no walltime": 1,
        "recorded schedule uses more processors than there are": 1,
        "run time reaches walltime, will be killed": 1,
        "submitted at the date of the job before": 1,
        "zero run time": 1,
    }
    # Job 4 starts at 105 s, when the others have gone; jobs 1 and 2 need 9 processors before.
    assert found.recorded_peak == 16


def test_recorded_peak_counts_ends_before_starts(tmp_path: Path) -> None:
    row = "{} {} 0 10 4 -1 -1 4 20 -1 1 1 1 -1 1 -1 -1 -1\n"
    (tmp_path / "a.swf").write_text("".join(row.format(n, n * 10) for n in range(5)))
    assert describe(read_swf(tmp_path / "a.swf")).recorded_peak == 4


def test_run_times_that_only_a_simulation_can_tell_are_counted_as_unknown() -> None:
    tree = {
        "nb_res": 4,
        "jobs": [
            {"id": 1, "subtime": 0, "res": 2, "profile": "seq"},
            {"id": 2, "subtime": 5, "res": 2, "profile": "hg", "walltime": 9},
        ],
        "profiles": {
            "d": {"type": "delay", "delay": 10},
            "seq": {"type": "composed", "repeat": 2, "seq": ["d"]},
            "hg": {"type": "msg_par_hg", "cpu": 1, "com": 0},
        },
    }
    found = describe(parse_batsim_json(json.dumps(tree).encode(), "w0", source="w.json"), nb_res=2)
    assert (found.unknown_run_times, found.area, found.load) == (1, 40.0, 4.0)
    assert found.profile_types == {"composed": 1, "parallel_homogeneous": 1}
    assert found.anomalies["offered load above 1"] == 1
    assert found.recorded_peak is None


def test_result_is_plain_for_machines_and_labelled_for_people(tmp_path: Path) -> None:
    (tmp_path / "a.swf").write_text(LOG)
    found = describe(read_swf(tmp_path / "a.swf", source="a.swf"))
    assert json.loads(json.dumps(found.to_json()))["size"]["maximum"] == 16
    rows = dict(found.to_rows())
    assert rows["jobs"] == "4"
    assert rows["workload"] == "w0 (a.swf)"
    assert rows["users"] == "2"
    assert rows["recorded peak"] == "16 of 8 processors"
    assert rows["walltime, s"].endswith("(3 of 4 jobs)")
    assert rows["run time, s"].endswith("mean 40")
    assert rows["interarrival, s"].endswith("mean 33.3333")
    assert "run time unknown" not in rows


def test_rows_tell_what_is_not_known() -> None:
    tree = {
        "nb_res": 4,
        "jobs": [
            {"id": 1, "subtime": 0, "res": 2, "profile": "d"},
            {"id": 2, "subtime": 5, "res": 2, "profile": "hg"},
            {"id": 3, "subtime": 5, "res": 2, "profile": "hg"},
        ],
        "profiles": {
            "d": {"type": "delay", "delay": 10},
            "hg": {"type": "parallel_homogeneous", "cpu": 1, "com": 0},
        },
    }
    rows = dict(describe(parse_batsim_json(json.dumps(tree).encode(), "w0", source="w.json")).to_rows())
    assert rows["run time unknown"] == "2 jobs, left out of load, area and run time"
    assert rows["run time, s"].endswith("(1 of 3 jobs)")
    assert rows["walltime, s"] == "none"


def test_keys_for_machines_do_not_vary_with_the_numbers(tmp_path: Path) -> None:
    (tmp_path / "a.swf").write_text(LOG)
    keys = {tuple(describe(read_swf(tmp_path / "a.swf"), nb_res=n).to_json()["anomalies"]) for n in (2, 3, 5)}
    [names] = {tuple(name for name in names if "offered load" not in name) for names in keys}
    assert not any(letter.isdigit() for name in names if "above 1" not in name for letter in name)


def test_an_empty_workload_has_no_spreads() -> None:
    empty = parse_batsim_json(b'{"nb_res": 1, "jobs": [], "profiles": {}}', "w0", source="w.json")
    found = describe(empty)
    assert (found.jobs, found.size, found.load) == (0, None, None)
    assert ("hosts a job", "unknown") in found.to_rows()


def test_quantiles_are_those_of_the_summary() -> None:
    found = spread([4, 1, 3, 2])
    assert found is not None
    assert (found.minimum, found.quarter, found.median, found.three_quarters, found.maximum) == (
        1,
        1.75,
        2.5,
        3.25,
        4,
    )
    assert found.ninety_percent == pytest.approx(3.7)
    assert found.median == of_summary([4, 1, 3, 2], 1).median
    assert (found.mean, found.deviation) == (2.5, pytest.approx(1.118034))


def test_dates_beyond_64_bits_are_described() -> None:
    tree = {
        "nb_res": 4,
        "jobs": [
            {"id": n, "subtime": date, "res": 2, "profile": "d"} for n, date in enumerate((1, 1e15, 2e15))
        ],
        "profiles": {"d": {"type": "delay", "delay": 1}},
    }
    found = describe(parse_batsim_json(json.dumps(tree).encode(), "w0", source="w.json"))
    assert (found.jobs, found.first_submit, found.last_submit) == (3, 1, 2e15)
    assert found.size is not None
    assert found.size.count == 3
