"""The shapes of Batsim's JSON events: one data object a word, and how it becomes one of our classes.

Most shapes follow from the class: same names, same order, sets of hosts as text, optional members left out
when None. The exceptions stand here by name. Members that we do not know are ignored on reading.

Source: Batsim 4.2.1 (names and structure); 1.x and 2.x for the older forms, on reading only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, cast

import msgspec
from msgspec.structs import astuple

from batpy.base.dates import nearest_tick
from batpy.protocol import messages as m
from batpy.protocol import vocabulary as v
from batpy.protocol.forms import MAX_TICK, FormError, is_int_text, read_hosts
from batpy.protocol.hostset import HostSet, to_text
from batpy.protocol.messages import Json

# Finite by construction: JSON has no word for infinity and msgspec refuses numbers out of range.
Seconds = Annotated[float, msgspec.Meta(ge=0)]
Reader = Callable[[int, Any, int], m.Event | None]
Writer = Callable[[Any, int], Any]


def to_ticks(path: str, seconds: float, ticks_per_second: int) -> int:
    """Nearest tick of a date in seconds."""
    exact = seconds * ticks_per_second
    if exact > MAX_TICK:
        raise FormError(path, f"{seconds!r} s is out of range")
    return nearest_tick(seconds, ticks_per_second)


# --------------------------------------------------------------------------- shapes as in the class


class IoJobData(msgspec.Struct, omit_defaults=True):
    """``additional_io_job`` of EXECUTE_JOB."""

    alloc: str
    profile_name: str
    profile: Json | None = None


_TYPES: dict[Any, Any] = {
    HostSet: str,
    HostSet | None: str | None,
    m.IoJob | None: IoJobData | None,
}
# Members that are not named or typed as in the class: (name on the wire, type on the wire).
_MEMBERS: dict[tuple[type[m.Event], str], tuple[str, Any]] = {
    (m.CallMeLater, "at"): ("timestamp", Seconds),
    (m.SetResourceState, "state"): ("state", str),
    (m.ExecuteJob, "mapping"): ("mapping", dict[str, int | str] | None),
}


def _shape(kind: type[m.Event], *, for_writing: bool) -> Any:
    """Data class of a word. Defaults other than None are for reading: on writing all is said."""
    members: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for field in msgspec.structs.fields(kind)[1:]:
        name, hint = _MEMBERS.get((kind, field.name), (field.name, _TYPES.get(field.type, field.type)))
        if field.required or (for_writing and field.default is not None):
            members.append((name, hint))
        else:
            members.append((name, hint, field.default))
    return msgspec.defstruct(f"{kind.__name__}Data", members, omit_defaults=True)


def _host_fields(kind: type[m.Event]) -> list[tuple[int, str]]:
    """Positions (after the timestamp) and names of the sets of hosts."""
    fields = msgspec.structs.fields(kind)[1:]
    return [(i, f.name) for i, f in enumerate(fields) if f.type in (HostSet, HostSet | None)]


def _reader(kind: type[m.Event]) -> Reader:
    hosts = _host_fields(kind)
    make: Callable[..., m.Event] = kind

    def read(timestamp: int, data: Any, _: int) -> m.Event:
        return make(timestamp, *astuple(data))

    def read_with_hosts(timestamp: int, data: Any, _: int) -> m.Event:
        values = list(astuple(data))
        for position, name in hosts:
            values[position] = read_hosts(name, values[position])
        return make(timestamp, *values)

    return read_with_hosts if hosts else read


def _writer(kind: type[m.Event], shape: Any) -> Writer:
    hosts = _host_fields(kind)

    def write(event: m.Event, _: int) -> Any:
        return shape(*astuple(event)[1:])

    def write_with_hosts(event: m.Event, _: int) -> Any:
        values = list(astuple(event)[1:])
        for position, _name in hosts:
            values[position] = to_text(values[position])
        return shape(*values)

    return write_with_hosts if hosts else write


# --------------------------------------------------------------------------- shapes of their own: reading


class BeginsData(msgspec.Struct):
    """SIMULATION_BEGINS as Batsim 4 and as Batsim 2 say it."""

    nb_resources: int
    config: Json
    nb_compute_resources: int | None = None
    nb_storage_resources: int | None = None
    allow_compute_sharing: bool | None = None
    allow_storage_sharing: bool | None = None
    compute_resources: list[Json] | None = None
    storage_resources: list[Json] | None = None
    workloads: dict[str, str] | None = None
    profiles: dict[str, dict[str, Json]] | None = None
    batpy: m.Offer | None = None
    resources_data: list[Json] | None = None
    allow_time_sharing: bool | None = None


_BEGINS_MEMBERS = [field.name for field in msgspec.structs.fields(m.SimulationBegins)[1:]]


def _read_begins(timestamp: int, data: BeginsData, _: int) -> m.Event:
    if data.resources_data is not None:
        _modernise(data, data.resources_data)
    values = [getattr(data, name) for name in _BEGINS_MEMBERS]
    for name, value in zip(_BEGINS_MEMBERS, values, strict=True):
        if value is None and name != "batpy":
            raise FormError(name, "is missing")
    begins = cast("Callable[..., m.SimulationBegins]", m.SimulationBegins)(timestamp, *values)
    begins.config = _flat_config(data.config)
    return begins


def _modernise(data: BeginsData, machines: list[Json]) -> None:
    """Batsim 2 said one list of machines, and nothing about storage."""
    storage = [one for one in machines if _is_storage(one)]
    compute = [one for one in machines if not _is_storage(one)]
    older: Json = {
        "nb_compute_resources": len(compute),
        "nb_storage_resources": len(storage),
        "allow_compute_sharing": bool(data.allow_time_sharing),
        "allow_storage_sharing": True,
        "compute_resources": compute,
        "storage_resources": storage,
        "workloads": {},
        "profiles": {},
    }
    for name, value in older.items():
        if getattr(data, name) is None:
            setattr(data, name, value)


def _is_storage(machine: Json) -> bool:
    properties = machine.get("properties")
    role = properties.get("role") if isinstance(properties, dict) else None
    return isinstance(role, str) and "storage" in role.split(",")


_OLD_CONFIG: dict[tuple[str, ...], str] = {
    ("job_submission", "forward_profiles"): "profiles-forwarded-on-submission",
    ("job_submission", "from_scheduler", "enabled"): "dynamic-jobs-enabled",
    ("job_submission", "from_scheduler", "acknowledge"): "dynamic-jobs-acknowledged",
    ("redis", "enabled"): "redis-enabled",
    ("redis", "hostname"): "redis-hostname",
    ("redis", "port"): "redis-port",
    ("redis", "prefix"): "redis-prefix",
}


def _flat_config(config: Json) -> Json:
    """Batsim 2 nested what Batsim 3 and 4 say with flat dashed keys."""
    old_roots = [root for root in ("job_submission", "redis") if isinstance(config.get(root), dict)]
    if not old_roots:
        return config
    flat = {key: value for key, value in config.items() if key not in old_roots}
    for path, key in _OLD_CONFIG.items():
        node: Any = config
        for part in path:
            node = node.get(part) if isinstance(node, dict) else None
        if node is not None:
            flat.setdefault(key, node)
    return flat


class KilledData(msgspec.Struct):
    """JOB_KILLED; the documentation allows to leave ``job_progress`` out."""

    job_ids: list[str]
    job_progress: dict[str, Json] = {}


def _read_killed(timestamp: int, data: KilledData, _: int) -> m.Event:
    for node in data.job_progress.values():
        _modern_progress(node)
    return m.JobKilled(timestamp, data.job_ids, data.job_progress)


def _modern_progress(node: Any) -> None:
    """Batsim 2 and the documentation say ``profile`` where Batsim 3 and 4 say ``profile_name``."""
    while isinstance(node, dict):
        if "profile" in node and "profile_name" not in node:
            node["profile_name"] = node.pop("profile")
        node = node.get("current_task")


def _read_completed(timestamp: int, data: Any, _: int) -> m.Event:
    alloc = read_hosts("alloc", data.alloc)
    return m.JobCompleted(timestamp, data.job_id, data.job_state, data.return_code, alloc)


def _read_execute(timestamp: int, data: Any, _: int) -> m.Event:
    event = m.ExecuteJob(timestamp, data.job_id, read_hosts("alloc", data.alloc))
    if data.mapping is not None:
        event.mapping = _read_mapping(data.mapping)
    event.storage_mapping = data.storage_mapping
    io_job = data.additional_io_job
    if io_job is not None:
        hosts = read_hosts("additional_io_job.alloc", io_job.alloc)
        event.additional_io_job = m.IoJob(hosts, io_job.profile_name, io_job.profile)
    return event


def _read_mapping(mapping: dict[str, int | str]) -> dict[str, int]:
    """Executor numbers are texts in JSON, positions numbers or texts."""
    out: dict[str, int] = {}
    for executor, position in mapping.items():
        if isinstance(position, str) and not is_int_text(position):
            raise FormError(f"mapping.{executor}", f"{position!r} is not an integer")
        out[executor] = int(position)
    return out


def _read_call_me_later(timestamp: int, data: Any, ticks_per_second: int) -> m.Event:
    return m.CallMeLater(timestamp, to_ticks("timestamp", data.timestamp, ticks_per_second))


def _read_set_resource_state(timestamp: int, data: Any, _: int) -> m.Event:
    if not is_int_text(data.state):
        raise FormError("state", f"{data.state!r} is not the number of a pstate")
    return m.SetResourceState(timestamp, read_hosts("resources", data.resources), int(data.state))


def _read_notify(timestamp: int, data: Json, _: int) -> m.Event:
    word = data.get("type")
    if not isinstance(word, str):
        raise FormError("type", "is missing" if word is None else "expected a string")
    word = v.OLD_NOTICES.get(word, word)
    if word in v.PLAIN_NOTICES:
        return m.Notify(timestamp, word)
    if word in v.MACHINE_NOTICES:
        text = data.get("resources")
        if not isinstance(text, str):
            raise FormError("resources", "is missing" if text is None else "expected a string")
        return m.Notify(timestamp, word, read_hosts("resources", text))
    return m.Notify(timestamp, word, None, data if len(data) > 1 else None)


def _drop(_timestamp: int, _data: Any, _: int) -> None:
    """NOP says nothing."""


# --------------------------------------------------------------------------- shapes of their own: writing


def _write_notify(event: m.Notify, _: int) -> Json:
    if event.content is not None:
        return event.content
    if event.resources is not None:
        return {"type": event.type, "resources": to_text(event.resources)}
    return {"type": event.type}


def _write_call_me_later(event: m.CallMeLater, ticks_per_second: int) -> Any:
    return _WRITTEN[m.CallMeLater](event.at / ticks_per_second)


def _write_set_resource_state(event: m.SetResourceState, _: int) -> Any:
    return _WRITTEN[m.SetResourceState](to_text(event.resources), str(event.state))


def _write_execute(event: m.ExecuteJob, _: int) -> Any:
    io_job = event.additional_io_job
    io_data = (
        None if io_job is None else IoJobData(to_text(io_job.alloc), io_job.profile_name, io_job.profile)
    )
    return _WRITTEN[m.ExecuteJob](
        event.job_id, to_text(event.alloc), event.mapping, event.storage_mapping, io_data
    )


# --------------------------------------------------------------------------- the tables

_WRITTEN: dict[type[m.Event], Any] = {word.kind: _shape(word.kind, for_writing=True) for word in v.WORDS}
_READ: dict[type[m.Event], Any] = {
    **{word.kind: _shape(word.kind, for_writing=False) for word in v.WORDS},
    m.SimulationBegins: BeginsData,
    m.JobKilled: KilledData,
    m.Notify: Json,
}
_OWN_READERS: dict[type[m.Event], Reader] = {
    m.SimulationBegins: _read_begins,
    m.JobCompleted: _read_completed,
    m.JobKilled: _read_killed,
    m.ExecuteJob: _read_execute,
    m.CallMeLater: _read_call_me_later,
    m.SetResourceState: _read_set_resource_state,
    m.Notify: _read_notify,
}
_OWN_WRITERS: dict[type[m.Event], Writer] = {
    m.ExecuteJob: _write_execute,
    m.CallMeLater: _write_call_me_later,
    m.SetResourceState: _write_set_resource_state,
    m.Notify: _write_notify,
}


def _said(name: str, data: Any) -> Any:
    """Class of one event as read: tells itself apart by its ``type``."""
    members = [("timestamp", Seconds), ("data", data)]
    return msgspec.defstruct(f"Said_{name}", members, tag_field="type", tag=name)


def _events_read() -> dict[Any, tuple[type[m.Event] | None, Reader]]:
    """Class of an event as read, to our class and the function that makes it."""
    table: dict[Any, tuple[type[m.Event] | None, Reader]] = {_said(v.DROPPED_NAME, Any): (None, _drop)}
    old = [(old_name, v.BY_NAME[name]) for old_name, name in v.OLD_NAMES.items()]
    for name, word in [(word.name, word) for word in v.WORDS] + old:
        reader = _OWN_READERS.get(word.kind) or _reader(word.kind)
        table[_said(name, _READ[word.kind])] = (word.kind, reader)
    return table


READERS = _events_read()
WRITERS: dict[type[m.Event], tuple[str, Writer]] = {
    word.kind: (word.name, _OWN_WRITERS.get(word.kind) or _writer(word.kind, _WRITTEN[word.kind]))
    for word in v.WORDS
}
