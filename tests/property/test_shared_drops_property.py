"""Whenever and however droppable schedulers fail, the others' run goes on and its journals keep every law.

They fail at the greeting, while it runs, by a rule of the broker's, or by one that only the simulator knows,
with others of their decisions under way; the broker minds what the simulator refuses.
"""

from __future__ import annotations

import random

import msgspec
import pytest
from chancy_tenant import ChancyTenant
from shared_park import PROFILES, SECOND, SharedRun, failures, hand_over, random_jobs, run_shared, workload

from batpy.base.errors import PeerError
from batpy.broker.tenants import TenantConfig
from batpy.protocol import messages as m
from batpy.protocol.sharing_records import TenantDropped
from batpy.results.accounting.fold import account_records
from batpy.results.accounting.joined import joined
from batpy.results.accounting.laws import SharingLaws
from batpy.results.accounting.work_laws import WorkLaws
from batpy.results.laws import Laws
from batpy.transport.link import Core

BUNCHES, EACH = 6, 30
WAYS = (
    "greeting",
    "width",
    "width",
    "mapping",
    "dies",
    "past",
    "notify",
    "relabel",
    "text",
    "query",
    "register",
)


class Breaker:
    """A scheduler that breaks a rule now and then, in its own ways."""

    def __init__(self, core: Core, seed: int) -> None:
        self._core = core
        self._dice = random.Random(seed)
        self._ways = self._dice.sample(WAYS, self._dice.randint(1, 4))
        self._jobs: list[str] = []

    def handle(self, message: m.Message, /) -> m.Message:
        chance, now = self._dice.random, message.now
        begins_or_ends = isinstance(message.events[0], (m.SimulationBegins, m.SimulationEnds))
        self._jobs += [event.job_id for event in message.events if isinstance(event, m.JobSubmitted)]
        if "greeting" in self._ways and isinstance(message.events[0], m.SimulationBegins) and chance() < 0.5:
            raise PeerError("it broke at the greeting")
        way = self._dice.choice(self._ways)
        if not begins_or_ends and chance() < 0.1:
            if way == "dies":
                raise PeerError("it died")
            if way == "past":
                return m.Message(now - 1, [])
        try:
            reply = self._core.handle(message)
        except (AssertionError, KeyError) as why:  # it heard of what was said in its name
            raise PeerError("it is confused") from why
        if begins_or_ends:
            return reply
        for decision in reply.events:
            if isinstance(decision, m.ExecuteJob) and chance() < 0.4:
                self._spoil(decision)
        if self._jobs and chance() < 0.15:
            reply.events += self._nonsense(way, reply.now)
        return reply

    def _spoil(self, decision: m.ExecuteJob) -> None:
        """Only the simulator minds."""
        if "width" in self._ways:
            first = decision.alloc[0][0]
            decision.alloc = ((first, first),)
        elif "mapping" in self._ways:
            decision.mapping = {"0": 99}

    def _nonsense(self, way: str, now: int) -> list[m.Event]:
        job = self._dice.choice(self._jobs)
        new = f"{job.partition('!')[0]}!new{now}"
        return {
            "notify": [m.Notify(now, "nonsense")],
            "relabel": [m.ChangeJobState(now, job, m.COMPLETED_SUCCESSFULLY)],
            "text": [m.ToJobMsg(now, job, "x")],
            "query": [m.Query(now, {"nonsense": {}})],
            "register": [
                m.RegisterJob(now, new, {"id": new.partition("!")[2], "res": 1, "profile": "none"}),
                m.ExecuteJob(now, new, ((0, 0),)),
                m.KillJob(now, [new]),
            ],
        }.get(way, [])


def scenario(seed: int) -> SharedRun:
    dice = random.Random(seed)
    kind = dice.choice(("priority", "priority", "bebida", "static"))
    count = 2 if kind == "bebida" else dice.randint(2, 4)
    hosts = dice.randint(count + 2, 12)
    widest = hosts // count if kind == "static" else hosts
    broken = dice.sample(range(count), dice.randint(1, count))
    tenants: list[tuple[TenantConfig, Core]] = []
    for rank in range(count):
        resubmits = dice.choice((0, 5))
        config = TenantConfig(f"t{rank}", (f"w{rank}",), dynamic_jobs=resubmits > 0)
        tenant: Core = ChancyTenant(
            config.name, dice.randrange(10**9), sharing=dice.random() < 0.7, resubmits=resubmits
        )
        if rank in broken:
            config = msgspec.structs.replace(config, droppable=True)
            tenant = Breaker(tenant, dice.randrange(10**9))
        tenants.append((config, tenant))
    loads = [workload(f"w{rank}", random_jobs(dice, widest), PROFILES) for rank in range(count)]
    events = failures(dice, hosts) if dice.random() < 0.4 else ()
    options = {"time_step": dice.choice((0, 0, SECOND)), "latency": 0 if events else dice.choice((0, 2))}
    policy = kind if kind == "static" else f"{kind}[{hand_over(dice)}]"
    return run_shared(policy, tenants, loads, hosts, events=events, strict=True, **options)


def check(run: SharedRun) -> None:
    account = account_records(run.journal, run.sharing)
    laws, sharing, work = Laws(), SharingLaws(), WorkLaws()
    found = [finding for record in run.journal for finding in laws.check(record)]
    for record in joined(run.journal, run.sharing):
        found += [*sharing.check(record), *work.check(record)]
    found += [*sharing.finish(run.journal[-1].time), *work.finish(account)]
    assert not found, "; ".join(map(str, found[:3]))


@pytest.mark.parametrize("bunch", range(BUNCHES))
def test_the_run_goes_on_whenever_and_however_droppable_schedulers_fail(bunch: int) -> None:
    dropped = 0
    for seed in range(bunch * EACH, (bunch + 1) * EACH):
        try:
            run = scenario(seed)
            check(run)
        except Exception as why:
            raise AssertionError(f"scenario {seed}: {type(why).__name__}: {why}") from why
        dropped += sum(isinstance(record, TenantDropped) for record in run.sharing)
    assert dropped > EACH // 3


def test_two_runs_with_drops_are_byte_identical() -> None:
    for seed in range(7000, 7020):
        assert scenario(seed).raw == scenario(seed).raw, seed
