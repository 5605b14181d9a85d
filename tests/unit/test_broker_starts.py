"""Prolog and epilog: a start that is held back, its victims, and the way of its hosts back to the others."""

from __future__ import annotations

import pytest
from broker_talk import BDA, HPC, Talk, at, job, machine, over, run, vacated

from batpy.broker.core import TenantError
from batpy.broker.tenants import TenantConfig
from batpy.protocol import messages as m
from batpy.protocol import sharing_records as r

KILLED = m.COMPLETED_KILLED
DEAF = TenantConfig("bda", ("b",))
"""Does not speak sharing: its jobs are killed, and it never hears of hosts."""


def tree(progress: float) -> m.Json:
    return {"profile_name": "p", "progress": progress}


def killed(now: int, id_: str, hosts: str) -> tuple[m.Event, m.Event]:
    return over(now, id_, hosts, KILLED), m.JobKilled(now, [id_], {id_: tree(0.5)})


# ------------------------------------------------------------------------- prolog


def test_a_start_waits_for_acknowledgement_victims_and_prolog() -> None:
    talk = Talk("bebida[prolog_base=10,prolog_per_node=1,prolog_width=1]")
    talk.tell(1, job(1, "b!1"), bda=[run(1, "b!1", "0-1")])
    # Two hosts change hands: 10 + 2 x 1 s from now on.
    reply = talk.tell(5, job(5, "h!1"), hpc=[run(5, "h!1", "1-2")], bda=[m.KillJob(5, ["b!1"])])
    # The broker looks after it from time to time, until the timeout of 300 s.
    assert reply == [m.CallMeLater(5, 6), m.KillJob(5, ["b!1"])]
    assert talk.heard["bda"] == [m.RemoveResources(5, at("1-2"))]
    assert talk.tell(5, *killed(5, "b!1", "0-1"), bda=[vacated(5, "1-2")]) == [m.CallMeLater(5, 17)]
    [prolog] = talk.records(r.PrologBegins)
    assert (prolog.time, prolog.until) == (5, 17)
    assert talk.tell(17, m.RequestedCall(17)) == [run(17, "h!1", "1-2")]
    [vacating] = talk.records(r.Vacated)
    assert (vacating.hosts, vacating.how) == (at("1-2"), r.ACKNOWLEDGED)


def test_a_prolog_that_is_over_when_the_last_holder_leaves_costs_nothing_more() -> None:
    talk = Talk("bebida[prolog_base=2,timeout=0]")
    assert talk.tell(5, job(5, "h!1"), hpc=[run(5, "h!1", "0")]) == []
    assert talk.tell(9, job(9, "b!1"), bda=[vacated(9, "0")]) == [run(9, "h!1", "0")]


def test_an_acknowledgement_alone_does_not_start_a_job_over_its_victim() -> None:
    talk = Talk()
    talk.tell(1, job(1, "b!1"), bda=[run(1, "b!1", "0-1")])
    assert talk.tell(5, job(5, "h!1"), hpc=[run(5, "h!1", "1")], bda=[vacated(5, "1")]) == [
        m.CallMeLater(5, 6)
    ]
    assert talk.tell(8, over(8, "b!1", "0-1")) == [run(8, "h!1", "1")]


def test_acknowledgements_in_parts_go_to_the_oldest_revocation_first() -> None:
    talk = Talk("bebida[timeout=0]")
    talk.tell(5, job(5, "h!1"), job(5, "h!2"), hpc=[run(5, "h!1", "0-1"), run(5, "h!2", "2-3")])
    assert talk.heard["bda"] == [m.RemoveResources(5, at("0-1")), m.RemoveResources(5, at("2-3"))]
    assert talk.tell(6, job(6, "b!1"), bda=[vacated(6, "1-2")]) == []
    assert [(v.revocation, v.hosts) for v in talk.records(r.Vacated)] == [(0, at("1")), (1, at("2"))]
    assert talk.tell(7, job(7, "b!2"), bda=[vacated(7, "3")]) == [run(7, "h!2", "2-3")]
    assert talk.tell(8, job(8, "b!3"), bda=[vacated(8, "0")]) == [run(8, "h!1", "0-1")]


def test_nothing_changes_hands_nothing_is_charged() -> None:
    talk = Talk("bebida[prolog_base=10,epilog_base=10,timeout=0]")
    talk.tell(1, job(1, "h!1"), hpc=[run(1, "h!1", "0-1")], bda=[vacated(1, "0-1")])
    talk.tell(11, m.RequestedCall(11))
    talk.tell(20, job(20, "h!2"), over(20, "h!1", "0-1"))
    # The epilog until 30 keeps the hosts; the next job needs no prolog on them, as they changed hands before.
    assert talk.tell(21, job(21, "h!3"), hpc=[run(21, "h!2", "0")]) == []
    assert talk.tell(30, m.RequestedCall(30)) == [run(30, "h!2", "0")]
    assert len(talk.records(r.PrologBegins)) == 1


def test_who_does_not_share_is_not_asked_its_jobs_are_killed_at_once() -> None:
    talk = Talk("bebida", HPC, DEAF)
    talk.tell(1, job(1, "b!1"), bda=[run(1, "b!1", "0-1")])
    assert talk.tell(5, job(5, "h!1"), hpc=[run(5, "h!1", "1-2")]) == [m.KillJob(5, ["b!1"])]
    assert talk.tell(5, *killed(5, "b!1", "0-1")) == [run(5, "h!1", "1-2")]
    # It never asked for the kill: it learns that its job is over, not that it was killed by request.
    assert talk.heard["bda"] == [over(5, "b!1", "0-1", KILLED)]
    # What it starts on hosts that are not its own for now waits, without its knowing.
    assert talk.tell(6, job(6, "b!2"), bda=[run(6, "b!2", "1")]) == []
    assert talk.tell(9, over(9, "h!1", "1-2")) == [run(9, "b!2", "1")]


def test_or_after_the_grace() -> None:
    talk = Talk("bebida[grace=3]", HPC, DEAF)
    talk.tell(1, job(1, "b!1"), job(1, "b!2"), bda=[run(1, "b!1", "0"), run(1, "b!2", "1")])
    assert talk.tell(5, job(5, "h!1"), hpc=[run(5, "h!1", "0-1")]) == [m.CallMeLater(5, 8)]
    assert talk.tell(7, over(7, "b!2", "1")) == []
    assert talk.tell(8, m.RequestedCall(8)) == [m.KillJob(8, ["b!1"])]
    assert talk.tell(8, *killed(8, "b!1", "0")) == [run(8, "h!1", "0-1")]


def test_a_kill_because_of_a_revocation_waits_for_the_grace() -> None:
    talk = Talk("bebida[grace=3,timeout=0]")
    talk.tell(1, job(1, "b!1"), job(1, "b!2"), bda=[run(1, "b!1", "0"), run(1, "b!2", "3")])
    reply = talk.tell(5, job(5, "h!1"), hpc=[run(5, "h!1", "0")], bda=[m.KillJob(5, ["b!1"])])
    assert reply == [m.CallMeLater(5, 8)]
    # A kill of its own will, elsewhere, does not wait.
    assert talk.tell(6, job(6, "b!3"), bda=[m.KillJob(6, ["b!2"])]) == [m.KillJob(6, ["b!2"])]
    assert talk.tell(8, m.RequestedCall(8)) == [m.KillJob(8, ["b!1"])]


def test_a_later_revocation_does_not_lengthen_the_life_of_a_victim() -> None:
    talk = Talk("bebida[grace=3,timeout=0]")
    talk.tell(1, job(1, "b!1"), job(1, "b!2"), bda=[run(1, "b!1", "0-1"), run(1, "b!2", "2")])
    kill = m.KillJob(5, ["b!1", "b!2"])
    # One batch: b!2 is killed of its scheduler's own will, at once; b!1 has until 8 s.
    reply = talk.tell(5, job(5, "h!1"), hpc=[run(5, "h!1", "0")], bda=[kill])
    assert reply == [m.CallMeLater(5, 8), m.KillJob(5, ["b!2"])]
    talk.tell(7, job(7, "h!2"), hpc=[run(7, "h!2", "1")])
    assert talk.tell(8, m.RequestedCall(8)) == [m.KillJob(8, ["b!1"])]


def test_a_victim_that_ends_by_itself_before_its_kill_frees_its_hosts() -> None:
    """pybatsim's schedBebida never acknowledges then; the timeout gets the run through."""
    pybatsim = TenantConfig("bda", ("b",), wants=("sharing",), split_kill_ack=True)
    talk = Talk("bebida[timeout=60]", HPC, pybatsim)
    talk.tell(1, job(1, "b!1"), bda=[run(1, "b!1", "0-1")])
    talk.tell(5, job(5, "h!1"), hpc=[run(5, "h!1", "0-1")], bda=[m.KillJob(5, ["b!1"])])
    # It ended at the same instant: the acknowledgement names no progress, and is not told at all.
    assert talk.tell(5, over(5, "b!1", "0-1"), m.JobKilled(5, ["b!1"], {})) == []
    assert talk.heard["bda"] == [over(5, "b!1", "0-1")]
    for look in (6, 7, 9, 13, 21, 37):
        later = min(65, 2 * look - 5)
        assert talk.tell(look, m.RequestedCall(look)) == [m.CallMeLater(look, later)]
    assert talk.tell(65, m.RequestedCall(65)) == [run(65, "h!1", "0-1")]
    [vacating] = talk.records(r.Vacated)
    assert (vacating.time, vacating.how) == (65, r.SEIZED)
    assert talk.tell(70, over(70, "h!1", "0-1")) == []
    assert talk.heard["bda"] == [m.AddResources(70, at("0-1"))]


def test_two_starts_of_two_ranks_that_want_the_same_hosts_are_served_by_rank() -> None:
    top, middle = TenantConfig("hpc", ("h",)), TenantConfig("mid", ("m",), wants=("sharing",))
    talk = Talk("priority[timeout=0]", top, middle, BDA)
    reply = talk.tell(5, job(5, "h!1"), job(5, "m!1"), hpc=[run(5, "h!1", "0-1")], mid=[run(5, "m!1", "1-2")])
    assert reply == []
    assert talk.heard["mid"][-1] == m.RemoveResources(5, at("0-1"))
    assert [e for e in talk.heard["bda"] if isinstance(e, m.RemoveResources)] == [
        m.RemoveResources(5, at("0-1")), m.RemoveResources(5, at("2")),
    ]  # fmt: skip
    # Both vacate; the start of mid on host 1 is its to wait with until hpc is done.
    reply = talk.tell(6, job(6, "b!1"), job(6, "m!2"), mid=[vacated(6, "0-1")], bda=[vacated(6, "0-2")])
    assert reply == [run(6, "h!1", "0-1")]
    reply = talk.tell(9, over(9, "h!1", "0-1"))
    assert reply == [run(9, "m!1", "1-2")]
    assert m.AddResources(9, at("0-1")) in talk.heard["mid"]
    assert [e for e in talk.heard["bda"] if isinstance(e, m.AddResources)] == [m.AddResources(9, at("0"))]


def test_two_starts_of_one_scheduler_on_one_host_follow_each_other() -> None:
    """With an epilog it may use hosts again before they are clean: the second waits for the first."""
    talk = Talk("static[shares=hpc:4]", HPC)
    assert talk.tell(1, job(1, "h!1"), job(1, "h!2"), hpc=[run(1, "h!1", "0"), run(1, "h!2", "0-1")]) == [
        run(1, "h!1", "0")
    ]
    assert talk.tell(4, over(4, "h!1", "0")) == [run(4, "h!2", "0-1")]


def test_a_start_killed_in_its_prolog_never_reaches_the_simulator() -> None:
    talk = Talk("bebida[prolog_base=10,timeout=0]")
    talk.tell(5, job(5, "h!1"), hpc=[run(5, "h!1", "0-1")], bda=[vacated(5, "0-1")])
    assert talk.tell(8, job(8, "h!2"), hpc=[m.KillJob(8, ["h!1"])]) == [m.RejectJob(8, "h!1")]
    assert talk.heard["hpc"] == [job(8, "h!2"), over_unstarted(8, "h!1", "0-1")]
    assert talk.heard["bda"] == [m.AddResources(8, at("0-1"))]
    # The date of its prolog comes, and nothing happens.
    assert talk.tell(15, m.RequestedCall(15)) == []


def over_unstarted(now: int, id_: str, hosts: str) -> m.JobCompleted:
    return m.JobCompleted(now, id_, KILLED, -1, at(hosts))


def test_so_is_one_that_waits_and_who_shares_hears_of_its_progress_too() -> None:
    sharing = TenantConfig("mid", ("b",), wants=("sharing",))
    talk = Talk("priority[timeout=0]", HPC, sharing, TenantConfig("low", ("l",), wants=("sharing",)))
    chain = job(5, "b!1")
    chain.job["profile"] = "chain"
    talk.tell(5, chain, mid=[run(5, "b!1", "0-1")])
    assert talk.tell(6, job(6, "b!2"), mid=[m.KillJob(6, ["b!1"])]) == [m.RejectJob(6, "b!1")]
    progress = {"profile_name": "chain", "current_task_index": 0, "current_task": tree(0.0)}
    assert talk.heard["mid"][-2:] == [
        over_unstarted(6, "b!1", "0-1"), m.JobKilled(6, ["b!1"], {"b!1": progress}),
    ]  # fmt: skip
    # What was asked back for it is still to be vacated, then given again.
    talk.tell(7, job(7, "l!1"), low=[vacated(7, "0-1")])
    assert talk.heard["low"][-1] == m.AddResources(7, at("0-1"))


# ------------------------------------------------------------------------- epilog


def with_epilog(options: str, end: m.Event | None = None) -> Talk:
    """h!1 ran on 0-1, which bda had to leave, until 20 s; its epilog lasts until 26 s."""
    talk = Talk(f"bebida[epilog_base=6,timeout=0{options}]")
    talk.tell(5, job(5, "h!1"), hpc=[run(5, "h!1", "0-1")], bda=[vacated(5, "0-1")])
    assert talk.tell(20, end or over(20, "h!1", "0-1")) == [m.CallMeLater(20, 26)]
    return talk


def test_the_end_of_a_job_is_told_at_once_and_its_hosts_are_kept_for_the_epilog() -> None:
    talk = with_epilog("")
    assert talk.heard == {"hpc": [over(20, "h!1", "0-1")], "bda": []}
    assert talk.tell(26, m.RequestedCall(26)) == []
    assert talk.heard == {"hpc": [], "bda": [m.AddResources(26, at("0-1"))]}


def test_or_after_the_epilog_where_that_blocks() -> None:
    talk = with_epilog(",epilog_blocking=true")
    assert talk.heard == {"hpc": [], "bda": []}
    talk.tell(26, m.RequestedCall(26))
    assert talk.heard == {"hpc": [over(20, "h!1", "0-1")], "bda": [m.AddResources(26, at("0-1"))]}


def test_a_kill_in_a_blocking_epilog_is_acknowledged_after_the_end_of_its_job() -> None:
    talk = Talk("bebida[epilog_base=6,timeout=0,epilog_blocking=true]")
    talk.tell(5, job(5, "h!1"), hpc=[run(5, "h!1", "0-1")], bda=[vacated(5, "0-1")])
    talk.tell(9, job(9, "h!2"), hpc=[m.KillJob(9, ["h!1"])])
    talk.tell(9, *killed(9, "h!1", "0-1"))
    assert talk.heard == {"hpc": [], "bda": []}
    talk.tell(15, m.RequestedCall(15))
    assert talk.heard["hpc"] == list(killed(9, "h!1", "0-1"))


def test_the_others_get_the_hosts_after_the_recommission_delay() -> None:
    talk = with_epilog(",recommission=4")
    assert talk.tell(26, m.RequestedCall(26)) == [m.CallMeLater(26, 30)]
    assert talk.heard["bda"] == []
    talk.tell(30, m.RequestedCall(30))
    assert talk.heard["bda"] == [m.AddResources(30, at("0-1"))]


def test_hosts_taken_again_during_that_delay_are_not_given() -> None:
    talk = with_epilog(",recommission=4")
    talk.tell(26, m.RequestedCall(26))
    # No prolog and no question: bda has not got them back yet.
    assert talk.tell(28, job(28, "h!2"), hpc=[run(28, "h!2", "0")]) == [run(28, "h!2", "0")]
    talk.tell(30, m.RequestedCall(30))
    assert talk.heard["bda"] == [m.AddResources(30, at("1"))]


def test_lazy_asks_the_owner_first_and_spares_a_give_and_take() -> None:
    for lazy in ("true", "false"):
        talk = Talk(f"bebida[lazy={lazy},timeout=0]")
        talk.tell(5, job(5, "h!1"), hpc=[run(5, "h!1", "0-1")], bda=[vacated(5, "0-1")])
        reply = talk.tell(20, over(20, "h!1", "0-1"), job(20, "h!2"), hpc=[run(20, "h!2", "0")])
        if lazy == "true":
            assert reply == [run(20, "h!2", "0")]
            assert talk.heard["bda"] == [m.AddResources(20, at("1"))]
            assert len(talk.records(r.RevokeAsked)) == 1
        else:
            assert reply == []
            assert talk.heard["bda"] == [m.AddResources(20, at("0-1")), m.RemoveResources(20, at("0"))]
            assert len(talk.records(r.RevokeAsked)) == 2


# ------------------------------------------------------------------------- machines


def test_a_host_that_fails_while_it_is_prepared_puts_the_start_off_until_it_is_back() -> None:
    talk = Talk("bebida[prolog_base=10,timeout=0]")
    talk.tell(5, job(5, "h!1"), hpc=[run(5, "h!1", "0-1")], bda=[vacated(5, "0-1")])
    talk.tell(9, machine(9, "1", back=False))
    assert talk.tell(15, m.RequestedCall(15)) == []
    assert talk.tell(40, machine(40, "1", back=True)) == [run(40, "h!1", "0-1")]


def test_a_host_that_fails_while_its_holder_is_asked_back_is_still_vacated_once() -> None:
    talk = Talk("bebida[timeout=0]")
    talk.tell(1, job(1, "b!1"), bda=[run(1, "b!1", "0-1")])
    talk.tell(5, job(5, "h!1"), hpc=[run(5, "h!1", "1")])
    talk.tell(
        6, over(6, "b!1", "0-1", m.COMPLETED_FAILED), machine(6, "1", back=False), bda=[vacated(6, "1")]
    )
    assert len(talk.records(r.RevokeAsked)) == 1
    assert talk.tell(9, machine(9, "1", back=True)) == [run(9, "h!1", "1")]
    talk.tell(12, over(12, "h!1", "1"))
    assert talk.heard["bda"] == [m.AddResources(12, at("1"))]


def test_a_host_that_leaves_while_lent_comes_back_to_its_holder_when_it_returns() -> None:
    talk = Talk("bebida[timeout=0]")
    talk.tell(1, job(1, "b!1"), bda=[run(1, "b!1", "0-1")])
    talk.tell(
        6, over(6, "b!1", "0-1", m.COMPLETED_FAILED), machine(6, "1", back=False), bda=[vacated(6, "1")]
    )
    assert talk.heard["bda"] == [over(6, "b!1", "0-1", m.COMPLETED_FAILED), m.RemoveResources(6, at("1"))]
    talk.tell(9, machine(9, "1", back=True))
    assert talk.heard["bda"] == [m.AddResources(9, at("1"))]


# ------------------------------------------------------------------------- policies that deny


def test_a_start_that_the_policy_denies(tmp_path: object) -> None:
    from pathlib import Path

    assert isinstance(tmp_path, Path)
    (tmp_path / "half.py").write_text(
        "from batpy.broker.actions import Deny, Grant\n"
        "from batpy.broker.policy import SharingPolicy\n\n"
        "class Half(SharingPolicy):\n"
        "    def start_requested(self, start):\n"
        "        return [Grant() if start.hosts[-1][1] < 2 else Deny('it may use hosts 0-1 only')]\n"
    )
    policy = f"{tmp_path}/half.py:Half"
    talk = Talk(policy)
    no = m.DecisionRefused(1, "EXECUTE_JOB", "it may use hosts 0-1 only", "b!1")
    talk.then("bda", [run(1, "b!1", "1-2")])
    talk.then("bda", [run(1, "b!1", "0-1")])
    # Who wants refusals hears of it and may do better in the same instant.
    assert talk.tell(1, job(1, "b!1")) == [run(1, "b!1", "0-1")]
    assert talk.heard["bda"] == [job(1, "b!1"), no]
    with pytest.raises(TenantError, match="EXECUTE_JOB h!1 is refused: it may use hosts 0-1 only"):
        talk.tell(2, job(2, "h!1"), hpc=[run(2, "h!1", "2")])
