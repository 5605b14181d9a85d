"""Talking to a broker's core without a simulator and without schedulers: every word on both sides is
scripted.

A second is a tick; hosts have one core. ``tell`` says events as the simulator and takes what each tenant
answers the first time it is asked in that step (further answers: ``then``); ``heard`` keeps what each
tenant was told.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from batpy.base.errors import BatpyError
from batpy.broker.core import BrokerCore
from batpy.broker.registry import make_policy
from batpy.broker.tenants import TenantConfig
from batpy.protocol import hostset
from batpy.protocol import messages as m
from batpy.protocol.hostset import HostSet

Answer = list[m.Event] | m.Message | BatpyError
HPC = TenantConfig("hpc", ("h",))
BDA = TenantConfig("bda", ("b",), wants=("sharing", "refusals"), dynamic_jobs=True)
KNOWN = {"b": {"chain": {"type": "composed", "seq": ["p", "p"]}, "p": {"type": "delay", "delay": 1}}}


class Records:
    """A sink that keeps everything."""

    def __init__(self) -> None:
        self.rows: list[Any] = []

    def write(self, record: Any, /) -> None:
        self.rows.append(record)


def begins(
    nb_hosts: int = 4,
    workloads: tuple[str, ...] = ("h", "b"),
    extensions: tuple[str, ...] = (),
    **config: object,
) -> m.Message:
    """The simulator's first message, at one tick a second."""
    told = {"dynamic-jobs-enabled": True, "profiles-forwarded-on-submission": True, **config}
    hosts = [{"id": i, "name": f"n{i}", "state": "idle", "properties": {}} for i in range(nb_hosts)]
    return m.Message(
        0,
        [
            m.SimulationBegins(
                0, nb_hosts, nb_hosts, 0, False, True, told, hosts, [],
                {w: f"{w}.json" for w in workloads}, KNOWN, m.Offer("0", 1, extensions),
            )
        ],
    )  # fmt: skip


def job(now: int, id_: str, res: int = 1, **more: Any) -> m.JobSubmitted:
    return m.JobSubmitted(now, id_, {"id": id_, "subtime": now, "res": res, "profile": "p", **more})


def run(now: int, id_: str, hosts: str) -> m.ExecuteJob:
    return m.ExecuteJob(now, id_, hostset.parse(hosts))


def over(now: int, id_: str, hosts: str, state: Any = m.COMPLETED_SUCCESSFULLY) -> m.JobCompleted:
    return m.JobCompleted(now, id_, state, 0, hostset.parse(hosts))


def vacated(now: int, hosts: str) -> m.ResourcesRemoved:
    return m.ResourcesRemoved(now, hostset.parse(hosts))


def machine(now: int, hosts: str, *, back: bool) -> m.Notify:
    word = "event_machine_available" if back else "event_machine_unavailable"
    return m.Notify(now, word, hostset.parse(hosts))


def at(hosts: str) -> HostSet:
    return hostset.parse(hosts)


class Talk:
    """A broker whose peers are scripted; invariants are checked after each step.

    Args:
        policy: as a user writes it.
        tenants: by rank.
        greet: begin the conversation.
    """

    def __init__(
        self,
        policy: str = "priority",
        *tenants: TenantConfig,
        nb_hosts: int = 4,
        greet: bool = True,
        **said: Answer,
    ) -> None:
        configs = tenants or (HPC, BDA)
        self.sink = Records()
        self.core = BrokerCore(make_policy(policy), policy, configs, self.sink, check=True)
        self.names = [config.name for config in configs]
        self.heard: dict[str, list[m.Event]] = {}
        self.asked: list[list[str]] = []
        self._answers: dict[str, deque[Answer]] = {name: deque() for name in self.names}
        if greet:
            workloads = tuple(w for config in configs for w in config.workloads)
            self.greeting = self.step(begins(nb_hosts, workloads), **said)

    def then(self, name: str, answer: Answer) -> None:
        """What a tenant answers the next time but those already known."""
        self._answers[name].append(answer)

    def tell(self, now: int, *events: m.Event, **said: Answer) -> list[m.Event]:
        """Say events; the reply to the simulator."""
        return self.step(m.Message(now, list(events)), **said)

    def step(self, request: m.Message, **said: Answer) -> list[m.Event]:
        for name, answer in said.items():
            self._answers[name].appendleft(answer)
        self.heard = {name: [] for name in self.names}
        self.asked = []
        steps = self.core.steps(request)
        try:
            asks = next(steps)
            while True:
                self.asked.append([self.names[rank] for rank, _ in asks])
                asks = steps.send([self._reply(self.names[rank], told) for rank, told in asks])
        except StopIteration as done:
            reply: m.Message = done.value
            assert reply.now == self.core.now
            for name in said:
                assert not self._answers[name], f"{name} was not asked"
            return reply.events

    def _reply(self, name: str, told: m.Message) -> Any:
        self.heard[name] += told.events
        answer = self._answers[name].popleft() if self._answers[name] else []
        return m.Message(told.now, answer) if isinstance(answer, list) else answer

    def records(self, kind: type[Any]) -> list[Any]:
        """Records of one kind."""
        return [row for row in self.sink.rows if isinstance(row, kind)]
