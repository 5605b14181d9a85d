"""A whole shared park in one process: simulator, broker, schedulers, two journals in memory."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from chancy_tenant import ChancyTenant

from batpy.broker.core import BrokerCore
from batpy.broker.registry import make_policy
from batpy.broker.service import Broker
from batpy.broker.tenants import TenantConfig
from batpy.platforms.load import load_platform
from batpy.protocol.records import AnyRecord
from batpy.protocol.sharing_records import AnySharingRecord
from batpy.simulator.config import SimulatorConfig
from batpy.simulator.core import Simulator
from batpy.transport.link import Core, InProcessLink
from batpy.workloads.batsim_json import parse_batsim_json
from batpy.workloads.external_events import AVAILABLE, UNAVAILABLE, ExternalEvent
from batpy.workloads.job import Workload

SECOND = 1_000_000


@dataclass
class Records:
    """A sink that keeps everything."""

    rows: list[Any] = field(default_factory=list)

    def write(self, record: Any, /) -> None:
        """Keep a record."""
        self.rows.append(record)

    def encoded(self) -> bytes:
        """All records as bytes."""
        return b"".join(msgspec.msgpack.encode(row) for row in self.rows)


@dataclass
class SharedRun:
    """What a run left."""

    simulator: Simulator
    broker: Broker
    journal: list[AnyRecord]
    sharing: list[AnySharingRecord]
    raw: bytes


def workload(name: str, jobs: Sequence[dict[str, Any]], profiles: dict[str, Any]) -> Workload:
    """A Batsim JSON workload from plain objects."""
    text = json.dumps({"nb_res": 1, "jobs": list(jobs), "profiles": profiles}).encode()
    return parse_batsim_json(text, name, source=f"{name}.json", ticks_per_second=SECOND)


def run_shared(
    policy: str,
    tenants: Sequence[tuple[TenantConfig, Core]],
    workloads: Sequence[Workload],
    hosts: int,
    *,
    events: Sequence[ExternalEvent] = (),
    check: bool = True,
    strict: bool = False,
    **options: Any,
) -> SharedRun:
    """Run to the end, every invariant of the broker checked after each step.

    Args:
        strict: the broker, not the simulator, minds what the simulator refuses.
    """
    if strict:
        options["strict"] = False
    configs = [config for config, _ in tenants]
    flags = {
        "dynamic_jobs": any(c.dynamic_jobs for c in configs),
        "acknowledge_dynamic_jobs": any(c.acknowledge_dynamic_jobs for c in configs),
        "forward_profiles": any(c.forward_profiles for c in configs),
        "profile_reuse": True,
    }
    journal, sharing = Records(), Records()
    simulator = Simulator(
        load_platform(hosts),
        workloads,
        journal,
        SimulatorConfig(**{**flags, **options}),
        [list(events)] if events else [],
    )
    core = BrokerCore(make_policy(policy), policy, configs, sharing, check=check, strict=strict)
    broker = Broker(core, [InProcessLink(tenant) for _, tenant in tenants])
    request = simulator.begin()
    while request is not None:
        request = simulator.handle(broker.handle(request))
        if check:
            simulator.check()
    return SharedRun(simulator, broker, journal.rows, sharing.rows, journal.encoded() + sharing.encoded())


# --------------------------------------------------------------------------- random scenarios

PROFILES = {
    **{f"d{i}": {"type": "delay", "delay": i / 2} for i in range(1, 9)},
    "zero": {"type": "delay", "delay": 0},
    "chain": {"type": "composed", "repeat": 2, "seq": ["d1", "d3"]},
    "nested": {"type": "composed", "repeat": 1, "seq": ["chain", "d2"]},
}


def random_scenario(seed: int) -> SharedRun:
    """2 to 5 chancy tenants, random jobs, prologs, failures and policies, all from one seed."""
    dice = random.Random(seed)
    count = dice.randint(2, 5)
    hosts = dice.randint(max(4, count), 16)
    policy = dice.choice(("priority", "priority", "static", "bebida"))
    if policy == "bebida":
        count = 2
    if policy != "static":
        policy = f"{policy}[{hand_over(dice)}]"
    widest = hosts // count if policy == "static" else hosts
    tenants: list[tuple[TenantConfig, Core]] = []
    workloads = []
    for rank in range(count):
        name, sharing = f"t{rank}", dice.random() < 0.7
        resubmits = dice.choice((0, 0, 5))
        config = TenantConfig(
            name,
            (f"w{rank}",),
            dynamic_jobs=resubmits > 0,
            split_kill_ack=dice.random() < 0.3,
            forward_profiles=dice.random() < 0.3,
        )
        tenant = ChancyTenant(
            name, dice.randrange(10**9), sharing=sharing, resubmits=resubmits, silent=dice.choice((0, 0, 0.3))
        )
        workloads.append(workload(f"w{rank}", random_jobs(dice, widest), PROFILES))
        if dice.random() < 0.15:
            tenants.append(_nested(dice, config, tenant, workloads, widest))
        else:
            tenants.append((config, tenant))
    events = failures(dice, hosts) if dice.random() < 0.4 else ()
    options = {
        "time_step": dice.choice((0, 0, 0, SECOND)),
        "latency": 0 if events else dice.choice((0, 0, 1)),
    }
    return run_shared(policy, tenants, workloads, hosts, events=events, **options)


def _nested(
    dice: random.Random, config: TenantConfig, tenant: Core, workloads: list[Workload], widest: int
) -> tuple[TenantConfig, Core]:
    """A tenant that is a broker itself, of that tenant and of a further one."""
    name = f"{config.name}b"
    workloads.append(workload(f"{config.workloads[0]}b", random_jobs(dice, widest), PROFILES))
    second = ChancyTenant(name, dice.randrange(10**9), sharing=dice.random() < 0.7)
    inner = TenantConfig(name, (f"{config.workloads[0]}b",))
    core = BrokerCore(make_policy("priority"), "priority", [config, inner], Records(), check=True)
    outer = msgspec.structs.replace(
        config, name=f"{config.name}ab", workloads=(*config.workloads, *inner.workloads)
    )
    return outer, Broker(core, [InProcessLink(tenant), InProcessLink(second)])


def hand_over(dice: random.Random) -> str:
    parts = [f"prolog={dice.choice(('ideal', 'oar_yarn_2017', 'k3s_drain_2024'))}"]
    choices = (
        "lazy=true",
        f"prolog_base={dice.choice((0, 0.5, 3))}",
        f"prolog_per_node={dice.choice((0, 0.25))}",
        f"prolog_width={dice.choice((0, 1, 2))}",
        f"epilog_base={dice.choice((0, 1.5))}",
        "epilog_blocking=true",
        f"recommission={dice.choice((0, 2))}",
        f"on_timeout={dice.choice(('seize', 'cancel'))}",
    )
    parts += [choice for choice in choices if dice.random() < 0.4]
    parts += [f"grace={dice.choice((0, 1))}", f"timeout={dice.choice((1, 4, 300))}", "timeout_per_node=0"]
    return ",".join(parts)


def random_jobs(dice: random.Random, widest: int) -> list[dict[str, Any]]:
    jobs = []
    for number in range(dice.randint(0, 8)):
        job = {
            "id": str(number),
            "subtime": dice.randrange(0, 12) / 2,
            "res": dice.randint(1, widest),
            "profile": dice.choice(sorted(PROFILES)),
        }
        if dice.random() < 0.5:
            job["walltime"] = dice.choice((0.5, 2, 5, 20))
        jobs.append(job)
    return sorted(jobs, key=lambda job: job["subtime"])


def failures(dice: random.Random, hosts: int) -> list[ExternalEvent]:
    events = []
    for host in dice.sample(range(hosts), dice.randint(1, 3)):
        gone = dice.randrange(0, 20) * 500_000
        back = gone + dice.randrange(1, 10) * 500_000
        for time, kind in ((gone, UNAVAILABLE), (back, AVAILABLE)):
            events.append(ExternalEvent(time, kind, ((host, host),), {}, "events", 1))
    events.sort(key=lambda event: (event.time, event.kind == UNAVAILABLE))
    return events
