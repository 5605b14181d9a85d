"""Ranked tenants: a start of a higher rank takes the hosts from the lower ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from batpy.broker.actions import Action, Clean, Give, Grant, Hold, OnTimeout, Revoke
from batpy.broker.policy import ParkView, SharingPolicy, StartRequest
from batpy.broker.prolog import HandOver, hand_over
from batpy.protocol import hostset
from batpy.protocol.hostset import HostSet

Preset = Literal["ideal", "oar_yarn_2017", "k3s_drain_2024"]


@dataclass(frozen=True)
class HandOverOptions:
    """What handing hosts over costs, in seconds; options that are not given are the preset's.

    Attributes:
        prolog: preset of all the others that are not given: ideal (changing hands costs no time),
            oar_yarn_2017 (prolog_base 10.4, epilog_base 5.2) or k3s_drain_2024 (prolog_per_node 5,
            prolog_width 1, grace 5, timeout_per_node 15).
        lazy: what a job leaves goes to lower ranks only if its own scheduler does not use it in the same
            instant.
        prolog_base: of the prolog, from the moment the holders are told.
        prolog_per_node: of the prolog, for each round of hosts.
        prolog_width: hosts prepared in one round; 0 for all.
        grace: how long victims may still run.
        timeout: how long holders may take to vacate; 0 for ever.
        timeout_per_node: added to it for each host.
        on_timeout: the hosts are seized, the start is cancelled, or the holder counts as failed.
        epilog_base: of the epilog, from the end of the job.
        epilog_per_node: of the epilog, for each round of hosts.
        epilog_width: hosts cleaned in one round; 0 for all.
        epilog_blocking: the end of a job is told after its epilog.
        recommission: between the epilog and the return of the hosts to the others.
    """

    prolog: Preset = "ideal"
    lazy: bool = False
    prolog_base: float | None = None
    prolog_per_node: float | None = None
    prolog_width: int | None = None
    grace: float | None = None
    timeout: float | None = None
    timeout_per_node: float | None = None
    on_timeout: OnTimeout | None = None
    epilog_base: float | None = None
    epilog_per_node: float | None = None
    epilog_width: int | None = None
    epilog_blocking: bool | None = None
    recommission: float | None = None

    def __post_init__(self) -> None:
        self.model()

    def model(self) -> HandOver:
        """The preset with the changes applied."""
        changes = {k: v for k, v in vars(self).items() if k not in ("prolog", "lazy")}
        return hand_over(self.prolog, **changes)


class Priority(SharingPolicy):
    """Any number of tenants in the order in which they are declared, the first served first.

    Every idle host is lent to all. A start of one tenant revokes its hosts from every tenant of lower rank,
    waits for them and for the prolog, and gives the hosts back after the epilog.
    """

    Options = HandOverOptions

    def __init__(self, options: HandOverOptions | None = None) -> None:
        options = options or HandOverOptions()
        self.lazy = options.lazy
        self._model = options.model()
        self._scale = 1

    def begin(self, park: ParkView) -> None:
        """See ``SharingPolicy``."""
        super().begin(park)
        self._scale = park.ticks_per_second

    def start_requested(self, start: StartRequest) -> Iterable[Action]:
        """Take the hosts from every lower rank."""
        park, hosts = self.park, start.hosts
        below = range(start.tenant + 1, len(park.tenants))
        taken = [(t, hostset.intersection(park.lent(t), hosts)) for t in below]
        clear_of = tuple(
            t
            for t, mine in taken
            if mine or (park.leaving(t) and hostset.intersection(park.leaving(t), hosts))
        )
        if not clear_of:
            return (Grant(),)
        nodes = hostset.size(hostset.normalise(pair for _, mine in taken for pair in mine))
        model = self._model
        actions: list[Action] = []
        for tenant, mine in taken:
            if mine:
                patience = model.patience(hostset.size(mine))
                timeout = None if patience is None else self._ticks(patience)
                actions.append(Revoke(tenant, mine, self._ticks(model.grace), timeout, model.on_timeout))
        actions.append(Hold(clear_of, self._ticks(model.prolog(nodes))))
        return actions

    def ended(self, start: StartRequest) -> Iterable[Action]:
        """Clean up what was taken from others."""
        model = self._model
        ticks = self._ticks(model.epilog(hostset.size(start.drained)))
        return (Clean(ticks, model.epilog_blocking),) if ticks else ()

    def released(self, start: StartRequest) -> Iterable[Action]:
        """Give the hosts to the lower ranks."""
        delay = self._ticks(self._model.recommission) if start.drained else 0
        return self._restore(start.hosts, delay)

    def revoked(self, tenant: int, hosts: HostSet) -> Iterable[Action]:
        """Nobody may want them any more."""
        del tenant
        return self._restore(hosts, 0)

    def _restore(self, hosts: HostSet, delay: int) -> list[Action]:
        """Give each tenant those of *hosts* that no higher rank uses or waits for."""
        park = self.park
        actions: list[Action] = []
        wanted: HostSet = ()
        for tenant in range(len(park.tenants)):
            if tenant:
                mine = hostset.difference(hostset.intersection(hosts, park.visible(tenant)), wanted)
                mine = hostset.difference(hostset.difference(mine, park.lent(tenant)), park.leaving(tenant))
                if mine:
                    actions.append(Give(tenant, mine, delay))
            wanted = hostset.union(wanted, hostset.union(park.used(tenant), park.claimed(tenant)))
        return actions

    def _ticks(self, seconds: float) -> int:
        return round(seconds * self._scale)
