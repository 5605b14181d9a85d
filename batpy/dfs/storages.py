"""One interface to a distributed and a parallel file system: how long does a phase of a job take."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from batpy.base.errors import InputError
from batpy.dfs.coarse import CoarseModel
from batpy.dfs.coarse_loads import read_loads, write_loads
from batpy.dfs.drawing import Rng
from batpy.dfs.phases import Assignment, read_phase, write_phase
from batpy.dfs.state import FileSystem, Refused
from batpy.dfs.topology import Topology
from batpy.dfs.traffic import PhaseTime, Rates, phase_time

_NOTHING = PhaseTime(0.0, "none")


class Storage(Protocol):
    """Where jobs read from and write to.

    Nodes are those of the job, each once, at least one; volumes are bytes of the whole phase, at least 0.
    """

    def read(self, nodes: Sequence[int], volume: int) -> PhaseTime:
        """A job reads so much, each node its share."""

    def write(self, nodes: Sequence[int], volume: int) -> PhaseTime:
        """A job writes so much, each node its share."""


@dataclass(frozen=True)
class ParallelFileSystem:
    """A parallel file system: servers behind the network, with a bandwidth that all clients share.

    A phase takes max(volume / bandwidth of the file system, volume / nodes / bandwidth of a node's link).

    Attributes:
        read_bandwidth, write_bandwidth: of all servers together, bytes per second.
        node_in, node_out: of each node's link to them.
    """

    read_bandwidth: float
    write_bandwidth: float
    node_in: float = math.inf
    node_out: float = math.inf

    def __post_init__(self) -> None:
        if not min(self.read_bandwidth, self.write_bandwidth, self.node_in, self.node_out) > 0:
            raise InputError("bandwidths of a parallel file system must be above 0")

    def read(self, nodes: Sequence[int], volume: int) -> PhaseTime:
        """See ``Storage``."""
        return self._phase(nodes, volume, self.read_bandwidth, self.node_in, "node_in")

    def write(self, nodes: Sequence[int], volume: int) -> PhaseTime:
        """See ``Storage``."""
        return self._phase(nodes, volume, self.write_bandwidth, self.node_out, "node_out")

    def _phase(self, nodes: Sequence[int], volume: int, whole: float, link: float, name: str) -> PhaseTime:
        if not volume:
            return _NOTHING
        served, carried = volume / whole, volume / len(nodes) / link
        return PhaseTime(served, "pfs") if served >= carried else PhaseTime(carried, name, nodes[0])


class CoarseDfs:
    """A distributed file system by the coarse model.

    Args:
        rng: the fractions of each phase are drawn from it.
        replication: of what is written.
    """

    def __init__(
        self, topology: Topology, rates: Rates, model: CoarseModel, rng: Rng, replication: int = 3
    ) -> None:
        self.topology = topology
        self.rates = rates
        self.model = model
        self.replication = replication
        self._rng = rng

    def read(self, nodes: Sequence[int], volume: int) -> PhaseTime:
        """See ``Storage``."""
        draw = self.model.draw(self._rng)
        return phase_time(read_loads(self.topology, nodes, volume, draw.shares, draw.skew), self.rates)

    def write(self, nodes: Sequence[int], volume: int) -> PhaseTime:
        """See ``Storage``."""
        skew = self.model.draw_write(self._rng)
        loads = write_loads(self.topology, nodes, volume, self.replication, skew)
        return phase_time(loads, self.rates)


class FineDfs:
    """A distributed file system block by block.

    Each phase reads an input of its own, which a client outside of the cluster wrote; that, and what a phase
    writes, is deleted when its time is known. What else lies in the file system stays as it is.

    Args:
        rng: where blocks are placed is drawn from it.
        how: which node of a job reads which block; see ``batpy.dfs.phases.assign_blocks``.
    """

    def __init__(self, system: FileSystem, rates: Rates, rng: Rng, how: Assignment = "local") -> None:
        self.system = system
        self.rates = rates
        self.how = how
        self._rng = rng
        self._serial = itertools.count()

    def read(self, nodes: Sequence[int], volume: int) -> PhaseTime:
        """See ``Storage``.

        Raises:
            InputError: the file system is full.
        """
        name = self._name()
        made = self.system.create(name, volume, self._rng)
        if isinstance(made, Refused):
            raise InputError(made.reason)
        phase = read_phase(self.system, made.ids, nodes, how=self.how)
        assert not isinstance(phase, Refused)
        self.system.delete(name)
        return phase.traffic.time(self.rates)

    def write(self, nodes: Sequence[int], volume: int) -> PhaseTime:
        """See ``Storage``.

        Raises:
            InputError: the file system is full.
        """
        phase = write_phase(self.system, self._name(), volume, nodes, self._rng)
        if isinstance(phase, Refused):
            raise InputError(phase.reason)
        for file in reversed(phase.files):  # the last first, so that their rows are used again
            self.system.delete(file.name)
        return phase.traffic.time(self.rates)

    def _name(self) -> str:
        names = (f"phase {number}" for number in self._serial)
        return next(name for name in names if name not in self.system.files)
