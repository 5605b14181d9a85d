"""Jobs made from real logs, run by our schedulers on one of Batsim's own platforms."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from batpy.cli.main import main
from batpy.workloads.stages.importing import import_graph

LOG = "spark/emr_process_large_dataset_attempt1.zstd"
PFS_BYTES_PER_SECOND = 15e6
"""Of the storage host's link, 120 Mbit/s."""
EXPERIMENT = """
[platform]
file = "{platform}"
[[workload]]
id = "w0"
file = "jobs.json"
[scheduler.s]
algorithm = "{algorithm}"
"""


def run_time(folder: Path, shared: Path, algorithm: str, *arguments: str) -> float:
    """Import the log, run it, and give the job's execution time."""
    jobs = str(folder / "jobs.json")
    assert (
        main(
            [
                "workload",
                "import",
                "spark",
                str(shared / "data" / LOG),
                "-o",
                jobs,
                "--level",
                "job",
                *arguments,
            ]
        )
        == 0
    )
    platform = shared / "data" / "batsim-examples" / "platforms" / "cluster512_pfs.xml"
    (folder / "e.toml").write_text(EXPERIMENT.format(platform=platform, algorithm=algorithm))
    assert main(["run", str(folder / "e.toml"), "--output", str(folder / "out"), "--quiet"]) == 0
    with (folder / "out" / "jobs.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert row["final_state"] == "COMPLETED_SUCCESSFULLY"
    return float(row["execution_time"])


@pytest.fixture
def figures(shared: Path) -> tuple[float, float]:
    """Seconds of processor time, and of moving the data over the storage host's link."""
    pytest.importorskip("zstandard")
    stages = import_graph([shared / "data" / LOG]).graph.applications[0].stages
    cpu = sum(stage.cpu_us or stage.run_us for stage in stages) / 1e6
    moved = sum(stage.input_bytes + stage.output_bytes for stage in stages)
    return cpu, moved / PFS_BYTES_PER_SECOND


@pytest.mark.parametrize("algorithm", ["easy", "bebida"])
def test_parts_take_their_turns(
    tmp_path: Path, shared: Path, figures: tuple[float, float], algorithm: str
) -> None:
    cpu, transfers = figures
    found = run_time(tmp_path, shared, algorithm, "--hosts", "10", "--cores", "3")
    assert found == pytest.approx(cpu / 30 + transfers, rel=0.01)


def test_the_pfs_variant_moves_data_beside_the_computation(
    tmp_path: Path, shared: Path, figures: tuple[float, float]
) -> None:
    cpu, transfers = figures
    arguments = ("--hosts", "10", "--cores", "3", "--io", "beside")
    found = run_time(tmp_path, shared, "bebida[variant=pfs]", *arguments)
    assert max(cpu / 30, transfers) * 0.99 < found < cpu / 30 + transfers


def test_less_bandwidth_means_longer_reads(
    tmp_path: Path, shared: Path, figures: tuple[float, float]
) -> None:
    cpu, transfers = figures
    half = str(PFS_BYTES_PER_SECOND / 2)
    arguments = ("--hosts", "10", "--cores", "3", "--io", "bandwidth", "--write-bandwidth", half)
    found = run_time(tmp_path, shared, "easy", *arguments, "--read-bandwidth", half)
    assert found == pytest.approx(cpu / 30 + 2 * transfers, rel=0.01)
