"""Reading Batsim JSON: the rules of Batsim 4.2.1, and where a complaint points."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from batpy.base.errors import InputError
from batpy.workloads.batsim_json import BatsimWorkload, parse_batsim_json, read_batsim_json
from batpy.workloads.batsim_writer import batsim_json, write_batsim_json
from batpy.workloads.profile import Composed, ParallelHomogeneousTotal
from batpy.workloads.sequences import MAX_NESTING

DELAY = {"type": "delay", "delay": 10}


def job(id: object = "1", **fields: object) -> dict[str, Any]:
    return {"id": id, "subtime": 0, "res": 1, "profile": "d", **fields}


def parse(
    jobs: list[Any] | None = None, profiles: dict[str, Any] | None = None, **top: object
) -> BatsimWorkload:
    tree = {
        "nb_res": 4,
        "jobs": [job()] if jobs is None else jobs,
        "profiles": {"d": DELAY, **(profiles or {})},
        **top,
    }
    return parse_batsim_json(json.dumps(tree, indent=1).encode(), "w0", source="w.json")


def refusal(content: bytes) -> InputError:
    with pytest.raises(InputError) as caught:
        parse_batsim_json(content, "w0", source="w.json")
    assert "\n" not in str(caught.value)
    return caught.value


def test_jobs_are_sorted_by_date_then_by_id_as_text() -> None:
    workload = parse([job(9, subtime=5), job(10, subtime=5), job("b", subtime=1.5)])
    assert [(j.id, j.submit) for j in workload.jobs()] == [
        ("b", 1_500_000),
        ("10", 5_000_000),
        ("9", 5_000_000),
    ]


def test_the_users_object_is_kept_with_its_unknown_fields() -> None:
    raw = job(7, walltime=12.5, user="ada", queue=3, dependencies=[1, 2], extra={"id": "x"})
    (only,) = parse([raw]).jobs()
    assert only.raw == raw
    assert (only.id, only.walltime, only.user, only.queue, only.behaviour) == (
        "7",
        12_500_000,
        "ada",
        "3",
        None,
    )


def test_a_job_id_may_carry_the_workloads_name() -> None:
    assert [j.id for j in parse([job("w0!5"), job("w0x")]).jobs()] == ["5", "w0x"]


@pytest.mark.parametrize("walltime", [-1, -1.0, None])
def test_walltime_minus_one_or_absent_is_unbounded(walltime: float | None) -> None:
    fields = {} if walltime is None else {"walltime": walltime}
    assert next(parse([job(**fields)]).jobs()).walltime is None


def test_a_tiny_walltime_is_still_a_limit() -> None:
    assert next(parse([job(walltime=1e-9)]).jobs()).walltime == 1


def test_profiles_no_job_leads_to_are_dropped_but_their_names_stay_taken() -> None:
    profiles = {
        "seq": {"type": "composed", "nb": 3, "seq": ["inner", "d"]},
        "inner": {"type": "composed", "seq": ["leaf"]},
        "leaf": {"type": "msg_par_hg_tot", "cpu": 1e9, "com": 0},
        "asks": {"type": "recv", "success": "yes"},
        "yes": DELAY,
        "unused": DELAY,
    }
    workload = parse([job(1, profile="seq"), job(2, profile="asks")], profiles)
    assert list(workload.profiles) == ["d", "seq", "inner", "leaf", "asks", "yes"]
    assert workload.taken_names == frozenset({"d", *profiles})
    assert isinstance(workload.profiles["seq"], Composed)
    assert workload.profiles["seq"].repeat == 3
    assert isinstance(workload.profiles["leaf"], ParallelHomogeneousTotal)
    assert workload.profiles["leaf"].raw["type"] == "msg_par_hg_tot"


def test_other_keys_at_the_top_are_kept() -> None:
    workload = parse(description="x", version=0)
    assert workload.header == {"description": "x", "version": 0}
    assert (workload.nb_res, workload.streamed, len(workload)) == (4, False, 1)


def test_jobs_larger_than_nb_res_and_delays_of_zero_load() -> None:
    assert len(parse([job(res=64, profile="z")], {"z": {"type": "delay", "delay": 0}})) == 1


def test_no_jobs_at_all_is_a_workload() -> None:
    assert list(parse([]).jobs()) == []


@pytest.mark.parametrize(
    ("jobs", "path", "said"),
    [
        ([job(), 5], "jobs[1]", "must be an object"),
        ([{"subtime": 0, "res": 1, "profile": "d"}], "jobs[0].id", "missing"),
        ([job("")], "jobs[0].id", "missing|must"),
        ([job(1.5)], "jobs[0].id", "must be"),
        ([job("other!1")], "jobs[0].id", "must not contain '!'"),
        ([job(1), job("1")], "jobs[1].id", "'1' is the id of jobs[0] already"),
        ([job(subtime=-1)], "jobs[0].subtime", "at least 0"),
        ([job(subtime="0")], "jobs[0].subtime", "finite number"),
        ([job(subtime=True)], "jobs[0].subtime", "finite number"),
        ([job(res=0)], "jobs[0].res", "at least 1"),
        ([job(res=1.5)], "jobs[0].res", "integer"),
        ([job(res=1e30)], "jobs[0].res", "must be at most 9007199254740992"),
        ([job(res=2**60)], "jobs[0].res", "must be at most 9007199254740992"),
        ([job(), job(2, res=10**30)], "jobs[1].res", "must fit in 64 bits"),
        ([job(note={"k": [1, 10**30]})], "jobs[0].note.k[1]", "must fit in 64 bits"),
        ([job(note=-(2**64))], "jobs[0].note", "must fit in 64 bits"),
        ([job(walltime=0)], "jobs[0].walltime", "above 0, or -1"),
        ([job(walltime=-2)], "jobs[0].walltime", "above 0, or -1"),
        ([job(walltime=None)], "jobs[0].walltime", "number"),
        ([job(profile=3)], "jobs[0].profile", "name of a profile"),
        (
            [job(1), job(2, profile="x"), job(3, profile="y")],
            "jobs[1].profile",
            "'x' is not among the profiles (2 missing: 'x', 'y')",
        ),
        ([job(res=2, smpi_ranks_to_hosts_mapping=[0, 2])], "jobs[0].smpi_ranks_to_hosts_mapping", "0..1"),
    ],
)
def test_a_job_that_breaks_a_rule_is_named_by_its_path(jobs: list[Any], path: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(jobs)
    assert (caught.value.source, caught.value.path) == ("w.json", path)
    assert any(text in caught.value.problem for text in said.split("|"))


@pytest.mark.parametrize(
    ("profiles", "path", "said"),
    [
        ({"p": {"type": "warp"}}, "profiles.p.type", "unknown profile type 'warp'"),
        ({"p": 3}, "profiles.p", "must be an object"),
        ({"p": {"type": "delay", "delay": -1}}, "profiles.p.delay", "at least 0"),
        ({"p": {"type": "delay", "delay": 1, "ret": -1}}, "profiles.p.ret", "at least 0"),
        ({"p": {"type": "composed", "seq": ["d", "q"]}}, "profiles.p.seq[1]", "'q' is not among"),
        ({"p": {"type": "composed", "seq": ["p"]}}, "profiles.p", "p -> p"),
        ({"p": {"type": "composed", "seq": ["d"], "repeat": 1e30}}, "profiles.p.repeat", "at most"),
        ({"p": {"type": "parallel_homogeneous", "cpu": 1e31, "com": 0}}, "profiles.p.cpu", "at most 1e+30"),
        ({"p": {"type": "parallel_homogeneous", "cpu": 0, "com": 1e308}}, "profiles.p.com", "at most 1e+30"),
        ({"p": {"type": "parallel", "cpu": [1, 1e308], "com": []}}, "profiles.p.cpu[1]", "at most 1e+30"),
        ({"p": {"type": "parallel", "cpu": [-1], "com": []}}, "profiles.p.cpu[0]", "at least 0"),
        ({"p": {**DELAY, "ret": 10**30}}, "profiles.p.ret", "must fit in 64 bits"),
        (
            {"p": {"type": "parallel_homogeneous", "cpu": 1, "com": 0, "cores_per_executor": 1e300}},
            "profiles.p.cores_per_executor",
            "at most 1e+30",
        ),
        (
            {"p": {"type": "composed", "seq": ["q"]}, "q": {"type": "composed", "seq": ["d", "p"]}},
            "profiles.p",
            "p -> q -> p",
        ),
    ],
)
def test_a_profile_that_breaks_a_rule_is_named_even_if_unused(
    profiles: dict[str, Any], path: str, said: str
) -> None:
    with pytest.raises(InputError) as caught:
        parse(profiles=profiles)
    assert (caught.value.source, caught.value.path) == ("w.json", path)
    assert said in caught.value.problem


def test_a_parallel_profile_must_fit_the_size_of_its_jobs() -> None:
    two = {"type": "parallel", "cpu": [1, 2], "com": [0, 0, 0, 0]}
    assert len(parse([job(res=2, profile="p")], {"p": two})) == 1
    with pytest.raises(
        InputError, match=r"jobs\[0\].res: must be 2, the length of cpu in profile 'p', got 3"
    ):
        parse([job(res=3, profile="p")], {"p": two})


def nested(levels: int) -> dict[str, Any]:
    profiles: dict[str, Any] = {
        f"p{n}": {"type": "composed", "seq": [f"p{n - 1}"]} for n in range(levels, 0, -1)
    }
    return {**profiles, "p0": DELAY}


def test_sequences_nested_as_deep_as_a_job_can_run_are_read() -> None:
    assert len(parse([job(profile=f"p{MAX_NESTING}")], nested(MAX_NESTING)).profiles) == MAX_NESTING + 1


def test_sequences_nested_too_deep_to_run_are_refused_when_read() -> None:
    with pytest.raises(InputError, match=r"w.json: profiles\.p201: is nested deeper than 200 levels"):
        parse([job(profile="p3000")], nested(3000))


def test_a_byte_order_mark_is_passed_over() -> None:
    content = json.dumps({"nb_res": 4, "jobs": [job()], "profiles": {"d": DELAY}}).encode("utf-8-sig")
    assert len(parse_batsim_json(content, "w0", source="w.json")) == 1


def test_schedulers_are_told_whole_hosts_as_an_integer() -> None:
    (only,) = parse([job(res=2.0)]).jobs()
    assert (only.res, type(only.raw["res"])) == (2, int)


def test_two_profiles_of_one_name_are_refused() -> None:
    error = refusal(
        b'{"nb_res": 1, "jobs": [], "profiles": {"a": {"type": "delay", "delay": 1}, '
        b'"a": {"type": "delay", "delay": 2}}}'
    )
    assert str(error) == "w.json: profiles.a: there are two profiles of this name"


def test_a_field_named_type_inside_a_users_object_is_no_duplicate() -> None:
    assert len(parse(profiles={"s": {"type": "send", "msg": {"type": "hello"}}})) == 1


@pytest.mark.parametrize(
    ("content", "line", "said"),
    [
        (b'{\n "nb_res": 1,\n "jobs": [}\n', 3, "not JSON"),
        (b'{\n "nb_res": 1,\n "jobs": [],\n "profiles": {}\n', 5, "not JSON"),
        (b'{\n "nb_res": 1,\n\n "jobs": [{"id": NaN}],\n "profiles": {}}', 4, "NaN is not a number"),
        (b'{\n "nb_res": 1,\n "jobs": [], "profiles": {"\xff": 1}}', 3, "not UTF-8"),
        (b"", 1, "not JSON"),
    ],
)
def test_broken_json_is_refused_with_its_line(content: bytes, line: int, said: str) -> None:
    error = refusal(content)
    assert error.line == line
    assert said in error.problem


@pytest.mark.parametrize(
    ("tree", "path", "said"),
    [
        ({"jobs": [], "profiles": {}}, "nb_res", "missing"),
        ({"nb_res": 0, "jobs": [], "profiles": {}}, "nb_res", "at least 1, got 0"),
        ({"nb_res": 2.5, "jobs": [], "profiles": {}}, "nb_res", "got 2.5"),
        ({"nb_res": 1, "profiles": {}}, "jobs", "missing"),
        ({"nb_res": 1, "jobs": {}, "profiles": {}}, "jobs", "must be a list"),
        ({"nb_res": 1, "jobs": []}, "profiles", "missing"),
        ({"nb_res": 1, "jobs": [], "profiles": []}, "profiles", "must be an object"),
        ({"workflow": {}}, "jobs", "WfCommons"),
        ({"jobs": [{"submit_time": 1, "num_nodes": 2}]}, "jobs[0]", "ElastiSim"),
        ([1], None, "want an object"),
    ],
)
def test_a_file_that_is_not_a_batsim_workload_says_why(tree: object, path: str | None, said: str) -> None:
    error = refusal(json.dumps(tree).encode())
    assert error.path == path
    assert said in error.problem


def test_deeply_nested_json_is_refused_and_does_not_crash() -> None:
    assert "not JSON" in refusal(b'{"nb_res": 1, "jobs": ' + b"[" * 100_000).problem


def test_a_written_workload_reads_back_the_same(tmp_path: Path) -> None:
    first = parse(
        [job("w0!a", subtime=2, walltime=5.25, note=[1]), job(3, profile="seq")],
        {"seq": {"type": "composed", "repeat": 2, "seq": ["d"], "io_reads": 4}},
        description="x",
    )
    write_batsim_json(first, tmp_path / "again.json.gz")
    again = read_batsim_json(tmp_path / "again.json.gz", "w0")
    assert [{**j.raw, "id": j.id} for j in first.jobs()] == [j.raw for j in again.jobs()]
    assert {n: p.raw for n, p in first.profiles.items()} == {n: p.raw for n, p in again.profiles.items()}
    assert (again.nb_res, again.header) == (4, {"description": "x"})


def test_writing_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    workload = parse()
    for name in ("a.json.gz", "b.json.gz"):
        write_batsim_json(workload, tmp_path / name)
    assert (tmp_path / "a.json.gz").read_bytes() == (tmp_path / "b.json.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.json.gz").read_bytes()) == batsim_json(workload)
