"""Small versions of the shipped studies, as the command runs them."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from batpy.cli.main import main
from batpy.results.audit import audit
from batpy.studies import bebida_2017, pfs_vs_dfs
from batpy.studies.campaign import Settings, conduct
from batpy.studies.rigid import Mix

SMALL = Mix(
    hosts=32,
    largest=16,
    shortest=30.0,
    longest=300.0,
    overestimate=2.0,
    load=0.6,
    horizon=1500.0,
    submissions=1300.0,
)


def settings(**changes: object) -> Settings:
    return replace(Settings(seed=3, seeds=1, jobs=1, keep=False), **changes)  # type: ignore[arg-type]


def test_bebida_2017_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bebida_2017, "CANDIDATES", 3)
    study = replace(bebida_2017.STUDY, carry_out=partial(bebida_2017.conduct, mix=SMALL, numbers=(1, 4)))
    findings, written = conduct(study, settings(keep=True), tmp_path, lambda *_: None)
    modes = [row["mode"] for row in findings.rows]
    assert (modes.count("hpc_alone"), modes.count("oar_yarn_2017"), modes.count("ideal")) == (2, 6, 6)
    alone = {row["hpc_workload"]: row for row in findings.rows if row["mode"] == "hpc_alone"}
    for row in findings.rows:
        if row["mode"] == "hpc_alone":
            continue
        before = alone[row["hpc_workload"]]["hpc_wait"]
        if row["mode"] == "ideal":
            assert row["hpc_wait"] == pytest.approx(before)
            assert row["utilisation"] > 0.97
        else:
            assert row["hpc_wait"] >= before + row["hpc_held"] * 0.5
            assert row["handed"] > 0
        assert 0 < row["effectiveness"] < 1
        assert row["utilisation"] + row["handed"] + row["idle"] == pytest.approx(1, abs=1e-6)
    # Short stages lose less.
    by_bda = [
        sum(row["effectiveness"] for row in findings.rows if row["bda_workload"] == bda) for bda in (1, 2)
    ]
    assert by_bda[1] > by_bda[0]
    assert {path.name for path in written} >= {"runs.csv", "summary.json"}
    kept = sorted((tmp_path / "runs").iterdir())
    assert len(kept) == len(findings.rows)
    assert all(audit(folder).passed for folder in kept)


def test_results_do_not_depend_on_the_number_of_processes(tmp_path: Path) -> None:
    for jobs in (1, 2):
        arguments = ["study", "bebida-2024", "--seeds", "2", "--jobs", str(jobs), "--seed", "5", "--quiet"]
        assert main([*arguments, "-o", str(tmp_path / str(jobs))]) == 0
    for name in ("runs.csv", "summary.json"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()
    assert sorted(path.name for path in (tmp_path / "1").iterdir())[-2:] == ["runs.csv", "summary.json"]
    with (tmp_path / "1" / "runs.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["variant"] for row in rows[:4]] == ["nohpc", "none", "none+timeout", "none, 5 s a node"]
    assert float(rows[0]["run4"]) == pytest.approx(50.2)


def test_a_kept_run_can_be_audited_and_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "study"
    arguments = [
        "study",
        "bebida-2024",
        "--seeds",
        "1",
        "--jobs",
        "1",
        "--keep",
        "--quiet",
        "-o",
        str(folder),
    ]
    assert main(arguments) == 0
    run = folder / "runs" / "none+timeout-1"
    assert main(["audit", str(run), "--quiet"]) == 0
    # The files of a saved experiment are taken from the working folder.
    monkeypatch.chdir(folder / "inputs" / "none+timeout-1")
    assert main(["run", str(run / "experiment.json"), "--quiet", "-o", str(tmp_path / "again")]) == 0
    assert (tmp_path / "again" / "jobs.csv").read_bytes() == (run / "jobs.csv").read_bytes()


def test_pfs_vs_dfs_on_a_log_of_the_users(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "day.tsv"
    log.write_text(
        "".join(f"job{n}\t{n}\t1\t{1 << (20 + n % 14)}\t0\t{1 << (18 + n % 12)}\n" for n in range(40))
    )
    study = replace(pfs_vs_dfs.STUDY, carry_out=partial(pfs_vs_dfs.conduct, nodes=(4, 16, 64)))
    findings, _ = conduct(study, settings(inputs=(log,)), tmp_path / "out", lambda *_: None)
    assert {row["log"] for row in findings.rows} == {"day.tsv"}
    assert len(findings.rows) == 2 * 3 * 5
    for disk in ("hdd", "ssd"):
        times = {row["nodes"]: row["dfs_s"] for row in findings.rows if row["disk"] == disk}
        assert times[4] > times[16] >= times[64]
    slow, fast = ([row["dfs_s"] for row in findings.rows if row["disk"] == disk] for disk in ("hdd", "ssd"))
    assert all(a > b for a, b in zip(slow, fast, strict=True))
    # More bandwidth never moves the crossover to fewer nodes.
    found = findings.figures["crossover_nodes"]["day.tsv"]["ssd"]
    nodes = [point["nodes"] for point in found.values() if point["nodes"] is not None]
    assert nodes == sorted(nodes)

    assert main(["study", "pfs-vs-dfs", str(tmp_path / "none.tsv"), "-o", str(tmp_path / "o")]) == 2
    assert "none.tsv" in capsys.readouterr().err


def test_the_summary_is_printed_on_demand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "one.tsv"
    log.write_text("job0\t1\t1\t1000000000\t0\t500000000\n")
    arguments = ["study", "pfs-vs-dfs", str(log), "--seeds", "1", "--jobs", "1", "-o", str(tmp_path / "out")]
    assert main([*arguments, "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["study"] == "pfs-vs-dfs"
    assert summary["figures"]["logs"]["one.tsv"] == {"jobs": 1, "read": 10**9, "written": 5 * 10**8}
