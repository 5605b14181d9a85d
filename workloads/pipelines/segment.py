"""Segments: what an operator does, and how long that takes on so many CPUs.

The formulas are Eudoxia's (commit c62122c): an I/O phase, then a CPU phase, never both at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from batpy.base.errors import InputError
from batpy.base.pipelines import DISK_SCAN_GB_SEC

ScalingFunction = Callable[[Any, Any], Any]
"""``(cpus, baseline_cpu_seconds) -> seconds``; cpus may be fractional."""


def _const(cpus: Any, baseline: Any) -> Any:  # noqa: ARG001 - one signature for all
    return baseline


def _log(cpus: Any, baseline: Any) -> Any:
    return baseline / (np.log(cpus) + 1)


def _sqrt(cpus: Any, baseline: Any) -> Any:
    return baseline / np.sqrt(cpus)


def _linear3(cpus: Any, baseline: Any) -> Any:
    return baseline / cpus if cpus < 3 else baseline / 3


def _linear7(cpus: Any, baseline: Any) -> Any:
    return baseline / cpus if cpus < 7 else baseline / 7


def _squared(cpus: Any, baseline: Any) -> Any:
    return baseline / np.power(cpus, 2)


def _exp(cpus: Any, baseline: Any) -> Any:
    return baseline / (np.power(2, cpus) if cpus < 4 else 16)


SCALING: dict[str, ScalingFunction] = {
    "const": _const,
    "log": _log,
    "sqrt": _sqrt,
    "linear3": _linear3,
    "linear7": _linear7,
    "squared": _squared,
    "exp": _exp,
}
"""The named scaling functions; numpy computes them, since its logarithm differs from the C library's in the
last bit for some arguments."""


class Segment:
    """One stretch of an operator's work; never changed once it is made.

    Attributes:
        baseline_cpu_seconds: CPU time on one CPU.
        cpu_scaling: name of the scaling function, or the function itself.
        scaling_func: the function.
        memory_gb: memory used throughout, or None: then memory follows what was read, GB by GB.
        storage_read_gb: read before the CPU phase.
    """

    __slots__ = ("baseline_cpu_seconds", "cpu_scaling", "memory_gb", "scaling_func", "storage_read_gb")

    def __init__(
        self,
        baseline_cpu_seconds: float,
        cpu_scaling: str | ScalingFunction = "const",
        memory_gb: float | None = None,
        storage_read_gb: float = 0,
    ) -> None:
        self.baseline_cpu_seconds = baseline_cpu_seconds
        self.cpu_scaling = cpu_scaling
        self.memory_gb = memory_gb
        self.storage_read_gb = storage_read_gb
        if callable(cpu_scaling):
            self.scaling_func: ScalingFunction = cpu_scaling
        elif cpu_scaling in SCALING:
            self.scaling_func = SCALING[cpu_scaling]
        else:
            choices = ", ".join(SCALING)
            told = f"no such cpu_scaling {cpu_scaling!r}; choose from {choices}, or give a callable"
            raise InputError(told)

    def get_io_seconds(self) -> float:
        """Seconds of the I/O phase."""
        return self.storage_read_gb / DISK_SCAN_GB_SEC

    def get_cpu_time(self, num_cpus: float) -> float:
        """Seconds of the CPU phase on *num_cpus* CPUs."""
        return self.scaling_func(num_cpus, self.baseline_cpu_seconds)  # type: ignore[no-any-return]

    def get_peak_memory_gb(self) -> float:
        """The most memory it ever uses, in GB."""
        return self.storage_read_gb if self.memory_gb is None else self.memory_gb

    def get_seconds_until_oom(self, limit_gb: float) -> float | None:
        """Seconds until a container of *limit_gb* is too small, by continuous growth; None if it never is.

        A helper for policies: the executor compares the memory of each tick instead.
        """
        if self.get_peak_memory_gb() <= limit_gb:
            return None
        return 0.0 if self.memory_gb is not None else limit_gb / DISK_SCAN_GB_SEC

    def phase_ticks(
        self, cpus: float, tick_length: float, speed: float = DISK_SCAN_GB_SEC
    ) -> tuple[int, int]:
        """Ticks of the I/O and of the CPU phase, each truncated towards zero in double arithmetic.

        Args:
            tick_length: ``1.0 / ticks_per_second``, exactly that double.
            speed: GB read in a second.

        Raises:
            InputError: the scaling function gives no finite time on so many CPUs (next to none, say).
        """
        io_ticks = int(self.storage_read_gb / speed / tick_length)
        with np.errstate(all="ignore"):
            seconds = self.get_cpu_time(cpus)
            try:
                return io_ticks, int(seconds / tick_length)
            except (OverflowError, ValueError):
                told = f"{float(seconds)} s of computing on {cpus} CPUs; a segment must take a finite time"
                raise InputError(told) from None
