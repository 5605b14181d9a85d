"""The truth about hosts: which exist, which are occupied, which are away."""

from __future__ import annotations

from collections.abc import Iterable

from batpy.platforms.platform import Platform
from batpy.protocol import hostset
from batpy.protocol.hostset import HostSet


class Park:
    """Occupancy of every numbered host, one byte a host.

    Args:
        platform: the hosts.
        compute_sharing, storage_sharing: whether several jobs may occupy one host of that kind.
    """

    def __init__(self, platform: Platform, *, compute_sharing: bool, storage_sharing: bool) -> None:
        self._hosts = platform.hosts
        self.nb_compute = len(platform.compute)
        self.size = len(platform.hosts)
        self._occupied = bytearray(self.size)
        self._away = bytearray(self.size)
        # Hosts that sleep or are being switched, and the number of these and of the unavailable ones.
        self._asleep = bytearray(self.size)
        self._nb_away = 0
        self._ones = bytes([1]) * self.size
        self._zeros = bytes(self.size)
        self._shared_from = 0 if compute_sharing else self.nb_compute
        self._shared_to = self.size if storage_sharing else self.nb_compute
        self._may_share = self._shared_from < self._shared_to
        # Jobs on each host; only kept where several are possible.
        self._jobs_on = [0] * self.size if self._may_share else []

    def cores(self, hosts: Iterable[int]) -> list[int]:
        """Number of cores of each of these hosts."""
        return [self._hosts[host].cores for host in hosts]

    def missing(self, hosts: HostSet) -> str | None:
        """Which of *hosts* does not exist, or None. *hosts* is canonical and not empty."""
        if hosts[-1][1] < self.size:
            return None
        return f"host {hosts[-1][1]} does not exist; the platform has hosts 0-{self.size - 1}"

    def why_not(self, hosts: HostSet) -> str | None:
        """The rule that forbids occupying *hosts* now, or None. *hosts* is canonical and not empty."""
        if hosts[-1][1] >= self.size:
            return self.missing(hosts)
        if self._nb_away:
            away = [h for a, b in hosts for h in range(a, b + 1) if self._away[h]]
            if away:
                return f"hosts {hostset.to_text(hostset.from_ids(away))} are unavailable"
            away = [h for a, b in hosts for h in range(a, b + 1) if self._asleep[h]]
            if away:
                return f"hosts {hostset.to_text(hostset.from_ids(away))} sleep or are being switched"
        find = self._occupied.find
        for first, last in hosts:
            if find(1, first, last + 1) >= 0:
                taken = self._exclusive_and_taken(hosts)
                if taken:
                    return f"hosts {hostset.to_text(taken)} already run a job and are not shared"
                break
        return None

    def _exclusive_and_taken(self, hosts: HostSet) -> HostSet:
        taken = [h for h in hostset.ids(hosts) if self._occupied[h] and not self._shares(h)]
        return hostset.from_ids(taken)

    def _shares(self, host: int) -> bool:
        return self._shared_from <= host < self._shared_to

    def occupy(self, hosts: HostSet) -> None:
        """Put a job on *hosts*, which ``why_not`` has allowed."""
        occupied, ones = self._occupied, self._ones
        for first, last in hosts:
            occupied[first : last + 1] = ones[first : last + 1]
        if self._may_share:
            for host in hostset.ids(hosts):
                self._jobs_on[host] += 1

    def leave(self, hosts: HostSet) -> None:
        """Take a job off *hosts*."""
        if not self._may_share:
            occupied, zeros = self._occupied, self._zeros
            for first, last in hosts:
                occupied[first : last + 1] = zeros[first : last + 1]
            return
        for host in hostset.ids(hosts):
            self._jobs_on[host] -= 1
            if not self._jobs_on[host]:
                self._occupied[host] = 0

    def why_not_change(self, hosts: HostSet, available: bool) -> str | None:
        """The rule that forbids hosts to leave or return now, or None."""
        if (missing := self.missing(hosts)) is not None:
            return missing
        wrong = [h for h in hostset.ids(hosts) if bool(self._away[h]) != available]
        if wrong:
            state = "are not unavailable" if available else "are already unavailable"
            return f"hosts {hostset.to_text(hostset.from_ids(wrong))} {state}"
        return None

    def change(self, hosts: HostSet, available: bool) -> None:
        """Hosts leave (jobs on them go on, as in Batsim) or return."""
        for host in hostset.ids(hosts):
            self._away[host] = not available
        self._nb_away += -hostset.size(hosts) if available else hostset.size(hosts)

    def sleep(self, hosts: Iterable[int], asleep: bool) -> None:
        """Hosts stop computing, since they sleep or are being switched, or compute again."""
        for host in hosts:
            self._nb_away += asleep - self._asleep[host]
            self._asleep[host] = asleep

    def is_occupied(self, host: int) -> bool:
        """True if a job holds the host."""
        return bool(self._occupied[host])

    def check(self, held: Iterable[HostSet]) -> None:
        """Recompute what is redundant from the hosts that each running job holds, and compare."""
        assert self._nb_away == sum(self._away) + sum(self._asleep)
        jobs_on = [0] * self.size
        for hosts in held:
            for host in hostset.ids(hosts):
                jobs_on[host] += 1
        assert bytes(map(bool, jobs_on)) == self._occupied, "hosts are occupied by no job, or not by theirs"
        assert not self._may_share or jobs_on == self._jobs_on
        crowded = [host for host, jobs in enumerate(jobs_on) if jobs > 1 and not self._shares(host)]
        assert not crowded, f"exclusive hosts {crowded} have several jobs"
