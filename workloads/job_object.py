"""One job object, as Batsim JSON workloads and REGISTER_JOB write it, turned into a ``Job``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from batpy.base.errors import InputError
from batpy.workloads.job import Job
from batpy.workloads.seconds import MAX_INTEGER, limit_ticks, number_problem, seconds_problem, to_ticks

Fail = Callable[[str, str], InputError]
"""The complaint about a field."""


def parse_job(
    raw: object,
    *,
    workload: str,
    ticks_per_second: int,
    path: str,
    source: str | None = None,
) -> Job:
    """Check a job object (Batsim 4.2.1's rules) and convert its dates to ticks.

    Args:
        raw: the object; unknown fields are kept.
        workload: id of its workload; an ``id`` that starts with ``workload!`` loses that prefix.
        path: path of the object, for complaints.

    Raises:
        InputError: naming the field and the rule.
    """

    def fail(field: str, problem: str) -> InputError:
        return InputError(problem, source=source, path=f"{path}.{field}" if field else path)

    if not isinstance(raw, Mapping):
        raise fail("", f"must be an object, got {type(raw).__name__}")
    name = _name(raw.get("id"), workload, fail)
    submit = _seconds(raw.get("subtime"), "subtime", fail)
    if submit < 0:
        raise fail("subtime", f"must be at least 0, got {submit!r}")
    res = _size(raw.get("res"), fail)
    profile = raw.get("profile")
    if not isinstance(profile, str):
        raise fail("profile", f"must be the name of a profile, got {profile!r}")
    walltime = _seconds(raw.get("walltime", -1), "walltime", fail)
    if walltime <= 0 and walltime != -1:
        raise fail("walltime", f"must be above 0, or -1 for none, got {walltime!r}")
    return Job(
        id=name,
        submit=to_ticks(submit, ticks_per_second),
        res=res,
        profile=profile,
        walltime=None if walltime == -1 else limit_ticks(walltime, ticks_per_second),
        raw={**raw, "res": res},  # 2.0 is 2 hosts, and schedulers are told an integer
        user=_label(raw, "user"),
        queue=_label(raw, "queue"),
    )


def refuse_large_integers(tree: Mapping[str, Any], source: str | None = None, path: str = "") -> None:
    """Refuse integers beyond 64 bits in the objects that schedulers are told: no packed message holds them.

    Args:
        path: of the tree, for complaints.

    Raises:
        InputError: with the path of the first one.
    """
    try:
        msgspec.msgpack.encode(tree)  # a tenth of the time of a look at each value
    except OverflowError:
        place = _large_integer(tree, path)
        raise InputError(
            "must fit in 64 bits; a larger number needs a decimal point or an exponent",
            source=source,
            path=place,
        ) from None
    except (TypeError, RecursionError):
        return  # no JSON made this; whoever sends it on says what is wrong


def _large_integer(value: Any, path: str) -> str | None:
    """Path of the first integer beyond 64 bits; None if there is none."""
    if isinstance(value, int):
        return None if -(2**63) <= value < 2**64 else path
    items: Iterable[tuple[str, Any]] = ()
    if isinstance(value, dict):
        items = ((f"{path}.{key}" if path else key, item) for key, item in value.items())
    elif isinstance(value, list):
        items = ((f"{path}[{index}]", item) for index, item in enumerate(value))
    return next((found for at, item in items if (found := _large_integer(item, at)) is not None), None)


def _name(value: object, workload: str, fail: Fail) -> str:
    if value is None:
        raise fail("id", "missing; a text or an integer is required")
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
        raise fail("id", f"must be a text, got {value!r}")
    name = str(value).removeprefix(f"{workload}!")
    if "!" in name or not name:
        raise fail("id", f"{name!r} must not contain '!' (the full id is {workload}!NAME)")
    return name


def _size(value: object, fail: Fail) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise fail("res", f"must be an integer of at least 1, got {value!r}")
    if value > MAX_INTEGER:
        raise fail("res", f"must be at most {MAX_INTEGER}")
    return value


def _seconds(value: Any, field: str, fail: Fail) -> float:
    problem = number_problem(value) or seconds_problem(value)
    if problem is not None:
        raise fail(field, problem)
    number: float = value
    return number


def _label(raw: Mapping[Any, Any], field: str) -> str:
    value = raw.get(field, "")
    return str(value) if isinstance(value, (str, int)) else ""
