"""The arguments of ``batpy broker``: who is named, what is routed to whom, and what is said about a slip."""

from __future__ import annotations

from pathlib import Path

import pytest

from batpy.base.errors import InputError
from batpy.broker.tenants import TenantConfig
from batpy.cli.commands.broker import configure
from batpy.cli.main import main
from batpy.cli.serve_broker import serve_broker, tenants_of

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
        ((*TWO, "--policy", "fair"), "fair"),
    ],
)
def test_a_slip_is_one_line(flags: tuple[str, ...], told: str) -> None:
    with pytest.raises(InputError) as why:
        serve_broker(configure().parse_args(list(flags)), print)
    assert told in str(why.value)
    assert "\n" not in str(why.value)


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
