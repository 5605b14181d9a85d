"""Unmodified pybatsim schedulers behind our broker, alone and with ours; swapped by one line."""

from __future__ import annotations

import csv
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from peers import DEADLINE, bebida_of_pybatsim, pybatsim
from shared_inputs import write_experiment, write_workloads

pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("default")]

BATPY = (sys.executable, "-P", "-m", "batpy")
COMPAT = 'compat = "pybatsim"'
SHARES = f'{COMPAT}\nwants = ["sharing"]'
POLICY = "bebida[timeout=50]"
PFS = """\
file = "{shared}/data/batsim-examples/platforms/cluster512_pfs.xml"
roles = {{pfs0 = "storage"}}"""


def batpy(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*BATPY, *arguments], cwd=folder, capture_output=True, text=True, timeout=2 * DEADLINE, check=False
    )


def states(folder: Path) -> dict[str, set[str]]:
    """By workload, final states of its jobs."""
    told: dict[str, set[str]] = {}
    with (folder / "jobs.csv").open() as file:
        for row in csv.DictReader(file):
            told.setdefault(row["workload_name"], set()).add(row["final_state"])
    return told


def done(folder: Path) -> dict[str, int]:
    """By tenant, original jobs that were completed; every one must be."""
    told: dict[str, int] = {}
    with (folder / "work.csv").open() as file:
        for row in csv.DictReader(file):
            assert row["final_state"] == "COMPLETED_SUCCESSFULLY", row
            told[row["tenant"]] = told.get(row["tenant"], 0) + 1
    return told


def audited(folder: Path, output: str) -> None:
    audit = batpy(folder, "audit", output)
    assert (audit.returncode, audit.stderr) == (0, "")
    assert "no law broken" in audit.stdout
    assert "run done" in audit.stdout


def make_folders(folder: Path) -> tuple[Path, Path]:
    write_workloads(folder)
    for name in ("hpc", "bda"):
        (folder / name).mkdir()
    return folder / "hpc", folder / "bda"


@pytest.mark.parametrize("variant", ["no-io", "pfs"])
def test_easy_backfill_and_bebida_of_pybatsim_share_a_park(
    shared: Path, tmp_path: Path, variant: str
) -> None:
    hpc, bda = make_folders(tmp_path)
    with ExitStack() as stack:
        one, first = stack.enter_context(pybatsim("easyBackfill", hpc))
        other, second = stack.enter_context(bebida_of_pybatsim(bda, variant))
        seats = (f'endpoint = "{one}"\n{COMPAT}', f'endpoint = "{other}"\n{SHARES}')
        if variant == "pfs":
            platform = PFS.format(shared=shared)
            write_experiment(
                tmp_path, *seats, policy=POLICY, platform=platform, simulation="mmax = 16\ndeadline = 20"
            )
        else:
            write_experiment(tmp_path, *seats, policy=POLICY)
        run = batpy(tmp_path, "run", "shared.toml", "--quiet", "-o", "o")
        assert (run.returncode, run.stderr) == (0, "")
        assert (first.wait(DEADLINE), second.wait(DEADLINE)) == (0, 0)
    audited(tmp_path, "o")
    assert done(tmp_path / "o") == {"hpc": 25, "bda": 12}
    assert states(tmp_path / "o")["hpc"] == {"COMPLETED_SUCCESSFULLY"}


def test_in_the_shipped_sample_bebida_of_pybatsim_takes_the_seat_as_it_is(tmp_path: Path) -> None:
    """No fix from outside, no key but the one that says who it is."""
    _, bda = make_folders(tmp_path)
    with pybatsim("schedBebida", bda, "-o", '{"variant": "pfs"}') as (endpoint, peer):
        seat = "scheduler.bigdata"
        sets = ("--set", f"{seat}.algorithm=", "--set", f"{seat}.endpoint={endpoint}")
        run = batpy(tmp_path, "run", "sample:shared-pfs", "--quiet", "-o", "o", *sets)
        assert run.returncode == 0, run.stderr
        assert peer.wait(DEADLINE) == 0
    audited(tmp_path, "o")
    with (tmp_path / "o/work.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["tenant"] == "bigdata"]
    assert len(rows) == 60
    assert {row["final_state"] for row in rows} == {"COMPLETED_SUCCESSFULLY"}
    assert any(int(row["disruptions"]) for row in rows)


def test_the_big_data_scheduler_is_swapped_by_one_line(tmp_path: Path) -> None:
    """The line that says who it is; all else stays, the keys for a foreign peer too."""
    _, bda = make_folders(tmp_path)
    ours = write_experiment(tmp_path, bda=f'algorithm = "bebida"\n{SHARES}', policy=POLICY).read_text()
    mine = batpy(tmp_path, "run", "shared.toml", "--quiet", "-o", "ours")
    assert (mine.returncode, mine.stderr) == (0, "")
    with bebida_of_pybatsim(bda) as (endpoint, peer):
        theirs = ours.replace('algorithm = "bebida"', f'endpoint = "{endpoint}"')
        changed = [
            pair for pair in zip(ours.splitlines(), theirs.splitlines(), strict=True) if len(set(pair)) > 1
        ]
        assert len(changed) == 1
        (tmp_path / "shared.toml").write_text(theirs)
        other = batpy(tmp_path, "run", "shared.toml", "--quiet", "-o", "theirs")
        assert (other.returncode, other.stderr) == (0, "")
        assert peer.wait(DEADLINE) == 0
    for output in ("ours", "theirs"):
        audited(tmp_path, output)
        assert done(tmp_path / output) == {"hpc": 25, "bda": 12}
