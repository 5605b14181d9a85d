"""The shipped studies against published bands, with fewer repetitions than in ``tests/bench``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from batpy.studies.campaign import Settings, conduct
from batpy.studies.catalogue import load
from batpy.studies.study import Check, Findings

SETTINGS = Settings(seed=0, seeds=1, jobs=2, keep=False)


def carried_out(name: str, seeds: int, folder: Path) -> tuple[Findings, dict[str, Check]]:
    findings, written = conduct(load(name), replace(SETTINGS, seeds=seeds), folder, lambda *_: None)
    assert all(path.stat().st_size for path in written)
    return findings, {check.name: check for check in findings.checks}


def test_bebida_2017(tmp_path: Path) -> None:
    findings, checks = carried_out("bebida-2017", 1, tmp_path)
    for name in (
        "mean effectiveness E",
        "HPC mean wait, 2017 hand-over (%)",
        "HPC mean wait, no hand-over (%)",
        "utilisation, HPC alone (%)",
        "utilisation, no hand-over (%)",
        "same, hand-over counted (%)",
    ):
        assert checks[name].verdict == "PASS", (name, checks[name].measured)
    # What prologs and epilogs take is missing from the strict figure, and nothing else.
    strict = checks["utilisation, 2017 hand-over (%)"].measured
    counted = checks["same, hand-over counted (%)"].measured
    assert strict is not None
    assert counted is not None
    assert strict + 100 * findings.figures["handed_over"] == pytest.approx(counted)
    assert 98 < strict < 99
    by_bda = findings.figures["effectiveness_by_bda_workload"]
    for figures in by_bda.values():
        assert figures["measured"] == pytest.approx(figures["published"], abs=0.06)


def test_bebida_2024(tmp_path: Path) -> None:
    findings, checks = carried_out("bebida-2024", 12, tmp_path)
    for name in ("no HPC (s)", "none (s)", "none+timeout (s)"):
        assert checks[name].verdict == "PASS", (name, checks[name].measured)
    # The published stalls took 188 s and, once, 248 s: looks of the driver at 180 and 240 s.
    calm = {row["experiment"]: row for row in findings.rows if row["variant"] == "none"}
    stalled = [
        row["run1"]
        for row in findings.rows
        if row["variant"] == "none+timeout" and row["run1"] > calm[row["experiment"]]["run1"] + 20
    ]
    assert stalled
    assert {round(time) for time in stalled} <= {188, 248}


def test_pfs_vs_dfs(tmp_path: Path) -> None:
    findings, _ = carried_out("pfs-vs-dfs", 1, tmp_path)
    for disks in findings.figures["crossover_nodes"].values():
        for points in disks.values():
            nodes = [point["nodes"] for point in points.values() if point["nodes"] is not None]
            assert nodes == sorted(nodes)
            assert len(nodes) >= 2
            # Uneven loads need more disks than even ones would.
            for point in points.values():
                if point["nodes"] is not None:
                    assert point["nodes"] > point["even_loads"]
