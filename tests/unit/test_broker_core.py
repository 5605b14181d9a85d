"""The broker's core: order of decisions, schedulers that let time pass, dropped ones, brokers in brokers."""

from __future__ import annotations

import pytest
from broker_talk import BDA, HPC, Records, Talk, at, begins, job, machine, over, run, vacated

from batpy.base.errors import InputError, PeerError, RemoteProtocolError
from batpy.broker.core import BrokerCore, TenantError
from batpy.broker.registry import make_policy
from batpy.broker.service import Broker
from batpy.broker.tenants import TenantConfig
from batpy.protocol import messages as m
from batpy.protocol import sharing_records as r
from batpy.transport.link import InProcessLink

HALVES = "static[shares=hpc:0-1 bda:2-3]"
CLOSED = TenantConfig("bda", ("b",))
LOST = PeerError("it was killed")


# ------------------------------------------------------------------------- order and time


def test_decisions_of_one_date_are_merged_by_rank_then_in_the_order_said() -> None:
    talk = Talk(HALVES)
    reply = talk.tell(
        5, job(5, "b!1"), job(5, "h!1"), job(5, "h!2"), job(5, "b!2"),
        bda=[run(5, "b!1", "0"), m.CallMeLater(5, 9), run(5, "b!2", "1")],
        hpc=[run(5, "h!2", "0"), m.SetJobMetadata(5, "h!1", "late"), run(5, "h!1", "1")],
    )  # fmt: skip
    assert reply == [
        run(5, "h!2", "0"), m.SetJobMetadata(5, "h!1", "late"), run(5, "h!1", "1"),
        run(5, "b!1", "2"), m.CallMeLater(5, 9), run(5, "b!2", "3"),
    ]  # fmt: skip


def test_a_decision_stamped_later_is_held_and_its_author_stays_busy() -> None:
    talk = Talk(HALVES)
    reply = talk.tell(5, job(5, "h!1"), job(5, "h!2"),
                      hpc=m.Message(9, [run(5, "h!1", "0"), run(7, "h!2", "1")]))  # fmt: skip
    assert reply == [m.CallMeLater(5, 7), m.CallMeLater(5, 9), run(5, "h!1", "0")]
    assert talk.tell(6, job(6, "h!3")) == []
    assert talk.asked == []
    assert talk.tell(7, m.RequestedCall(7)) == [run(7, "h!2", "1")]
    assert talk.asked == []
    # Asked again with what it missed, no earlier than its own reply's date.
    talk.tell(9, m.RequestedCall(9))
    assert talk.heard == {"hpc": [job(6, "h!3")], "bda": []}


def test_a_busy_scheduler_is_still_told_the_end() -> None:
    talk = Talk(HALVES)
    talk.tell(5, job(5, "h!1"), hpc=m.Message(90, [run(5, "h!1", "0")]))
    talk.tell(8, m.SimulationEnds(8))
    assert talk.heard["hpc"] == [m.SimulationEnds(8)]


def test_a_call_whose_date_has_come_while_it_was_held_is_made_at_once() -> None:
    talk = Talk(HALVES)
    talk.tell(5, job(5, "h!1"), hpc=m.Message(9, [m.CallMeLater(7, 8)]))
    # The simulator rounds to a time step of ten seconds.
    assert talk.tell(10, m.RequestedCall(10), m.RequestedCall(10)) == []
    assert talk.heard["hpc"] == [m.RequestedCall(8)]


def test_schedulers_that_answer_each_other_for_ever_are_named() -> None:
    talk = Talk("bebida[timeout=0]", HPC, TenantConfig("bda", ("b",), wants=("sharing",)))
    steps = talk.core.steps(m.Message(5, [job(5, "h!1")]))
    asks = next(steps)

    def go_on() -> None:
        replies = len(asks)
        for _ in range(1100):
            # An endless chain of calls that were legal when they were said.
            steps.send([m.Message(5, [m.CallMeLater(4, 5)])] * replies)

    assert len(asks) == 1
    with pytest.raises(RemoteProtocolError, match="answer each other without end at 5 s"):
        go_on()


def test_registration_ends_when_the_last_that_may_register_has_said_so() -> None:
    two = TenantConfig("hpc", ("h",), dynamic_jobs=True)
    done, more = m.Notify(1, "registration_finished"), m.Notify(2, "continue_registration")
    talk = Talk("priority", two, BDA, TenantConfig("web", ("w",)))
    assert not any(isinstance(event, m.Notify) for event in talk.greeting)
    assert talk.tell(1, job(1, "h!1"), hpc=[done]) == []
    assert talk.tell(1, job(1, "b!1"), bda=[done]) == [done]
    assert talk.tell(2, job(2, "b!2"), bda=[more]) == [more]
    again = m.Notify(3, "registration_finished")
    assert talk.tell(3, job(3, "b!3"), bda=[again]) == [again]


def test_what_the_simulator_does_not_offer_cannot_be_had() -> None:
    with pytest.raises(InputError) as told:
        Talk(greet=False).step(begins(**{"dynamic-jobs-enabled": False}))
    assert str(told.value) == (
        "scheduler.bda.dynamic_jobs: the simulator was started without it (dynamic-jobs-enabled is false)"
    )


def test_a_tenant_that_registers_jobs_cannot_reuse_profiles_that_the_simulator_drops() -> None:
    offered = {"profile-reuse-enabled": False}
    tenant = TenantConfig("bda", ("b",), dynamic_jobs=True, profile_reuse=True)
    with pytest.raises(InputError) as told:
        Talk("priority", HPC, tenant, greet=False).step(begins(**offered))
    assert str(told.value).startswith("scheduler.bda.profile_reuse: the simulator was started without it")
    idle = TenantConfig("bda", ("b",), profile_reuse=True)
    Talk("priority", HPC, idle, greet=False).step(begins(**offered))


# ------------------------------------------------------------------------- schedulers that fail


def test_a_lost_scheduler_ends_the_run_by_name() -> None:
    talk = Talk()
    with pytest.raises(TenantError) as told:
        talk.tell(1, job(1, "b!1"), bda=LOST)
    assert (str(told.value), told.value.exit_code) == ("scheduler bda: it was killed", 3)


def droppable(policy: str = "bebida[timeout=0]") -> Talk:
    """b!1 runs on 0-1, b!2 waits, h!1 waits for host 1; then bda is lost at 6 s."""
    bda = TenantConfig("bda", ("b",), ("sharing",), dynamic_jobs=True, droppable=True)
    talk = Talk(policy, HPC, bda)
    talk.tell(1, job(1, "b!1"), job(1, "b!2"), bda=[run(1, "b!1", "0-1")])
    talk.tell(5, job(5, "h!1"), hpc=[run(5, "h!1", "1")])
    return talk


def test_the_run_goes_on_without_a_scheduler_that_may_be_dropped() -> None:
    talk = droppable()
    reply = talk.tell(6, job(6, "b!3"), bda=LOST)
    # What runs is killed, what waits rejected, and nobody waits for it to register anything.
    assert reply == [
        m.KillJob(6, ["b!1"]), m.RejectJob(6, "b!2"), m.RejectJob(6, "b!3"),
        m.Notify(6, "registration_finished"),
    ]  # fmt: skip
    assert talk.core.notices == ["scheduler bda: it was killed; the run went on without it"]
    [dropped] = talk.records(r.TenantDropped)
    assert (dropped.time, dropped.tenant, dropped.reason) == (6, "bda", "it was killed")
    tree = {"b!1": {"profile_name": "p", "progress": 0.5}}
    assert talk.tell(6, over(6, "b!1", "0-1", m.COMPLETED_KILLED), m.JobKilled(6, ["b!1"], tree)) == [
        run(6, "h!1", "1")
    ]
    assert talk.tell(7, job(7, "b!4")) == [m.RejectJob(7, "b!4")]
    assert talk.tell(8, job(8, "h!2"), hpc=[run(8, "h!2", "0,2-3".replace(",", " "))]) == [
        run(8, "h!2", "0 2-3")
    ]
    assert talk.core.ended is False
    talk.tell(20, m.SimulationEnds(20))
    assert talk.asked == [["hpc"]]


def test_so_it_does_without_one_that_broke_a_rule() -> None:
    talk = droppable()
    reply = talk.tell(6, job(6, "b!3"), bda=[m.RejectJob(6, "b!2"), run(6, "b!3", "1")])
    # It was told at 5 s to leave host 1; its first decision counts, its job is not left waiting for ever.
    assert m.RejectJob(6, "b!3") in reply
    assert m.KillJob(6, ["b!1"]) in reply
    assert talk.core.notices == [
        "scheduler bda: at 6 s: EXECUTE_JOB b!3 on hosts it was not given (its 1); the run went on without it"
    ]


def test_a_scheduler_that_does_not_even_greet_may_be_dropped_too() -> None:
    bda = TenantConfig("bda", ("b",), dynamic_jobs=True, droppable=True)
    talk = Talk("priority", HPC, bda, bda=LOST)
    assert talk.core.notices == ["scheduler bda: it was killed; the run went on without it"]
    [dropped] = talk.records(r.TenantDropped)
    assert (dropped.time, dropped.tenant) == (0, "bda")
    assert talk.tell(1, job(1, "b!1"), job(1, "h!1"), hpc=[run(1, "h!1", "0")]) == [
        run(1, "h!1", "0"), m.RejectJob(1, "b!1")
    ]  # fmt: skip
    assert talk.asked == [["hpc"]]


def test_one_that_the_run_needs_ends_it_at_the_greeting() -> None:
    with pytest.raises(TenantError, match="scheduler bda: it was killed"):
        Talk("priority", HPC, TenantConfig("bda", ("b",)), bda=LOST)


def test_a_dropped_scheduler_that_had_time_pass_does_nothing_more() -> None:
    bda = TenantConfig("bda", ("b",), ("sharing",), droppable=True)
    talk = Talk("bebida[timeout=2,on_timeout=fail]", HPC, bda)
    talk.tell(1, job(1, "b!1"), bda=m.Message(9, [run(9, "b!1", "3")]))
    talk.tell(2, job(2, "h!1"), hpc=[run(2, "h!1", "0")])
    # It is busy until 9 s and is not even asked; at 4 s its time is up.
    assert talk.tell(3, m.RequestedCall(3)) == [m.CallMeLater(3, 4)]
    assert talk.tell(4, m.RequestedCall(4)) == [run(4, "h!1", "0"), m.RejectJob(4, "b!1")]
    assert talk.tell(9, m.RequestedCall(9)) == []


# ------------------------------------------------------------------------- a broker in a broker


class Seat:
    """Answers what it was given, and keeps what it heard with its name in a list that is shared."""

    def __init__(self, name: str, heard: list[tuple[str, m.Event]]) -> None:
        self.name = name
        self.heard = heard
        self.answers: list[m.Event] = []

    def handle(self, message: m.Message, /) -> m.Message:
        self.heard.extend((self.name, event) for event in message.events)
        out, self.answers = self.answers, []
        return m.Message(message.now, out)


def nested() -> tuple[Talk, Broker, dict[str, Seat]]:
    """hpc, and behind the second seat a broker of two that share."""
    heard: list[tuple[str, m.Event]] = []
    seats = {name: Seat(name, heard) for name in ("one", "two")}
    inner = [TenantConfig("one", ("b",), ("sharing",)), TenantConfig("two", ("c",), ("sharing",))]
    core = BrokerCore(make_policy("priority[timeout=0]"), "priority", inner, Records(), check=True)
    broker = Broker(core, [InProcessLink(seat) for seat in seats.values()])
    outer = TenantConfig("pair", ("b", "c"))
    return Talk("bebida[timeout=0]", HPC, outer, greet=False), broker, seats


def test_a_broker_behind_a_broker_vacates_hosts_when_all_its_own_have_left_them() -> None:
    talk, inner, seats = nested()
    first = begins(workloads=("h", "b", "c"))
    hello = inner.handle(begins(4, ("b", "c"), ("sharing",))).events
    assert isinstance(hello[0], m.Hello)
    assert "sharing" in hello[0].wants
    talk.step(first, pair=hello)
    heard = seats["one"].heard
    heard.clear()
    talk.tell(5, job(5, "h!1"), hpc=[run(5, "h!1", "0-1")])
    assert talk.heard["pair"] == [m.RemoveResources(5, at("0-1"))]
    assert inner.handle(m.Message(5, list(talk.heard["pair"]))).events == []
    assert heard == [(name, m.RemoveResources(5, at("0-1"))) for name in ("one", "two")]
    seats["one"].answers = [vacated(6, "0-1")]
    assert inner.handle(m.Message(6, [job(6, "b!1")])).events == []
    seats["two"].answers = [vacated(7, "0-1")]
    said = inner.handle(m.Message(7, [job(7, "c!1")])).events
    assert said == [vacated(7, "0-1")]
    assert talk.tell(7, job(7, "b!2"), pair=said) == [run(7, "h!1", "0-1")]
    talk.tell(9, over(9, "h!1", "0-1"))
    heard.clear()
    assert talk.heard["pair"] == [m.AddResources(9, at("0-1"))]
    inner.handle(m.Message(9, list(talk.heard["pair"])))
    assert heard == [(name, m.AddResources(9, at("0-1"))) for name in ("one", "two")]


def test_a_machine_that_leaves_is_asked_back_at_every_level() -> None:
    talk, inner, _ = nested()
    first = begins(workloads=("h", "b", "c"))
    talk.step(first, pair=inner.handle(begins(4, ("b", "c"), ("sharing",))).events)
    talk.tell(3, machine(3, "2", back=False))
    assert talk.heard["pair"] == [m.RemoveResources(3, at("2"))]
