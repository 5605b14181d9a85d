"""What is refused before a simulation begins: workloads that cannot run, whatever a scheduler does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from playback import DELAYS, JobList, hosts, job

from batpy.base.errors import InputError
from batpy.cli.main import main
from batpy.platforms.platform import Host, Platform
from batpy.simulator.admission import check_workload, size_notices
from batpy.workloads.batsim_json import parse_batsim_json
from batpy.workloads.swf import read_swf

PROFILES: dict[str, Any] = {
    **DELAYS,
    "mpi": {"type": "smpi", "trace": "x"},
    "pfs": {"type": "parallel_homogeneous_pfs", "bytes_to_read": 1, "storage": "scratch"},
    "stage": {"type": "data_staging", "nb_bytes": 1, "from": "in", "to": "out"},
    "inner": {"type": "composed", "seq": ["d5", "pfs"]},
    "outer": {"type": "composed", "seq": ["d5", "inner"]},
    "two": {"type": "parallel", "cpu": [1, 1], "com": []},
    "of two": {"type": "composed", "seq": ["d5", "two"]},
    "deep": {"type": "composed", "seq": ["of two"], "repeat": 2},
    "hear": {"type": "recv", "failure": "two"},
}
WITH_STORAGE = Platform(
    "p.xml", (Host(0, "a"),), (Host(1, "s", role="storage", properties={"role": "storage"}),)
)


@pytest.mark.parametrize(
    ("profile", "path", "problem"),
    [
        ("mpi", "mpi", "the profile of job w0!b is of type smpi, the replay of MPI traces"),
        ("pfs", "pfs", "the profile of job w0!b needs a storage host for 'scratch', and hosts=4 has no host"),
        ("stage", "stage", "the profile of job w0!b needs a storage host for 'in', and hosts=4 has no host"),
        ("outer", "pfs", "the profile of job w0!b needs a storage host for 'scratch', and hosts=4 has no"),
    ],
)
def test_a_workload_that_no_model_or_host_can_run_is_refused(profile: str, path: str, problem: str) -> None:
    workload = JobList([job("a"), job("b", subtime=1, profile=profile)], PROFILES)
    with pytest.raises(InputError) as caught:
        check_workload(workload, hosts(4))
    assert str(caught.value).startswith(f"memory: profiles.{path}: {problem}")


def test_profiles_that_no_job_leads_to_are_not_looked_at() -> None:
    check_workload(JobList([job("a")], PROFILES), hosts(4))


def test_a_storage_host_is_all_that_storage_profiles_need() -> None:
    check_workload(JobList([job("a", profile="outer"), job("b", profile="stage")], PROFILES), WITH_STORAGE)
    with pytest.raises(InputError, match="smpi"):
        check_workload(JobList([job("a", profile="mpi")], PROFILES), WITH_STORAGE)


def workload_file(profile: str, res: int) -> bytes:
    jobs = [job("a", profile="d5"), job("b", res=res, profile=profile)]
    return json.dumps({"nb_res": 4, "jobs": jobs, "profiles": PROFILES}).encode()


@pytest.mark.parametrize("profile", ["two", "of two", "deep", "hear"])
def test_vectors_are_for_as_many_executors_as_the_job_asks_for_however_deep(profile: str) -> None:
    assert len(parse_batsim_json(workload_file(profile, 2), "w0", source="w.json")) == 2
    with pytest.raises(InputError) as caught:
        parse_batsim_json(workload_file(profile, 3), "w0", source="w.json")
    said = "w.json: jobs[1].res: must be 2, the length of cpu in profile 'two', got 3"
    assert str(caught.value) == said


def test_the_command_refuses_such_a_workload_in_one_line_before_it_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("w.json").write_bytes(workload_file("mpi", 1))
    experiment = '[platform]\nhosts = 4\n[[workload]]\nfile = "w.json"\n[scheduler.s]\nalgorithm = "fcfs"\n'
    Path("e.toml").write_text(experiment)
    assert main(["run", "e.toml", "--output", "out"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("batpy: error: w.json: profiles.mpi: the profile of job w0!b is of type smpi")
    assert err.count("\n") == 1
    assert not Path("out").exists()


def test_jobs_that_are_wider_than_the_platform_are_told_before_the_run(tmp_path: Path) -> None:
    row = "{} {} 0 5 {} -1 -1 {} 20 -1 1 1 1 1 1 1 -1 -1\n"
    log = "; MaxProcs: 64\n" + "".join(row.format(n, n, res, res) for n, res in enumerate((2, 8, 9, 16), 1))
    (tmp_path / "a.swf").write_text(log)
    workload = read_swf(tmp_path / "a.swf", "w7")
    [line] = size_notices([workload], hosts(8))
    assert line == (
        "workload w7: 2 of its 4 jobs ask for more than the 8 hosts there are: rejected, unless the "
        "scheduler reshapes them; it was made for 64 hosts"
    )
    assert size_notices([workload], hosts(16)) == []
    [line] = size_notices([workload], hosts(16), wanted=64)
    assert line == "64 hosts are to be kept (mmax, mmax_workload); the platform has 16"
    assert size_notices([workload], hosts(16), wanted=16) == []


def test_a_workload_in_a_list_counts_its_wide_jobs_too() -> None:
    tree = {
        "nb_res": 4,
        "jobs": [{"id": n, "subtime": 0, "res": n, "profile": "d"} for n in (1, 2, 3)],
        "profiles": {"d": {"type": "delay", "delay": 10}},
    }
    workload = parse_batsim_json(json.dumps(tree).encode(), "w0", source="w.json")
    assert [workload.wider_than(n) for n in (0, 1, 2, 3)] == [3, 2, 1, 0]
