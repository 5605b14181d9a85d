"""A calibration applied to jobs of level ``job``."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from batpy.base.errors import InputError
from batpy.workloads.stages.calibration_form import Calibration
from batpy.workloads.stages.calibration_rows import amount_of
from batpy.workloads.stages.graph import Application, Stage
from batpy.workloads.stages.job_options import JobOptions
from batpy.workloads.stages.roofline import busy_slots, times_of


def calibrated_options(options: JobOptions, calibration: Calibration) -> JobOptions:
    """The options with the calibration's overlap and overheads.

    Raises:
        InputError: of a level other than ``job``, which keeps recorded times.
    """
    if options.level != "job":
        problem = f"is for level job; level {options.level} has the recorded times"
        raise InputError(problem, path="calibration")
    known = calibration.parameters
    return replace(
        options,
        overlap=known.overlap,
        task_overhead=known.task_overhead,
        stage_overhead=known.stage_overhead,
    )


def calibrated(application: Application, slots: int, calibration: Calibration) -> Application:
    """The application with amounts that, spread evenly over *slots*, take the times of the calibration.

    Processor time is multiplied by ``k_cpu`` over the calibrated speed, and by what stragglers and last waves
    leave of the slots; bytes by ``k_read``, ``k_write`` and ``k_net``.
    """
    stages = tuple(_calibrated(stage, slots, calibration) for stage in application.stages)
    return msgspec.structs.replace(application, stages=stages)


def _calibrated(stage: Stage, slots: int, calibration: Calibration) -> Stage:
    known = calibration.parameters
    spread = slots / busy_slots(times_of(stage), stage.done or stage.tasks, slots)
    return msgspec.structs.replace(
        stage,
        cpu_us=round(stage.cpu_us * known.k_cpu / calibration.figures.speed * spread),
        input_bytes=round(stage.input_bytes * known.k_read),
        output_bytes=round(stage.output_bytes * known.k_write),
        shuffle_local_bytes=round(stage.shuffle_local_bytes * known.k_net),
        shuffle_remote_bytes=round(stage.shuffle_remote_bytes * known.k_net),
    )


def far(application: Application, slots: int, calibration: Calibration) -> list[str]:
    """What of an application is far outside the calibrated range, in words."""
    return calibration.outside(slots=slots, bytes=amount_of(application))
