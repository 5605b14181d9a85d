"""How an operator spends its ticks, worked out once for all operators that are alike."""

from __future__ import annotations

from collections.abc import Sequence

from batpy.base.pipelines import DISK_SCAN_GB_SEC
from batpy.models.containers.growth import Growth
from batpy.models.containers.memory import Phase, Plan
from batpy.workloads.pipelines.segment import Segment

MOST_KEPT = 100_000
"""Plans that are remembered; beyond that they are worked out each time."""


class Planner:
    """Plans by what they depend on; a segment with a user's function is worked out each time.

    Args:
        compat: an operator without a tick has no plan, and one whose last segment has none never ends.
            Otherwise the first takes one tick, and the second ends with the last tick that it has.
    """

    def __init__(self, tick_length: float, *, compat: bool) -> None:
        self._tick_length = tick_length
        self._compat = compat
        self._growths: dict[float, Growth] = {}
        self._known: dict[tuple[tuple[Segment, ...], float, float, int, float], Plan | None] = {}

    def plan(
        self,
        segments: Sequence[Segment],
        cpus: float,
        ram: float,
        lead: int = 0,
        speed: float = DISK_SCAN_GB_SEC,
    ) -> Plan | None:
        """What the segments do on *cpus* CPUs with *ram* GB; None if that takes no tick.

        Args:
            lead: ticks without memory before the first segment (the start of a container).
            speed: GB read in a second.
        """
        key = (tuple(segments), cpus, ram, lead, speed)
        if key in self._known:
            return self._known[key]
        plan = self._work_out(key[0], cpus, ram, lead, speed)
        if len(self._known) < MOST_KEPT and all(isinstance(segment.cpu_scaling, str) for segment in segments):
            self._known[key] = plan
        return plan

    def _work_out(
        self, segments: tuple[Segment, ...], cpus: float, ram: float, lead: int, speed: float
    ) -> Plan | None:
        phases = [Phase(0, lead, 0.0)] if lead else []
        begin, total = lead, 0
        for segment in segments:
            io_ticks, cpu_ticks = segment.phase_ticks(cpus, self._tick_length, speed)
            total = io_ticks + cpu_ticks
            if segment.memory_gb is not None:
                stretches: list[tuple[int, float | None]] = [(total, segment.memory_gb)]
            else:
                reading = min(io_ticks, total)  # a negative CPU time (log of a small fraction) cuts it short
                stretches = [(reading, None), (total - reading, segment.storage_read_gb)]
            for length, memory in stretches:
                if length > 0:
                    phases.append(Phase(begin, begin + length, memory))
                    begin += length
        if begin == lead and not self._compat:
            peak = max((segment.get_peak_memory_gb() for segment in segments), default=0.0)
            phases.append(Phase(lead, lead + 1, peak))
        if not phases:
            return None
        growth = self._growths.get(speed)
        if growth is None:
            growth = self._growths[speed] = Growth(self._tick_length, speed)
        oom, peak = self._limit(phases, ram, growth)
        return Plan(tuple(phases), oom, peak, total <= 0 and self._compat, growth)

    @staticmethod
    def _limit(phases: Sequence[Phase], ram: float, growth: Growth) -> tuple[int | None, float]:
        """First tick above *ram*, and the peak before it."""
        peak = 0.0
        for begin, end, memory in phases:
            over: int | None
            if memory is None:
                growth.expect(end - begin)
                over = growth.first_above(ram, end - begin)
                if over is None:
                    peak = max(peak, growth.at(end - begin - 1))
                elif over:
                    peak = max(peak, growth.at(over - 1))
            else:
                over = 0 if memory > ram else None
                peak = peak if memory > ram else max(peak, memory)
            if over is not None:
                return begin + over, peak
        return None, peak
