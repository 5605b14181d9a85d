"""Batsim-compatible simulation of machine parks shared by HPC, Big Data and ML-serving schedulers."""

from typing import Any

from batpy._version import __version__

__all__ = ["__version__", "run_simulator"]


def __getattr__(name: str) -> Any:
    """``batpy.run_simulator``, imported when it is first asked for: the command must start fast."""
    if name == "run_simulator":
        from batpy.pipelines import run_simulator

        return run_simulator
    raise AttributeError(f"module 'batpy' has no attribute {name!r}")
