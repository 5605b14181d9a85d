"""Bebida: HPC is master, Big Data uses what is idle and is decommissioned in the prolog of HPC jobs."""

from __future__ import annotations

from batpy.base.errors import InputError
from batpy.broker.policies.priority import Priority
from batpy.broker.policy import ParkView


class Bebida(Priority):
    """Two tenants: the first is the HPC scheduler, which may start anywhere, the second the Big Data one.

    Source: Mercier, Glesser, Georgiou, Richard, IEEE Big Data 2017.
    """

    def begin(self, park: ParkView) -> None:
        """See ``SharingPolicy``."""
        if len(park.tenants) != 2:
            told = ", ".join(park.tenants)
            raise InputError(
                f"is for two schedulers, HPC first; there are {len(park.tenants)} ({told}); "
                "priority takes any number",
                source="bebida",
            )
        super().begin(park)
