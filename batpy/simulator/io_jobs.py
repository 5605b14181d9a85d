"""The additional I/O job of EXECUTE_JOB: found, checked, and joined with the job that it goes along with.

Rules: Batsim 4.2.1. Both profiles are parallel tasks, or both are composed and of the same length; then part
i goes with part i, repeated as the job's profile says. The job's hosts stay those of ``alloc``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from batpy.base.errors import InputError
from batpy.models.execution import Tree, leaves, resolve
from batpy.protocol import hostset
from batpy.protocol import messages as m
from batpy.simulator.jobs import Entry, Home
from batpy.workloads.profile import PARALLEL_TASKS, Composed, Computing, Profile, parse_profile

if TYPE_CHECKING:
    from batpy.simulator.gate import Gate

WHERE = "additional_io_job"


class Joint(msgspec.Struct, frozen=True):
    """A job together with its additional I/O job.

    Attributes:
        tree: the job's profile, each leaf with what the I/O job does meanwhile.
        hosts: of the I/O job, ascending.
        storage: host id of each storage label that either of the two names.
        registered: the profile that came with the decision and is to be registered, or None.
    """

    tree: Tree
    hosts: tuple[int, ...]
    storage: Mapping[str, int]
    registered: Profile | None


def join_io_job(
    gate: Gate, decision: m.ExecuteJob, entry: Entry, tree: Tree, storage: Mapping[str, int]
) -> Joint | str:
    """Join the I/O job of a decision with its job, or say which rule is broken; changes nothing.

    Args:
        tree: the job's own profile, resolved.
        storage: host id of each storage label that the job's profile names.
    """
    wanted = decision.additional_io_job
    assert wanted is not None
    reason = gate.exist(wanted.alloc)
    if reason is not None:
        return f"{WHERE}: {reason}"
    home = entry.home
    profile = _profile(wanted, home)
    if isinstance(profile, str):
        return f"{WHERE}: {profile}"
    new = profile if wanted.profile is not None else None

    def lookup(name: str) -> Profile | None:
        return new if new is not None and name == new.name else home.profile(name)

    resolved = resolve(profile, lookup, {})
    joined = resolved if isinstance(resolved, str) else _joined(tree, resolved, {})
    if isinstance(joined, str) or isinstance(resolved, str):
        return f"{WHERE}: {joined}"
    hosts, labels = tuple(hostset.ids(wanted.alloc)), dict(storage)
    for leaf in leaves(resolved):
        reason = gate.places(leaf, hosts, decision, labels)
        if reason is not None:
            return f"{WHERE}: profile {leaf.name!r} {reason}"
    return Joint(joined, hosts, labels, new)


def _profile(wanted: m.IoJob, home: Home) -> Profile | str:
    """The profile of an I/O job, or the rule that is broken."""
    name = wanted.profile_name
    if wanted.profile is None:
        known = home.profile(name)
        if known is None:
            return f"profile {name!r} of workload {home.id} is not known, and none is given"
        return home.why_dropped(name) or known
    if home.is_taken(name):
        return (
            f"profile {name!r} of workload {home.id} already exists; one that is given must have a new name"
        )
    try:
        return parse_profile(name, wanted.profile, path="profile")
    except InputError as why:
        return str(why)


def _joined(job: Tree, io: Tree, known: dict[tuple[int, int], Tree]) -> Tree | str:
    """Each leaf of *job* with the leaf of *io* at the same place.

    Args:
        known: what is joined already; a part may occur very often in nested profiles.
    """
    key = id(job), id(io)
    if key in known:
        return known[key]
    if job.parts and io.parts:
        name = io.profile.name
        if len(job.parts) != len(io.parts):
            return (
                f"profile {name!r} has {len(io.parts)} parts and profile {job.profile.name!r} of the job "
                f"{len(job.parts)}; composed profiles are joined part by part"
            )
        parts: list[Tree] = []
        for mine, other in zip(job.parts, io.parts, strict=True):
            part = _joined(mine, other, known)
            if isinstance(part, str):
                return part
            parts.append(part)
        known[key] = Tree(job.profile, tuple(parts), job.any_size, instant=job.instant and io.instant)
        return known[key]
    for tree, whose in ((job, "of the job"), (io, "of the I/O job")):
        if not tree.parts and not isinstance(tree.profile, PARALLEL_TASKS):
            kind = tree.profile.raw.get("type")
            return (
                f"profile {tree.profile.name!r} {whose} is of type {kind!r}; only parallel tasks are joined"
            )
    if job.parts or io.parts:
        one, other = (job, io) if isinstance(job.profile, Composed) else (io, job)
        return (
            f"profile {one.profile.name!r} is composed and profile {other.profile.name!r} is not; "
            "both must be parallel tasks, or composed of as many parts"
        )
    for profile in (job.profile, io.profile):
        if isinstance(profile, Computing) and (
            profile.utilization is not None or profile.cores_per_executor != 1
        ):
            return f"profile {profile.name!r} says how many cores an executor uses; such tasks are not joined"
    return Tree(job.profile, (), job.any_size, io=io.profile, instant=job.instant and io.instant)
