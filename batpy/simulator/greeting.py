"""SIMULATION_BEGINS: what a scheduler is told first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batpy._version import __version__
from batpy.platforms.platform import Host
from batpy.protocol import messages as m

if TYPE_CHECKING:
    from batpy.simulator.core import Simulator

EXTENSIONS: tuple[str, ...] = ()
"""Families of events this version's simulator offers beyond the baseline; none yet."""


def greeting(simulator: Simulator) -> m.SimulationBegins:
    """The first event of a conversation, from what the simulation was given."""
    config, platform = simulator.config, simulator.platform
    settings = {
        "redis-enabled": False,
        "redis-hostname": "127.0.0.1",
        "redis-port": 6379,
        "redis-prefix": "default",
        "profiles-forwarded-on-submission": simulator.forward_profiles,
        "dynamic-jobs-enabled": config.dynamic_jobs,
        "dynamic-jobs-acknowledged": config.acknowledge_dynamic_jobs,
        "profile-reuse-enabled": config.profile_reuse,
        "sched-config": config.sched_config,
        "forward-unknown-events": config.forward_unknown_events,
    }
    return m.SimulationBegins(
        timestamp=0,
        nb_resources=len(platform.hosts),
        nb_compute_resources=len(platform.compute),
        nb_storage_resources=len(platform.storage),
        allow_compute_sharing=config.compute_sharing,
        allow_storage_sharing=config.storage_sharing,
        config=settings,
        compute_resources=[_record(host) for host in platform.compute],
        storage_resources=[_record(host) for host in platform.storage],
        workloads={w.id: w.source for w in simulator.workloads},
        profiles={
            w.id: {name: dict(profile.raw) for name, profile in w.profiles.items()}
            for w in simulator.workloads
        },
        batpy=m.Offer(__version__, config.ticks_per_second, EXTENSIONS),
    )


def _record(host: Host) -> m.Json:
    return {
        "id": host.id,
        "name": host.name,
        "state": "idle",
        "properties": dict(host.properties),
        "zone_properties": dict(host.zone_properties),
        "speed": list(host.speeds),
        "core": host.cores,
    }
