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
from batpy.models.containers.container import Container
from batpy.models.containers.executor import Executor
from batpy.models.containers.pipeline import Estimate, Operator, Pipeline, RuntimeStatus
from batpy.models.containers.pool import ExecutionResult, ResourcePool
from batpy.models.containers.statistics import PipelineStats, SimulatorStats
from batpy.pipelines.estimators import register_estimator, register_estimator_init
from batpy.pipelines.simulate import get_param_defaults, run_simulator
from batpy.schedulers.pipelines.api import (
    Assignment,
    Scheduler,
    Suspend,
    register_scheduler,
    register_scheduler_init,
)
from batpy.workloads.pipelines.segment import Segment

__all__ = [
    "ASSIGNABLE_STATES",
    "DISK_SCAN_GB_SEC",
    "Assignment",
    "Container",
    "Estimate",
    "ExecutionResult",
    "Executor",
    "IllegalStepError",
    "Operator",
    "OperatorState",
    "Pipeline",
    "PipelineStats",
    "Priority",
    "ResourcePool",
    "RuntimeStatus",
    "Scheduler",
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
