"""Profiles: what a job does once it runs. Typed, validated once, the user's object kept beside.

Names, parameters and defaults follow Batsim 4.2.1; older names are translated here and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from batpy.base.errors import InputError
from batpy.workloads.seconds import MAX_INTEGER, MAX_NUMBER, number_problem, seconds_problem

if TYPE_CHECKING:
    from batpy.workloads.stages.dag import Dag


class Profile(msgspec.Struct, frozen=True):
    """Common part of every profile.

    Attributes:
        name: unique in its workload.
        ret: return code of the job that runs it to its end; above 0 the job has failed.
        raw: the object as the user wrote it, extra fields kept.
    """

    name: str
    ret: int
    raw: Mapping[str, Any]


class Delay(Profile, frozen=True):
    """Occupies hosts for ``delay`` seconds (0 is allowed: starts and ends at once)."""

    delay: float


class Composed(Profile, frozen=True):
    """Runs ``seq`` in order, ``repeat`` times; names are resolved when the job starts."""

    seq: tuple[str, ...]
    repeat: int


class Computing(Profile, frozen=True, kw_only=True):
    """Common part of parallel tasks whose executors compute.

    Batsim 4.2.1 knows neither field: there an executor keeps one core busy.

    Attributes:
        cores_per_executor: cores that share the flops of one executor.
        utilization: share of its host's cores that an executor keeps busy, each of them computing the flops
            of the executor, as in usage traces (oar-team/batsim#72 and #73); None for one core.
    """

    cores_per_executor: float = 1.0
    utilization: float | None = None


class Parallel(Computing, frozen=True):
    """One parallel task: flops per executor, and bytes from executor i to j at ``com[i * n + j]``."""

    cpu: tuple[float, ...]
    com: tuple[float, ...]


class ParallelHomogeneous(Computing, frozen=True):
    """Each executor computes ``cpu`` flops, each ordered pair of executors exchanges ``com`` bytes."""

    cpu: float
    com: float


class ParallelHomogeneousTotal(Computing, frozen=True):
    """As above with ``cpu / n`` flops and ``com / n`` bytes for n executors; any allocation size is legal."""

    cpu: float
    com: float


class ParallelHomogeneousPfs(Profile, frozen=True):
    """Each executor reads from and writes to one storage host, in bytes."""

    bytes_to_read: float
    bytes_to_write: float
    storage: str


class LegacyPfs(Profile, frozen=True):
    """Batsim 1.x and 2.0 ``msg_par_hg_pfs0`` and ``msg_par_hg_pfs_tiers``: ``size`` bytes per executor."""

    size: float
    to_storage: bool
    host: str


class DataStaging(Profile, frozen=True):
    """One flow of ``nb_bytes`` between two storage hosts."""

    nb_bytes: float
    source: str
    target: str


class Smpi(Profile, frozen=True):
    """Replay of a time-independent MPI trace."""

    trace: str


UsagePhase = tuple[float, float]
"""Share of a host's cores that are busy, and the flops that each of them computes."""


class UsageTrace(Profile, frozen=True):
    """Replay of CPU usage traces, one file a rank.

    Attributes:
        ranks: phases of each rank; empty until the traces are read (``batpy.workloads.usage_trace``).
    """

    trace: str
    ranks: tuple[tuple[UsagePhase, ...], ...] = ()


class Send(Profile, frozen=True):
    """Sends ``msg`` to the scheduler, then sleeps ``sleeptime`` seconds."""

    msg: Mapping[str, Any]
    sleeptime: float


class Recv(Profile, frozen=True):
    """Waits for a message of the scheduler and runs another profile depending on it.

    Attributes:
        regex: of Python, for the whole text. One that repeats a repetition, such as ``(a+)+$``, takes time
            exponential in the length of some texts, and the simulator waits for it: who writes the workload
            answers for it, as nothing here bounds it.
    """

    regex: str
    success: str
    failure: str
    timeout: str
    polltime: float


class StageDag(Profile, frozen=True, eq=False):
    """A Big Data application as a graph of stages (an extension: ``batpy.workloads.stages.dag``)."""

    dag: Dag


PARALLEL_TASKS: tuple[type[Profile], ...] = (
    Parallel,
    ParallelHomogeneous,
    ParallelHomogeneousTotal,
    ParallelHomogeneousPfs,
    LegacyPfs,
    DataStaging,
)
"""Types whose work shares hosts and links with that of others."""

OLD_NAMES = {
    "msg_par": "parallel",
    "msg_par_hg": "parallel_homogeneous",
    "msg_par_hg_tot": "parallel_homogeneous_total",
    "msg_par_hg_pfs": "parallel_homogeneous_pfs",
    # In no Batsim release; taken as what its name says, the same total work over any number of hosts.
    "msg_par_spread": "parallel_homogeneous_total",
}


class _Fields:
    """Typed access to one profile object; every complaint names the field's path."""

    def __init__(self, raw: Mapping[str, Any], path: str, source: str | None) -> None:
        self.raw = raw
        self.path = path
        self.source = source

    def fail(self, field: str, problem: str) -> InputError:
        return InputError(problem, source=self.source, path=f"{self.path}.{field}" if field else self.path)

    def number(self, field: str, default: float | None = None, *, above: float | None = None) -> float:
        value = self.raw.get(field, default)
        if problem := number_problem(value):
            raise self.fail(field, problem)
        assert value is not None  # else it is a problem
        if value < 0 or (above is not None and value <= above):
            raise self.fail(field, f"must be {'above' if above is not None else 'at least'} 0, got {value!r}")
        number: float = value
        return number

    def seconds(self, field: str, default: float | None = None, *, above: float | None = None) -> float:
        """A duration."""
        value = self.number(field, default, above=above)
        if problem := seconds_problem(value):
            raise self.fail(field, problem)
        return value

    def text(self, field: str, default: str | None = None) -> str:
        value = self.raw.get(field, default)
        if not isinstance(value, str):
            raise self.fail(
                field, "missing; a text is required" if value is None else f"must be a text, got {value!r}"
            )
        return value

    def integer(self, field: str, default: int, minimum: int) -> int:
        value = self.raw.get(field, default)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
            raise self.fail(field, f"must be an integer of at least {minimum}, got {value!r}")
        if value > MAX_INTEGER:
            raise self.fail(field, f"must be at most {MAX_INTEGER}")
        return value

    def vector(self, field: str) -> tuple[float, ...]:
        value = self.raw.get(field)
        if not isinstance(value, list):
            raise self.fail(
                field, "missing; a list of numbers is required" if value is None else "must be a list"
            )
        for index, item in enumerate(value):
            if isinstance(item, bool) or not isinstance(item, (int, float)) or not 0 <= item <= MAX_NUMBER:
                raise self.fail(f"{field}[{index}]", _wrong_item(item))
        return tuple(value)

    def names(self, field: str) -> tuple[str, ...]:
        value = self.raw.get(field)
        if not isinstance(value, list) or not value or not all(isinstance(name, str) for name in value):
            raise self.fail(field, "must be a non-empty list of profile names")
        return tuple(value)


def _wrong_item(item: object) -> str:
    if problem := number_problem(item):
        return problem
    return f"must be a finite number of at least 0, got {item!r}"


def parse_profile(name: str, raw: object, *, path: str | None = None, source: str | None = None) -> Profile:
    """Turn a user's profile object into a typed profile.

    Args:
        name: its name in the workload.
        raw: the object as read from JSON.
        path: path of the object, for complaints.
        source: file the object came from, for complaints.

    Raises:
        InputError: unknown type, missing or malformed field, or a negative ``ret`` (Batsim uses negative
            codes for walltime and kill).
    """
    path = path if path is not None else f"profiles.{name}"
    if not isinstance(raw, Mapping):
        raise InputError(f"must be an object, got {type(raw).__name__}", source=source, path=path)
    fields = _Fields(raw, path, source)
    kind = fields.text("type")
    kind = OLD_NAMES.get(kind, kind)
    ret = fields.integer("ret", 0, 0)
    build = _BUILDERS.get(kind)
    if build is None:
        known = ", ".join(sorted(_BUILDERS))
        raise fields.fail("type", f"unknown profile type {kind!r}; known: {known}")
    return build(name, ret, fields)


def _delay(name: str, ret: int, fields: _Fields) -> Profile:
    return Delay(name, ret, fields.raw, fields.seconds("delay"))


def _composed(name: str, ret: int, fields: _Fields) -> Profile:
    # ``nb`` is the name of ``repeat`` up to Batsim 2.0.
    repeat = fields.integer("nb" if "nb" in fields.raw and "repeat" not in fields.raw else "repeat", 1, 1)
    return Composed(name, ret, fields.raw, fields.names("seq"), repeat)


def _parallel(name: str, ret: int, fields: _Fields) -> Profile:
    cpu, com = fields.vector("cpu"), fields.vector("com")
    if len(com) not in (0, len(cpu) ** 2):
        raise fields.fail(
            "com", f"must have {len(cpu)}*{len(cpu)} numbers, one for each pair of cpu, got {len(com)}"
        )
    return Parallel(name, ret, fields.raw, cpu, com, **_cores(fields))


def _cores(fields: _Fields) -> dict[str, float]:
    """How many cores an executor uses, where the user says it."""
    raw = fields.raw
    if "utilization" not in raw and "cores_per_executor" not in raw:
        return {}
    if "utilization" not in raw:
        return {"cores_per_executor": fields.number("cores_per_executor", above=0)}
    if "cores_per_executor" in raw:
        raise fields.fail("utilization", "cannot be given together with cores_per_executor")
    utilization = fields.number("utilization")
    if utilization > 1:
        raise fields.fail("utilization", f"must be at most 1, got {utilization!r}")
    return {"utilization": utilization}


def _homogeneous(name: str, ret: int, fields: _Fields) -> Profile:
    cpu, com = fields.number("cpu"), fields.number("com")
    return ParallelHomogeneous(name, ret, fields.raw, cpu, com, **_cores(fields))


def _total(name: str, ret: int, fields: _Fields) -> Profile:
    cpu, com = fields.number("cpu"), fields.number("com")
    return ParallelHomogeneousTotal(name, ret, fields.raw, cpu, com, **_cores(fields))


def _pfs(name: str, ret: int, fields: _Fields) -> Profile:
    if "bytes_to_read" not in fields.raw and "bytes_to_write" not in fields.raw:
        raise fields.fail("", "needs bytes_to_read or bytes_to_write")
    storage = fields.text(
        "host" if "host" in fields.raw and "storage" not in fields.raw else "storage", "pfs"
    )
    read, write = fields.number("bytes_to_read", 0), fields.number("bytes_to_write", 0)
    return ParallelHomogeneousPfs(name, ret, fields.raw, read, write, storage)


def _legacy_pfs(name: str, ret: int, fields: _Fields) -> Profile:
    direction = fields.text("direction", "to_storage")
    if direction not in ("to_storage", "from_storage"):
        raise fields.fail("direction", f"must be to_storage or from_storage, got {direction!r}")
    host = fields.text("host", "PFS")
    if host not in ("PFS", "LCST", "HPST"):
        raise fields.fail("host", f"must be PFS, LCST or HPST, got {host!r}")
    return LegacyPfs(name, ret, fields.raw, fields.number("size"), direction == "to_storage", host)


def _staging(name: str, ret: int, fields: _Fields) -> Profile:
    if "direction" in fields.raw:
        directions = {"hpst_to_lcst": ("HPST", "LCST"), "lcst_to_hpst": ("LCST", "HPST")}
        direction = fields.text("direction")
        if direction not in directions:
            raise fields.fail("direction", f"must be one of {', '.join(directions)}, got {direction!r}")
        source, target = directions[direction]
        return DataStaging(name, ret, fields.raw, fields.number("size"), source, target)
    return DataStaging(
        name, ret, fields.raw, fields.number("nb_bytes"), fields.text("from"), fields.text("to")
    )


def _smpi(name: str, ret: int, fields: _Fields) -> Profile:
    return Smpi(name, ret, fields.raw, fields.text("trace"))


def _usage(name: str, ret: int, fields: _Fields) -> Profile:
    return UsageTrace(name, ret, fields.raw, fields.text("trace"))


def _send(name: str, ret: int, fields: _Fields) -> Profile:
    message = fields.raw.get("msg")
    if not isinstance(message, Mapping):
        raise fields.fail("msg", "must be an object")
    return Send(name, ret, fields.raw, message, fields.seconds("sleeptime", 1e-7, above=0))


def _recv(name: str, ret: int, fields: _Fields) -> Profile:
    regex = fields.text("regex", ".*")
    try:
        re.compile(regex)
    except re.error as why:
        raise fields.fail("regex", f"not a regular expression: {why}") from None
    success, failure, timeout = (fields.text(key, "") for key in ("success", "failure", "timeout"))
    poll = fields.seconds("polltime", 0.005, above=0)
    return Recv(name, ret, fields.raw, regex, success, failure, timeout, poll)


def _stage_dag(name: str, ret: int, fields: _Fields) -> Profile:
    from batpy.workloads.stages.dag import parse_dag  # few workloads hold one

    return StageDag(name, ret, fields.raw, parse_dag(fields.raw, path=fields.path, source=fields.source))


_BUILDERS = {
    "delay": _delay,
    "composed": _composed,
    "parallel": _parallel,
    "parallel_homogeneous": _homogeneous,
    "parallel_homogeneous_total": _total,
    "parallel_homogeneous_pfs": _pfs,
    "msg_par_hg_pfs0": _legacy_pfs,
    "msg_par_hg_pfs_tiers": _legacy_pfs,
    "data_staging": _staging,
    "smpi": _smpi,
    "usage_trace": _usage,
    "send": _send,
    "recv": _recv,
    "stage_dag": _stage_dag,
}


def storage_labels(profile: Profile) -> tuple[str, ...]:
    """Labels of the storage hosts that a profile uses."""
    if isinstance(profile, ParallelHomogeneousPfs):
        return (profile.storage,)
    if isinstance(profile, LegacyPfs):
        return (profile.host,)
    if isinstance(profile, DataStaging):
        return (profile.source, profile.target)
    return ()


def takes_no_time(profile: Profile) -> bool:
    """True for a leaf that has nothing to do, whatever its hosts are."""
    if isinstance(profile, Delay):
        return profile.delay == 0
    if isinstance(profile, Parallel):
        return not any(profile.cpu) and not any(profile.com)
    return isinstance(profile, (ParallelHomogeneous, ParallelHomogeneousTotal)) and not (
        profile.cpu or profile.com
    )
