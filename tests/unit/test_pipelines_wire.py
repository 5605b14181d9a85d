"""The same decisions in process, behind both codecs, and by a peer that lets time pass."""

from __future__ import annotations

from typing import Any

import pytest

from batpy.base.errors import InputError, RemoteProtocolError
from batpy.broker.core import BrokerCore
from batpy.broker.registry import make_policy
from batpy.broker.service import Broker
from batpy.broker.tenants import TenantConfig
from batpy.pipelines.simulate import Outcome, simulate
from batpy.pipelines.tables import container_rows, event_rows, pipeline_rows
from batpy.protocol.codec import make_codec
from batpy.protocol.conversation import Speaker
from batpy.protocol.extensions import ContainerSuspended, CreateContainer, PipelineSubmitted, SuspendContainer
from batpy.protocol.messages import CallMeLater, Event, Hello, Message, RequestedCall, SimulationEnds
from batpy.schedulers.pipelines.reference import ReferencePolicy
from batpy.schedulers.pipelines.remote import POLICIES, PipelineSchedulerCore
from batpy.schedulers.pipelines.snapshot import Orders, Snapshot, SnapshotPolicy
from batpy.transport.encoded import EncodedLink
from batpy.transport.link import InProcessLink
from batpy.workloads.pipelines.parameters import read_parameters

TABLE = {
    "duration": 60,
    "waiting_seconds_mean": 3.0,
    "num_pools": 3,
    "scheduler_algo": "reference",
    "multi_operator_containers": False,
    "dag_linear_prob": 0.4,
    "dag_branch_in_prob": 0.3,
    "dag_branch_out_prob": 0.3,
    "max_job_seconds": 20,
    "estimator_algo": "noisy",
}


def everything(outcome: Outcome) -> list[Any]:
    run = outcome.run
    rows = [*pipeline_rows(run), *container_rows(run), *event_rows(run)]
    return [rows, repr(outcome.statistics), run.record.samples]


@pytest.mark.parametrize("compat", ["eudoxia", ""])
@pytest.mark.parametrize("ticks_per_second", [7, 10, 30, 1000])
def test_in_process_and_behind_both_codecs_all_is_equal(ticks_per_second: int, compat: str) -> None:
    file = read_parameters(TABLE | {"ticks_per_second": ticks_per_second}, compat=compat)
    direct = everything(simulate(file))
    assert len(direct[0]) > 100
    core = PipelineSchedulerCore(ReferencePolicy(), "reference")
    assert everything(simulate(file, link=InProcessLink(core))) == direct
    for codec in ("json", "msgpack"):
        core = PipelineSchedulerCore(ReferencePolicy(), "reference")
        assert everything(simulate(file, link=EncodedLink(core, make_codec(codec)))) == direct


class Records:
    """A sink that forgets."""

    def write(self, record: object) -> None:
        pass


def brokered(policy: SnapshotPolicy, codec: str) -> EncodedLink:
    """A broker with one tenant, bytes on both sides of it."""
    tenant = EncodedLink(PipelineSchedulerCore(policy, "reference"), make_codec(codec), Speaker.BROKER)
    core = BrokerCore(make_policy("static"), "static", [TenantConfig("pipelines")], Records(), check=True)
    return EncodedLink(Broker(core, [tenant]), make_codec(codec))


@pytest.mark.parametrize("codec", ["json", "msgpack"])
@pytest.mark.parametrize("ticks_per_second", [10, 1000])
def test_through_the_broker_all_is_equal(ticks_per_second: int, codec: str) -> None:
    file = read_parameters(TABLE | {"ticks_per_second": ticks_per_second}, compat="eudoxia")
    assert everything(simulate(file, link=brokered(ReferencePolicy(), codec))) == everything(simulate(file))


class Peer:
    """Says what a script says; keeps what it heard."""

    def __init__(self, script: dict[int, Any], wants: tuple[str, ...] = ("pipelines",)) -> None:
        self.script = script
        self.wants = wants
        self.heard: list[Message] = []

    def handle(self, message: Message) -> Message:
        self.heard.append(message)
        if len(self.heard) == 1:
            return Message(0, [Hello(0, "peer", "1", self.wants), *self.script.get(-1, [])])
        if isinstance(message.events[0], SimulationEnds):
            return Message(message.now, [])
        answer = self.script.get(len(self.heard) - 2, [])
        return answer if isinstance(answer, Message) else Message(message.now, answer)

    def told(self, kind: type[Event]) -> list[Any]:
        return [event for message in self.heard for event in message.events if isinstance(event, kind)]


ONE = {
    "duration": 60,
    "ticks_per_second": 10,
    "num_pools": 1,
    "num_pipelines": 1,
    "waiting_seconds_mean": 1000.0,
    "batch_prob": 1.0,
    "interactive_prob": 0.0,
    "query_prob": 0.0,
    "compat": "eudoxia",
}


def create(at: int, *operators: str) -> CreateContainer:
    return CreateContainer(at, operators, 4, 60, 0, "BATCH_PIPELINE", False, False)


def one(script: dict[int, Any], **options: Any) -> tuple[Peer, Outcome]:
    peer = Peer(script, **options)
    return peer, simulate(read_parameters(ONE), link=EncodedLink(peer, make_codec("json", 10)))


def test_a_decision_for_later_is_kept_until_its_date() -> None:
    peer, outcome = one({0: Message(25, [create(25, "p1/op1")])})
    (start, end) = outcome.run.record.events
    assert (start.tick, end.tick) == (25, 25 + 27 + 10 - 1)
    assert [message.now for message in peer.heard] == [0, 0, end.tick + 1, 600]


def test_a_suspension_waits_for_the_end_of_an_operator() -> None:
    order = [create(0, "p1/op1", "p1/op2"), SuspendContainer(0, "c1", 0)]
    peer, outcome = one({0: order, 1: [create(67, "p1/op2")]})
    kinds = [(event.tick, event.kind) for event in outcome.run.record.events]
    # 60 GB take 30 ticks to write, the first of them the one in which it begins.
    assert kinds == [(0, "start"), (37, "suspend"), (66, "suspended"), (67, "start"), (103, "end")]
    (told,) = peer.told(ContainerSuspended)
    assert (told.tick, told.container_id) == (67, "c1")
    states = [operator.state for view in told.pipelines for operator in view.operators]
    assert states[:2] == ["completed", "pending"]


def test_calls_are_answered() -> None:
    peer, _ = one({-1: [CallMeLater(0, 5)], 0: [CallMeLater(0, 50)], 2: [create(50, "p1/op1")]})
    assert [event.timestamp for event in peer.told(RequestedCall)] == [5, 50]
    assert len(peer.told(PipelineSubmitted)) == 1


@pytest.mark.parametrize(
    ("orders", "told"),
    [
        ([create(0, "p1/op77")], "no such operator 'p1/op77'"),
        ([create(0, "p1/op1"), create(0, "p1/op1")], "Cannot transition from assigned to assigned"),
        ([create(0)], "assignments cannot have zero operators"),
        ([SuspendContainer(0, "c1", 9)], "there is no pool 9"),
    ],
)
def test_orders_that_cannot_be_followed(orders: list[Event], told: str) -> None:
    with pytest.raises((RemoteProtocolError, InputError), match=told):
        one({0: orders})


def test_a_peer_that_does_not_want_pipelines() -> None:
    with pytest.raises(RemoteProtocolError, match="does not want pipelines"):
        one({}, wants=("sharing",))


class Wrong:
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def schedule(self, snapshot: Snapshot) -> Any:
        return self.answer(snapshot)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (lambda snapshot: None, "schedule\\(\\) must return Orders"),
        (lambda snapshot: snapshot.nothing, "schedule\\(\\) failed"),
    ],
)
def test_a_snapshot_policy_that_fails_is_blamed(answer: Any, told: str) -> None:
    core = PipelineSchedulerCore(Wrong(answer), "mine")
    with pytest.raises(InputError, match=told):
        simulate(read_parameters(ONE), link=InProcessLink(core))


def test_edges_and_sizes_stay_hidden_and_policies_are_found_by_name() -> None:
    seen: list[Snapshot] = []

    class Curious(ReferencePolicy):
        def schedule(self, snapshot: Snapshot) -> Orders:
            seen.append(snapshot)
            return super().schedule(snapshot)

    simulate(read_parameters(ONE), link=InProcessLink(PipelineSchedulerCore(Curious(), "curious")))
    (view,) = seen[0].new_pipelines
    fields = set(view.operators[0].__struct_fields__)
    assert fields == {"id", "state", "is_assignable_state", "parents_complete", "estimate"}
    assert isinstance(POLICIES.make("reference"), ReferencePolicy)
