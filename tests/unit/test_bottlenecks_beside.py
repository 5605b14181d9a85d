"""Bottlenecks when data move beside the computation, as ``bebida[variant=pfs]`` has them moved."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from calibrations import calibration

from batpy.cli.main import main
from batpy.workloads.stages.calibration_form import write_calibration
from batpy.workloads.stages.calibration_rows import work_of
from batpy.workloads.stages.form import write_graph
from batpy.workloads.stages.graph import Application, Stage, StageGraph, table_of
from batpy.workloads.stages.roofline import Bandwidth, Figures, Parameters, Roofline, roofline

HOSTS = 2
SPEED = 1e9
PARAMETERS = Parameters(k_cpu=1.5e9, k_read=2.0, stage_overhead=1.0, overlap=1.0)
EXPERIMENT = """
[platform]
file = "park.xml"
[[workload]]
id = "w0"
file = "jobs.json"
[scheduler.s]
algorithm = "bebida[variant=pfs]"
"""
TIMES = [1_000_000] * 4
APPLICATION = Application(
    id="a",
    framework="spark",
    hosts=HOSTS,
    slots=HOSTS,
    stages=(
        Stage(
            id=0,
            tasks=4,
            done=4,
            wall_us=sum(TIMES),
            cpu_us=20_000_000,
            times_us=table_of(TIMES),
            input_bytes=10**9,
        ),
    ),
)
"""15 s of computing on two slots; 1e9 bytes, each counted twice, are read in 15 s at 133 MB/s."""


def park_xml(bandwidth: float) -> str:
    hosts = "".join(f'<host id="h{k}" speed="{SPEED:g}f"/>' for k in range(HOSTS))
    routes = "".join(f'<route src="h{k}" dst="pfs"><link_ctn id="storage"/></route>' for k in range(HOSTS))
    return f"""<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="z" routing="Full">
<host id="m" speed="1Gf"><prop id="role" value="master"/></host>{hosts}
<host id="pfs" speed="0f"><prop id="role" value="storage"/></host>
<link id="storage" bandwidth="{bandwidth:g}Bps" latency="0s"/>
<link id="fabric" bandwidth="10GBps" latency="0s"/>
<route src="h0" dst="h1"><link_ctn id="fabric"/></route>{routes}
</zone></platform>
"""


def told(bandwidth: float) -> Roofline:
    read = Bandwidth(rate=bandwidth, scope="all")
    work = work_of(APPLICATION, APPLICATION.stages[0])
    assert work is not None
    return roofline(work, PARAMETERS, Figures(speed=SPEED, read=read))


def simulated(bandwidth: float, output: str) -> float:
    Path("park.xml").write_text(park_xml(bandwidth))
    assert main(["run", "e.toml", "--output", output, "--quiet"]) == 0
    with Path(output, "jobs.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert row["final_state"] == "COMPLETED_SUCCESSFULLY"
    return float(row["execution_time"])


def test_the_parallel_file_system_decides_below_the_rooflines_bandwidth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_graph(StageGraph(source="spark", applications=(APPLICATION,)), "graph.json")
    write_calibration(calibration(PARAMETERS, Figures(speed=SPEED)), "c.json")
    make = ["workload", "import", "graph", "graph.json", "-o", "jobs.json", "--level", "job"]
    assert main([*make, "--io", "beside", "--calibration", "c.json"]) == 0
    Path("e.toml").write_text(EXPERIMENT)
    ridge = 2 * 1e9 / 15
    for index, (factor, expected) in enumerate(((0.5, "read"), (0.97, "read"), (1.03, "cpu"), (2, "cpu"))):
        line = told(ridge * factor)
        assert line.dominating == expected
        here = simulated(ridge * factor, f"out{index}")
        assert here == pytest.approx(line.wall, rel=1e-4)
        faster = simulated(ridge * factor * 1.02, f"faster{index}")
        # Two percent more bandwidth shorten what it decides, and nothing else.
        gain = (here - faster) / (here - PARAMETERS.stage_overhead)
        assert gain == pytest.approx(1 - 1 / 1.02 if expected == "read" else 0, abs=1e-4)
