"""Every Batsim workload among the large inputs loads, or is refused where it is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from batpy.base.errors import InputError
from batpy.workloads import samples
from batpy.workloads.batsim_json import read_batsim_json
from batpy.workloads.external_events import read_events
from batpy.workloads.load import load_workload
from batpy.workloads.profile import Composed
from batpy.workloads.sequences import run_times

REFUSED = {
    "elastisim-jobs.json": ("jobs[0]", "ElastiSim's format"),
    "hcmut-SuperNodeXP-2017.json": ("jobs[0].profile", "(2 missing: '61', '60')"),
}


def _files(shared: Path) -> list[Path]:
    folders = ("data/batsim", "data/bugs", "data/batsim-examples/workloads", "golden/batsim/workloads")
    return [
        path
        for folder in folders
        for path in sorted((shared / folder).iterdir())
        if path.name.endswith((".json", ".json.gz"))
    ]


def test_every_workload_loads_or_is_refused_with_its_path(shared: Path) -> None:
    loaded = 0
    for path in _files(shared):
        if path.name in REFUSED:
            field, said = REFUSED[path.name]
            with pytest.raises(InputError) as caught:
                load_workload(path)
            assert caught.value.path == field
            assert said in caught.value.problem
            continue
        workload = load_workload(path)
        jobs = list(workload.jobs())
        assert len(jobs) == len(workload) > 0
        assert [(j.submit, j.id) for j in jobs] == sorted((j.submit, j.id) for j in jobs)
        assert all(j.profile in workload.profiles for j in jobs)
        loaded += 1
    assert loaded > 40


@pytest.mark.parametrize(
    ("name", "jobs", "hosts"),
    [
        ("data/batsim/batsimexp-300_16.json", 300, 128),
        ("data/batsim/g5k-workload_msg_seed7_size32.json", 800, 32),
        ("data/batsim/naikelin-workload.json", 2450, 3),
        ("data/batsim/pybatsim-test_delays.json", 12, 32),
        ("data/bugs/flux572_easy17_nowalltime.json", 17, 4),
        ("golden/batsim/workloads/own_ptask_10000.json.gz", 10000, 128),
    ],
)
def test_counts_are_those_of_the_sources(shared: Path, name: str, jobs: int, hosts: int) -> None:
    workload = load_workload(shared / name)
    assert (len(workload), workload.nb_res) == (jobs, hosts)


def test_unknown_fields_of_other_tools_are_kept(shared: Path) -> None:
    workload = read_batsim_json(shared / "data/batsim/naikelin-workload.json")
    assert any(job.raw.get("dependencies") == [0, 1] for job in workload.jobs())
    assert workload.profiles["low_1"].raw["np"] == 1


def test_unbounded_walltimes_and_zero_delays_of_the_bug_reports(shared: Path) -> None:
    jobs = list(read_batsim_json(shared / "data/bugs/flux572_easy17_nowalltime.json").jobs())
    assert {job.walltime for job in jobs} == {None}
    zero = read_batsim_json(shared / "data/bugs/zero_runtime.json")
    assert run_times(zero.profiles, ["z", "d"]) == {"z": (0, 0), "d": (5, 0)}
    assert [job.walltime for job in zero.jobs()] == [10_000_000] * 3 + [None]


@pytest.mark.parametrize("number", ["01", "02", "03", "04", "05", "07", "08", "13"])
def test_forwarded_profiles_are_those_that_batsim_forwarded(shared: Path, number: str) -> None:
    (transcript,) = (shared / "golden/batsim/transcripts").glob(f"{number}_*.jsonl")
    with transcript.open() as lines:
        begins = json.loads(json.loads(next(lines))["raw"])["events"][0]["data"]
    (told,) = begins["workloads"].values()
    workload = read_batsim_json(shared / "data/batsim-examples/workloads" / Path(told).name)
    assert {name: dict(profile.raw) for name, profile in workload.profiles.items()} == begins["profiles"][
        "w0"
    ]


def test_bundled_samples_load() -> None:
    folder = Path(samples.__path__[0])
    workload = read_batsim_json(folder / "composed.json")
    assert len(workload) == 8
    assert isinstance(workload.profiles["campaign"], Composed)
    assert run_times(workload.profiles, ["campaign", "breaks"])["campaign"] == (120.0, 0)
    events = read_events(folder / "hosts-leave.txt", ticks_per_second=1, generic=False)
    assert [event.time for event in events] == [20, 60, 100, 150]
    assert "Lars Malinowsky" in (folder / "README").read_text()
