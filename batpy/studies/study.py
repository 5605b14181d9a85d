"""What a study is: plain values, and one function that turns runs into findings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from batpy.studies.runs import RunSpec

Row = dict[str, Any]
Origin = Literal["published", "chosen", "fitted"]
"""Where a parameter comes from: told by the source, decided by us, or fitted to published figures."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a study.

    Attributes:
        value: with its unit, as a reader wants it.
        reason: why it has this value; for a published one, where it is told.
    """

    name: str
    value: str
    origin: Origin
    reason: str


@dataclass(frozen=True, slots=True)
class Check:
    """A measured figure beside what was published or asked for.

    Attributes:
        measured: None if nothing could be measured.
        low, high: the band, either end None if it is open.
        source: where the band comes from.
        half_width: of the 95 % confidence interval of *measured*, None if there is none to tell.
        required: False if it is told for information and fails nothing.
    """

    name: str
    measured: float | None
    low: float | None
    high: float | None
    source: str
    half_width: float | None = None
    required: bool = True

    @property
    def verdict(self) -> str:
        """``PASS``, ``outside`` or ``not measured``."""
        if self.measured is None:
            return "not measured"
        above = self.low is None or self.measured >= self.low
        below = self.high is None or self.measured <= self.high
        return "PASS" if above and below else "outside"

    @property
    def band(self) -> str:
        """The band as text."""
        if self.low is None and self.high is None:
            return "-"
        if self.low is None:
            return f"<= {self.high:g}"
        return f">= {self.low:g}" if self.high is None else f"{self.low:g} to {self.high:g}"


@dataclass(frozen=True, slots=True)
class Findings:
    """What a study found.

    Attributes:
        rows: one mapping a run (or point), with the same keys: ``runs.csv``.
        checks: measured against published.
        figures: further figures for ``summary.json``, plain values.
        notes: lines that a reader should see with the table.
        figure: draws the figure to the given path; called only if there is something to draw with.
    """

    rows: Sequence[Row]
    checks: Sequence[Check]
    figures: Mapping[str, Any]
    notes: Sequence[str] = ()
    figure: Callable[[Path], None] | None = None


class Workshop(Protocol):
    """What a study is given to work with.

    Attributes:
        seed: every stream starts from it.
        seeds: repetitions that were asked for.
        inputs: files of the user's, if the study takes any.
    """

    seed: int
    seeds: int
    inputs: Sequence[Path]

    def run(self, specs: Sequence[RunSpec], title: str) -> list[Row]:
        """Carry out runs; the rows are in the order of *specs*.

        Raises:
            BatpyError: a run failed.
        """
        ...

    def map(self, function: Callable[[Any], Any], items: Sequence[Any], title: str) -> list[Any]:
        """Call a function of a module on each item; the results are in the order of *items*."""
        ...


@dataclass(frozen=True, slots=True)
class Study:
    """An experiment that one command repeats.

    Attributes:
        name: as on the command line.
        title: one line.
        source: what was published, and where.
        parameters: all there is to know to repeat it, with reasons.
        seeds: repetitions by default.
        seeds_mean: what a repetition is.
        carry_out: does it.
        inputs_mean: what files it takes; empty for none.
        limits: what the model leaves out, in plain words.
    """

    name: str
    title: str
    source: str
    parameters: tuple[Parameter, ...]
    seeds: int
    seeds_mean: str
    carry_out: Callable[[Workshop], Findings]
    inputs_mean: str = ""
    limits: tuple[str, ...] = field(default=())
