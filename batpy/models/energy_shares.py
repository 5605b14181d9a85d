"""Whose the joules of the hosts are: every joule belongs to one job or to one kind of rest.

Batsim 4.2.1 charges a job with all that its hosts draw, so hosts that several jobs share count once for each
(its issue 65). Here they count once. Up to its idle watts, what a host draws is split equally among the jobs
that hold it; what it draws above them is split by the load that each job puts on it, which a job with an
additional I/O job may do on hosts of others too. What a host draws that no job holds is rest: idle, sleeping,
or switching on or off.

Pieces of time and their watts are those of the model of energy, whatever they are, so that the shares of all
jobs and the rest are all joules of all hosts, but for float noise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from batpy.models.sharing.task import Date, between

IDLE, SLEEPING, SWITCHING = range(3)

Loads = Mapping[str, float]
"""Job to the flops a second that it does on a host."""


class EnergyShares:
    """Accounts of jobs and of the rest.

    Args:
        watts: of each host, without load.
        kinds: what each host does without a job: ``IDLE``, ``SLEEPING`` or ``SWITCHING``.
        ticks_per_second: resolution of the dates.

    Attributes:
        rest: joules of hosts without a job, by kind.
        of_jobs: joules of the jobs that are over.
    """

    def __init__(self, watts: Sequence[float], kinds: Sequence[int], ticks_per_second: float) -> None:
        self._scale = ticks_per_second
        # Watts up to those of an idle host, and those above.
        self._base = list(watts)
        self._above = [0.0] * len(watts)
        self._kind = list(kinds)
        self._since: list[Date] = [(0, 0.0)] * len(watts)
        self._holders: list[tuple[str, ...]] = [()] * len(watts)
        # None where one job has all of the load.
        self._loads: list[Loads | None] = [None] * len(watts)
        self._outside: set[int] = set()
        self._spent: dict[str, float] = {}
        self.rest = [0.0, 0.0, 0.0]
        self.of_jobs = 0.0

    def is_split(self, host: int) -> bool:
        """True if it has to be known which job puts how much load on a host."""
        return len(self._holders[host]) != 1 or host in self._outside

    def open(self, date: Date, job: str, hosts: Iterable[int], others: Iterable[int] = ()) -> None:
        """A job takes its hosts, and puts load on *others* too."""
        self._spent[job] = 0.0
        self._outside.update(others)
        holders = self._holders
        for host in hosts:
            self._book(date, host)
            holders[host] = (*holders[host], job)

    def close(self, date: Date, job: str, hosts: Iterable[int], others: Iterable[int] = ()) -> float:
        """A job leaves its hosts; returns its joules."""
        holders = self._holders
        for host in others:
            self._book(date, host)
        for host in hosts:
            self._book(date, host)
            present = holders[host]
            holders[host] = () if len(present) == 1 else tuple([other for other in present if other != job])
        spent = self._spent.pop(job)
        self.of_jobs += spent
        return spent

    def change(self, date: Date, host: int, idle: float, watts: float, kind: int) -> None:
        """A host draws other watts from *date* on, *idle* of them even if it did nothing."""
        self._book(date, host)
        self._base[host] = base = min(idle, watts)
        self._above[host] = watts - base
        self._kind[host] = kind

    def is_weighed(self, host: int) -> bool:
        """True if loads were given for a host."""
        return self._loads[host] is not None

    def weigh(self, date: Date, host: int, loads: Loads | None) -> None:
        """The loads that count on a host from *date* on; None if one job has all of it."""
        self._book(date, host)
        self._loads[host] = loads

    def running(self, date: Date) -> float:
        """Joules of the jobs that are not over; afterwards ``rest`` is true at *date* too."""
        for host in range(len(self._base)):
            self._book(date, host)
        return sum(self._spent.values())

    def _book(self, date: Date, host: int) -> None:
        since = self._since[host]
        if date == since:
            return
        self._since[host] = date
        seconds = between(since, date) / self._scale
        holders, loads = self._holders[host], self._loads[host]
        if not holders and (loads is None or self._kind[host] != IDLE):
            self.rest[self._kind[host]] += (self._base[host] + self._above[host]) * seconds
        elif loads is None and len(holders) == 1:
            self._spent[holders[0]] += (self._base[host] + self._above[host]) * seconds
        else:
            self._split(host, seconds, loads or {})

    def _split(self, host: int, seconds: float, loads: Loads) -> None:
        spent, holders = self._spent, self._holders[host]
        base, above = self._base[host] * seconds, self._above[host] * seconds
        # A job that left in between has its joules already.
        users = {job: load for job, load in loads.items() if job in spent and load > 0}
        total = sum(users.values())
        for job, load in users.items():
            spent[job] += above * (load / total)
        if not users:
            base += above
        for job in holders:
            spent[job] += base / len(holders)
        if not holders:
            self.rest[self._kind[host]] += base
