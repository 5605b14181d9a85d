"""Costs that the original does not know, off by default: starts, data elsewhere, one storage for all."""

from __future__ import annotations

from dataclasses import dataclass

from batpy.base.pipelines import DISK_SCAN_GB_SEC
from batpy.models.containers.pipeline import Operator
from batpy.models.containers.storage import SharedStorage
from batpy.workloads.pipelines.parameters import Parameters


@dataclass(frozen=True, slots=True)
class Costs:
    """What is paid.

    Attributes:
        start_ticks: of a container before its first operator does anything; it uses no memory meanwhile.
        remote_speed: GB/s at which an operator reads if one of its parents was completed in another pool;
            None if that makes no difference.
    """

    start_ticks: int
    remote_speed: float | None

    def reading_speed(self, operator: Operator, pool: int) -> float:
        """GB that *operator* reads in a second in that pool."""
        if self.remote_speed is not None and any(parent.place != pool for parent in operator.parents):
            return self.remote_speed
        return DISK_SCAN_GB_SEC


def costs_of(parameters: Parameters) -> Costs | None:
    """The costs that the parameters name; None if there are none."""
    start = int(parameters.container_start_seconds / parameters.tick_length)
    remote = parameters.remote_read_gb_per_second or None
    return Costs(start, remote) if start or remote is not None else None


def storage_of(parameters: Parameters) -> SharedStorage | None:
    """The storage that all containers share; None if each has its own disk."""
    bandwidth = parameters.shared_storage_gb_per_second
    if not bandwidth:
        return None
    return SharedStorage(bandwidth, parameters.tick_length, compat=parameters.is_compat)
