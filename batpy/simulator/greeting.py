"""SIMULATION_BEGINS: what a scheduler is told first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batpy._version import __version__
from batpy.platforms.platform import Host
from batpy.protocol import messages as m

if TYPE_CHECKING:
    from batpy.simulator.core import Simulator
    from batpy.workloads.serving.requests import RequestWorkload


def greeting(simulator: Simulator) -> m.SimulationBegins:
    """The first event of a conversation, from what the simulation was given."""
    config, platform, serving = simulator.config, simulator.platform, simulator.serving
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
        compute_resources=[
            _record(host, config.energy) | ({"gpus": host.gpus} if serving is not None else {})
            for host in platform.compute
        ],
        storage_resources=[_record(host, config.energy) for host in platform.storage],
        workloads={w.id: w.source for w in simulator.all_workloads()},
        profiles={
            w.id: {name: dict(profile.raw) for name, profile in w.profiles.items()}
            for w in simulator.workloads
        }
        | ({} if serving is None else {w.id: _models(w) for w in serving.setup.workloads}),
        batpy=m.Offer(__version__, config.ticks_per_second, () if serving is None else ("serving",)),
    )


def _record(host: Host, energy: bool) -> m.Json:
    record: m.Json = {
        "id": host.id,
        "name": host.name,
        "state": "idle",
        "properties": dict(host.properties),
        "zone_properties": dict(host.zone_properties),
        "speed": list(host.speeds),
        "core": host.cores,
    }
    if energy:
        # Only then can it be changed: so a scheduler knows before it tries.
        record["pstate"] = host.pstate
    return record


def _models(workload: RequestWorkload) -> dict[str, m.Json]:
    """The models of a workload of requests in the place of profiles, each under its first id."""
    return {
        str(copies.model_id): {
            "type": "model",
            "model_id": copies.model_id,
            "path": copies.path,
            "copies": copies.copies,
        }
        for copies in workload.models
    }
