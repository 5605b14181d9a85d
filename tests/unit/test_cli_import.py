"""``batpy workload import`` from the command line, and what it writes in a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import spark_logs as logs

from batpy.cli.main import main

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log").write_bytes(logs.lines(logs.small()))


def test_a_log_becomes_jobs_or_a_graph_and_a_graph_jobs(capsys: Capture) -> None:
    assert (
        main(["workload", "import", "spark", "log", "-o", "jobs.json", "--speed", "2e9", "--level", "job"])
        == 0
    )
    assert capsys.readouterr().out == "1 jobs written to jobs.json\n"
    direct = Path("jobs.json").read_bytes()
    assert json.loads(direct)["profiles"]["app0_s0"]["cpu"] == 1e9
    assert main(["workload", "import", "auto", "log", "--output", "graph.json.gz", "--level", "graph"]) == 0
    assert capsys.readouterr().out == "1 applications with 2 stages written to graph.json.gz\n"
    again = ["workload", "import", "graph", "graph.json.gz", "-o", "jobs.json", "--speed=2e9"]
    again += ["--level", "job", "--overwrite"]
    assert main(again) == 0
    assert Path("jobs.json").read_bytes() == direct


def test_what_was_left_out_is_printed(capsys: Capture) -> None:
    with Path("log").open("ab") as file:
        file.write(b'{"Event":"SparkListenerTaskEnd",')
    assert main(["workload", "import", "spark", "log", "-o", "jobs.json"]) == 0
    assert "left out: 1 x last line cut off (first at log:21)" in capsys.readouterr().out
    assert main(["workload", "import", "spark", "log", "-o", "more.json", "--strict"]) == 2
    assert "log:21: last line cut off" in capsys.readouterr().err
    assert not Path("more.json").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["spark", "none"], "none: cannot be read: No such file or directory"),
        (["spark", "log", "--speed", "fast"], "--speed: must be a finite number, got 'fast'"),
        (["spark", "log", "--hosts", "0"], "--hosts: must be at least 1, got 0"),
        (["spark", "log", "--io", "tape"], "--io: choose from pfs, beside, bandwidth, none; got 'tape'"),
        (["swim", "log", "--split-bytes", "0"], "--split-bytes: must be at least 1, got 0"),
        (
            ["spark", "log", "--level", "graph", "--cores", "2"],
            "--cores: is for levels that make jobs; level graph",
        ),
        (["spark", "log", "--platform", "p.xml", "--speed", "1"], "--platform: cannot be given together"),
        (["jhist", "log"], "log:1: not a job history"),
        (["oozie", "log"], "invalid choice: 'oozie'"),
    ],
)
def test_bad_arguments_are_one_line(capsys: Capture, arguments: list[str], said: str) -> None:
    assert main(["workload", "import", *arguments, "-o", "out.json"]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1
    assert not Path("out.json").exists()


def test_outputs_are_named_json_and_not_overwritten(capsys: Capture) -> None:
    assert main(["workload", "import", "spark", "log", "-o", "jobs.swf"]) == 2
    assert "must end in .json" in capsys.readouterr().err
    Path("jobs.json").write_text("")
    assert main(["workload", "import", "spark", "log", "-o", "jobs.json"]) == 2
    assert "exists; name another file" in capsys.readouterr().err
    assert Path("jobs.json").read_text() == ""


def test_who_runs_a_graph_is_told_how(capsys: Capture) -> None:
    assert main(["workload", "import", "spark", "log", "-o", "graph.json", "--level", "graph"]) == 0
    assert main(["workload", "describe", "graph.json"]) == 2
    assert "this is a stage graph; batpy workload import makes jobs of it" in capsys.readouterr().err


PLATFORM = """<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="z" routing="Full">
<host id="m" speed="9Gf"><prop id="role" value="master"/></host>
<host id="a" speed="3Gf"/><host id="b" speed="2Gf"/>
</zone></platform>
"""


def test_jobs_of_stages_are_what_one_gets_by_default(capsys: Capture) -> None:
    assert main(["workload", "import", "spark", "log", "-o", "jobs.json"]) == 0
    assert capsys.readouterr().out == "1 jobs written to jobs.json\n"
    tree = json.loads(Path("jobs.json").read_text())
    assert [profile["type"] for profile in tree["profiles"].values()] == ["stage_dag"]
    assert tree["description"] == "1 applications (spark), level stage_dag"
    assert main(["workload", "describe", "jobs.json"]) == 0
    assert "stage_dag" in capsys.readouterr().out


def test_the_speed_may_come_from_a_platform() -> None:
    Path("p.xml").write_text(PLATFORM)
    assert (
        main(["workload", "import", "spark", "log", "-o", "jobs.json", "--platform", "p.xml", "--level=job"])
        == 0
    )
    assert json.loads(Path("jobs.json").read_text())["profiles"]["app0_s0"]["cpu"] == 1e9


EXPERIMENT = """
[platform]
hosts = 4
[[workload]]
id = "w0"
file = "jobs.json"
[scheduler.s]
algorithm = "{algorithm}"
"""


@pytest.mark.parametrize("algorithm", ["easy", "bebida"])
@pytest.mark.parametrize(
    ("level", "seconds"), [("delay", 25.0), ("job", 0.625), ("stage_dag", 24.3), ("task", 24.3)]
)
def test_imported_jobs_run_as_long_as_their_work(
    capsys: Capture, algorithm: str, level: str, seconds: float
) -> None:
    """At level delay to the end of the last stage; at level job 1.25e9 flops on two hosts of 1e9 flops/s.

    With tasks on slots: 1 s, a job of 1.3 s, 20 s of thinking, and a job of 2 s.
    """
    Path("log").write_bytes(
        Path("log").read_bytes().replace(b'"Remote Bytes Read":40', b'"Remote Bytes Read":0')
    )
    make = ["workload", "import", "spark", "log", "-o", "jobs.json", "--level", level, "--io", "none"]
    assert main(make) == 0
    Path("e.toml").write_text(EXPERIMENT.format(algorithm=algorithm))
    assert main(["run", "e.toml", "--output", "out", "--quiet"]) == 0
    header, row = (line.split(",") for line in Path("out/jobs.csv").read_text().splitlines())
    job = dict(zip(header, row, strict=True))
    assert job["final_state"] == "COMPLETED_SUCCESSFULLY"
    assert float(job["execution_time"]) == pytest.approx(seconds, abs=1e-5)
