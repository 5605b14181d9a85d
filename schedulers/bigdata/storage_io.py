"""The data that a job reads and writes, moved by an additional I/O job beside it.

With a parallel file system (``pfs``) each host of a job moves its share of what a part reads
(``io_reads``) and writes (``io_writes``; bytes of the whole part) between itself and the one storage host,
while the part computes. Reads leave the storage host and writes reach it; pybatsim's ``schedBebida``, whose
``pfs`` variant this is, has them the other way round.
"""

from __future__ import annotations

from batpy.base.errors import InputError
from batpy.protocol.hostset import HostSet, size
from batpy.protocol.messages import IoJob, Json
from batpy.schedulers.api import Plan, View
from batpy.schedulers.bigdata.remains import ProfileTree, composed_object
from batpy.schedulers.bigdata.resubmission import Attempt, Registrar

# Batsim joins parallel tasks only.
_JOINABLE = frozenset(
    {
        *("parallel", "parallel_homogeneous", "parallel_homogeneous_total", "parallel_homogeneous_pfs"),
        *("msg_par", "msg_par_hg", "msg_par_hg_tot", "msg_par_spread", "msg_par_hg_pfs", "data_staging"),
    }
)


class PfsTraffic:
    """Makes the I/O jobs of one conversation; one profile for each part and number of hosts.

    Raises:
        InputError: there is not exactly one storage host.
    """

    def __init__(self, view: View, registrar: Registrar) -> None:
        count = len(view.greeting.storage_resources)
        if count != 1:
            raise InputError(f"variant=pfs needs a platform with exactly one storage host; there are {count}")
        self._registrar = registrar
        self._names: dict[tuple[str, str, int], str] = {}

    def io_job(self, plan: Plan, attempt: Attempt, hosts: HostSet) -> IoJob | None:
        """What goes along with an attempt on these hosts; None if it moves no data, or cannot be joined."""
        if not _moves_data(attempt.tree, {}):
            return None
        return IoJob(hosts, self._profile(plan, attempt.workload, attempt.tree, size(hosts), {}))

    def _profile(self, plan: Plan, workload: str, tree: ProfileTree, width: int, done: dict[int, str]) -> str:
        """Name of the I/O profile of a profile on *width* hosts, registered if it is new."""
        if id(tree) in done:
            return done[id(tree)]
        key = workload, str(tree.name), width
        name = self._names.get(key) if self._registrar.reuse else None
        if name is None:
            if tree.parts:
                parts = [self._profile(plan, workload, part, width, done) for part in tree.parts]
                raw = composed_object(ProfileTree(None, tree.base, {}, repeat=tree.repeat), parts)
            else:
                raw = _traffic(tree.raw, width)
            name = self._registrar.register_object(plan, workload, f"{tree.name}_io", raw)
            self._names[key] = name
        done[id(tree)] = name
        return name


def _bytes(raw: Json, field: str) -> float:
    value = raw.get(field, 0)
    return float(value) if isinstance(value, (int, float)) and value > 0 else 0.0


def _traffic(raw: Json, width: int) -> Json:
    return {
        "type": "parallel_homogeneous_pfs",
        "bytes_to_read": _bytes(raw, "io_reads") / width,
        "bytes_to_write": _bytes(raw, "io_writes") / width,
        "storage": "pfs",
    }


def _moves_data(tree: ProfileTree, known: dict[int, bool | None]) -> bool | None:
    """True if some part moves data, None if some part cannot have an I/O job beside it."""
    if not tree.parts:
        if tree.raw.get("type") not in _JOINABLE:
            return None
        return _bytes(tree.raw, "io_reads") > 0 or _bytes(tree.raw, "io_writes") > 0
    if id(tree) not in known:
        found = [_moves_data(part, known) for part in tree.parts]
        known[id(tree)] = None if None in found else any(found)
    return known[id(tree)]
