"""Which hosts were taken away, and when: what lay on them is lost, even if they are back since."""

from __future__ import annotations

from batpy.protocol import hostset
from batpy.protocol.hostset import HostSet
from batpy.schedulers.api import Job, View
from batpy.schedulers.bigdata.dag_remains import Losses


class LostHosts:
    """Follows the hosts that a broker takes back, or that become unavailable.

    A host counts as lost as long as it is away.
    """

    def __init__(self, view: View) -> None:
        told = {
            int(host["id"]): str(host.get("name", host["id"])) for host in view.greeting.compute_resources
        }
        self._names = told
        self._away: HostSet = ()
        self._since: dict[str, int] = {}

    def look(self, view: View) -> None:
        """Take in which hosts are away now."""
        if view.down != self._away:
            self._mark(view, hostset.union(self._away, view.down))
            self._away = view.down

    def of(self, view: View, job: Job) -> Losses:
        """The hosts of a job that was killed, and those lost since it started and since it was submitted."""
        self._mark(view, self._away)
        names = [self._name(host) for host in hostset.ids(job.hosts)]
        # A host that came back at the very date was lost before.
        taken = frozenset(name for name, date in self._since.items() if date > job.start)
        gone = frozenset(name for name, date in self._since.items() if date > job.submitted)
        return Losses(names, taken, gone)

    def _mark(self, view: View, hosts: HostSet) -> None:
        for host in hostset.ids(hosts):
            self._since[self._name(host)] = view.now

    def _name(self, host: int) -> str:
        return self._names.get(host, str(host))
