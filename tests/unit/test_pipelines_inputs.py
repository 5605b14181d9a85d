"""Parameter files and traces: what they say, and what is refused with its place."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from batpy.base.errors import InputError
from batpy.base.pipelines import Priority
from batpy.pipelines.simulate import make_arrivals, shown
from batpy.workloads.pipelines.parameters import is_parameter_path, read_parameters
from batpy.workloads.pipelines.segment import Segment
from batpy.workloads.pipelines.trace import COLUMNS, TraceSource, read_arrivals, read_trace, write_trace

HEADER = ",".join(COLUMNS)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("duration = ", "not well-formed TOML"),
        ("duration = '3'", "duration: must be a finite number"),
        ("duration = nan", "duration: must be a finite number"),
        ("duration = -1", "duration: must be at least 0"),
        ("ticks_per_second = 0", "ticks_per_second: must be at least 1"),
        ("ticks_per_second = 10.5", "ticks_per_second: must be a whole number"),
        ("num_pools = true", "num_pools: must be a whole number"),
        ("num_pools = 0", "num_pools: must be at least 1"),
        ("num_operators = 1e14", "num_operators: must be at most 1000000"),
        ("multi_operator_containers = 1", "must be true or false"),
        ("scheduler_algo = 3", "scheduler_algo: must be a text"),
        ("cpu_io_ratio = 2", "cpu_io_ratio: CPU IO ratio must be between 0 and 1"),
        ("query_prob = 0.5", "interactive_prob: Probabilities must sum to 1"),
        ("compat = 'other'", "compat: must be 'eudoxia'"),
        ("random_seed = -1", "random_seed: must be at least 0"),
        ("duration = 1e14\nticks_per_second = 1000000", "duration: duration times ticks_per_second"),
    ],
)
def test_a_parameter_that_cannot_be_used(text: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "params.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=told) as refused:
        read_parameters(path)
    assert str(refused.value).startswith(str(path))


def test_a_negative_zero_is_none() -> None:
    assert str(read_parameters({"num_operators": -0.0}).parameters.num_operators) == "0.0"


@pytest.mark.parametrize("scaling", ["linear3", "squared"])
def test_work_that_never_ends_is_refused(scaling: str) -> None:
    with pytest.raises(InputError, match="inf s of computing on 1e-320 CPUs"):
        Segment(1, scaling).phase_ticks(1e-320, 0.1)


def test_a_missing_file() -> None:
    with pytest.raises(InputError, match=r"nowhere\.toml: cannot be read"):
        read_parameters("nowhere.toml")


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("scheduler_algo", "nobody", "nobody: no such scheduler; choose from"),
        ("estimator_algo", "nobody", "no such estimator; choose from noisy"),
        ("dag_linear_prob", -1.0, "dag_linear_prob: weights must not be negative"),
        ("num_segs", 2, "num_segs: must be 1"),
        ("noisy_estimator_sigma", -0.1, "sigma must be >= 0"),
        ("num_pools", 3, "requires 2 pools"),
    ],
)
def test_what_is_found_when_the_run_is_put_together(key: str, value: object, told: str) -> None:
    from batpy import run_simulator

    table = {"duration": 1, "estimator_algo": "noisy", "scheduler_algo": "priority-pool", "num_pools": 2}
    with pytest.raises(InputError, match=told):
        run_simulator(table | {key: value})


def test_policies_see_the_parameters_as_the_file_gave_them() -> None:
    file = read_parameters({"num_pools": 2, "mine": "x", "duration": 3, "compat": "eudoxia"})
    table = shown(file)
    assert list(table)[:3] == ["num_pools", "mine", "duration"]
    assert "compat" not in table
    assert table["ram_gb_per_pool"] == 256


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("duration = 5", True),
        ("scheduler_algo = 'naive'\nother = 1", True),
        ("", False),
        ("name = 'x'", False),
        ("[platform]\nhosts = 3\n[[workload]]\nfile = 'x'", False),
        ("duration = 5\n[platform]\nhosts = 3", False),
        ("duration = ", False),
    ],
)
def test_which_files_are_parameter_files(text: str, is_one: bool, tmp_path: Path) -> None:
    path = tmp_path / "file.toml"
    path.write_text(text)
    assert is_parameter_path(str(path)) is is_one
    assert not is_parameter_path(str(tmp_path / "missing.toml"))


@pytest.mark.parametrize(
    ("rows", "place", "told"),
    [
        (["p1,x,QUERY,op1,,1,const,,0"], "trace:2: arrival_seconds", "must be a number"),
        (["p1,,QUERY,op1,,1,const,,0"], "trace:2: arrival_seconds", "must be a number"),
        (["p1,nan,QUERY,op1,,1,const,,0"], "trace:2: arrival_seconds", "must be a number"),
        (["p1,0,URGENT,op1,,1,const,,0"], "trace:2: priority", "must be one of QUERY, INTERACTIVE"),
        (["p1,0,QUERY,op1,op9,1,const,,0"], "trace:2: parents", "'op9' is no operator of an earlier row"),
        (["p1,0,QUERY,op1,,1,cubic,,0"], "trace:2: cpu_scaling", "must be one of const"),
        (["p1,0,QUERY,op1,,-1,const,,0"], "trace:2: baseline_cpu_seconds", "from 0 to 1e15"),
        (["p1,0,QUERY,op1,,1,const,big,0"], "trace:2: memory_gb", "must be a number"),
        (["p1,0,QUERY,op1,,1,const,,"], "trace:2: storage_read_gb", "must be a number"),
        (["p1,0,QUERY,op1,,1,const,,0,9"], "trace:2", "more fields than the header"),
        (["p1,0,QUERY,op1,,1,const,,0", "p1,0,,op2,,1,const,,0"], "trace:3: arrival_seconds", "first row"),
        (["p1,0,QUERY,op1,,1,const,,0", "p1,,QUERY,op2,,1,const,,0"], "trace:3: priority", "first row"),
    ],
)
def test_a_row_that_cannot_be_used(rows: list[str], place: str, told: str) -> None:
    text = io.StringIO("\n".join([HEADER, *rows]))
    with pytest.raises(InputError, match=told) as refused:
        list(read_arrivals(text, "trace"))
    assert str(refused.value).startswith(place)


def test_a_header_that_lacks_columns() -> None:
    with pytest.raises(InputError, match="trace:1: the header lacks arrival_seconds, priority"):
        list(read_arrivals(io.StringIO("pipeline_id,operator_id,parents\n"), "trace"))


def test_a_trace_that_is_not_there() -> None:
    with pytest.raises(InputError, match="cannot be read"):
        list(read_trace("nowhere.csv"))


def test_arrivals_are_rounded_up_with_the_noise_of_the_original() -> None:
    rows = ["a,0.07,QUERY,op1,,1,const,,0", "b,0.015,QUERY,op1,,1,const,,0", "c,0.2,QUERY,op1,,1,const,,0"]
    text = "\n".join([HEADER, *rows])

    def ticks(exact: bool) -> list[tuple[int, int]]:
        source = TraceSource(read_arrivals(io.StringIO(text), "t"), 1.0 / 100, exact=exact)
        found = []
        while (tick := source.next_tick()) is not None:
            found.append((tick, len(source.take(tick))))
        return found

    # The second row is out of order and waits behind the first.
    assert ticks(exact=True) == [(8, 2), (20, 1)]
    assert ticks(exact=False) == [(7, 2), (20, 1)]


def test_extra_columns_are_ignored_and_pipelines_of_equal_form_share_it() -> None:
    text = f"{HEADER},note\na,0,QUERY,op1,,1,const,,0,hello\nb,1,QUERY,op1,,1,const,,0,\n"
    first, second = read_arrivals(io.StringIO(text), "t")
    assert first.pipeline.shape is second.pipeline.shape
    assert first.pipeline.priority is Priority.QUERY


def test_the_first_batches_of_the_default_workload() -> None:
    """From the description of the original: seed 42, 1,000 ticks per second."""
    source = make_arrivals(read_parameters({}, compat="eudoxia").parameters)
    dates, sizes = [], []
    for _ in range(6):
        tick = source.next_tick()
        assert tick is not None
        dates.append(tick)
        sizes.append([len(spec.shape.operators) for spec in source.take(tick)])
    assert dates == [0, 10166, 19286, 27186, 38884, 48047]
    assert sizes[0] == [5, 3, 4, 5]


def test_shapes_of_generated_pipelines() -> None:
    def parents(shape: str) -> set[tuple[tuple[int, ...], ...]]:
        weights = {f"dag_{name}_prob": float(name == shape) for name in ("linear", "branch_in", "branch_out")}
        table = weights | {"num_pipelines": 40, "query_prob": 0.0, "batch_prob": 0.7}
        source = make_arrivals(read_parameters(table, compat="eudoxia").parameters)
        return {tuple(op.parents for op in spec.shape.operators) for spec in source.take(0)}

    assert ((), (0,), (1,), (2,)) in parents("linear")
    assert ((), (), (), (0, 1, 2)) in parents("branch_in")
    assert ((), (0,), (0,), (0,)) in parents("branch_out")


def test_a_trace_is_written_as_it_was_read() -> None:
    text = (
        f"{HEADER}\r\np1,0.0,QUERY,op1,,1.5,linear3,,35.0\r\n"
        "p2,0.5,BATCH_PIPELINE,op1,,1.0,const,2.5,0.0\r\np2,,,op2,op1,1.0,exp,,0.0\r\np2,,,op3,op1;op2,1.0,log,,1.0\r\n"
    )
    source = TraceSource(read_arrivals(io.StringIO(text), "t"), 1.0 / 10, exact=True)
    written = io.StringIO(newline="")
    assert write_trace(written, source, 100, 1.0 / 10) == 2
    assert written.getvalue() == text
