"""The table of shipped policies, and how a text becomes a scheduler."""

from __future__ import annotations

from pathlib import Path

from batpy.base.plugins import Registry
from batpy.schedulers.api import Policy, is_policy
from batpy.schedulers.core import SchedulerCore

SCHEDULERS: Registry[Policy] = Registry("scheduler", group="batpy.schedulers", accepts=is_policy)
SCHEDULERS.register("fcfs", "batpy.schedulers.hpc.fcfs:Fcfs")
SCHEDULERS.register("easy", "batpy.schedulers.hpc.easy:Easy")
SCHEDULERS.register("conservative", "batpy.schedulers.hpc.conservative:Conservative")
SCHEDULERS.register("filler", "batpy.schedulers.hpc.filler:Filler")
SCHEDULERS.register("replay", "batpy.schedulers.hpc.replay:Replay")


def make_scheduler(spec: str, *, base: Path | None = None) -> SchedulerCore:
    """Make a scheduler from ``easy[order=sjf]``, an entry point's name, or ``./my_policy.py:MyPolicy[...]``.

    Args:
        base: folder that relative paths in the text are taken from; the working folder if None.

    Raises:
        InputError: no such scheduler or option, or a file it names cannot be used.
    """
    return SchedulerCore(SCHEDULERS.make(spec, base=base), spec)
