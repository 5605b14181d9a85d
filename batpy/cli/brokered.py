"""A run with several schedulers: the broker is here or in a process of its own, and so is each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from batpy.base.errors import EXIT_PEER, PeerError
from batpy.broker.core import BrokerCore
from batpy.broker.guard import guarded
from batpy.broker.policy import ParkView, SharingPolicy
from batpy.broker.registry import make_policy
from batpy.broker.service import Broker
from batpy.cli.children import Child, pin_together, start_broker, start_scheduler
from batpy.cli.serve_broker import connect, journal
from batpy.cli.tenancy import broker_flags, keeps_rules, tenant_configs
from batpy.transport.link import Core, InProcessLink, Link

if TYPE_CHECKING:
    from batpy.cli.config import ExperimentConfig

LAST_BREATH = 0.5
"""Seconds a process may live on after its connection closed."""


@contextmanager
def embedded_broker(config: ExperimentConfig, cores: Mapping[str, Core], output: Path) -> Iterator[Broker]:
    """A broker in this process, with its journal in *output*.

    Args:
        cores: of the schedulers that run here, by name; the others are asked at their endpoints.

    Raises:
        BatpyError: the policy or an endpoint cannot be used.
    """
    assert config.broker is not None
    policy = make_policy(config.broker.policy, base=config.broker.base)
    simulation = config.simulation
    endpoints = {name: s.endpoint for name, s in config.schedulers.items() if s.endpoint is not None}
    far = dict(
        zip(
            endpoints,
            connect(
                endpoints,
                codec=simulation.codec,
                ticks_per_second=simulation.resolution,
                float6=simulation.float6,
                deadline_s=simulation.deadline or None,
            )
            if endpoints
            else (),
            strict=True,
        )
    )
    links: list[Link] = [
        far[name] if name in far else InProcessLink(cores[name]) for name in config.schedulers
    ]
    sink = journal(output)
    tenants = tenant_configs(config)
    strict = keeps_rules(config, tenants)
    broker = Broker(BrokerCore(policy, config.broker.policy, tenants, sink, strict=strict), links)
    try:
        yield broker
    finally:
        broker.close()
        sink.close()


def check_policy(policy: SharingPolicy, config: ExperimentConfig, nb_hosts: int) -> None:
    """Begin a policy on trial: one that cannot serve these schedulers or this park is found before anything
    is written.

    Args:
        policy: not to be used afterwards.
        nb_hosts: of the platform.

    Raises:
        InputError: as the policy's ``begin`` and ``visible``.
    """
    assert config.broker is not None
    trial = guarded(policy, config.broker.policy)
    hosts = ((0, nb_hosts - 1),)
    trial.begin(ParkView(list(config.schedulers), hosts, nb_hosts, config.simulation.resolution))
    for rank in range(len(config.schedulers)):
        trial.visible(rank)


class Company:
    """The processes of a run: the schedulers that were started, and the broker.

    Attributes:
        endpoint: where the broker listens.
        finished: the conversation is over; they go by themselves.
    """

    def __init__(self, children: list[Child], broker: Child) -> None:
        self._children = children
        self._broker = broker
        self.endpoint = broker.endpoint

    def why_dead(self) -> str | None:
        """How the process that is to blame ended: a scheduler's last words say more than the broker's."""
        of_broker = self._broker.why_dead(LAST_BREATH)
        for child in self._children:
            # One that lost the broker has gone because of another.
            if child.process.poll() != EXIT_PEER and (end := child.why_dead()) is not None:
                return f"{child.title}: {end}"
        return of_broker

    @property
    def refused(self) -> bool:
        """One of them ended because of bad input, such as a policy that failed: so does the run."""
        return any(child.refused for child in (*self._children, self._broker))

    def finish(self) -> None:
        """They have all answered the last message."""
        for child in (*self._children, self._broker):
            child.finished = True


def _load_the_rest() -> None:
    """Load what this process needs later, while the others start."""
    import batpy.results.accounting.run
    import batpy.transport.zeromq  # noqa: F401


@contextmanager
def started(
    config: ExperimentConfig,
    output: Path,
    *,
    pin: bool,
    waiting: Callable[[Callable[[], None]], None],
) -> Iterator[Company]:
    """Start every scheduler that has an algorithm, and the broker, each as a process; they are gone
    afterwards.

    Args:
        waiting: calls what waits for a process so that Ctrl-C reaches it.

    Raises:
        BatpyError: one of them does not come up.
    """
    assert config.broker is not None
    deadline = config.simulation.deadline or None
    with ExitStack() as stack:
        children: list[Child] = []
        endpoints: dict[str, str] = {}
        for name, scheduler in config.schedulers.items():
            if scheduler.algorithm is None:
                assert scheduler.endpoint is not None
                endpoints[name] = scheduler.endpoint
                continue
            child = start_scheduler(scheduler, output)
            stack.callback(child.stop)
            children.append(child)
            endpoints[name] = child.endpoint
        flags = broker_flags(config, tenant_configs(config), endpoints)
        broker = start_broker(flags, config.broker.base, output)
        stack.callback(broker.stop)
        _load_the_rest()
        dispensable = {known.title for known in config.schedulers.values() if known.droppable}
        for child in (*children, broker):
            try:
                waiting(lambda child=child: child.wait_until_bound(deadline))  # type: ignore[misc]
            except PeerError:
                if child.title not in dispensable:
                    raise  # else the broker finds that nobody answers, and goes on without it
        if pin:
            pin_together((*children, broker))
        yield Company(children, broker)
