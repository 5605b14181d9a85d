"""What a scheduler says crosses what it has not heard yet: that is no breach, and no host is used twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from broker_talk import BDA, HPC, Talk, at, job, over, run, vacated

from batpy.broker.core import TenantError
from batpy.broker.tenants import TenantConfig
from batpy.protocol import messages as m
from batpy.protocol import sharing_records as r

KILLED = m.COMPLETED_KILLED
MID, LOW = (TenantConfig(name, (name[0],), wants=("sharing", "refusals")) for name in ("mid", "low"))


def killed(now: int, *jobs: str) -> m.JobKilled:
    return m.JobKilled(now, list(jobs), {job: {"profile_name": "p", "progress": 0.5} for job in jobs})


def text(now: int, id_: str) -> m.ToJobMsg:
    return m.ToJobMsg(now, id_, "empty")


# ------------------------------------------------------------------------- the greeting


def test_who_is_to_hear_of_revocations_is_known_before_the_first_start_takes_hosts() -> None:
    """A tenant may register and start a job in its first reply, in which the lower rank says HELLO."""
    raw = {"id": "1", "subtime": 0, "res": 1, "profile": "p"}
    first = TenantConfig("first", ("f",), dynamic_jobs=True)
    talk = Talk(
        "priority[timeout=0]", first, TenantConfig("low", ("l",)),
        first=[m.RegisterJob(0, "f!1", raw), run(0, "f!1", "0")],
        low=[m.Hello(0, "low", "1", ("sharing",))],
    )  # fmt: skip
    assert talk.heard["low"][-1] == m.RemoveResources(0, at("0"))
    assert not [said for said in talk.greeting if isinstance(said, m.ExecuteJob)]
    assert talk.tell(1, job(1, "l!1"), low=[vacated(1, "0")]) == [run(1, "f!1", "0")]


# ------------------------------------------------------------------------- acknowledgements


def test_hosts_that_are_acknowledged_too_early_are_vacated_when_the_last_job_on_them_is_over() -> None:
    """pybatsim's schedBebida acknowledges when the first of its victims is gone."""
    talk = Talk("bebida[timeout=0]")
    talk.tell(1, job(1, "b!1"), job(1, "b!2"), bda=[run(1, "b!1", "0"), run(1, "b!2", "1")])
    talk.tell(5, job(5, "h!1"), hpc=[run(5, "h!1", "0-2")], bda=[m.KillJob(5, ["b!1", "b!2"])])
    assert talk.tell(5, over(5, "b!1", "0", KILLED), bda=[vacated(5, "0-2")]) == []
    assert [record.hosts for record in talk.records(r.Vacated)] == [((0, 0), (2, 2))]
    assert talk.tell(7, over(7, "b!2", "1", KILLED)) == [run(7, "h!1", "0-2")]
    last = talk.records(r.Vacated)[-1]
    assert (last.time, last.hosts, last.how) == (7, at("1"), r.ACKNOWLEDGED)
    with pytest.raises(TenantError, match="or has already"):
        talk.tell(8, job(8, "b!3"), bda=[vacated(8, "1")])


def test_acknowledged_hosts_whose_jobs_outlast_the_timeout_are_told_as_such() -> None:
    talk = Talk("bebida[timeout=4,on_timeout=fail]")
    talk.tell(1, job(1, "b!1"), bda=[run(1, "b!1", "0")])
    talk.tell(5, job(5, "h!1"), hpc=[run(5, "h!1", "0")], bda=[vacated(5, "0")])
    for now in (6, 7):
        talk.tell(now, m.RequestedCall(now))
    with pytest.raises(TenantError, match="its jobs there are not over in time; say KILL_JOB"):
        talk.tell(9, m.RequestedCall(9))


def test_a_start_in_its_prolog_waits_again_when_its_scheduler_gives_the_hosts_up() -> None:
    talk = Talk("priority[prolog_base=10,timeout=0]", HPC, MID, LOW)
    talk.tell(1, job(1, "m!1"), mid=[run(1, "m!1", "0-1")], low=[vacated(1, "0-1")])
    talk.tell(5, job(5, "h!1"), hpc=[run(5, "h!1", "1")], mid=[vacated(5, "1")])
    # Its own prolog is over, but host 1 is no longer lent to it; the other's lasts until 15.
    assert talk.tell(11, m.RequestedCall(11)) == []
    assert talk.tell(15, m.RequestedCall(15)) == [run(15, "h!1", "1")]
    assert talk.tell(20, over(20, "h!1", "1")) == [run(20, "m!1", "0-1")]


def test_so_it_does_when_the_revocation_is_cancelled_and_the_policy_does_not_give_them_back(
    tmp_path: Path,
) -> None:
    (tmp_path / "stingy.py").write_text(
        "from batpy.broker.actions import Grant, Hold, Revoke\n"
        "from batpy.broker.policy import SharingPolicy\n\n"
        "class Stingy(SharingPolicy):\n"
        "    def start_requested(self, start):\n"
        "        if start.tenant:\n"
        "            return [Hold((), 20)]\n"
        "        return [Revoke(1, start.hosts, timeout=2, on_timeout='cancel'), Hold((1,))]\n"
    )
    talk = Talk(f"{tmp_path}/stingy.py:Stingy")
    talk.tell(1, job(1, "b!1"), bda=[run(1, "b!1", "0")])
    talk.tell(5, job(5, "h!1"), hpc=[run(5, "h!1", "0")])
    talk.tell(6, m.RequestedCall(6))
    assert talk.tell(7, m.RequestedCall(7)) == [m.RejectJob(7, "h!1")]
    assert talk.tell(21, m.RequestedCall(21)) == []


def test_a_start_waits_for_all_that_was_asked_back_for_it_whatever_the_policy_holds_it_for(
    tmp_path: Path,
) -> None:
    (tmp_path / "rash.py").write_text(
        "from batpy.broker.actions import Grant, Revoke\n"
        "from batpy.broker.policy import SharingPolicy\n\n"
        "class Rash(SharingPolicy):\n"
        "    def start_requested(self, start):\n"
        "        if start.tenant:\n"
        "            return [Grant()]\n"
        "        return [*(Revoke(rank, start.hosts) for rank in (1, 2)), Grant()]\n"
    )
    quiet = TenantConfig("quiet", ("q",))  # is not asked: its hosts are seized at once
    talk = Talk(f"{tmp_path}/rash.py:Rash", HPC, quiet, LOW)
    assert talk.tell(5, job(5, "h!1"), hpc=[run(5, "h!1", "0")]) == []
    assert talk.heard["low"] == [m.RemoveResources(5, at("0"))]
    assert talk.tell(8, job(8, "l!1"), low=[vacated(8, "0")]) == [run(8, "h!1", "0")]


# ------------------------------------------------------------------------- ends that were not told yet


def test_a_text_to_a_job_whose_end_is_kept_back_by_an_epilog_is_not_passed_on() -> None:
    talk = Talk("bebida[epilog_base=6,timeout=0,epilog_blocking=true]")
    talk.tell(5, job(5, "h!1"), hpc=[run(5, "h!1", "0")], bda=[vacated(5, "0")])
    talk.tell(9, over(9, "h!1", "0"))
    assert talk.tell(10, job(10, "h!2"), hpc=[text(10, "h!1")]) == []
    talk.tell(15, m.RequestedCall(15))
    # From now on it knows, and what the simulator would say to that is its own fault.
    assert talk.tell(16, job(16, "h!3"), hpc=[text(16, "h!1")]) == [text(16, "h!1")]


def test_nor_is_one_to_a_job_that_the_broker_kills_in_the_same_reply() -> None:
    talk = Talk("bebida", HPC, TenantConfig("bda", ("b",)))
    talk.tell(1, job(1, "b!1"), bda=[run(1, "b!1", "0")])
    events = job(5, "h!1"), job(5, "b!2")
    reply = talk.tell(5, *events, hpc=[run(5, "h!1", "0")], bda=[text(5, "b!1")])
    assert reply == [m.KillJob(5, ["b!1"])]


def test_a_text_to_a_job_that_waits_is_passed_on() -> None:
    talk = Talk("bebida[timeout=0]")
    talk.tell(5, job(5, "h!1"), hpc=[run(5, "h!1", "0")])
    assert talk.tell(6, job(6, "h!2"), hpc=[text(6, "h!1")]) == [text(6, "h!1")]


def test_a_kill_is_acknowledged_when_the_last_of_its_ends_is_told() -> None:
    """Of two killed jobs only one had taken hosts from others: their epilogs end at different dates."""
    talk = Talk("bebida[epilog_base=2,epilog_per_node=2,epilog_width=1,timeout=0,epilog_blocking=true]")
    starts = [run(5, "h!1", "0"), run(5, "h!2", "1-2")]
    talk.tell(5, job(5, "h!1"), job(5, "h!2"), hpc=starts, bda=[vacated(5, "0-2")])
    talk.tell(9, job(9, "h!3"), hpc=[m.KillJob(9, ["h!1", "h!2"])])
    ends = over(9, "h!1", "0", KILLED), over(9, "h!2", "1-2", KILLED)
    talk.tell(9, *ends, killed(9, "h!1", "h!2"))
    talk.tell(13, m.RequestedCall(13))
    assert talk.heard["hpc"] == [ends[0]]
    talk.tell(15, m.RequestedCall(15))
    assert talk.heard["hpc"] == [ends[1], killed(9, "h!1", "h!2")]


def test_a_kill_of_a_job_whose_start_was_denied_in_the_same_reply_is_no_breach(tmp_path: Path) -> None:
    (tmp_path / "no.py").write_text(
        "from batpy.broker.actions import Deny\n"
        "from batpy.broker.policy import SharingPolicy\n\n"
        "class No(SharingPolicy):\n"
        "    def start_requested(self, start):\n"
        "        return [Deny('no')]\n"
    )
    talk = Talk(f"{tmp_path}/no.py:No", HPC, BDA)
    said = [run(1, "b!1", "0"), m.KillJob(1, ["b!1"])]
    assert talk.tell(1, job(1, "b!1"), bda=said) == []
    assert talk.heard["bda"][-1] == m.DecisionRefused(1, "EXECUTE_JOB", "no", "b!1")
    with pytest.raises(TenantError, match="job b!1 is not running"):
        talk.tell(2, job(2, "b!2"), bda=[m.KillJob(2, ["b!1"])])
