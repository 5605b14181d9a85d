"""What ships for ML serving: models and an experiment that runs, passes the audit and keeps its promise."""

from __future__ import annotations

from pathlib import Path

import pytest

from batpy.cli.main import main
from batpy.cli.samples import folder
from batpy.workloads.serving.zoo import Table


def test_the_shipped_models_are_those_of_the_files_at_hand(shared: Path) -> None:
    ours, theirs = (
        Table(folder() / "clockwork-zoo.models"),
        Table(shared / "data/serving/clockwork/model_profiles.json"),
    )
    assert ours.names == ("resnet18_v2", "resnet50_v2", "resnet152_v2")
    assert all(ours.find(name) == theirs.find(name) for name in ours.names)


def test_the_shipped_experiment_answers_all_in_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changes = ["--set", "workload.0.generator=poisson[model=resnet50_v2,rate=1500,duration=0.5,copies=12]"]
    assert main(["run", "sample:serving-clockwork", *changes, "-o", str(tmp_path / "out")]) == 0
    told = capsys.readouterr().err
    assert "0 late, 0 refused, 0 still queued at the end" in told
    assert main(["audit", str(tmp_path / "out")]) == 0


def test_generators_of_requests_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "generators"]) == 0
    told = capsys.readouterr().out
    assert "requests for ML serving" in told
    assert "rate=float (required)" in told
