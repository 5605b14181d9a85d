"""The calibration file: parameters, and all that tells where they come from and how far they hold.

``{"format": "batpy-calibration", "version": 1, "units": {...}, "parameters": {...}, ...}``; strict in both
directions. Same logs and options, same bytes.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from batpy.base.errors import InputError
from batpy.workloads.files import read_bytes, write_bytes
from batpy.workloads.stages.inflation import Inflation
from batpy.workloads.stages.roofline import Entry, Figures, Parameters

FORMAT = "batpy-calibration"
VERSION = 1
FAR = 2.0
"""Predictions so many times outside the calibrated range are flagged."""
UNITS = {
    "k_cpu": "flops per second of processor time",
    "k_read, k_write, k_net": "1",
    "task_overhead, stage_overhead": "seconds",
    "overlap": "1",
    "speed": "flops per second and slot",
    "read, write, net": "bytes per second and scope",
    "errors": "1, relative",
}
_PLACE = re.compile(r"(?P<problem>.*?) - at `\$\.?(?P<path>.*)`", re.S)
_DIGITS = 9
Count = Annotated[int, msgspec.Meta(ge=0)]
T = TypeVar("T")


class LogFile(Entry, frozen=True):
    """A file that was learnt from (its name without its folder), and its content's SHA-256."""

    file: str
    sha256: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class Range(Entry, frozen=True):
    """Where the runs lay: fewest and most executors and slots, least and most bytes moved."""

    executors: tuple[Count, Count]
    slots: tuple[Count, Count]
    bytes: tuple[Count, Count]


class LeftOut(Entry, frozen=True):
    """Errors on a run that was left out of the calibration. None: nothing to compare with.

    Attributes:
        kind: all runs of its ``application`` were left out, or this ``run``, and only others of the same
            application were learnt from.
        application: id of the run.
        trained: number of stages that were learnt from.
        stages: number of its stages of more than a second that are judged.
        stage_error: mean of their absolute errors.
        makespan_error: of the application's makespan, from its own amounts.
        profile_error: the same from the stage times of another run, without its own amounts; the worst of
            the others.
    """

    kind: Literal["application", "run"]
    application: str
    trained: int
    stages: int
    stage_error: float | None
    makespan_error: float | None
    profile_error: float | None = None


class Calibration(Entry, frozen=True):
    """The content of a calibration file.

    Attributes:
        batpy, numpy: versions it was made with.
        seen: parameters that the logs bear on; the others have nominal values.
        stages: number of stages that were learnt from.
        stage_error, makespan_errors: on what was learnt from.
    """

    batpy: str
    numpy: str
    logs: tuple[LogFile, ...]
    parameters: Parameters
    figures: Figures
    seen: tuple[str, ...]
    stages: Count
    range: Range
    stage_error: float | None = None
    makespan_errors: dict[str, float] = msgspec.field(default_factory=dict)
    left_out: tuple[LeftOut, ...] = ()
    inflation: tuple[Inflation, ...] = ()

    def outside(self, *, executors: int = 0, slots: int = 0, bytes: int = 0) -> list[str]:
        """One line for each amount that is far outside the calibrated range; amounts of 0 are unknown."""
        lines = []
        for name, value in (("executors", executors), ("slots", slots), ("bytes", bytes)):
            low, high = getattr(self.range, name)
            if value and high and not low / FAR <= value <= high * FAR:
                lines.append(f"extrapolated: {value} {name}, calibrated from {low} to {high}")
        return lines


def rounded(value: T) -> T:
    """The same with nine digits in every number: what is behind them is noise of the machine."""
    return msgspec.convert(_rounded(msgspec.to_builtins(value)), type(value))


def _rounded(tree: Any) -> Any:
    if isinstance(tree, float):
        return float(f"{tree:.{_DIGITS}g}")
    if isinstance(tree, dict):
        return {key: _rounded(value) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [_rounded(value) for value in tree]
    return tree


def calibration_json(calibration: Calibration) -> bytes:
    """The text of a calibration."""
    tree = {"format": FORMAT, "version": VERSION, "units": UNITS, **msgspec.to_builtins(calibration)}
    return msgspec.json.format(msgspec.json.encode(tree), indent=1) + b"\n"


def write_calibration(calibration: Calibration, path: str | Path) -> None:
    """Write a calibration; a name that ends in ``.gz`` is packed.

    Raises:
        InputError: the file cannot be written.
    """
    write_bytes(path, calibration_json(calibration))


def read_calibration(path: str | Path, source: str | None = None) -> Calibration:
    """Read a calibration.

    Raises:
        InputError: unreadable, not JSON, another format, version or units, or a field that breaks a rule,
            with its path.
    """
    source = source if source is not None else str(path)
    try:
        tree = msgspec.json.decode(read_bytes(path, source), type=dict[str, Any])
        for key, wanted in (("format", FORMAT), ("version", VERSION), ("units", UNITS)):
            if tree.pop(key, None) != wanted:
                raise InputError(f"not a calibration: must be {wanted!r}", source=source, path=key)
        return msgspec.convert(tree, Calibration)
    except msgspec.ValidationError as why:
        place = _PLACE.fullmatch(str(why))
        problem, where = (place["problem"], place["path"]) if place else (str(why), "")
        raise InputError(problem[:1].lower() + problem[1:], source=source, path=where or None) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as why:
        raise InputError(f"not JSON: {why}", source=source) from None
