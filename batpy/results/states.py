"""How many compute hosts are idle, computing or away, and for how long.

Counting needs no look at single hosts as long as nothing is shared and nothing is unavailable: a start or an
end moves the size of its allocation from one count to another. Hosts are looked at one by one only when jobs
may share them. Storage hosts are not counted, as in Batsim's ``machine_states.csv``.

Rules (Batsim 4.2.1): an unavailable host is in no column, even while a job runs on to its end there; when it
returns it is computing if a job still runs there, else idle.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from batpy.protocol import hostset
from batpy.protocol.hostset import HostSet

# Ends that are remembered before the date of each host's last change is worked out.
REMEMBERED = 4096

SLEEPING, SWITCHING_ON, SWITCHING_OFF = "sleeping", "switching_on", "switching_off"
ASLEEP = (SLEEPING, SWITCHING_ON, SWITCHING_OFF)


class Areas(NamedTuple):
    """Host-time by state, in host-ticks."""

    idle: int
    computing: int
    unavailable: int
    sleeping: int = 0
    switching_on: int = 0
    switching_off: int = 0


class HostStates:
    """Counts of compute hosts by state, and their integrals over time.

    Attributes:
        hosts: number of compute hosts.
        idle, computing: available hosts without and with a job.
        draining: unavailable hosts on which a job still runs.
        unavailable: the unavailable hosts.
        asleep: hosts that sleep or are being switched, by kind (``SLEEPING``, ``SWITCHING_ON``,
            ``SWITCHING_OFF``); ``nb_asleep`` counts those of each kind that are available.
        time: tick of the last change.
        shared: several jobs may share a host.
        lost_steps: (tick, hosts that are unavailable and without a job) at each change of that number.
        busy_steps: (tick, hosts with a job) at each change, kept only if asked for and hosts may be shared
            (else the jobs alone say it).
    """

    __slots__ = (
        "_asleep_moment",
        "_away_moment",
        "_computing_moment",
        "_draining_moment",
        "_jobs_on",
        "_keep_busy_steps",
        "_last",
        "_most_touched",
        "_plain",
        "_touched",
        "asleep",
        "busy_steps",
        "computing",
        "draining",
        "hosts",
        "idle",
        "lost_steps",
        "nb_asleep",
        "shared",
        "time",
        "unavailable",
    )

    def __init__(self, hosts: int, *, sharing: bool, keep_busy_steps: bool = False) -> None:
        self.hosts = hosts
        self.idle = hosts
        self.computing = 0
        self.draining = 0
        self.unavailable: HostSet = hostset.EMPTY
        self.asleep: dict[str, HostSet] = dict.fromkeys(ASLEEP, hostset.EMPTY)
        self.nb_asleep: dict[str, int] = dict.fromkeys(ASLEEP, 0)
        self._asleep_moment: dict[str, int] = dict.fromkeys(ASLEEP, 0)
        self.time = 0
        self.shared = sharing
        self.lost_steps: list[tuple[int, int]] = []
        self.busy_steps: list[tuple[int, int]] = []
        # Sums of (change of a count) x (its tick): count x time - moment is the integral of the count, so
        # that nothing has to be added up at dates when it does not change.
        self._computing_moment = 0
        self._draining_moment = 0
        self._away_moment = 0
        self._keep_busy_steps = keep_busy_steps and sharing
        self._jobs_on = [0] * hosts if sharing else None
        # Nothing is shared and nothing is away, so that every host is either idle or computing.
        self._plain = not sharing
        self._touched: list[tuple[int, HostSet]] = []
        self._most_touched = max(REMEMBERED, hosts)
        self._last = [0] * hosts

    def advance(self, time: int) -> None:
        """Nothing changes until *time*."""
        self.time = time

    def start(self, time: int, alloc: HostSet) -> int:
        """A job takes its hosts; returns how many of them are compute hosts."""
        self.time = time
        if self._plain and alloc and alloc[-1][1] < self.hosts:
            if len(alloc) == 1:
                first, last = alloc[0]
                size = last - first + 1
            else:
                size = hostset.size(alloc)
            self.idle -= size
            self.computing += size
            self._computing_moment += size * time
            return size
        hosts = self._compute_part(alloc)
        taken = self._newly_taken(hosts)
        self._occupy(taken, 1)
        if self.shared:
            # A host may have begun to compute for another job than the one that runs on it at the end.
            self._touch(hostset.difference(taken, self.unavailable))
        return hostset.size(hosts)

    def end(self, time: int, alloc: HostSet, size: int) -> None:
        """A job leaves its hosts; *size* is what its ``start`` returned."""
        self.time = time
        if self._plain and alloc and alloc[-1][1] < self.hosts:
            self.idle += size
            self.computing -= size
            self._computing_moment -= size * time
            touched = self._touched
            touched.append((time, alloc))
            if len(touched) > self._most_touched:
                self._sweep()
            return
        freed = self._newly_free(self._compute_part(alloc))
        self._occupy(freed, -1)
        self._touch(hostset.difference(freed, self.unavailable))

    def change(self, time: int, hosts: HostSet, available: bool, running: Iterable[HostSet]) -> None:
        """Hosts leave or return; *running* are the allocations of the jobs that run now."""
        self.time = time
        hosts = self._compute_part(hosts)
        if available:
            hosts = hostset.intersection(hosts, self.unavailable)
            self.unavailable = hostset.difference(self.unavailable, hosts)
        else:
            hosts = hostset.difference(hosts, self.unavailable)
            self.unavailable = hostset.union(self.unavailable, hosts)
        used = hostset.normalise(pair for alloc in running for pair in hostset.intersection(hosts, alloc))
        busy, free = hostset.size(used), hostset.size(hosts) - hostset.size(used)
        sign = 1 if available else -1
        for kind, asleep in self.asleep.items():
            if asleep:
                count = hostset.size(hostset.intersection(asleep, hosts))
                self._change_asleep(kind, sign * count)
                free -= count
        self._move(sign * free, sign * busy, -sign * busy)
        self._plain = not self.unavailable and self._jobs_on is None
        self._touch(hosts)
        self._note()

    def set_asleep(self, time: int, hosts: HostSet, kind: str | None) -> None:
        """Hosts without a job now sleep or are being switched (*kind*), or are awake (None)."""
        self.time = time
        hosts = self._compute_part(hosts)
        if not hosts:
            return
        present = hostset.difference(hosts, self.unavailable) if self.unavailable else hosts
        for old, asleep in self.asleep.items():
            if asleep:
                count = hostset.size(hostset.intersection(asleep, present))
                self._change_asleep(old, -count)
                self._move(count, 0, 0)
                self.asleep[old] = hostset.difference(asleep, hosts)
        if kind is not None:
            count = hostset.size(present)
            self._move(-count, 0, 0)
            self._change_asleep(kind, count)
            self.asleep[kind] = hostset.union(self.asleep[kind], hosts)
        self._touch(present)

    def _change_asleep(self, kind: str, count: int) -> None:
        self.nb_asleep[kind] += count
        self._asleep_moment[kind] += count * self.time

    def areas(self) -> Areas:
        """Host-ticks by state from 0 to ``time``."""
        time = self.time
        computing = self.computing * time - self._computing_moment
        away = (self.hosts - self.idle - self.computing) * time - self._away_moment
        lost = [self.nb_asleep[kind] * time - self._asleep_moment[kind] for kind in ASLEEP]
        return Areas(self.hosts * time - computing - away, computing, away - sum(lost), *lost)

    @property
    def busy_area(self) -> int:
        """Host-ticks with a job, on available and on unavailable hosts."""
        draining = self.draining * self.time - self._draining_moment
        return self.areas().computing + draining

    def areas_until_last_changes(self, running: Iterable[tuple[int, HostSet]]) -> Areas:
        """Host-ticks by state where each host counts until its own last change of state.

        This is what Batsim prints: the stretch between the last change of a host and the end of the run is
        missing there, and a host that was never used does not count at all.

        Args:
            running: start tick and allocation of the jobs that still run (none at the end of a whole run).
        """
        self._sweep()
        last, now = list(self._last), self.time
        busy = bytearray(self.hosts)
        for start, alloc in running:
            for host in hostset.ids(self._compute_part(alloc)):
                busy[host] = 1
                if not self.shared:
                    last[host] = max(last[host], start)
        away = bytearray(self.hosts)
        for host in hostset.ids(self.unavailable):
            away[host] = 1
        idle, computing, unavailable, *lost = self.areas()
        kind_of = {host: i for i, kind in enumerate(ASLEEP) for host in hostset.ids(self.asleep[kind])}
        for host, date in enumerate(last):
            tail = now - date
            if away[host]:
                unavailable -= tail
            elif busy[host]:
                computing -= tail
            elif host in kind_of:
                lost[kind_of[host]] -= tail
            else:
                idle -= tail
        return Areas(idle, computing, unavailable, *lost)

    def _compute_part(self, hosts: HostSet) -> HostSet:
        if hosts and hosts[-1][1] >= self.hosts:
            return hostset.intersection(hosts, ((0, self.hosts - 1),)) if self.hosts else hostset.EMPTY
        return hosts

    def _newly_taken(self, hosts: HostSet) -> HostSet:
        jobs_on = self._jobs_on
        if jobs_on is None:
            return hosts
        taken = []
        for host in hostset.ids(hosts):
            if jobs_on[host] == 0:
                taken.append(host)
            jobs_on[host] += 1
        return hostset.from_ids(taken)

    def _newly_free(self, hosts: HostSet) -> HostSet:
        jobs_on = self._jobs_on
        if jobs_on is None:
            return hosts
        freed = []
        for host in hostset.ids(hosts):
            jobs_on[host] -= 1
            if jobs_on[host] == 0:
                freed.append(host)
        return hostset.from_ids(freed)

    def _occupy(self, hosts: HostSet, sign: int) -> None:
        """Jobs came to (+1) or left (-1) hosts that were free of jobs before (are free of jobs now)."""
        away = hostset.size(hostset.intersection(hosts, self.unavailable)) if self.unavailable else 0
        moved = sign * (hostset.size(hosts) - away)
        self._move(-moved, moved, sign * away)
        self._note()

    def _move(self, idle: int, computing: int, draining: int) -> None:
        """Change the counts at ``time`` by so many hosts."""
        self.idle += idle
        self.computing += computing
        self.draining += draining
        self._computing_moment += computing * self.time
        self._draining_moment += draining * self.time
        self._away_moment -= (idle + computing) * self.time

    def _note(self) -> None:
        lost = self.hosts - self.idle - self.computing - self.draining - sum(self.nb_asleep.values())
        if lost != (self.lost_steps[-1][1] if self.lost_steps else 0):
            self.lost_steps.append((self.time, lost))
        if self._keep_busy_steps:
            self.busy_steps.append((self.time, self.computing + self.draining))

    def _touch(self, hosts: HostSet) -> None:
        self._touched.append((self.time, hosts))
        if len(self._touched) > self._most_touched:
            self._sweep()

    def _sweep(self) -> None:
        """Work out the last change of each host, newest first, until every host is found or none is left.

        Done once in many ends, it costs almost nothing a job: a busy park is covered by its latest ends.
        """
        seen, unseen, last = bytearray(self.hosts), self.hosts, self._last
        for time, hosts in reversed(self._touched):
            if not unseen:
                break
            for first, final in hosts:
                length = final - first + 1
                new = seen.count(0, first, final + 1)
                if new == length:
                    last[first : final + 1] = [time] * length
                elif new:
                    for host in range(first, final + 1):
                        if not seen[host]:
                            last[host] = time
                seen[first : final + 1] = b"\1" * length
                unseen -= new
        self._touched.clear()
