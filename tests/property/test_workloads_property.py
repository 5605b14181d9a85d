"""Fast ways of the readers against their slow twins, and round trips."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batpy.base.errors import InputError
from batpy.workloads import batsim_json, swf_rows
from batpy.workloads.job_object import parse_job
from batpy.workloads.swf_options import SwfOptions
from batpy.workloads.swf_rows import RowReader, Tally

SMALL = st.integers(-1, 6)


@st.composite
def rows(draw: st.DrawFn) -> list[str]:
    """Mostly well-formed rows, now and then anything."""
    lines, job, date = [], 0, 0
    for _ in range(draw(st.integers(1, 30))):
        job += draw(st.integers(1, 3))
        date += draw(st.integers(0, 2))
        odd = draw(st.integers(0, 25)) == 0
        fields: list[Any] = [job, date, draw(SMALL), draw(st.integers(0, 9)), draw(SMALL), "9.5", -1]
        fields += [draw(st.integers(1, 12)), draw(st.integers(-1, 9)), draw(st.sampled_from([-1, 100]))]
        fields += [draw(st.sampled_from([-1, 0, 1, 1, 5])), draw(SMALL), 1, draw(SMALL), 1, -1, -1, -1]
        if draw(st.integers(0, 8)) == 0:
            fields[3:5], fields[10] = draw(st.sampled_from([[-1, -1], [0, -1], [0, 4], [-1, 4]])), 5
        if odd:
            at = draw(st.integers(0, 17))
            fields[at] = draw(
                st.sampled_from([-1, 0, "x", "nan", "2.5", "1e2", "5_0", "-0.0", "1e300", "9" * 25])
            )
        lines.append(" ".join(map(str, fields)) + "\n")
        if draw(st.integers(0, 40)) == 0:
            lines.append(draw(st.sampled_from(["\n", "; note\n", "1 2 3\n", "1 2 0 4 5\n"])))
    return lines


OPTIONS = st.builds(
    SwfOptions,
    procs=st.sampled_from(["requested", "allocated"]),
    procs_per_host=st.sampled_from([1, 4]),
    walltime_factor=st.sampled_from([0.0, 2.0]),
    keep_zero_run_time=st.booleans(),
    keep_cancelled=st.booleans(),
    strict=st.booleans(),
)


def _read(lines: list[str], options: SwfOptions, *, by_blocks: bool) -> Any:
    tally = Tally("log", options.strict)
    reader = RowReader(options, tally)
    reader.limit = 8
    reader.by_blocks = by_blocks
    try:
        reader.read(lines)
    except InputError as why:
        return str(why)
    taken = [
        list(c) for c in (reader.ids, reader.dates, reader.run, reader.walltime, reader.res, reader.wait)
    ]
    more = [list(reader.labels), list(reader.allocated), list(reader.status), reader.preceding]
    extra = {name: list(column) for name, column in reader.columns.extra.items()}
    return taken, more, extra, tally.rows, tally.skipped, tally.noted, tally.first_line


@given(lines=rows(), options=OPTIONS, block=st.sampled_from([1, 2, 7, 64]))
def test_blocks_of_rows_are_taken_as_single_rows_are(
    lines: list[str], options: SwfOptions, block: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(swf_rows, "BLOCK", block)
        fast = _read(lines, options, by_blocks=True)
    assert fast == _read(lines, options, by_blocks=False)


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.floats(-2, 3),
    st.sampled_from(["", "a", "w!b", "x!b", "7"]),
    st.lists(st.integers(), max_size=1),
)
NAMES = ["id", "subtime", "res", "profile", "walltime", "user", "queue", "other"]
PLAIN: dict[str, Any] = {"id": "1", "subtime": 2.5, "res": 3, "profile": "d", "walltime": 4, "user": "u"}


@given(
    changed=st.dictionaries(st.sampled_from(NAMES), ODD, max_size=3),
    dropped=st.sets(st.sampled_from(NAMES), max_size=1),
    scale=st.sampled_from([1, 1000, 10**6]),
)
def test_plain_job_objects_are_read_as_parse_job_does(
    changed: dict[str, Any], dropped: set[str], scale: int
) -> None:
    raw = {key: value for key, value in {**PLAIN, **changed}.items() if key not in dropped}
    quick = batsim_json._plain_job(raw, scale)
    if quick is not None:
        assert quick == parse_job(raw, workload="w", ticks_per_second=scale, path="jobs[0]")


KEYS = st.sampled_from([*NAMES, "jobs", "profiles", "nb_res", "type", "delay", "seq"])


def _complaint(content: bytes) -> str | None:
    try:
        batsim_json.parse_batsim_json(content, "w", source="w.json")
    except InputError as why:
        return str(why)
    return None


@given(
    raw=st.recursive(
        ODD,
        lambda inner: st.dictionaries(KEYS, inner, max_size=6) | st.lists(inner, max_size=3),
        max_leaves=25,
    )
)
def test_any_json_at_all_loads_or_is_refused_in_one_line(raw: Any) -> None:
    said = _complaint(json.dumps(raw).encode())
    assert said is None or (said.startswith("w.json") and "\n" not in said)


@given(text=st.lists(st.text("0123456789 -.;\t\nabe", max_size=60), max_size=8).map("".join))
def test_any_text_at_all_is_read_or_refused_in_one_line(text: str) -> None:
    tally = Tally("log", False)
    reader = RowReader(SwfOptions(), tally)
    reader.read(text.splitlines(keepends=True))
    assert tally.rows == len(reader.ids) + sum(tally.skipped.values())
    assert {len(c) for c in (reader.dates, reader.run, reader.walltime, reader.res, reader.labels)} == {
        len(reader.ids)
    }


@given(
    jobs=st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 200)), max_size=40, unique_by=lambda job: job[1]
    )
)
def test_columns_are_sorted_by_date_then_by_id_as_text(jobs: list[tuple[int, int]]) -> None:
    from array import array

    from batpy.workloads.columns import NO_LABELS, Columns

    columns = Columns(
        ids=array("q", [number for _, number in jobs]),
        submit=array("q", [date for date, _ in jobs]),
        run=array("d", [float(number) for _, number in jobs]),
        walltime=array("d", [0.0] * len(jobs)),
        res=array("q", [number for _, number in jobs]),
        labels=[NO_LABELS] * len(jobs),
        hidden={"wait": array("d", [float(number) for _, number in jobs])},
    )
    columns.sort()
    wanted = sorted(jobs, key=lambda job: (job[0], str(job[1])))
    assert list(zip(columns.submit, columns.ids, strict=True)) == wanted
    assert list(columns.ids) == list(columns.run) == list(columns.res) == list(columns.hidden["wait"])
