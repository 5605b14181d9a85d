"""The table of shipped policies, and how a text becomes a scheduler."""

from __future__ import annotations

from pathlib import Path

from batpy.base.plugins import Registry
from batpy.schedulers.api import Policy, is_policy
from batpy.schedulers.core import SchedulerCore

SCHEDULERS: Registry[Policy] = Registry(
    "scheduler", group="batpy.schedulers", accepts=is_policy, wanted="a class with decide(view)"
)
SCHEDULERS.register("fcfs", "batpy.schedulers.hpc.fcfs:Fcfs")
SCHEDULERS.register("easy", "batpy.schedulers.hpc.easy:Easy")
SCHEDULERS.register("easy_sleep", "batpy.schedulers.hpc.easy_sleep:EasySleep")
SCHEDULERS.register("easy_budget", "batpy.schedulers.hpc.easy_budget:EasyBudget")
SCHEDULERS.register("conservative", "batpy.schedulers.hpc.conservative:Conservative")
SCHEDULERS.register("filler", "batpy.schedulers.hpc.filler:Filler")
SCHEDULERS.register("replay", "batpy.schedulers.hpc.replay:Replay")
# A tenant with its own machinery: containers on the hosts that it holds.
SCHEDULERS.register("pipelines", "batpy.pipelines.park:ParkPipelines")
SCHEDULERS.register("bebida", "batpy.schedulers.bigdata.bebida:Bebida")
SCHEDULERS.register("spark_pods", "batpy.schedulers.bigdata.spark_pods:SparkPods")
SCHEDULERS.register("direct", "batpy.schedulers.serving.direct:Direct")
SCHEDULERS.register("clockwork", "batpy.schedulers.serving.clockwork:Clockwork")
SCHEDULERS.register("fifo_batching", "batpy.schedulers.serving.fifo_batching:FifoBatching")


def make_scheduler(spec: str, *, base: Path | None = None) -> SchedulerCore:
    """Make a scheduler from ``easy[order=sjf]``, an entry point's name, or ``./my_policy.py:MyPolicy[...]``.

    Args:
        base: folder that relative paths in the text are taken from; the working folder if None.

    Raises:
        InputError: no such scheduler or option, or a file it names cannot be used.
    """
    return SchedulerCore(SCHEDULERS.make(spec, base=base), spec)
