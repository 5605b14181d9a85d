"""Several schedulers behind a broker: what each is told, and what the simulator sees of all of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from batpy.broker.tenants import TenantConfig
from batpy.cli.config import BROKER, SchedulerConfig

if TYPE_CHECKING:
    from batpy.cli.config import ExperimentConfig


def _choose(own: bool | None, common: bool) -> bool:
    return common if own is None else own


def tenant_configs(config: ExperimentConfig) -> list[TenantConfig]:
    """The schedulers of an experiment as the broker's tenants, in the order of the file."""
    assert config.broker is not None
    simulation, routes = config.simulation, config.broker.routes
    tenants: list[TenantConfig] = []
    for name, scheduler in config.schedulers.items():
        own = [w.id for w in config.workloads if w.scheduler == name]
        own += [workload for workload, target in routes.items() if target == name and workload not in own]
        tenants.append(
            TenantConfig(
                name=name,
                workloads=tuple(own),
                wants=scheduler.wants,
                dynamic_jobs=_choose(scheduler.dynamic_jobs, simulation.dynamic_jobs),
                acknowledge_dynamic_jobs=_choose(
                    scheduler.acknowledge_dynamic_jobs, simulation.acknowledge_dynamic_jobs
                ),
                profile_reuse=_choose(scheduler.profile_reuse, simulation.profile_reuse),
                forward_profiles=_choose(scheduler.forward_profiles, simulation.forward_profiles),
                split_kill_ack=_choose(
                    scheduler.split_kill_ack, simulation.split_kill_ack or scheduler.compat == "pybatsim"
                ),
                droppable=bool(scheduler.droppable),
            )
        )
    return tenants


def seen_as_one(config: ExperimentConfig, tenants: list[TenantConfig]) -> SchedulerConfig:
    """What the simulator must offer for all tenants together; the broker narrows it for each."""
    del config
    return SchedulerConfig(
        name=BROKER,
        algorithm=None,
        endpoint=None,
        base=Path(),
        dynamic_jobs=any(t.dynamic_jobs for t in tenants),
        acknowledge_dynamic_jobs=any(t.acknowledge_dynamic_jobs for t in tenants),
        profile_reuse=any(t.profile_reuse for t in tenants),
        forward_profiles=any(t.forward_profiles for t in tenants),
        split_kill_ack=False,
        droppable=any(t.droppable for t in tenants),
    )


def keeps_rules(config: ExperimentConfig, tenants: list[TenantConfig]) -> bool:
    """Does the broker, rather than the simulator, end a strict run on a decision that is refused?

    Only it knows whose decision it is, and whether that scheduler may be dropped.
    """
    return config.simulation.strict and any(tenant.droppable for tenant in tenants)


def broker_flags(
    config: ExperimentConfig, tenants: list[TenantConfig], endpoints: dict[str, str]
) -> list[str]:
    """The arguments of ``batpy broker`` that make it serve these tenants."""
    assert config.broker is not None
    simulation = config.simulation
    flags = ["--policy", config.broker.policy, "--codec", simulation.codec]
    flags += ["--deadline", repr(simulation.deadline)]
    for tenant in tenants:
        flags += ["--scheduler", f"{tenant.name}={endpoints[tenant.name]}"]
        for workload in tenant.workloads:
            flags += ["--route", f"{workload}={tenant.name}"]
        if tenant.wants:
            flags += ["--wants", f"{tenant.name}={'+'.join(tenant.wants)}"]
        for option in SWITCHES:
            if getattr(tenant, option):
                flags += [f"--{option.replace('_', '-')}", tenant.name]
    if simulation.float6:
        flags.append("--float6")
    if keeps_rules(config, tenants):
        flags.append("--strict")
    return flags


def twice(endpoints: Mapping[str, str]) -> tuple[str, str] | None:
    """Two names that have one endpoint, however they write this machine's name; None if there are none."""
    seen: dict[str, str] = {}
    for name, endpoint in endpoints.items():
        other = seen.setdefault(endpoint.replace("//localhost:", "//127.0.0.1:"), name)
        if other != name:
            return other, name
    return None


_ABOUT_JOB = re.compile(r"events\[\d+\] [A-Z_]+ (?P<workload>[^!\s]+)![^\s]+ at ")


def blamed(config: ExperimentConfig, complaint: str) -> str | None:
    """What the simulator's gate refused, with the name of the scheduler whose job it is about.

    The simulator sees one scheduler; behind a broker the job's workload tells which one is meant.

    Returns:
        None if there is no broker, or no job in the complaint.
    """
    found = _ABOUT_JOB.match(complaint)
    if config.broker is None or found is None:
        return None
    routes = {workload.id: workload.scheduler for workload in config.workloads} | dict(config.broker.routes)
    name = routes.get(found["workload"])
    return None if name is None else f"scheduler {name}: {complaint}"


SWITCHES = (
    "dynamic_jobs",
    "acknowledge_dynamic_jobs",
    "profile_reuse",
    "forward_profiles",
    "split_kill_ack",
    "droppable",
)
"""Options of a tenant that are on or off."""
