"""A job and its additional I/O job as one parallel task.

Rule (Batsim 4.2.1): the task has the hosts of both, and for each ordered pair of them the bytes are those of
the job plus those of the I/O job; flops likewise. A storage host is one host, whichever of the two uses it.
Executors that a mapping puts on one host stay apart; what the I/O job does there joins the first of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from batpy.models.sharing.work import Flow, joined, matrix_flows
from batpy.workloads.profile import (
    DataStaging,
    LegacyPfs,
    Parallel,
    ParallelHomogeneous,
    ParallelHomogeneousPfs,
    ParallelHomogeneousTotal,
    Profile,
)


class Pieces(msgspec.Struct):
    """One parallel task, spelled out.

    Attributes:
        hosts: host id of each executor.
        flops: of each executor; those past the end compute nothing.
        flows: bytes between executors, each ordered pair at most once.
    """

    hosts: list[int]
    flops: list[float]
    flows: list[Flow]


def pieces(profile: Profile, hosts: Sequence[int], storage: Mapping[str, int]) -> Pieces:
    """Spell out the task of a profile.

    Args:
        hosts: host id of each executor.
        storage: host id of each storage label.
    """
    n = len(hosts)
    match profile:
        case Parallel():
            return Pieces(list(hosts), list(profile.cpu), list(matrix_flows(profile.com, n)))
        case ParallelHomogeneous():
            return Pieces(list(hosts), [profile.cpu] * n, _all_pairs(n, profile.com))
        case ParallelHomogeneousTotal():
            return Pieces(list(hosts), [profile.cpu / n] * n, _all_pairs(n, profile.com / n))
        case ParallelHomogeneousPfs():
            return _stored(hosts, storage[profile.storage], profile.bytes_to_read, profile.bytes_to_write)
        case LegacyPfs():
            read, write = (0.0, profile.size) if profile.to_storage else (profile.size, 0.0)
            return _stored(hosts, storage[profile.host], read, write)
        case DataStaging():
            ends = [storage[profile.source], storage[profile.target]]
            return Pieces(ends, [], [(0, 1, profile.nb_bytes)])
    raise AssertionError(f"{profile.name} is no parallel task")


def _all_pairs(n: int, com: float) -> list[Flow]:
    if com <= 0:
        return []
    return [(sender, receiver, com) for sender in range(n) for receiver in range(n) if sender != receiver]


def _stored(hosts: Sequence[int], storage: int, read: float, write: float) -> Pieces:
    n = len(hosts)
    flows = [(n, executor, read) for executor in range(n)]
    flows += [(executor, n, write) for executor in range(n)]
    return Pieces([*hosts, storage], [], flows)


def join(job: Pieces, io: Pieces, present: Sequence[int]) -> Pieces:
    """One task of two.

    Args:
        present: hosts of the two allocations; those without work count as hosts of the task as well.
    """
    hosts = list(job.hosts)
    first: dict[int, int] = {}
    for executor, host in enumerate(hosts):
        first.setdefault(host, executor)
    for host in [*io.hosts, *present]:
        if host not in first:
            first[host] = len(hosts)
            hosts.append(host)
    n = len(job.hosts)
    # Executors of the job, then those of the I/O job.
    place = {executor: executor for executor in range(n)}
    place |= {n + executor: first[host] for executor, host in enumerate(io.hosts)}
    idle = [0.0] * (n - len(job.flops))
    flows = [*job.flows, *((n + sender, n + receiver, amount) for sender, receiver, amount in io.flows)]
    flops, summed = joined([*job.flops, *idle, *io.flops], flows, place)
    return Pieces(hosts, flops, summed)
