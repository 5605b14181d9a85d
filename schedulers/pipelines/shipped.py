"""The shipped policies; importing one registers it."""

from __future__ import annotations

from importlib import import_module

MODULES = ("naive", "overbook", "priority", "priority_est", "priority_pool", "rest", "session", "sjf")


def load() -> None:
    """Register all of them."""
    for name in MODULES:
        import_module(f"batpy.schedulers.pipelines.{name}")
