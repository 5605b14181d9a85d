"""Schedulers: separate processes that decide. They know the protocol and nothing of the simulator."""

from batpy.schedulers.registry import SCHEDULERS, make_scheduler

__all__ = ["SCHEDULERS", "make_scheduler"]
