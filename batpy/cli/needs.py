"""What a scheduler of ours needs to be told, where neither it nor the experiment says."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from batpy.cli.config import ExperimentConfig

_NEEDED = ("dynamic_jobs", "acknowledge_dynamic_jobs", "profile_reuse", "forward_profiles")


def with_needs(config: ExperimentConfig, registering: Iterable[str]) -> ExperimentConfig:
    """The experiment with dynamic registration turned on for schedulers that register jobs.

    An option that the scheduler's own table names stays as it is.
    """
    schedulers = dict(config.schedulers)
    for name in registering:
        wanted = schedulers[name]
        unsaid = {option: True for option in _NEEDED if getattr(wanted, option) is None}
        schedulers[name] = msgspec.structs.replace(wanted, **unsaid)
    return (
        msgspec.structs.replace(config, schedulers=schedulers) if schedulers != config.schedulers else config
    )
