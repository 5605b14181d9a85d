"""One job object, as Batsim JSON workloads and REGISTER_JOB write it, turned into a ``Job``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from batpy.base.errors import InputError
from batpy.workloads.job import Job
from batpy.workloads.seconds import limit_ticks, number_problem, seconds_problem, to_ticks


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
    name = raw.get("id")
    if isinstance(name, bool) or not isinstance(name, (str, int)) or name == "":
        raise fail(
            "id",
            "missing; a text or an integer is required" if name is None else f"must be a text, got {name!r}",
        )
    name = str(name).removeprefix(f"{workload}!")
    if "!" in name or not name:
        raise fail("id", f"{name!r} must not contain '!' (the full id is {workload}!NAME)")
    submit = _number(raw.get("subtime"), "subtime", fail)
    if submit < 0:
        raise fail("subtime", f"must be at least 0, got {submit!r}")
    if problem := seconds_problem(submit):
        raise fail("subtime", problem)
    res = raw.get("res")
    if isinstance(res, float) and res.is_integer():
        res = int(res)
    if isinstance(res, bool) or not isinstance(res, int) or res < 1:
        raise fail("res", f"must be an integer of at least 1, got {res!r}")
    profile = raw.get("profile")
    if not isinstance(profile, str):
        raise fail("profile", f"must be the name of a profile, got {profile!r}")
    walltime = _number(raw.get("walltime", -1), "walltime", fail)
    if walltime <= 0 and walltime != -1:
        raise fail("walltime", f"must be above 0, or -1 for none, got {walltime!r}")
    if problem := seconds_problem(walltime):
        raise fail("walltime", problem)
    return Job(
        id=name,
        submit=to_ticks(submit, ticks_per_second),
        res=res,
        profile=profile,
        walltime=None if walltime == -1 else limit_ticks(walltime, ticks_per_second),
        raw=dict(raw),
        user=_label(raw, "user"),
        queue=_label(raw, "queue"),
    )


def _number(value: Any, field: str, fail: Any) -> float:
    problem = number_problem(value)
    if problem is not None:
        raise fail(field, problem)
    number: float = value
    return number


def _label(raw: Mapping[Any, Any], field: str) -> str:
    value = raw.get(field, "")
    return str(value) if isinstance(value, (str, int)) else ""
