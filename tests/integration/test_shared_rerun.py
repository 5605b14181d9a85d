"""A shared run's ``experiment.json`` repeats it."""

from __future__ import annotations

from pathlib import Path

import pytest

from batpy.cli.main import main
from tests.support.shared_inputs import write_workloads

EXPERIMENT = """\
[platform]
hosts = 16
speed = "1Gf"
[broker]
policy = "bebida"
[[workload]]
id = "hpc"
file = "hpc.json"
scheduler = "z_hpc"
[[workload]]
id = "bda"
file = "bda.json"
scheduler = "a_bda"
[scheduler.z_hpc]
algorithm = "fcfs"
[scheduler.a_bda]
algorithm = "bebida"
"""


def test_the_rank_of_schedulers_survives_in_the_saved_experiment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Saved with sorted keys, the scheduler whose name came first in the alphabet would come first."""
    monkeypatch.chdir(tmp_path)
    write_workloads(tmp_path)
    (tmp_path / "exp.toml").write_text(EXPERIMENT)
    assert main(["run", "exp.toml", "-q", "-o", "first"]) == 0
    assert main(["run", "first/experiment.json", "-q", "-o", "second"]) == 0
    for name in ("jobs.csv", "accounting.csv"):
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()
