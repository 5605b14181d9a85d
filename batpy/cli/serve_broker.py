"""A broker as a process: the simulator connects to it, it connects to the schedulers."""

from __future__ import annotations

import argparse
import gc
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from batpy.base.errors import BatpyError, InputError, one_line
from batpy.broker.core import BrokerCore
from batpy.broker.registry import make_policy
from batpy.broker.service import Broker
from batpy.broker.tenants import TenantConfig
from batpy.cli.parser import pairs
from batpy.cli.places import told_at
from batpy.cli.tenancy import SWITCHES, twice
from batpy.protocol.codec import make_codec
from batpy.protocol.conversation import Speaker
from batpy.protocol.messages import Message, SimulationBegins
from batpy.protocol.sharing_records import AnySharingRecord
from batpy.protocol.vocabulary import WANTS
from batpy.transport.endpoint import check_endpoint
from batpy.transport.link import Link


class Nowhere:
    """A sink for a broker whose journal nobody wants."""

    def write(self, record: AnySharingRecord, /) -> None:
        """Drop it."""

    def flush(self) -> None:
        """There is nothing to hand over."""


class ConnectedBroker:
    """A broker that connects to its schedulers when the simulator has told the resolution of the run.

    Args:
        connect: makes the links, given the ticks per second.
        settle: called before each reply, so that what led to it is kept even if this process is killed.
    """

    def __init__(
        self, core: BrokerCore, connect: Callable[[int], Sequence[Link]], settle: Callable[[], None]
    ) -> None:
        self.core = core
        self._connect = connect
        self._settle = settle
        self._broker: Broker | None = None

    def handle(self, message: Message, /) -> Message:
        """See ``Broker``."""
        if self._broker is None:
            begins = message.events[0] if message.events else None
            offer = begins.batpy if isinstance(begins, SimulationBegins) else None
            self._broker = Broker(
                self.core, self._connect(1_000_000 if offer is None else offer.ticks_per_second)
            )
        try:
            reply = self._broker.handle(message)
        except InputError as why:
            raise in_flags(why) from why
        self._settle()
        return reply

    def close(self) -> None:
        """Close the links."""
        if self._broker is not None:
            self._broker.close()


_OPTION = re.compile(r"scheduler\.(?P<name>.+)\.(?P<option>\w+)")


def in_flags(why: InputError) -> InputError:
    """What is wrong with a key of an experiment, told of the flag that says it here."""
    if why.source in ("bebida", "static[shares=...]"):
        return InputError(str(why), source="--policy")
    if why.path == "broker.routes":
        return InputError(why.problem.replace(" in its table or route it", ""), source="--route")
    if (found := _OPTION.fullmatch(why.path or "")) is not None:
        flag = f"--{found['option'].replace('_', '-')} {found['name']}"
        return InputError(why.problem, source=flag)
    return why


def serve_broker(arguments: argparse.Namespace, ready: Callable[[str], None]) -> None:
    """Serve one conversation as a broker, then return.

    Args:
        arguments: of ``batpy broker``.
        ready: told the endpoint once it is bound.

    Raises:
        BatpyError: bad arguments, an endpoint that cannot be bound, a lost or illegal peer.
    """
    from batpy.transport.zeromq import serve

    endpoints = pairs(arguments.scheduler, "--scheduler")
    if not endpoints:
        raise InputError("name at least one, as NAME=tcp://HOST:PORT", source="--scheduler")
    for name, endpoint in endpoints.items():
        try:
            check_endpoint(endpoint, bind=False)
        except InputError as why:
            raise InputError(f"{name}={endpoint}: {why.problem}", source="--scheduler") from None
    if two := twice(endpoints):
        problem = f"{two[0]} and {two[1]} have one endpoint, {endpoints[two[1]]}; each needs one of its own"
        raise InputError(problem, source="--scheduler")
    tenants = tenants_of(arguments, list(endpoints))
    with told_at("--policy"):
        policy = make_policy(arguments.policy)
    sink: Any = Nowhere()
    if arguments.output is not None:
        sink = journal(arguments.output)
    core = BrokerCore(policy, arguments.policy, tenants, sink, strict=arguments.strict)
    broker = ConnectedBroker(
        core,
        lambda ticks: connect(
            endpoints,
            codec=arguments.codec,
            ticks_per_second=ticks,
            float6=arguments.float6,
            deadline_s=arguments.deadline or None,
        ),
        sink.flush,
    )
    gc.set_threshold(200_000, 50, 1000)
    outcome, reason = "failed", ""
    try:
        serve(broker, arguments.bind, on_bound=ready)
        outcome = "done"
    except BatpyError as why:
        outcome, reason = ("peer_lost" if why.exit_code == 3 else "refused"), one_line(why)
        raise
    except KeyboardInterrupt:
        outcome = "interrupted"
        raise
    finally:
        core.finish(outcome, reason)
        broker.close()
        if arguments.output is not None:
            sink.close()


def journal(folder: Path) -> Any:
    """A file for the broker's records.

    Raises:
        InputError: it cannot be written.
    """
    from batpy.results.sharing_journal import SHARING_JOURNAL, SharingJournalWriter

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as why:
        raise InputError(f"cannot be made: {why.strerror or why}", source=str(folder)) from None
    writer = SharingJournalWriter(folder / SHARING_JOURNAL)
    writer.lock()
    return writer


def connect(
    endpoints: dict[str, str],
    *,
    codec: Literal["json", "msgpack"],
    ticks_per_second: int,
    float6: bool,
    deadline_s: float | None,
) -> list[Link]:
    """Links to the schedulers, by rank."""
    from batpy.transport.zeromq import ZmqLink

    return [
        ZmqLink(
            endpoint,
            make_codec(codec, ticks_per_second, float6=float6),
            deadline_s,
            f"scheduler {name}",
            Speaker.BROKER,
        )
        for name, endpoint in endpoints.items()
    ]


def tenants_of(arguments: argparse.Namespace, names: list[str]) -> list[TenantConfig]:
    """The tenants that the flags describe.

    Raises:
        InputError: a flag names a scheduler that is not there.
    """

    def known(name: str, flag: str) -> str:
        if name not in names:
            raise InputError(f"there is no scheduler {name!r}; choose from {', '.join(names)}", source=flag)
        return name

    routes = pairs(arguments.route, "--route")
    for scheduler in routes.values():
        known(scheduler, "--route")
    wants: dict[str, tuple[str, ...]] = {}
    for name, words in pairs(arguments.wants, "--wants").items():
        wants[known(name, "--wants")] = tuple(words.split("+"))
        for word in wants[name]:
            if word not in WANTS:
                raise InputError(f"choose from {', '.join(WANTS)}; got {word!r}", source="--wants")
    for option in SWITCHES:
        for name in getattr(arguments, option):
            known(name, f"--{option.replace('_', '-')}")
    return [
        TenantConfig(
            name=name,
            workloads=tuple(workload for workload, scheduler in routes.items() if scheduler == name),
            wants=wants.get(name, ()),
            **{option: name in getattr(arguments, option) for option in SWITCHES},
        )
        for name in names
    ]
