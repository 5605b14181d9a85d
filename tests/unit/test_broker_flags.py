"""The arguments of ``batpy broker``: who is named, what is routed to whom, and what is said about a slip."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from batpy.base.errors import InputError
from batpy.broker.tenants import TenantConfig
from batpy.cli.commands.broker import configure
from batpy.cli.main import main
from batpy.cli.serve_broker import in_flags, serve_broker, tenants_of
from batpy.results.sharing_journal import SharingJournalReader

TWO = ("--scheduler", "hpc=tcp://127.0.0.1:1", "--scheduler", "bda=tcp://127.0.0.1:2")


def test_flags_describe_tenants_by_rank() -> None:
    flags = ("--route", "h=hpc", "--route", "b=bda", "--route", "c=bda", "--wants", "bda=sharing+refusals")
    arguments = configure().parse_args([*TWO, *flags, "--dynamic-jobs", "bda", "--droppable", "bda"])
    assert tenants_of(arguments, ["hpc", "bda"]) == [
        TenantConfig("hpc", ("h",)),
        TenantConfig("bda", ("b", "c"), ("sharing", "refusals"), dynamic_jobs=True, droppable=True),
    ]


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ((), "--scheduler: name at least one, as NAME=tcp://HOST:PORT"),
        (("--scheduler", "hpc=tcp://nowhere"), "--scheduler: hpc=tcp://nowhere:"),
        ((*TWO, "--route", "w=web"), "--route: there is no scheduler 'web'; choose from hpc, bda"),
        ((*TWO, "--wants", "web=sharing"), "--wants: there is no scheduler 'web'; choose from hpc, bda"),
        ((*TWO, "--wants", "bda=money"), "got 'money'"),
        ((*TWO, "--droppable", "web"), "--droppable: there is no scheduler 'web'; choose from hpc, bda"),
        ((*TWO, "--policy", "fair"), "--policy: fair: no such sharing policy"),
        ((*TWO, "--policy", "static[shares=hpc:0.5 bda:0.6]"), "--policy: static[shares=hpc:0.5 bda:0.6]: "),
        (
            ("--scheduler", "hpc=tcp://localhost:1", "--scheduler", "bda=tcp://127.0.0.1:1"),
            "--scheduler: hpc and bda have one endpoint, tcp://127.0.0.1:1; each needs one of its own",
        ),
    ],
)
def test_a_slip_is_one_line(flags: tuple[str, ...], told: str) -> None:
    with pytest.raises(InputError) as why:
        serve_broker(configure().parse_args(list(flags)), print)
    assert told in str(why.value)
    assert "\n" not in str(why.value)


def test_a_deadline_that_is_no_number_is_told_the_rule(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["broker", *TWO, "--deadline", "x"]) == 2
    assert "--deadline: must be a number of seconds of at least 0, got 'x'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("why", "told"),
    [
        (
            InputError("workload 'w1' has no scheduler; name one of hpc in its table or route it (w1=NAME)",
                       path="broker.routes"),
            "--route: workload 'w1' has no scheduler; name one of hpc (w1=NAME)",
        ),
        (InputError("is off", path="scheduler.bda.dynamic_jobs"), "--dynamic-jobs bda: is off"),
        (InputError("is for two", source="bebida"), "--policy: bebida: is for two"),
        (InputError("is wrong", source="mine.py"), "mine.py: is wrong"),
    ],
)  # fmt: skip
def test_what_is_found_at_the_greeting_is_told_of_the_flag(why: InputError, told: str) -> None:
    assert str(in_flags(why)) == told


SHARED = """
[platform]
hosts = 2
[broker]
policy = "priority"
[[workload]]
id = "a"
generator = "exponential[jobs=2,max_size=2]"
scheduler = "hpc"
[scheduler.hpc]
algorithm = "fcfs"
[scheduler.bda]
algorithm = "fcfs"
"""


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        ("bebida[lazy=1.5]", "bebida[lazy=1.5]: "),
        ('static[shares="hpc:2 bda:1"]', "static[shares=...]: the shares add up to 3 hosts, the park has 2"),
        ('static[shares="hpc:2 bdq:1"]', "static[shares=...]: there is no scheduler 'bdq'"),
        ("mine.py:Mine", "mine.py:Mine: "),
    ],
)
def test_a_policy_that_cannot_serve_is_found_before_an_earlier_run_is_touched(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    policy: str,
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "e.toml").write_text(SHARED)
    (tmp_path / "mine.py").write_text(
        "from batpy.broker.policy import SharingPolicy\n"
        "class Mine(SharingPolicy):\n"
        "    def begin(self, park):\n"
        "        raise ValueError('too few hosts')\n"
    )
    assert main(["run", "e.toml", "-q", "-o", "o"]) == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "o").iterdir()}
    capsys.readouterr()
    assert main(["run", "e.toml", "-q", "-o", "o", "--set", f"broker.policy='{policy}'"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"batpy: error: e.toml: broker.policy: {told}")
    assert said.count("\n") == 1
    assert {path.name: path.read_bytes() for path in (tmp_path / "o").iterdir()} == before


def test_what_the_gate_refuses_behind_a_broker_is_told_with_the_scheduler_that_is_meant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "wide.py").write_text(
        "from batpy.protocol.messages import ExecuteJob\n"
        "from batpy.schedulers.api import Plan\n"
        "class Wide:\n"
        "    def decide(self, view):\n"
        "        plan = Plan(view)\n"
        "        for job in view.arrived:\n"
        "            plan.say(ExecuteJob(view.now, job.id, ((0, 1),)))\n"
        "        return plan\n"
    )
    (tmp_path / "w.json").write_text(
        '{"nb_res": 2, "jobs": [{"id": "1", "subtime": 0, "res": 1, "profile": "d"}],'
        ' "profiles": {"d": {"type": "delay", "delay": 1}}}'
    )
    (tmp_path / "e.toml").write_text(
        '[platform]\nhosts = 2\n[broker]\npolicy = "priority"\n'
        '[[workload]]\nid = "a"\nfile = "w.json"\nscheduler = "wide"\n'
        '[scheduler.wide]\nalgorithm = "wide.py"\n'
    )
    assert main(["run", str(tmp_path / "e.toml"), "--quiet", "-o", str(tmp_path / "out")]) == 3
    assert capsys.readouterr().err == (
        "batpy: error: scheduler wide: events[0] EXECUTE_JOB a!1 at 0 s: "
        "job a!1 asked for 1 hosts, 2 hosts are given\n"
    )


LATE_WIDE = """
from batpy.protocol.messages import ExecuteJob
from batpy.schedulers.api import Plan
class Wide:
    def decide(self, view):
        plan = Plan(view)
        for job in view.arrived:
            if view.now:
                plan.say(ExecuteJob(view.now, job.id, ((0, 1),)))
            else:
                plan.start(job)
        return plan
"""


def run_two(folder: Path, *settings: str) -> int:
    """An orderly scheduler beside one that starts its second job, of one host, on two."""
    (folder / "wide.py").write_text(LATE_WIDE)
    jobs = ", ".join(f'{{"id": "{i}", "subtime": {i * 5}, "res": 1, "profile": "d"}}' for i in range(3))
    (folder / "w.json").write_text(
        f'{{"nb_res": 4, "jobs": [{jobs}], "profiles": {{"d": {{"type": "delay", "delay": 1}}}}}}'
    )
    (folder / "e.toml").write_text(
        '[platform]\nhosts = 4\n[broker]\npolicy = "static"\n'
        '[[workload]]\nid = "a"\nfile = "w.json"\nscheduler = "good"\n'
        '[[workload]]\nid = "b"\nfile = "w.json"\nscheduler = "wide"\n'
        '[scheduler.good]\nalgorithm = "fcfs"\n[scheduler.wide]\nalgorithm = "wide.py"\n'
    )
    sets = [word for setting in settings for word in ("--set", setting)]
    return main(["run", str(folder / "e.toml"), "-o", str(folder / "o"), *sets])


def test_a_droppable_scheduler_whose_decision_the_simulator_refuses_is_dropped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_two(tmp_path, "scheduler.wide.droppable=true") == 0
    reason = "at 5 s: EXECUTE_JOB b!1: job b!1 asked for 1 hosts, 2 hosts are given"
    assert f"note: scheduler wide: {reason}; the run went on without it" in capsys.readouterr().err
    with (tmp_path / "o/jobs.csv").open() as file:
        states = {(row["workload_name"], row["job_id"]): row["final_state"] for row in csv.DictReader(file)}
    assert {states["a", str(i)] for i in range(3)} == {"COMPLETED_SUCCESSFULLY"}
    assert [states["b", str(i)] for i in range(3)] == ["COMPLETED_SUCCESSFULLY", "REJECTED", "REJECTED"]
    assert main(["audit", str(tmp_path / "o"), "-q"]) == 0


def test_one_that_the_run_needs_ends_it_whoever_else_may_be_dropped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_two(tmp_path, "scheduler.good.droppable=true") == 3
    said = "scheduler wide: at 5 s: EXECUTE_JOB b!1: job b!1 asked for 1 hosts, 2 hosts are given\n"
    assert capsys.readouterr().err.endswith(said)


def test_a_lenient_run_drops_nobody_for_a_refusal(tmp_path: Path) -> None:
    run_two(tmp_path, "scheduler.wide.droppable=true", "simulation.strict=false")
    kinds = {type(record).__name__ for record in SharingJournalReader(tmp_path / "o/sharing.journal")}
    assert "StartReleased" in kinds
    assert "TenantDropped" not in kinds
