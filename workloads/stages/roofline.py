"""How long a stage takes on a platform, and which resource decides: its roofline.

A stage computes, reads, writes and shuffles. Each of these alone would take the time that its amount needs at
the capacity of its resource; together they take::

    overlap * (the longest) + (1 - overlap) * (their sum)

seconds, from one after the other (0) to all at once (1), and overheads come on top. Rooflines are those of
Williams, Waterman and Patterson (CACM 52(4), 2009), with four resources instead of two.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

import msgspec

from batpy.base.errors import InputError
from batpy.workloads.stages.graph import Stage, times_from

Resource = Literal["cpu", "read", "write", "net", "overhead"]
RESOURCES: tuple[Resource, ...] = ("cpu", "read", "write", "net")
"""Of a stage's work; what does not depend on amounts is ``overhead``."""
Scope = Literal["slot", "host", "all"]
MOST = 1e24
"""Of any figure or parameter, so that nothing overflows; bandwidths and speeds are at least 1."""
Rate = Annotated[float, msgspec.Meta(ge=1, le=MOST)]
NotNegative = Annotated[float, msgspec.Meta(ge=0, le=MOST)]


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Common settings of what a calibration file holds: every value is written, unknown ones are refused."""


class Bandwidth(Entry, frozen=True):
    """Bytes per second, of each busy slot, of each host (a local disk), or of the whole park (a PFS)."""

    rate: Rate
    scope: Scope = "host"
    basis: str = "given"

    @classmethod
    def parse(cls, text: str) -> Bandwidth:
        """Read ``RATE``, ``RATE/slot``, ``RATE/host`` or ``RATE/all``; without a scope it is of a host.

        Raises:
            InputError: neither of them.
        """
        number, slash, scope = text.partition("/")
        try:
            rate = float(number)
        except ValueError:
            rate = 0.0
        known: dict[str, Scope] = {"slot": "slot", "host": "host", "all": "all"}
        wanted = known.get(scope) if slash else "host"
        if wanted is None or not 1 <= rate <= MOST:
            problem = f"must be bytes per second from 1 on, perhaps with /slot, /host or /all, got {text!r}"
            raise InputError(problem)
        return cls(rate=rate, scope=wanted)

    def capacity(self, busy: float, hosts: int) -> float:
        """Bytes per second of a stage that keeps *busy* slots on *hosts* busy."""
        return self.rate * {"slot": busy, "host": float(hosts), "all": 1.0}[self.scope]


class Figures(Entry, frozen=True):
    """A platform.

    Attributes:
        speed: flops per second of a slot.
        read, write: of the storage of input and output.
        net: of the network, for shuffled data that cross it.
    """

    speed: Rate = 1e9
    read: Bandwidth = Bandwidth(rate=1e9, basis="nominal")
    write: Bandwidth = Bandwidth(rate=1e9, basis="nominal")
    net: Bandwidth = Bandwidth(rate=1e9, basis="nominal")


class Parameters(Entry, frozen=True):
    """What a calibration finds.

    Attributes:
        k_cpu: flops for each second of processor time in a log.
        k_read, k_write, k_net: what each byte counts for (1: the platform's figure holds).
        task_overhead, stage_overhead: seconds for each task on its slot, and for each stage.
        overlap: 0 (resources are used one after the other) to 1 (all at once).
    """

    k_cpu: NotNegative = 1e9
    k_read: NotNegative = 1.0
    k_write: NotNegative = 1.0
    k_net: NotNegative = 1.0
    task_overhead: NotNegative = 0.0
    stage_overhead: NotNegative = 0.0
    overlap: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.0


@dataclass(frozen=True, slots=True)
class StageWork:
    """Amounts of a stage, and where it was recorded.

    Attributes:
        cpu: seconds of processor time of all tasks.
        read, write, net: bytes of input, of output, and of shuffled data that crossed the network.
        local: bytes of shuffled data that did not. On another number of hosts, shuffled data spread evenly,
            and one share of as many as there are hosts does not cross it. None: ``net`` stays as it is.
        tasks: how many.
        slots, hosts: it could use.
        times: of its tasks in any unit: only their proportions count. Empty: all are equal.
        wall: seconds that it took; None if that is not known.
        kept: mean number of slots that it kept busy, as recorded, where others wanted them too; None: it
            was alone, and :meth:`busy` tells.
    """

    cpu: float
    read: float
    write: float
    net: float
    tasks: int
    slots: int
    hosts: int
    times: Sequence[int] = ()
    wall: float | None = None
    kept: float | None = None
    local: float | None = None
    name: str = ""
    _busy: dict[int, float] = field(default_factory=dict, compare=False, repr=False)

    def crossing(self, hosts: int) -> float:
        """Bytes of shuffled data that cross the network between so many hosts."""
        if self.local is None or hosts == self.hosts:
            return self.net
        return (self.net + self.local) * (hosts - 1) / hosts

    def busy(self, slots: int) -> float:
        """Mean number of busy slots while the tasks run on so many, one after the other.

        Stragglers and last waves that do not fill the slots make it smaller than *slots*.
        """
        known = self._busy.get(slots)
        if known is None:
            known = self._busy[slots] = busy_slots(self.times, self.tasks, slots)
        return known


@dataclass(frozen=True, slots=True)
class Roofline:
    """Seconds that a stage needs of each resource alone, and of overheads."""

    cpu: float
    read: float
    write: float
    net: float
    overhead: float
    overlap: float

    @property
    def work(self) -> float:
        """Seconds without overheads."""
        parts = (self.cpu, self.read, self.write, self.net)
        return self.overlap * max(parts) + (1 - self.overlap) * sum(parts)

    @property
    def wall(self) -> float:
        """Seconds in all."""
        return self.work + self.overhead

    @property
    def dominating(self) -> Resource:
        """What takes longest; of equals the first of cpu, read, write, net, overhead."""
        names: tuple[Resource, ...] = (*RESOURCES, "overhead")
        return max(names, key=lambda name: float(getattr(self, name)))


def roofline(
    work: StageWork,
    parameters: Parameters,
    figures: Figures,
    *,
    slots: int | None = None,
    hosts: int | None = None,
) -> Roofline:
    """The roofline of a stage.

    Args:
        figures: of the platform it is to run on.
        slots, hosts: of that platform; those of the record if None.
    """
    slots = work.slots if slots is None else slots
    hosts = work.hosts if hosts is None else hosts
    busy = work.busy(slots)
    return Roofline(
        cpu=work.cpu * parameters.k_cpu / (figures.speed * busy),
        read=work.read * parameters.k_read / figures.read.capacity(busy, hosts),
        write=work.write * parameters.k_write / figures.write.capacity(busy, hosts),
        net=work.crossing(hosts) * parameters.k_net / figures.net.capacity(busy, hosts),
        overhead=work.tasks / busy * parameters.task_overhead + parameters.stage_overhead,
        overlap=parameters.overlap,
    )


def busy_slots(times: Iterable[int], tasks: int, slots: int) -> float:
    """Mean number of slots that tasks keep busy, each taken by the next task when it is free."""
    known = list(times)
    if slots < 1:
        raise ValueError(f"slots must be at least 1, got {slots}")
    if not known or not sum(known):
        waves = -(-max(tasks, 1) // slots)
        return max(tasks, 1) / waves
    if len(known) <= slots:
        return sum(known) / max(known)
    free = [0] * slots
    for time in known:
        heapq.heapreplace(free, free[0] + time)
    return sum(known) / max(free)


def times_of(stage: Stage) -> tuple[int, ...]:
    """Times of a stage's tasks in an order in which they may start: recorded ones, or drawn from the table.

    The order of those that are drawn depends on nothing but the number of the stage.
    """
    if stage.durations_us:
        return stage.durations_us
    times = times_from(stage.times_us, stage.done, stage.wall_us)
    random.Random(f"calibration/{stage.id}/{stage.attempt}").shuffle(times)
    return tuple(times)
