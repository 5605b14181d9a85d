"""What the screen summary says about a shared run."""

from __future__ import annotations

from batpy.results.accounting.figures import Sharing, TenantFigures
from batpy.results.screen import Row, duration


def sharing_rows(sharing: Sharing) -> list[Row]:
    """A line about the park, then two or three for each tenant."""
    tenants = sharing.tenants
    used = sum(figures.core_seconds.busy for figures in tenants.values())
    rows: list[Row] = [
        ("shared by", f"{sharing.policy}: {_share(used, sharing.capacity)} of the core time busy")
    ]
    for name, figures in tenants.items():
        rows += _tenant_rows(name, figures, sharing.capacity)
    return rows


def _tenant_rows(name: str, figures: TenantFigures, capacity: float) -> list[Row]:
    spent = figures.core_seconds
    shares = [(spent.busy, "busy"), (spent.idle, "idle"), (spent.blocked, "blocked")]
    shares += [(spent.prolog, "in prologs"), (spent.epilog, "in epilogs")]
    told = ", ".join(f"{_share(part, capacity)} {what}" for part, what in shares if part)
    rows: list[Row] = [(name, told or "no core time")]
    waits = f"{figures.jobs} jobs waited {duration(figures.mean_waiting)}"
    if figures.mean_waiting_blocked or figures.mean_waiting_prolog:
        blocked, prolog = duration(figures.mean_waiting_blocked), duration(figures.mean_waiting_prolog)
        waits += f", of it {blocked} for hosts to be vacated and {prolog} in the prolog"
    rows.append(("", waits))
    if figures.effectiveness is not None and figures.effectiveness < 1:
        lost = f"effectiveness {figures.effectiveness:.2%}, {figures.disruptions} disruptions"
        rows.append(("", f"{lost}, {figures.recompute or 0:.2%} computed again"))
    return rows


def _share(part: float, whole: float) -> str:
    return f"{part / whole:.2%}" if whole else "-"
