"""How a run ended, as the composition of a run tells the command that asked for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from batpy.results.summary import Summary

EXIT_INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The end of a run whose results are written.

    Attributes:
        outcome: ``done``, ``refused``, ``interrupted``, ``peer_lost`` or ``failed`` (a bug), as the journal's
            closing record.
        reason: why the run did not come to its end; empty if it did.
        exit_code: of the command.
        folder: where the results are.
        summary: None if nothing was recorded.
        notices: lines a user should see, such as what was left out of a workload.
    """

    outcome: str
    reason: str
    exit_code: int
    folder: Path
    summary: Summary | None
    notices: list[str] = field(default_factory=list)
