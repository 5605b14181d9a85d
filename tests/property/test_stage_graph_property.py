"""Laws of stage graphs and of the jobs made from them: nothing is lost on the way."""

from __future__ import annotations

from contextlib import suppress

import pytest
import spark_logs
from hypothesis import given
from hypothesis import strategies as st

from batpy.workloads.stages.codecs import DamagedStreamError, _lzf
from batpy.workloads.stages.form import graph_json, parse_graph
from batpy.workloads.stages.graph import Application, Stage, StageGraph, peak, ranks, table_of, times_from
from batpy.workloads.stages.job_options import JobOptions
from batpy.workloads.stages.jobs import to_workload

AMOUNT = st.integers(0, 10**13)


@st.composite
def stages(draw: st.DrawFn) -> tuple[Stage, ...]:
    made = []
    for id in range(draw(st.integers(1, 6))):
        times = draw(st.lists(st.integers(0, 10**9), min_size=1, max_size=20))
        parents = draw(st.sets(st.integers(0, id - 1))) if id else set()
        made.append(
            Stage(
                id=id,
                tasks=len(times),
                done=len(times),
                parents=tuple(sorted(parents)),
                wall_us=sum(times),
                run_us=sum(times),
                times_us=table_of(times),
                cpu_us=draw(AMOUNT),
                input_bytes=draw(AMOUNT),
                output_bytes=draw(AMOUNT),
                shuffle_remote_bytes=draw(AMOUNT),
                flops=draw(st.sampled_from([0.0, 1e9])),
            )
        )
    return tuple(made)


@st.composite
def graphs(draw: st.DrawFn) -> StageGraph:
    applications = tuple(
        Application(
            id=str(index),
            framework=draw(st.sampled_from(["workflow", "stages"])),
            submitted_us=draw(st.integers(0, 10**12)),
            stages=draw(stages()),
        )
        for index in range(draw(st.integers(1, 4)))
    )
    return StageGraph(source="mixed", applications=applications)


@given(graphs())
def test_a_graph_comes_back_from_its_text(graph: StageGraph) -> None:
    text = graph_json(graph)
    assert parse_graph(text, "x") == graph
    assert graph_json(parse_graph(text, "x")) == text


@given(graphs(), st.integers(2, 50), st.integers(1, 8), st.sampled_from(["pfs", "beside"]))
def test_jobs_compute_and_move_what_the_stages_did(
    graph: StageGraph, hosts: int, cores: int, io: str
) -> None:
    everything = [stage for app in graph.applications for stage in app.stages]
    work = sum((s.cpu_us or s.wall_us) / 1e6 * 2e9 + s.flops for s in everything) / cores
    sums = {name: sum(getattr(s, name) for s in everything) for name in ("input_bytes", "output_bytes")}
    sent = sum(s.shuffle_remote_bytes for s in everything)
    if not work and not sent and not any(sums.values()):
        return
    options = JobOptions.from_mapping(
        {"level": "job", "hosts": hosts, "cores": cores, "speed": 2e9, "io": io}, ""
    )
    workload = to_workload(graph, options).workload
    raws = [p.raw for p in workload.profiles.values() if p.raw["type"] != "composed"]
    assert sum(raw.get("cpu", 0) for raw in raws) == pytest.approx(work)
    # Batsim sends com / n between each of the n * (n - 1) pairs.
    assert sum(raw.get("com", 0) * (hosts - 1) for raw in raws) == pytest.approx(sent)
    read = sum(raw.get("bytes_to_read", 0) * hosts + raw.get("io_reads", 0) for raw in raws)
    written = sum(raw.get("bytes_to_write", 0) * hosts + raw.get("io_writes", 0) for raw in raws)
    assert (read, written) == (pytest.approx(sums["input_bytes"]), pytest.approx(sums["output_bytes"]))


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=60))
def test_a_table_keeps_ends_and_order(times: list[int]) -> None:
    table = table_of(times)
    drawn = times_from(table, len(times))
    assert (table[0], table[-1]) == (min(times), max(times))
    assert len(drawn) == len(times)
    assert drawn == sorted(drawn)
    if len(times) > 1:
        assert (drawn[0], drawn[-1]) == (min(times), max(times))
    if len(times) == 17:
        assert drawn == sorted(times)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20), st.integers(1, 5)), max_size=12))
def test_peak_is_the_largest_sum_at_any_instant(spans: list[tuple[int, int, int]]) -> None:
    slow = max((sum(w for a, b, w in spans if a <= t < b) for t in range(21)), default=0)
    assert peak(spans) == slow


@given(st.dictionaries(st.integers(0, 8), st.sets(st.integers(0, 8), max_size=4), max_size=9))
def test_ranks_stand_above_those_of_parents_or_name_a_circle(parents: dict[int, set[int]]) -> None:
    rank = ranks(parents)
    if isinstance(rank, int):
        reach = {rank}
        for _ in parents:
            reach |= {above for id in reach for above in parents.get(id, ())}
        circle = {id for id in reach if id in parents}
        assert circle  # it leads up to stages of which at least one leads back to itself
        return
    assert set(rank) == set(parents)
    for id, above in parents.items():
        known = [rank[parent] for parent in above if parent in rank]
        assert rank[id] == (max(known) + 1 if known else 0)


@given(st.binary(max_size=400) | st.text("ab", max_size=400).map(str.encode))
def test_lzf_blocks_come_back(content: bytes) -> None:
    assert _lzf(spark_logs.lzf_block(content)) == content


@given(st.binary(max_size=60))
def test_damaged_lzf_blocks_only_raise_what_a_reader_expects(content: bytes) -> None:
    with suppress(IndexError, DamagedStreamError):
        _lzf(content)
