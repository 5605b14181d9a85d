"""How long each host was in each state (the package's docstring has the states)."""

from __future__ import annotations

from collections.abc import Sequence

from batpy.protocol.hostset import HostSet, ids, intersection

UNLENT, DOWN = 0, 1
IDLE, BLOCKED, PROLOG, EPILOG, BUSY = range(5)
STATES = ("idle", "blocked", "prolog", "epilog", "busy")
_OF_NOBODY = 2

# Kinds of claims, the first that stands counts.
_ORDER = {EPILOG: 0, PROLOG: 1, BLOCKED: 2}
_Claim = tuple[int, int, HostSet]
_WORTH_A_LOOK = 3
"""Fewer hosts than one more than this are quicker done one by one."""


class HostClock:
    """The state of each compute host as layers: jobs, absence, claims of starts, loans.

    What happens within one tick takes no time: states are worked out once a tick, when time goes on, so the
    order of the records of a tick does not matter, and what comes and goes within one costs little.

    Args:
        hosts: number of compute hosts.
        tenants: number of tenants.
        shared: several jobs may share a host.

    Attributes:
        now: the present tick.
        hosts, tenants, shared: as given.
    """

    def __init__(self, hosts: int, tenants: int, *, shared: bool = False) -> None:
        self.now = 0
        self.hosts = hosts
        self.tenants = tenants
        self.shared = shared
        self._spent = [[0] * hosts for _ in range(_OF_NOBODY + len(STATES) * tenants)]
        self._state = [UNLENT] * hosts
        self._since = [0] * hosts
        self._touched: list[tuple[int, int]] = []
        # Layers: 1 + tenant of the job that came first (0: none); absence; tenants that it is lent to, as
        # bits; claims of starts.
        self._busy = [0] * hosts
        self._jobs_on: dict[int, list[int]] | None = {} if shared else None
        self._down = bytearray(hosts)
        self._lent = [0] * hosts
        self._wanted: dict[int, _Claim] = {}
        self._applied: dict[int, _Claim] = {}
        self._changed: set[int] = set()
        self._claims_on: dict[int, set[int]] = {}

    def advance(self, now: int) -> None:
        """Let time pass until *now*."""
        if now != self.now:
            if self._touched or self._changed:
                self._settle()
            self.now = now

    def occupy(self, hosts: HostSet, tenant: int) -> None:
        """A job starts on hosts."""
        busy, jobs_on = self._busy, self._jobs_on
        for first, last in hosts:
            if jobs_on is None:
                busy[first : last + 1] = [tenant + 1] * (last + 1 - first)
                continue
            for host in range(first, last + 1):
                jobs_on.setdefault(host, []).append(tenant)
                busy[host] = jobs_on[host][0] + 1
        self._touched += hosts

    def leave(self, hosts: HostSet, tenant: int) -> None:
        """A job leaves the hosts that it occupied."""
        busy, jobs_on = self._busy, self._jobs_on
        for first, last in hosts:
            if jobs_on is None:
                busy[first : last + 1] = [0] * (last + 1 - first)
                continue
            for host in range(first, last + 1):
                jobs_on[host].remove(tenant)
                busy[host] = jobs_on[host][0] + 1 if jobs_on[host] else 0
        self._touched += hosts

    def change(self, hosts: HostSet, *, available: bool) -> None:
        """Hosts leave the park or return."""
        for first, last in hosts:
            self._down[first : last + 1] = bytes([not available]) * (last + 1 - first)
        self._touched += hosts

    def lend(self, hosts: HostSet, tenant: int) -> None:
        """A tenant may use hosts."""
        bit = 1 << tenant
        for host in ids(hosts):
            self._lent[host] |= bit
        self._touched += hosts

    def take_back(self, hosts: HostSet, tenant: int) -> None:
        """A tenant may not use hosts any more."""
        others = ~(1 << tenant)
        for host in ids(hosts):
            self._lent[host] &= others
        self._touched += hosts

    def claim(self, start: int, hosts: HostSet, kind: int, tenant: int) -> None:
        """A start keeps hosts in state *kind* (instead of what it claimed before)."""
        self._wanted[start] = (_ORDER[kind], _OF_NOBODY + len(STATES) * tenant + kind, hosts)
        self._changed.add(start)

    def drop_claim(self, start: int) -> None:
        """A start keeps nothing any more."""
        if self._wanted.pop(start, None) is not None:
            self._changed.add(start)

    def finish(self, now: int) -> None:
        """Let time pass until *now*, the last call: every host's last stretch counts."""
        self.advance(now)
        self._settle()
        for host, state in enumerate(self._state):
            self._spent[state][host] += now - self._since[host]
            self._since[host] = now

    def of_nobody(self, state: int) -> Sequence[int]:
        """Ticks of each host in DOWN or UNLENT, once finished."""
        return self._spent[state]

    def of_tenant(self, tenant: int, state: int) -> Sequence[int]:
        """Ticks of each host in one of the other states for a tenant, once finished."""
        return self._spent[_OF_NOBODY + len(STATES) * tenant + state]

    def _settle(self) -> None:
        """Work out the states of hosts that something happened to; loops on purpose: time goes here."""
        if self._changed:
            self._apply_claims()
        now, spent, states, since = self.now, self._spent, self._state, self._since
        busy, down, lent = self._busy, self._down, self._lent
        claims_on, applied = self._claims_on, self._applied
        step = len(STATES)
        for first, last in self._touched:
            if last - first >= _WORTH_A_LOOK and self._settle_alike(first, last + 1):
                continue
            for host in range(first, last + 1):
                if busy[host]:
                    state = _OF_NOBODY + step * (busy[host] - 1) + BUSY
                elif down[host]:
                    state = DOWN
                elif claims_on and host in claims_on:
                    claims = claims_on[host]
                    if len(claims) == 1:
                        [start] = claims
                        state = applied[start][1]
                    else:  # of starts in one state, that of the highest rank
                        state = min([applied[start] for start in claims])[1]
                elif lent[host]:
                    state = _OF_NOBODY + step * (lent[host].bit_length() - 1) + IDLE
                else:
                    state = UNLENT
                old = states[host]
                if state != old:
                    spent[old][host] += now - since[host]
                    since[host] = now
                    states[host] = state
        self._touched.clear()

    def _settle_alike(self, first: int, stop: int) -> bool:
        """What the loop of ``_settle`` does, for hosts that all go from one state to another; else False."""
        many, busy = stop - first, self._busy[first:stop]
        tenant = busy[0] - 1
        if busy.count(tenant + 1) != many:
            return False
        if tenant >= 0:
            state = _OF_NOBODY + len(STATES) * tenant + BUSY
        else:
            lent = self._lent[first:stop]
            if lent.count(lent[0]) != many or self._down.find(1, first, stop) >= 0:
                return False
            if not self._claims_on.keys().isdisjoint(range(first, stop)):
                return False
            state = _OF_NOBODY + len(STATES) * (lent[0].bit_length() - 1) + IDLE if lent[0] else UNLENT
        states, since, now = self._state, self._since, self.now
        old = states[first]
        if states[first:stop].count(old) != many:
            return False
        if old != state:
            spent = self._spent[old]
            for host in range(first, stop):
                spent[host] += now - since[host]
            since[first:stop] = [now] * many
            states[first:stop] = [state] * many
        return True

    def _apply_claims(self) -> None:
        for start in sorted(self._changed):
            old, new = self._applied.pop(start, None), self._wanted.get(start)
            if old is not None:
                for host in ids(old[2]):
                    self._claims_on[host].discard(start)
                    if not self._claims_on[host]:
                        del self._claims_on[host]
                self._touched += old[2]
            if new is not None:
                self._applied[start] = new
                for host in ids(new[2]):
                    self._claims_on.setdefault(host, set()).add(start)
                self._touched += new[2]
        self._changed.clear()


def compute_part(hosts: HostSet, nb_compute: int) -> HostSet:
    """Those of *hosts* that are compute hosts."""
    if hosts and hosts[-1][1] >= nb_compute:
        return intersection(hosts, ((0, nb_compute - 1),)) if nb_compute else ()
    return hosts
