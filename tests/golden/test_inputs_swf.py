"""Every SWF file among the large inputs: what is kept, what is left out, what is refused and where."""

from __future__ import annotations

import gzip
import json
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from batpy.base.errors import InputError
from batpy.workloads import samples
from batpy.workloads import swf_fields as swf
from batpy.workloads.describe import describe
from batpy.workloads.swf import read_swf
from batpy.workloads.swf_options import SwfOptions

_read = cache(read_swf)

# File, rows, jobs kept, processors, rows left out, oddities. Counts of inputs.md and swf/SOURCES.md.
FILES = [
    ("KTH-SP2-1996-2.1-cln.swf.gz", 28476, 28475, 100, {swf.NO_PROCS: 1}, {swf.OVER_REQUEST: 475}),
    ("NASA-iPSC-1993-3.1-cln.swf.gz", 18239, 18239, 128, {}, {}),
    ("NASA-iPSC-1993-3.1-cln.swf.zip", 18239, 18239, 128, {}, {}),
    (
        "SDSC-SP2-1998-4.2-cln.swf.gz",
        59715,
        54044,
        128,
        {swf.CANCELLED_BEFORE_START: 5671},
        {swf.OVER_REQUEST: 4134},
    ),
    ("SDSC-Par-1996-3.1-cln.swf.gz", 32135, 32135, 400, {}, {swf.HEADER_TEXT: 1}),
    ("OSC-Clust-2000-3.1-cln.swf.gz", 36097, 36097, 178, {}, {}),
    ("RICC-2010-2.swf.gz", 447794, 447794, 8192, {}, {swf.OVER_REQUEST: 7092}),
    (
        "ALCF-Theta-2023.swf",
        8401,
        8401,
        4360,
        {},
        {swf.UNSORTED: 2726, swf.OVER_REQUEST: 2354, swf.TOO_LARGE: 8},
    ),
    ("HPC2N-alea-excerpt.swf", 3170, 3145, 240, {swf.NO_RUN: 25}, {swf.OVER_REQUEST: 320}),
    ("lublin_256.swf", 10000, 10000, 256, {}, {}),
    ("evalys-easy_mediumWL_smallPF.swf", 800, 800, None, {}, {swf.UNSORTED: 204}),
    ("accasim-tests-workload.swf", 25, 25, None, {}, {}),
    ("cqsim-test.swf", 9, 9, 100, {}, {}),
    ("cirne-anl-100.swf", 100, 100, None, {}, {swf.SEMICOLONS: 100, swf.NO_NUMBER: 100}),
    ("alea-jaros1.swf", 12, 12, None, {}, {swf.COLUMN_NAMES: 1}),
]


@pytest.mark.parametrize(
    ("name", "rows", "kept", "procs", "skipped", "noted"), FILES, ids=[f[0] for f in FILES]
)
def test_every_dialect_loads_with_its_rows_accounted_for(
    shared: Path,
    name: str,
    rows: int,
    kept: int,
    procs: int | None,
    skipped: dict[str, int],
    noted: dict[str, int],
) -> None:
    workload = _read(shared / "data/swf" / name)
    assert (workload.rows, len(workload), workload.nb_res) == (rows, kept, procs)
    assert workload.skipped == skipped
    assert workload.noted == noted
    columns = workload.columns
    assert columns.submit[0] == 0
    assert not any(a > b for a, b in pairwise(columns.submit))
    assert len(set(columns.ids)) == kept
    assert min(columns.res) >= 1
    first = next(workload.jobs())
    assert first.behaviour is not None
    assert first.raw["id"] == first.id


def test_every_swf_file_among_the_inputs_is_looked_at(shared: Path) -> None:
    there = {path.name for path in (shared / "data/swf").iterdir() if ".swf" in path.name}
    assert there == {name for name, *_ in FILES} | {"CORRUPT-columns-shifted.swf.gz"}


@pytest.mark.parametrize(
    ("name", "line", "field"),
    [
        ("KTH-SP2-1996-2.1-cln.swf.gz", 27323, "field 8 (requested processors)"),
        ("ALCF-Theta-2023.swf", 9, "field 2 (submit time)"),
        ("HPC2N-alea-excerpt.swf", 34, "field 4 (run time)"),
        ("CORRUPT-columns-shifted.swf.gz", 3, "field 4 (run time)"),
        ("evalys-easy_mediumWL_smallPF.swf", 5, "field 2 (submit time)"),
        ("cirne-anl-100.swf", 1, None),
        ("alea-jaros1.swf", 1, None),
    ],
)
def test_strict_mode_names_the_first_line_that_breaks_the_format(
    shared: Path, name: str, line: int, field: str | None
) -> None:
    with pytest.raises(InputError) as caught:
        read_swf(shared / "data/swf" / name, "w0", SwfOptions(strict=True), source=name)
    assert (caught.value.source, caught.value.line, caught.value.path) == (name, line, field)


@pytest.mark.parametrize(
    "name", ["NASA-iPSC-1993-3.1-cln.swf.gz", "SDSC-SP2-1998-4.2-cln.swf.gz", "cqsim-test.swf"]
)
def test_clean_logs_pass_strict_mode(shared: Path, name: str) -> None:
    assert len(read_swf(shared / "data/swf" / name, "w0", SwfOptions(strict=True)))


def test_shifted_columns_are_refused_as_corrupt_with_a_line(shared: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_swf(shared / "data/swf/CORRUPT-columns-shifted.swf.gz")
    lines = gzip.decompress((shared / "data/swf/CORRUPT-columns-shifted.swf.gz").read_bytes()).splitlines()
    assert caught.value.line is not None
    assert not -1 <= int(lines[caught.value.line - 1].split()[10]) <= 5
    assert "corrupt" in caught.value.problem
    assert "shifted" in caught.value.problem


def test_gzip_and_zip_of_one_log_give_the_same_jobs(shared: Path) -> None:
    packed, zipped = (
        read_swf(shared / f"data/swf/NASA-iPSC-1993-3.1-cln.swf.{kind}", source="nasa")
        for kind in ("gz", "zip")
    )
    assert all(a == b for a, b in zip(packed.jobs(), zipped.jobs(), strict=True))


@pytest.mark.parametrize(
    ("log", "golden", "options"),
    [
        ("KTH-SP2-1996-2.1-cln", "kth3000", SwfOptions(keep_zero_run_time=False, max_jobs=3000)),
        (
            "NASA-iPSC-1993-3.1-cln",
            "nasa3000",
            SwfOptions(keep_zero_run_time=False, max_jobs=3000, walltime_factor=2, walltime_constant=60),
        ),
    ],
)
def test_jobs_equal_those_of_the_golden_workloads_made_from_the_log(
    shared: Path, log: str, golden: str, options: SwfOptions
) -> None:
    made = json.loads(gzip.decompress((shared / f"golden/batsim/workloads/{golden}.json.gz").read_bytes()))
    workload = read_swf(shared / f"data/swf/{log}.swf.gz", "w0", options)
    ours = [
        (job.id, job.raw["subtime"], job.res, job.raw["walltime"], job.behaviour.raw["delay"])  # type: ignore[union-attr]
        for job in workload.jobs()
    ]
    order = sorted(made["jobs"], key=lambda job: (job["subtime"], job["id"]))
    assert ours == [
        (job["id"], job["subtime"], job["res"], job["walltime"], made["profiles"][job["profile"]]["delay"])
        for job in order
    ]


def test_whole_kth_log_without_zero_run_times_has_28467_jobs(shared: Path) -> None:
    options = SwfOptions(keep_zero_run_time=False)
    workload = read_swf(shared / "data/swf/KTH-SP2-1996-2.1-cln.swf.gz", "w0", options)
    assert len(workload) == 28467
    assert workload.skipped == {swf.NO_PROCS: 1, swf.ZERO_RUN: 8}
    assert workload.acknowledge == "Lars Malinowsky"


@pytest.mark.parametrize(
    ("name", "peak"),
    [("KTH-SP2-1996-2.1-cln", 104), ("SDSC-SP2-1998-4.2-cln", 202), ("RICC-2010-2", 28416)],
)
def test_recorded_schedules_that_use_more_than_the_machine_are_told(
    shared: Path, name: str, peak: int
) -> None:
    assert describe(_read(shared / f"data/swf/{name}.swf.gz")).recorded_peak == peak


def test_alea_tasks_wait_for_one_another_within_their_graph(shared: Path) -> None:
    workload = read_swf(shared / "data/swf/alea-jaros1.swf", "w0", SwfOptions(preceding=True))
    assert workload.preceding == {str(n): (str(n - 1), 0) for n in range(1, 13) if n % 3 != 1}
    graphs = {job.id: job.raw["DAG_name"] for job in workload.jobs()}
    assert graphs["1"] == graphs["3"] == "DAG-1"
    assert graphs["12"] == "DAG-4"


def test_edge_cases_load_what_can_run_and_account_for_the_rest(shared: Path) -> None:
    workload = read_swf(shared / "data/bugs/swf_edges.swf")
    jobs = {job.id: job for job in workload.jobs()}
    assert list(jobs) == ["1", "3", "5", "6", "7", "8", "9"]
    assert (workload.rows, workload.nb_res) == (10, 8)
    assert workload.skipped == {swf.CANCELLED_BEFORE_START: 1, swf.NO_PROCS: 1, swf.DUPLICATE: 1}
    assert workload.noted == {
        swf.SHORT: 1,
        swf.LONG: 1,
        swf.UNSORTED: 1,
        swf.HEADER_TEXT: 1,
        swf.OVER_REQUEST: 1,
        swf.TOO_LARGE: 1,
    }
    assert jobs["5"].raw["subtime"] == 6.5
    assert jobs["5"].profile == "d10.25"
    assert jobs["5"].walltime == 3_600_000_000
    assert (jobs["6"].res, jobs["6"].profile, jobs["6"].walltime) == (9, "d30", 10_000_000)
    assert (jobs["7"].walltime, jobs["7"].user) == (None, "")
    with pytest.raises(InputError) as caught:
        read_swf(shared / "data/bugs/swf_edges.swf", "w0", SwfOptions(strict=True))
    assert (caught.value.line, caught.value.path) == (11, "field 2 (submit time)")


def test_the_sample_is_the_beginning_of_the_kth_log(shared: Path) -> None:
    sample = Path(samples.__path__[0]) / "kth-sp2-5000.swf.gz"
    excerpt = read_swf(sample, source="kth")
    whole = read_swf(shared / "data/swf/KTH-SP2-1996-2.1-cln.swf.gz", "w0", source="kth")
    assert len(excerpt) == 5000
    assert all(a == b for a, b in zip(excerpt.jobs(), whole.jobs(), strict=False))
    assert excerpt.acknowledge == "Lars Malinowsky"
    assert any("EXCERPT" in note for note in excerpt.header["Note"])
    assert sample.stat().st_size < 100_000
