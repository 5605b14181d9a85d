"""The summary on a screen: tables on a terminal, plain lines elsewhere. Imports rich only to draw tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from batpy.results.energy_summary import Energy
    from batpy.results.metrics import Spread
    from batpy.results.summary import Group, Summary

Row = tuple[str, ...]

_PREFIXES = ("", "k", "M", "G", "T", "P")
_SPREADS = ("", "mean", "median", "95 %", "max")
_GROUP = ("", "jobs", "mean waiting", "mean bounded slowdown", "host time")


def to_text(summary: Summary, *, groups: bool = False, about: Sequence[Row] = ()) -> str:
    """Plain lines, columns aligned.

    Args:
        about: names and values to begin with: what was run.
    """
    parts = [
        _lines([*about, *_facts(summary)]),
        "",
        _lines([_SPREADS, *_spread_rows(summary)], numbers_from=1),
    ]
    if groups:
        for title, rows in _group_tables(summary):
            parts += ["", _lines([(title, *_GROUP[1:]), *rows], numbers_from=1)]
    return "\n".join(parts) + "\n"


def render(summary: Summary, console: Console, *, groups: bool = False, about: Sequence[Row] = ()) -> None:
    """Print the summary: as tables on a terminal, as plain lines elsewhere."""
    if not console.is_terminal:
        console.file.write(to_text(summary, groups=groups, about=about))
        return
    from rich.table import Table

    facts = Table(show_header=False, box=None)
    facts.add_column(style="bold")
    facts.add_column()
    for row in (*about, *_facts(summary)):
        facts.add_row(*row)
    console.print(facts, markup=False)
    tables = [("jobs inside the window", _SPREADS, _spread_rows(summary))]
    if groups:
        tables += [(title, _GROUP, rows) for title, rows in _group_tables(summary)]
    for title, header, rows in tables:
        table = Table(title=title)
        for i, name in enumerate(header):
            table.add_column(name, justify="right" if i else "left")
        for row in rows:
            table.add_row(*row)
        console.print(table, markup=False)


def duration(seconds: float | None) -> str:
    """Seconds as people read them: ``12.5 s`` up to a minute, then ``3:05:07``, ``2 d 01:00:00``."""
    if seconds is None:
        return "-"
    if abs(seconds) < 60:
        return f"{seconds:.3f}".rstrip("0").rstrip(".") + " s"
    sign = "-" if seconds < 0 else ""
    minutes, rest = divmod(round(abs(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    clock = f"{hours:02d}:{minutes:02d}:{rest:02d}"
    return f"{sign}{days} d {clock}" if days else f"{sign}{clock}"


def _facts(summary: Summary) -> list[Row]:
    jobs = summary.jobs
    states = [
        (jobs.successful, "successful"),
        (jobs.failed, "failed"),
        (jobs.walltime_reached, "at their walltime"),
        (jobs.killed, "killed"),
        (jobs.rejected, "rejected"),
        (jobs.unfinished, "unfinished"),
    ]
    told = ", ".join(f"{count} {what}" for count, what in states if count)
    ended = summary.outcome + (f": {summary.reason}" if summary.reason else "")
    rows: list[Row] = [
        ("run", ended),
        ("hosts", str(summary.compute_hosts)),
        ("jobs", f"{jobs.submitted} submitted" + (f": {told}" if told else "")),
        ("makespan", _makespan(summary)),
        ("utilisation", "-" if summary.utilisation is None else f"{summary.utilisation:.2%}"),
        (
            "throughput",
            "-" if summary.throughput is None else f"{summary.throughput * 3600:.2f} jobs an hour",
        ),
    ]
    if jobs.zero_run_time:
        rows.append(("no run time", f"{jobs.zero_run_time} jobs, left out of the slowdown"))
    if summary.refused_decisions:
        rows.append(("refused", f"{summary.refused_decisions} decisions of the scheduler"))
    if not summary.trim.is_nothing:
        first, last = summary.window
        rows.append(
            ("window", f"{duration(first)} to {duration(last)}, {jobs.left_out} finished jobs left out")
        )
    if summary.energy is not None:
        rows += _energy_rows(summary.energy)
    if summary.sharing is not None:
        from batpy.results.accounting.screen import sharing_rows

        rows += sharing_rows(summary.sharing)
    return rows


def _makespan(summary: Summary) -> str:
    length = summary.makespan_from_first_submission
    return "-" if length is None else f"{duration(length)} from the first submission"


def joules(amount: float) -> str:
    """Joules as people read them, with four significant digits: ``2.153 MJ``."""
    prefixes = list(_PREFIXES)
    # What would be written as 1000 has the next prefix.
    while abs(amount) >= 999.95 and len(prefixes) > 1:
        amount /= 1000
        del prefixes[0]
    return f"{amount:.4g} {prefixes[0]}J"


def _energy_rows(energy: Energy) -> list[Row]:
    power = "" if energy.mean_watts is None else f", {energy.mean_watts:.1f} W on average"
    rows: list[Row] = [("energy", joules(energy.joules) + power)]
    parts = energy.by_kind
    if parts is not None:
        shares = [(parts.computing, "computing"), (parts.idle, "idle")]
        shares += [(parts.sleeping, "sleeping"), (parts.switching, "switching")]
        rows.append(("", ", ".join(f"{joules(amount)} {what}" for amount, what in shares if amount)))
    rows.append(("useful energy", f"{joules(energy.useful_joules)} for successful jobs"))
    if energy.switched_off or energy.switched_on or energy.sleeping_host_seconds:
        asleep = f"{duration(energy.sleeping_host_seconds)} asleep"
        asleep += f", {duration(energy.switching_host_seconds)} switching (host time)"
        times = f"{energy.switched_off} off, {energy.switched_on} on"
        rows += [("sleep", asleep), ("switches", times)]
    return [row for row in rows if row[1]]


def _spread_rows(summary: Summary) -> list[Row]:
    def times(name: str, values: Spread) -> Row:
        return (name, *map(duration, (values.mean, values.median, values.p95, values.max)))

    def ratios(name: str, values: Spread) -> Row:
        cells = (values.mean, values.median, values.p95, values.max)
        return (name, *("-" if cell is None else f"{cell:.2f}" for cell in cells))

    return [
        times("waiting", summary.waiting),
        times("turnaround", summary.turnaround),
        ratios("slowdown", summary.slowdown),
        ratios("bounded slowdown", summary.bounded_slowdown),
    ]


def _group_tables(summary: Summary) -> list[tuple[str, list[Row]]]:
    named = (("user", summary.users), ("queue", summary.queues))
    return [(title, [_group_row(*item) for item in groups.items()]) for title, groups in named if groups]


def _group_row(name: str, group: Group) -> Row:
    return (
        name or "(none)",
        str(group.jobs),
        duration(group.mean_waiting),
        f"{group.mean_bounded_slowdown:.2f}",
        duration(group.host_seconds),
    )


def _lines(rows: list[Row], *, numbers_from: int | None = None) -> str:
    """Rows with aligned columns; those from *numbers_from* on are set to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    right = len(widths) if numbers_from is None else numbers_from
    lines = []
    for row in rows:
        cells = [
            cell.rjust(w) if i >= right else cell.ljust(w)
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
