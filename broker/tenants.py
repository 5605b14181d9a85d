"""A tenant: one scheduler as the broker sees it, and what it is told first."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from batpy._version import __version__
from batpy.base.errors import InputError
from batpy.broker.hostmap import HostMap
from batpy.protocol import hostset
from batpy.protocol.hostset import HostSet
from batpy.protocol.messages import (
    AddResources,
    Event,
    Json,
    Offer,
    RemoveResources,
    SimulationBegins,
)

SHARING, REFUSALS, MACHINE_EVENTS = "sharing", "refusals", "machine_events"
DEEPEST = 200
"""Deeper nests of profiles are refused by our simulator."""


class TenantConfig(msgspec.Struct, frozen=True):
    """What the broker is told about a scheduler before it speaks.

    Attributes:
        name: unique; complaints and tables use it.
        workloads: ids of the workloads that are its own.
        wants: extensions asked for on behalf of a peer that cannot say HELLO.
        dynamic_jobs: it may register jobs and profiles, and the run waits until it says that it is done.
        acknowledge_dynamic_jobs: it is told JOB_SUBMITTED of jobs that it registered.
        profile_reuse: what its config says about profiles of jobs that are over.
        forward_profiles: JOB_SUBMITTED carries the profile.
        split_kill_ack: JOB_KILLED names only jobs that were still running (pybatsim fails on mixed ones).
        droppable: the run goes on without it when it fails.
    """

    name: str
    workloads: tuple[str, ...] = ()
    wants: tuple[str, ...] = ()
    dynamic_jobs: bool = False
    acknowledge_dynamic_jobs: bool = False
    profile_reuse: bool = False
    forward_profiles: bool = False
    split_kill_ack: bool = False
    droppable: bool = False


class Tenant:
    """The state of the conversation with one scheduler.

    Attributes:
        rank: the first is served first.
        hosts: translates host ids.
        wants: extensions it speaks.
        mailbox: events it has not been told yet.
        busy_until: the date its last reply let time pass to; it is asked again then.
        registering: it may still register jobs.
        believed: the park's hosts that it may use by all that it was told.
        gone: why it was dropped, or None.
    """

    def __init__(self, rank: int, config: TenantConfig) -> None:
        self.rank = rank
        self.name = config.name
        self.config = config
        self.hosts = HostMap(())
        self.wants = set(config.wants)
        self.mailbox: list[Event] = []
        self.busy_until = -1
        self.registering = config.dynamic_jobs
        self.gone: str | None = None
        self.believed: HostSet = ()

    def take_mail(self) -> list[Event]:
        """What it is told now."""
        mail, self.mailbox = self.mailbox, []
        for event in mail:
            if type(event) is AddResources:
                self.believed = hostset.union(self.believed, self.hosts.to_park(event.resources))
            elif type(event) is RemoveResources:
                self.believed = hostset.difference(self.believed, self.hosts.to_park(event.resources))
        return mail

    def speaks(self, extension: str) -> bool:
        """Does it want to hear that?"""
        return extension in self.wants


def greeting(begins: SimulationBegins, tenant: Tenant, visible: HostSet) -> SimulationBegins:
    """SIMULATION_BEGINS for one tenant: its hosts numbered from 0, its workloads, its options."""
    config = tenant.config
    computes = _renumbered(begins.compute_resources, visible)
    storages = [dict(r, id=len(computes) + i) for i, r in enumerate(begins.storage_resources)]
    settings = {
        **begins.config,
        "profiles-forwarded-on-submission": config.forward_profiles,
        "dynamic-jobs-enabled": config.dynamic_jobs,
        "dynamic-jobs-acknowledged": config.acknowledge_dynamic_jobs,
        "profile-reuse-enabled": config.profile_reuse,
    }
    offer = begins.batpy
    if offer is not None:
        extensions = dict.fromkeys((*offer.extensions, SHARING))
        offer = Offer(__version__, offer.ticks_per_second, tuple(extensions))
    return msgspec.structs.replace(
        begins,
        nb_resources=len(computes) + len(storages),
        nb_compute_resources=len(computes),
        nb_storage_resources=len(storages),
        config=settings,
        compute_resources=computes,
        storage_resources=storages,
        workloads={w: source for w, source in begins.workloads.items() if w in config.workloads},
        profiles={w: known for w, known in begins.profiles.items() if w in config.workloads},
        batpy=offer,
    )


def _renumbered(records: list[Json], visible: HostSet) -> list[Json]:
    kept: list[Json] = []
    by_id = {record["id"]: record for record in records}
    for host in hostset.ids(visible):
        kept.append(dict(by_id[host], id=len(kept)))
    return kept


def check_offered(begins: SimulationBegins, tenants: Sequence[Tenant]) -> None:
    """Tenants cannot have what the simulator does not offer.

    Raises:
        InputError: naming the tenant's option.
    """
    pairs = (
        ("dynamic_jobs", "dynamic-jobs-enabled"),
        ("acknowledge_dynamic_jobs", "dynamic-jobs-acknowledged"),
        ("forward_profiles", "profiles-forwarded-on-submission"),
        ("profile_reuse", "profile-reuse-enabled"),
    )
    for option, key in pairs:
        for tenant in tenants:
            # Who registers no jobs has no use for profiles of jobs that are over.
            wanted = tenant.config.dynamic_jobs or option != "profile_reuse"
            if wanted and getattr(tenant.config, option) and not begins.config.get(key):
                problem = f"the simulator was started without it ({key} is false)"
                raise InputError(problem, path=f"scheduler.{tenant.name}.{option}")


def zero_progress(profile_name: str, profiles: dict[str, Json], depth: int = 0) -> Json:
    """The progress tree of a job that never began, in the form of JOB_KILLED.

    A profile that is not known here counts as a leaf, and so does one that is deeper than ``DEEPEST``.
    """
    parts = profiles.get(profile_name, {}).get("seq")
    if isinstance(parts, list) and parts and depth < DEEPEST:
        return {
            "profile_name": profile_name,
            "current_task_index": 0,
            "current_task": zero_progress(str(parts[0]), profiles, depth + 1),
        }
    return {"profile_name": profile_name, "progress": 0.0}
