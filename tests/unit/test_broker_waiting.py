"""Held starts: only those are tried again that a change concerns, and none that could begin is left out."""

from __future__ import annotations

import random

import pytest
from broker_talk import Talk, job, over, run

from batpy.broker.desk import Start
from batpy.broker.starts import Starts
from batpy.broker.tenants import Tenant, TenantConfig
from batpy.broker.waiting import WaitingStarts
from batpy.protocol import hostset
from batpy.protocol import messages as m
from batpy.protocol.hostset import HostSet

TENANTS = [Tenant(rank, TenantConfig(name, (name,))) for rank, name in enumerate("ab")]


def held(serial: int, rank: int, hosts: HostSet) -> Start:
    return Start(serial, TENANTS[rank], m.ExecuteJob(0, f"w!{serial}", hosts), hosts, 0)


def some_hosts(dice: random.Random) -> HostSet:
    return hostset.from_ids(dice.sample(range(12), dice.randint(1, 3)))


def test_claims_and_candidates_are_those_of_a_slow_twin() -> None:
    for seed in range(40):
        dice = random.Random(seed)
        waiting, twin = WaitingStarts(2), dict[int, Start]()
        new, freed = set[int](), set[int]()
        for serial in range(60):
            move = dice.randrange(4)
            if move == 0 or not twin:
                start = twin[serial] = held(serial, dice.randrange(2), some_hosts(dice))
                waiting.add(start)
                new.add(serial)
            elif move == 1:
                start = twin.pop(dice.choice(list(twin)))
                waiting.remove(start)
                assert start not in waiting
            elif move == 2:
                hosts = some_hosts(dice)
                waiting.freed(hosts)
                freed |= set(hostset.ids(hosts))
            else:
                wanted = [s for n, s in twin.items() if n in new or freed & set(hostset.ids(s.hosts))]
                # More than these may be tried, never fewer; here the two are the same.
                assert waiting.worth_trying() == wanted
                new, freed = set(), set()
            if not twin:
                freed = set()
            for rank in (0, 1):
                mine = [pair for s in twin.values() if s.tenant.rank == rank for pair in s.hosts]
                assert waiting.claims[rank] == hostset.normalise(mine)


def test_a_release_tries_only_the_starts_that_wait_for_its_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[str] = []
    begin = Starts._begin

    def counted(self: Starts, start: Start) -> bool:
        tries.append(start.decision.job_id)
        return begin(self, start)

    monkeypatch.setattr(Starts, "_begin", counted)
    talk = Talk("priority", TenantConfig("a", ("a",)), TenantConfig("b", ("b",)))
    jobs = [str(host) for host in range(4)]
    talk.tell(1, *[job(1, f"a!{h}") for h in jobs], a=[run(1, f"a!{h}", h) for h in jobs])
    talk.tell(2, *[job(2, f"b!{h}") for h in jobs], b=[run(2, f"b!{h}", h) for h in jobs])
    talk.tell(3, job(3, "a!x"))  # the held starts are not new any more
    talk.tell(4, over(4, "a!0", "0"))
    tries.clear()
    assert talk.tell(5, over(5, "a!2", "2")) == [run(5, "b!2", "2")]
    assert set(tries) == {"b!2"}
