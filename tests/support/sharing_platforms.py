"""Batsim's example platforms, written down by hand as far as sharing needs them."""

from __future__ import annotations

from batpy.base.errors import InputError
from batpy.models.sharing.engine import SharingEngine
from batpy.models.sharing.resources import Resources
from batpy.models.sharing.task import Task, between
from batpy.models.sharing.work import TaskWork, WorkBuilder
from batpy.platforms.network import Fan, Link, Network, Route


class TableNetwork:
    """A network written down pair by pair."""

    def __init__(self, links: list[Link], routes: dict[tuple[int, int], list[int]]) -> None:
        self.links = tuple(links)
        self._routes = routes

    def route(self, source: int, target: int) -> Route:
        links = self._routes.get((source, target))
        if links is None:
            raise InputError(f"no route from host {source} to host {target}")
        return Route(tuple(links), sum(self.links[link].latency for link in links))


class ClusterNetwork:
    """Hosts with a link up and a link down each, around one backbone; the last may be a storage host.

    The storage host is a cluster of its own (``cluster512_pfs``): three backbones lie on the way to it.
    """

    def __init__(
        self, hosts: int, bandwidth: float = 125e6, backbone: float = 2.25e9, storage: float | None = None
    ) -> None:
        self.n = hosts
        self.links = (
            *(Link(f"up{k}", bandwidth, 50e-6) for k in range(hosts)),
            *(Link(f"down{k}", bandwidth, 50e-6) for k in range(hosts)),
            Link("backbone", backbone, 500e-6),
        )
        if storage is not None:
            self.links += (
                Link("between", 1.25e9, 500e-6),
                Link("storage_backbone", 2.25e9, 500e-6),
                Link("storage_up", storage, 50e-6),
                Link("storage_down", storage, 50e-6),
            )

    def route(self, source: int, target: int) -> Route:
        n = self.n
        if source == n:
            return Route((2 * n + 3, 2 * n + 2, 2 * n + 1, 2 * n, n + target), 1.6e-3)
        if target == n:
            return Route((source, 2 * n, 2 * n + 1, 2 * n + 2, 2 * n + 4), 1.6e-3)
        return Route((source, 2 * n, n + target), 600e-6)


class StarNetwork(ClusterNetwork):
    """The same, and it says so."""

    def fan(self, host: int) -> Fan | None:
        n = self.n
        return Fan(7, (host,), (2 * n,), (n + host,), 50e-6, 500e-6, 50e-6) if host < n else None


BOURASSA, FAFARD, GINETTE, JUPITER = range(4)
_MEGA = [41.279125, 34.285625, 118.6825, 34.285625, 10.099625, 27.94625, 41.279125, 11.618875, 8.158, 7.20975]
_MICRO = [59.904, 514.433, 136.931, 514.433, 479.78, 278.066, 59.904, 189.98, 270.544, 1461.517]
_LOOPBACK = 10
_WAYS = {
    (JUPITER, FAFARD): [9, 4, 3, 2, 0, 1, 8],
    (JUPITER, GINETTE): [9, 4, 3, 5],
    (JUPITER, BOURASSA): [9, 4, 3, 2, 0, 1, 6, 7],
    (FAFARD, GINETTE): [8, 1, 0, 2, 5],
    (FAFARD, BOURASSA): [8, 6, 7],
    (GINETTE, BOURASSA): [5, 2, 0, 1, 6, 7],
}


def small_network() -> TableNetwork:
    """The network of ``small_platform.xml``."""
    links = [Link(str(k), _MEGA[k] * 1e6, _MICRO[k] * 1e-6) for k in range(10)]
    links.append(Link("loopback", 498e6, 15e-6, shared=False))
    routes = {(host, host): [_LOOPBACK] for host in range(4)}
    for (a, b), way in _WAYS.items():
        routes[a, b], routes[b, a] = way, way[::-1]
    return TableNetwork(links, routes)


class Bench:
    """An engine, a builder for its platform, and answers in seconds."""

    def __init__(
        self,
        hosts: list[tuple[float, int]],
        network: Network,
        ticks_per_second: float = 1e6,
        **options: object,
    ) -> None:
        self.resources = Resources(hosts, network.links)
        self.builder = WorkBuilder(self.resources, network)
        self.scale = ticks_per_second
        self.engine = SharingEngine(self.resources, ticks_per_second, **options)  # type: ignore[arg-type]

    def add(self, work: TaskWork, seconds: float = 0.0) -> Task:
        return self.engine.add(self.date(seconds), work)

    def date(self, seconds: float) -> tuple[int, float]:
        return 0, seconds * self.scale

    def finish(self) -> None:
        while self.engine.next_event() is not None:
            self.engine.step()

    def seconds(self, task: Task) -> float:
        """Exact duration of a task that has ended."""
        assert task.over
        return between(task.began, task.ended) / self.scale

    def ends(self, *tasks: Task) -> list[float]:
        """Exact dates of ends, after running everything."""
        self.finish()
        return [between((0, 0.0), task.ended) / self.scale for task in tasks]

    def alone(self, work: TaskWork) -> float:
        """Duration of one task on the idle platform."""
        task = self.add(work)
        self.finish()
        return self.seconds(task)


def small() -> Bench:
    """``small_platform.xml``: hosts 0 to 3 are Bourassa, Fafard, Ginette, Jupiter."""
    return Bench([(48.492e6, 1), (76.296e6, 1), (48.492e6, 1), (76.296e6, 1)], small_network())


def cluster(
    hosts: int = 16, *, storage: bool = False, fan: bool = False, backbone: float = 2.25e9, **options: object
) -> Bench:
    """``cluster512.xml`` or ``cluster512_pfs.xml`` with fewer hosts; the storage host has the last id."""
    network = (StarNetwork if fan else ClusterNetwork)(hosts, 125e6, backbone, 15e6 if storage else None)
    return Bench([(1e9, 1)] * (hosts + storage), network, **options)  # type: ignore[arg-type]
