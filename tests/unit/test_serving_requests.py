"""Workloads of requests: the file, the generator, and what an experiment says of serving."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path
from typing import Any

import pytest

from batpy.base.errors import InputError
from batpy.cli.experiment import load_experiment
from batpy.cli.serving import load_serving
from batpy.workloads.serving.arrivals import generate_requests
from batpy.workloads.serving.requests import ModelCopies, Request, read_requests

MODELS = [{"model_id": 0, "path": "a", "copies": 2}, {"model_id": 5, "path": "b"}]


def file(folder: Path, *requests: dict[str, Any], **more: Any) -> Path:
    path = folder / "r.json"
    path.write_text(json.dumps({"models": MODELS, "requests": list(requests), **more}))
    return path


def test_requests_are_read_in_the_order_of_their_dates(tmp_path: Path) -> None:
    path = file(
        tmp_path,
        {"time": 2.5, "model_id": 1, "id": "late", "batch_size": 4, "input_size": 9, "slo": 0.5},
        {"time": 1e-6, "model_id": 5},
        slo=0.02,
    )
    workload = read_requests(path, "w", ticks_per_second=1_000_000)
    assert workload.models == (ModelCopies(0, "a", 2), ModelCopies(5, "b"))
    expected = [
        Request("w!1", 1, 5, 1, 0, 20_000_000),
        Request("w!late", 2_500_000, 1, 4, 9, 500_000_000),
    ]
    assert list(workload.requests()) == list(workload.requests()) == expected


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"time": 1, "model_id": 2}, r"r\.json: requests\[0\]\.model_id: there is no model 2 among models"),
        ({"time": -1, "model_id": 0}, r"r\.json: is no workload of requests: .*requests\[0\]\.time"),
        ({"model_id": 0}, "missing required field `time`"),
        ({"time": 1, "model_id": 0, "slow": 2}, "unknown field `slow`"),
        ({"time": 1, "model_id": 0, "batch_size": 0}, "batch_size"),
        (
            {"time": 1, "model_id": 0, "id": "a!b"},
            r"requests\[0\]\.id: must be new, not empty and without '!'",
        ),
    ],
)
def test_bad_requests_are_told_with_their_place(tmp_path: Path, row: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read_requests(file(tmp_path, row), "w", ticks_per_second=1)


def test_ids_of_requests_and_models_are_used_once(tmp_path: Path) -> None:
    twice = {"time": 1, "model_id": 0, "id": "x"}
    with pytest.raises(InputError, match=r"requests\[1\]\.id: must be new"):
        read_requests(file(tmp_path, twice, twice), "w", ticks_per_second=1)
    path = file(tmp_path, models=[*MODELS, {"model_id": 1, "path": "c"}])
    with pytest.raises(InputError, match="models: model id 1 is there twice"):
        read_requests(path, "w", ticks_per_second=1)


def drawn(spec: str, seed: int = 1) -> list[Request]:
    return list(generate_requests(spec, random.Random(seed), "w", ticks_per_second=1_000_000).requests())


def test_poisson_arrivals_have_their_rate_and_spread_over_the_copies() -> None:
    found = drawn("poisson[model=m,rate=1000,duration=10,copies=4,first=3]")
    assert len(found) == pytest.approx(10_000, rel=0.04)
    assert [request.time for request in found] == sorted(request.time for request in found)
    assert found[-1].time <= 10_000_000
    counts = [sum(request.model_id == model for request in found) for model in range(3, 7)]
    assert all(count == pytest.approx(2500, rel=0.1) for count in counts)
    gaps = [b.time - a.time for a, b in itertools.pairwise(found)]
    mean = sum(gaps) / len(gaps)
    # The deviation of exponential gaps is their mean.
    assert (sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) ** 0.5 == pytest.approx(mean, rel=0.05)


def test_each_pass_and_each_equal_seed_draws_the_same() -> None:
    spec = "poisson[model=m,rate=100,duration=1,copies=9]"
    workload = generate_requests(spec, random.Random(1), "w", ticks_per_second=1_000_000)
    assert list(workload.requests()) == list(workload.requests()) == drawn(spec) != drawn(spec, 2)


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("poisson[rate=1,duration=1]", "the option 'model' is needed"),
        ("poisson[model=m,rate=0,duration=1]", "rate must be from 1e-09"),
        ("poisson[model=m,rate=1,duration=1,copies=0]", "copies must be from 1"),
        ("burst[model=m]", "no such generator of requests; choose from poisson"),
        ("poisson[model=m,rate=1,duration=1,first=2147483647,copies=2]", "ids above"),
    ],
)
def test_bad_generators(spec: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        drawn(spec)


EXPERIMENT = """
[platform]
hosts = 1
gpus = 1
[serving]
tables = ["zoo.json"]
[[workload]]
kind = "requests"
generator = "poisson[model=m,rate=1,duration=1]"
[scheduler.c]
algorithm = "direct"
"""


def experiment(folder: Path, text: str) -> Any:
    (folder / "zoo.json").write_text('{"models": {}}')
    (folder / "e.toml").write_text(text)
    return load_experiment(str(folder / "e.toml"))


def test_an_experiment_with_requests(tmp_path: Path) -> None:
    config = experiment(tmp_path, EXPERIMENT)
    setup = load_serving(config)
    assert setup is not None
    assert setup.workloads[0].models == (ModelCopies(0, "m", 1),)
    tree = config.to_tree()
    assert tree["workload"][0]["kind"] == "requests"
    assert tree["serving"]["tables"] == ["zoo.json"]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("tables =", "table =", r"serving\.table: unknown key; did you mean 'tables'"),
        ("[serving]", '[serving]\nlike = "clipper"', r"serving\.like: must be 'requirement' or"),
        ("[serving]", "[serving]\njitter.exec_sd = true", r"serving\.jitter\.exec_sd: must be a number"),
        (
            "[scheduler.c]",
            '[broker]\npolicy = "static"\n[scheduler.c]',
            r"workload\[0\]\.kind: requests cannot",
        ),
    ],
)
def test_bad_keys_of_serving(tmp_path: Path, old: str, new: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        experiment(tmp_path, EXPERIMENT.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("[serving]", "[serving]\njitter.sd = 1", r"serving\.jitter: .*no such option"),
        ("[serving]", '[serving]\nconfig = "none.cfg"', r"none\.cfg: cannot be read"),
        ("zoo.json", "none.json", r"none\.json: cannot be read"),
        ("rate=1", "rate=x", r"workload\[0\]\.generator: "),
    ],
)
def test_bad_inputs_of_serving(tmp_path: Path, old: str, new: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        load_serving(experiment(tmp_path, EXPERIMENT.replace(old, new)))
