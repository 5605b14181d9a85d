"""Batsim-compatible simulation of machine parks shared by HPC, Big Data and ML-serving schedulers."""

from batpy._version import __version__

__all__ = ["__version__"]
