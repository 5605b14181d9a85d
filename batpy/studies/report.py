"""What a study prints: measured against published, notes, parameters."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from batpy.studies.study import Check, Findings, Study

WIDTH = 110


def check_lines(checks: Sequence[Check]) -> list[str]:
    """The table of checks."""
    rows = [("", "measured", "band", "", "band from")]
    for check in checks:
        measured = "-" if check.measured is None else f"{check.measured:.4g}"
        if check.measured is not None and check.half_width is not None:
            measured += f" +- {check.half_width:.2g}"
        verdict = check.verdict if check.band != "-" else ""
        rows.append((check.name, measured, check.band, verdict, check.source))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return [
        "  ".join([*(text.ljust(width) for text, width in zip(row, widths, strict=False)), row[4]]).rstrip()
        for row in rows
    ]


def verdict_line(checks: Iterable[Check]) -> str:
    """How many of the required figures are in their bands, and which are not."""
    required = [check for check in checks if check.required]
    outside = [check.name for check in required if check.verdict != "PASS"]
    line = f"{len(required) - len(outside)} of {len(required)} figures are in their bands"
    return line if not outside else f"{line}; outside: {'; '.join(outside)}"


def finding_lines(study: Study, findings: Findings) -> list[str]:
    """Everything but the parameters."""
    lines = [f"{study.name}: {study.title}", f"compared with {study.source}", ""]
    if findings.checks:
        lines += [*check_lines(findings.checks), ""]
    if findings.notes:
        lines += [*findings.notes, ""]
    if any(check.required for check in findings.checks):
        lines.append(verdict_line(findings.checks))
    return lines


def parameter_lines(study: Study) -> list[str]:
    """Every parameter with its origin and reason, and what the model leaves out."""
    lines = [f"{study.name}: {study.title}", f"source: {study.source}", ""]
    for parameter in study.parameters:
        lines.append(f"{parameter.name}: {parameter.value} [{parameter.origin}]")
        lines += textwrap.wrap(parameter.reason, WIDTH, initial_indent="    ", subsequent_indent="    ")
    if study.limits:
        lines += ["", "What the model leaves out or simplifies:"]
        for limit in study.limits:
            lines += textwrap.wrap(limit, WIDTH, initial_indent="  - ", subsequent_indent="    ")
    return lines
