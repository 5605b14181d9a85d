"""Writer of Batsim JSON workloads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from batpy.workloads.files import write_bytes
from batpy.workloads.job import Workload


def to_batsim_tree(workload: Workload, *, description: str = "") -> dict[str, Any]:
    """A workload as the object that Batsim reads.

    Jobs come in the order of submission and keep the user's fields; a streamed workload's profiles are
    collected. ``nb_res`` is the workload's own, or else the size of its largest job: Batsim requires one.
    """
    jobs: list[Mapping[str, Any]] = []
    profiles: dict[str, Mapping[str, Any]] = {name: p.raw for name, p in workload.profiles.items()}
    widest = 1
    for job in workload.jobs():
        jobs.append({**job.raw, "id": job.id})
        widest = max(widest, job.res)
        if job.behaviour is not None:
            profiles.setdefault(job.profile, job.behaviour.raw)
    header = dict(getattr(workload, "header", {})) if not workload.streamed else {}
    if description:
        header["description"] = description
    return {**header, "nb_res": workload.nb_res or widest, "jobs": jobs, "profiles": profiles}


def write_batsim_json(
    workload: Workload, path: str | Path, *, description: str = "", indent: int = 1
) -> None:
    """Write a workload as Batsim JSON; a name that ends in ``.gz`` is packed. Same workload, same bytes.

    Raises:
        InputError: the file cannot be written.
    """
    write_bytes(path, batsim_json(workload, description=description, indent=indent))


def batsim_json(workload: Workload, *, description: str = "", indent: int = 1) -> bytes:
    """The text of a workload as Batsim JSON; *indent* 0 for the shortest."""
    text = msgspec.json.encode(to_batsim_tree(workload, description=description))
    return msgspec.json.format(text, indent=indent) + b"\n" if indent else text + b"\n"
