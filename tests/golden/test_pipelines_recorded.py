"""Every recorded run of the original: events, dates, states, pools and statistics."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from pipeline_recorded import close, differences, load

import batpy
from batpy.pipelines.imports import import_users

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "golden" / "eudoxia"
CASES = json.loads((FOLDER / "cases.json").read_text()) if FOLDER.is_dir() else []
SEEDED = (
    sorted(path.name.split(".")[0] for path in (FOLDER / "results").glob("g*")) if FOLDER.is_dir() else []
)
REGRESSIONS = sorted(path.name for path in (FOLDER / "regression").iterdir()) if FOLDER.is_dir() else []
POLICIES = Path(__file__).resolve().parents[1] / "support" / "pipeline_policies"


def test_the_recorded_runs_are_there(shared: Path) -> None:
    assert (len(CASES), len(SEEDED), len(REGRESSIONS)) == (153, 10, 4)


@pytest.mark.parametrize(("config", "trace"), CASES, ids=[config for config, _ in CASES])
def test_traces(config: str, trace: str) -> None:
    recorded = load(FOLDER, config)
    found = differences(recorded, FOLDER / f"configs/{config}.toml", FOLDER / f"traces/{trace}.csv")
    assert found == []


@pytest.mark.parametrize("name", SEEDED)
def test_seeded_runs_and_their_replays(name: str) -> None:
    recorded = load(FOLDER, name)
    config = FOLDER / "configs" / f"{name.removesuffix('_replay')}.toml"
    trace = FOLDER / recorded["trace"] if name.endswith("_replay") else None
    assert differences(recorded, config, trace) == []


@pytest.mark.parametrize("name", ["custom_susp7_a", "custom_susp7_b"])
def test_a_users_policy_from_its_description(
    name: str, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert FOLDER.is_relative_to(shared)
    monkeypatch.setattr(sys, "path", list(sys.path))
    import_users([str(POLICIES / "susp7.py")])
    recorded = load(FOLDER, name)
    assert differences(recorded, FOLDER / recorded["config"], FOLDER / recorded["trace"]) == []


@pytest.mark.parametrize("name", REGRESSIONS)
def test_regression_figures(name: str) -> None:
    folder = FOLDER / "regression" / name
    expected = json.loads((folder / "expected.json").read_text())
    ours = batpy.run_simulator(folder / "params.toml", folder / "trace.csv", compat="eudoxia").to_dict()
    assert {key: ours[key] for key in expected if not close(expected[key], ours[key])} == {}
