"""What one parallel task asks of hosts and links.

Rules (Batsim 4.2.1 over SimGrid 3.32, ``ptask_L07``): each executor is an element of its host; all bytes of a
task that cross a link are one element of it, the largest single flow if the link is FATPIPE; the largest
route latency is paid first; the TCP window bounds the rate of the whole task.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

import msgspec

from batpy.models.sharing.resources import Resources
from batpy.platforms.network import Fan, FanNetwork, Network, Route

# Bytes of a TCP window (SimGrid's network/TCP-gamma).
TCP_WINDOW = 4194304.0

# Sets of hosts whose routes are kept; a memory, so results do not depend on it.
KEPT_PAIRS = 64

Element = tuple[int, float, float, int]
"""Use of one resource: (resource, largest element, sum of the elements, number of elements)."""

Flow = tuple[int, int, float]
"""(sending executor, receiving executor, bytes); executors count from 0 in the order of the task's hosts."""


class TaskWork(msgspec.Struct, frozen=True, gc=False):
    """The work of one parallel task.

    Attributes:
        latency: seconds that pass before anything moves.
        hosts: elements on hosts, weights in flops; ``hosts[k][1]`` is the largest executor's.
        links: elements on links, weights in bytes.
        window_rate: largest share of the task a second that the TCP window lets through.
        executor_cores: cores that one executor can use at most; 1 unless the user said otherwise.
    """

    latency: float
    hosts: tuple[Element, ...]
    links: tuple[Element, ...]
    window_rate: float = math.inf
    executor_cores: float = 1.0


NOTHING = TaskWork(0.0, (), ())


class Pairs(msgspec.Struct, frozen=True):
    """The routes of all ordered pairs of some hosts.

    Attributes:
        crossings: how many of them cross each link.
        latency: of the longest, in seconds.
    """

    crossings: Mapping[int, int]
    latency: float


class _Traffic:
    """Sums flows up, link by link."""

    def __init__(self, resources: Resources) -> None:
        self._fat = resources.fat
        self._first = resources.n_hosts
        self.bytes: dict[int, float] = {}
        self.latency = 0.0
        self._delay_product = 0.0

    def cross(self, links: Iterable[int], total: float, largest: float) -> None:
        """Several flows over the same links: their sum, and the largest of them."""
        seen, fat, first = self.bytes, self._fat, self._first
        for link in links:
            resource = first + link
            if fat[resource]:
                seen[resource] = max(seen.get(resource, 0.0), largest)
            else:
                seen[resource] = seen.get(resource, 0.0) + total

    def wait(self, latency: float, largest: float) -> None:
        """A route is used; *largest* is the largest flow over it."""
        self.latency = max(self.latency, latency)
        self._delay_product = max(self._delay_product, latency * largest)

    def flows(self, routed: Iterable[tuple[Route, float]]) -> None:
        """Flows one by one; written out, since there may be very many."""
        seen, fat, first = self.bytes, self._fat, self._first
        latency, product = self.latency, self._delay_product
        for route, amount in routed:
            for link in route.links:
                resource = first + link
                if resource not in seen:
                    seen[resource] = amount
                elif not fat[resource]:
                    seen[resource] += amount
                elif amount > seen[resource]:
                    seen[resource] = amount
            lag = route.latency
            if lag > latency:  # noqa: PLR1730 (twice as fast here)
                latency = lag
            if lag * amount > product:  # noqa: PLR1730
                product = lag * amount
        self.latency, self._delay_product = latency, product

    def alike(self, pairs: Pairs, amount: float) -> None:
        """The same bytes over each of some routes, when nothing was added before."""
        seen, fat, first = self.bytes, self._fat, self._first
        for link, count in pairs.crossings.items():
            resource = first + link
            seen[resource] = amount if fat[resource] else amount * count
        self.wait(pairs.latency, amount)

    def flow(self, route: Route, amount: float, count: int = 1) -> None:
        self.cross(route.links, amount * count, amount)
        self.wait(route.latency, amount)

    def work(self, hosts: tuple[Element, ...], executor_cores: float) -> TaskWork:
        links = tuple([(link, amount, amount, 1) for link, amount in self.bytes.items()])
        product = self._delay_product
        rate = TCP_WINDOW / (2.0 * product) if product > 0 else math.inf
        return TaskWork(self.latency, hosts, links, rate, executor_cores)


class WorkBuilder:
    """Builds the work of tasks on one platform.

    In all methods ``hosts`` names the host of each executor; a host may occur several times. A task of a
    single executor sends nothing: SimGrid runs it as a plain execution and drops its bytes.

    Args:
        resources: capacities; only which links are FATPIPE is read.
        network: routes, or None if bytes cost nothing.
    """

    def __init__(self, resources: Resources, network: Network | None) -> None:
        self._resources = resources
        self._network = network
        self._fan = network.fan if isinstance(network, FanNetwork) else None
        self._fans: dict[int, Fan | None] = {}
        self._pairs: dict[tuple[int, ...], Pairs] = {}
        self._ends: dict[int, tuple[int, ...]] = {}  # resources of each host's way up and down

    def flows(
        self, hosts: Sequence[int], cpu: Sequence[float], flows: Iterable[Flow], executor_cores: float = 1.0
    ) -> TaskWork:
        """Any task: flops of each executor, and a list of flows (each pair at most once).

        Raises:
            InputError: the platform has no route between two hosts that exchange bytes.
        """
        traffic = _Traffic(self._resources)
        network = self._network
        if network is not None and len(hosts) > 1:
            route = network.route
            traffic.flows(
                [
                    (route(hosts[sender], hosts[receiver]), amount)
                    for sender, receiver, amount in flows
                    if amount > 0
                ]
            )
        return traffic.work(host_elements(hosts, cpu), executor_cores)

    def parallel(
        self, hosts: Sequence[int], cpu: Sequence[float], com: Sequence[float], executor_cores: float = 1.0
    ) -> TaskWork:
        """``parallel``: executor i sends ``com[i * n + j]`` bytes to executor j (*com* may be empty)."""
        if len(hosts) > 1 and com:
            fans = self._star(hosts) if len(set(hosts)) == len(hosts) else None
            if fans is not None and _alike(fans) and not self._any_fat(fans):
                return self._parallel_star(hosts, cpu, com, fans, executor_cores)
        return self.flows(hosts, cpu, matrix_flows(com, len(hosts)), executor_cores)

    def homogeneous(
        self, hosts: Sequence[int], cpu: float, com: float, executor_cores: float = 1.0
    ) -> TaskWork:
        """``parallel_homogeneous``: *cpu* flops an executor, *com* bytes each ordered pair of them."""
        n = len(hosts)
        counts: dict[int, int] = dict.fromkeys(hosts, 1)
        if len(counts) < n:
            counts = Counter(hosts)
        elements = tuple([(host, cpu, cpu * k, k) for host, k in counts.items()]) if cpu > 0 else ()
        traffic = _Traffic(self._resources)
        network = self._network
        if network is not None and com > 0 and n > 1:
            fans = self._star(counts)
            if fans is not None:
                self._all_to_all(traffic, fans, counts, com)
            elif len(counts) == n:
                traffic.alike(self._all_pairs(tuple(hosts), network), com)
            else:
                for source, sending in counts.items():
                    for target, receiving in counts.items():
                        if source != target:
                            traffic.flow(network.route(source, target), com, sending * receiving)
            if len(counts) < n:
                for host, k in counts.items():
                    if k > 1:
                        traffic.flow(network.route(host, host), com, k * (k - 1))
        return traffic.work(elements, executor_cores)

    def homogeneous_total(
        self, hosts: Sequence[int], cpu: float, com: float, executor_cores: float = 1.0
    ) -> TaskWork:
        """``parallel_homogeneous_total``: ``cpu / n`` flops an executor, ``com / n`` bytes a pair."""
        n = len(hosts)
        return self.homogeneous(hosts, cpu / n, com / n, executor_cores) if n else NOTHING

    def storage(self, hosts: Sequence[int], storage: int, read: float, write: float) -> TaskWork:
        """``parallel_homogeneous_pfs``: each executor reads and writes so many bytes of a storage."""
        n = len(hosts)
        flows: list[Flow] = []
        for executor in range(n):
            flows += [(n, executor, read), (executor, n, write)]
        return self.flows([*hosts, storage], (), flows)

    def staging(self, source: int, target: int, amount: float) -> TaskWork:
        """``data_staging``: one flow."""
        return self.flows([source, target], (), [(0, 1, amount)])

    def _all_pairs(self, hosts: tuple[int, ...], network: Network) -> Pairs:
        """Found once for tasks that come again on the same hosts: there may be very many routes."""
        known = self._pairs.get(hosts)
        if known is None:
            route = network.route
            routes = [route(a, b) for a in hosts for b in hosts if a != b]
            crossings = Counter(chain.from_iterable([route.links for route in routes]))
            known = Pairs(crossings, max([route.latency for route in routes]))
            if len(self._pairs) >= KEPT_PAIRS:
                self._pairs.clear()
            self._pairs[hosts] = known
        return known

    def _star(self, hosts: Iterable[int]) -> list[Fan] | None:
        """Fans of the hosts if they all belong to one star."""
        if self._fan is None:
            return None
        found: list[Fan] = []
        known = self._fans
        for host in hosts:
            if host in known:
                fan = known[host]
            else:
                fan = known[host] = self._fan(host)
                if fan is not None:
                    first = self._resources.n_hosts
                    self._ends[host] = tuple([first + link for link in (*fan.up, *fan.down)])
            if fan is None or (found and fan.star != found[0].star):
                return None
            found.append(fan)
        return found

    def _all_to_all(
        self, traffic: _Traffic, fans: Sequence[Fan], counts: Mapping[int, int], com: float
    ) -> None:
        """Each ordered pair of executors on distinct hosts of one star exchanges *com* bytes."""
        n = sum(counts.values())
        seen, fat, ends = traffic.bytes, self._resources.fat, self._ends
        crossing = 0
        for host, k in counts.items():
            pairs = k * (n - k)
            crossing += pairs
            amount = pairs * com
            for resource in ends[host]:
                if fat[resource]:
                    seen[resource] = com
                elif resource in seen:
                    seen[resource] += amount
                else:
                    seen[resource] = amount
        if not crossing:
            traffic.bytes.clear()
            return
        traffic.cross(fans[0].middle, crossing * com, com)
        traffic.wait(fans[0].middle_latency + _longest(fans), com)

    def _any_fat(self, fans: Sequence[Fan]) -> bool:
        fat, first = self._resources.fat, self._resources.n_hosts
        return any(fat[first + link] for fan in fans for link in (*fan.up, *fan.middle, *fan.down))

    def _parallel_star(
        self,
        hosts: Sequence[int],
        cpu: Sequence[float],
        com: Sequence[float],
        fans: Sequence[Fan],
        executor_cores: float,
    ) -> TaskWork:
        """Sums of rows and columns instead of pairs."""
        traffic = _Traffic(self._resources)
        assert self._network is not None
        n = len(hosts)
        own = list(com[:: n + 1])
        cross = list(com)
        cross[:: n + 1] = [0.0] * n
        everything = 0.0
        for executor, fan in enumerate(fans):
            sent = sum(cross[executor * n : executor * n + n])
            received = sum(cross[executor::n])
            everything += sent
            if sent > 0:
                traffic.cross(fan.up, sent, sent)
            if received > 0:
                traffic.cross(fan.down, received, received)
            if own[executor] > 0:
                traffic.flow(self._network.route(hosts[executor], hosts[executor]), own[executor])
        if everything > 0:
            first = fans[0]
            traffic.cross(first.middle, everything, everything)
            traffic.wait(first.up_latency + first.middle_latency + first.down_latency, max(cross))
        return traffic.work(host_elements(hosts, cpu), executor_cores)


def matrix_flows(com: Sequence[float], n: int) -> Iterator[Flow]:
    """The flows of a row-major matrix of *n* by *n* bytes."""
    for place, amount in enumerate(com):
        if amount > 0:
            yield place // n, place % n, amount


def host_elements(hosts: Sequence[int], cpu: Sequence[float]) -> tuple[Element, ...]:
    """Elements of executors on hosts; executors without flops, and those past the end of *cpu*, are none."""
    found: dict[int, Element] = {}
    for host, flops in zip(hosts, cpu, strict=False):
        if flops > 0:
            known = found.get(host)
            if known is None:
                found[host] = (host, flops, flops, 1)
            else:
                _, largest, total, count = known
                found[host] = (host, max(largest, flops), total + flops, count + 1)
    return tuple(found.values())


def busy_cores(utilization: float, cores: int) -> int:
    """Cores of a host that a utilization in [0, 1] keeps busy, as in Batsim's usage traces: at least one."""
    return max(math.floor(utilization * cores + 0.5), 1)


def repeated(work: TaskWork, utilization: float, cores: Sequence[int]) -> TaskWork:
    """The task with each executor computing on as many cores of its host as it keeps busy.

    Each of those cores computes the flops of the executor, only one of them communicates
    (oar-team/batsim#73).

    Args:
        cores: number of cores of each host.
    """
    hosts = []
    for host, largest, total, count in work.hosts:
        k = busy_cores(utilization, cores[host])
        hosts.append((host, largest, total * k, count * k))
    return msgspec.structs.replace(work, hosts=tuple(hosts))


def joined(
    flops: Sequence[float], flows: Iterable[Flow], place: Mapping[int, int]
) -> tuple[list[float], list[Flow]]:
    """Move executors to other places, adding up what meets: for tasks joined on a union of hosts.

    Args:
        flops: of each executor.
        flows: between executors.
        place: new place of each executor; places count from 0 without gaps.
    """
    sums = [0.0] * (max(place.values(), default=-1) + 1)
    for executor, amount in enumerate(flops):
        sums[place[executor]] += amount
    pairs: dict[tuple[int, int], float] = {}
    for sender, receiver, amount in flows:
        pair = (place[sender], place[receiver])
        pairs[pair] = pairs.get(pair, 0.0) + amount
    return sums, [(sender, receiver, amount) for (sender, receiver), amount in pairs.items()]


def _alike(fans: Sequence[Fan]) -> bool:
    first = fans[0]
    up, down = first.up_latency, first.down_latency
    return all(fan.up_latency == up and fan.down_latency == down for fan in fans)


def _longest(fans: Sequence[Fan]) -> float:
    """Longest way up and down between two of the hosts, in seconds."""
    if _alike(fans):
        return fans[0].up_latency + fans[0].down_latency
    # Both must not be of one host; two candidates a side suffice.
    ups = sorted(range(len(fans)), key=lambda k: -fans[k].up_latency)[:2]
    downs = sorted(range(len(fans)), key=lambda k: -fans[k].down_latency)[:2]
    return max(fans[a].up_latency + fans[b].down_latency for a in ups for b in downs if a != b)
