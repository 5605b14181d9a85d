"""The fine model: what a phase of a job reads and writes, block by block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from batpy.base.errors import InputError
from batpy.dfs.drawing import Rng
from batpy.dfs.reading import ReadPlan
from batpy.dfs.state import FileSystem, Refused, StoredFile
from batpy.dfs.topology import Ints
from batpy.dfs.traffic import Traffic

Assignment = Literal["local", "turns"]


@dataclass(frozen=True)
class ReadPhase:
    """A phase that reads: which block goes to which node of the job, and from where."""

    plan: ReadPlan
    traffic: Traffic


@dataclass(frozen=True)
class WritePhase:
    """A phase that writes: the files that came of it."""

    files: tuple[StoredFile, ...]
    traffic: Traffic


def split_evenly(volume: int, parts: int) -> Ints:
    """Whole numbers that differ by at most 1 and add up to *volume*; larger ones first."""
    share, rest = divmod(volume, parts)
    return np.array([share + 1] * rest + [share] * (parts - rest), dtype=np.int64)


def proportional(amounts: Ints, volume: int) -> Ints:
    """Whole numbers as *amounts* are to one another, within 1, that add up to *volume*."""
    total = int(amounts.sum())
    if total == volume:
        return amounts
    # Python's integers: the products do not fit 64 bits.
    ends = [end * volume // total for end in np.cumsum(amounts).tolist()]
    bounds = np.array([0, *ends], dtype=np.int64)
    return bounds[1:] - bounds[:-1]


def assign_blocks(system: FileSystem, blocks: Ints, job: Sequence[int], how: Assignment = "local") -> Ints:
    """The node of a job that reads each block; as many for each node, within 1.

    Args:
        how: ``local``: a block goes to the node that holds a replica and has the fewest so far, while that
            has not its share yet; those left, in order, to nodes that have not. What a scheduler comes to
            that may wait. ``turns``: one node after the other, whatever they hold.
    """
    if how == "turns":
        return np.asarray(job, dtype=np.int64)[np.arange(len(blocks)) % len(job)]
    assert len(set(job)) == len(job)
    share, larger = divmod(len(blocks), len(job))
    taken = dict.fromkeys(job, 0)
    out = [-1] * len(blocks)
    for row, holders in enumerate(system.replicas[blocks].tolist()):
        near = [node for node in holders if node in taken]
        if not near:
            continue
        node = min(near, key=lambda node: (taken[node], node))
        if taken[node] < share or (taken[node] == share and larger > 0):
            larger -= taken[node] == share
            taken[node] += 1
            out[row] = node
    order = sorted(job)
    wants = {node: share - taken[node] for node in order}
    left = (node for turn in range(share + 1) for node in order if wants[node] > turn)
    extra = (node for node in order if taken[node] <= share)
    for row, node in enumerate(out):
        if node < 0:
            out[row] = next(left, -1)
            if out[row] < 0:
                out[row] = next(extra)
    return np.array(out, dtype=np.int64)


def read_phase(
    system: FileSystem,
    blocks: Sequence[int] | Ints,
    job: Sequence[int],
    volume: int | None = None,
    how: Assignment = "local",
) -> ReadPhase | Refused:
    """A job reads blocks; refused if one of them is lost.

    Args:
        job: its nodes, each once.
        volume: bytes read in all, if not the whole blocks: shared out as the blocks' sizes are.
    """
    asked = np.asarray(blocks, dtype=np.int64)
    amounts = system.bytes[asked]
    if volume is not None:
        if volume and not amounts.sum():
            raise InputError(f"there are no blocks to read {volume} bytes from")
        amounts = proportional(amounts, volume)
    plan = system.read_plan(asked, assign_blocks(system, asked, job, how), amounts)
    if len(plan.lost):
        return Refused(f"block {int(plan.block[plan.lost[0]])} has no replica left")
    return ReadPhase(plan, Traffic.of_reads(system.topology, plan))


def write_phase(
    system: FileSystem,
    name: str,
    volume: int,
    job: Sequence[int],
    rng: Rng,
    replication: int | None = None,
) -> WritePhase | Refused:
    """A job writes *volume* bytes, each node a file ``name/N`` of its share.

    Nodes are replicated as the file system's placement says; refused if it is full.
    """
    sizes = split_evenly(volume, len(job)).tolist()
    asked = [(f"{name}/{part}", size, node) for part, (node, size) in enumerate(zip(job, sizes, strict=True))]
    made = system.create_all(asked, rng, replication)
    if isinstance(made, Refused):
        return made
    blocks = np.concatenate([file.ids for file in made])
    writers = np.repeat(np.asarray(job, dtype=np.int32), [file.blocks for file in made])
    traffic = Traffic.of_writes(system.topology, system.replicas[blocks], system.bytes[blocks], writers)
    return WritePhase(tuple(made), traffic)
