"""``batpy workload calibrate`` and ``predict`` from the command line, and their file."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import spark_logs as logs

from batpy.cli.main import main
from batpy.workloads.stages.calibration_form import calibration_json, read_calibration

Capture = pytest.CaptureFixture[str]


def write_log(name: str, id: str, *, slow: float = 1.0, executors: int = 2, first: int = 2000) -> None:
    """An application of one job of three stages, on executors of two cores."""
    events = [logs.start(1000, id)]
    events += (logs.executor(str(n), 1000, cores=2, host=f"n{n}") for n in range(executors))
    slots = 2 * executors
    now = first
    stages = []
    for number, (tasks, seconds) in enumerate(((4, 2.0), (8, 1.0), (2, 3.0))):
        wave = round(1000 * seconds * slow)
        end = now + 100 + wave * -(-tasks // slots)
        stages.append((number, tasks, now, end, wave))
        now = end
    events.append(logs.job(0, first, [0, 1, 2]))
    for number, tasks, begin, end, wave in stages:
        parents = [number - 1] if number else []
        events.append(logs.stage(number, tasks, begin, parents=parents))
        for index in range(tasks):
            launch = begin + 100 + wave * (index // slots)
            metrics = logs.metrics(wave, round(wave * 0.8))
            events.append(logs.task(number, index, launch, launch + wave, metrics=metrics))
        events.append(logs.stage(number, tasks, begin, end, parents=parents))
    events += [logs.job_end(0, now), logs.end(now + 100)]
    Path(name).write_bytes(logs.lines(events))


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_log("a", "app-a")
    write_log("b", "app-b", slow=1.1)


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A calibration on both."""
    folder = tmp_path_factory.mktemp("calibrated")
    for name, slow in (("a", 1.0), ("b", 1.1)):
        write_log(str(folder / name), f"app-{name}", slow=slow)
    files = [str(folder / name) for name in "ab"]
    assert main(["workload", "calibrate", *files, "-o", str(folder / "c.json")]) == 0
    return (folder / "c.json").read_text()


@pytest.fixture
def saved(text: str) -> dict[str, Any]:
    """The same as c.json in the working folder."""
    Path("c.json").write_text(text)
    tree: dict[str, Any] = json.loads(text)
    return tree


def calibrated(*arguments: str) -> dict[str, Any]:
    assert main(["workload", "calibrate", "a", "b", "-o", "c.json", "--overwrite", *arguments]) == 0
    tree: dict[str, Any] = json.loads(Path("c.json").read_text())
    return tree


def test_parameters_are_saved_with_all_that_tells_where_they_are_from() -> None:
    tree = calibrated()
    assert tree["format"] == "batpy-calibration"
    assert [(log["file"], log["sha256"]) for log in tree["logs"]] == [
        (name, hashlib.sha256(Path(name).read_bytes()).hexdigest()) for name in ("a", "b")
    ]
    assert tree["range"] == {"executors": [2, 2], "slots": [4, 4], "bytes": [0, 0]}
    assert tree["units"]["k_cpu"] == "flops per second of processor time"
    assert {"batpy", "numpy"} <= set(tree)
    # A second of processor time is 1.25 s of a task, and a stage begins 0.1 s after its submission.
    assert tree["parameters"]["k_cpu"] == pytest.approx(1.25e9, rel=0.02)
    assert tree["parameters"]["stage_overhead"] == pytest.approx(0.1, abs=0.02)
    assert tree["seen"] == ["k_cpu", "task_overhead", "stage_overhead"]


def test_errors_are_told_of_what_was_left_out(capsys: Capture) -> None:
    tree = calibrated()
    kinds = [(one["kind"], one["application"], one["trained"]) for one in tree["left_out"]]
    assert kinds == [("run", "app-a", 3), ("run", "app-b", 3)]  # one application, run twice
    for one in tree["left_out"]:
        assert one["makespan_error"] == pytest.approx(0, abs=0.02)
    # 7 s and 7.7 s of tasks, each after the other; 0.3 s more were recorded.
    assert [one["profile_error"] for one in tree["left_out"]] == pytest.approx([7.7 / 7.3 - 1, 7 / 8 - 1])
    told = capsys.readouterr().out
    assert "6 stages learnt from" in told
    assert "k_read" in told
    assert "not seen" in told
    assert "the run" in told


def test_same_logs_give_the_same_bytes(text: str) -> None:
    """In another folder, too."""
    calibrated()
    assert Path("c.json").read_text() == text


def test_json_is_all_that_goes_to_standard_output(capsys: Capture) -> None:
    Path("bad").write_text("no log\n")
    assert main(["workload", "calibrate", "a", "bad", "b", "--json", "-o", "c.json"]) == 0
    streams = capsys.readouterr()
    assert streams.out == Path("c.json").read_text()
    assert "left out: bad: of no known kind" in streams.err


def test_each_bad_log_is_one_line_and_the_others_are_used(capsys: Capture) -> None:
    Path("bad").write_text("no log\n")
    assert main(["workload", "calibrate", "bad", "a", "missing"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith("left out: bad: of no known kind")
    assert told[1] == "left out: missing: cannot be read: No such file or directory"
    assert "3 stages learnt from; mean error 0.1 %" in told


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing"], "missing: cannot be read: No such file or directory"),
        (["a", "--speed", "fast"], "--speed: must be flops per second from 1 on, got 'fast'"),
        (["a", "--read-bandwidth", "1e9/rack"], "--read-bandwidth: must be bytes per second from 1 on"),
        (["a", "-o", "c.toml"], "c.toml: the name must end in .json"),
        (["a", "-o", "there.json"], "there.json: exists; name another file, or say --overwrite"),
        (["there.json"], "there.json: of no known kind"),
        (["idle"], "idle: no stage to learn from"),
    ],
)
def test_bad_arguments_are_one_line(capsys: Capture, arguments: list[str], said: str) -> None:
    Path("there.json").write_text("{}")
    Path("idle").write_bytes(logs.lines([logs.start(), logs.executor("1"), logs.end()]))
    assert main(["workload", "calibrate", *arguments]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1


def test_figures_that_are_given_are_kept() -> None:
    tree = calibrated("--speed", "2e9", "--read-bandwidth", "1e9/all", "--network-bandwidth", "1e8")
    assert tree["figures"]["speed"] == 2e9
    assert tree["figures"]["read"] == {"rate": 1e9, "scope": "all", "basis": "given"}
    assert tree["figures"]["net"] == {"rate": 1e8, "scope": "host", "basis": "given"}
    assert tree["parameters"]["k_cpu"] == pytest.approx(2.5e9, rel=0.02)


def predicted(capsys: Capture, *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["workload", "predict", "c.json", "a", "--json", *arguments]) == 0
    (tree,) = json.loads(capsys.readouterr().out)
    found: dict[str, Any] = tree
    return found


def test_predictions_follow_the_platform(capsys: Capture, saved: dict[str, Any]) -> None:
    """Stages of one, two and one wave; on eight slots of one each. Two tasks gain nothing from more."""
    same = predicted(capsys)
    assert same["recorded_s"] == pytest.approx(7.3)
    # The 0.1 s between a stage's submission and its first task are not among the times of tasks.
    assert same["makespan_s"] == pytest.approx(7.0, abs=1e-3)
    assert predicted(capsys, "--model")["makespan_s"] == pytest.approx(7.3, rel=0.02)
    assert predicted(capsys, "--slots", "8")["makespan_s"] == pytest.approx(6.0, abs=0.02)
    assert predicted(capsys, "--executors", "1")["makespan_s"] == pytest.approx(11.0, abs=0.02)
    assert predicted(capsys, "--speed", "2e9", "--model")["makespan_s"] == pytest.approx(3.8, rel=0.02)
    assert [stage["dominating"] for stage in same["stages"]] == ["cpu"] * 3


def test_what_is_far_from_the_logs_is_flagged(capsys: Capture, saved: dict[str, Any]) -> None:
    assert predicted(capsys, "--executors", "4")["flags"] == []
    assert predicted(capsys, "--executors", "5")["flags"] == [
        "extrapolated: 5 executors, calibrated from 2 to 2",
        "extrapolated: 10 slots, calibrated from 4 to 4",
    ]
    assert main(["workload", "predict", "c.json", "a", "--slots", "1"]) == 0
    told = capsys.readouterr().out
    assert "extrapolated: 1 slots, calibrated from 4 to 4" in told
    assert "makespan 22.0 s; recorded 7.3 s" in told


def test_the_growth_of_work_with_executors_is_calibrated(capsys: Capture) -> None:
    """Tasks take 1, 1.25 and 2 times as long on 1, 2 and 5 executors: a quarter more for each."""
    for executors, slow in ((1, 1.0), (2, 1.25), (5, 2.0)):
        write_log(f"on{executors}", f"app-{executors}", slow=slow, executors=executors)
    names = ["on1", "on2", "on5"]
    assert main(["workload", "calibrate", *names, "-o", "grown.json"]) == 0
    tree = json.loads(Path("grown.json").read_text())
    (inflation,) = tree["inflation"]
    assert (inflation["executors"], inflation["a"]) == (1.0, pytest.approx(0.25))
    assert "inflation of demo (3 stages to 2): a = 0.25" in capsys.readouterr().out
    # The run that was left out is told from the growth over the two others; 0.3 s are not of tasks.
    for one, span in zip(tree["left_out"], (11.3, 9.05, 12.3), strict=True):
        assert one["profile_error"] == pytest.approx(-0.3 / span, abs=1e-3)
    assert main(["workload", "predict", "grown.json", "on1", "--executors", "9", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["inflation"] == pytest.approx(3.0)


def test_the_file_gives_back_what_was_written(saved: dict[str, Any], text: str) -> None:
    assert calibration_json(read_calibration("c.json")).decode() == text


def test_an_application_that_cannot_be_predicted_is_one_line(capsys: Capture, saved: dict[str, Any]) -> None:
    Path("idle").write_bytes(logs.lines([logs.start(id="idle"), logs.executor("1"), logs.end()]))
    assert main(["workload", "predict", "c.json", "idle", "a"]) == 0
    told = capsys.readouterr().out
    assert "left out: application idle: no stage ran" in told
    assert "app-a: 4 slots on 2 hosts" in told
    assert main(["workload", "predict", "c.json", "idle"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["c.json", "a", "--slots", "0"], "--slots: must be a number from 1 to 999999, got '0'"),
        (["c.json", "a", "--hosts", "many"], "--hosts: must be a number from 1 to 999999, got 'many'"),
        (["c.json", "a", "--slots", "2", "--executors", "2"], "not allowed with argument"),
        (["a", "a"], "a: not JSON:"),
        (["old.json", "a"], "old.json: version: not a calibration: must be 1"),
        (["wrong.json", "a"], "wrong.json: parameters.overlap: expected `float` <= 1.0"),
        (["more.json", "a"], "more.json: object contains unknown field `more`"),
    ],
)
def test_bad_calibrations_are_one_line(
    capsys: Capture, saved: dict[str, Any], arguments: list[str], said: str
) -> None:
    Path("old.json").write_text(json.dumps({**saved, "version": 0}))
    Path("wrong.json").write_text(json.dumps({**saved, "parameters": {**saved["parameters"], "overlap": 2}}))
    Path("more.json").write_text(json.dumps({**saved, "more": 1}))
    assert main(["workload", "predict", *arguments]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1


def test_jobs_are_imported_with_a_calibration(capsys: Capture, saved: dict[str, Any]) -> None:
    """Stage 2 has two tasks of 2.4 s of processor time each, on four slots: half of them idle."""
    parameters = saved["parameters"]
    make = ["workload", "import", "spark", "a", "-o", "jobs.json", "--overwrite", "--io", "none"]
    assert main([*make, "--level", "job", "--calibration", "c.json"]) == 0
    profiles = json.loads(Path("jobs.json").read_text())["profiles"]
    assert profiles["app0"]["seq"][:2] == ["app0_s0_overhead", "app0_s0"]
    overhead = parameters["stage_overhead"] + parameters["task_overhead"]
    assert profiles["app0_s2_overhead"]["delay"] == pytest.approx(overhead)
    flops = 4.8 * parameters["k_cpu"] * 2 / 2  # twice for the idle slots, half for two cores a host
    assert profiles["app0_s2"]["cpu"] == pytest.approx(flops, rel=1e-5)
    capsys.readouterr()
    assert main([*make, "--level", "job", "--calibration", "c.json", "--hosts", "8"]) == 0
    assert (
        "accepted: 1 x application that is more than twice outside the calibrated range"
        in capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--level", "stage_dag"], "--calibration: is for level job, not stage_dag"),
        (["--level", "graph"], "--calibration: is for level job, not graph"),
        (["--level", "job", "--overlap", "0.5"], "--overlap: cannot be given together with --calibration"),
    ],
)
def test_a_calibration_is_for_level_job(
    capsys: Capture, saved: dict[str, Any], arguments: list[str], said: str
) -> None:
    assert (
        main(["workload", "import", "spark", "a", "-o", "x.json", "--calibration", "c.json", *arguments]) == 2
    )
    assert said in capsys.readouterr().err


def test_overlap_and_overheads_may_be_said_without_a_calibration(capsys: Capture) -> None:
    make = ["workload", "import", "spark", "a", "-o", "jobs.json", "--overwrite", "--level", "job"]
    assert main([*make, "--task-overhead", "0.5", "--stage-overhead", "2"]) == 0
    profiles = json.loads(Path("jobs.json").read_text())["profiles"]
    assert profiles["app0_s1_overhead"]["delay"] == pytest.approx(3.0)  # two waves
    assert main([*make, "--overlap", "1.5"]) == 2
    assert "--overlap: must be between 0 and 1, got 1.5" in capsys.readouterr().err
