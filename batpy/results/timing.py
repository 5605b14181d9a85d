"""The two wall-clock figures of a run, kept beside the journal so that the journal stays a pure result."""

from __future__ import annotations

from pathlib import Path

import msgspec

from batpy.base.errors import InputError
from batpy.base.files import unwritable

TIMING = "timing.json"


class Timing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Wall-clock seconds, as the shell measured them.

    Attributes:
        scheduling_time: spent waiting for the scheduler's replies.
        simulation_time: of the whole run.
    """

    scheduling_time: float = 0.0
    simulation_time: float = 0.0


def write_timing(folder: str | Path, timing: Timing) -> None:
    """Keep the figures for tables that are made again later.

    Raises:
        InputError: the file cannot be written.
    """
    path = Path(folder) / TIMING
    try:
        path.write_bytes(msgspec.json.encode(timing) + b"\n")
    except OSError as error:
        raise unwritable(path, error) from None


def read_timing(folder: str | Path) -> Timing:
    """The figures a run left in its folder; zeros if it left none.

    Raises:
        InputError: the file is there and is not what ``write_timing`` writes.
    """
    path = Path(folder) / TIMING
    try:
        return msgspec.json.decode(path.read_bytes(), type=Timing)
    except FileNotFoundError:
        return Timing()
    except (OSError, msgspec.DecodeError) as error:
        raise InputError(f"not readable as timing figures: {error}", source=str(path)) from None
