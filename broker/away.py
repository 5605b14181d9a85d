"""Hosts that are out of the park for a while: machines that left it, hosts an outer broker called back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from batpy.broker.actions import Revoke
from batpy.broker.desk import NO_START
from batpy.broker.tenants import SHARING, Tenant
from batpy.protocol import hostset
from batpy.protocol import messages as m
from batpy.protocol.hostset import HostSet

if TYPE_CHECKING:
    from batpy.broker.starts import Starts


class Away:
    """Who has to leave hosts that are away, and who gets them back."""

    def __init__(self, starts: Starts, tenants: list[Tenant]) -> None:
        self._starts = starts
        self._tenants = tenants
        self._recalls: list[HostSet] = []

    def covers(self, hosts: HostSet) -> bool:
        """Are some of them out of the park for now?"""
        ledger = self._starts.ledger
        away = hostset.union(ledger.down, ledger.recalled)
        return bool(away) and bool(hostset.intersection(hosts, away))

    def note_machines(self, events: Iterable[m.Event]) -> None:
        """Know which hosts are away before anything else of an instant is thought about."""
        ledger = self._starts.ledger
        for event in events:
            if isinstance(event, m.Notify) and event.resources:
                if event.type == "event_machine_unavailable":
                    ledger.down = hostset.union(ledger.down, event.resources)
                elif event.type == "event_machine_available":
                    ledger.down = hostset.difference(ledger.down, event.resources)
                    self._starts.freed(event.resources)
            elif isinstance(event, m.RemoveResources):
                ledger.recalled = hostset.union(ledger.recalled, event.resources)
            elif isinstance(event, m.AddResources):
                ledger.recalled = hostset.difference(ledger.recalled, event.resources)
                self._starts.freed(event.resources)

    def hosts_left(self, hosts: HostSet) -> None:
        """Hosts are away; those who do not hear of machines are asked to vacate them."""
        ledger = self._starts.ledger
        for tenant in self._tenants:
            if tenant.speaks(SHARING) and not tenant.speaks("machine_events") and tenant.gone is None:
                mine = hostset.intersection(hosts, ledger.lent[tenant.rank])
                if mine:
                    self._starts.revoking.ask(tenant, Revoke(tenant.rank, mine))

    def hosts_returned(self, hosts: HostSet) -> None:
        """Hosts are back."""
        ledger = self._starts.ledger
        self._give_up_waiting(hosts)
        self._starts.retry()
        for tenant in self._tenants:
            if tenant.speaks(SHARING) and not tenant.speaks("machine_events"):
                self._starts.give(tenant.rank, hostset.intersection(hosts, ledger.visible[tenant.rank]))

    def recall(self, hosts: HostSet) -> None:
        """An outer broker wants hosts back: everybody leaves them."""
        ledger = self._starts.ledger
        self._recalls.append(hosts)
        for tenant in self._tenants:
            mine = hostset.intersection(hosts, ledger.lent[tenant.rank])
            if mine:
                self._starts.revoking.ask(tenant, Revoke(tenant.rank, mine))

    def returned(self, hosts: HostSet) -> None:
        """An outer broker lets us use hosts again."""
        ledger = self._starts.ledger
        self._give_up_waiting(hosts)
        self._starts.retry()
        for tenant in self._tenants:
            self._starts.give(tenant.rank, hostset.intersection(hosts, ledger.visible[tenant.rank]))

    def _give_up_waiting(self, hosts: HostSet) -> None:
        """Hosts are back before a tenant has left them: what it owed is forgotten."""
        for revocation in list(self._starts.revoking.open.values()):
            if revocation.start == NO_START and hostset.intersection(revocation.hosts, hosts):
                self._starts.revoking.take_over(revocation)

    def vacated(self) -> list[HostSet]:
        """Recalls whose hosts are in nobody's hands any more, each told once."""
        if not self._recalls:
            return []
        ledger = self._starts.ledger
        held = [*ledger.lent, *ledger.leaving, *ledger.busy]
        done = [r for r in self._recalls if not any(hostset.intersection(r, hosts) for hosts in held)]
        self._recalls = [recall for recall in self._recalls if recall not in done]
        return done
