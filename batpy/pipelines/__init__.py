"""Pipelines in containers: everything that a user's policy, workload or script imports.

A policy file written for Eudoxia runs with its import lines changed to ``from batpy.pipelines import ...``.
"""

from batpy.base.pipelines import (
    ASSIGNABLE_STATES,
    DISK_SCAN_GB_SEC,
    IllegalStepError,
    OperatorState,
    Priority,
)
from batpy.models.containers.pipeline import Estimate, Operator, Pipeline, RuntimeStatus
from batpy.models.containers.pool import ExecutionResult
from batpy.models.containers.statistics import PipelineStats, SimulatorStats
from batpy.pipelines.estimators import register_estimator, register_estimator_init
from batpy.pipelines.simulate import get_param_defaults, run_simulator
from batpy.schedulers.pipelines.api import Assignment, Suspend, register_scheduler, register_scheduler_init
from batpy.workloads.pipelines.segment import Segment

__all__ = [
    "ASSIGNABLE_STATES",
    "DISK_SCAN_GB_SEC",
    "Assignment",
    "Estimate",
    "ExecutionResult",
    "IllegalStepError",
    "Operator",
    "OperatorState",
    "Pipeline",
    "PipelineStats",
    "Priority",
    "RuntimeStatus",
    "Segment",
    "SimulatorStats",
    "Suspend",
    "get_param_defaults",
    "register_estimator",
    "register_estimator_init",
    "register_scheduler",
    "register_scheduler_init",
    "run_simulator",
]
