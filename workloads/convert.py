"""From one workload format to another: SWF to Batsim JSON and back."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from batpy.base.errors import InputError
from batpy.workloads.batsim_writer import write_batsim_json
from batpy.workloads.job import Workload
from batpy.workloads.seconds import DEFAULT_TICKS_PER_SECOND
from batpy.workloads.swf_writer import RunTime, write_swf

Format = Literal["swf", "batsim"]


def format_of(path: str | Path) -> Format:
    """The format that a file's name asks for.

    Raises:
        InputError: the name ends neither in ``.swf`` nor in ``.json`` (perhaps with ``.gz`` after it).
    """
    name = str(path).lower().removesuffix(".gz")
    if name.endswith(".swf"):
        return "swf"
    if name.endswith(".json"):
        return "batsim"
    raise InputError("the name must end in .swf, .swf.gz, .json or .json.gz", source=str(path))


def write_workload(
    workload: Workload,
    path: str | Path,
    *,
    ticks_per_second: int = DEFAULT_TICKS_PER_SECOND,
    run_time: RunTime = "exact",
    note: str = "",
) -> Format:
    """Write a workload in the format that the file's name asks for.

    Args:
        workload: from any reader or generator.
        path: the file.
        ticks_per_second: resolution of the workload's dates.
        run_time: for SWF, what to do with jobs whose run time only a simulation can tell:
            ``exact`` refuses them, ``walltime`` takes their walltime.
        note: one line on where the workload comes from; kept in the file.

    Returns:
        the format written.

    Raises:
        InputError: unknown format, a job that the format cannot express, or the file cannot be written.
    """
    kind = format_of(path)
    if kind == "swf":
        write_swf(workload, path, ticks_per_second=ticks_per_second, run_time=run_time, note=note)
    else:
        write_batsim_json(workload, path, description=note)
    return kind
