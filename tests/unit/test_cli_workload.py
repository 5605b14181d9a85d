"""``batpy workload``: describing and converting from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from batpy.cli.main import main

LOG = """; MaxProcs: 8
1 0 5 100 2 -1 -1 2 200 -1 1 3 1 -1 1 -1 -1 -1
2 10 5 0 4 -1 -1 4 200 -1 1 3 1 -1 1 -1 -1 -1
3 20 5 60 8 -1 -1 8 50 -1 1 4 1 -1 1 -1 -1 -1
"""
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log.swf").write_text(LOG)


def test_description_is_for_people_or_for_machines(capsys: Capture) -> None:
    assert main(["workload", "describe", "log.swf"]) == 0
    shown = capsys.readouterr().out
    assert any(line.split() == ["jobs", "3"] for line in shown.splitlines())
    assert main(["workload", "describe", "log.swf", "--json", "--hosts", "16"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["jobs"], told["nb_res"]) == (3, 16)


def test_swf_becomes_json_and_comes_back(capsys: Capture) -> None:
    assert main(["workload", "convert", "log.swf", "jobs.json"]) == 0
    assert capsys.readouterr().out.endswith("3 jobs written to jobs.json\n")
    jobs = json.loads(Path("jobs.json").read_text())["jobs"]
    assert [(job["subtime"], job["res"], job["walltime"]) for job in jobs] == [
        (0, 2, 200),
        (10, 4, 200),
        (20, 8, 50),
    ]
    assert main(["workload", "convert", "jobs.json", "back.swf"]) == 0
    rows = [line.split() for line in Path("back.swf").read_text().splitlines() if line[0] != ";"]
    assert [(row[1], row[3], row[7], row[8]) for row in rows] == [
        ("0", "100", "2", "200"),
        ("10", "0", "4", "200"),
        ("20", "60", "8", "50"),
    ]


def test_options_of_the_reader_apply(capsys: Capture) -> None:
    assert main(["workload", "convert", "log.swf", "two.json", "--swf", "max_jobs=2"]) == 0
    assert "2 jobs written" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["describe", "no.swf"], "no.swf: cannot be read"),
        (["describe", "log.swf", "--swf", "max_job=2"], "--swf max_job: no such setting"),
        (["describe", "log.swf", "--hosts", "0"], "--hosts: must be at least 1"),
        (["convert", "log.swf", "log.txt"], "log.txt: the name must end in .swf"),
        (["convert", "log.swf", "./log.swf"], "log.swf: would overwrite the workload that is read"),
        (["convert", "log.swf", "./log.swf", "--overwrite"], "log.swf: would overwrite the workload that is"),
        (["convert", "sample:no", "a.json"], "sample:no: there is no sample 'no'"),
        (["generate", "nothing", "a.json"], "nothing: no such generator"),
        (["generate", "lublin[jobs=5]", "a.json", "--seed", "-1"], "--seed: must be at least 0"),
    ],
)
def test_wrong_arguments_are_one_line_and_write_nothing(
    capsys: Capture, arguments: list[str], said: str
) -> None:
    assert main(["workload", *arguments]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"batpy: error: {said}")
    assert Path("log.swf").read_text() == LOG
    assert not Path("a.json").exists()


@pytest.mark.parametrize("command", [["convert", "log.swf"], ["generate", "lublin[jobs=3]"]])
def test_a_file_that_exists_is_replaced_on_request_only(capsys: Capture, command: list[str]) -> None:
    Path("out.json").write_text("precious")
    assert main(["workload", *command, "out.json"]) == 2
    said = "batpy: error: out.json: exists; name another file, or say --overwrite\n"
    assert capsys.readouterr() == ("", said)
    assert Path("out.json").read_text() == "precious"
    assert main(["workload", *command, "out.json", "--overwrite"]) == 0
    assert json.loads(Path("out.json").read_text())["jobs"]


def test_generated_workload_depends_on_its_seed_only(capsys: Capture) -> None:
    for name, seed in (("a.json", "1"), ("b.json", "1"), ("c.json", "2")):
        assert main(["workload", "generate", "lublin[jobs=50]", name, "--seed", seed]) == 0
    assert "50 jobs written to a.json" in capsys.readouterr().out
    assert Path("a.json").read_bytes() == Path("b.json").read_bytes() != Path("c.json").read_bytes()
    assert len(json.loads(Path("a.json").read_text())["jobs"]) == 50
