"""Options of the SWF reader from tables and texts."""

from __future__ import annotations

import pytest

from batpy.base.errors import InputError
from batpy.workloads.swf_options import SwfOptions


def test_a_table_and_the_same_as_texts_give_the_same_options() -> None:
    table = {
        "strict": True,
        "statuses": [0, 1],
        "job_ids": "1-100 205",
        "window_from": 5,
        "procs": "allocated",
        "procs_per_host": 4,
    }
    texts = {**table, "strict": "true", "statuses": "0,1", "window_from": "5", "procs_per_host": "4"}
    options = SwfOptions.from_mapping(table, "workload[0].swf", 1000)
    assert options == SwfOptions.from_mapping(texts, "--swf", 1000)
    assert options.job_ids == ((1, 100), (205, 205))
    assert options.statuses == frozenset((0, 1))
    assert options.ticks_per_second == 1000


def test_no_table_gives_the_defaults() -> None:
    assert SwfOptions.from_mapping({}, "swf") == SwfOptions()


@pytest.mark.parametrize(
    ("table", "path", "said"),
    [
        ({"strickt": True}, "w.swf.strickt", "no such setting; choose from strict, "),
        ({"ticks_per_second": 5}, "w.swf.ticks_per_second", "no such setting"),
        ({"strict": 1}, "w.swf.strict", "must be true or false, got 1"),
        ({"procs_per_host": 1.5}, "w.swf.procs_per_host", "must be a whole number, got 1.5"),
        ({"procs_per_host": True}, "w.swf.procs_per_host", "must be a whole number, got True"),
        ({"procs_per_host": 0}, "w.swf.procs_per_host", "must be at least 1"),
        ({"interarrival_factor": -1}, "w.swf.interarrival_factor", "must be at least 0"),
        ({"walltime_factor": "much"}, "w.swf.walltime_factor", "must be a finite number, got 'much'"),
        ({"procs": "all"}, "w.swf.procs", "choose from requested, allocated; got 'all'"),
        ({"job_ids": "5-3"}, "w.swf.job_ids", "must be integers such as"),
        ({"job_ids": [1.5]}, "w.swf.job_ids", "must be integers such as"),
        ({"job_ids": ""}, "w.swf.job_ids", "must be integers such as"),
        ({"statuses": [700]}, "w.swf.statuses", "status codes lie between"),
        ({"window_from": 5, "window_to": 5}, "w.swf.window_to", "must be after window_from"),
        ({"max_jobs": 0}, "w.swf.max_jobs", "must be at least 1"),
    ],
)
def test_a_wrong_setting_is_named_by_its_path(table: dict[str, object], path: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        SwfOptions.from_mapping(table, "w.swf")
    assert caught.value.path == path
    assert said in caught.value.problem


def test_a_negative_status_is_not_an_interval() -> None:
    assert SwfOptions.from_mapping({"statuses": "-1 1"}, "swf").statuses == frozenset((-1, 1))
