"""Words that every room uses when it speaks of pipelines in containers: priorities and operator states."""

from __future__ import annotations

from enum import Enum

from batpy.base.errors import InputError


class Priority(Enum):
    """How urgent a pipeline is; the smaller number goes first."""

    QUERY = 1
    INTERACTIVE = 2
    BATCH_PIPELINE = 3

    __hash__ = object.__hash__  # members are single objects; the default hashes their names in Python code


class OperatorState(Enum):
    """Where an operator stands; ``completed`` is the only state without a way out."""

    PENDING = "pending"
    ASSIGNED = "assigned"
    RUNNING = "running"
    SUSPENDING = "suspending"
    COMPLETED = "completed"
    FAILED = "failed"

    __hash__ = object.__hash__


ASSIGNABLE_STATES = (OperatorState.PENDING, OperatorState.FAILED)
"""The states from which an operator may be given to a container."""

DISK_SCAN_GB_SEC = 20
"""Disk bandwidth of a container in GB/s, for reads and for suspension writes; never shared."""


class IllegalStepError(InputError):
    """A rule of the container model was broken; in the original this is an AssertionError or its like.

    Args:
        rule: the rule, in the original's words where it has some.
        subject: the operator, container or pipeline that broke it.
        condition: name of the exception that the original raises, for comparisons.
    """

    def __init__(self, rule: str, subject: str = "", condition: str = "AssertionError") -> None:
        super().__init__(rule, path=subject or None)
        self.rule = rule
        self.subject = subject
        self.condition = condition

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.rule, self.subject, self.condition)
