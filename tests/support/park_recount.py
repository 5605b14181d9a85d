"""The states of the hosts of a shared run, worked out in the slow and obvious way from both its journals.

Each layer is a span of time on a host; in each stretch between two dates the first layer that covers it
counts. Shares no code with the accounts and needs the records in no order across the two journals.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from batpy.protocol import hostset
from batpy.protocol import records as s
from batpy.protocol import sharing_records as b

NOBODY, NEVER = -1, 1 << 62
BUSY, DOWN, EPILOG, PROLOG, BLOCKED, IDLE = range(6)
NAMES = ("busy", "down", "epilog", "prolog", "blocked", "idle")


class Layer(NamedTuple):
    """A state of a host from a tick until another; layers compare by what goes first."""

    kind: int
    rank: int
    tenant: int
    since: int
    until: int


@dataclass
class Life:
    """The dates of one start, in ticks."""

    job: str
    tenant: int
    hosts: list[int]
    asked: int
    prolog: int = NEVER
    released: int = NEVER
    dropped: int = NEVER
    cleared: int = NEVER


@dataclass
class Recount:
    """What the journals tell.

    Attributes:
        spent: core-ticks by (tenant, state); tenant -1 for nobody.
        runs: start, end and hosts of each job that started.
        horizon: last tick.
        cores: of each host.
    """

    spent: Counter[tuple[int, str]] = field(default_factory=Counter)
    runs: dict[str, tuple[int, int, list[int]]] = field(default_factory=dict)
    horizon: int = 0
    cores: tuple[int, ...] = ()


def recount(simulator: Sequence[s.AnyRecord], broker: Sequence[b.AnySharingRecord]) -> Recount:
    """Work out the states of all hosts."""
    begins = broker[0]
    assert isinstance(begins, b.SharingBegins)
    ranks = {name: rank for rank, name in enumerate(begins.tenants)}
    found = Recount(horizon=simulator[-1].time, cores=begins.cores)
    layers: dict[int, list[Layer]] = defaultdict(list)
    owner = {record.job: ranks[record.tenant] for record in broker if isinstance(record, b.JobOwned)}
    _see_jobs(found, simulator, owner, layers)
    for life in _lives(broker, ranks).values():
        for layer in _of_start(life, found):
            for host in life.hosts:
                layers[host].append(layer)
    _see_loans(broker, ranks, layers)
    for host in range(begins.nb_compute):
        _spend(found, host, layers[host])
    return found


def _see_jobs(
    found: Recount,
    simulator: Sequence[s.AnyRecord],
    owner: dict[str, int],
    layers: dict[int, list[Layer]],
) -> None:
    gone: dict[int, int] = {}
    for record in simulator:
        if isinstance(record, s.Started):
            found.runs[record.job] = (record.time, found.horizon, list(hostset.ids(record.alloc)))
        elif isinstance(record, s.Ended):
            start, _, hosts = found.runs[record.job]
            found.runs[record.job] = (start, record.time, hosts)
        elif isinstance(record, s.HostsChanged):
            for host in hostset.ids(record.hosts):
                if not record.available:
                    gone.setdefault(host, record.time)
                elif host in gone:
                    layers[host].append(Layer(DOWN, 0, NOBODY, gone.pop(host), record.time))
    for host, since in gone.items():
        layers[host].append(Layer(DOWN, 0, NOBODY, since, NEVER))
    for job, (start, end, hosts) in found.runs.items():
        for host in hosts:
            layers[host].append(Layer(BUSY, owner[job], owner[job], start, end))


def _lives(broker: Sequence[b.AnySharingRecord], ranks: dict[str, int]) -> dict[int, Life]:
    lives: dict[int, Life] = {}
    for record in broker:
        if isinstance(record, b.StartAsked):
            hosts = list(hostset.ids(record.hosts))
            lives[record.start] = Life(record.job, ranks[record.tenant], hosts, record.time)
        elif isinstance(record, b.PrologBegins):
            lives[record.start].prolog = min(lives[record.start].prolog, record.time)
        elif isinstance(record, b.StartReleased):
            lives[record.start].released = record.time
        elif isinstance(record, b.StartDropped):
            lives[record.start].dropped = record.time
        elif isinstance(record, b.HostsCleared):
            lives[record.start].cleared = record.time
    return lives


def _of_start(life: Life, found: Recount) -> Iterable[Layer]:
    run = found.runs.get(life.job) if life.released < NEVER == life.dropped else None
    end = run[0] if run is not None else min(life.dropped, found.horizon)
    marks = [(life.asked, BLOCKED), (life.prolog, PROLOG), (life.released, BLOCKED), (end, IDLE)]
    marks = [mark for mark in marks if mark[0] < NEVER]
    for (since, kind), (until, _) in pairwise(marks):
        yield Layer(kind, life.tenant, life.tenant, since, until)
    if run is not None:
        yield Layer(EPILOG, life.tenant, life.tenant, run[1], life.cleared)


def _see_loans(
    broker: Sequence[b.AnySharingRecord], ranks: dict[str, int], layers: dict[int, list[Layer]]
) -> None:
    """Idle hosts count for the lowest rank that has them."""
    since: dict[tuple[int, int], int] = {}
    for record in broker:
        if isinstance(record, (b.Lent, b.Vacated)):
            rank = ranks[record.tenant]
            for host in hostset.ids(record.hosts):
                if isinstance(record, b.Lent):
                    assert (rank, host) not in since, "lent twice"
                    since[rank, host] = record.time
                else:
                    layers[host].append(Layer(IDLE, -rank, rank, since.pop((rank, host)), record.time))
    for (rank, host), date in since.items():
        layers[host].append(Layer(IDLE, -rank, rank, date, NEVER))


def _spend(found: Recount, host: int, layers: list[Layer]) -> None:
    dates = {0, found.horizon, *(date for layer in layers for date in (layer.since, layer.until))}
    cuts = sorted(date for date in dates if date <= found.horizon)
    for since, until in pairwise(cuts):
        there = [layer for layer in layers if layer.since <= since and layer.until >= until]
        first = min(there, default=None)
        who = (first.tenant, NAMES[first.kind]) if first is not None else (NOBODY, "unlent")
        found.spent[who] += (until - since) * found.cores[host]
